//! Requests of the arms, one after the other.

mod drop;

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use sinew_wire::unitree::{
    Response,
    arm::{ActionList, ArmRequest},
};

use super::{Phase, Session, calls::Purpose};
use crate::{
    Code, Origin, Refusal, RequestId, later,
    teach::{ActionKind, Answer, Playback, RobotRequest, Target, new_name},
};

/// Requests that may wait for the one before them.
const MAX_WAITING: usize = 32;
/// A list is asked for again after this long.
const LIST_AGAIN: Duration = Duration::from_secs(1);
/// What the arms are to do is asked of them when they are back, which takes them 4 s; of arms that
/// take longer it is asked all the same, and the robot says what is wrong.
const BACK_WITHIN: Duration = Duration::from_secs(6);

const PLAY_NOTE: &str = "the action is stored in the robot: its easing, joint limits and speeds \
                         are the robot's own, not Sinew's";
const ENTER_NOTE: &str = "nothing was sent: over WebRTC the robot makes its arms soft when it \
                          records, and only then";
const EXIT_NOTE: &str = "nothing was sent: over WebRTC the arms are stiff again when a recording \
                         ends";
const STORED_NOTE: &str = "what the robot recorded stays in it, and is stored already";

/// Requests in the order in which they came, one of which is carried out at a time.
#[derive(Debug, Default)]
pub(super) struct ArmLane {
    waiting: VecDeque<Waiting>,
    active: Option<Active>,
}

#[derive(Debug)]
struct Waiting {
    id: RequestId,
    request: RobotRequest,
    origin: Origin,
}

#[derive(Debug)]
struct Active {
    id: RequestId,
    request: RobotRequest,
    origin: Origin,
    step: Step,
    /// When it is given up.
    due: Instant,
    /// When a question is asked again.
    again: Option<Instant>,
    /// Whether the robot's state shows what was asked for, and did not before.
    seen: Option<bool>,
}

/// How far a request is.
#[derive(Debug, Clone)]
enum Step {
    /// The list is asked for, which all requests need.
    Listing,
    /// The arms return from what they did last; until then the robot would refuse it.
    Returning,
    /// The robot is asked to do it; sent once.
    Acting(Act),
    /// It did not answer, and the list is to show whether it did it.
    Checking(Act),
}

/// What the robot is asked to do.
#[derive(Debug, Clone, PartialEq)]
enum Act {
    Play { id: u32, name: String, preset: bool },
    Record { name: String },
    Rename { old: String, new: String },
    Delete { name: String },
}

impl ArmLane {
    pub(super) fn due(&self) -> Option<Instant> {
        let active = self.active.as_ref()?;
        Some(active.again.map_or(active.due, |again| again.min(active.due)))
    }

    /// The recording whose start was sent and not answered.
    pub(super) fn begins_recording(&self) -> Option<&str> {
        match &self.active.as_ref()?.step {
            Step::Acting(Act::Record { name }) => Some(name),
            _ => None,
        }
    }

    fn begins_play(&self) -> bool {
        let step = self.active.as_ref().map(|active| &active.step);
        matches!(step, Some(Step::Acting(Act::Play { .. })))
    }
}

impl Session {
    pub(super) fn ask_arm(
        &mut self,
        now: Instant,
        id: RequestId,
        request: RobotRequest,
        origin: &Origin,
    ) {
        // What ends something is not kept from it by a stall.
        if request == RobotRequest::RecordStop {
            return self.record_stop(now, id, &origin.by);
        }
        if let Err(refusal) = self.check_arm(&request) {
            return self.refuse(id, refusal);
        }
        match &request {
            RobotRequest::Enter => {
                let (pose_known, note) = (self.state.positions.is_some(), Some(ENTER_NOTE.into()));
                return self.done(id, Ok(Answer::Enter { pose_known, idle_exit_ms: None, note }));
            }
            RobotRequest::Exit => {
                return self.done(id, Ok(Answer::Exit { note: Some(EXIT_NOTE.into()) }));
            }
            RobotRequest::Save { name, .. } => {
                let same = self.savable(name.as_deref()).map(|(old, new)| (old == new, new));
                match same {
                    Err(refusal) => return self.refuse(id, refusal),
                    Ok((true, name)) => {
                        let answer = self.save_answer(name);
                        return self.done(id, Ok(answer));
                    }
                    Ok((false, _)) => {}
                }
            }
            _ => {}
        }
        if self.arm.waiting.len() >= MAX_WAITING {
            let message = format!("{MAX_WAITING} requests wait already");
            return self.refuse(id, Refusal::new(Code::Busy, message));
        }
        self.arm.waiting.push_back(Waiting { id, request, origin: origin.clone() });
    }

