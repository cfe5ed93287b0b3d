//! The simulated robot and link, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod body;
mod link;
mod motion;
mod protocol;
mod support;
mod time;
mod world;
