//! A G1 behind its data channel in virtual time, against a small robot scripted here from what is
//! known of real ones, and the signalling that leads to a channel.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arm;
mod bench;
mod chaos;
mod hostile;
mod link;
mod mapping;
mod record;
mod returning;
mod robot;
mod signalling;
mod stop;
