//! The network interface as types, for the daemon and for programs that talk to it.
//!
//! [`COMMANDS`] is the one table of what clients may ask. [`Request::parse`] reads a message by it,
//! [`Message::rules`] says what it takes to ask it, [`Command::to_value`] writes it again, and the
//! tables of `docs/api.md` are made of it.
//!
//! No input makes anything here panic: bytes that are no message become a refusal with its reason.

mod command;
pub mod frame;
mod json;
mod mapping;
mod member;
mod message;
mod request;
pub mod sangam;
#[cfg(feature = "schema")]
pub mod schema;
mod table;
mod teach;

pub use command::{Command, FRAMES, Halt, RAW, Topic};
pub use member::{Member, Type};
pub use message::{
    Authenticated, Change, DaemonMessage, ErrorMessage, Event, Limits, LinkReport, Lost, Pong,
    Ready, ReadyRobot, Reply, RobotReport, Robots, Subscribed, Taken,
};
pub use request::{Dialect, MAX_URGENT, Message, Request, may_be_urgent};
pub use table::{Access, COMMANDS, COMMON, Case, DRIVING, Row, Rules, Terms, When};
