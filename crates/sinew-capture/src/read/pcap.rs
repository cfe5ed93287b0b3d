//! The classic format: a header, then records.
//!
//! ```text
//! file    magic u32 | version 2 x u16 | zone i32, accuracy u32 | snaplen u32 | link type u32
//! record  seconds u32 | fraction u32 | captured u32 | on the wire u32 | bytes
//! ```
//!
//! The magic's order of bytes is that of all numbers; its value says what the fraction counts.

use super::{End, LONGEST, Packet, window::Window};

/// Records longer than any link's longest packet are damage: what follows them cannot be found.
const IMPOSSIBLE: u32 = 128 << 20;

/// How numbers are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

impl Order {
    #[inline(always)]
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) else { return 0 };
        match self {
            Order::Big => u32::from_be_bytes(*chunk),
            Order::Little => u32::from_le_bytes(*chunk),
        }
    }

    #[inline(always)]
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) else { return 0 };
        match self {
            Order::Big => u16::from_be_bytes(*chunk),
            Order::Little => u16::from_le_bytes(*chunk),
        }
    }
}

#[derive(Debug)]
pub(super) struct Reader {
    order: Order,
    link: u16,
    /// Nanoseconds that the fraction counts.
    unit: i64,
    /// Bytes of a record's header.
    header: usize,
}

impl Reader {
    pub(super) const HEADER: usize = 24;

    /// Whether a file begins so.
    pub(super) fn is_magic(front: &[u8]) -> bool {
        magic(front).is_some()
    }

    /// Reads the file's header; none where it is cut off.
    pub(super) fn new(window: &mut Window) -> Option<Self> {
        if !window.fill(Self::HEADER) {
            return None;
        }
        let (order, unit, header) = magic(window.bytes())?;
        // The upper bits tell of check sums behind packets.
        let link = (order.u32(window.bytes(), 20) & 0xFFFF) as u16;
        window.advance(Self::HEADER);
        Some(Reader { order, link, unit, header })
    }

    #[inline]
    pub(super) fn next<'w>(
        &self,
        window: &'w mut Window,
        held: &mut u64,
    ) -> Result<Packet<'w>, End> {
        if !window.fill(self.header) {
            return Err(if window.bytes().is_empty() { End::Whole } else { End::CutOff });
        }
        let (bytes, order) = (window.bytes(), self.order);
        let (seconds, fraction) = (order.u32(bytes, 0), order.u32(bytes, 4));
        let (captured, length) = (order.u32(bytes, 8), order.u32(bytes, 12));
        if captured > IMPOSSIBLE {
            return Err(End::Damaged("a packet's length is impossible"));
        }
        let whole = captured as usize;
        let taken = whole.min(LONGEST);
        if !window.fill(self.header + taken) {
            return Err(End::CutOff);
        }
        *held = (self.header + whole) as u64;
        let time = i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * self.unit;
        let bytes = window.bytes().get(self.header..self.header + taken).unwrap_or_default();
        Ok(Packet { time, link: self.link, length: length.max(captured), bytes })
    }
}

fn magic(front: &[u8]) -> Option<(Order, i64, usize)> {
    let front: [u8; 4] = *front.first_chunk()?;
    [(Order::Big, u32::from_be_bytes(front)), (Order::Little, u32::from_le_bytes(front))]
        .into_iter()
        .find_map(|(order, magic)| match magic {
            0xA1B2_C3D4 => Some((order, 1000, 16)),
            0xA1B2_3C4D => Some((order, 1, 16)),
            // Of patched kernels' tools: interface, protocol and packet type stand behind the lengths.
            0xA1B2_CD34 => Some((order, 1000, 24)),
            _ => None,
        })
}
