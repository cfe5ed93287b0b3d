//! The simulated G1 and the datagram link, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clients;
mod discovery;
mod disk;
mod hostile;
mod limits;
mod lossy;
mod plan;
mod play;
mod store;
mod support;
mod teaching;
mod time;
mod unitree;
mod vectors;
