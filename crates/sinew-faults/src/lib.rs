//! Links that can be made as bad as real ones, for simulators, tests and `--fault`.
//!
//! | type | what it stands in for |
//! | --- | --- |
//! | [`FaultyBytes`] | one direction of a cable: bytes are lost, damaged, repeated, late |
//! | [`FaultyDatagrams`] | one direction of a network: datagrams are, too, and are overtaken |
//!
//! What goes wrong on the way is set by [`Faults`] and [`DatagramFaults`], and by hand: `stall`,
//! `cut`, `restore`.
//!
//! # Contract
//!
//! Nothing here opens a port, reads a clock or starts a thread: bytes and the time come from the
//! caller. Everything random comes from a seed, so the same calls give the same bytes. No input
//! panics, and every buffer is bounded.

mod bytes;
mod datagrams;
mod faults;

use std::time::{Duration, Instant};

pub use bytes::{Counts, FaultyBytes};
pub use datagrams::{DatagramCounts, DatagramFaults, FaultyDatagrams, HELD_BACK, MAX_DATAGRAMS};
pub use faults::{FaultError, Faults};

/// Bytes that may be under way; beyond that new ones are lost.
pub const MAX_IN_FLIGHT: usize = 1 << 20;

/// `at + by`, or a time that is never waited for when the clock cannot count that far.
fn later(at: Instant, by: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    at.checked_add(by).unwrap_or_else(|| at.checked_add(YEAR).unwrap_or(at))
}