    /// What can be said at once: about the link, and about what the arm service cannot do.
    fn check_arm(&self, request: &RobotRequest) -> Result<(), Refusal> {
        let unsupported = |what: &str| {
            let message = format!(
                "{what}: a robot over WebRTC plays whole actions as they were recorded; this needs \
                 the teaching datagrams"
            );
            Err(Refusal::new(Code::Unsupported, message))
        };
        match request {
            RobotRequest::Perform { .. } => return unsupported("a motion of the library"),
            RobotRequest::Play { keyframes: Some(_), .. } => return unsupported("keyframes"),
            RobotRequest::Play { how, .. } => {
                let Playback { frames, duration_ms, interpolation, looped, speed } = *how;
                let asked = [
                    ("loop", looped),
                    ("speed", speed.is_some()),
                    ("frames", frames != 0),
                    ("duration_ms", duration_ms != 0),
                    ("interpolation", interpolation != Playback::default().interpolation),
                ];
                if let Some((what, _)) = asked.into_iter().find(|(_, asked)| *asked) {
                    return unsupported(what);
                }
            }
            RobotRequest::Save { looped: true, .. } => return unsupported("loop"),
            RobotRequest::RecordStart { name: Some(name) }
            | RobotRequest::Save { name: Some(name), .. }
            | RobotRequest::Rename { new_name: name, .. } => {
                new_name(name)?;
            }
            _ => {}
        }
        self.reachable()
    }

    pub(super) fn advance_arm(&mut self, now: Instant) {
        if let Some(active) = &mut self.arm.active {
            if now >= active.due {
                match active.step {
                    Step::Returning => self.arms_are_back(now),
                    _ => self.arm_unanswered(now),
                }
            } else if active.again.is_some_and(|again| now >= again) {
                active.again = Some(later(now, LIST_AGAIN));
                self.state.counters.repeats += 1;
                self.call_arm(now, Purpose::Arm, &ArmRequest::List);
            }
        }
        // A stall takes nothing from what waits: it is asked when it is over, or refused when the
        // channel is given up.
        while self.is_validated()
            && !self.state.link.is_lost()
            && self.arm.active.is_none()
            && self.stopping.is_none()
            && let Some(Waiting { id, request, origin }) = self.arm.waiting.pop_front()
        {
            let (due, again) = (later(now, self.settings.answer), Some(later(now, LIST_AGAIN)));
            let step = Step::Listing;
            self.arm.active = Some(Active { id, request, origin, step, due, again, seen: None });
            self.call_arm(now, Purpose::Arm, &ArmRequest::List);
        }
    }

    /// The answer to a call for the request that is being carried out.
    pub(super) fn arm_answered(&mut self, now: Instant, response: &Response) {
        let Some(active) = self.arm.active.take() else { return };
        self.calls.forget(Purpose::Arm);
        if !response.is_good() {
            return self.arm_refused(active, response);
        }
        match active.step.clone() {
            Step::Listing => match self.take_list(response) {
                Ok(()) => self.listed(now, active),
                Err(refusal) => self.refuse(active.id, refusal),
            },
            // Nothing was asked since the list came.
            Step::Returning => self.arm.active = Some(active),
            Step::Acting(act) => self.acted(now, active, &act),
            Step::Checking(act) => {
                let seen = self.take_list(response).is_ok() && self.shows(&act);
                match seen {
                    true => self.acted(now, active, &act),
                    false => self.refuse(active.id, unconfirmed(active.request.op())),
                }
            }
        }
    }

    fn take_list(&mut self, response: &Response) -> Result<(), Refusal> {
        let list = ActionList::parse(&response.data).map_err(|error| {
            Refusal::new(Code::Refused, format!("the robot's list cannot be read: {error}"))
        })?;
        self.actions.take(&list);
        Ok(())
    }

    /// Whether the list shows that it was done.
    fn shows(&self, act: &Act) -> bool {
        match act {
            Act::Rename { old, new } => {
                !self.actions.has_taught(old) && self.actions.has_taught(new)
            }
            Act::Delete { name } => !self.actions.has_taught(name),
            Act::Play { .. } | Act::Record { .. } => false,
        }
    }

    /// The robot has told its actions: what was asked for can be asked of it.
    fn listed(&mut self, now: Instant, mut active: Active) {
        if active.request == RobotRequest::List {
            let (actions, unlisted) = (self.actions.listed.clone(), self.actions.unlisted);
            return self.done(active.id, Ok(Answer::List { actions, unlisted }));
        }
        let act = match self.act(now, &active.request) {
            Ok(act) => act,
            Err(refusal) => return self.refuse(active.id, refusal),
        };
        if matches!(act, Act::Play { .. } | Act::Record { .. }) && self.arms_return() {
            active.step = Step::Returning;
            (active.due, active.again) = (later(now, BACK_WITHIN), None);
            self.arm.active = Some(active);
            return;
        }
        self.act_out(now, active, act);
    }

