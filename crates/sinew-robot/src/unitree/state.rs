use std::{fmt, sync::Arc, time::Instant};

use serde::Serialize;

use crate::{
    mapping::{Bounds, Pose as Place},
    teach::{Playing, state::by_joint},
    trajectory::{Pose, Recording},
};

/// What is known about a G1.
#[derive(Debug, Clone, Serialize)]
pub struct State {
    /// How the robot can be reached.
    pub link: LinkState,
    /// When the last message came.
    #[serde(skip)]
    pub last_seen: Option<Instant>,
    /// Whether what is shown is as new as it should be.
    #[serde(skip)]
    pub fresh: bool,
    /// What the arms do; none when the robot does not say, or no longer.
    pub arm: Option<Arm>,
    /// The state of the robot's motion control, when it says so.
    pub fsm: Option<Fsm>,
    /// The battery, when the robot speaks of it.
    pub battery: Option<Battery>,
    /// The robot's services, when it lists them.
    pub services: Option<Services>,
    /// What is wrong with the robot, as it says.
    pub faults: Arc<[Fault]>,
    /// Whether a recording runs that was asked for here.
    pub recording: bool,
    /// What it is called, or what the last one was called.
    pub recording_name: Option<Arc<str>>,
    /// Frames of the recording that came here.
    pub recorded_frames: usize,
    /// How long the recording is.
    pub recorded_ms: u32,
    /// The last recording that ended, as it came here; the robot has its own.
    #[serde(skip)]
    pub recorded: Option<Arc<Recording>>,
    /// The action that plays.
    pub playing: Option<Playing>,
    /// Who is stopping it, while that is not over.
    pub stopping: Option<Arc<str>>,
    /// Maps, and the way in them.
    pub mapping: Mapping,
    /// Where the robot is in its map, while it says so.
    pub pose: Option<Place>,
    /// When it said so.
    #[serde(skip)]
    pub pose_seen: Option<Instant>,
    /// Joint positions of the arms in the order of the slots, rad, told by the joints' names; none
    /// when the robot does not say, or no longer.
    #[serde(serialize_with = "by_joint")]
    pub positions: Option<Pose>,
    /// Joint velocities, rad/s; told and none as the positions.
    #[serde(serialize_with = "by_joint")]
    pub velocities: Option<Pose>,
    /// When they came.
    #[serde(skip)]
    pub joints_seen: Option<Instant>,
    /// Topics that were asked for and that the robot does not have.
    pub not_offered: Arc<[Arc<str>]>,
    /// What went over the channel.
    pub counters: Counters,
}

/// How the robot can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LinkState {
    /// There is no channel yet.
    Connecting {
        /// What keeps it from succeeding, when that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
    },
    /// The channel is open, and the robot has not accepted it yet.
    Validating,
    /// Everything may be asked.
    Ready,
    /// The channel is gone, or the robot's state stalls on it.
    Lost {
        /// Why.
        reason: Arc<str>,
    },
    /// A recording is over.
    Ended {
        /// Why.
        reason: Arc<str>,
    },
    /// What goes on is being ended, then the channel is closed.
    Closing,
    /// Nothing is sent any more.
    Closed,
}

/// What the arms do, by the robot's state topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Arm {
    /// As the robot says; false in all that is known.
    pub holding: bool,
    /// The robot's number.
    pub id: i64,
    /// The action's name.
    pub name: Arc<str>,
    /// What the number means.
    pub phase: Phase,
}

/// What the arms do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing.
    Idle,
    /// They are soft, and what is done with them is recorded.
    Recording,
    /// They play an action, taught or preset.
    Playing,
    /// They hold the pose in which an action ended.
    Holding,
    /// They return.
    Returning,
}

/// The state of the robot's motion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Fsm {
    /// Its number, as 500 for walking.
    pub id: i64,
    /// The same in a word or two, where it is known.
    pub name: Option<&'static str>,
    /// 0 when it stands still.
    pub mode: Option<i64>,
}

/// The battery.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Battery {
    /// Charge in percent.
    pub percent: Option<f64>,
    /// Volts.
    pub volts: Option<f64>,
}

/// The robot's services.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Services {
    /// How many there are.
    pub count: usize,
    /// Those that do not run.
    pub off: Arc<[Arc<str>]>,
}

