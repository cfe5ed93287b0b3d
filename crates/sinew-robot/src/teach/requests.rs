use std::time::Instant;

use sinew_wire::teach::{Command, Keyframes, Message, Play, Sequence};

use super::{
    Action, Answer, Event, LinkState, RequestId, RobotRequest, Session, Target,
    ending::refused,
    exchange::Waited,
    name::new_name,
    queue::{Active, MAX_WAITING, Waiting},
    receive::MAX_ACTIONS,
    wire::to_wire,
};
use crate::{
    Code, Refusal, Remedy, later,
    trajectory::{Keyframe, Reduced},
};

const PLAY_NOTE: &str = "the action is stored in the robot: its easing, joint limits and speeds \
                         are the robot's own, not Sinew's";

impl Session {
    pub(super) fn enqueue(&mut self, now: Instant, id: RequestId, request: RobotRequest, by: &str) {
        if let Err(refusal) = self.check(now, &request) {
            return self.done(id, Err(refusal));
        }
        if !request.is_query() {
            self.teaching.asked(now);
        }
        if request == RobotRequest::Exit && self.state.link.is_lost() {
            return self.exit_at_once(now, id, by);
        }
        self.queue.push(Waiting { id, request, by: by.into(), since: now });
    }

    /// What can be said at once: about the link, and about what these datagrams cannot do.
    fn check(&self, now: Instant, request: &RobotRequest) -> Result<(), Refusal> {
        match self.state.link {
            LinkState::Closing | LinkState::Closed => {
                return Err(Refusal::new(Code::NotReady, self.state.link.to_string()));
            }
            LinkState::Lost { .. } if *request != RobotRequest::Exit => {
                return Err(self.link_lost(now));
            }
            _ => {}
        }
        if self.queue.is_full() {
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
                "speed: a play has no place for it in the teaching datagrams; give a duration, \
                 or play the motion from the library",
            )),
            RobotRequest::Play { action, keyframes, .. } => {
                if let Target::Id(id) = action
                    && !(1..=MAX_ACTIONS).contains(id)
                {
                    return Err(Refusal::invalid(format!(
                        "id: wanted 1 to {MAX_ACTIONS}, got {id}"
                    )));
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
        let first = self.queue.first().filter(|_| self.state.link != LinkState::Ready)?;
        Some(later(first.since, patience))
    }

    pub(super) fn advance_requests(&mut self, now: Instant) {
        if let Some(mut active) = self.queue.take_active() {
            match self.wait(now, &mut active.exchange) {
                Waited::Enough => self.given_up(now, active),
                waited => {
                    if waited == Waited::Again {
                        self.recorder.try_again(now);
                    }
                    self.queue.set_active(active);
                }
            }
        }
        while self.queue_due().is_some_and(|at| now >= at) {
            let refusal = self.link_lost(now);
            if let Some(waiting) = self.queue.take_first() {
                self.done(waiting.id, Err(refusal));
            }
        }
        while self.state.link == LinkState::Ready
            && !self.queue.is_busy()
            && self.ending.is_none()
            && !self.teaching.is_resuming()
            && let Some(waiting) = self.queue.first()
        {
            if let Waiting { id, request: RobotRequest::Save { name, .. }, .. } = waiting {
                let (id, name) = (*id, name.clone());
                self.prepare_save(now, id, name.as_deref());
            } else if let Some(waiting) = self.queue.take_first() {
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
        let Some(waiting) = self.queue.take_prepared(id) else { return };
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
                let active = Active { id, request, by, exchange, answer, began_teaching };
                self.queue.set_active(active);
            }
        }
    }

    /// The message for a request and what to answer when the robot has said yes.
    fn prepared(&mut self, request: &RobotRequest) -> Result<(Message<'static>, Answer), Refusal> {
        let moves = matches!(
            request,
            RobotRequest::Enter | RobotRequest::RecordStart { .. } | RobotRequest::Play { .. }
        );
        if moves && self.stage.is_performing() {
            return Err(not_ready("a motion is being played in pieces; stop it first"));
        }
        let list = Message::ListRequest { rest: &[] };
        let record = |on: bool| Message::Record { flag: u32::from(on), rest: &[] };
        Ok(match request {
            RobotRequest::Enter => {
                let pose_known = self.state.positions.is_some();
                let idle_exit_ms = Some(self.settings.idle_exit.as_millis() as u64);
                (self.enter_message(), Answer::Enter { pose_known, idle_exit_ms, note: None })
            }
            RobotRequest::Exit => {
                (Message::Exit { mode_flags: 0, rest: &[] }, Answer::Exit { note: None })
            }
            RobotRequest::RecordStart { name } => {
                if !self.state.teaching {
                    let refusal = not_ready("the robot is not being taught: its arms are stiff");
                    return Err(refusal.helped_by(Remedy::Enter));
                }
                (record(true), Answer::RecordStart { name: name.clone(), note: None })
            }
            RobotRequest::RecordStop => {
                if !self.state.recording {
                    return Err(not_ready("no recording runs"));
                }
                (record(false), Answer::Exit { note: None })
            }
            RobotRequest::Play { action: Target::Id(id), .. } => self.play_message(*id, request)?,
            // By name: the list tells the number.
            RobotRequest::Play { .. } | RobotRequest::List => {
                (list, Answer::List { actions: Vec::new(), unlisted: 0 })
            }
            RobotRequest::Perform { name, plan, looped } => self.prepare(name, plan, *looped)?,
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
                self.teaching.entered(now, &self.settings);
                if !std::mem::replace(&mut self.state.teaching, true) {
                    self.event(Event::Teaching { on: true, by: by.into() });
                }
            }
            // Maintenance after it would enter again, and a piece would play on.
            RobotRequest::Exit => {
                self.teaching.stop_maintaining();
                self.stage.end_performance();
            }
            RobotRequest::RecordStart { name } => self.recorder.try_start(now, name.as_deref()),
            RobotRequest::RecordStop => self.recorder.end(now),
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
                self.queue.set_active(Active { exchange, answer, ..active });
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
        let active = self.queue.active();
        let answered = active.is_some_and(|active| self.is_to(&active.exchange, command, number));
        if answered { self.queue.take_active() } else { None }
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
                self.recorder.start(now);
                self.state.recording = true;
                self.state.recording_name = name.as_deref().map(Into::into);
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
            RobotRequest::Exit => self.teaching.maintain_from(now, &self.settings),
            RobotRequest::RecordStart { .. } => self.recorder.give_up(),
            RobotRequest::Perform { .. } => self.stage.drop_prepared(),
            RobotRequest::RecordStop => self.recorder.go_on(),
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
            self.stage.end_performance();
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

    /// Whether a play was sent that the robot has not answered.
    pub(super) fn may_play(&self) -> bool {
        self.queue.active().is_some_and(|active| active.exchange.command() == Command::Play)
    }

    /// Whether a motion that repeats waits to be played, or for its first piece to be answered.
    pub(super) fn will_repeat(&self) -> bool {
        self.queue.all().any(RobotRequest::repeats)
    }

    /// Nothing that waits is sent; what was sent may have been done.
    pub(super) fn drop_requests(&mut self, why: &str) {
        self.recorder.give_up();
        self.stage.drop_prepared();
        self.stage.end_performance();
        self.teaching.stop_resuming();
        let active = self.queue.take_active();
        self.fail_active(active, why);
        self.fail_waiting(&not_ready(why));
    }

    /// Nothing that waits and would move the arms is sent. One that has been made soft already is
    /// teaching, and goes on.
    pub(super) fn drop_motions(&mut self, why: &str) {
        self.stage.end_performance();
        let play = self.queue.take_active_if(|active| {
            matches!(active.request, RobotRequest::Play { .. } | RobotRequest::Perform { .. })
        });
        if play.is_some() {
            self.stage.drop_prepared();
        }
        self.fail_active(play, why);
        for waiting in self.queue.take_moving() {
            self.done(waiting.id, Err(not_ready(why)));
        }
    }

    fn fail_active(&mut self, active: Option<Active>, why: &str) {
        let Some(active) = active else { return };
        // A list that only looks up a name has started nothing.
        let begun = active.exchange.command() != Command::List;
        let code = if begun { Code::Unconfirmed } else { Code::NotReady };
        let message = format!("{why} before the robot answered {}", active.request.op());
        self.done(active.id, Err(Refusal::new(code, message)));
    }

    pub(super) fn fail_waiting(&mut self, refusal: &Refusal) {
        for waiting in self.queue.take_waiting() {
            self.done(waiting.id, Err(refusal.clone()));
        }
    }
}

fn slots(keyframes: &[Keyframe]) -> Result<Keyframes, Refusal> {
    to_wire(keyframes).map_err(|error| Refusal::invalid(error.to_string()))
}

fn no_such_action(name: &str, actions: &[Action]) -> Refusal {
    let names: Vec<_> = actions.iter().map(|action| action.name.as_str()).collect();
    let stored = if names.is_empty() { "none".into() } else { names.join(", ") };
    Refusal::new(Code::NotFound, format!("no action is called {name:?}; stored are: {stored}"))
}

pub(super) fn not_ready(message: &str) -> Refusal {
    Refusal::new(Code::NotReady, message)
}
