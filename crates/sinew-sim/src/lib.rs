//! Robots without hardware: the device side of each protocol.
//!
//! | module | what it stands in for |
//! | --- | --- |
//! | [`vacuum`] | the CRL-200S motor controller, with wheels, sensors and a room around it |
//! | [`g1`] | a Unitree G1 behind datagrams and data channels, with its arms, a hand that moves them, and a building to map |
//!
//! # Contract
//!
//! Nothing here opens a port, reads a clock or starts a thread: bytes and the
//! time come from the caller. Everything random comes from a seed, so the same
//! calls give the same bytes. No input panics, and every buffer is bounded.

#![deny(clippy::disallowed_methods)]

pub mod g1;
pub mod vacuum;

use sinew_robot::later;
