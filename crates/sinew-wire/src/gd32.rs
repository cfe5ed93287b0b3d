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

mod boot;
mod command;
mod deframer;
mod frame;
mod led;
mod message;
mod profile;
mod status;

pub use boot::{BOOT, BootStep, HANDSHAKE, Phase};
pub use command::{Command, Confidence};
pub use deframer::{Counters, Deframer, Piece, What};
pub use frame::{Frame, FrameBuf, MAX_FRAME, MAX_PAYLOAD, MIN_FRAME, SYNC, checksum};
pub use led::{Animation, Colour, LedMode};
pub use message::{
    Body, DockIr, LIDAR_PREPARATION, Message, Mode, Sender, Switch, Velocity, Version, WheelSpeeds,
};
pub use profile::{EncoderOrder, EncoderWidth, Profile};
pub use status::{Flag, STATUS_LEN, Status};
