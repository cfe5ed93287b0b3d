//! The simulated robot, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod body;
mod dock;
mod motion;
mod protocol;
mod support;
mod time;
mod world;
