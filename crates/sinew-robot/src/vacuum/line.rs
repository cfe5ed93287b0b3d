use std::time::{Duration, Instant};

use crate::later;

/// What may be on its way at a time. Whatever the port has taken cannot be overtaken, so this is
/// how far a stop is behind; all frames of `drive` Reset fit at 115200 baud.
const BUDGET: Duration = Duration::from_millis(6);
/// Eight data bits, a start bit and a stop bit.
const BITS_PER_BYTE: u64 = 10;

/// A serial line, by the clock: the bytes that the port was given and that are not out yet.
///
/// A pseudo-terminal does not say how much it holds, and a driver's word stops at the adapter's
/// buffer, so the line is reckoned from its rate.
#[derive(Debug)]
pub(super) struct Line {
    baud: u64,
    /// When the last byte is out.
    clear_at: Instant,
}

impl Line {
    pub(super) fn new(baud: u32, now: Instant) -> Self {
        Line { baud: u64::from(baud).max(1), clear_at: now }
    }

    /// Whatever was on its way is gone.
    pub(super) fn clear(&mut self, now: Instant) {
        self.clear_at = now;
    }

    /// How long the line takes for this many bytes.
    pub(super) fn time(&self, bytes: usize) -> Duration {
        let nanos = (bytes as u64).saturating_mul(BITS_PER_BYTE * 1_000_000_000) / self.baud;
        Duration::from_nanos(nanos)
    }

    /// When the line has room for a frame of this length: within the budget, or alone.
    pub(super) fn room_at(&self, bytes: usize) -> Instant {
        let spare = BUDGET.saturating_sub(self.time(bytes));
        self.clear_at.checked_sub(spare).unwrap_or(self.clear_at)
    }

    pub(super) fn has_room(&self, now: Instant, bytes: usize) -> bool {
        now >= self.room_at(bytes)
    }

    /// Puts a frame on the line; gives the time at which its first byte is sent.
    pub(super) fn put(&mut self, now: Instant, bytes: usize) -> Instant {
        let begin = self.clear_at.max(now);
        self.clear_at = later(begin, self.time(bytes));
        begin
    }
}
