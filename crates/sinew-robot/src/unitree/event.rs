use std::sync::Arc;

use serde::Serialize;

use super::{Arm, LinkState};
use crate::{
    mapping::{Cloud, Pose as Place},
    trajectory::Pose,
};

/// Something that happened to a G1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The link changed.
    Link {
        /// What it is now.
        link: LinkState,
        /// Milliseconds since the last message; none before the first.
        silent_ms: Option<u64>,
    },
    /// What the arms do changed.
    Arm {
        /// What they do.
        #[serde(flatten)]
        arm: Arm,
    },
    /// The robot plays an action.
    Playing {
        /// Its number; none when it is not known.
        id: Option<u32>,
        /// Its name, when it is known.
        name: Option<Arc<str>>,
    },
    /// It no longer does.
    PlayEnded {
        /// As it began.
        id: Option<u32>,
        /// As it began.
        name: Option<Arc<str>>,
        /// Whether it was played to its end, as far as is known.
        whole: bool,
        /// How that is known.
        why: String,
    },
    /// A recording began or ended. The robot keeps what it recorded.
    Recording {
        /// Which.
        on: bool,
        /// What it is called.
        name: Option<Arc<str>>,
        /// Frames that came here so far.
        frames: usize,
        /// The client or the rule that did it.
        by: String,
    },
    /// The robot records, and it was not asked to from here. It is left alone.
    ForeignRecording {
        /// What that recording is called.
        name: Arc<str>,
    },
    /// The recording is longer than the vendor's app lets one get; whether the robot goes on, only
    /// the robot knows.
    RecordingLong {
        /// Seconds so far.
        seconds: u64,
    },
    /// The recording is as long as may be kept here; what follows is not.
    RecordingFull {
        /// Frames kept.
        frames: usize,
    },
    /// A client stopped the robot; sent, not yet confirmed.
    Stopped {
        /// The client.
        by: String,
    },
    /// How a stop ended.
    StopEnded {
        /// The client or the rule that stopped it.
        by: String,
        /// Whether the robot confirmed it.
        confirmed: bool,
        /// What was confirmed, or was not.
        why: String,
    },
    /// A fault has come or gone.
    Fault {
        /// Which.
        on: bool,
        /// Which part of the robot, as a number of its own.
        source: i64,
        /// What, as a number of its own.
        code: i64,
        /// The same in words.
        text: Arc<str>,
    },
    /// The robot does not have a topic.
    NotOffered {
        /// Which; the robot's own words where it does not name it.
        topic: Arc<str>,
    },
    /// Making a map began or ended.
    Mapping {
        /// Which.
        on: bool,
        /// The client or the rule that did it.
        by: String,
    },
    /// The robot walks to a place.
    Walking {
        /// Where to; none when it was not asked to from here.
        to: Option<Place>,
    },
    /// It no longer does.
    WalkEnded {
        /// Whether it came there.
        arrived: bool,
        /// How that is known.
        why: String,
    },
    /// The arms' pose.
    Joints {
        /// Joint positions in the order of the slots, rad.
        positions: Pose,
        /// Joint velocities, rad/s, where the robot tells them.
        velocities: Option<Pose>,
    },
    /// Where the robot is in its map.
    Odometry {
        /// There.
        pose: Place,
    },
    /// A cloud has come.
    Cloud {
        /// How many points it has.
        points: usize,
        /// Whether it is of the map that is being made, and so in its frame. Others are of a robot
        /// that finds its way in a map that was loaded.
        of_map: bool,
        /// The points themselves.
        #[serde(skip)]
        cloud: Arc<Cloud>,
    },
    /// A cloud came that does not add up, and was not taken. Told of the first and then now and
    /// then.
    CloudRejected {
        /// How many so far.
        count: u64,
        /// What does not.
        why: String,
    },
    /// Closing is over: nothing will be sent any more.
    Closed,
}
