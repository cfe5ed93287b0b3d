//! Bytes of TCP in the order in which they were sent, as far as they were captured.
//!
//! A segment that came before its time is held until what is missing comes, within bounds; when there is no
//! room for more, what is missing is a gap.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    mem,
};

/// What is held of one direction, in bytes and in segments.
const WINDOW: usize = 64 << 10;
const MAX_HELD: usize = 64;
/// What is held of all streams together.
pub(crate) const MAX_ALL: usize = 8 << 20;
/// What is kept of the beginning until it is known what a stream is.
const FRONT: usize = 1024;
/// Further ahead than this is another connection, of which the beginning was not captured.
const FAR: i32 = 16 << 20;

/// Where a segment of TCP belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// The number of its first byte.
    pub sequence: u32,
    /// Whether a connection begins with it.
    pub begins: bool,
}

/// One direction of a stream.
#[derive(Debug, Default)]
pub(crate) struct Half {
    pub(crate) sorter: Sorter,
    pub(crate) front: Front,
}

/// The beginning of a stream, until it is known what it is.
#[derive(Debug, Default)]
pub(crate) struct Front {
    bytes: Vec<u8>,
    /// How much there was.
    passed: usize,
    is_taken: bool,
}

/// Puts segments in order.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    next: Option<u32>,
    /// In the order of their numbers.
    held: Vec<Held>,
    held_bytes: usize,
    /// The first segment with a payload, as long as no other number came.
    first: Option<(u32, u64)>,
    has_begun: bool,
    pub(crate) facts: Facts,
}

#[derive(Debug)]
struct Held {
    sequence: u32,
    time: i64,
    bytes: Vec<u8>,
    /// How long it was.
    length: usize,
}

/// What became of a stream's segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// Places where bytes are missing, and how many are.
    pub gaps: u64,
    /// Bytes that were not captured.
    pub missing: u64,
    /// Segments whose bytes had all come before.
    pub repeats: u64,
    /// Segments that came after a later one.
    pub late: u64,
}

/// What a stream goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Bytes(&'a [u8]),
    /// This many are missing.
    Gap(u64),
}

