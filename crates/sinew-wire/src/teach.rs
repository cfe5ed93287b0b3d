//! The Unitree G1's teaching datagrams (UDP 49504), in the two layouts their documents hold.
//!
//! ```text
//! documented   17 FE FD 00 | 01 00 | seq u16 | 00 00 | 00 01 | cmd | len u16 | payload | crc u32
//! compact      17 FE FD 00 | 01 00 | seq u16 |         00 01 | cmd | len u16 | payload | crc u32
//! ```
//!
//! Everything is big endian. The check is CRC-32 (IEEE) of all that precedes
//! it. `len` counts the payload in the documented layout, payload and check in
//! the compact one, whose payloads are four bytes shorter.
//!
//! No captured packet carries this format: what the documents analysed are
//! [DTLS records](crate::dtls). It is here for peers that speak it.

mod actions;
mod command;
mod datagram;
mod joint;
mod keyframe;
mod message;
mod name;
mod payload;
mod sequence;

pub use actions::{Action, Actions};
pub use command::Command;
pub use datagram::{Datagram, Layout, MAGIC, PORT};
pub use joint::{G1_ARM_JOINTS, Joint};
pub use keyframe::{KEYFRAME_SLOTS, Keyframe, Keyframes};
pub use message::{MAX_ACTIONS, Message, Sender};
pub use name::{NAME_FIELD, Name};
pub use payload::{
    Interpolation, JOINTS, MODE_IDLE, MODE_PLAYING, MODE_RECORDING, MODE_TEACHING, Play, Save,
    State, Status,
};
pub use sequence::Sequence;
