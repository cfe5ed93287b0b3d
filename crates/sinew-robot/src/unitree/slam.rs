//! Requests of the SLAM service, one after the other, and what it publishes.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use sinew_wire::unitree::{
    Response,
    mapping::{Pose as WirePose, SlamInfo, SlamRequest, What},
};

use super::{
    Battery, Event, Mapping, Session,
    arm::unconfirmed,
    calls::Purpose,
    stopping::Wanted,
    words::{map_file, map_name, slam_outcome},
};
use crate::{
    Code, Origin, Refusal, RequestId, later,
    mapping::{Answer, Info, Pose, Request},
};

const MAX_WAITING: usize = 32;
/// Goals are no further away, by the vendor's documentation.
const FURTHEST: f64 = 10.0;
/// The service loads, and writes files, before it answers.
const SLOW: Duration = Duration::from_secs(15);
const SAVING: Duration = Duration::from_secs(60);
/// After the end of a map, what was on its way still speaks of it.
const ECHO: Duration = Duration::from_secs(2);

const WALK_NOTE: &str = "the way, its speed and the obstacles are the robot's own business; by the \
                         vendor's documentation it walks straight and sees obstacles from 50 cm on";

/// Requests in the order in which they came, one of which is carried out at a time.
#[derive(Debug, Default)]
pub(super) struct SlamLane {
    waiting: VecDeque<Waiting>,
    active: Option<Active>,
    /// When a map was last ended.
    ended: Option<Instant>,
}

#[derive(Debug)]
struct Waiting {
    id: RequestId,
    request: Request,
    origin: Origin,
}

#[derive(Debug)]
struct Active {
    id: RequestId,
    request: Request,
    origin: Origin,
    /// Under which name a map is stored.
    name: String,
    due: Instant,
}

impl SlamLane {
    pub(super) fn due(&self) -> Option<Instant> {
        self.active.as_ref().map(|active| active.due)
    }

    /// Whether a map is to be begun: its topics are asked for before.
    pub(super) fn begins_map(&self) -> bool {
        self.active.as_ref().is_some_and(|active| active.request == Request::Start)
    }
}

impl Session {
    pub(super) fn ask_slam(
        &mut self,
        now: Instant,
        id: RequestId,
        request: Request,
        origin: &Origin,
    ) {
        match request {
            Request::Info => {
                let info = self.info(now);
                return self.done(id, Ok(Answer::Info(info.into())));
            }
            // Clouds are joined outside, from what is told here.
            Request::Clear | Request::Save { .. } => {
                let message = "a robot's session keeps no map";
                return self.refuse(id, Refusal::new(Code::Unsupported, message));
            }
            Request::Pause => return self.end_for(now, id, Wanted::Pause, &origin.by),
            Request::Close => {
                self.drop_slam_changes(&format!("{} asked for close", origin.by));
                return self.end_for(now, id, Wanted::Close, &origin.by);
            }
            _ => {}
        }
        let checked = self.reachable().and_then(|()| self.check_slam(&request));
        if let Err(refusal) = checked {
            return self.refuse(id, refusal);
        }
        if let Request::Download { name } = &request {
            return self.begin_download(now, id, name);
        }
        if self.slam.waiting.len() >= MAX_WAITING {
            let message = format!("{MAX_WAITING} requests wait already");
            return self.refuse(id, Refusal::new(Code::Busy, message));
        }
        self.slam.waiting.push_back(Waiting { id, request, origin: origin.clone() });
    }

    /// What can be said before the robot is asked.
    fn check_slam(&self, request: &Request) -> Result<(), Refusal> {
        let not_ready = |message: &str| Err(Refusal::new(Code::NotReady, message));
        match request {
            Request::Stop { name: Some(name) } | Request::Download { name } => {
                map_file(name).map(drop)
            }
            Request::Relocate { map, pose } => {
                finite(pose)?;
                map_file(map).map(drop)
            }
            Request::GoTo { .. } if self.walking.may_walk() => {
                not_ready("the robot is on its way already; close that first")
            }
            Request::GoTo { pose } => self.within_reach(pose),
            Request::Resume if !self.walking.may_walk() => {
                not_ready("the robot is on no way that it could go on with")
            }
            _ => Ok(()),
        }
    }

