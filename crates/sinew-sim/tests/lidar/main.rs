//! The lidar's session and a simulated lidar on a simulated vacuum, in virtual time.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod faults;
mod harness;
mod power;
mod room;
