//! How each part of a stop goes on, and how it ends.

use std::time::{Duration, Instant};

use sinew_wire::unitree::{
    Response,
    arm::{self, ArmRequest},
    mapping::SlamRequest,
};

use super::{
    super::{Event, LinkState, Phase, Session, calls::Purpose, walk::Walking, words},
    Asked, BOUND, CLOSING_BOUND, KEPT, Part, Stopping, What,
};
use crate::{Code, Refusal, later};

/// How often a stop is sent that was not answered.
const AGAIN: Duration = Duration::from_millis(100);
/// How often one that was answered, and does not show.
const ANSWERED_AGAIN: Duration = Duration::from_millis(400);
/// A walk is closed this long after it was to pause, whatever the robot says about pausing.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// A robot that tells where it is does so ten times a second.
const POSES: Duration = Duration::from_secs(1);
/// A new channel brings the arms' state within this time, or not at all.
const STATE_WITHIN: Duration = Duration::from_secs(2);

impl Session {
    pub(in crate::unitree) fn stopping_due(&self) -> Option<Instant> {
        let stopping = self.stopping.as_ref()?;
        let asked = stopping.asked.iter().map(|asked| asked.due);
        let until = stopping.parts.iter().map(|part| part.until);
        let next = stopping.parts.iter().map(|part| part.next).filter(|_| self.is_validated());
        asked.chain(until).chain(next).min()
    }

    pub(in crate::unitree) fn advance_stopping(&mut self, now: Instant) {
        let Some(mut stopping) = self.stopping.take() else { return };
        let mut parts = std::mem::take(&mut stopping.parts);
        let pause = parts.iter().find(|part| part.what == What::Pause);
        let pauses = pause
            .is_some_and(|part| part.first.is_none_or(|first| now < later(first, PAUSE_FIRST)));
        // A robot that does not stand when it is told to loses its way, and a map if need be.
        if let Some(part) = pause.filter(|part| !part.may_resume)
            && part.first.is_some_and(|first| now >= later(first, PAUSE_FIRST * 2))
            && !parts.iter().any(|part| part.what == What::Close)
        {
            parts.push(Part { what: What::Close, ..Part::new(now, later(now, BOUND)) });
        }
        let closes = parts.iter().any(|part| part.what == What::Close);
        parts.retain_mut(|part| match self.part_outcome(now, part, stopping.closed) {
            None => {
                self.repeat(now, part, pauses);
                true
            }
            Some(outcome) => {
                if part.what == What::Pause && outcome.is_ok() {
                    self.walk_paused(part.may_resume || closes, &stopping.by);
                }
                self.part_ended(now, &mut stopping, part.what, outcome);
                false
            }
        });
        stopping.parts = parts;
        self.stopping = Some(stopping);
        self.fail_asked(now, false);
        self.reply_asked();
        if self.stopping.as_ref().is_some_and(|stopping| stopping.parts.is_empty()) {
            self.stopping_over();
        }
    }

    /// How a part ended, if it has.
    fn part_outcome(&self, now: Instant, part: &Part, closed: bool) -> Option<Result<(), Refusal>> {
        if part.what == What::Pause && closed {
            return Some(Ok(()));
        }
        let over = part.first.is_some_and(|first| match part.what {
            What::Play => self.arms_ended(now, part, first, Phase::Playing),
            What::Record => self.arms_ended(now, part, first, Phase::Recording),
            What::Pause => self.stands(now, part, first),
            What::Close => part.answered.is_some_and(|answered| {
                let refused = part.refused.is_some() && self.walking.walks_since(first);
                !refused && self.rests(now, answered)
            }),
        });
        if over {
            return Some(Ok(()));
        }
        (now >= part.until).then(|| {
            let refused = part.refused.clone();
            Err(refused.unwrap_or_else(|| {
                let message = format!(
                    "the robot did not confirm {}; it may go on: use its remote control",
                    part.what.words()
                );
                Refusal::new(Code::Unconfirmed, message)
            }))
        })
    }

