//! The Delta-2D lidar of CRL-200S vacuums: the session that listens to it, and where it is mounted.
//!
//! The lidar only sends, on a line of its own; the vacuum's controller switches it on. So a
//! [`Session`] asks for nothing and is asked for nothing: it finds frames, joins them to turns and
//! tells how far they can be trusted.

mod mounting;
pub mod sensors;
mod session;
mod state;

use std::time::Instant;

use serde::Serialize;
use sinew_wire::delta2d::Turn;

pub use mounting::{Mounting, View};
pub use session::Session;
pub use state::{CheckState, Counters, LinkState, State};

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
    /// What is known about the frames' check changed.
    LidarCheck {
        /// What it is now.
        check: CheckState,
    },
    /// A turn is complete. Serialized without its content: see [`sensors`].
    Scan {
        /// The turn.
        #[serde(skip)]
        scan: Box<Scan>,
    },
    /// A frame that no reader describes, or one too short for its command; told once of each command
    /// while the port is open.
    LidarUnknown {
        /// The command byte.
        command: u8,
        /// Its payload.
        payload: Vec<u8>,
    },
}

/// A turn, and when it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// What was measured.
    pub turn: Turn,
    /// When the last frame before its first came: about when it began.
    pub began: Instant,
    /// When its last frame came.
    pub ended: Instant,
}
