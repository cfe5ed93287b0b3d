use super::{Status, Velocity};
use crate::{Error, Got, Result, Wanted};

/// What differs between robots of the same protocol, or between the sources that describe them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    /// Which encoder stands first in the status packet.
    pub encoder_order: EncoderOrder,
    /// How many bits of an encoder count.
    pub encoder_width: EncoderWidth,
    /// Wire units per m/s and per rad/s in 0x66.
    pub velocity_scale: f32,
    /// Wire units per percent in 0x68.
    pub vacuum_scale: f32,
}

/// Which encoder stands at offset 0x10 of the status packet; the other is at 0x18.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum EncoderOrder {
    RightFirst,
    LeftFirst,
}

/// How many bits of an encoder's eight bytes count before they wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum EncoderWidth {
    Bits16,
    Bits64,
}

impl Profile {
    /// Document 003 and the code of its time.
    pub const DOCUMENT: Profile = Profile {
        encoder_order: EncoderOrder::RightFirst,
        encoder_width: EncoderWidth::Bits64,
        velocity_scale: 1000.0,
        vacuum_scale: 100.0,
    };

    /// The later state of the project that document 003 comes from.
    pub const LATER: Profile = Profile {
        encoder_order: EncoderOrder::LeftFirst,
        encoder_width: EncoderWidth::Bits16,
        velocity_scale: 523.0,
        vacuum_scale: 16.5,
    };

    /// Wire units of a velocity in m/s and rad/s.
    pub fn velocity(&self, linear: f32, angular: f32) -> Result<Velocity> {
        Ok(Velocity {
            linear: self.units("linear", linear)?,
            angular: self.units("angular", angular)?,
        })
    }

    /// Wire units of a speed in m/s or rad/s.
    pub fn units(&self, field: &'static str, speed: f32) -> Result<i32> {
        scaled(field, speed, self.velocity_scale)
    }

    /// Wire units of a vacuum power in percent.
    pub fn vacuum(&self, percent: u8) -> Result<u16> {
        if percent > 100 {
            return Err(Error::count("vacuum", Wanted::AtMost(100), percent.into()));
        }
        let value = scaled("vacuum", f32::from(percent), self.vacuum_scale)?;
        u16::try_from(value).map_err(|_| {
            Error::new("vacuum", Wanted::Between(0, u16::MAX.into()), Got::Number(value.into()))
        })
    }

    /// Left and right encoder counts of a status packet.
    pub fn encoders(&self, status: &Status) -> (u64, u64) {
        let [first, second] = status.encoders.map(|count| match self.encoder_width {
            EncoderWidth::Bits16 => count & 0xFFFF,
            EncoderWidth::Bits64 => count,
        });
        match self.encoder_order {
            EncoderOrder::RightFirst => (second, first),
            EncoderOrder::LeftFirst => (first, second),
        }
    }

    /// How far an encoder moved between two readings, through any wrap.
    pub const fn encoder_delta(&self, before: u64, now: u64) -> i64 {
        match self.encoder_width {
            EncoderWidth::Bits16 => (now as u16).wrapping_sub(before as u16) as i16 as i64,
            EncoderWidth::Bits64 => now.wrapping_sub(before) as i64,
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Profile::DOCUMENT
    }
}

/// Rounds to the nearest wire unit, halves away from zero.
pub(super) fn scaled(field: &'static str, value: f32, scale: f32) -> Result<i32> {
    let exact = f64::from(value) * f64::from(scale);
    let rounded = if exact < 0.0 { exact - 0.5 } else { exact + 0.5 };
    if rounded > -2_147_483_649.0 && rounded < 2_147_483_648.0 {
        Ok(rounded as i32)
    } else {
        let got = Got::Float(value.into());
        Err(Error::new(field, Wanted::What("a finite number that fits 32 bits on the wire"), got))
    }
}
