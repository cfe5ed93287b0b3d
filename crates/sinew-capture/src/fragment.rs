//! Datagrams of IP that came in pieces.

use std::collections::VecDeque;

/// Datagrams whose pieces are waited for; the oldest makes room.
const MAX_PENDING: usize = 64;
/// Longest payload of IP.
const MAX_LENGTH: usize = 65_535;
/// Nanoseconds that pieces are waited for, by the times of packets.
const PATIENCE: i64 = 30_000_000_000;
/// Pieces of one datagram; an MTU of 68 makes 1,366 of the longest.
const MAX_PARTS: u32 = 2048;

/// What tells datagrams apart: addresses, protocol, number.
type Key = (u128, u128, u8, u32);

/// A piece's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) id: u32,
    pub(crate) offset: usize,
    pub(crate) more: bool,
}

/// Joins pieces, in any order, within bounds.
#[derive(Debug, Default)]
pub struct Fragments {
    pending: VecDeque<Pending>,
    /// The last that was joined.
    whole: Vec<u8>,
    /// Packets that never became a datagram.
    lost: u64,
}

#[derive(Debug)]
struct Pending {
    key: Key,
    since: i64,
    bytes: Vec<u8>,
    /// What of `bytes` came, as ranges in order that do not touch.
    ranges: Vec<(usize, usize)>,
    /// Where the last piece ends.
    length: Option<usize>,
    frames: (u32, u64),
}

impl Fragments {
    /// Takes a piece in; gives the datagram when it was the last that was missing, with the packets it
    /// came in.
    pub(crate) fn join(
        &mut self,
        time: i64,
        key: Key,
        part: &Part,
        bytes: &[u8],
        frames: (u32, u64),
    ) -> Option<(&[u8], (u32, u64))> {
        let end = part.offset + bytes.len();
        if end > MAX_LENGTH {
            self.lost += 1;
            return None;
        }
        let place = self.place(time, key);
        let pending = self.pending.get_mut(place)?;
        pending.frames.0 += frames.0;
        pending.frames.1 += frames.1;
        pending.put(part, bytes);
        if !pending.is_whole() {
            return None;
        }
        let pending = self.pending.remove(place)?;
        self.whole = pending.bytes;
        self.whole.truncate(pending.length.unwrap_or(0));
        Some((&self.whole, pending.frames))
    }

    /// Packets that were held and belong to nothing whole.
    pub fn lost(&self) -> u64 {
        self.lost + self.pending.iter().map(|pending| u64::from(pending.frames.0)).sum::<u64>()
    }

    fn place(&mut self, time: i64, key: Key) -> usize {
        let found = self.pending.iter().position(|pending| pending.key == key);
        let is_old = |pending: &Pending| {
            time.saturating_sub(pending.since) > PATIENCE || pending.frames.0 >= MAX_PARTS
        };
        match found {
            Some(place) if !self.pending.get(place).is_some_and(is_old) => return place,
            Some(place) => self.forget(place),
            None if self.pending.len() >= MAX_PENDING => self.forget(0),
            None => {}
        }
        let (bytes, ranges) = (Vec::new(), Vec::new());
        let frames = (0, 0);
        self.pending.push_back(Pending { key, since: time, bytes, ranges, length: None, frames });
        self.pending.len() - 1
    }

    fn forget(&mut self, place: usize) {
        let forgotten = self.pending.remove(place);
        self.lost += forgotten.map_or(0, |pending| pending.frames.0.into());
    }
}

impl Pending {
    /// Where pieces overlap the newer one counts, as in most systems that still take such.
    fn put(&mut self, part: &Part, bytes: &[u8]) {
        let (start, end) = (part.offset, part.offset + bytes.len());
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(room) = self.bytes.get_mut(start..end) {
            room.copy_from_slice(bytes);
        }
        if !part.more {
            self.length = Some(end);
        }
        let (mut start, mut end) = (start, end);
        self.ranges.retain(|&(from, to)| {
            let apart = to < start || from > end;
            if !apart {
                (start, end) = (start.min(from), end.max(to));
            }
            apart
        });
        let at = self.ranges.partition_point(|range| range.0 < start);
        self.ranges.insert(at, (start, end));
    }

    fn is_whole(&self) -> bool {
        let length = self.length;
        length.is_some_and(|length| matches!(self.ranges[..], [(0, end)] if end >= length))
    }
}
