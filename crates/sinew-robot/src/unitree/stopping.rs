//! Ending what moves: repeated until the robot's state says that it is over.
//!
//! A stop is sent ten times a second until it is answered. On a reliable channel that is not only
//! for robots that missed one: what is lost on an idle line is sent again after a second at the
//! earliest, but after three later messages at once. A robot that has answered, and whose state
//! does not show it, is asked more slowly.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_wire::unitree::{
    Response,
    arm::{self, ArmRequest},
    mapping::SlamRequest,
};

use super::{Event, LinkState, Phase, Reply, Session, calls::Purpose, outbox::Sort, words};
use crate::{Code, Refusal, RequestId, later, mapping, teach};

/// How often a stop is sent that was not answered.
const AGAIN: Duration = Duration::from_millis(100);
/// How often one that was answered, and does not show.
const ANSWERED_AGAIN: Duration = Duration::from_millis(400);
/// How long it is tried while there is a channel.
const BOUND: Duration = Duration::from_secs(5);
/// How long when the daemon ends, which waits for it.
const CLOSING_BOUND: Duration = Duration::from_secs(3);
/// How long a stop is kept for a robot that is not there.
const KEPT: Duration = Duration::from_secs(60);
/// A walk is closed this long after it was to pause, whatever the robot says about pausing.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// A new channel brings the arms' state within this time, or not at all.
const STATE_WITHIN: Duration = Duration::from_secs(2);

/// What can be ended, each with a call of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// 7113.
    Play,
    /// 7110 without a parameter.
    Record,
    /// 1201.
    Pause,
    /// 1901.
    Close,
}

/// What is being ended, and the requests that want it.
#[derive(Debug)]
pub(super) struct Stopping {
    by: Arc<str>,
    parts: Vec<Part>,
    asked: Vec<Asked>,
    /// What was not confirmed.
    failed: Option<Refusal>,
    /// The walk is closed: it stands, whatever the robot says about pausing.
    closed: bool,
}

#[derive(Debug)]
struct Part {
    what: What,
    /// Whether a client only wants the robot to stand for a while.
    may_resume: bool,
    /// When it was first sent on this channel.
    first: Option<Instant>,
    next: Instant,
    /// When the robot first answered.
    answered: Option<Instant>,
    /// What it said, if that was no.
    refused: Option<Refusal>,
    until: Instant,
}

#[derive(Debug)]
struct Asked {
    id: RequestId,
    wanted: Wanted,
    awaits: Vec<What>,
    failed: Option<Refusal>,
    due: Instant,
}

/// Which answer a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Stop,
    RecordStop,
    Pause,
    Close,
}

impl What {
    const fn words(self) -> &'static str {
        match self {
            What::Play => "the end of playback",
            What::Record => "the end of the recording",
            What::Pause => "standing still",
            What::Close => "the end of the walk",
        }
    }
}

impl Wanted {
    fn reply(self, session: &Session) -> Reply {
        match self {
            Wanted::Stop => {
                let note = match session.channel.arm_seen {
                    Some(_) => {
                        "sent until the robot's own state said that its arms play and \
                                record nothing; how it ends a motion is the robot's own"
                    }
                    None => "answered by the robot, which does not tell what its arms do",
                };
                teach::Answer::Stop { note: note.into() }.into()
            }
            Wanted::RecordStop => session.record_answer().into(),
            Wanted::Pause => mapping::Answer::Pause.into(),
            Wanted::Close => mapping::Answer::Close.into(),
        }
    }
}

impl Session {
    /// Stops the robot: before anything else, and nothing that waits is asked any more.
    pub(super) fn stop(&mut self, now: Instant, id: Option<RequestId>, by: &str) {
        if self.state.link.is_ending() {
            return;
        }
        self.event(Event::Stopped { by: by.into() });
        let why = format!("stopped by {by}");
        let mut parts = vec![What::Play];
        parts.extend(self.records().then_some(What::Record));
        parts.extend(self.walk_parts(now));
        self.outbox.drop_sort(Sort::Motion);
        self.drop_arm_changes(&why);
        self.drop_slam_changes(&why);
        self.end(now, &parts, &why, id.map(|id| (id, Wanted::Stop)));
    }

    /// Ends what plays, and nothing else.
    pub(super) fn end_playback(&mut self, now: Instant, why: &str) {
        self.outbox.drop_sort(Sort::Motion);
        self.end(now, &[What::Play], why, None);
    }

    /// Ends the recording for the session's own reasons.
    pub(super) fn end_recording(&mut self, now: Instant, why: &str) {
        self.end(now, &[What::Record], why, None);
    }

    /// The same for a request.
    pub(super) fn end_recording_for(&mut self, now: Instant, id: Option<RequestId>, by: &str) {
        self.end(now, &[What::Record], by, id.map(|id| (id, Wanted::RecordStop)));
    }

    /// Ends the walk: first it stands, then it forgets where to. While a map is made, forgetting
    /// would cost the map, so that is left out.
    pub(super) fn end_walk(&mut self, now: Instant, why: &str) {
        let parts: &[What] = match self.state.mapping.active {
            true => &[What::Pause],
            false => &[What::Pause, What::Close],
        };
        self.end(now, parts, why, None);
    }

    /// A client wants the robot to stand, or to forget its map.
    pub(super) fn end_for(&mut self, now: Instant, id: RequestId, wanted: Wanted, by: &str) {
        let parts: &[What] = match wanted {
            Wanted::Pause => &[What::Pause],
            _ if self.walking.may_walk() => &[What::Pause, What::Close],
            _ => &[What::Close],
        };
        self.end(now, parts, by, Some((id, wanted)));
    }

