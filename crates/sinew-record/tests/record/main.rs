//! Files: written, killed, full, rotated, damaged, and read back.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod disk;
mod files;
mod live;
mod support;
mod topics;
