//! What messages of one kind have at each byte position, in memory that does not grow with a capture.

use std::collections::HashMap;

use crate::{
    Sight,
    identify::Protocol,
    net::{Endpoint, Transport},
};

/// Kinds of messages that are told apart.
const MAX_MESSAGES: usize = 1 << 14;
/// Positions that are looked at, of messages with a command and of other payloads, and of all together.
const POSITIONS: usize = 256;
const FRONT: usize = 64;
const MAX_POSITIONS: usize = 1 << 16;
/// Positions of which it is counted how often each value came: a kilobyte each.
const MAX_COUNTS: usize = 1 << 12;
/// Messages of which one is kept whole, for the names of its fields.
const MAX_EXAMPLES: usize = 1 << 10;

/// An interval this much longer than the average of those before, of which there are as many, is a silence.
const SILENCE: i64 = 10;
const INTERVALS: u64 = 4;

/// What is known of the messages of a capture, by sender, protocol and command.
#[derive(Debug, Default)]
pub struct Profile {
    pub(crate) kinds: HashMap<Kind, Message>,
    used: Used,
    /// Payloads of kinds beyond the limit.
    pub(crate) over: u64,
}

/// What messages are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub(crate) from: Endpoint,
    pub(crate) to: Endpoint,
    pub(crate) transport: Transport,
    pub(crate) protocol: Protocol,
    pub(crate) command: Option<u8>,
}

#[derive(Debug, Default)]
struct Used {
    positions: usize,
    counts: usize,
    examples: usize,
}

/// Messages of one kind.
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) min: usize,
    pub(crate) max: usize,
    pub(crate) positions: Vec<Position>,
    pub(crate) example: Vec<u8>,
    /// When the last came, and the intervals of activity: how many, and their nanoseconds together.
    last: Option<i64>,
    intervals: (u64, i64),
}

/// What came at one position.
#[derive(Debug, Clone)]
pub(crate) struct Position {
    /// A bit for each value.
    seen: [u64; 4],
    pub(crate) count: u64,
    /// How often each value came; none as long as there is one, and where there is no room.
    counts: Option<Box<[u32; 256]>>,
    /// Whether values came that were not counted one by one.
    is_partial: bool,
}

impl Profile {
    /// One of nothing.
    pub fn new() -> Self {
        Profile::default()
    }

    /// Takes a payload in.
    pub fn take(&mut self, sight: &Sight<'_>) {
        if sight.length == 0 {
            return;
        }
        let Sight { from, to, transport, protocol, .. } = *sight;
        // What passes for a command in a DTLS record is a part of its number.
        let command = sight.command.filter(|_| protocol != Protocol::Dtls);
        let kind = Kind { from, to, transport, protocol, command };
        if !self.kinds.contains_key(&kind) && self.kinds.len() >= MAX_MESSAGES {
            self.over += 1;
            return;
        }
        let message = self.kinds.entry(kind).or_default();
        // Where a stream is cut into segments says nothing about what is at which place of one.
        let most = match (command, transport) {
            (Some(_), _) => POSITIONS,
            (None, Transport::Tcp) => 0,
            (None, _) => FRONT,
        };
        message.take(sight, most, &mut self.used);
    }
}

impl Message {
    fn take(&mut self, sight: &Sight<'_>, most: usize, used: &mut Used) {
        if self.count == 0 {
            (self.min, self.max) = (sight.length, sight.length);
            if sight.command.is_some() && used.examples < MAX_EXAMPLES {
                used.examples += 1;
                self.example = sight.payload.iter().take(POSITIONS).copied().collect();
            }
        }
        self.count += 1;
        self.interval(sight.since);
        self.bytes += sight.length as u64;
        (self.min, self.max) = (self.min.min(sight.length), self.max.max(sight.length));
        let bytes = sight.payload.get(..most).unwrap_or(sight.payload);
        let more = bytes.len().saturating_sub(self.positions.len());
        let more = more.min(MAX_POSITIONS - used.positions);
        used.positions += more;
        self.positions.resize_with(self.positions.len() + more, Position::new);
        for (position, byte) in self.positions.iter_mut().zip(bytes) {
            position.take(*byte, used);
        }
    }

    /// Counts the time since the message before, unless there was silence.
    fn interval(&mut self, time: i64) {
        let Some(since) = self.last.replace(time).map(|last| time.saturating_sub(last)) else {
            return;
        };
        let (count, sum) = self.intervals;
        let average = sum / i64::try_from(count.max(1)).unwrap_or(i64::MAX);
        let is_silence = count >= INTERVALS && since > average.saturating_mul(SILENCE);
        if since >= 0 && !is_silence {
            self.intervals = (count + 1, sum.saturating_add(since));
        }
    }

    /// Intervals of activity, and how many seconds they take together.
    pub(crate) fn activity(&self) -> (u64, f64) {
        (self.intervals.0, self.intervals.1 as f64 / 1e9)
    }