    fn within_reach(&self, to: &Pose) -> Result<(), Refusal> {
        finite(to)?;
        let Some(here) = self.state.pose else {
            return Err(Refusal::new(
                Code::NotReady,
                "the robot does not say where it is; make a map or relocate it in one first",
            ));
        };
        let distance = (to.x - here.x).hypot(to.y - here.y);
        if distance > FURTHEST {
            return Err(Refusal::invalid(format!(
                "pose: wanted a place within {FURTHEST:.0} m, which is as far as the robot's \
                 service goes at once, got one {distance:.1} m away"
            )));
        }
        Ok(())
    }

    pub(super) fn advance_slam(&mut self, now: Instant) {
        if let Some(active) = self.slam.active.take_if(|active| now >= active.due) {
            self.calls.forget(Purpose::Slam);
            // A walk that shows needs no answer.
            let walks = self.walking.walks_since(active.due - self.settings.answer);
            match active.request {
                Request::GoTo { .. } if walks => self.slam_done(now, active),
                _ => self.refuse(active.id, unconfirmed(active.request.op())),
            }
        }
        while self.is_validated()
            && !self.state.link.is_lost()
            && self.slam.active.is_none()
            && self.stopping.is_none()
            && let Some(waiting) = self.slam.waiting.pop_front()
        {
            // What was true when it was asked may not be any more.
            match self.check_slam(&waiting.request) {
                Ok(()) => self.start_slam(now, waiting),
                Err(refusal) => self.refuse(waiting.id, refusal),
            }
        }
    }

    fn start_slam(&mut self, now: Instant, waiting: Waiting) {
        let Waiting { id, request, origin } = waiting;
        let name = match &request {
            Request::Stop { name: Some(name) } => name.clone(),
            _ => self.clock.text(now, '_', '-'),
        };
        let call = match slam_call(&request, &name) {
            Ok(call) => call,
            Err(refusal) => return self.refuse(id, refusal),
        };
        let patience = match request {
            Request::Stop { .. } => SAVING,
            Request::Start | Request::Relocate { .. } => SLOW,
            _ => self.settings.answer,
        };
        let due = later(now, patience.max(self.settings.answer));
        match &request {
            Request::Start | Request::Relocate { .. } => self.offer_clouds_again(),
            Request::GoTo { pose } => self.walk_begun(now, &origin, Some(*pose)),
            Request::Resume => self.walk_begun(now, &origin, None),
            _ => {}
        }
        self.slam.active = Some(Active { id, request, origin, name, due });
        // Clouds are asked for before there are any, and thinning is off before that.
        self.subscribe();
        self.call_slam(now, Purpose::Slam, &call);
    }

    pub(super) fn slam_answered(&mut self, now: Instant, response: &Response) {
        let Some(active) = self.slam.active.take() else { return };
        self.calls.forget(Purpose::Slam);
        match slam_outcome(active.request.op(), response) {
            Ok(()) => self.slam_done(now, active),
            Err(refusal) => {
                if active.request.moves() && refusal.code == Code::Refused {
                    self.walk_ended(false, &refusal.message);
                }
                self.refuse(active.id, refusal);
            }
        }
    }

