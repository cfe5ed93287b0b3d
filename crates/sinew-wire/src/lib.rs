//! Wire formats of robots whose protocols had to be reverse-engineered.
//!
//! | module | what travels |
//! | --- | --- |
//! | [`gd32`] | serial frames of the CRL-200S vacuum's motor controller |
//! | [`delta2d`] | serial frames of the lidar on top of it |
//! | [`teach`] | the Unitree G1's teaching datagrams, in both documented layouts |
//! | [`discovery`] | how a host finds a G1 on its network |
//! | [`dtls`] | the record header that those datagrams are easily mistaken for |
//! | [`slam`] | the G1's SLAM point clouds |
//! | [`voxel`] | the GO2's compressed voxel map, which shares the G1's envelope |
//! | [`unitree`] | the messages of Unitree robots over WebRTC, and the envelopes that open the channel |
//! | [`stream`] | frames found in a stream of bytes, for the serial formats |
//! | [`text`] | which characters of a sender's text may be shown; numbers for people |
//! | [`explain`] | says what a run of bytes is, field by field |
//!
//! # Contract
//!
//! Every function here takes bytes from outside. None panics, loops without
//! consuming input, or allocates by a length that a message declares. What a
//! sender wrote and this crate does not understand is kept: unknown commands,
//! reserved bytes and surplus payload come back out as they went in.
//!
//! # Features
//!
//! Without features the crate is `no_std` and never allocates. `alloc` adds
//! JSON metadata, voxel maps, `unitree`, fresh output buffers and `explain`. `std` (the
//! default) adds the run-time choice of vector instructions.

#![cfg_attr(not(feature = "std"), no_std)]
#![deny(clippy::disallowed_methods)]

#[cfg(feature = "alloc")]
extern crate alloc;

#[macro_use]
mod width;
mod bytes;
pub mod delta2d;
pub mod discovery;
pub mod dtls;
mod error;
#[cfg(feature = "alloc")]
pub mod explain;
pub mod gd32;
pub mod slam;
pub mod stream;
pub mod teach;
pub mod text;
#[cfg(feature = "alloc")]
pub mod unitree;
#[cfg(feature = "alloc")]
pub mod voxel;

pub use error::{Error, Got, Result, Wanted};
pub use width::Vectors;
