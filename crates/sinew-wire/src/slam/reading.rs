use core::fmt;

use super::{ChannelRange, channel_ranges};
use crate::{Error, Got, Result, Wanted};

/// How far outside its box a point may lie, in metres: coordinates are whole millimetres.
pub const TOLERANCE: f64 = 0.005;
/// The tolerance and a nanometre, since 2.998 + 0.005 is less than 3.003 in binary.
const REACH: f64 = TOLERANCE + 1e-9;

/// One of the two readings of the points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Document 004: 12 bytes a point, of which the first three numbers are used.
    Documented,
    /// What the data proves: 6 bytes a point, above the box's minimum.
    Packed,
}

/// The box that a message says its points lie in, in metres.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct BoundingBox {
    pub min: [f64; 3],
    pub max: [f64; 3],
}

/// The reading to use, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Choice {
    pub reading: Reading,
    pub reason: Reason,
}

/// Why a reading was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The caller wanted it.
    Forced,
    /// Only the packed reading divides the length.
    NotMultipleOf12,
    /// Read as documented, unshifted, all points lie in the box.
    DocumentedFitsBox,
    /// Both halves of the 12-byte records are points of the box.
    BothHalvesFitBox,
    /// Nothing speaks for the packed reading.
    Default,
}

/// Chooses the reading from the data.
pub fn choose(body: &[u8], bounds: Option<&BoundingBox>) -> Result<Choice> {
    if !body.len().is_multiple_of(Reading::Documented.point_len()) {
        Reading::Packed.count(body)?;
        return Ok(Choice { reading: Reading::Packed, reason: Reason::NotMultipleOf12 });
    }
    let documented = |reason| Choice { reading: Reading::Documented, reason };
    let Some(bounds) = bounds else {
        return Ok(documented(Reason::Default));
    };
    let Some(channels) = channel_ranges::<6>(body) else {
        return Ok(documented(Reason::DocumentedFitsBox));
    };
    let [x, y, z, x2, y2, z2] = channels;
    if bounds.contains([x, y, z].map(|channel| channel.signed_metres())) {
        return Ok(documented(Reason::DocumentedFitsBox));
    }
    let width = bounds.width();
    let halves_fit = [(x, x2, width[0]), (y, y2, width[1]), (z, z2, width[2])]
        .iter()
        .all(|(first, second, width)| both_halves_fit(first, second, *width));
    if halves_fit {
        return Ok(Choice { reading: Reading::Packed, reason: Reason::BothHalvesFitBox });
    }
    Ok(documented(Reason::Default))
}

/// Whether a channel and its twin three numbers on are both offsets into a box of this width, and
/// vary alike: padding or intensity would not.
fn both_halves_fit(first: &ChannelRange, second: &ChannelRange, width: f64) -> bool {
    let fits = |channel: &ChannelRange| channel.unsigned_metres().1 <= width + REACH;
    fits(first) && fits(second) && second.unsigned_span() * 4 >= first.unsigned_span()
}

impl Reading {
    /// Bytes a point takes.
    pub const fn point_len(self) -> usize {
        match self {
            Reading::Documented => 12,
            Reading::Packed => 6,
        }
    }

    /// How many points a body holds.
    pub fn count(self, body: &[u8]) -> Result<usize> {
        if body.len().is_multiple_of(self.point_len()) {
            return Ok(body.len() / self.point_len());
        }
        let wanted = Wanted::MultipleOf(self.point_len() as u64);
        Err(Error::count("body length", wanted, body.len()))
    }
}

impl BoundingBox {
    /// Size on each axis.
    pub fn width(&self) -> [f64; 3] {
        core::array::from_fn(|axis| self.max[axis] - self.min[axis])
    }

    /// Whether ranges on the three axes lie in the box, give or take [`TOLERANCE`].
    pub fn contains(&self, ranges: [(f64, f64); 3]) -> bool {
        self.violation(ranges).is_none()
    }

    /// The first axis on which the ranges leave the box.
    pub fn violation(&self, ranges: [(f64, f64); 3]) -> Option<Error> {
        let fields = ["box x", "box y", "box z"];
        (0..3).find_map(|axis| {
            let (low, high) = ranges[axis];
            let (min, max) = (self.min[axis], self.max[axis]);
            let inside = low >= min - REACH && high <= max + REACH;
            let outside = Error::new(fields[axis], Wanted::Within(min, max), Got::Span(low, high));
            (!inside).then_some(outside)
        })
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reading::Documented => "documented",
            Reading::Packed => "packed",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Forced => "as asked for",
            Reason::NotMultipleOf12 => "the body is no multiple of 12 bytes, so only 6 a point fit",
            Reason::DocumentedFitsBox => {
                "read as documented (12 bytes a point, unshifted) all points lie in the box"
            }
            Reason::BothHalvesFitBox => {
                "both halves of the 12-byte records are offsets into the box, so each is a point"
            }
            Reason::Default => "nothing speaks against the documented 12 bytes a point",
        })
    }
}
