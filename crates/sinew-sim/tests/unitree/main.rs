//! A G1's session and the simulated robot joined by a data channel, in virtual time: what both
//! promise holds in every run, whatever happens to the messages, the channel and the clients.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod examples;
mod harness;
mod seeds;
