//! Pauses that a thread does not notice by itself.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Measures by how much a thread runs later than it wants to: the computer slept, or the process
/// was stopped. By a clock that counts the computer's sleep, which [`Instant`] does not.
///
/// [`Instant`]: std::time::Instant
#[derive(Debug)]
pub(crate) struct Watch {
    /// When the thread wants to run next; none while it waits without end.
    due: Option<Duration>,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Watch { due: Some(since_boot()) }
    }

    /// How late the thread is. From here on it wants to run without a break.
    pub(crate) fn late(&mut self) -> Duration {
        let now = since_boot();
        let due = self.due.replace(now);
        due.map_or(Duration::ZERO, |due| now.saturating_sub(due))
    }

    /// The thread is about to wait for this long, counted from the last look at the clock: a pause
    /// between the two is not lost.
    pub(crate) fn wait(&mut self, longest: Option<Duration>) {
        self.due = self.due.zip(longest).map(|(now, longest)| now.saturating_add(longest));
    }
}

fn since_boot() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}
