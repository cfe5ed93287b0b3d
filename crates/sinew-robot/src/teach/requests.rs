use std::time::{Duration, Instant};

use sinew_wire::teach::{Command, Keyframes, Message, Play, Sequence};

use super::{
    Action, Answer, Event, Link, Playing, RequestId, RobotRequest, Session, Target,
    ending::refused,
    exchange::{Exchange, Waited},
    name::new_name,
    performing::Rehearsed,
    receive::MAX_ACTIONS,
    session::later,
    take::Take,
    wire::to_wire,
};
use crate::{
    Code, Refusal,
    trajectory::{Keyframe, MAX_SAVED_MS, Reduced},
};

/// Requests that may wait for the one before them.
const MAX_WAITING: usize = 32;

const PLAY_NOTE: &str = "the action is stored in the robot: its easing, joint limits and speeds \
                         are the robot's own, not Sinew's";

/// A request whose turn has not come.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) id: RequestId,
    pub(super) request: RobotRequest,
    by: String,
    since: Instant,
}

/// The request that is being carried out.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) id: RequestId,
    pub(super) request: RobotRequest,
    pub(super) by: String,
    pub(super) exchange: Exchange,
    /// What is answered when the robot has said yes.
    answer: Answer,
    /// Whether the robot may be teaching on account of this request alone.
    began_teaching: bool,
}

impl Active {
    pub(super) fn due(&self) -> Instant {
        self.exchange.due
    }
}

impl Session {
    pub(super) fn enqueue(&mut self, now: Instant, id: RequestId, request: RobotRequest, by: &str) {
        if let Err(refusal) = self.check(now, &request) {
            return self.done(id, Err(refusal));
        }
        if !request.is_query() {
            self.asked = now;
        }
        if request == RobotRequest::Exit && self.state.link == Link::Lost {
            return self.exit_at_once(now, id, by);
        }
        self.queue.push_back(Waiting { id, request, by: by.into(), since: now });
    }

