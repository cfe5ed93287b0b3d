use core::fmt;

use super::{Keyframes, Layout, Name};
use crate::{
    Error, Got, Result, Wanted,
    bytes::{Reader, Writer},
};

/// Joint slots in a state or status.
pub const JOINTS: usize = 12;

/// `mode` of a pushed status: nothing goes on. The documents give the field a place and no
/// meaning; these four are Sinew's, and all that depends on them is how the end of a playback is
/// noticed.
pub const MODE_IDLE: u32 = 0;
/// `mode`: the arms are compliant.
pub const MODE_TEACHING: u32 = 1;
/// `mode`: compliant and recording.
pub const MODE_RECORDING: u32 = 2;
/// `mode`: an action plays.
pub const MODE_PLAYING: u32 = 3;

/// The robot's state as it pushes it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "fields are named as in docs/protocols/teach.md")]
pub struct Status<'a> {
    pub positions: [f32; JOINTS],
    pub velocities: [f32; JOINTS],
    pub time_ms: u32,
    pub mode: u32,
    pub flags: u32,
    pub rest: &'a [u8],
}

/// The robot's state as the host sends it on entering teaching mode.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "fields are named as in docs/protocols/teach.md")]
pub struct State<'a> {
    /// Bit 0: damping.
    pub mode_flags: u32,
    pub positions: [f32; JOINTS],
    pub velocities: [f32; JOINTS],
    /// Acceleration, then angular velocity.
    pub imu: [f32; 6],
    pub feet: [f32; 4],
    pub timestamp_ms: u32,
    /// Not carried by the compact layout, which refuses any but 0.
    pub flags: u32,
    pub rest: &'a [u8],
}

/// A request to store an action.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "fields are named as in docs/protocols/teach.md")]
pub struct Save<'a> {
    pub name: Name,
    /// Unix time in seconds.
    pub timestamp: u32,
    pub duration_ms: u32,
    pub frame_count: u32,
    /// 1 save, 2 loop, 4 speed.
    pub flags: u32,
    /// None used: store what you recorded yourself.
    pub keyframes: Keyframes,
    pub rest: &'a [u8],
}

/// A request to play an action.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "fields are named as in docs/protocols/teach.md")]
pub struct Play<'a> {
    /// 1 to 15.
    pub action_id: u32,
    /// 0: all.
    pub frame_count: u32,
    /// 0: as recorded.
    pub duration_ms: u32,
    pub interpolation: Interpolation,
    pub keyframes: Keyframes,
    pub rest: &'a [u8],
}

/// How values between keyframes are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Interpolation {
    #[default]
    Linear,
    Cubic,
    Smooth,
    /// A value no document names.
    Other(u32),
}

impl<'a> Status<'a> {
    pub(super) fn read(mut reader: Reader<'a>) -> Result<Self> {
        Ok(Status {
            positions: reader.f32s_be("positions")?,
            velocities: reader.f32s_be("velocities")?,
            time_ms: reader.u32_be("time_ms")?,
            mode: reader.u32_be("mode")?,
            flags: reader.u32_be("flags")?,
            rest: reader.rest(),
        })
    }

    pub(super) fn write(&self, out: &mut Writer<'_>) -> Result<()> {
        out.f32s_be("positions", &self.positions)?;
        out.f32s_be("velocities", &self.velocities)?;
        out.put("time_ms", &self.time_ms.to_be_bytes())?;
        out.put("mode", &self.mode.to_be_bytes())?;
        out.put("flags", &self.flags.to_be_bytes())
    }
}

impl<'a> State<'a> {
    pub(super) fn read(mut reader: Reader<'a>, layout: Layout) -> Result<Self> {
        let mut state = State {
            mode_flags: reader.u32_be("mode_flags")?,
            positions: reader.f32s_be("positions")?,
            velocities: reader.f32s_be("velocities")?,
            imu: reader.f32s_be("imu")?,
            feet: reader.f32s_be("feet")?,
            timestamp_ms: reader.u32_be("timestamp_ms")?,
            flags: 0,
            rest: reader.rest(),
        };
        if layout == Layout::Documented {
            // A payload that ends inside the flags gives those bytes of them that it has.
            let (given, rest) = state.rest.split_at(state.rest.len().min(4));
            let mut flags = [0; 4];
            flags.iter_mut().zip(given).for_each(|(to, from)| *to = *from);
            state.flags = u32::from_be_bytes(flags);
            state.rest = rest;
        }
        Ok(state)
    }

