//! Teaching in virtual time, against a small robot scripted here, and the motions it makes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bench;
mod curves;
mod ending;
mod files;
mod hostile;
mod link;
mod perform;
mod plan;
mod record;
mod reduce;
mod requests;
mod spine;
mod taking;
mod verbs;
