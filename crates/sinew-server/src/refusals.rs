//! Refusals in the log, and as events.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use sinew_robot::Refusal;

use crate::lock;

/// Refusals of one client that are logged within a second; more tell nothing new.
const MOST: u32 = 10;
const PERIOD: Duration = Duration::from_secs(1);

/// Of one client that are shown as events, and of all.
const SHOWN: u32 = 5;
const ALL_SHOWN: u32 = 20;

/// Logs what a client is refused, also when the client gets no answer, but not without end.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Rate);

impl Refusals {
    /// Logs one; whether it is worth showing.
    pub(crate) fn log(&mut self, client: &str, refusal: &Refusal) -> bool {
        let (count, before) = self.0.count();
        if let Some(more @ 1..) = before.and_then(|before| before.checked_sub(MOST)) {
            tracing::info!(client, "{more} more refusals");
        }
        if count <= MOST {
            let code = refusal.code.as_str();
            tracing::info!(client, code, "refused: {}", refusal.message);
        }
        count <= SHOWN
    }
}

/// Refusals of all clients of a robot, or of another way to several: so many are shown, and no more.
#[derive(Debug, Default)]
pub struct ShownRefusals(Mutex<Rate>);

impl ShownRefusals {
    /// Whether there is room for one more.
    pub fn has_room(&self) -> bool {
        lock(&self.0).count().0 <= ALL_SHOWN
    }
}

/// Counts what happens within a second.
#[derive(Debug, Default)]
struct Rate {
    since: Option<Instant>,
    count: u32,
}

impl Rate {
    /// Counts one more: how many there were in this second, and in the last one if it has just ended.
    fn count(&mut self) -> (u32, Option<u32>) {
        let mut before = None;
        if self.since.is_none_or(|since| since.elapsed() > PERIOD) {
            before = Some(self.count);
            *self = Rate { since: Some(Instant::now()), count: 0 };
        }
        self.count = self.count.saturating_add(1);
        (self.count, before)
    }
}