    pub(super) fn write(&self, layout: Layout, out: &mut Writer<'_>) -> Result<()> {
        out.put("mode_flags", &self.mode_flags.to_be_bytes())?;
        out.f32s_be("positions", &self.positions)?;
        out.f32s_be("velocities", &self.velocities)?;
        out.f32s_be("imu", &self.imu)?;
        out.f32s_be("feet", &self.feet)?;
        out.put("timestamp_ms", &self.timestamp_ms.to_be_bytes())?;
        match layout {
            Layout::Documented => out.put("flags", &self.flags.to_be_bytes()),
            Layout::Compact if self.flags == 0 => Ok(()),
            Layout::Compact => {
                let wanted = Wanted::What("0, since the compact layout has no room for flags");
                Err(Error::new("flags", wanted, Got::Number(self.flags.into())))
            }
        }
    }
}

impl<'a> Save<'a> {
    pub(super) fn read(payload: &'a [u8]) -> Result<Self> {
        let mut reader = whole(payload, 208)?;
        Ok(Save {
            name: Name::from_field(reader.array("name")?),
            timestamp: reader.u32_be("timestamp")?,
            duration_ms: reader.u32_be("duration_ms")?,
            frame_count: reader.u32_be("frame_count")?,
            flags: reader.u32_be("flags")?,
            keyframes: Keyframes::read(&mut reader)?,
            rest: reader.rest(),
        })
    }

    pub(super) fn write(&self, out: &mut Writer<'_>) -> Result<()> {
        out.put("name", self.name.as_field())?;
        for word in [self.timestamp, self.duration_ms, self.frame_count, self.flags] {
            out.put("save", &word.to_be_bytes())?;
        }
        self.keyframes.write(out)
    }
}

impl<'a> Play<'a> {
    pub(super) fn read(payload: &'a [u8]) -> Result<Self> {
        let mut reader = whole(payload, 176)?;
        Ok(Play {
            action_id: reader.u32_be("action_id")?,
            frame_count: reader.u32_be("frame_count")?,
            duration_ms: reader.u32_be("duration_ms")?,
            interpolation: reader.u32_be("interpolation")?.into(),
            keyframes: Keyframes::read(&mut reader)?,
            rest: reader.rest(),
        })
    }

    pub(super) fn write(&self, out: &mut Writer<'_>) -> Result<()> {
        let mode = self.interpolation.into();
        for word in [self.action_id, self.frame_count, self.duration_ms, mode] {
            out.put("play", &word.to_be_bytes())?;
        }
        self.keyframes.write(out)
    }
}

/// A reader over a payload that must have this many bytes.
fn whole(payload: &[u8], needs: usize) -> Result<Reader<'_>> {
    if payload.len() < needs {
        return Err(Error::count("payload length", Wanted::AtLeast(needs as u64), payload.len()));
    }
    Ok(Reader::new(payload))
}

impl From<u32> for Interpolation {
    fn from(value: u32) -> Self {
        match value {
            0 => Interpolation::Linear,
            1 => Interpolation::Cubic,
            2 => Interpolation::Smooth,
            other => Interpolation::Other(other),
        }
    }
}

impl From<Interpolation> for u32 {
    fn from(value: Interpolation) -> u32 {
        match value {
            Interpolation::Linear => 0,
            Interpolation::Cubic => 1,
            Interpolation::Smooth => 2,
            Interpolation::Other(other) => other,
        }
    }
}

impl fmt::Display for Interpolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interpolation::Linear => f.write_str("linear"),
            Interpolation::Cubic => f.write_str("cubic"),
            Interpolation::Smooth => f.write_str("smooth"),
            Interpolation::Other(other) => write!(f, "unknown ({other})"),
        }
    }
}