    /// What can be said at once: about the link, and about what these datagrams cannot do.
    fn check(&self, now: Instant, request: &RobotRequest) -> Result<(), Refusal> {
        match self.state.link {
            Link::Closing | Link::Closed => {
                return Err(Refusal::new(Code::NotReady, self.state.link.to_string()));
            }
            Link::Lost if *request != RobotRequest::Exit => return Err(self.link_lost(now)),
            _ => {}
        }
        if self.queue.len() >= MAX_WAITING {
            let message = format!("{MAX_WAITING} requests wait already");
            return Err(Refusal::new(Code::Busy, message));
        }
        match request {
            RobotRequest::Rename { .. } | RobotRequest::Delete { .. } => Err(Refusal::new(
                Code::Unsupported,
                format!(
                    "the teaching datagrams have no {}: the documents describe none; a real G1 \
                     does it over WebRTC",
                    request.op()
                ),
            )),
            RobotRequest::RecordStart { name: Some(name) }
            | RobotRequest::Save { name: Some(name), .. } => new_name(name).map(drop),
            RobotRequest::Play { how, .. } if how.looped => Err(Refusal::new(
                Code::Unsupported,
                "loop: a play has no place for it in the teaching datagrams; give it to save, or \
                 play the motion from the library",
            )),
            RobotRequest::Play { how, .. } if how.speed.is_some() => Err(Refusal::new(
                Code::Unsupported,
                "speed: a play has no place for it in the teaching datagrams; give duration_ms, \
                 or play the motion from the library",
            )),
            RobotRequest::Play { action, keyframes, .. } => {
                if let Target::Id(id) = action
                    && !(1..=MAX_ACTIONS).contains(id)
                {
                    return Err(invalid(format!("id: wanted 1 to {MAX_ACTIONS}, got {id}")));
                }
                slots(keyframes.as_deref().unwrap_or_default()).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// When a request that waits for the link has waited long enough: as long as an opening cycle
    /// without any answer takes.
    pub(super) fn queue_due(&self) -> Option<Instant> {
        let patience = self.settings.retry.saturating_mul(self.settings.tries.saturating_mul(4));
        let first = self.queue.front().filter(|_| self.state.link != Link::Ready)?;
        Some(later(first.since, patience))
    }

    pub(super) fn advance_requests(&mut self, now: Instant) {
        if let Some(mut active) = self.active.take() {
            match self.wait(now, &mut active.exchange) {
                Waited::Enough => self.given_up(now, active),
                waited => {
                    if waited == Waited::Again && self.trial.is_some() {
                        self.trial = Some(Take::new(now, self.trial_name()));
                    }
                    self.active = Some(active);
                }
            }
        }
        while self.queue_due().is_some_and(|at| now >= at) {
            let refusal = self.link_lost(now);
            if let Some(waiting) = self.queue.pop_front() {
                self.done(waiting.id, Err(refusal));
            }
        }
        while self.state.link == Link::Ready
            && self.active.is_none()
            && self.ending.is_none()
            && self.preparing.is_none()
            && self.resuming.is_none()
            && let Some(waiting) = self.queue.front()
        {
            if let Waiting { id, request: RobotRequest::Save { name, .. }, .. } = waiting {
                let (id, name) = (*id, name.clone());
                self.prepare_save(now, id, name.as_deref());
            } else if let Some(waiting) = self.queue.pop_front() {
                let prepared = self.prepared(&waiting.request);
                self.start(now, waiting, prepared);
            }
        }
    }

    /// What a save carries is known, or why there is none.
    pub(super) fn prepared_save(
        &mut self,
        now: Instant,
        id: RequestId,
        result: Result<Reduced, Refusal>,
    ) {
        if self.preparing != Some(id) {
            return;
        }
        self.preparing = None;
        let Some(waiting) = self.queue.pop_front() else { return };
        let RobotRequest::Save { name, looped, .. } = &waiting.request else { return };
        let prepared =
            result.and_then(|reduced| self.save_message(now, name.as_deref(), *looped, reduced));
        self.start(now, waiting, prepared);
    }

    fn start(
        &mut self,
        now: Instant,
        waiting: Waiting,
        prepared: Result<(Message<'static>, Answer), Refusal>,
    ) {
        let Waiting { id, request, by, .. } = waiting;
        match prepared {
            Err(refusal) => self.done(id, Err(refusal)),
            Ok((message, answer)) => {
                let exchange = self.exchange(now, message);
                let began_teaching = request == RobotRequest::Enter && !self.state.teaching;
                self.begin_effects(now, &request, &by);
                self.active = Some(Active { id, request, by, exchange, answer, began_teaching });
            }
        }
    }

    /// The message for a request and what to answer when the robot has said yes.
    fn prepared(&mut self, request: &RobotRequest) -> Result<(Message<'static>, Answer), Refusal> {
        let moves = matches!(
            request,
            RobotRequest::Enter | RobotRequest::RecordStart { .. } | RobotRequest::Play { .. }
        );
        if moves && self.performance.is_some() {
            return Err(not_ready("a motion is being played in pieces; stop it first"));
        }
        let list = Message::ListRequest { rest: &[] };
        let record = |on: bool| Message::Record { flag: u32::from(on), rest: &[] };
        Ok(match request {
            RobotRequest::Enter => {
                let pose_known = self.state.positions.is_some();
                (self.enter_message(), Answer::Enter { pose_known })
            }
            RobotRequest::Exit => (Message::Exit { mode_flags: 0, rest: &[] }, Answer::Exit),
            RobotRequest::RecordStart { name } => {
                if !self.state.teaching {
                    return Err(not_ready("the robot is not being taught; enter first"));
                }
                (record(true), Answer::RecordStart { name: name.clone() })
            }
            RobotRequest::RecordStop => {
                if !self.state.recording {
                    return Err(not_ready("no recording runs"));
                }
                (record(false), Answer::Exit)
            }
            RobotRequest::Play { action: Target::Id(id), .. } => self.play_message(*id, request)?,
            // By name: the list tells the number.
            RobotRequest::Play { .. } | RobotRequest::List => {
                (list, Answer::List { actions: Vec::new(), unlisted: 0 })
            }
            RobotRequest::Perform { name, plan, looped } => {
                let mut performance = self.performance(plan, *looped)?;
                let answer = performance.answer(name);
                let Some((message, first_ms)) = performance.next()? else {
                    return Err(not_ready("the motion has no pieces"));
                };
                self.rehearsed = Some(Rehearsed { performance, first_ms });
                (message, answer)
            }
            _ => return Err(Refusal::new(Code::Unsupported, "not a request for this link")),
        })
    }

    pub(super) fn play_message(
        &self,
        id: u32,
        request: &RobotRequest,
    ) -> Result<(Message<'static>, Answer), Refusal> {
        let RobotRequest::Play { how, keyframes, .. } = request else {
            return Err(Refusal::new(Code::Unsupported, "not a play"));
        };
        let keyframes = slots(keyframes.as_deref().unwrap_or_default())?;
        let message = Message::Play(Play {
            action_id: id,
            frame_count: how.frames,
            duration_ms: how.duration_ms,
            interpolation: how.interpolation.into(),
            keyframes,
            rest: &[],
        });
        let name = self.actions.iter().find(|action| action.id == id);
        let name = name.map(|action| action.name.clone());
        let note = PLAY_NOTE.into();
        Ok((message, Answer::Play { id: Some(id), name, performed: None, note }))
    }

    /// What counts from the moment of sending, since the robot may act on it unheard.
    fn begin_effects(&mut self, now: Instant, request: &RobotRequest, by: &str) {
        match request {
            RobotRequest::Enter => {
                self.exit_on_return = false;
                self.maintain_at = Some(later(now, self.settings.maintain));
                if !std::mem::replace(&mut self.state.teaching, true) {
                    self.event(Event::Teaching { on: true, by: by.into() });
                }
            }
            // Maintenance after it would enter again, and a piece would play on.
            RobotRequest::Exit => {
                self.maintain_at = None;
                self.performance = None;
            }
            RobotRequest::RecordStart { name } => self.trial = Some(Take::new(now, name.clone())),
            RobotRequest::RecordStop => {
                if let Some(take) = &mut self.take {
                    take.end(now);
                }
            }
            _ => {}
        }
    }

    pub(super) fn list_answered(
        &mut self,
        now: Instant,
        number: Sequence,
        actions: Vec<Action>,
        unlisted: usize,
    ) {
        self.actions.clone_from(&actions);
        let Some(active) = self.take_answered(Command::List, number) else {
            self.state.counters.unasked += 1;
            return;
        };
        let RobotRequest::Play { action: Target::Name(name), .. } = &active.request else {
            return self.done(active.id, Ok(Answer::List { actions, unlisted }));
        };
        let found = actions.iter().find(|action| action.name == *name);
        let found = found.ok_or_else(|| no_such_action(name, &actions));
        match found.and_then(|action| self.play_message(action.id, &active.request)) {
            Err(refusal) => self.done(active.id, Err(refusal)),
            Ok((message, answer)) => {
                let exchange = self.exchange(now, message);
                self.active = Some(Active { exchange, answer, ..active });
            }
        }
    }

    /// Whether an answer was to the request that is being carried out.
    pub(super) fn request_answered(
        &mut self,
        now: Instant,
        number: Sequence,
        command: Command,
        status: u32,
    ) -> bool {
        let Some(active) = self.take_answered(command, number) else {
            return self.piece_answered(number, command, status);
        };
        if status == 0 {
            let answer = self.carried_out(now, &active);
            self.done(active.id, Ok(answer));
        } else {
            self.turned_down(now, &active);
            let mut refusal = refused(active.request.op(), status);
            if matches!(active.request, RobotRequest::Save { .. }) {
                refusal
                    .message
                    .push_str("; a name that is taken, a full store and a full disk are likely");
            }
            self.done(active.id, Err(refusal));
        }
        true
    }

    /// The request that is being carried out, if this answers it.
    fn take_answered(&mut self, command: Command, number: Sequence) -> Option<Active> {
        let active = self.active.as_ref();
        let answered = active.is_some_and(|active| self.is_to(&active.exchange, command, number));
        if answered { self.active.take() } else { None }
    }

    /// The robot did it, or may have done it.
    fn carried_out(&mut self, now: Instant, active: &Active) -> Answer {
        match &active.request {
            RobotRequest::Exit => {
                self.teaching_ended(&active.by);
                // 0x0E ends playback too. One that was seen is seen to end; another never will be.
                if self.state.playing.as_ref().is_some_and(|playing| !playing.observed) {
                    self.play_ended("exit");
                }
            }
            RobotRequest::RecordStart { name } => {
                self.take = Some(self.trial.take().unwrap_or_else(|| Take::new(now, None)));
                self.state.recording = true;
                self.state.recording_name.clone_from(name);
                self.count_frames();
                let frames = self.state.recorded_frames;
                self.event(Event::Recording { on: true, frames, by: active.by.clone() });
            }
            RobotRequest::RecordStop => {
                self.recording_ended(&active.by);
                return self.record_answer();
            }
            RobotRequest::Play { how, .. } => {
                self.play_began(now, &active.answer, how.duration_ms);
            }
            RobotRequest::Perform { .. } => self.performance_began(now, &active.answer),
            _ => {}
        }
        active.answer.clone()
    }

    /// The robot said no: what was assumed on sending is taken back.
    fn turned_down(&mut self, now: Instant, active: &Active) {
        match &active.request {
            RobotRequest::Enter if active.began_teaching => {
                self.teaching_ended("the robot refused")
            }
            RobotRequest::Exit => self.maintain_at = Some(later(now, self.settings.maintain)),
            RobotRequest::RecordStart { .. } => self.trial = None,
            RobotRequest::Perform { .. } => self.rehearsed = None,
            RobotRequest::RecordStop => {
                if let Some(take) = &mut self.take {
                    take.go_on();
                }
            }
            _ => {}
        }
    }

    /// The robot did not say. Everything goes on as if it had said yes, so that nothing it may be
    /// doing goes unwatched; only the answer tells the difference.
    fn given_up(&mut self, now: Instant, active: Active) {
        // A list that only looks up a name has started nothing.
        if active.exchange.command() != Command::List {
            self.carried_out(now, &active);
        }
        // Nothing more is sent to a robot that may have missed the first piece.
        if matches!(active.request, RobotRequest::Perform { .. }) {
            self.performance = None;
        }
        let refusal = self.unanswered(now, active.request.op());
        self.done(active.id, Err(refusal));
    }

    pub(super) fn unanswered(&self, now: Instant, op: &str) -> Refusal {
        if self.state.last_seen.is_none() {
            return self.link_lost(now);
        }
        Refusal::new(
            Code::Unconfirmed,
            format!("the robot did not answer {op}; it may or may not have done it"),
        )
    }

    fn play_began(&mut self, now: Instant, answer: &Answer, duration_ms: u32) {
        let longest = if duration_ms == 0 { MAX_SAVED_MS } else { duration_ms };
        self.play_until = Some(later(now, Duration::from_millis(longest.into())));
        self.set_playing(now, answer, Some(duration_ms).filter(|&ms| ms != 0));
    }

    fn performance_began(&mut self, now: Instant, answer: &Answer) {
        let Some(Rehearsed { performance, first_ms }) = self.rehearsed.take() else { return };
        let duration_ms = performance.duration_ms().saturating_add(first_ms);
        self.performance = Some(performance);
        self.set_playing(now, answer, Some(duration_ms));
        self.piece_began(now, first_ms);
    }

    fn set_playing(&mut self, now: Instant, answer: &Answer, duration_ms: Option<u32>) {
        let Answer::Play { id, name, .. } = answer else { return };
        let (id, name) = (*id, name.clone());
        self.event(Event::Playing { id, name: name.clone() });
        let (observed, elapsed_ms) = (false, 0);
        let playing = Playing { id, name, elapsed_ms, duration_ms, began: now, observed };
        self.state.playing = Some(playing);
    }

    /// Whether a play was sent that the robot has not answered.
    pub(super) fn may_play(&self) -> bool {
        self.active.as_ref().is_some_and(|active| active.exchange.command() == Command::Play)
    }

    /// Whether a motion that repeats waits to be played, or for its first piece to be answered.
    pub(super) fn will_repeat(&self) -> bool {
        let waiting = self.queue.iter().map(|waiting| &waiting.request);
        let active = self.active.as_ref().map(|active| &active.request);
        waiting
            .chain(active)
            .any(|request| matches!(request, RobotRequest::Perform { looped: true, .. }))
    }

    pub(super) fn done(&mut self, id: RequestId, outcome: Result<Answer, Refusal>) {
        self.event(Event::Done { id, outcome });
    }

    fn trial_name(&self) -> Option<String> {
        self.trial.as_ref().and_then(|trial| trial.name.clone())
    }
}

fn slots(keyframes: &[Keyframe]) -> Result<Keyframes, Refusal> {
    to_wire(keyframes).map_err(|error| invalid(error.to_string()))
}

fn no_such_action(name: &str, actions: &[Action]) -> Refusal {
    let names: Vec<_> = actions.iter().map(|action| action.name.as_str()).collect();
    let stored = if names.is_empty() { "none".into() } else { names.join(", ") };
    Refusal::new(Code::NotFound, format!("no action is called {name:?}; stored are: {stored}"))
}

fn invalid(message: String) -> Refusal {
    Refusal::new(Code::InvalidArgument, message)
}

pub(super) fn not_ready(message: &str) -> Refusal {
    Refusal::new(Code::NotReady, message)
}
