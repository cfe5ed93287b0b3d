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

mod datagram;
mod keyframe;
mod message;
mod name;
mod sequence;

pub use datagram::{Datagram, Layout, MAGIC, PORT};
pub use keyframe::{KEYFRAME_SLOTS, Keyframe, Keyframes};
pub use message::{
    Action, Actions, Command, Interpolation, JOINTS, Message, Play, Save, Sender, State, Status,
};
pub use name::{NAME_FIELD, Name};
pub use sequence::Sequence;
