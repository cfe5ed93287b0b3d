//! The arm service.

use std::time::{Duration, Instant};

use sinew_wire::{
    teach::{Interpolation, Name},
    unitree::arm::{ActionList, ArmRequest, ArmState, RELEASE, Taught},
};

use super::{
    super::{
        MAX_DURATION, Motion, Pose, Robot, StoredAction,
        joints::{Arms, STEP_S},
        player::{PlayOptions, Player},
        robot::Playing,
        storing::Change,
    },
    Call,
    presets::{self, PRESETS, Row},
    services::{BAD_PARAMETER, NO_SUCH_CALL},
};

/// A recording that is not kept alive for this long ends by itself, and is stored. Supposed: the
/// app keeps it alive every second.
pub const KEEP_ALIVE: Duration = Duration::from_secs(3);
/// How long the arms take to return: 3.8 to 4.4 s were seen.
const RETURN_S: f32 = 4.1;

/// What is published while a taught action plays.
const TAUGHT: i64 = 100;
const RECORDING: i64 = -1;

const OCCUPIED: i64 = 7400;
const RAISED: i64 = 7401;
const UNKNOWN: i64 = 7402;
const WRONG_STATE: i64 = 7404;

/// What the arms do for this service.
#[derive(Debug, Clone)]
pub(in super::super) enum Doing {
    Nothing,
    Recording(Take),
    /// About to play: the robot acknowledges before it moves.
    Starting(Instant, Play),
    Playing(Play),
    /// The arms stay up.
    Holding(Play),
    Returning(Return),
}

/// A recording.
#[derive(Debug, Clone)]
pub(in super::super) struct Take {
    name: String,
    began: Instant,
    kept_alive: Instant,
    poses: Vec<Pose>,
    next: Instant,
}

/// Something to play.
#[derive(Debug, Clone)]
pub(in super::super) struct Play {
    id: i64,
    name: String,
    motion: Motion,
    length_ms: u32,
    holds: bool,
}

/// The arms' way back.
#[derive(Debug, Clone)]
pub(in super::super) struct Return {
    from: Pose,
    clock: f32,
}

impl Doing {
    pub(super) fn due(&self) -> Option<Instant> {
        match self {
            Doing::Recording(take) => Some(take.next.min(take.ends_at())),
            Doing::Starting(at, _) => Some(*at),
            _ => None,
        }
    }

    /// Whether the arms are soft.
    pub(in super::super) const fn is_recording(&self) -> bool {
        matches!(self, Doing::Recording(_))
    }

    pub(in super::super) const fn is_returning(&self) -> bool {
        matches!(self, Doing::Returning(_))
    }

    /// Whether datagrams may have the arms: those that only return go on from where they are.
    pub(in super::super) const fn is_free(&self) -> bool {
        matches!(self, Doing::Nothing | Doing::Returning(_))
    }

    /// Datagrams have the arms.
    pub(in super::super) fn give_up_returning(&mut self) {
        if self.is_returning() {
            *self = Doing::Nothing;
        }
    }

    fn back(arms: &Arms) -> Self {
        Doing::Returning(Return { from: arms.positions, clock: 0.0 })
    }

    /// What is published.
    pub(super) fn state(&self) -> ArmState {
        let state = |id, name: &str| ArmState { holding: false, id, name: name.into() };
        match self {
            Doing::Nothing | Doing::Starting(..) => state(0, ""),
            Doing::Recording(take) => state(RECORDING, &take.name),
            Doing::Playing(play) => state(play.id, &play.name),
            Doing::Holding(play) => ArmState { holding: true, ..state(play.id, &play.name) },
            Doing::Returning(_) => state(RELEASE, "release_arm"),
        }
    }
}

impl Take {
    fn ends_at(&self) -> Instant {
        let full = crate::later(self.began, MAX_DURATION);
        crate::later(self.kept_alive, KEEP_ALIVE).min(full)
    }

