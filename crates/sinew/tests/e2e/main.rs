//! Simulator, daemon and clients as processes of their own, joined by pseudo-terminals and
//! sockets. What reaches the robot is read from the daemon's record of the line, or at the line's
//! end where the time counts.
//!
//! `SINEW_E2E_BINARY` names another build to be tested.

#![cfg(all(feature = "daemon", feature = "sim"))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "the bench has uses for the rest")]
#[path = "../../benches/daemon/attackers.rs"]
mod attackers;
#[path = "../../benches/daemon/driver.rs"]
mod driver;
#[allow(dead_code, reason = "the bench has uses for the rest")]
#[path = "../../benches/daemon/line.rs"]
mod line;
#[path = "../../benches/daemon/namespace.rs"]
mod namespace;
#[path = "../../benches/daemon/priority.rs"]
mod priority;
#[cfg(feature = "capture")]
#[path = "../../benches/daemon/through.rs"]
mod through;

mod attack;
mod browser;
mod cable;
mod cli;
mod clients;
mod control;
#[cfg(feature = "g1")]
mod disk;
mod doctor;
mod drishti;
mod examples;
#[cfg(feature = "g1")]
mod faults;
#[cfg(all(feature = "fleet", feature = "maps"))]
mod fleet;
mod foreign;
#[cfg(feature = "webrtc")]
mod g1;
#[path = "../snapshots/golden.rs"]
mod golden;
#[cfg(feature = "maps")]
mod ground;
mod http;
#[cfg(all(feature = "capture", feature = "webrtc"))]
mod inspect;
#[cfg(feature = "g1")]
mod library;
mod lidar;
#[cfg(feature = "g1")]
mod map;
mod messages;
#[cfg(feature = "mqtt")]
mod mqtt;
mod net;
#[cfg(all(feature = "g1", feature = "tools"))]
mod pages;
mod pause;
#[cfg(all(feature = "capture", feature = "maps", feature = "mcap", feature = "webrtc"))]
mod record;
#[cfg(feature = "webrtc")]
mod recording;
mod refusals;
#[cfg(feature = "capture")]
mod replay;
mod safety;
mod sangam;
mod screens;
mod service;
mod stops;
mod strangers;
mod support;
#[cfg(feature = "capture")]
mod tap;
#[cfg(feature = "g1")]
mod teach;
mod terminal;
mod tokens;
mod track;
#[cfg(feature = "webrtc")]
mod unitree;
mod unread;
mod vanish;
#[cfg(feature = "webrtc")]
mod webrtc;
#[cfg(feature = "g1")]
mod widths;
