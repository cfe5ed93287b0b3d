use alloc::vec::Vec;

use super::{
    BoundingBox, Choice, Message, Metadata, Reading, Reason, channel_ranges, choose, decode,
};
use crate::{Error, Got, Result, Wanted};

/// Which coordinates to give out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CloudFrame {
    /// Shifted into the map.
    #[default]
    Map,
    /// As they stand in the message.
    Raw,
}

/// A SLAM cloud, ready to be decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Cloud<'a> {
    /// Its JSON.
    pub metadata: Metadata,
    /// How its points are read, and why.
    pub choice: Choice,
    body: &'a [u8],
    len: usize,
}

impl<'a> Cloud<'a> {
    /// Parses the metadata and settles the reading: the one wanted, or what the data says.
    pub fn new(message: &Message<'a>, wanted: Option<Reading>) -> Result<Self> {
        let metadata = Metadata::parse(message.json)?;
        let choice = match wanted {
            Some(reading) => Choice { reading, reason: Reason::Forced },
            None => choose(message.body, metadata.bounds.as_ref())?,
        };
        let len = choice.reading.count(message.body)?;
        Ok(Cloud { metadata, choice, body: message.body, len })
    }

    /// How many points there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes the points into `out`, which must have room for [`len`](Self::len) of them.
    pub fn decode_into(&self, frame: CloudFrame, out: &mut [[f32; 3]]) -> Result<usize> {
        let origin = self.origin(frame).map(|metres| metres as f32);
        decode(self.choice.reading, self.body, origin, out)
    }

    /// The points in a buffer of their own.
    pub fn points(&self, frame: CloudFrame) -> Result<Vec<[f32; 3]>> {
        let mut points = alloc::vec![[0.0; 3]; self.len];
        self.decode_into(frame, &mut points)?;
        Ok(points)
    }

    /// What the points of a frame are shifted by.
    fn origin(&self, frame: CloudFrame) -> [f64; 3] {
        match (frame, self.choice.reading, self.metadata.bounds) {
            (CloudFrame::Map, Reading::Packed, Some(bounds)) => bounds.min,
            _ => [0.0; 3],
        }
    }

    /// The box the points really fill; none when there are none.
    pub fn bounds(&self, frame: CloudFrame) -> Option<BoundingBox> {
        let ranges = match self.choice.reading {
            Reading::Documented => {
                let [x, y, z, ..] = channel_ranges::<6>(self.body)?;
                [x, y, z].map(|channel| channel.signed_metres())
            }
            Reading::Packed => {
                channel_ranges::<3>(self.body)?.map(|channel| channel.unsigned_metres())
            }
        };
        let origin = self.origin(frame);
        Some(BoundingBox {
            min: core::array::from_fn(|axis| origin[axis] + ranges[axis].0),
            max: core::array::from_fn(|axis| origin[axis] + ranges[axis].1),
        })
    }

    /// The body, for inspection.
    pub const fn body(&self) -> &'a [u8] {
        self.body
    }

    /// What does not add up although the message is well formed.
    pub fn problems(&self, mut report: impl FnMut(Error)) {
        if let Some(problem) = self.metadata.problem {
            report(problem);
        }
        if let (Some(stated), Some(real)) = (self.metadata.bounds, self.bounds(CloudFrame::Map)) {
            let ranges = core::array::from_fn(|axis| (real.min[axis], real.max[axis]));
            if let Some(violation) = stated.violation(ranges) {
                report(violation);
            }
        }
        if self.choice.reading == Reading::Packed && self.metadata.bounds.is_none() && self.len > 0
        {
            report(Error::new(
                "box",
                Wanted::What("a minimum corner to shift packed points by"),
                Got::What("none, so they are left unshifted"),
            ));
        }
    }
}