    /// As it is stored, ended now.
    fn stored(self, now: Instant) -> StoredAction {
        let length = now.saturating_duration_since(self.began).min(MAX_DURATION);
        let frames = u32::try_from(self.poses.len()).unwrap_or(u32::MAX);
        StoredAction {
            name: self.name,
            saved_at: 0,
            duration_ms: u32::try_from(length.as_millis()).unwrap_or(u32::MAX),
            frames,
            flags: 0,
            motion: Motion::Poses(self.poses),
        }
    }
}

impl Return {
    /// Moves the arms for one step, and says whether that was the last.
    fn step(&mut self, arms: &mut Arms) -> bool {
        self.clock += STEP_S;
        let done = (self.clock / RETURN_S).min(1.0);
        let left = 1.0 - done * done * (3.0 - 2.0 * done);
        arms.approach(&self.from.map(|from| from * left));
        done >= 1.0
    }
}

impl Robot {
    pub(super) fn call_arm(&mut self, now: Instant, call: &Call, parameter: &str) {
        let Ok(request) = ArmRequest::parse(call.api_id, parameter) else {
            return self.answer_call(now, ms(20), call, Err(BAD_PARAMETER));
        };
        let latency = latency(&request);
        let done = match request {
            ArmRequest::List => Ok(self.list_actions()),
            ArmRequest::Preset(id) => self.play_preset(now, id),
            ArmRequest::Play(name) => self.play_taught(now, &name, latency),
            ArmRequest::RecordStart(name) => self.start_take(now, name),
            ArmRequest::RecordKeepAlive => self.keep_take_alive(now),
            ArmRequest::Stop => {
                self.stop_arm();
                Ok(String::new())
            }
            ArmRequest::RecordStop => {
                // Answered when it is stored.
                let reply = (call.clone(), crate::later(now, latency));
                if self.end_take(now, Some(reply)) {
                    return;
                }
                Ok(String::new())
            }
            ArmRequest::Rename { old, new } => {
                let change = self.may_rename(&old, &new);
                return self.change_store(now, latency, call, change);
            }
            ArmRequest::Delete(name) => {
                let change = self.may_change(&name).map(|()| Change::Delete(name));
                return self.change_store(now, latency, call, change);
            }
            ArmRequest::Pause(_) | ArmRequest::Other { .. } => Err(NO_SUCH_CALL),
        };
        self.answer_call(now, latency, call, done);
    }

    fn list_actions(&self) -> String {
        let taught = |action: &StoredAction| Taught {
            name: action.name.clone(),
            seconds: (f64::from(action.duration_ms) / 100.0).round() / 10.0,
        };
        let presets = PRESETS.iter().map(Row::preset).collect();
        let factory = self.factory_actions().map(|action| taught(&action));
        let taught = factory.chain(self.store.iter().map(taught)).collect();
        ActionList { presets, taught }.emit()
    }

    fn factory_actions(&self) -> impl Iterator<Item = StoredAction> {
        presets::factory().filter(|_| self.unitree.options.factory_actions)
    }

    fn play_preset(&mut self, now: Instant, id: i64) -> Result<String, i64> {
        let fsm_id = self.fsm_id();
        if id == RELEASE {
            return self.release();
        }
        let mode_machine = self.unitree.options.mode_machine;
        let row = PRESETS.iter().find(|row| row.id == id && row.is_for(mode_machine));
        let row = row.ok_or(UNKNOWN)?;
        if let Doing::Holding(play) = &self.unitree.arm
            && play.id == id
        {
            return self.release();
        }
        if !row.allows(fsm_id) {
            return Err(WRONG_STATE);
        }
        let length = Row::length_ms();
        let (name, motion) = (row.name.into(), row.motion(length));
        let play = Play { id, name, motion, length_ms: length.into(), holds: row.holds };
        self.start(now, play, ms(338))
    }

