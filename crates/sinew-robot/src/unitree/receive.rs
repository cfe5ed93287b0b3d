//! What the robot sends.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::Value;
use sinew_wire::unitree::{
    Challenge, FileSlice, Form, Inner, Key, Kind, Message, Response,
    arm::{self, ArmState, Phase as WirePhase},
    mapping::{INFO_TOPIC, KEY_INFO_TOPIC, Odometry, SlamInfo},
    state::{Faults, LOW_STATE_TOPIC, LowState, MOTORS, SERVICE_STATE_TOPIC, Service},
};

use super::{
    Arm, Battery, Event, Fault, Fsm, Phase, Services, Session,
    calls::Purpose,
    outbox::Sort,
    topics::{BATTERY, FOUND_ODOMETRY, MAP_ODOMETRY, MOTION},
};
use crate::{
    Code, Refusal, cut,
    teach::{ActionKind, Playing},
    trajectory::{G1_ARMS, Pose},
};

/// Faults that are kept.
const MAX_FAULTS: usize = 64;
/// Services that are named as off.
const MAX_OFF: usize = 64;
/// Where the joints and the robot are, it says several times a second; older than this it is not
/// shown.
const BODY_FRESH: Duration = Duration::from_secs(2);
/// Characters of a name that are kept.
const MAX_NAME: usize = 200;

impl Session {
    pub(super) fn receive(&mut self, now: Instant, from: Form, bytes: &[u8]) {
        self.state.counters.received += 1;
        if bytes.is_empty() {
            return;
        }
        match from {
            Form::Binary => {
                if let Some(tap) = self.open_tap() {
                    tap.show_binary(bytes);
                }
                self.receive_binary(now, bytes);
            }
            Form::Text => match Message::parse(bytes) {
                Ok(message) => {
                    if let Some(tap) = self.open_tap() {
                        tap.show_text(&message, bytes);
                    }
                    self.heard(now);
                    if self.take(now, &message).is_err() {
                        self.state.counters.malformed += 1;
                    }
                }
                Err(_) => self.state.counters.malformed += 1,
            },
        }
    }

    fn take(&mut self, now: Instant, message: &Message) -> sinew_wire::Result<()> {
        if let Some(challenge) = Challenge::parse(message) {
            self.challenged(now, challenge);
            return Ok(());
        }
        if !self.is_validated() {
            self.state.counters.unknown += 1;
            return Ok(());
        }
        if !self.is_offered(arm::STATE_TOPIC) {
            // There is no stream to tell by; that anything comes must do.
            self.state.fresh = true;
        }
        match message.kind {
            Kind::Msg => self.take_published(now, message)?,
            Kind::Res => self.answered(now, &Response::parse(message)?),
            Kind::RtcInnerReq => self.take_inner(now, message)?,
            Kind::Errors | Kind::AddError | Kind::RmError => {
                if let Some(faults) = Faults::parse(message)? {
                    self.take_faults(faults);
                }
            }
            Kind::Err => self.take_error(message),
            Kind::Heartbeat => {}
            _ => self.state.counters.unknown += 1,
        }
        Ok(())
    }

    fn answered(&mut self, now: Instant, response: &Response) {
        match self.calls.take(response) {
            Some(Purpose::Arm) => self.arm_answered(now, response),
            Some(Purpose::Slam) => self.slam_answered(now, response),
            Some(Purpose::Stop(what)) => self.stop_answered(now, what, response),
            // Whether it records, its state says.
            Some(Purpose::KeepAlive) => {}
            None => self.state.counters.unasked += 1,
        }
    }

    fn take_published(&mut self, now: Instant, message: &Message) -> sinew_wire::Result<()> {
        match message.topic() {
            arm::STATE_TOPIC => self.take_arm(now, &ArmState::parse(message)?),
            LOW_STATE_TOPIC => self.take_joints(now, &LowState::parse(message)?),
            SERVICE_STATE_TOPIC => self.take_services(&Service::parse(message)?),
            INFO_TOPIC | KEY_INFO_TOPIC => self.slam_shown(now, SlamInfo::parse(message)?),
            MAP_ODOMETRY | FOUND_ODOMETRY => self.place(now, &Odometry::parse(message)?.pose),
            MOTION => self.take_motion(message),
            BATTERY => self.take_battery(message),
            _ => self.state.counters.unknown += 1,
        }
        Ok(())
    }