    fn slam_done(&mut self, now: Instant, active: Active) {
        let by = active.origin.by.clone();
        let answer = match active.request {
            Request::Start => {
                let voxel_maps = self.state.mapping.voxel_maps;
                self.state.mapping = Mapping { active: true, voxel_maps, ..Mapping::default() };
                self.slam.ended = None;
                self.event(Event::Mapping { on: true, by: (*by).into() });
                Answer::Start
            }
            Request::Stop { .. } => {
                self.map_ended(now, &by);
                let name = active.name;
                let file = map_file(&name).unwrap_or_default();
                let note = format!(
                    "the map stays in the robot as {file}, and download fetches it; its service is \
                     made for flat rooms of up to 45 m by 45 m, and has room for few maps"
                );
                Answer::Stop { name, note: Some(note) }
            }
            Request::Relocate { map, pose } => {
                self.map_ended(now, &by);
                self.state.mapping.map = Some(map.as_str().into());
                // It is where it was said to be, until it says so itself in a moment, or does not.
                (self.state.pose, self.state.pose_seen) = (Some(pose), Some(now));
                Answer::Relocate { map }
            }
            Request::GoTo { .. } => Answer::GoTo { note: WALK_NOTE.into() },
            Request::Resume => Answer::Resume,
            Request::Clear
            | Request::Save { .. }
            | Request::Info
            | Request::Pause
            | Request::Close
            | Request::Download { .. } => return,
        };
        self.done(active.id, Ok(answer));
    }

    fn map_ended(&mut self, now: Instant, by: &str) {
        self.slam.ended = Some(now);
        if std::mem::take(&mut self.state.mapping.active) {
            self.event(Event::Mapping { on: false, by: by.into() });
        }
    }

    /// The service neither maps nor finds its way.
    pub(super) fn slam_closed(&mut self, now: Instant, by: &str) {
        self.walk_ended(false, by);
        self.map_ended(now, by);
        self.state.mapping.map = None;
        (self.state.pose, self.state.pose_seen) = (None, None);
    }

    fn info(&self, now: Instant) -> Info {
        Info { pose: self.state.pose, ..self.state.mapping.info(now) }
    }

    /// The service says how it goes.
    pub(super) fn slam_shown(&mut self, now: Instant, info: SlamInfo) {
        let echoes = self.slam.ended.is_some_and(|at| now < later(at, ECHO));
        match info.what {
            What::Mapping { pose } => {
                if !self.state.mapping.active && !echoes {
                    self.state.mapping.active = true;
                    let by = "the robot says that it makes a map".into();
                    self.event(Event::Mapping { on: true, by });
                }
                self.place(now, &pose);
            }
            What::Position { pose, map, address } => {
                let name = if map.is_empty() { map_name(&address) } else { map_name(&map) };
                if !name.is_empty() && !echoes && self.state.mapping.map.as_deref() != Some(name) {
                    self.state.mapping.map = Some(crate::cut(name.into(), 100).into());
                }
                self.place(now, &pose);
            }
            What::Control { is_arrived, is_paused, percent } => {
                self.walk_shown(now, is_arrived, is_paused, percent);
            }
            What::Robot { battery_percent, battery_millivolts } => {
                let volts = battery_millivolts.map(|millivolts| millivolts / 1000.0);
                self.state.battery = Some(Battery { percent: battery_percent, volts });
            }
            What::TaskResult { is_arrived, .. } => {
                let stopped = self.state.stopping.clone().filter(|_| self.stops_walk());
                let why = match (is_arrived, &stopped) {
                    (true, _) => "the robot says that it is there",
                    (false, Some(by)) => by,
                    (false, None) => "the robot says that it gave up",
                };
                self.walk_ended(is_arrived, why);
            }
            What::Other(_) => self.state.counters.unknown += 1,
        }
    }

    /// The robot says where it is.
    pub(super) fn place(&mut self, now: Instant, pose: &WirePose) {
        let Some(pose) = from_wire(pose) else {
            self.state.counters.malformed += 1;
            return;
        };
        (self.state.pose, self.state.pose_seen) = (Some(pose), Some(now));
        self.walking.placed(now, pose);
        self.event(Event::Odometry { pose });
    }

