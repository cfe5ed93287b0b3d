/// Lanes of a block: a multiple of the 3 and 6 numbers a record has, and of a vector's 8.
const LANES: usize = 24;
/// Bytes of a block.
const BLOCK: usize = LANES * 2;

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