impl Front {
    /// Keeps what comes, as long as there is room.
    pub(crate) fn keep(&mut self, part: Part<'_>) {
        match part {
            Part::Bytes(bytes) => {
                let left = FRONT.saturating_sub(self.bytes.len());
                self.bytes.extend(bytes.iter().take(left));
                self.passed += bytes.len();
            }
            Part::Gap(_) => {
                self.bytes.clear();
                self.passed = 0;
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) const fn is_taken(&self) -> bool {
        self.is_taken
    }

    /// All that came so far, where it was kept whole; then nothing is kept.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        self.is_taken = true;
        let bytes = mem::take(&mut self.bytes);
        (bytes.len() == self.passed).then_some(bytes)
    }
}

impl Sorter {
    /// Takes a segment in that was `length` bytes long; what is in its place goes to `sink` with the time
    /// at which it was captured.
    pub(crate) fn push(
        &mut self,
        time: i64,
        order: Order,
        (payload, length): (&[u8], usize),
        room: &mut usize,
        mut sink: impl FnMut(i64, Part<'_>),
    ) {
        let mut sequence = order.sequence;
        if order.begins {
            self.finish(room, &mut sink);
            if self.next.is_some() {
                sink(time, Part::Gap(0));
            }
            sequence = sequence.wrapping_add(1);
            (self.next, self.first) = (Some(sequence), None);
        }
        if length == 0 {
            return;
        }
        let mut next = *self.next.get_or_insert(sequence);
        if self.is_unnumbered(sequence, payload) {
            sequence = next;
        }
        if ahead(next, sequence).unsigned_abs() > FAR.unsigned_abs() {
            self.finish(room, &mut sink);
            self.gap(time, 0, &mut sink);
            (self.next, next) = (Some(sequence), sequence);
        }
        if ahead(next, sequence) > 0 {
            return self.hold(time, sequence, (payload, length), room, &mut sink);
        }
        if !self.held.is_empty() && ahead(next, sequence.wrapping_add(length as u32)) > 0 {
            self.facts.late += 1;
        }
        self.pass(time, sequence, (payload, length), &mut sink);
        self.release(room, &mut sink);
    }

    /// Forgets what is held.
    pub(crate) fn forget(&mut self, room: &mut usize) {
        *room += mem::take(&mut self.held_bytes);
        self.held.clear();
    }

    /// Gives out what is held, with gaps between.
    pub(crate) fn finish(&mut self, room: &mut usize, mut sink: impl FnMut(i64, Part<'_>)) {
        while !self.held.is_empty() {
            self.skip(room, &mut sink);
        }
    }

    /// Whether numbers mean nothing here: programs that write captures by hand leave them at one value. A
    /// first segment that comes again is the same, what follows it is not.
    fn is_unnumbered(&mut self, sequence: u32, payload: &[u8]) -> bool {
        let mut hasher = DefaultHasher::new();
        payload.hash(&mut hasher);
        let hash = hasher.finish();
        match self.first {
            None if !self.has_begun => {
                self.has_begun = true;
                self.first = Some((sequence, hash));
                false
            }
            Some((first, was)) if first == sequence => was != hash,
            _ => {
                self.first = None;
                false
            }
        }
    }

    fn hold(
        &mut self,
        time: i64,
        sequence: u32,
        (payload, length): (&[u8], usize),
        room: &mut usize,
        sink: &mut impl FnMut(i64, Part<'_>),
    ) {
        let is_full = |half: &Self, room: usize| {
            half.held.len() >= MAX_HELD
                || half.held_bytes + payload.len() > WINDOW
                || payload.len() > room
        };
        while is_full(self, *room) && !self.held.is_empty() {
            self.skip(room, sink);
        }
        let next = self.next.unwrap_or(sequence);
        if is_full(self, *room) || ahead(next, sequence) <= 0 {
            let missing = ahead(next, sequence);
            if let Ok(missing @ 1..) = u64::try_from(missing) {
                self.gap(time, missing, sink);
                self.next = Some(sequence);
            }
            return self.pass(time, sequence, (payload, length), sink);
        }
        let place = self.held.partition_point(|held| ahead(held.sequence, sequence) >= 0);
        self.facts.late += u64::from(place < self.held.len());
        let bytes = payload.to_vec();
        *room -= bytes.len();
        self.held_bytes += bytes.len();
        self.held.insert(place, Held { sequence, time, bytes, length });
    }

    /// Goes on behind what is missing.
    fn skip(&mut self, room: &mut usize, sink: &mut impl FnMut(i64, Part<'_>)) {
        let Some(first) = self.held.first() else { return };
        let (time, sequence) = (first.time, first.sequence);
        let missing = ahead(self.next.unwrap_or(sequence), sequence);
        if let Ok(missing @ 1..) = u64::try_from(missing) {
            self.gap(time, missing, sink);
            self.next = Some(sequence);
        }
        self.release(room, sink);
    }

    /// Gives out what is held and in its place now.
    fn release(&mut self, room: &mut usize, sink: &mut impl FnMut(i64, Part<'_>)) {
        while let Some(first) = self.held.first()
            && ahead(self.next.unwrap_or(first.sequence), first.sequence) <= 0
        {
            let Held { sequence, time, bytes, length } = self.held.remove(0);
            *room += bytes.len();
            self.held_bytes -= bytes.len();
            self.pass(time, sequence, (&bytes, length), sink);
        }
    }

    /// Gives out what of a segment is new, which begins at or before the next byte.
    fn pass(
        &mut self,
        time: i64,
        sequence: u32,
        (payload, length): (&[u8], usize),
        sink: &mut impl FnMut(i64, Part<'_>),
    ) {
        let next = self.next.unwrap_or(sequence);
        let known = usize::try_from(ahead(sequence, next)).unwrap_or(0);
        let Some(new) = length.checked_sub(known).filter(|new| *new > 0) else {
            self.facts.repeats += 1;
            return;
        };
        let bytes = payload.get(known..).unwrap_or_default();
        if !bytes.is_empty() {
            sink(time, Part::Bytes(bytes));
        }
        if new > bytes.len() {
            self.gap(time, (new - bytes.len()) as u64, sink);
        }
        self.next = Some(next.wrapping_add(new as u32));
    }

    fn gap(&mut self, time: i64, missing: u64, sink: &mut impl FnMut(i64, Part<'_>)) {
        self.facts.gaps += 1;
        self.facts.missing += missing;
        sink(time, Part::Gap(missing));
    }
}

impl Facts {
    pub(crate) const fn add(&mut self, other: &Self) {
        self.gaps += other.gaps;
        self.missing += other.missing;
        self.repeats += other.repeats;
        self.late += other.late;
    }
}

/// How far the second number is ahead of the first.
const fn ahead(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(segments: &[(u32, &[u8])]) -> (Vec<u8>, Facts, usize) {
        let (mut half, mut room, mut all) = (Sorter::default(), MAX_ALL, Vec::new());
        let mut sink = |_, part: Part<'_>| match part {
            Part::Bytes(bytes) => all.extend_from_slice(bytes),
            Part::Gap(_) => all.push(b'?'),
        };
        for (sequence, bytes) in segments {
            let order = Order { sequence: *sequence, begins: false };
            half.push(0, order, (bytes, bytes.len()), &mut room, &mut sink);
        }
        half.finish(&mut room, &mut sink);
        (all, half.facts, room)
    }

    #[test]
    fn segments_are_put_in_order_once() {
        let (all, facts, room) = joined(&[
            (u32::MAX - 1, b"ab"),
            (4, b"gh"),
            (2, b"ef"),
            (0, b"cd"),
            (2, b"ef"),
            (3, b"fghi"),
        ]);
        assert_eq!(all, b"abcdefghi");
        assert_eq!((facts.gaps, facts.repeats, facts.late), (0, 1, 2));
        assert_eq!(room, MAX_ALL);
    }

    #[test]
    fn what_is_missing_is_a_gap() {
        let (all, facts, _) = joined(&[(0, b"ab"), (5, b"fg"), (9, b"jk"), (7, b"hi")]);
        assert_eq!(all, b"ab?fghijk");
        assert_eq!((facts.gaps, facts.missing), (1, 3));
    }

    #[test]
    fn what_is_held_is_bounded() {
        let segment = [7; 1000];
        let numbers = (0..5000_u32).map(|n| (n * 1010, &segment[..]));
        let (all, facts, room) = joined(&numbers.collect::<Vec<_>>());
        assert_eq!(all.len(), 5000 * 1000 + 4999);
        assert_eq!((facts.gaps, room), (4999, MAX_ALL));
        let (mut half, mut room) = (Sorter::default(), 100);
        for sequence in [0, 2000, 4000] {
            let order = Order { sequence, begins: false };
            half.push(0, order, (&segment, 1000), &mut room, |_, _| {});
            assert_eq!(room, 100, "there is no room for it");
        }
        assert_eq!(half.facts.gaps, 2);
    }

    #[test]
    fn without_numbers_the_order_of_arrival_counts() {
        assert_eq!(joined(&[(0, b"ab"), (0, b"cd"), (0, b"ef")]).0, b"abcdef");
        assert_eq!(joined(&[(0, b"ab"), (0, b"ab"), (2, b"cd")]).0, b"abcd");
    }

    #[test]
    fn another_connection_begins_anew() {
        let (all, ..) = joined(&[(0, b"ab"), (1 << 30, b"cd"), ((1 << 30) + 2, b"ef")]);
        assert_eq!(all, b"ab?cdef");
    }
}
