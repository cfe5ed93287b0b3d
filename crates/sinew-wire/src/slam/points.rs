//! The loops that millions of points run through. They are written so that the
//! compiler turns them into vector code, and run at the CPU's own width.

use super::Reading;
use crate::{Error, Result, Wanted};

const METRES_PER_UNIT: f32 = 0.001;

/// Lanes of a block: a multiple of the 3 and 6 numbers a record has, and of a vector's 8.
const LANES: usize = 24;
/// Bytes of a block.
const BLOCK: usize = LANES * 2;

/// Turns a body into metres. `origin` is added to every point of the packed reading: the box's
/// minimum for the map frame, zero for raw values. Returns how many points were written.
pub fn decode(
    reading: Reading,
    body: &[u8],
    origin: [f32; 3],
    out: &mut [[f32; 3]],
) -> Result<usize> {
    let count = reading.count(body)?;
    let Some(out) = out.get_mut(..count) else {
        let wanted = Wanted::AtLeast(count as u64);
        return Err(Error::count("output buffer in points", wanted, out.len()));
    };
    match reading {
        Reading::Documented => at_full_width!(documented(body, out)),
        Reading::Packed => at_full_width!(packed(body, origin, out)),
    }
    Ok(count)
}

/// Four records at a time, since three numbers of one do not fill a vector.
#[inline(always)]
fn documented(body: &[u8], out: &mut [[f32; 3]]) {
    let (blocks, tail) = body.as_chunks::<BLOCK>();
    let (out_blocks, out_tail) = out.as_chunks_mut::<4>();
    for (block, out) in blocks.iter().zip(out_blocks) {
        let numbers: [i16; 12] = core::array::from_fn(|i| {
            let at = i / 3 * 12 + i % 3 * 2;
            i16::from_le_bytes([block[at], block[at + 1]])
        });
        for (number, out) in numbers.iter().zip(out.as_flattened_mut()) {
            *out = f32::from(*number) * METRES_PER_UNIT;
        }
    }
    for (record, point) in tail.as_chunks::<12>().0.iter().zip(out_tail) {
        let [x0, x1, y0, y1, z0, z1, ..] = *record;
        *point = [[x0, x1], [y0, y1], [z0, z1]]
            .map(|bytes| f32::from(i16::from_le_bytes(bytes)) * METRES_PER_UNIT);
    }
}

#[inline(always)]
fn packed(body: &[u8], origin: [f32; 3], out: &mut [[f32; 3]]) {
    let origins: [f32; LANES] = core::array::from_fn(|lane| origin[lane % 3]);
    let (blocks, tail) = body.as_chunks::<BLOCK>();
    let (out_blocks, out_tail) = out.as_flattened_mut().as_chunks_mut::<LANES>();
    for (block, out) in blocks.iter().zip(out_blocks) {
        let vectors = block.as_chunks::<16>().0.iter().zip(origins.as_chunks::<8>().0);
        for ((numbers, origins), out) in vectors.zip(out.as_chunks_mut::<8>().0) {
            let numbers: [u16; 8] =
                core::array::from_fn(|i| u16::from_le_bytes([numbers[2 * i], numbers[2 * i + 1]]));
            *out = core::array::from_fn(|i| f32::from(numbers[i]) * METRES_PER_UNIT + origins[i]);
        }
    }
    for ((number, origin), out) in tail.as_chunks::<2>().0.iter().zip(&origins).zip(out_tail) {
        *out = f32::from(u16::from_le_bytes(*number)) * METRES_PER_UNIT + origin;
    }
}

/// Smallest and largest value of one of a record's numbers, read both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ChannelRange {
    pub signed: (i16, i16),
    pub unsigned: (u16, u16),
}

impl ChannelRange {
    const NONE: ChannelRange =
        ChannelRange { signed: (i16::MAX, i16::MIN), unsigned: (u16::MAX, u16::MIN) };

    fn join(self, other: ChannelRange) -> Self {
        ChannelRange {
            signed: (self.signed.0.min(other.signed.0), self.signed.1.max(other.signed.1)),
            unsigned: (
                self.unsigned.0.min(other.unsigned.0),
                self.unsigned.1.max(other.unsigned.1),
            ),
        }
    }

    /// The signed range in metres.
    pub fn signed_metres(&self) -> (f64, f64) {
        (f64::from(self.signed.0) / 1000.0, f64::from(self.signed.1) / 1000.0)
    }

    /// The unsigned range in metres.
    pub fn unsigned_metres(&self) -> (f64, f64) {
        (f64::from(self.unsigned.0) / 1000.0, f64::from(self.unsigned.1) / 1000.0)
    }

    /// Largest minus smallest unsigned value.
    pub fn unsigned_span(&self) -> u32 {
        u32::from(self.unsigned.1.saturating_sub(self.unsigned.0))
    }
}

/// Ranges of the N numbers of a record: 3 in the packed reading, 6 in the documented one. None
/// when the body holds no number for some of them.
pub fn channel_ranges<const N: usize>(body: &[u8]) -> Option<[ChannelRange; N]> {
    const { assert!(LANES.is_multiple_of(N)) };
    if body.len() < N * 2 {
        return None;
    }
    let lanes = at_full_width!(lane_ranges(body));
    let mut channels = [ChannelRange::NONE; N];
    for lane in lanes.as_chunks::<N>().0 {
        for (channel, lane) in channels.iter_mut().zip(lane) {
            *channel = channel.join(*lane);
        }
    }
    Some(channels)
}

#[inline(always)]
fn lane_ranges(body: &[u8]) -> [ChannelRange; LANES] {
    let (mut low, mut high) = ([i16::MAX; LANES], [i16::MIN; LANES]);
    let (mut unsigned_low, mut unsigned_high) = ([u16::MAX; LANES], [u16::MIN; LANES]);
    let (blocks, tail) = body.as_chunks::<BLOCK>();
    for block in blocks {
        let numbers: [u16; LANES] =
            core::array::from_fn(|i| u16::from_le_bytes([block[2 * i], block[2 * i + 1]]));
        for lane in 0..LANES {
            low[lane] = low[lane].min(numbers[lane] as i16);
            high[lane] = high[lane].max(numbers[lane] as i16);
            unsigned_low[lane] = unsigned_low[lane].min(numbers[lane]);
            unsigned_high[lane] = unsigned_high[lane].max(numbers[lane]);
        }
    }
    let mut lanes: [ChannelRange; LANES] = core::array::from_fn(|lane| ChannelRange {
        signed: (low[lane], high[lane]),
        unsigned: (unsigned_low[lane], unsigned_high[lane]),
    });
    for (lane, number) in lanes.iter_mut().zip(tail.as_chunks::<2>().0) {
        let number = u16::from_le_bytes(*number);
        let signed = number as i16;
        *lane = lane.join(ChannelRange { signed: (signed, signed), unsigned: (number, number) });
    }
    lanes
}
