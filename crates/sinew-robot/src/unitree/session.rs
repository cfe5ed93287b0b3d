use std::{sync::Arc, time::Instant};

use sinew_wire::unitree::Form;

use super::{LinkState, Request, Settings, State, clock::Clock, outbox::Outbox};
use crate::{Code, Order, Origin, Refusal, RequestId, teach::Carries};

/// A G1, from the client's side of its data channel.
#[derive(Debug)]
pub struct Session {
    pub(super) settings: Settings,
    pub(super) clock: Clock,
    pub(super) state: State,
    pub(super) outbox: Outbox,
    last_id: RequestId,
}

impl Session {
    /// What the arm service can carry: whole actions as they were recorded.
    pub const CARRIES: Carries = Carries { looped: false, speed: false, keyframes: 0 };

    /// A session that waits for its channel.
    pub fn new(settings: Settings, now: Instant) -> Self {
        let clock = Clock::new(now, settings.unix_time);
        let (state, outbox) = (State::new(), Outbox::default());
        Session { settings, clock, state, outbox, last_id: 0 }
    }
    pub(super) fn opened(&mut self, _now: Instant) {}
    pub(super) fn lost(&mut self, _now: Instant, _reason: &str) {}
    pub(super) fn show_trouble(&mut self, _now: Instant, _reason: &str) {}
    pub(super) fn is_open(&self) -> bool {
        false
    }
    pub(super) fn receive(&mut self, _now: Instant, _from: Form, _bytes: &[u8]) {}
    pub(super) fn advance(&mut self, _now: Instant) {}
    pub(super) fn due(&self) -> Option<Instant> {
        None
    }
    pub(super) fn ask(&mut self, _now: Instant, _request: Request, _origin: &Origin) -> RequestId {
        self.last_id += 1;
        self.refuse(self.last_id, Refusal::new(Code::LinkLost, self.state.link.to_string()));
        self.last_id
    }
    pub(super) fn stop(&mut self, _now: Instant, _id: Option<RequestId>, _by: &str) {}
    pub(super) fn taken(&mut self, _now: Instant, _order: &Order) {}
    pub(super) fn released(&mut self, _now: Instant, _order: &Order) {}
    pub(super) fn begin_closing(&mut self, _now: Instant, _by: &Arc<str>) {
        self.state.link = LinkState::Closed;
    }
}
