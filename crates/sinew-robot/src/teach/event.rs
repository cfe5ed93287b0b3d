use std::sync::Arc;

use serde::Serialize;

use super::{Answer, LinkState, RequestId, Session};
use crate::{
    Refusal,
    trajectory::{Error, Pose, Recording, Reduced, reduce},
};

/// What a session wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send this datagram.
    Transmit(Vec<u8>),
    /// Tell how a request ended. Each ends exactly once.
    Reply {
        /// What [`Session::request`](super::Session::request) returned.
        id: RequestId,
        /// How.
        outcome: Result<Answer, Refusal>,
    },
    /// Reduce this to [`Session::CARRIES`](super::Session::CARRIES)' keyframes, which takes
    /// a while, and hand the result to [`Session::handle_reduced`](super::Session::handle_reduced).
    Reduce {
        /// The request it is for.
        id: RequestId,
        /// What was recorded.
        recording: Arc<Recording>,
    },
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
        /// Milliseconds since the last good datagram; none before the first.
        silent_ms: Option<u64>,
    },
    /// Teaching began or ended.
    Teaching {
        /// Which.
        on: bool,
        /// The client or the rule that did it.
        by: String,
    },
    /// A recording began or ended.
    Recording {
        /// Which.
        on: bool,
        /// Frames that came here so far.
        frames: usize,
        /// The client or the rule that did it.
        by: String,
    },
    /// The recording is as long as may be kept here; what follows is not.
    RecordingFull {
        /// Frames kept.
        frames: usize,
    },
    /// The robot plays an action.
    Playing {
        /// Its number; none when the robot does not have it.
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
    /// A client stopped the robot; sent, not yet answered.
    Stopped {
        /// The client.
        by: String,
    },
    /// The robot's pose.
    Status {
        /// Joint positions in the order of the slots, rad.
        positions: Pose,
        /// Joint velocities, rad/s.
        velocities: Pose,
        /// The robot's clock.
        time_ms: u32,
        /// What it does.
        mode: u32,
        /// As sent.
        flags: u32,
    },
    /// The robot refused a step of the opening cycle, which goes on all the same.
    StepRefused {
        /// The step's command byte.
        command: u8,
        /// The robot's own number for why.
        status: u32,
    },
    /// What came is no teaching datagram but an encrypted record: this robot speaks WebRTC. Told
    /// once.
    EncryptedPeer,
    /// Closing is over: nothing will be sent any more.
    Closed,
}

/// A recording that is to be reduced to keyframes, which takes a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduction {
    /// The request it is for.
    pub id: RequestId,
    /// What was recorded.
    pub recording: Arc<Recording>,
}

impl Reduction {
    /// Reduces it to as many keyframes as the datagrams carry.
    pub fn run(&self) -> (RequestId, Result<Reduced, Error>) {
        (self.id, reduce(&self.recording, Session::CARRIES.keyframes))
    }
}
