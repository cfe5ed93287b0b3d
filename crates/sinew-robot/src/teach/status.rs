use std::time::{Duration, Instant};

use sinew_wire::teach::Status;

use super::{Event, Session, take};
use crate::later;

/// A stream over a network, where a busy radio holds it up, may always pause for this long.
const SHORTEST_SILENCE: Duration = Duration::from_secs(1);
/// And for this many of its periods.
const PERIODS: u32 = 10;

/// The status that the robot pushes.
#[derive(Debug)]
pub(super) struct Stream {
    last: Instant,
    time_ms: u32,
    /// Mean time between two, once there were two.
    period: Option<Duration>,
}

impl Stream {
    pub(super) fn time_ms(&self) -> u32 {
        self.time_ms
    }

    /// Takes the next one and tells how long after the one before it was made.
    fn next(&mut self, now: Instant, time_ms: u32) {
        let step = take::step(self.time_ms, time_ms, now.saturating_duration_since(self.last));
        self.period = Some(match self.period {
            Some(period) => period.saturating_mul(7).saturating_add(step) / 8,
            None => step,
        });
        self.last = now;
        self.time_ms = time_ms;
    }
}

impl Session {
    pub(super) fn receive_status(&mut self, now: Instant, status: &Status<'_>) {
        self.state.counters.status += 1;
        match &mut self.stream {
            Some(stream) => stream.next(now, status.time_ms),
            None => {
                let time_ms = status.time_ms;
                self.stream = Some(Stream { last: now, time_ms, period: None });
            }
        }
        self.state.pose_seen = Some(now);
        self.state.positions = Some(status.positions);
        self.state.velocities = Some(status.velocities);
        self.state.mode = Some(status.mode);
        self.record(now, status);
        self.watch_play(now, status.mode);
        self.event(Event::Status {
            positions: status.positions,
            velocities: status.velocities,
            time_ms: status.time_ms,
            mode: status.mode,
            flags: status.flags,
        });
    }

    /// When the silence of a stream that ran means that the link is lost.
    pub(super) fn silence_due(&self) -> Option<Instant> {
        let stream = self.stream.as_ref()?;
        let silence = stream.period?.saturating_mul(PERIODS).max(SHORTEST_SILENCE);
        Some(later(stream.last, silence))
    }

    pub(super) fn check_silence(&mut self, now: Instant) {
        if self.silence_due().is_some_and(|at| now >= at) {
            self.lose(now);
        }
    }
}
