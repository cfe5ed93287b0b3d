use super::{Choice, LedMode, STATUS_LEN, Status};
use crate::{
    Error, Got, Result, Wanted,
    bytes::{Reader, Writer},
};

/// What a [`Body`](super::Body) holds, as bytes.
pub(super) trait Payload<'a>: Sized {
    fn read(reader: &mut Reader<'a>) -> Result<Self>;
    fn write(&self, out: &mut Writer<'_>) -> Result<()>;
}

/// The field of errors.
const PAYLOAD: &str = "payload";

/// Velocity in wire units (see [`Profile`](super::Profile)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Velocity {
    /// Forward.
    pub linear: i32,
    /// Counter-clockwise.
    pub angular: i32,
}

/// Speeds of the wheels in mm/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WheelSpeeds {
    /// Left wheel.
    pub left: i16,
    /// Right wheel.
    pub right: i16,
}

impl WheelSpeeds {
    /// Wire units of speeds in m/s.
    pub fn from_metres(left: f32, right: f32) -> Result<Self> {
        Ok(WheelSpeeds { left: Self::units("left", left)?, right: Self::units("right", right)? })
    }

    /// Wire units of a wheel's speed in m/s.
    pub fn units(field: &'static str, metres: f32) -> Result<i16> {
        let value = super::profile::scaled(field, metres, 1000.0)?;
        i16::try_from(value).map_err(|_| {
            Error::new(field, Wanted::Within(-32.768, 32.767), Got::Float(metres.into()))
        })
    }
}

/// The controller's version, as it sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version<'a>(pub &'a [u8]);

impl<'a> Version<'a> {
    /// The text: length-prefixed when the first byte is a length that fits, else up to a NUL.
    pub fn text(&self) -> &'a [u8] {
        if let [length @ 0..128, text @ ..] = self.0
            && let Some(text) = text.get(..usize::from(*length))
        {
            return text;
        }
        self.0.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// The version code, in answers of at least eight bytes.
    pub fn code(&self) -> Option<i32> {
        let bytes = self.0.get(4..8)?.first_chunk()?;
        Some(i32::from_le_bytes(*bytes))
    }
}

macro_rules! byte_enum {
    (
        $(#[$about:meta])* $type:ident:
        $($(#[$doc:meta])* $value:literal $variant:ident $word:literal),+
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $type {
            $(#[doc = concat!(stringify!($value), ".")] $(#[$doc])* $variant,)+
            /// A value no document names.
            Other(u8),
        }

        impl $type {
            /// The values that have names.
            pub const CHOICES: &'static [Choice] =
                &[$(Choice { value: $value, name: stringify!($variant), word: $word }),+];
        }

        impl From<u8> for $type {
            fn from(value: u8) -> Self {
                match value {
                    $($value => $type::$variant,)+
                    other => $type::Other(other),
                }
            }
        }

        impl From<$type> for u8 {
            fn from(value: $type) -> u8 {
                match value {
                    $($type::$variant => $value,)+
                    $type::Other(other) => other,
                }
            }
        }

        impl Payload<'_> for $type {
            fn read(reader: &mut Reader<'_>) -> Result<Self> {
                u8::read(reader).map(Self::from)
            }

            fn write(&self, out: &mut Writer<'_>) -> Result<()> {
                u8::from(*self).write(out)
            }
        }
    };
}

macro_rules! number_payload {
    ($($type:ty)+) => {
        $(impl Payload<'_> for $type {
            fn read(reader: &mut Reader<'_>) -> Result<Self> {
                reader.array(PAYLOAD).map(<$type>::from_le_bytes)
            }

            fn write(&self, out: &mut Writer<'_>) -> Result<()> {
                out.put(PAYLOAD, &self.to_le_bytes())
            }
        })+
    };
}

macro_rules! struct_payload {
    ($type:ident: $($field:tt),+) => {
        impl Payload<'_> for $type {
            fn read(reader: &mut Reader<'_>) -> Result<Self> {
                Ok($type { $($field: Payload::read(reader)?),+ })
            }

            fn write(&self, out: &mut Writer<'_>) -> Result<()> {
                $(self.$field.write(out)?;)+
                Ok(())
            }
        }
    };
}

byte_enum! {
    /// What 0x65 allows the motors.
    Mode:
        /// Nothing.
        0x00 Idle "idle",
        /// Everything.
        0x02 Navigation "navigation"
}
byte_enum! {
    /// A byte that is on or off.
    Switch: 0x01 On "on", 0x00 Off "off"
}
byte_enum! {
    /// State of the dock sensor.
    DockIr:
        0x00 Off "off",
        /// Captured while a robot approached its dock.
        0x10 Approach "approach",
        0x41 On "on"
}

number_payload!(u8 u16 i16 i32);
struct_payload!(LedMode: 0);
struct_payload!(Velocity: linear, angular);
struct_payload!(WheelSpeeds: left, right);

impl<const N: usize> Payload<'_> for [u8; N] {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        reader.array(PAYLOAD)
    }

    fn write(&self, out: &mut Writer<'_>) -> Result<()> {
        out.put(PAYLOAD, self)
    }
}

impl<'a> Payload<'a> for Version<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self> {
        reader.take(PAYLOAD, reader.rest().len()).map(Version)
    }

    fn write(&self, out: &mut Writer<'_>) -> Result<()> {
        out.put(PAYLOAD, self.0)
    }
}

impl<'a> Payload<'a> for (Status, &'a [u8; STATUS_LEN]) {
    fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let raw = reader.array_ref(PAYLOAD)?;
        Ok((Status::parse(raw)?, raw))
    }

    fn write(&self, out: &mut Writer<'_>) -> Result<()> {
        let mut raw = *self.1;
        self.0.emit(&mut raw);
        out.put(PAYLOAD, &raw)
    }
}
