//! How robots behave: what may be asked of them, what that makes them do, and what keeps it safe.
//!
//! Nothing here does I/O or reads a clock. A session takes bytes, commands and the time, and gives
//! back bytes to send, events, and the time at which it wants to be called again.

#![deny(clippy::disallowed_methods)]

pub mod capability;
pub mod component;
pub mod drive;
pub mod lidar;
pub mod map;
pub mod mapping;
pub mod ops;
mod order;
pub mod playback;
mod refusal;
mod session;
mod tagged;
pub mod teach;
pub mod trajectory;
pub mod unitree;
pub mod vacuum;

use std::time::{Duration, Instant};

pub use order::{Epoch, Order, OrderKind, Origin, Overtaking, Presence};
pub use refusal::{Code, Refusal, Remedy, cut, shown};
pub use session::{NoJob, Output, RequestId, Session};
/// What may stand in names and messages that people see.
pub use sinew_wire::text;

/// `at + by`, or a time that is far off when the clock cannot count that far.
pub fn later(at: Instant, by: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    at.checked_add(by).or_else(|| at.checked_add(YEAR)).unwrap_or(at)
}
