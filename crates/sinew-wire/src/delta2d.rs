//! Serial frames of the 3irobotix Delta-2D, the lidar on CRL-200S vacuums.
//!
//! ```text
//!  0    1   2    3    4    5     6  7    8 …          n+8  n+9
//! +----+------+----+----+-----+------+-- - - - --+------+-----+
//! | AA | LEN  | 01 | 61 | CMD | n    | n bytes   | check      |
//! +----+------+----+----+-----+------+-- - - - --+------+-----+
//!        8 + n  ver. type       u16                u16
//!
//! CMD AD, a measurement:
//!
//!  0       1  2     3  4     5 …
//! +-------+-------+--------+-- - - - - - - - - - - - --+
//! | speed | zero  | start  | (quality, distance) x s   |
//! +-------+-------+--------+-- - - - - - - - - - - - --+
//!   u8      i16     u16      u8, u16; s = (n - 5) / 3
//!
//! CMD AE, no measurement since the motor is not at its speed: speed (u8)
//! ```
//!
//! All numbers are big endian: speed x 0.05 turns a second, angles x 0.01 degree, distance x 0.25 mm.
//! The check is the sum of all bytes before it. Readers of the Delta-2A and 2G verify it on real
//! units, those of the 2D do not, so a line proves it first ([`Delta2d`]).
//!
//! [`Frame`] reads one frame, [`FrameBuf`] writes one, [`Deframer`] finds them in a stream,
//! [`Message`] types their payloads, and [`Turns`] joins measurements to turns.

mod frame;
mod framing;
mod message;
#[cfg(feature = "alloc")]
mod turn;

pub use frame::{Frame, FrameBuf, HEADER, MAX_FRAME, MAX_PAYLOAD, SYNC, TYPE, VERSION, checksum};
pub use framing::{Check, Deframer, Delta2d, PROOF, Piece, What};
pub use message::{
    Body, Command, DEGREE, MAX_SAMPLES, METRE, Measurement, Message, Sample, TURNS_PER_SECOND,
};
#[cfg(feature = "alloc")]
pub use turn::{MAX_TURN, Point, Source, Sources, Spacing, Turn, Turns};

pub use crate::stream::Counters;
