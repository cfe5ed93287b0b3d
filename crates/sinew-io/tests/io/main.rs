//! Sessions and simulators over real pseudo-terminals.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod address;
#[cfg(feature = "g1")]
mod faults;
#[cfg(feature = "g1")]
mod g1;
#[cfg(feature = "maps")]
mod ground;
mod kind;
#[cfg(feature = "g1")]
mod library;
mod lidar;
#[cfg(feature = "g1")]
mod maps;
mod orders;
mod support;
#[cfg(feature = "g1")]
mod teaching;
#[cfg(target_os = "linux")]
mod unacknowledged;
mod vacuum;
#[cfg(all(feature = "sim", feature = "webrtc"))]
mod volume;
#[cfg(all(feature = "sim", feature = "webrtc"))]
mod webrtc;