    /// Adds what was counted of others.
    pub(crate) fn add(&mut self, other: Message) {
        if self.count == 0 {
            *self = other;
            return;
        }
        self.count += other.count;
        let (count, sum) = other.intervals;
        self.intervals = (self.intervals.0 + count, self.intervals.1.saturating_add(sum));
        self.bytes += other.bytes;
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
        let mut rest = other.positions.into_iter();
        for (position, more) in self.positions.iter_mut().zip(rest.by_ref()) {
            position.add(more);
        }
        self.positions.extend(rest);
        if self.example.is_empty() {
            self.example = other.example;
        }
    }

    pub(crate) fn average(&self) -> f64 {
        self.bytes as f64 / self.count.max(1) as f64
    }
}

impl Position {
    const fn new() -> Self {
        Position { seen: [0; 4], count: 0, counts: None, is_partial: false }
    }

    #[inline]
    fn take(&mut self, byte: u8, used: &mut Used) {
        let bit = 1_u64 << (byte & 63);
        let is_known = self.seen.get(usize::from(byte >> 6)).is_some_and(|word| word & bit != 0);
        if !is_known {
            if self.count > 0 && self.counts.is_none() && !self.is_partial {
                self.begin(used);
            }
            if let Some(word) = self.seen.get_mut(usize::from(byte >> 6)) {
                *word |= bit;
            }
        }
        self.count += 1;
        if let Some(count) = self.counts.as_mut().and_then(|all| all.get_mut(usize::from(byte))) {
            *count = count.saturating_add(1);
        }
    }

    /// Begins to count each value, of which there was one so far.
    fn begin(&mut self, used: &mut Used) {
        if used.counts >= MAX_COUNTS {
            self.is_partial = true;
            return;
        }
        used.counts += 1;
        self.counts = Some(self.counted());
    }

    /// How often each value came, where there is one only.
    fn counted(&self) -> Box<[u32; 256]> {
        let mut counts = Box::new([0; 256]);
        if let Some(count) = self.values().next().and_then(|one| counts.get_mut(usize::from(one))) {
            *count = u32::try_from(self.count).unwrap_or(u32::MAX);
        }
        counts
    }

    fn add(&mut self, other: Position) {
        let is_one = self.distinct() == 1 && self.seen == other.seen;
        self.is_partial |= other.is_partial;
        if !is_one && !self.is_partial {
            let more = other.counts.clone().unwrap_or_else(|| other.counted());
            let mut counts = self.counts.take().unwrap_or_else(|| self.counted());
            for (count, more) in counts.iter_mut().zip(more.iter()) {
                *count = count.saturating_add(*more);
            }
            self.counts = Some(counts);
        }
        for (word, more) in self.seen.iter_mut().zip(other.seen) {
            *word |= more;
        }
        self.count += other.count;
    }

    /// The values that came, from the least on.
    pub(crate) fn values(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(|byte| self.has(*byte))
    }

    pub(crate) fn has(&self, byte: u8) -> bool {
        self.seen.get(usize::from(byte >> 6)).is_some_and(|word| word >> (byte & 63) & 1 == 1)
    }

    pub(crate) fn distinct(&self) -> u32 {
        self.seen.iter().map(|word| word.count_ones()).sum()
    }

    /// Bits that the value tells; none where they were not counted.
    pub(crate) fn entropy(&self) -> Option<f64> {
        if self.distinct() <= 1 {
            return Some(0.0);
        }
        let counts = self.counts.as_ref().filter(|_| !self.is_partial)?;
        let total: f64 = counts.iter().map(|count| f64::from(*count)).sum();
        let parts =
            counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total);
        Some(-parts.map(|part| part * part.log2()).sum::<f64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(bytes: &[u8], used: &mut Used) -> Position {
        let mut position = Position::new();
        bytes.iter().for_each(|byte| position.take(*byte, used));
        position
    }

    #[test]
    fn values_and_entropy_are_those_that_came() {
        let used = &mut Used::default();
        let one = position(&[7; 50], used);
        assert_eq!((one.distinct(), one.entropy(), used.counts), (1, Some(0.0), 0));
        let two = position(&[7, 200, 7, 200], used);
        assert_eq!((two.values().collect::<Vec<_>>(), two.entropy()), (vec![7, 200], Some(1.0)));
        let mut both = one;
        both.add(position(&[200; 50], used));
        assert_eq!((both.count, both.distinct(), both.entropy()), (100, 2, Some(1.0)));
    }

    #[test]
    fn without_room_values_are_known_and_entropy_is_not() {
        let used = &mut Used { counts: MAX_COUNTS, ..Used::default() };
        let mut position = position(&[1, 2, 3, 3], used);
        assert_eq!((position.distinct(), position.entropy(), position.count), (3, None, 4));
        let more = self::position(&[9, 8], &mut Used::default());
        position.add(more);
        assert_eq!((position.distinct(), position.entropy(), position.count), (5, None, 6));
    }
}
