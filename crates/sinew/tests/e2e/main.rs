//! Simulator, daemon and clients as processes of their own, joined by pseudo-terminals and
//! sockets. What reaches the robot is read from the daemon's record of the line.

#![cfg(feature = "vacuum")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cli;
mod clients;
mod control;
mod disk;
mod examples;
mod faults;
mod foreign;
mod http;
mod library;
mod refusals;
mod safety;
mod support;
mod teach;
