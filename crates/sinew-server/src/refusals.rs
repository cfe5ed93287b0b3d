//! Refusals in the log.

use std::time::{Duration, Instant};

use sinew_robot::Refusal;

/// Refusals of one client that are logged within a second; more tell nothing new.
const MOST: u32 = 10;
const PERIOD: Duration = Duration::from_secs(1);

/// Logs what a client is refused, also when the client gets no answer, but not without end.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    since: Option<Instant>,
    count: u32,
}

impl Refusals {
    pub(crate) fn log(&mut self, client: &str, refusal: &Refusal) {
        if self.since.is_none_or(|since| since.elapsed() > PERIOD) {
            self.left_out(client);
            *self = Refusals { since: Some(Instant::now()), count: 0 };
        }
        self.count += 1;
        if self.count <= MOST {
            let code = refusal.code.as_str();
            tracing::info!(client, code, "refused: {}", refusal.message);
        }
    }

    fn left_out(&self, client: &str) {
        if let Some(more @ 1..) = self.count.checked_sub(MOST) {
            tracing::info!(client, "{more} more refusals");
        }
    }
}