    fn arms_return(&self) -> bool {
        self.state.arm.as_ref().is_some_and(|arm| arm.phase == Phase::Returning)
    }

    /// The arms are back, or should be: the robot is asked for what waited for them.
    fn arms_are_back(&mut self, now: Instant) {
        // Nothing begins while something is being stopped.
        let is_stopping = self.stopping.is_some();
        let goes_on = |active: &mut Active| {
            matches!(active.step, Step::Returning) && (!is_stopping || now >= active.due)
        };
        let Some(active) = self.arm.active.take_if(goes_on) else { return };
        if is_stopping || active.origin.presence.has_ended() {
            let what =
                if is_stopping { "the robot is being stopped" } else { "its client has gone" };
            return self.refuse(active.id, Refusal::new(Code::NotReady, what));
        }
        // What the list showed may not be so any more, as when the phone records meanwhile.
        match self.act(now, &active.request) {
            Ok(act) => self.act_out(now, active, act),
            Err(refusal) => self.refuse(active.id, refusal),
        }
    }

    /// Asks the robot to do it.
    fn act_out(&mut self, now: Instant, mut active: Active, act: Act) {
        let call = match &act {
            Act::Play { id, preset: true, .. } => ArmRequest::Preset(i64::from(*id)),
            Act::Play { name, .. } => ArmRequest::Play(name.clone()),
            Act::Record { name } => ArmRequest::RecordStart(name.clone()),
            Act::Rename { old, new } => ArmRequest::Rename { old: old.clone(), new: new.clone() },
            Act::Delete { name } => ArmRequest::Delete(name.clone()),
        };
        match &act {
            Act::Play { .. } => self.recorder.set_moving(now),
            Act::Record { name } => self.recorder.try_start(now, name),
            _ => {}
        }
        active.seen = (!self.arm_does(&act)).then_some(false);
        active.step = Step::Acting(act);
        (active.due, active.again) = (later(now, self.settings.answer), None);
        self.call_arm(now, Purpose::Arm, &call);
        self.arm.active = Some(active);
    }

    /// What a request comes to, with the list at hand.
    fn act(&self, now: Instant, request: &RobotRequest) -> Result<Act, Refusal> {
        let taught = |target: &Target, op: &str| {
            let action = self.actions.find(target)?;
            match action.kind {
                ActionKind::Taught => Ok(action.name.clone()),
                ActionKind::Preset => Err(Refusal::new(
                    Code::Unsupported,
                    format!("{:?} is one of the robot's own actions: no {op}", action.name),
                )),
            }
        };
        Ok(match request {
            RobotRequest::Play { action, .. } => {
                let action = self.actions.find(action)?;
                let preset = action.kind == ActionKind::Preset;
                Act::Play { id: action.id, name: action.name.clone(), preset }
            }
            RobotRequest::RecordStart { name } => {
                self.may_record()?;
                let name = name.clone().unwrap_or_else(|| self.clock.text(now, '_', ':'));
                self.is_free(&name)?;
                Act::Record { name }
            }
            RobotRequest::Save { name, .. } => {
                let (old, new) = self.savable(name.as_deref())?;
                self.is_free(&new)?;
                Act::Rename { old, new }
            }
            RobotRequest::Rename { name, new_name } => {
                let old = taught(&Target::Name(name.clone()), "rename")?;
                if old != *new_name {
                    self.is_free(new_name)?;
                }
                Act::Rename { old, new: new_name.clone() }
            }
            RobotRequest::Delete { action } => Act::Delete { name: taught(action, "delete")? },
            other => {
                let message = format!("{} is not asked of the arm service", other.op());
                return Err(Refusal::new(Code::Unsupported, message));
            }
        })
    }

    fn is_free(&self, name: &str) -> Result<(), Refusal> {
        if self.actions.find(&Target::Name(name.into())).is_err() {
            return Ok(());
        }
        let message = format!("the robot has an action called {name:?} already");
        Err(Refusal::new(Code::InvalidArgument, message))
    }