    fn take_arm(&mut self, now: Instant, said: &ArmState) {
        self.arm_heard(now);
        let before = self.state.arm.take();
        let name = match &before {
            // The same text is not stored anew ten times a second.
            Some(arm) if *arm.name == said.name => Arc::clone(&arm.name),
            _ => cut(said.name.clone(), MAX_NAME).into(),
        };
        let phase = match said.phase() {
            WirePhase::Idle => Phase::Idle,
            WirePhase::Recording => Phase::Recording,
            WirePhase::Playing | WirePhase::Preset(_) if said.holding => Phase::Holding,
            WirePhase::Playing | WirePhase::Preset(_) => Phase::Playing,
            WirePhase::Returning => Phase::Returning,
        };
        let arm = Arm { holding: said.holding, id: said.id, name, phase };
        if before.as_ref() != Some(&arm) {
            self.event(Event::Arm { arm: arm.clone() });
        }
        self.state.arm = Some(arm);
        self.arm_shown(now);
        self.recording_shown(now);
        self.show_playing(now);
    }

    /// What plays, by the arms' state.
    fn show_playing(&mut self, now: Instant) {
        let Some(arm) = &self.state.arm else { return };
        let plays = arm.phase == Phase::Playing;
        let same = |playing: &Playing| playing.name.as_ref() == Some(&arm.name);
        match &self.state.playing {
            Some(playing) if plays && same(playing) => {}
            None if !plays => {}
            playing => {
                let ended = playing.clone();
                let began = plays.then(|| (arm.id, Arc::clone(&arm.name)));
                if let Some(playing) = ended {
                    self.play_ended(&playing);
                }
                self.state.playing = None;
                if let Some((number, name)) = began {
                    self.play_began(now, number, name);
                }
            }
        }
    }

    fn play_began(&mut self, now: Instant, number: i64, name: Arc<str>) {
        let listed = self.actions.listed.iter().find(|action| match action.kind {
            ActionKind::Taught => number == 100 && *action.name == *name,
            ActionKind::Preset => i64::from(action.id) == number,
        });
        let (id, duration_ms) = listed.map_or((None, None), |it| (Some(it.id), it.duration_ms));
        self.event(Event::Playing { id, name: Some(Arc::clone(&name)) });
        self.state.playing = Some(Playing {
            id,
            name: Some(name),
            elapsed_ms: 0,
            duration_ms,
            began: now,
            observed: true,
        });
    }

    fn play_ended(&mut self, playing: &Playing) {
        let stopped = self.state.stopping.as_ref().filter(|_| self.stops_arms());
        let (whole, why) = match stopped {
            Some(by) => (false, by.to_string()),
            None => (true, "the robot's state says that it is over".into()),
        };
        let (id, name) = (playing.id, playing.name.clone());
        self.event(Event::PlayEnded { id, name, whole, why });
    }

    fn take_joints(&mut self, now: Instant, state: &LowState) {
        let arms = |all: [f64; MOTORS]| -> Option<Pose> {
            let value = |joint: &sinew_wire::teach::Joint| all.get(usize::from(joint.number));
            let pose = G1_ARMS.joints.map(|joint| value(&joint).map_or(f32::NAN, |q| *q as f32));
            pose.iter().all(|value| value.is_finite()).then_some(pose)
        };
        let Some(positions) = state.positions().and_then(arms) else {
            self.state.counters.malformed += 1;
            return;
        };
        let velocities = state.velocities().and_then(arms);
        (self.state.positions, self.state.velocities) = (Some(positions), velocities);
        self.state.joints_seen = Some(now);
        self.record_pose(now, positions);
        self.event(Event::Joints { positions, velocities });
    }

    fn take_services(&mut self, services: &[Service]) {
        let off = || services.iter().filter(|service| !service.running).take(MAX_OFF);
        let same = |known: &Services| {
            let names = known.off.iter().map(|name| &**name);
            known.count == services.len() && names.eq(off().map(|service| service.name.as_str()))
        };
        if !self.state.services.as_ref().is_some_and(same) {
            let off = off().map(|service| cut(service.name.clone(), MAX_NAME).into()).collect();
            self.state.services = Some(Services { count: services.len(), off });
        }
    }

    fn take_motion(&mut self, message: &Message) {
        let content = content(message);
        let number = |name: &str| content.as_ref()?.get(name)?.as_i64();
        match number("fsm_id") {
            Some(id) => self.state.fsm = Some(Fsm::new(id, number("fsm_mode"))),
            None => self.state.counters.malformed += 1,
        }
    }

    fn take_battery(&mut self, message: &Message) {
        let content = content(message);
        let percent = content.as_ref().and_then(|content| content.get("soc")?.as_f64());
        match percent {
            Some(percent) => {
                let volts = self.state.battery.and_then(|battery| battery.volts);
                self.state.battery = Some(Battery { percent: Some(percent), volts });
            }
            None => self.state.counters.malformed += 1,
        }
    }

