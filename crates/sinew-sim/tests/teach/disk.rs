//! What a simulated robot stores its actions on: slow, full, or as it should be.

use std::time::{Duration, Instant};

use sinew_sim::g1::StoredAction;

pub(crate) struct Disk {
    actions: Vec<StoredAction>,
    /// How long it takes to store something.
    pub(crate) delay: Duration,
    /// Whether it has no room.
    pub(crate) full: bool,
    job: Option<Job>,
}

struct Job {
    due: Instant,
    id: u64,
    /// None when there is no room for them.
    actions: Option<Vec<StoredAction>>,
}

impl Disk {
    pub(crate) fn new(actions: Vec<StoredAction>) -> Self {
        Disk { actions, delay: Duration::ZERO, full: false, job: None }
    }

    /// What is on it.
    pub(crate) fn actions(&self) -> &[StoredAction] {
        &self.actions
    }

    pub(crate) fn restore(&mut self) {
        self.delay = Duration::ZERO;
        self.full = false;
    }

    pub(crate) fn begin(&mut self, now: Instant, id: u64, actions: Vec<StoredAction>) {
        assert!(self.job.is_none(), "a robot asks for one thing at a time");
        let actions = (!self.full).then_some(actions);
        self.job = Some(Job { due: now + self.delay, id, actions });
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        self.job.as_ref().map(|job| job.due)
    }

    /// What has been done by now, and whether it could be.
    pub(crate) fn finish(&mut self, now: Instant) -> Option<(u64, bool)> {
        let Job { id, actions, .. } = self.job.take_if(|job| job.due <= now)?;
        let ok = actions.is_some();
        self.actions = actions.unwrap_or_else(|| std::mem::take(&mut self.actions));
        Some((id, ok))
    }

    /// The robot's process was killed: what was being stored never is. Gives what is there.
    pub(crate) fn killed(&mut self) -> Vec<StoredAction> {
        self.job = None;
        self.actions.clone()
    }
}
