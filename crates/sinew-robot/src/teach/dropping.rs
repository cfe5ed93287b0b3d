use std::collections::VecDeque;

use sinew_wire::teach::Command;

use super::{RobotRequest, Session, requests::not_ready};
use crate::{Code, Refusal};

/// Requests that will not be carried out.
impl Session {
    /// Nothing that waits is sent; what was sent may have been done.
    pub(super) fn drop_requests(&mut self, why: &str) {
        self.trial = None;
        self.rehearsed = None;
        self.performance = None;
        self.resuming = None;
        self.drop_active(why);
        self.fail_waiting(&not_ready(why));
    }

    /// Nothing that waits and would move the arms is sent. One that has been made soft already is
    /// teaching, and goes on.
    pub(super) fn drop_motions(&mut self, why: &str) {
        self.performance = None;
        let is_play = |request: &RobotRequest| {
            matches!(request, RobotRequest::Play { .. } | RobotRequest::Perform { .. })
        };
        if self.active.as_ref().is_some_and(|active| is_play(&active.request)) {
            self.rehearsed = None;
            self.drop_active(why);
        }
        let dropped: VecDeque<_>;
        (dropped, self.queue) = self.queue.drain(..).partition(|waiting| waiting.request.moves());
        for waiting in dropped {
            self.done(waiting.id, Err(not_ready(why)));
        }
    }

    fn drop_active(&mut self, why: &str) {
        let Some(active) = self.active.take() else { return };
        // A list that only looks up a name has started nothing.
        let begun = active.exchange.command() != Command::List;
        let code = if begun { Code::Unconfirmed } else { Code::NotReady };
        let message = format!("{why} before the robot answered {}", active.request.op());
        self.done(active.id, Err(Refusal::new(code, message)));
    }

    pub(super) fn fail_waiting(&mut self, refusal: &Refusal) {
        self.preparing = None;
        while let Some(waiting) = self.queue.pop_front() {
            self.done(waiting.id, Err(refusal.clone()));
        }
    }
}