    /// The channel is gone: what was sent may have been done.
    pub(super) fn slam_lost(&mut self, refusal: &Refusal) {
        if let Some(active) = self.slam.active.take() {
            let lost = unconfirmed(active.request.op());
            let message = format!("{}: {}", refusal.message, lost.message);
            self.refuse(active.id, Refusal::new(Code::Unconfirmed, message));
        }
        self.drop_slam(refusal);
        self.forget_walk_words();
    }

    /// Refuses what is carried out and what waits.
    pub(super) fn drop_slam(&mut self, refusal: &Refusal) {
        if let Some(active) = self.slam.active.take() {
            self.calls.forget(Purpose::Slam);
            let message =
                format!("{} before {} was answered", refusal.message, active.request.op());
            self.refuse(active.id, Refusal::new(Code::Unconfirmed, message));
        }
        for waiting in std::mem::take(&mut self.slam.waiting) {
            self.refuse(waiting.id, refusal.clone());
        }
    }

    /// Nothing that waits is asked any more, and no walk begins.
    pub(super) fn drop_slam_changes(&mut self, why: &str) {
        self.drop_slam_motions(why, |_| true);
        let refusal = Refusal::new(Code::NotReady, why);
        for waiting in std::mem::take(&mut self.slam.waiting) {
            self.refuse(waiting.id, refusal.clone());
        }
    }

    /// No walk of these clients begins; one that was asked for may have begun.
    pub(super) fn drop_slam_motions(&mut self, why: &str, of: impl Fn(u64) -> bool) {
        let moves = |active: &mut Active| active.request.moves() && of(active.origin.client);
        if let Some(active) = self.slam.active.take_if(moves) {
            self.calls.forget(Purpose::Slam);
            let message = format!("{why} before the robot answered {}", active.request.op());
            self.refuse(active.id, Refusal::new(Code::Unconfirmed, message));
        }
        let is = |waiting: &Waiting| waiting.request.moves() && of(waiting.origin.client);
        let (dropped, left): (VecDeque<_>, _) = self.slam.waiting.drain(..).partition(is);
        self.slam.waiting = left;
        for waiting in dropped {
            self.refuse(waiting.id, Refusal::new(Code::NotReady, why));
        }
    }
}

fn slam_call(request: &Request, name: &str) -> Result<SlamRequest, Refusal> {
    Ok(match request {
        Request::Start => SlamRequest::Start("indoor".into()),
        Request::Stop { .. } => SlamRequest::Save(map_file(name)?),
        Request::Relocate { map, pose } => {
            SlamRequest::Locate { pose: to_wire(pose), address: map_file(map)? }
        }
        Request::GoTo { pose } => SlamRequest::GoTo { pose: to_wire(pose), mode: 1 },
        Request::Resume => SlamRequest::Resume,
        other => {
            let message = format!("{} is not asked of the SLAM service so", other.op());
            return Err(Refusal::new(Code::Unsupported, message));
        }
    })
}

fn finite(pose: &Pose) -> Result<(), Refusal> {
    let Pose { x, y, z, yaw } = *pose;
    match [x, y, z, yaw].into_iter().all(|value| value.is_finite() && value.abs() < 1e4) {
        true => Ok(()),
        false => Err(Refusal::invalid("pose: wanted numbers within 10 km, got others")),
    }
}

fn to_wire(pose: &Pose) -> WirePose {
    let (sin, cos) = (pose.yaw / 2.0).sin_cos();
    WirePose { position: [pose.x, pose.y, pose.z], orientation: [0.0, 0.0, sin, cos] }
}

/// The heading about the vertical; none for what is no pose.
pub(super) fn from_wire(pose: &WirePose) -> Option<Pose> {
    let ([x, y, z], [qx, qy, qz, qw]) = (pose.position, pose.orientation);
    let yaw = (2.0 * (qw * qz + qx * qy)).atan2(1.0 - 2.0 * (qy * qy + qz * qz));
    let pose = Pose { x, y, z, yaw };
    finite(&pose).is_ok().then_some(pose)
}
