use std::time::Instant;

use serde::Serialize;
use sinew_wire::gd32::{FrameBuf, STATUS_LEN, Status};

use super::{DockPhase, LinkState, Pose};
use crate::drive::HoldEnd;

/// What a session wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Write these bytes to the port.
    Transmit(FrameBuf),
    /// To be told to the listeners.
    Event(Event),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The link changed.
    Link {
        /// What it is now.
        link: LinkState,
        /// Milliseconds since the last good frame; none before the first.
        silent_ms: Option<u64>,
    },
    /// A boot step began.
    BootStep {
        /// Its number, 1 to 19.
        step: u8,
        /// What it is for.
        what: &'static str,
    },
    /// The controller accepts commands.
    BootDone,
    /// The controller did not answer; it is tried again.
    BootFailed {
        /// The step that was not answered.
        step: u8,
        /// What was not answered, and what to do.
        reason: String,
    },
    /// A status packet. Serialized without its content: see [`sensors`](super::sensors).
    Status {
        /// The known fields.
        #[serde(skip)]
        status: Status,
        /// All bytes, known and unknown.
        #[serde(skip)]
        raw: [u8; STATUS_LEN],
        /// When it came.
        #[serde(skip)]
        at: Instant,
        /// Where the robot is by it.
        #[serde(skip)]
        pose: Pose,
    },
    /// The controller's version.
    Version {
        /// Its text.
        text: String,
        /// Its number, when the answer is long enough to have one.
        code: Option<i32>,
    },
    /// The wheels were stopped and stay so until `drive` Enable.
    Stopped {
        /// The client or the rule that did it.
        by: String,
    },
    /// `drive` Enable: the wheels may turn again.
    Enabled {
        /// The client that did it.
        by: String,
    },
    /// A bumper or a cliff stopped forward motion.
    Reflex {
        /// The flags that are set, by their names in `gd32_status`.
        what: Vec<&'static str>,
    },
    /// No fresh velocity came, so the wheels were stopped.
    DeadmanExpired,
    /// A velocity counts although its client does not repeat it.
    Held {
        /// The client.
        by: String,
        /// For how long, at most.
        hold_ms: u64,
    },
    /// A velocity that was held ended, and the wheels were stopped. They may turn again at once.
    HoldEnded {
        /// Why.
        reason: HoldEnd,
    },
    /// A client's speeds are over the limits: all that it sends in a row are scaled to them.
    Scaled {
        /// The client.
        by: String,
        /// By how much the first was.
        factor: f32,
    },
    /// A return to the dock went on or ended.
    Dock {
        /// How.
        #[serde(flatten)]
        dock: DockEvent,
    },
    /// The IMU's calibration state.
    ImuState {
        /// As sent; 1 in every capture.
        value: u8,
    },
    /// The compass's calibration state. No capture shows the answer, so it is given as it came.
    CompassState {
        /// The answer's payload.
        payload: Vec<u8>,
    },
    /// The lidar's state.
    LidarState {
        /// As sent.
        bytes: [u8; 8],
    },
    /// The controller answered 0x0C.
    Synced,
    /// A frame that no document describes, or one too short for its command.
    Unknown {
        /// The command byte.
        command: u8,
        /// Its payload.
        payload: Vec<u8>,
    },
}

/// How a return to the dock goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "dock", rename_all = "snake_case")]
pub enum DockEvent {
    /// A phase began.
    Phase {
        /// Which.
        phase: DockPhase,
    },
    /// The robot charges.
    Arrived,
    /// It ended elsewhere.
    GaveUp {
        /// Why.
        reason: String,
    },
}
