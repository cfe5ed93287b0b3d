//! Sensor groups as the network interface of document 003 gives them: every value tagged with its
//! type.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;
use sinew_wire::gd32::{Flag, Profile, STATUS_LEN, Status};

use crate::tagged::{Bool, Bytes, F32, I32, String, U8, U16};

/// The values of the `gd32_status` group; with `raw`, also `raw_packet`.
pub fn gd32_status(status: &Status, raw: Option<&[u8; STATUS_LEN]>, profile: &Profile) -> Value {
    serde_json::to_value(Gd32Status { status, raw, profile }).unwrap_or_default()
}

/// The values of the `gd32_version` group. A version without a number has the number 0.
pub fn gd32_version(text: &str, code: Option<i32>) -> Value {
    let version =
        Gd32Version { version_string: String(text), version_code: I32(code.unwrap_or(0)) };
    serde_json::to_value(version).unwrap_or_default()
}

/// The `gd32_status` group, to be written without a [`Value`] in between.
#[derive(Debug, Clone, Copy)]
pub struct Gd32Status<'a> {
    /// The known fields.
    pub status: &'a Status,
    /// All bytes, to have them written as `raw_packet`.
    pub raw: Option<&'a [u8; STATUS_LEN]>,
    /// Which encoder is which.
    pub profile: &'a Profile,
}

impl Serialize for Gd32Status<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Gd32Status { status, raw, profile } = self;
        let own = 6 + usize::from(raw.is_some());
        let mut map = serializer.serialize_map(Some(Flag::ALL.len() + own))?;
        for flag in Flag::ALL {
            map.serialize_entry(flag.name(), &Bool(status.is(*flag)))?;
        }
        // Not through f32, whose nearest value to 14.4 is written 14.399999618530273.
        let volts = f64::from(status.battery_decivolts) / 10.0;
        map.serialize_entry("battery_voltage", &F32(volts))?;
        map.serialize_entry("battery_level", &U8(status.battery_percent()))?;
        let (left, right) = profile.encoders(status);
        map.serialize_entry("wheel_left", &U16(left as u16))?;
        map.serialize_entry("wheel_right", &U16(right as u16))?;
        map.serialize_entry("start_button", &U16(status.start_button as u16))?;
        map.serialize_entry("dock_button", &U16(status.dock_button as u16))?;
        if let Some(raw) = raw {
            map.serialize_entry("raw_packet", &Bytes(raw.as_slice()))?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Gd32Version<'a> {
    version_string: String<'a>,
    version_code: I32,
}
