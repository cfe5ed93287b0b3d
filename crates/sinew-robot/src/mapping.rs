//! Making maps: what may be asked of a robot that can, whatever it is reached by.

mod ops;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{capability::Nature, map::Uncertainty};

pub use ops::{MAX_NAME, OPS, map_name, parse};

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Begin a map.
    Start,
    /// End it; the robot stores it.
    Stop {
        /// Under this name; the date if none.
        name: Option<String>,
    },
    /// Forget the map that is made here.
    Clear,
    /// Give that map out.
    Save {
        /// As such a file.
        format: Format,
    },
    /// How it goes.
    Info,
    /// Load a map that the robot stores.
    Relocate {
        /// Which.
        map: String,
        /// Where the robot is in it.
        pose: Pose,
    },
    /// Walk to a place of the map.
    GoTo {
        /// Where to.
        pose: Pose,
    },
    /// Stand still on the way.
    Pause,
    /// Walk on.
    Resume,
    /// End mapping or finding the way, without storing.
    Close,
    /// Fetch a map that the robot stores.
    Download {
        /// Which.
        name: String,
    },
}

/// What a request of a robot brought about.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// The robot maps.
    Start,
    /// The map is stored.
    Stop {
        /// Under this name.
        name: String,
        /// What is to be known about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The map that was made here is forgotten.
    Clear,
    /// The map that is made here can be fetched.
    Save {
        /// As such a file.
        format: Format,
    },
    /// How it goes.
    Info(Box<Info>),
    /// The map is loaded.
    Relocate {
        /// Which.
        map: String,
    },
    /// The robot walks. This is its acknowledgement; the end is an event.
    GoTo {
        /// Whose limits and obstacle avoidance count.
        note: String,
    },
    /// The robot stands.
    Pause,
    /// The robot walks on.
    Resume,
    /// It neither maps nor walks.
    Close,
    /// The map has come.
    Download {
        /// Its name.
        name: String,
        /// The file as the robot has it.
        #[serde(skip)]
        file: Arc<[u8]>,
    },
}

/// What happens to a robot that maps or walks, as topic `events` tells it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The way to a place has ended. What was paused is still on its way.
    WalkEnded {
        /// Whether the robot is there.
        arrived: bool,
        /// Why it is not.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The robot is not where its wheels say: one slipped, or something pushed it.
    Bumped {
        /// Metres that it was off by.
        metres: f64,
        /// Radians to the left.
        radians: f64,
    },
    /// What it sees contradicts the map: it is not known where it is, and nothing is mapped.
    Lost,
    /// It is known again where it is.
    Found {
        /// Where.
        pose: Pose,
    },
}

/// How mapping goes.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Info {
    /// Whether the robot maps.
    pub mapping: bool,
    /// Whether it walks to a place.
    pub walking: bool,
    /// The map that is loaded.
    pub map: Option<String>,
    /// Where the robot is.
    pub pose: Option<Pose>,
    /// Clouds that came since mapping began.
    pub clouds: u64,
    /// The last of them.
    pub last_cloud: Option<LastCloud>,
    /// Cells of the map that is made here; none while none is made.
    pub voxels: Option<u64>,
    /// The box around them, metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// How well the pose is known, where it is found by matching.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<Uncertainty>,
    /// Why the map does not grow any more, or why the robot does not know where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// What a map can be given out as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// PCD, binary.
    Pcd,
    /// PCD, as text.
    PcdAscii,
    /// PCD, compressed.
    PcdCompressed,
    /// PLY, binary.
    Ply,
    /// The ground from above, grey; a comment says where it is, as its YAML would.
    Pgm,
    /// The ground from above, in colours, with path and dock.
    Png,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 6] = [
        Format::Pcd,
        Format::PcdAscii,
        Format::PcdCompressed,
        Format::Ply,
        Format::Pgm,
        Format::Png,
    ];

    /// Its name in `Mapping` and in addresses.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Pcd => "pcd",
            Format::PcdAscii => "pcd-ascii",
            Format::PcdCompressed => "pcd-compressed",
            Format::Ply => "ply",
            Format::Pgm => "pgm",
            Format::Png => "png",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// A cloud of points in figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LastCloud {
    /// How many.
    pub points: usize,
    /// The box around them, metres.
    pub bounds: Bounds,
    /// How long ago it came.
    pub age_ms: u64,
}

/// A box, metres.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Bounds {
    /// The least x, y, z.
    pub min: [f64; 3],
    /// The largest.
    pub max: [f64; 3],
}

/// Where and which way, in a map's frame: metres, and radians to the left about the vertical.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pose {
    /// Forward, at the map's beginning.
    pub x: f64,
    /// To the left.
    pub y: f64,
    /// Up.
    #[serde(default)]
    pub z: f64,
    /// Which way it faces.
    #[serde(default)]
    pub yaw: f64,
}

/// A cloud of points as its robot sent it: steps of a unit from one corner.
#[derive(Debug, Clone, PartialEq)]
pub struct Cloud {
    /// Counts the clouds of a map.
    pub sequence: u64,
    /// The corner, metres.
    pub origin: [f64; 3],
    /// A step, metres.
    pub unit: f64,
    /// Steps along x, y, z.
    pub points: Vec<[u16; 3]>,
    /// Where the robot was, when it said so.
    pub pose: Option<Pose>,
    /// The frame of all that, as the robot names it.
    pub frame: Arc<str>,
}

impl Request {
    /// Its name in `Mapping`.
    pub const fn op(&self) -> &'static str {
        match self {
            Request::Start => "start",
            Request::Stop { .. } => "stop",
            Request::Clear => "clear",
            Request::Save { .. } => "save",
            Request::Info => "info",
            Request::Relocate { .. } => "relocate",
            Request::GoTo { .. } => "go_to",
            Request::Pause => "pause",
            Request::Resume => "resume",
            Request::Close => "close",
            Request::Download { .. } => "download",
        }
    }

    /// Whether the robot moves when it is carried out.
    pub const fn moves(&self) -> bool {
        matches!(self, Request::GoTo { .. } | Request::Resume)
    }

    /// What the rules ask about it: what walks ends with its client.
    pub const fn nature(&self) -> Nature {
        let moves = self.moves();
        Nature { needs_client: moves, lasts: moves, needs_connection: moves }
    }
}

impl Pose {
    /// Whether all of it is a number.
    pub fn is_finite(&self) -> bool {
        [self.x, self.y, self.z, self.yaw].into_iter().all(f64::is_finite)
    }
}
