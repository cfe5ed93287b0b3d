//! Whether a peer answers what it answered when it was captured.

use std::collections::VecDeque;

/// Bytes by which one may be ahead of the other.
const MOST_AHEAD: usize = 4 << 20;

/// What is different first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// How many bytes were the same.
    pub offset: u64,
    /// The capture's byte.
    pub expected: u8,
    /// The peer's.
    pub got: u8,
}

/// Two streams, byte by byte.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// Bytes of one that the other has not had yet.
    expected: VecDeque<u8>,
    got: VecDeque<u8>,
    same: u64,
    difference: Option<Difference>,
    /// One was too far ahead.
    gave_up: bool,
    all_expected: bool,
}

impl Comparison {
    /// Bytes that were the same.
    pub const fn same(&self) -> u64 {
        self.same
    }

    /// The first byte that is different.
    pub const fn difference(&self) -> Option<Difference> {
        self.difference
    }

    /// Bytes of the capture that the peer has not sent; at most so many are counted.
    pub fn missing(&self) -> u64 {
        self.expected.len() as u64
    }

    /// Bytes that the peer sent beyond what the capture has.
    pub fn surplus(&self) -> u64 {
        self.got.len() as u64
    }

    /// Whether one was so far ahead of the other that it was not compared any more.
    pub const fn gave_up(&self) -> bool {
        self.gave_up
    }

    pub(super) fn expected(&mut self, bytes: &[u8]) {
        if self.difference.is_none() && !self.gave_up {
            self.expected.extend(bytes);
            self.compare();
        }
    }

    pub(super) fn got(&mut self, bytes: &[u8]) {
        if self.difference.is_none() && !self.gave_up {
            self.got.extend(bytes);
            self.compare();
        }
    }

    pub(super) fn all_expected(&mut self) {
        self.all_expected = true;
    }

    /// Whether no further answer changes anything.
    pub(super) fn is_settled(&self) -> bool {
        let is_whole = self.all_expected && self.expected.is_empty() && self.same > 0;
        self.difference.is_some() || self.gave_up || is_whole
    }

    fn compare(&mut self) {
        while let (Some(&expected), Some(&got)) = (self.expected.front(), self.got.front()) {
            if expected != got {
                self.difference = Some(Difference { offset: self.same, expected, got });
                return;
            }
            self.expected.pop_front();
            self.got.pop_front();
            self.same += 1;
        }
        self.gave_up = self.expected.len().max(self.got.len()) > MOST_AHEAD;
        if self.gave_up {
            self.expected.clear();
            self.got.clear();
        }
    }
}
