use std::time::Instant;

use sinew_wire::teach::{Command, Message};

use super::{
    Event, LinkState, Session,
    exchange::{Exchange, Waited},
};
use crate::later;

/// The opening, in the documents' order.
const STEPS: [Message<'static>; 4] = [
    Message::ControlMode { rest: &[] },
    Message::ParameterSync { rest: &[] },
    Message::Subscribe { rest: &[] },
    Message::Ready { ready: 1, rest: &[] },
];
/// A link without status is lost after so many cycles that nothing answered.
const LOST_AFTER: u32 = 2;

/// The opening cycle. Each step waits for its answer, but not for ever: a peer may not answer.
#[derive(Debug)]
pub(super) struct Cycle {
    next_at: Instant,
    running: Option<Running>,
    unanswered: u32,
    /// Whether anything came since the cycle began.
    heard: bool,
    /// Whether a step of it was refused or not answered.
    incomplete: bool,
    /// Whether an opening that was incomplete has been repeated already.
    repeated: bool,
}

#[derive(Debug)]
struct Running {
    step: usize,
    exchange: Exchange,
}

impl Cycle {
    pub(super) fn new(now: Instant) -> Self {
        Cycle {
            next_at: now,
            running: None,
            unanswered: 0,
            heard: false,
            incomplete: false,
            repeated: false,
        }
    }
}

impl Session {
    pub(super) fn cycle_due(&self) -> Instant {
        self.cycle.running.as_ref().map_or(self.cycle.next_at, |running| running.exchange.due)
    }

    pub(super) fn begin_cycle(&mut self, now: Instant) {
        self.cycle.next_at = later(now, self.settings.cycle);
        self.cycle.heard = false;
        self.cycle.incomplete = false;
        self.begin_step(now, 0);
    }

    /// Sends no further step: an opening that is completed while the link is being closed would
    /// open it again.
    pub(super) fn end_cycles(&mut self) {
        self.cycle.running = None;
    }

    pub(super) fn advance_cycle(&mut self, now: Instant) {
        if let Some(mut running) = self.cycle.running.take() {
            match self.wait(now, &mut running.exchange) {
                Waited::Enough => {
                    self.cycle.incomplete = true;
                    self.begin_step(now, running.step + 1);
                }
                _ => self.cycle.running = Some(running),
            }
        }
        if self.cycle.running.is_none() && now >= self.cycle.next_at {
            self.begin_cycle(now);
        }
    }

    /// The robot was heard. One that had been silent may have restarted: the link is opened anew.
    pub(super) fn heard(&mut self, now: Instant) {
        self.state.last_seen = Some(now);
        self.cycle.heard = true;
        self.cycle.unanswered = 0;
        self.trouble = None;
        if self.state.link.is_lost() {
            self.set_link(now, LinkState::Connecting { reason: None });
            self.cycle.repeated = false;
            self.begin_cycle(now);
            self.cycle.heard = true;
        }
    }

    /// Whether an answer was to the cycle; that of the running step lets it go on.
    pub(super) fn cycle_answered(&mut self, now: Instant, command: Command, status: u32) -> bool {
        let running = self.cycle.running.as_ref();
        let Some(step) = running.filter(|r| r.exchange.command() == command).map(|r| r.step) else {
            // An earlier try's, or a subscription's whose first status was faster.
            return STEPS.iter().any(|step| step.command() == command);
        };
        if status != 0 {
            self.cycle.incomplete = true;
            self.event(Event::StepRefused { command: command.code(), status });
        }
        self.begin_step(now, step + 1);
        true
    }

    fn begin_step(&mut self, now: Instant, step: usize) {
        let Some(&message) = STEPS.get(step) else { return self.end_cycle(now) };
        // Opening is worth repeating; what keeps the link up is repeated anyhow.
        let tries = if matches!(self.state.link, LinkState::Connecting { .. }) {
            self.settings.tries
        } else {
            1
        };
        self.send(message);
        let exchange = self.sent(now, message, tries, self.settings.retry);
        self.cycle.running = Some(Running { step, exchange });
    }

    fn end_cycle(&mut self, now: Instant) {
        self.cycle.running = None;
        if self.cycle.heard {
            if self.state.link != LinkState::Ready {
                self.opened(now);
            }
            return;
        }
        self.cycle.unanswered += 1;
        self.state.counters.cycles_unanswered += 1;
        if self.cycle.unanswered >= LOST_AFTER && self.state.link == LinkState::Ready {
            self.lose(now);
        }
    }

    /// The link is up. A robot that wants all four steps in order would refuse everything after a
    /// lost one, so the opening is repeated once; a robot that does not answer them must do.
    fn opened(&mut self, now: Instant) {
        if self.cycle.incomplete && !std::mem::replace(&mut self.cycle.repeated, true) {
            self.begin_cycle(now);
            self.cycle.heard = true;
            return;
        }
        self.set_link(now, LinkState::Ready);
        if self.teaching.take_exit_on_return() {
            self.begin_exit(now, "the robot was silent for 10 s while it was taught".into());
        }
    }
}