    fn acted(&mut self, now: Instant, active: Active, act: &Act) {
        let answer = match act {
            Act::Play { id, name, .. } => {
                self.recorder.moved(now);
                Answer::Play {
                    id: Some(*id),
                    name: Some(name.clone()),
                    performed: None,
                    note: PLAY_NOTE.into(),
                }
            }
            Act::Record { name } => {
                self.recording_begun(now, name, &active.origin);
                let note = Some(format!(
                    "the recording ends by itself {} s after this client has gone; the vendor's \
                     app ends one after 180 s",
                    self.settings.orphan.as_secs()
                ));
                Answer::RecordStart { name: Some(name.clone()), note }
            }
            Act::Rename { old, new } => {
                self.recorder.renamed(old, new);
                if self.state.recording_name.as_deref() == Some(old) {
                    self.state.recording_name = Some(new.as_str().into());
                }
                match active.request {
                    RobotRequest::Save { .. } => self.save_answer(new.clone()),
                    _ => Answer::Rename { name: old.clone(), new_name: new.clone() },
                }
            }
            Act::Delete { name } => Answer::Delete { name: name.clone() },
        };
        self.done(active.id, Ok(answer));
    }

    fn arm_refused(&mut self, active: Active, response: &Response) {
        let op = active.request.op();
        let states = match &active.step {
            Step::Acting(Act::Play { id, preset: true, .. }) => self.actions.states_of(*id),
            _ => None,
        };
        let refusal = self.arm_refusal(op, response, states);
        match active.step {
            Step::Acting(Act::Play { .. }) => self.recorder.refused(),
            Step::Acting(Act::Record { .. }) => self.recorder.give_up(),
            _ => {}
        }
        self.refuse(active.id, refusal);
    }

    fn arm_unanswered(&mut self, now: Instant) {
        let Some(mut active) = self.arm.active.take() else { return };
        self.calls.forget(Purpose::Arm);
        let op = active.request.op();
        match active.step.clone() {
            // The state says what the answer would have said.
            Step::Acting(act) if active.seen == Some(true) => self.acted(now, active, &act),
            Step::Acting(act @ (Act::Rename { .. } | Act::Delete { .. })) => {
                active.step = Step::Checking(act);
                active.due = later(now, self.settings.answer);
                active.again = Some(later(now, LIST_AGAIN));
                self.arm.active = Some(active);
                self.call_arm(now, Purpose::Arm, &ArmRequest::List);
            }
            Step::Acting(Act::Record { .. }) => {
                self.refuse(active.id, unconfirmed(op));
                // It may have begun, and is kept alive by no client: it is ended.
                self.end_recording(now, "the robot did not answer record_start");
            }
            _ => self.refuse(active.id, unconfirmed(op)),
        }
    }

    /// The robot's state came: whether it shows what was asked for, or that it can be.
    pub(super) fn arm_shown(&mut self, now: Instant) {
        if !self.arms_return() {
            self.arms_are_back(now);
        }
        let Some(Active { step: Step::Acting(act), seen: Some(false), .. }) = &self.arm.active
        else {
            return;
        };
        let shown = self.arm_does(&act.clone());
        if let Some(active) = &mut self.arm.active {
            active.seen = Some(shown);
        }
    }

    fn arm_does(&self, act: &Act) -> bool {
        let Some(arm) = &self.state.arm else { return false };
        match act {
            Act::Play { id, preset: true, .. } => arm.id == i64::from(*id),
            Act::Play { name, .. } => arm.id == 100 && *arm.name == **name,
            Act::Record { name } => arm.id == -1 && *arm.name == **name,
            Act::Rename { .. } | Act::Delete { .. } => false,
        }
    }

    /// Whether the arms may move by themselves now or in a moment.
    pub(super) fn may_play(&self) -> bool {
        self.state.playing.is_some() || self.arm.begins_play() || self.recorder.may_begin_play()
    }

    /// What the last recording is called, and what it is to be called.
    fn savable(&self, name: Option<&str>) -> Result<(String, String), Refusal> {
        let not_ready = |message: &str| Refusal::new(Code::NotReady, message);
        if self.state.recording || self.arm.begins_recording().is_some() {
            return Err(not_ready("the recording still runs; stop it first"));
        }
        let old = self.recorder.name().ok_or_else(|| not_ready("nothing was recorded"))?;
        Ok((old.into(), name.unwrap_or(old).into()))
    }

    fn save_answer(&self, name: String) -> Answer {
        Answer::Save {
            name,
            error_rad: None,
            keyframes: 0,
            frames: self.state.recorded_frames,
            duration_ms: self.recorder.duration_ms(),
            note: Some(STORED_NOTE.into()),
            sent: Vec::new(),
        }
    }
}

pub(super) fn unconfirmed(op: &str) -> Refusal {
    let message = format!("the robot did not answer {op}; it may or may not have done it");
    Refusal::new(Code::Unconfirmed, message)
}
