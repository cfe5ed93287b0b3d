use std::{fmt, sync::Arc, time::Instant};

use serde::{Serialize, Serializer};
pub use sinew_wire::teach::{MODE_IDLE, MODE_PLAYING, MODE_RECORDING, MODE_TEACHING};

use crate::trajectory::{G1_ARMS, Pose, Recording};

/// What is known about a robot that can be taught.
#[derive(Debug, Clone, Serialize)]
pub struct State {
    /// How the robot can be reached.
    pub link: LinkState,
    /// When the last good datagram came.
    #[serde(skip)]
    pub last_seen: Option<Instant>,
    /// When the last pose came.
    #[serde(skip)]
    pub pose_seen: Option<Instant>,
    /// Whether the arms may be compliant: true from the first `enter` sent to the last `exit`
    /// answered or given up.
    pub teaching: bool,
    /// Whether a recording runs.
    pub recording: bool,
    /// What it is to be called.
    pub recording_name: Option<Arc<str>>,
    /// Frames of the recording that came here.
    pub recorded_frames: usize,
    /// How long the recording is.
    pub recorded_ms: u32,
    /// The last recording that ended, as it came here; it outlives the robot's own.
    #[serde(skip)]
    pub recorded: Option<Arc<Recording>>,
    /// The action that plays.
    pub playing: Option<Playing>,
    /// What the robot says it does; none when it does not push its status, or no longer.
    pub mode: Option<u32>,
    /// Joint positions in the order of the slots, rad, told by the joints' names; none as with
    /// `mode`.
    #[serde(serialize_with = "by_joint")]
    pub positions: Option<Pose>,
    /// Joint velocities, rad/s; told and none as the positions.
    #[serde(serialize_with = "by_joint")]
    pub velocities: Option<Pose>,
    /// What went over the wire.
    pub counters: Counters,
}

/// How the robot can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LinkState {
    /// The opening cycle runs.
    Connecting {
        /// What keeps it from succeeding, in the system's words, when that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
    },
    /// Everything may be asked.
    Ready,
    /// The robot went silent; the cycle goes on.
    Lost {
        /// Why, in the system's words, when that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
    },
    /// Teaching is being ended, then the link is closed.
    Closing,
    /// Nothing is sent any more.
    Closed,
}

/// An action that plays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Playing {
    /// Its number; none when the robot does not have it.
    pub id: Option<u32>,
    /// Its name, when it is known.
    pub name: Option<Arc<str>>,
    /// For how long already.
    pub elapsed_ms: u32,
    /// How long it takes; none when only the robot knows.
    pub duration_ms: Option<u32>,
    /// When it began.
    #[serde(skip)]
    pub began: Instant,
    /// Whether the robot's status shows it; otherwise it is known by the acknowledgement alone.
    pub observed: bool,
}

/// What went over the wire since the session began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Datagrams sent.
    pub sent: u64,
    /// Of them, those sent again for want of an answer.
    pub retries: u64,
    /// Good datagrams received.
    pub received: u64,
    /// Of them, pushed status.
    pub status: u64,
    /// Datagrams received once before, or after a newer one.
    pub stale: u64,
    /// Answers that nothing had asked for, or not any more.
    pub unasked: u64,
    /// Datagrams of another protocol, or damaged.
    pub foreign: u64,
    /// Of them, encrypted records.
    pub encrypted: u64,
    /// Good datagrams with a command no document describes.
    pub unknown: u64,
    /// Good datagrams whose content cannot be: too short, or a pose that is no number.
    pub malformed: u64,
    /// Opening cycles without an answer.
    pub cycles_unanswered: u64,
    /// Events lost because they were not fetched.
    pub events_lost: u64,
}

pub(crate) fn by_joint<S: Serializer>(
    pose: &Option<Pose>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match pose {
        Some(pose) => {
            let names = G1_ARMS.joints.iter().map(|joint| joint.name);
            serializer.collect_map(names.zip(pose))
        }
        None => serializer.serialize_none(),
    }
}

impl LinkState {
    /// Whether the robot went silent.
    pub const fn is_lost(&self) -> bool {
        matches!(self, LinkState::Lost { .. })
    }

    /// Whether it is for good that nothing may be asked.
    pub const fn is_ending(&self) -> bool {
        matches!(self, LinkState::Closing | LinkState::Closed)
    }

    /// Why it is down, in the system's words.
    pub const fn reason(&self) -> Option<&Arc<str>> {
        match self {
            LinkState::Connecting { reason } | LinkState::Lost { reason } => reason.as_ref(),
            _ => None,
        }
    }
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LinkState::Connecting { .. } => "the robot has not answered yet",
            LinkState::Ready => "ready",
            LinkState::Lost { .. } => "the robot no longer answers",
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
            pose_seen: None,
            teaching: false,
            recording: false,
            recording_name: None,
            recorded_frames: 0,
            recorded_ms: 0,
            recorded: None,
            playing: None,
            mode: None,
            positions: None,
            velocities: None,
            counters: Counters::default(),
        }
    }
}
