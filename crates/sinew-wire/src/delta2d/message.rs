use core::fmt;

use super::{Frame, FrameBuf};
use crate::{Error, Result, Wanted};

/// Most samples of a measurement. Those that were seen have 24 or about that.
pub const MAX_SAMPLES: usize = 360;
/// Turns a second of one unit of speed.
pub const TURNS_PER_SECOND: f32 = 0.05;
/// Degrees of one unit of an angle.
pub const DEGREE: f32 = 0.01;
/// Metres of one unit of distance.
pub const METRE: f32 = 0.000_25;

/// What a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// 0xAD: distances.
    Measurement,
    /// 0xAE: the motor is not at its speed.
    Speed,
    /// One that no reader knows.
    Other(u8),
}

impl From<u8> for Command {
    fn from(code: u8) -> Self {
        match code {
            0xAD => Command::Measurement,
            0xAE => Command::Speed,
            other => Command::Other(other),
        }
    }
}

impl Command {
    /// Its byte.
    pub const fn code(self) -> u8 {
        match self {
            Command::Measurement => 0xAD,
            Command::Speed => 0xAE,
            Command::Other(code) => code,
        }
    }

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Command::Measurement => "Measurement",
            Command::Speed => "Speed",
            Command::Other(_) => "Unknown",
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (0x{:02X})", self.name(), self.code())
    }
}

/// A frame's content, typed, with all that is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The version byte.
    pub version: u8,
    /// The type byte.
    pub kind: u8,
    /// What the payload says.
    pub body: Body<'a>,
    /// Payload behind it.
    pub rest: &'a [u8],
}

/// What a payload says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// Distances.
    Measurement(Measurement<'a>),
    /// How fast the motor turns while it is not at its speed, in [`TURNS_PER_SECOND`].
    Speed(u8),
    /// A command that no reader knows; its payload is the message's `rest`.
    Other(u8),
}

/// Distances in a row of directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measurement<'a> {
    /// How fast the motor turns, in [`TURNS_PER_SECOND`].
    pub speed: u8,
    /// The second field: a zero offset to some readers, the angle between samples to others.
    pub offset: i16,
    /// The direction of the first sample, in [`DEGREE`]s.
    pub start: u16,
    /// The samples as they came.
    pub samples: &'a [[u8; 3]],
}

/// A distance in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// How strong the echo was; 0 without one.
    pub quality: u8,
    /// In units of [`METRE`]; 0 without an echo.
    pub distance: u16,
}

impl<'a> Message<'a> {
    /// Types a frame.
    #[inline]
    pub fn parse(frame: &Frame<'a>) -> Result<Self> {
        let (body, rest) = match (Command::from(frame.command()), frame.payload()) {
            (Command::Measurement, &[speed, a, b, c, d, ref samples @ ..]) => {
                let (samples, rest) = samples.as_chunks();
                let (offset, start) = (i16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                (Body::Measurement(Measurement { speed, offset, start, samples }), rest)
            }
            (Command::Speed, &[speed, ref rest @ ..]) => (Body::Speed(speed), rest),
            (Command::Other(code), rest) => (Body::Other(code), rest),
            (command, payload) => {
                let least = if command == Command::Measurement { 5 } else { 1 };
                return Err(Error::count("payload", Wanted::AtLeast(least), payload.len()));
            }
        };
        Ok(Message { version: frame.version(), kind: frame.kind(), body, rest })
    }

    /// Writes it as a frame.
    pub fn frame(&self) -> Result<FrameBuf> {
        let head = |command: Command| [self.version, self.kind, command.code()];
        match self.body {
            Body::Measurement(Measurement { speed, offset, start, samples }) => {
                let ([a, b], [c, d]) = (offset.to_be_bytes(), start.to_be_bytes());
                let parts = [&[speed, a, b, c, d], samples.as_flattened(), self.rest];
                FrameBuf::join(head(Command::Measurement), &parts)
            }
            Body::Speed(speed) => FrameBuf::join(head(Command::Speed), &[&[speed], self.rest]),
            Body::Other(code) => FrameBuf::join(head(Command::Other(code)), &[self.rest]),
        }
    }
}

impl<'a> From<Body<'a>> for Message<'a> {
    fn from(body: Body<'a>) -> Self {
        Message { version: super::VERSION, kind: super::TYPE, body, rest: &[] }
    }
}

impl Measurement<'_> {
    /// The samples in their order.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = Sample> {
        self.samples.iter().copied().map(Sample::from)
    }
}

impl Sample {
    /// Whether something sent the light back.
    pub const fn has_echo(self) -> bool {
        self.quality > 0 && self.distance > 0
    }
}

impl From<[u8; 3]> for Sample {
    fn from([quality, high, low]: [u8; 3]) -> Self {
        Sample { quality, distance: u16::from_be_bytes([high, low]) }
    }
}

impl From<Sample> for [u8; 3] {
    fn from(Sample { quality, distance }: Sample) -> Self {
        let [high, low] = distance.to_be_bytes();
        [quality, high, low]
    }
}
