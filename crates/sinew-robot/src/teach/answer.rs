use serde::Serialize;

use crate::trajectory::Keyframe;

/// What a request of a robot brought about.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// The stored actions.
    List {
        /// In the robot's order.
        actions: Vec<Action>,
        /// Entries beyond what the robot can be asked to play.
        #[serde(skip_serializing_if = "is_zero")]
        unlisted: usize,
    },
    /// The arms are compliant.
    Enter {
        /// Whether the robot tells its pose, so that what it is taught can be kept here too.
        pose_known: bool,
        /// They are stiff again when no client has asked for anything for so long; none where
        /// nothing was sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        idle_exit_ms: Option<u64>,
        /// What is to be known about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The arms are stiff.
    Exit {
        /// What is to be known about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The robot records.
    RecordStart {
        /// What the recording is to be called.
        name: Option<String>,
        /// What is to be known about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The recording ended.
    RecordStop {
        /// Frames that came here while it ran.
        frames: usize,
        /// How long it took.
        duration_ms: u32,
        /// Longest time between two frames.
        largest_gap_ms: u32,
        /// What is to be known about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The recording is stored.
    Save {
        /// Under this name.
        name: String,
        /// Largest distance of any recorded value from what the keyframes give, rad; none when
        /// the robot stored its own recording.
        error_rad: Option<f32>,
        /// How many keyframes were sent.
        keyframes: usize,
        /// From how many recorded frames.
        frames: usize,
        /// How long the action takes.
        duration_ms: u32,
        /// What is to be known about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// The keyframes themselves.
        #[serde(skip)]
        sent: Vec<Keyframe>,
    },
    /// The robot plays. This is its acknowledgement; the end is an event.
    Play {
        /// The action's number; none when the robot does not have it.
        id: Option<u32>,
        /// Its name, when it is known.
        name: Option<String>,
        /// How it is played when the robot does not have it.
        #[serde(flatten)]
        performed: Option<Performed>,
        /// Whose limits and easing count.
        note: String,
    },
    /// Playback ended.
    Stop {
        /// What the transport can promise.
        note: String,
    },
    /// The action has another name.
    Rename {
        /// The old one.
        name: String,
        /// The new one.
        new_name: String,
    },
    /// The action is gone.
    Delete {
        /// Which it was.
        name: String,
    },
}

/// How a motion is played that the robot does not have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Performed {
    /// In how many pieces, the way in included.
    pub pieces: usize,
    /// How long they take.
    pub duration_ms: u32,
    /// Largest distance of any joint from where the motion has it, rad.
    pub error_rad: f32,
    /// Joints that go only as far as their limits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limited: Vec<&'static str>,
}

/// A stored action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Action {
    /// The number to play it by.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub kind: ActionKind,
    /// How long it takes; none when the robot does not say.
    pub duration_ms: Option<u32>,
}

/// Where an action comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// The robot was taught it.
    Taught,
    /// The robot came with it.
    Preset,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}
