//! The SLAM service: mapping, finding itself in a map, and walking there.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use serde_json::json;
use sinew_wire::unitree::{
    Kind, Message,
    mapping::{Pose, SlamReply, SlamRequest},
};

use super::{
    Call, Robot, Unitree,
    client::Client,
    map::{Frame, Map},
    services::{BAD_PARAMETER, NO_SUCH_CALL},
    stream::Stream,
    walk::{self, Place, Step, Walk, Walking},
};
use crate::g1::building::{Lidar, PATROL};

/// Most maps that are stored: the vendor's documentation asks for ten names.
pub const MAX_MAPS: usize = 10;
/// Farthest goal, in metres: the vendor's limit.
const FARTHEST: f64 = 10.0;
/// Longest name of a map's file.
const MAX_ADDRESS: usize = 128;
/// How often clouds are made.
const SCAN_EVERY: Duration = Duration::from_millis(100);
/// Clouds that a late caller missed are not made when they are older than this.
const BACKLOG: Duration = Duration::from_millis(500);

/// Why something is not done: the number and the words. Only 507 is a real robot's.
type Refused = (i64, &'static str);

const MAPPING_ALREADY: Refused = (501, "mapping already");
const NOT_MAPPING: Refused = (502, "not mapping");
const BAD_TYPE: Refused = (503, "unknown slam type");
const NOT_STORED: Refused = (504, "save pcd failed");
const NOT_LOCATED: Refused = (505, "no map is loaded");
const BAD_GOAL: Refused = (506, "the goal is out of reach");
const NOT_LOADED: Refused = (507, "Load pcd failed");
const NO_WALK: Refused = (508, "there is no task");
const NOT_STANDING: Refused = (509, "the robot does not stand");

#[derive(Debug, Clone)]
pub(super) struct Slam {
    pub(super) mode: Mode,
    pub(super) maps: BTreeMap<String, Map>,
    pub(super) body: Place,
    /// To a goal that a client gave.
    pub(super) walk: Option<Walk>,
    /// With an operator, while mapping.
    led: Option<Walk>,
    walk_at: Option<Instant>,
    scan_at: Option<Instant>,
    pub(super) lidar: Lidar,
    /// Whether a GO2's lidar was switched on.
    pub(super) is_on: bool,
    pub(super) scans: u64,
}

#[derive(Debug, Clone)]
pub(super) enum Mode {
    Off,
    Mapping(Map),
    Located { frame: Frame, address: String },
}

impl Slam {
    pub(super) fn new(seed: u64) -> Self {
        let [x, y] = PATROL[0];
        Slam {
            mode: Mode::Off,
            maps: BTreeMap::new(),
            body: Place { x, y, yaw: 0.0 },
            walk: None,
            led: None,
            walk_at: None,
            scan_at: None,
            lidar: Lidar::new(seed),
            is_on: false,
            scans: 0,
        }
    }

    /// The power was cut: maps stay, and the robot where it is.
    pub(super) fn restart(&mut self) {
        self.mode = Mode::Off;
        (self.walk, self.led) = (None, None);
        (self.walk_at, self.scan_at) = (None, None);
        self.is_on = false;
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.walk_at.into_iter().chain(self.scan_at).min()
    }

    /// The file of a map.
    pub(super) fn file(&self, path: &str) -> Option<Vec<u8>> {
        self.maps.get(path).map(Map::pcd)
    }

    fn walking(&self) -> Walking {
        match (&self.walk, &self.led) {
            (Some(walk), _) if walk.is_paused => Walking::Paused,
            (Some(walk), _) if walk.blocked_s.is_some() => Walking::Blocked,
            (Some(_), _) => Walking::ToGoal,
            (None, Some(_)) => Walking::Led,
            (None, None) => Walking::No,
        }
    }

    /// Where the robot is in the map's frame, while there is a map.
    pub(super) fn pose(&self) -> Option<Pose> {
        let frame = match &self.mode {
            Mode::Off => return None,
            Mode::Mapping(map) => map.frame,
            Mode::Located { frame, .. } => *frame,
        };
        let Place { x, y, yaw } = frame.place(self.body);
        let (sin, cos) = (yaw / 2.0).sin_cos();
        Some(Pose { position: [x, y, 0.0], orientation: [0.0, 0.0, sin, cos] })
    }

    fn start(&mut self, slam_type: &str) -> Result<(), Refused> {
        if matches!(self.mode, Mode::Mapping(_)) {
            return Err(MAPPING_ALREADY);
        }
        if slam_type != "indoor" {
            return Err(BAD_TYPE);
        }
        self.walk = None;
        self.mode = Mode::Mapping(Map::new(Frame(self.body)));
        Ok(())
    }

    fn save(&mut self, address: String) -> Result<(), Refused> {
        let Mode::Mapping(map) = &mut self.mode else { return Err(NOT_MAPPING) };
        let name =
            address.strip_prefix("/home/unitree/").and_then(|name| name.strip_suffix(".pcd"));
        let good = name.is_some_and(|name| !name.is_empty() && !name.contains('/'));
        let room = self.maps.len() < MAX_MAPS || self.maps.contains_key(&address);
        if !good || !room || address.len() > MAX_ADDRESS {
            return Err(NOT_STORED);
        }
        let map = std::mem::replace(map, Map::new(Frame(self.body)));
        self.maps.insert(address, map);
        self.mode = Mode::Off;
        Ok(())
    }

    fn locate(&mut self, address: String) -> Result<(), Refused> {
        let frame = self.maps.get(&address).ok_or(NOT_LOADED)?.frame;
        self.walk = None;
        self.mode = Mode::Located { frame, address };
        Ok(())
    }

    fn go_to(&mut self, pose: &Pose, mode: i64) -> Result<(), Refused> {
        let Mode::Located { frame, .. } = &self.mode else { return Err(NOT_LOCATED) };
        let ([x, y, _], [qx, qy, qz, qw]) = (pose.position, pose.orientation);
        let yaw = (2.0 * (qw * qz + qx * qy)).atan2(1.0 - 2.0 * (qy * qy + qz * qz));
        let goal = frame.outside(Place { x, y, yaw });
        let near = self.body.distance(goal.at()) <= FARTHEST;
        if mode != 1 || !near || !goal.yaw.is_finite() {
            return Err(BAD_GOAL);
        }
        self.walk = Some(Walk::new(self.body, goal));
        Ok(())
    }

    fn pause(&mut self, pause: bool) -> Result<(), Refused> {
        match &mut self.walk {
            Some(walk) => {
                walk.is_paused = pause;
                walk.velocity = [0.0; 2];
                Ok(())
            }
            // What stands still is paused.
            None if pause => Ok(()),
            None => Err(NO_WALK),
        }
    }
}

impl Robot {
    pub(super) fn call_slam(&mut self, now: Instant, call: &Call, parameter: &str) {
        let Ok(request) = SlamRequest::parse(call.api_id, parameter) else {
            return self.answer_call(now, ms(20), call, Err(BAD_PARAMETER));
        };
        let can_walk = self.can_walk();
        let slam = &mut self.unitree.slam;
        let had_goal = slam.walk.is_some();
        let latency = match &request {
            SlamRequest::Save(_) => ms(400),
            SlamRequest::Locate { .. } => ms(800),
            _ => ms(60),
        };
        let done = match request {
            SlamRequest::Start(slam_type) => slam.start(&slam_type),
            SlamRequest::Save(address) => slam.save(address),
            SlamRequest::Locate { address, .. } => slam.locate(address),
            SlamRequest::GoTo { .. } if !can_walk => Err(NOT_STANDING),
            SlamRequest::GoTo { pose, mode } => slam.go_to(&pose, mode),
            SlamRequest::Pause => slam.pause(true),
            SlamRequest::Resume => slam.pause(false),
            SlamRequest::Close => {
                slam.mode = Mode::Off;
                slam.walk = None;
                Ok(())
            }
            SlamRequest::Other { .. } => {
                return self.answer_call(now, ms(20), call, Err(NO_SUCH_CALL));
            }
        };
        let replaced = call.api_id == 1102 && done.is_ok();
        if had_goal && (self.unitree.slam.walk.is_none() || replaced) {
            self.tell_result(false);
        }
        if call.api_id == 1804 && done.is_ok() {
            self.unitree.clients.values_mut().for_each(|client| client.has_map = false);
        }
        let (error_code, info) = done.err().unwrap_or((0, ""));
        let succeed = error_code == 0;
        let reply = SlamReply { succeed, error_code, info: info.into(), data: json!({}) };
        self.answer_call(now, latency, call, Ok(reply.emit()));
        self.rouse_slam(now);
    }

    /// Begins what there is to do from now on, and ends what there is not.
    pub(super) fn rouse_slam(&mut self, now: Instant) {
        let can_walk = self.can_walk();
        let Unitree { slam, options, .. } = &mut self.unitree;
        let mapping = matches!(slam.mode, Mode::Mapping(_));
        if !mapping || !options.patrol || !can_walk {
            slam.led = None;
        } else if slam.led.is_none() {
            slam.led = walk::led_to(slam.body).map(|goal| Walk::new(slam.body, goal));
        }
        let walks = slam.led.is_some() || slam.walk.as_ref().is_some_and(|walk| !walk.is_paused);
        let scans = slam.is_on || !matches!(slam.mode, Mode::Off);
        for (at, wanted, period) in
            [(&mut slam.walk_at, walks, walk::STEP), (&mut slam.scan_at, scans, SCAN_EVERY)]
        {
            *at = wanted.then(|| at.unwrap_or(crate::later(now, period)));
        }
    }

    /// Walks a step, or makes a cloud.
    pub(super) fn step_slam(&mut self, at: Instant, now: Instant) {
        if self.unitree.slam.walk_at.is_some_and(|due| due <= at) {
            return self.step_walk(at, now);
        }
        let late = now.saturating_duration_since(at) > BACKLOG;
        self.unitree.slam.scan_at = Some(crate::later(if late { now } else { at }, SCAN_EVERY));
        self.scan();
    }

    fn step_walk(&mut self, at: Instant, now: Instant) {
        let slam = &mut self.unitree.slam;
        // A walk to a goal has an end, so all of it happens; being led has none.
        let late = slam.walk.is_none() && now.saturating_duration_since(at) > BACKLOG;
        slam.walk_at = Some(crate::later(if late { now } else { at }, walk::STEP));
        if let Some(walk) = &mut slam.walk {
            let ended = walk.step(&mut slam.body);
            if ended != Step::Goes {
                slam.walk = None;
                self.tell_result(ended == Step::Arrived);
            }
        } else if let Some(led) = &mut slam.led
            && led.step(&mut slam.body) != Step::Goes
        {
            slam.led = None;
        }
        self.rouse_slam(at);
    }

    fn tell_result(&mut self, is_arrived: bool) {
        let result = json!({
            "type": "task_result",
            "data": { "targetNodeName": "", "is_arrived": is_arrived },
        });
        let message = Message::with_data(Kind::Msg, Stream::KeyInfo.topic(), result.to_string());
        let wants =
            |client: &&mut Client| client.is_valid && client.streams.contains_key(&Stream::KeyInfo);
        for client in self.unitree.clients.values_mut().filter(wants) {
            client.say(&message);
        }
    }

    /// Ends a walk to a goal.
    pub(super) fn end_walk(&mut self, now: Instant) {
        if self.unitree.slam.walk.take().is_some() {
            self.tell_result(false);
        }
        self.rouse_slam(now);
    }

    /// What the legs do.
    pub fn walking(&self) -> Walking {
        self.unitree.slam.walking()
    }

    pub(super) fn is_walking(&self) -> bool {
        matches!(self.walking(), Walking::ToGoal | Walking::Led)
    }

    /// Where the robot is in its building.
    pub fn place(&self) -> Place {
        self.unitree.slam.body
    }

    /// Whether a map is being made.
    pub fn is_mapping(&self) -> bool {
        matches!(self.unitree.slam.mode, Mode::Mapping(_))
    }

    /// The files of stored maps, with how many points they have.
    pub fn maps(&self) -> impl Iterator<Item = (&str, usize)> {
        self.unitree.slam.maps.iter().map(|(address, map)| (address.as_str(), map.len()))
    }
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}