/// A fault of the robot's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// When, in seconds since 1970, by the robot's clock.
    pub time: i64,
    /// Which part of the robot, as a number of its own.
    pub source: i64,
    /// What, as a number of its own.
    pub code: i64,
    /// The same in words.
    pub text: Arc<str>,
}

/// Maps, and the way in them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Mapping {
    /// Whether the robot makes a map.
    pub active: bool,
    /// The map that is loaded.
    pub map: Option<Arc<str>>,
    /// Whether it walks to a place.
    pub walking: bool,
    /// Whether it stands on the way.
    pub paused: bool,
    /// How far it has come, percent.
    pub percent: Option<f64>,
    /// Clouds that came since the map was begun.
    pub clouds: u64,
    /// Clouds that do not add up, and were not taken.
    pub clouds_rejected: u64,
    /// Voxel maps, which are another robot's and were not taken.
    pub voxel_maps: u64,
    /// The last cloud.
    pub last_cloud: Option<CloudSeen>,
}

/// A cloud in figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CloudSeen {
    /// How many points.
    pub points: usize,
    /// The box around them, metres.
    pub bounds: Bounds,
    /// When it came.
    #[serde(skip)]
    pub at: Instant,
}

/// What went over the channel since the session began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Messages sent.
    pub sent: u64,
    /// Of them, questions and stops that were repeated.
    pub repeats: u64,
    /// Messages received.
    pub received: u64,
    /// Of them, those that could not be read.
    pub malformed: u64,
    /// Of them, those without a meaning here.
    pub unknown: u64,
    /// Answers that nothing had asked for, or not any more.
    pub unasked: u64,
    /// Messages not sent, since the channel took no more.
    pub dropped: u64,
    /// Channels that were given up.
    pub reconnects: u64,
    /// Events lost because they were not fetched.
    pub events_lost: u64,
}

impl Fsm {
    pub(super) const fn new(id: i64, mode: Option<i64>) -> Self {
        let name = match id {
            0 => Some("no torque"),
            1 => Some("damping"),
            2 => Some("squatting"),
            3 => Some("sitting"),
            4 => Some("locked standing"),
            200 => Some("ready"),
            500 => Some("walking"),
            501 => Some("walking with its waist"),
            702 => Some("standing up"),
            706 => Some("between squatting and standing"),
            801 => Some("running"),
            _ => None,
        };
        Fsm { id, name, mode }
    }
}

impl fmt::Display for Fsm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)?;
        self.name.map_or(Ok(()), |name| write!(f, " ({name})"))?;
        self.mode.map_or(Ok(()), |mode| write!(f, ", fsm_mode {mode}"))
    }
}

impl LinkState {
    /// Whether the channel is gone, or stalls.
    pub const fn is_lost(&self) -> bool {
        matches!(self, LinkState::Lost { .. })
    }

    /// Whether it is for good that nothing may be asked.
    pub const fn is_ending(&self) -> bool {
        matches!(self, LinkState::Closing | LinkState::Closed)
    }

    /// Why it is down.
    pub const fn reason(&self) -> Option<&Arc<str>> {
        match self {
            LinkState::Connecting { reason } => reason.as_ref(),
            LinkState::Lost { reason } | LinkState::Ended { reason } => Some(reason),
            _ => None,
        }
    }
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LinkState::Connecting { .. } => "the robot is not connected yet",
            LinkState::Validating => "the robot has not accepted the channel yet",
            LinkState::Ready => "ready",
            LinkState::Lost { .. } => "the robot was lost",
            LinkState::Ended { .. } => "the recording is over",
            LinkState::Closing => "the link is being closed",
            LinkState::Closed => "the link is closed",
        })?;
        self.reason().map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

impl State {
    pub(super) fn new() -> Self {
        State {
            link: LinkState::Connecting { reason: None },
            last_seen: None,
            fresh: false,
            arm: None,
            fsm: None,
            battery: None,
            services: None,
            faults: Arc::new([]),
            recording: false,
            recording_name: None,
            recorded_frames: 0,
            recorded_ms: 0,
            recorded: None,
            playing: None,
            stopping: None,
            mapping: Mapping::default(),
            pose: None,
            pose_seen: None,
            positions: None,
            velocities: None,
            joints_seen: None,
            not_offered: Arc::new([]),
            counters: Counters::default(),
        }
    }
}
