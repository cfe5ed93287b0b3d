//! The table of commands, and what is read by it.

#![allow(clippy::unwrap_used, reason = "a test ends with what it did not expect")]

mod docs;
mod frame;
mod mapping;
mod messages;
mod parse;
mod round_trip;
mod rules;
mod sangam;
mod schema;