    fn take_inner(&mut self, now: Instant, message: &Message) -> sinew_wire::Result<()> {
        let about_file = match message.key() {
            Key::Uuid(uuid) => self.downloads.is_about(&uuid),
            _ => false,
        };
        match FileSlice::parse(message) {
            Ok(Some(slice)) => {
                self.take_slice(now, &slice);
                return Ok(());
            }
            Ok(None) if !about_file => {}
            Ok(None) | Err(_) => {
                if about_file {
                    let message = "the robot does not hand the file out: its answer has none";
                    self.downloads_failed(&Refusal::new(Code::Refused, message));
                }
                return Ok(());
            }
        }
        match Inner::parse(message)? {
            Some(probe @ Inner::RttProbe(_)) => {
                self.send(Sort::Periodic, probe.message(false).emit());
            }
            Some(Inner::Execution { good: false }) => {
                let why = "the robot goes on thinning out what it sends: clouds may not come";
                let count = self.state.mapping.clouds_rejected;
                self.event(Event::CloudRejected { count, why: why.into() });
            }
            Some(Inner::Execution { .. } | Inner::NetworkAnswer { .. }) => {}
            _ => self.state.counters.unknown += 1,
        }
        Ok(())
    }

    fn take_error(&mut self, message: &Message) {
        let words = message.info.as_ref().or(message.data.as_ref()).and_then(Value::as_str);
        match words {
            Some(words) if words.starts_with("Invalid Topic") => {
                let words = format!("{words} {}", message.topic());
                self.not_offered(words.trim_end());
            }
            _ => self.state.counters.unknown += 1,
        }
    }

    /// Faults are told once each, when they come and when they go.
    fn take_faults(&mut self, faults: Faults) {
        let same = |a: &Fault, b: &Fault| (a.source, a.code) == (b.source, b.code);
        let read = |fault: sinew_wire::unitree::Fault| Fault {
            time: fault.time,
            source: fault.source,
            code: fault.code,
            text: fault.to_string().into(),
        };
        let before = Arc::clone(&self.state.faults);
        let mut now: Vec<Fault> = match faults {
            Faults::All(all) => {
                let mut kept: Vec<Fault> = Vec::new();
                for fault in all.into_iter().map(read) {
                    if kept.len() < MAX_FAULTS && !kept.iter().any(|other| same(other, &fault)) {
                        kept.push(fault);
                    }
                }
                kept
            }
            Faults::Added(fault) => {
                let fault = read(fault);
                let others = before.iter().filter(|other| !same(other, &fault)).cloned();
                others.chain([fault.clone()]).collect()
            }
            Faults::Removed(fault) => {
                let gone = read(fault);
                before.iter().filter(|other| !same(other, &gone)).cloned().collect()
            }
        };
        now.truncate(MAX_FAULTS);
        let mut tell = |on: bool, fault: &Fault| {
            let Fault { source, code, ref text, .. } = *fault;
            self.event(Event::Fault { on, source, code, text: Arc::clone(text) });
        };
        let missing = |fault: &&Fault, from: &[Fault]| !from.iter().any(|other| same(other, fault));
        before.iter().filter(|fault| missing(fault, &now)).for_each(|fault| tell(false, fault));
        now.iter().filter(|fault| missing(fault, &before)).for_each(|fault| tell(true, fault));
        if *before != *now {
            self.state.faults = now.into();
        }
    }

    /// What the robot no longer says of its body is not shown.
    pub(super) fn forget_old(&mut self, now: Instant) {
        let is_old = |seen: &mut Instant| now.saturating_duration_since(*seen) > BODY_FRESH;
        if self.state.joints_seen.take_if(is_old).is_some() {
            (self.state.positions, self.state.velocities) = (None, None);
        }
        if self.state.pose_seen.take_if(is_old).is_some() {
            self.state.pose = None;
        }
    }

    /// What is known of the body counts for nothing without a channel.
    pub(super) fn forget_body(&mut self) {
        let state = &mut self.state;
        state.arm = None;
        state.fsm = None;
        state.battery = None;
        state.services = None;
        (state.positions, state.velocities) = (None, None);
        (state.pose, state.pose_seen) = (None, None);
        if let Some(Playing { id, name, .. }) = self.state.playing.take() {
            let why = "the link was lost; the robot may play on".into();
            self.event(Event::PlayEnded { id, name, whole: false, why });
        }
    }
}

/// The content of a message: JSON as it is, or in a string.
fn content(message: &Message) -> Option<Value> {
    match message.data.as_ref()? {
        Value::String(text) => serde_json::from_str(text).ok(),
        value => Some(value.clone()),
    }
}
