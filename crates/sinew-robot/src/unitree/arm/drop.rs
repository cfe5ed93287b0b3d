//! Requests of the arms that are not carried out any more.

use std::{collections::VecDeque, time::Instant};

use super::{super::Session, Act, Active, Step, Waiting, unconfirmed};
use crate::{Code, Refusal, teach::RobotRequest, unitree::calls::Purpose};

impl Session {
    /// The channel is gone: what was sent may have been done.
    pub(in crate::unitree) fn arm_lost(&mut self, now: Instant, refusal: &Refusal) {
        if let Some(active) = self.arm.active.take() {
            match active.step.clone() {
                Step::Listing | Step::Returning => self.refuse(active.id, refusal.clone()),
                Step::Acting(act @ Act::Play { .. }) if active.seen == Some(true) => {
                    self.acted(now, active, &act);
                }
                _ => {
                    let lost = unconfirmed(active.request.op());
                    let message = format!("{}: {}", refusal.message, lost.message);
                    self.refuse(active.id, Refusal::new(Code::Unconfirmed, message));
                }
            }
        }
        self.drop_arm(refusal);
    }

    /// Nothing that waits and would change something is asked; what was sent may have been done.
    pub(in crate::unitree) fn drop_arm_changes(&mut self, why: &str) {
        self.drop_arm_active(why, |active| {
            matches!(active.request, RobotRequest::Play { .. } | RobotRequest::RecordStart { .. })
        });
        let refusal = Refusal::new(Code::NotReady, why);
        self.drop_waiting(&refusal, |waiting| !waiting.request.is_query());
    }

    /// The same for what would move the arms, unless it is this client's. A recording that has
    /// begun, or may have, is teaching, and goes on.
    pub(in crate::unitree) fn drop_arm_motions(&mut self, why: &str, except: Option<u64>) {
        self.drop_arm_active(why, |active| {
            let begun = matches!(active.step, Step::Acting(_));
            let moves = match active.request {
                RobotRequest::Play { .. } => true,
                RobotRequest::RecordStart { .. } => !begun,
                _ => false,
            };
            moves && Some(active.origin.client) != except
        });
        let refusal = Refusal::new(Code::NotReady, why);
        self.drop_waiting(&refusal, |waiting| {
            let moves = crate::unitree::Request::Teach(waiting.request.clone()).moves();
            moves && Some(waiting.origin.client) != except
        });
    }

    /// A client has gone: what waits for the arms to be back for it does not begin.
    pub(in crate::unitree) fn drop_returning(&mut self, why: &str, client: Option<u64>) {
        self.drop_arm_active(why, |active| {
            let waits = matches!(active.step, Step::Returning);
            waits && client.is_none_or(|gone| gone == active.origin.client)
        });
    }

    /// A recording is ended whose start the robot has not answered.
    pub(in crate::unitree) fn drop_recording_start(&mut self, why: &str) {
        self.drop_arm_active(&format!("ended by {why}"), |active| {
            matches!(active.step, Step::Acting(Act::Record { .. }))
        });
    }

    fn drop_arm_active(&mut self, why: &str, is: impl Fn(&Active) -> bool) {
        let Some(active) = self.arm.active.take_if(|active| is(active)) else { return };
        self.calls.forget(Purpose::Arm);
        let begun = matches!(active.step, Step::Acting(_));
        let (code, before) = match begun {
            true => (Code::Unconfirmed, "the robot answered"),
            false => (Code::NotReady, "the robot was asked to"),
        };
        let message = format!("{why} before {before} {}", active.request.op());
        self.refuse(active.id, Refusal::new(code, message));
    }

    /// Refuses what is carried out and what waits.
    pub(in crate::unitree) fn drop_arm(&mut self, refusal: &Refusal) {
        self.drop_arm_active(&refusal.message, |_| true);
        self.drop_waiting(refusal, |_| true);
    }

    fn drop_waiting(&mut self, refusal: &Refusal, is: impl Fn(&Waiting) -> bool) {
        let (dropped, left): (VecDeque<_>, _) = self.arm.waiting.drain(..).partition(is);
        self.arm.waiting = left;
        for waiting in dropped {
            self.refuse(waiting.id, refusal.clone());
        }
    }
}
