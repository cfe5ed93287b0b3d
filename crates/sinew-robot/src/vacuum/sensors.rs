//! Sensor groups as the network interface of document 003 gives them: every value tagged with its
//! type.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;
use sinew_wire::gd32::{Flag, Profile, STATUS_LEN, Status};

use crate::tagged::{Bool, Bytes, F32, I16, I32, String, U8, U16};

/// The values of the `gd32_status` group; with `raw`, also `raw_packet`.
pub fn gd32_status(status: &Status, raw: Option<&[u8; STATUS_LEN]>, profile: &Profile) -> Value {
    serde_json::to_value(Gd32Status { status, raw, profile, gyro: None }).unwrap_or_default()
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
    /// The gyroscope's x, y and z, to have them written with accelerometer and tilt, as later states
    /// of the interface have them.
    pub gyro: Option<[i16; 3]>,
}

const GYRO: [&str; 3] = ["gyro_x", "gyro_y", "gyro_z"];
const ACCEL: [&str; 3] = ["accel_x", "accel_y", "accel_z"];
const TILT: [&str; 3] = ["tilt_x", "tilt_y", "tilt_z"];

impl Serialize for Gd32Status<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Gd32Status { status, raw, profile, gyro } = self;
        let mut map = serializer.serialize_map(None)?;
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
        if let Some(gyro) = *gyro {
            let sensors = [(GYRO, gyro), (ACCEL, status.accel()), (TILT, status.gravity())];
            for (names, values) in sensors {
                for (name, value) in names.iter().zip(values) {
                    map.serialize_entry(name, &I16(value))?;
                }
            }
        }
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
