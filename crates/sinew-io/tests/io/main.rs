//! Sessions and simulators over real pseudo-terminals.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod address;
mod faults;
mod g1;
mod library;
mod orders;
mod vacuum;
