//! The clock by which ages are told.

use rustix::time::{ClockId, clock_gettime};

/// Microseconds of a clock that also runs while the machine sleeps.
pub(crate) fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    // It begins with the machine, so nothing of it is negative.
    (now.tv_sec as u64) * 1_000_000 + (now.tv_nsec as u64) / 1000
}
