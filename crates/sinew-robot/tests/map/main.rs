//! Maps and their files: what is kept, what is shown, what is refused.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod files;
mod flat;
mod foreign;
mod ground;
mod hostile;
mod mapper;
mod pictures;
mod support;
mod voxels;