    fn play_taught(&mut self, now: Instant, name: &str, latency: Duration) -> Result<String, i64> {
        let found = self.store.iter().find(|action| action.name == name).cloned();
        let found = found.or_else(|| self.factory_actions().find(|action| action.name == name));
        let action = found.ok_or(UNKNOWN)?;
        let StoredAction { name, motion, duration_ms: length_ms, .. } = action;
        self.start(now, Play { id: TAUGHT, name, motion, length_ms, holds: false }, latency)
    }

    /// Plays after the acknowledgement and a little more: 0.05 to 1.1 s were seen.
    fn start(&mut self, now: Instant, play: Play, latency: Duration) -> Result<String, i64> {
        self.may_move()?;
        let wait = self.unitree.rng.u64(50..=600);
        self.unitree.arm = Doing::Starting(crate::later(now, latency + ms(wait)), play);
        Ok(String::new())
    }

    /// Whether the arms are free, and the body's state allows them to be moved.
    fn may_move(&self) -> Result<(), i64> {
        // Running, the arms are needed.
        let allowed = self.can_walk() && !(self.fsm_id() == 801 && self.is_walking());
        let busy = self.playing.is_some() || self.maintained.is_some() || self.is_recording();
        match &self.unitree.arm {
            _ if !allowed => Err(WRONG_STATE),
            Doing::Holding(_) => Err(RAISED),
            Doing::Nothing if !busy => Ok(()),
            _ => Err(OCCUPIED),
        }
    }

    fn release(&mut self) -> Result<String, i64> {
        match &self.unitree.arm {
            Doing::Recording(_) => return Err(OCCUPIED),
            Doing::Returning(_) => {}
            _ if self.maintained.is_some() || self.is_recording() => return Err(OCCUPIED),
            _ => {
                self.stop_arm();
                self.unitree.arm = Doing::back(&self.arms);
            }
        }
        Ok(String::new())
    }

    /// Ends a play, over whatever it was asked for. This service's arms return.
    fn stop_arm(&mut self) {
        self.end_play();
        match &self.unitree.arm {
            Doing::Starting(..) => self.unitree.arm = Doing::Nothing,
            Doing::Playing(_) | Doing::Holding(_) => self.unitree.arm = Doing::back(&self.arms),
            _ => {}
        }
    }

    fn start_take(&mut self, now: Instant, name: String) -> Result<String, i64> {
        self.check_new_name(&name)?;
        if self.storing.is_full(&self.store) {
            return Err(BAD_PARAMETER);
        }
        self.may_move()?;
        self.operator.restart();
        let take = Take { name, began: now, kept_alive: now, poses: Vec::new(), next: now };
        self.unitree.arm = Doing::Recording(take);
        Ok(String::new())
    }

    fn keep_take_alive(&mut self, now: Instant) -> Result<String, i64> {
        let Doing::Recording(take) = &mut self.unitree.arm else { return Err(UNKNOWN) };
        take.kept_alive = now;
        Ok(String::new())
    }

    /// Ends a recording and begins to store it; false when there is none.
    fn end_take(&mut self, now: Instant, reply: Option<(Call, Instant)>) -> bool {
        if !self.unitree.arm.is_recording() {
            return false;
        }
        self.operator.restart();
        let back = Doing::back(&self.arms);
        let Doing::Recording(take) = std::mem::replace(&mut self.unitree.arm, back) else {
            return false;
        };
        self.storing.change(Change::Add(take.stored(now)), reply);
        true
    }

    fn check_new_name(&self, name: &str) -> Result<(), i64> {
        let known = self.factory_actions().any(|action| action.name == name);
        let taken = known || self.storing.knows(&self.store, name);
        if taken || Name::new(name).is_err() { Err(BAD_PARAMETER) } else { Ok(()) }
    }

    /// Whether an action can be renamed or deleted.
    fn may_change(&self, name: &str) -> Result<(), i64> {
        if self.factory_actions().any(|action| action.name == name) {
            return Err(BAD_PARAMETER);
        }
        if !self.storing.knows(&self.store, name) {
            return Err(UNKNOWN);
        }
        match &self.unitree.arm {
            Doing::Starting(_, play) | Doing::Playing(play) if play.name == name => Err(OCCUPIED),
            _ => Ok(()),
        }
    }

