#[cfg(feature = "std")]
use super::kernel;
use crate::Vectors;

/// Lanes of a block: a multiple of the 3 and 6 numbers a record has, and of a vector's 16.
const LANES: usize = 48;
/// Bytes of a block.
pub(super) const BLOCK: usize = LANES * 2;

/// Smallest and largest value that each lane has held.
pub(super) struct LaneRanges {
    pub(super) signed: ([i16; LANES], [i16; LANES]),
    pub(super) unsigned: ([u16; LANES], [u16; LANES]),
}

/// Smallest and largest value of one of a record's numbers, read both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ChannelRange {
    pub signed: (i16, i16),
    pub unsigned: (u16, u16),
}

impl ChannelRange {
    pub(super) const NONE: ChannelRange =
        ChannelRange { signed: (i16::MAX, i16::MIN), unsigned: (u16::MAX, u16::MIN) };

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
    let (blocks, tail) = body.as_chunks::<BLOCK>();
    let mut lanes = with_vectors!(
        Vectors::best(),
        simd => kernel::lane_ranges(simd, blocks),
        lane_ranges(blocks)
    );
    lanes.include(tail);
    Some(lanes.channels())
}

fn lane_ranges(blocks: &[[u8; BLOCK]]) -> LaneRanges {
    let ChannelRange { signed, unsigned } = ChannelRange::NONE;
    let mut lanes = LaneRanges {
        signed: ([signed.0; LANES], [signed.1; LANES]),
        unsigned: ([unsigned.0; LANES], [unsigned.1; LANES]),
    };
    for block in blocks {
        lanes.include(block);
    }
    lanes
}

impl LaneRanges {
    /// Takes in at most a block.
    fn include(&mut self, bytes: &[u8]) {
        let (low, high) = &mut self.signed;
        let (unsigned_low, unsigned_high) = &mut self.unsigned;
        for (lane, number) in bytes.as_chunks::<2>().0.iter().take(LANES).enumerate() {
            let number = u16::from_le_bytes(*number);
            low[lane] = low[lane].min(number as i16);
            high[lane] = high[lane].max(number as i16);
            unsigned_low[lane] = unsigned_low[lane].min(number);
            unsigned_high[lane] = unsigned_high[lane].max(number);
        }
    }

    /// The lanes of each of a record's N numbers together.
    fn channels<const N: usize>(&self) -> [ChannelRange; N] {
        let low: [i16; N] = fold(&self.signed.0, i16::MAX, i16::min);
        let high: [i16; N] = fold(&self.signed.1, i16::MIN, i16::max);
        let unsigned_low: [u16; N] = fold(&self.unsigned.0, u16::MAX, u16::min);
        let unsigned_high: [u16; N] = fold(&self.unsigned.1, u16::MIN, u16::max);
        core::array::from_fn(|channel| ChannelRange {
            signed: (low[channel], high[channel]),
            unsigned: (unsigned_low[channel], unsigned_high[channel]),
        })
    }
}

#[inline]
fn fold<T: Copy, const N: usize>(lanes: &[T; LANES], none: T, pick: fn(T, T) -> T) -> [T; N] {
    lanes.as_chunks::<N>().0.iter().fold([none; N], |folded, lanes| {
        core::array::from_fn(|channel| pick(folded[channel], lanes[channel]))
    })
}
