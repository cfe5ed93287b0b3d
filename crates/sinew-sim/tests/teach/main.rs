//! Teaching session and simulated robot joined by datagram links, in virtual time: what both
//! promise holds in every run, whatever happens to the datagrams, the robot and the host.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chaos;
mod client;
mod disk;
mod harness;
mod hostile;
mod late;
mod perform;
mod plan;
mod rules;
mod seeds;
mod store;
mod taking;
mod wrap;
