//! Serial frames between a computer and the GD32 motor controller of CRL-200S vacuums.
//!
//! ```text
//!  0    1    2     3     4 …            n-2  n-1
//! +----+----+-----+-----+--- - - - ---+----+----+
//! | FA | FB | LEN | CMD | payload     | check   |
//! +----+----+-----+-----+--- - - - ---+----+----+
//!             LEN = 1 + payload + 2      u16 BE
//! ```
//!
//! LEN is 3 to 255, so a payload has at most 252 bytes. Payload numbers are
//! little endian. [`Frame`] reads one frame, [`FrameBuf`] writes one,
//! [`Deframer`] finds them in a stream, [`Message`] types their payloads.
//! What is known of each command is a row of one table, [`MESSAGES`].

mod boot;
mod command;
mod deframer;
#[macro_use]
mod expand;
mod field;
mod frame;
mod led;
mod message;
mod payload;
mod profile;
mod status;
mod table;

pub use crate::stream::Counters;
pub use boot::{BOOT, BootStep, HANDSHAKE, Phase};
pub use command::Confidence;
pub use deframer::{Deframer, Gd32, Piece, What};
pub use field::{Choice, Field, Meaning};
pub use frame::{Frame, FrameBuf, MAX_FRAME, MAX_PAYLOAD, MIN_FRAME, SYNC, checksum};
pub use led::{Animation, Colour, LedMode};
pub use message::{Entry, LIDAR_PREPARATION, Message, Sender};
pub use payload::{DockIr, Mode, Switch, Velocity, Version, WheelSpeeds};
pub use profile::{EncoderOrder, EncoderWidth, Profile};
pub use status::{Flag, STATUS_LEN, Status};
pub use table::{Body, Command, MESSAGES};
