//! The crate held against the vectors, against slow reference implementations and against rubbish.

#![cfg(feature = "alloc")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod contract;
mod delta2d;
mod discovery;
mod dtls;
mod gd32;
mod slam;
mod support;
mod teach;
mod unitree;
mod voxel;
