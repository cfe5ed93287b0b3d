//! What a daemon tells, as topics of Foxglove's schemas: in MCAP files, and live.
//!
//! ```text
//! daemon --messages, frames--> Feed --> Converter --Topics--> Recorder (MCAP files)
//!                                                        '--> Live (Foxglove)
//! ```
//!
//! The [`Feed`](feed::Feed) is a client of the daemon that only listens; the [`Converter`] makes of each
//! message what tools can show; a [`Recorder`](recorder::Recorder) writes it, and [`Reader`](read::Reader)
//! reads such files, whole or not. No input makes anything here panic, and nothing is allocated by a length
//! that a file declares.

mod convert;
pub mod feed;
#[cfg(feature = "live")]
pub mod live;
pub mod read;
pub mod recorder;
pub mod stored;
mod topic;
mod write;

pub use convert::Converter;
pub use topic::{Kind, Topical};
pub use write::{Rotation, Segment};
