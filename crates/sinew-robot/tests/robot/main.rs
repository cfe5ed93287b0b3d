//! The vacuum's behaviour in virtual time, against a small controller scripted here.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bench;
mod boot;
mod component;
mod dock;
mod drive;
mod hold;
mod link;
mod odometry;
mod order;
mod outputs;
mod pace;
mod playback;
mod recorded;
mod safety;
mod sensors;
mod stops;