    fn may_rename(&self, old: &str, new: &str) -> Result<Change, i64> {
        self.may_change(old)?;
        self.check_new_name(new)?;
        Ok(Change::Rename(old.into(), new.into()))
    }

    fn change_store(
        &mut self,
        now: Instant,
        latency: Duration,
        call: &Call,
        change: Result<Change, i64>,
    ) {
        match change {
            Ok(_) if self.storing.is_busy() => {
                self.answer_call(now, latency, call, Err(OCCUPIED));
            }
            Ok(change) => {
                let reply = (call.clone(), crate::later(now, latency));
                self.storing.change(change, Some(reply));
            }
            Err(code) => self.answer_call(now, latency, call, Err(code)),
        }
    }

    /// Answers a call about what is stored: the disk is done with it.
    pub(in super::super) fn answer_stored(
        &mut self,
        now: Instant,
        reply: (Call, Instant),
        ok: bool,
    ) {
        const INSIDE: i64 = 3202;
        let (call, due) = reply;
        let latency = due.saturating_duration_since(now);
        self.answer_call(now, latency, &call, if ok { Ok(String::new()) } else { Err(INSIDE) });
    }

    /// Records a frame, ends a recording that nothing keeps alive, or begins to play.
    pub(super) fn step_arm(&mut self, at: Instant) {
        match &mut self.unitree.arm {
            Doing::Recording(take) if take.ends_at() <= at => {
                self.end_take(at, None);
                self.rouse(at);
            }
            Doing::Recording(take) => {
                take.poses.push(self.arms.positions);
                take.next = crate::later(at, self.period);
            }
            Doing::Starting(..) => self.begin_play(at),
            _ => {}
        }
    }

    fn begin_play(&mut self, at: Instant) {
        let Doing::Starting(_, play) = std::mem::replace(&mut self.unitree.arm, Doing::Nothing)
        else {
            return;
        };
        let options = PlayOptions {
            interpolation: Interpolation::Cubic,
            action_ms: play.length_ms,
            frames: 0,
            play_frames: 0,
            play_ms: 0,
            looped: false,
        };
        let player = Player::new(&play.motion, options, &self.arms);
        self.operator.let_go();
        self.playing = Some(Playing { player, client: None });
        self.latest_play = None;
        self.unitree.arm = Doing::Playing(play);
        self.rouse(at);
    }

    /// A play has come to its end by itself.
    pub(in super::super) fn play_ended(&mut self) {
        let doing = std::mem::replace(&mut self.unitree.arm, Doing::Nothing);
        self.unitree.arm = match doing {
            Doing::Playing(play) if play.holds => Doing::Holding(play),
            Doing::Playing(_) => Doing::back(&self.arms),
            other => other,
        };
    }

    /// Moves arms that return for one step.
    pub(in super::super) fn step_back(&mut self, at: Instant) {
        if let Doing::Returning(way) = &mut self.unitree.arm
            && way.step(&mut self.arms)
        {
            self.arms.hold();
            self.unitree.arm = Doing::Nothing;
            self.rouse(at);
        }
    }

    /// Ends whatever this service does, with the arms where they are.
    pub(in super::super) fn break_off_arm(&mut self) {
        self.unitree.arm = Doing::Nothing;
    }
}

/// How long answers take: a real robot's medians.
fn latency(request: &ArmRequest) -> Duration {
    ms(match request {
        ArmRequest::List => 22,
        ArmRequest::Play(_) | ArmRequest::Preset(_) => 338,
        ArmRequest::Rename { .. } => 36,
        ArmRequest::RecordStart(_) => 327,
        ArmRequest::RecordKeepAlive => 23,
        ArmRequest::RecordStop => 24,
        ArmRequest::Delete(_) | ArmRequest::Stop => 35,
        ArmRequest::Pause(_) | ArmRequest::Other { .. } => 20,
    })
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}
