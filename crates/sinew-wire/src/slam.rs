//! The G1's SLAM point clouds (topic `rt/unitree/slam_mapping/points`).
//!
//! ```text
//!  [02 00 00 00]   json_len   binary_len   JSON …   points …
//!   on a WebRTC    u32 LE     u32 LE
//!   channel only              0: the rest
//! ```
//!
//! Two readings of the points exist, and [`choose`] decides from the data:
//!
//! | | documented | packed |
//! | --- | --- | --- |
//! | record | 12 bytes: 6 x i16 LE, x y z and three unknown | 6 bytes: 3 x u16 LE |
//! | position | value / 1000 | (xmin, ymin, zmin) + value / 1000 |
//!
//! [`Message`] takes the envelope apart, [`decode`] turns points into metres
//! without allocating; with `alloc`, [`Cloud`] does all of it.

#[cfg(feature = "alloc")]
mod cloud;
mod envelope;
#[cfg(feature = "std")]
mod kernel;
#[cfg(feature = "alloc")]
mod metadata;
mod points;
mod ranges;
mod reading;

#[cfg(feature = "alloc")]
pub use cloud::{Cloud, CloudFrame};
pub use envelope::{Message, TYPE_WORD};
#[cfg(feature = "alloc")]
pub(crate) use metadata::Fields;
#[cfg(feature = "alloc")]
pub use metadata::{Format, Metadata};
pub use points::{decode, decode_with};
pub use ranges::{ChannelRange, channel_ranges};
pub use reading::{BoundingBox, Choice, Reading, Reason, TOLERANCE, choose};
