use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::trajectory::{MAX_DURATION_MS, Pose, Recording};

/// A robot's clock that goes further than this in one step was set, or the robot restarted.
const LONGEST_STEP_MS: i32 = 10_000;

/// A recording as it is made.
#[derive(Debug)]
pub(crate) struct Take {
    recording: Recording,
    began: Instant,
    ended: Option<Instant>,
    last: Option<(Instant, u32)>,
    at_ms: u32,
    full: bool,
    /// Whether the robot still has its own, so that it may be saved.
    pub(crate) kept: bool,
    pub(crate) name: Option<Arc<str>>,
}

impl Take {
    pub(crate) fn new(now: Instant, name: Option<Arc<str>>) -> Self {
        Take {
            recording: Recording::new(),
            began: now,
            ended: None,
            last: None,
            at_ms: 0,
            full: false,
            kept: true,
            name,
        }
    }

    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    pub(crate) fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    pub(crate) fn end(&mut self, now: Instant) {
        self.ended.get_or_insert(now);
    }

    /// The robot refused to end it.
    pub(crate) fn go_on(&mut self) {
        self.ended = None;
    }

    /// How long it is: by its frames, or by the clock when there are none.
    pub(crate) fn duration_ms(&self) -> u32 {
        if !self.recording.is_empty() {
            return self.recording.duration_ms();
        }
        let ended = self.ended.unwrap_or(self.began);
        let duration = ended.saturating_duration_since(self.began).as_millis();
        u32::try_from(duration).unwrap_or(u32::MAX)
    }

    /// Adds a pose with the time of the robot's clock.
    pub(crate) fn add(&mut self, now: Instant, time_ms: u32, positions: Pose) {
        if self.full {
            return;
        }
        if let Some((last, before_ms)) = self.last {
            let step = step(before_ms, time_ms, now.saturating_duration_since(last));
            let ms = u32::try_from(step.as_millis()).unwrap_or(u32::MAX);
            self.at_ms = self.at_ms.saturating_add(ms);
        }
        self.last = Some((now, time_ms));
        let fits = self.at_ms <= MAX_DURATION_MS;
        self.full = !fits || self.recording.push(self.at_ms, positions).is_err();
    }
}

/// The time between two status datagrams: by the robot's clock, which the network does not
/// disturb; by their arrival when that clock stands still, jumped or was set back. Never none.
pub(super) fn step(before_ms: u32, after_ms: u32, arrived: Duration) -> Duration {
    let step = after_ms.wrapping_sub(before_ms) as i32;
    if (1..=LONGEST_STEP_MS).contains(&step) {
        return Duration::from_millis(step.unsigned_abs().into());
    }
    arrived.max(Duration::from_millis(1))
}