    /// Whether the arms' state says that they no longer do it. The robot must have answered, so
    /// that all that was sent before has come to it; at the end of the time the state alone counts.
    fn arms_ended(&self, now: Instant, part: &Part, first: Instant, phase: Phase) -> bool {
        let last_chance = now >= part.until;
        let Some(since) = part.answered.or(last_chance.then_some(first)) else { return false };
        match self.channel.arm_seen {
            Some(seen) => {
                let ended = self.state.arm.as_ref().is_some_and(|arm| arm.phase != phase);
                seen > since && ended && self.state.fresh && self.recorder.is_settled(now, since)
            }
            // A robot that does not tell its state, and not only not yet.
            None => {
                let patience = self.channel.validated_at().map(|at| later(at, STATE_WITHIN));
                let refused = part.refused.is_some();
                let untold =
                    patience.is_some_and(|at| now >= at) || !self.is_offered(arm::STATE_TOPIC);
                part.answered.is_some() && !refused && untold
            }
        }
    }

    /// Whether the robot stands by its own word, or its place does not change. One that tells
    /// neither is believed.
    fn rests(&self, now: Instant, answered: Instant) -> bool {
        let told = self.state.pose_seen.is_some_and(|seen| later(seen, POSES) > answered);
        let still = now >= Walking::at_rest(answered) && !self.walking.drifts_since(answered);
        self.walking.stands_now(now) || !told || still
    }

    /// Whether the robot stands: it says so, or answered and shows nothing else.
    fn stands(&self, now: Instant, part: &Part, first: Instant) -> bool {
        let says_moving = self.walking.walks_since(part.answered.unwrap_or(first));
        let answered = part.answered.is_some() && part.refused.is_none();
        let refused = part.refused.is_some() && !self.walking.may_walk();
        let rests = part.answered.is_some_and(|answered| self.rests(now, answered));
        self.walking.stands_since(first) || ((answered || refused) && !says_moving && rests)
    }

    /// Sends a part again when it is time to.
    fn repeat(&mut self, now: Instant, part: &mut Part, pauses: bool) {
        if !self.is_validated() || now < part.next {
            return;
        }
        // What the caller has not even fetched need not be sent again.
        let waits = self.outbox.has_urgent() && part.first.is_some();
        let after_pause = part.what == What::Close && pauses;
        part.next = later(now, if part.answered.is_some() { ANSWERED_AGAIN } else { AGAIN });
        if waits || after_pause {
            return;
        }
        if part.first.is_some() {
            self.state.counters.repeats += 1;
        }
        part.first.get_or_insert(now);
        let purpose = Purpose::Stop(part.what);
        match part.what {
            What::Play => self.call_arm(now, purpose, &ArmRequest::Stop),
            What::Record => self.call_arm(now, purpose, &ArmRequest::RecordStop),
            What::Pause => self.call_slam(now, purpose, &SlamRequest::Pause),
            What::Close => self.call_slam(now, purpose, &SlamRequest::Close),
        }
    }

    /// The robot answered a stop.
    pub(in crate::unitree) fn stop_answered(
        &mut self,
        now: Instant,
        what: What,
        response: &Response,
    ) {
        let outcome = match what {
            What::Play | What::Record if response.is_good() => Ok(()),
            What::Play => Err(self.arm_refusal("stop", response, None)),
            What::Record => Err(self.arm_refusal("record_stop", response, None)),
            What::Pause => words::slam_outcome("pause", response),
            What::Close => words::slam_outcome("close", response),
        };
        let parts = self.stopping.iter_mut().flat_map(|stopping| &mut stopping.parts);
        if let Some(part) = parts.into_iter().find(|part| part.what == what) {
            part.refused = outcome.err();
            part.answered.get_or_insert(now);
        }
    }