    /// Ends whatever goes on, before the session does.
    pub(super) fn stop_all_that_goes_on(&mut self, now: Instant, by: &str) {
        let mut parts = Vec::new();
        parts.extend(self.may_play().then_some(What::Play));
        parts.extend(self.records().then_some(What::Record));
        parts.extend(self.walk_parts(now));
        self.outbox.drop_sort(Sort::Motion);
        if !parts.is_empty() {
            self.end(now, &parts, by, None);
        }
        let until = later(now, CLOSING_BOUND);
        for part in self.stopping.iter_mut().flat_map(|stopping| &mut stopping.parts) {
            part.until = until;
        }
    }

    /// Whether the robot records, or may have begun to.
    fn records(&self) -> bool {
        let shown = self.state.arm.as_ref().is_some_and(|arm| arm.phase == Phase::Recording);
        shown || self.recorder.may_run() || self.stops_recording()
    }

    fn walk_parts(&self, now: Instant) -> Vec<What> {
        let walks = self.walking.may_walk() || self.walks_by_itself(now);
        match self.state.mapping.active {
            _ if !walks => Vec::new(),
            true => vec![What::Pause],
            false => vec![What::Pause, What::Close],
        }
    }

    fn end(
        &mut self,
        now: Instant,
        parts: &[What],
        by: &str,
        request: Option<(RequestId, Wanted)>,
    ) {
        if parts.contains(&What::Record) {
            // Before the stop: a keep-alive behind it would be one too many.
            self.recorder.stop_keeping(now);
            self.outbox.drop_sort(Sort::KeepAlive);
            // One whose start is not answered yet would be kept alive by the answer.
            self.drop_recording_start(by);
        }
        let here = self.is_validated();
        let until = later(now, if here { BOUND } else { KEPT });
        let new = || Stopping {
            by: by.into(),
            parts: Vec::new(),
            asked: Vec::new(),
            failed: None,
            closed: false,
        };
        let stopping = self.stopping.get_or_insert_with(new);
        let may_resume = matches!(request, Some((_, Wanted::Pause)));
        for what in parts {
            match stopping.parts.iter_mut().find(|part| part.what == *what) {
                // One that is on its way keeps its pace; it is asked for anew, so it has as long.
                Some(part) => {
                    part.until = part.until.max(until);
                    part.may_resume &= may_resume;
                }
                None => stopping.parts.push(Part {
                    what: *what,
                    may_resume,
                    first: None,
                    next: now,
                    answered: None,
                    refused: None,
                    until,
                }),
            }
        }
        self.state.stopping = Some(Arc::clone(&stopping.by));
        if let Some((id, wanted)) = request {
            let (awaits, due) = (parts.to_vec(), later(now, BOUND));
            stopping.asked.push(Asked { id, wanted, awaits, failed: None, due });
            if !self.is_open() {
                self.fail_asked(now, true);
            }
        }
    }

    pub(super) fn stops_arms(&self) -> bool {
        self.stops(What::Play) || self.stops(What::Record)
    }

    pub(super) fn stops_recording(&self) -> bool {
        self.stops(What::Record)
    }

    pub(super) fn stops_walk(&self) -> bool {
        self.stops(What::Pause) || self.stops(What::Close)
    }

    fn stops(&self, what: What) -> bool {
        let parts = self.stopping.iter().flat_map(|stopping| &stopping.parts);
        parts.into_iter().any(|part| part.what == what)
    }

    pub(super) fn stopping_due(&self) -> Option<Instant> {
        let stopping = self.stopping.as_ref()?;
        let asked = stopping.asked.iter().map(|asked| asked.due);
        let until = stopping.parts.iter().map(|part| part.until);
        let next = stopping.parts.iter().map(|part| part.next).filter(|_| self.is_validated());
        asked.chain(until).chain(next).min()
    }

    pub(super) fn advance_stopping(&mut self, now: Instant) {
        let Some(mut stopping) = self.stopping.take() else { return };
        let mut parts = std::mem::take(&mut stopping.parts);
        let pause = parts.iter().find(|part| part.what == What::Pause);
        let pauses = pause
            .is_some_and(|part| part.first.is_none_or(|first| now < later(first, PAUSE_FIRST)));
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
            What::Pause => self.stands(part, first),
            What::Close => {
                part.answered.is_some()
                    && (part.refused.is_none() || !self.walking.walks_since(first))
            }
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

    /// Whether the robot stands: it says so, or answered and does not say otherwise.
    fn stands(&self, part: &Part, first: Instant) -> bool {
        let says_moving = self.walking.walks_since(part.answered.unwrap_or(first));
        let answered = part.answered.is_some() && part.refused.is_none();
        let refused = part.refused.is_some() && !self.walking.may_walk();
        self.walking.stands_since(first) || ((answered || refused) && !says_moving)
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
    pub(super) fn stop_answered(&mut self, now: Instant, what: What, response: &Response) {
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
    fn fail_asked(&mut self, now: Instant, all: bool) {
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
    pub(super) fn stopping_cut(&mut self, now: Instant) {
        let kept = later(now, KEPT);
        for part in self.stopping.iter_mut().flat_map(|stopping| &mut stopping.parts) {
            (part.first, part.answered, part.refused) = (None, None, None);
            (part.next, part.until) = (now, kept);
        }
    }

    /// There is a channel again.
    pub(super) fn stopping_resumed(&mut self, now: Instant) {
        let closing = self.state.link == LinkState::Closing;
        let until = later(now, if closing { CLOSING_BOUND } else { BOUND });
        for part in self.stopping.iter_mut().flat_map(|stopping| &mut stopping.parts) {
            (part.next, part.until) = (now, until);
        }
    }

    /// Nothing more can be done about it.
    pub(super) fn give_up_stopping(&mut self, why: &str) {
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
