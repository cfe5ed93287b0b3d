//! Host and simulated robot joined by a link, in virtual time: what the host promises holds in
//! every run, whatever happens to the bytes, the port, the robot and the client.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod boot;
mod chaos;
mod client;
mod dock;
mod drive;
mod examples;
mod harness;
mod home;
mod line;
mod model;
mod rules;
mod seeds;
mod wire;