    fn part_ended(
        &mut self,
        now: Instant,
        stopping: &mut Stopping,
        what: What,
        outcome: Result<(), Refusal>,
    ) {
        self.calls.forget(Purpose::Stop(what));
        match what {
            What::Play => {
                if outcome.is_ok() && !self.recorder.may_run() {
                    self.recorder.settled();
                }
            }
            What::Record => {
                if outcome.is_err() {
                    self.recorder.leave();
                } else {
                    self.recorder.settled();
                }
                self.recording_ended(now, &stopping.by);
            }
            What::Close if outcome.is_ok() => {
                stopping.closed = true;
                self.slam_closed(now, &stopping.by);
            }
            What::Pause | What::Close => {}
        }
        for asked in &mut stopping.asked {
            if asked.awaits.contains(&what) {
                asked.awaits.retain(|other| *other != what);
                if let Err(refusal) = &outcome {
                    asked.failed.get_or_insert_with(|| refusal.clone());
                }
            }
        }
        if let Err(refusal) = outcome {
            stopping.failed.get_or_insert(refusal);
        }
    }

    fn reply_asked(&mut self) {
        let Some(stopping) = &mut self.stopping else { return };
        let (over, left): (Vec<_>, _) =
            stopping.asked.drain(..).partition(|asked| asked.awaits.is_empty());
        stopping.asked = left;
        for Asked { id, wanted, failed, .. } in over {
            match failed {
                Some(refusal) => self.refuse(id, refusal),
                None => {
                    let reply = wanted.reply(self);
                    self.done(id, Ok(reply));
                }
            }
        }
    }

    /// Requests that have waited long enough, or all of them, end; what is being stopped does not.
    pub(super) fn fail_asked(&mut self, now: Instant, all: bool) {
        let open = self.is_open();
        let Some(stopping) = &mut self.stopping else { return };
        let (over, left): (Vec<_>, _) = stopping
            .asked
            .drain(..)
            .partition(|asked| all || (now >= asked.due && !asked.awaits.is_empty()));
        stopping.asked = left;
        let message = format!(
            "{}; the stop is sent as soon as it is back within {} s",
            self.state.link,
            KEPT.as_secs()
        );
        let refusal = match open {
            true => Refusal::new(Code::Unconfirmed, "the robot did not confirm it in time"),
            false => Refusal::new(Code::LinkLost, message),
        };
        for asked in over {
            self.refuse(asked.id, asked.failed.unwrap_or_else(|| refusal.clone()));
        }
    }

    fn stopping_over(&mut self) {
        let Some(stopping) = self.stopping.take() else { return };
        self.state.stopping = None;
        let (confirmed, why) = match stopping.failed {
            None => (true, "the robot says that it is over".into()),
            Some(refusal) => (false, refusal.message),
        };
        self.event(Event::StopEnded { by: (*stopping.by).into(), confirmed, why });
    }

    /// The channel is gone: the stop goes on on the next one.
    pub(in crate::unitree) fn stopping_cut(&mut self, now: Instant) {
        let kept = later(now, KEPT);
        for part in self.stopping.iter_mut().flat_map(|stopping| &mut stopping.parts) {
            (part.first, part.answered, part.refused) = (None, None, None);
            (part.next, part.until) = (now, kept);
        }
    }

    /// There is a channel again.
    pub(in crate::unitree) fn stopping_resumed(&mut self, now: Instant) {
        let closing = self.state.link == LinkState::Closing;
        let until = later(now, if closing { CLOSING_BOUND } else { BOUND });
        for part in self.stopping.iter_mut().flat_map(|stopping| &mut stopping.parts) {
            (part.next, part.until) = (now, until);
        }
    }

    /// Nothing more can be done about it.
    pub(in crate::unitree) fn give_up_stopping(&mut self, why: &str) {
        if let Some(mut stopping) = self.stopping.take() {
            for asked in stopping.asked.drain(..) {
                self.refuse(asked.id, Refusal::new(Code::Unconfirmed, why));
            }
            if !stopping.parts.is_empty() {
                stopping.failed.get_or_insert(Refusal::new(Code::Unconfirmed, why));
            }
            self.stopping = Some(stopping);
            self.stopping_over();
        }
    }
}
