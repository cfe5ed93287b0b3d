//! The first thing on a new channel.
//!
//! ```text
//! robot    {"type":"validation","topic":"","data":"<challenge>"}
//! client   {"type":"validation","topic":"","data":"<base64 of MD5 of UnitreeGo2_<challenge>>"}
//! robot    {"type":"validation","topic":"","data":"Validation Ok."}
//! ```
//!
//! A robot that says `{"type":"err","info":"Validation Needed."}` wants the answer once more.

use alloc::string::String;
use core::fmt;

use serde_json::Value;

use super::{Ciphers, Kind, Message, base64};

/// What the robot says when the answer was right.
pub const VALIDATED: &str = "Validation Ok.";
/// What the robot says to anything else before that.
pub const VALIDATION_NEEDED: &str = "Validation Needed.";

/// G1 and R1 use it, too.
const PREFIX: &[u8] = b"UnitreeGo2_";

/// What a robot says about validation.
#[derive(Clone, PartialEq, Eq)]
pub enum Challenge {
    /// To be answered.
    Answer(String),
    /// The answer was right.
    Validated,
    /// The answer is to be repeated.
    Again,
}

impl Challenge {
    /// Reads a robot's message; none when it is about something else.
    pub fn parse(message: &Message) -> Option<Self> {
        let text = |value: &Option<Value>| value.as_ref()?.as_str().map(String::from);
        match message.kind {
            Kind::Validation => Some(match text(&message.data)? {
                data if data == VALIDATED => Challenge::Validated,
                challenge => Challenge::Answer(challenge),
            }),
            Kind::Err if text(&message.info)? == VALIDATION_NEEDED => Some(Challenge::Again),
            _ => None,
        }
    }
}

/// The answer to a challenge.
pub fn validation_answer(challenge: &str, ciphers: &impl Ciphers) -> Message {
    validation_answer_with(challenge, |message| ciphers.md5(message))
}

/// The same, of a robot that has no use for the other ciphers.
pub fn validation_answer_with(challenge: &str, md5: impl Fn(&[u8]) -> [u8; 16]) -> Message {
    let digest = md5(&[PREFIX, challenge.as_bytes()].concat());
    Message::with_data(Kind::Validation, "", base64::encode(&digest))
}

impl fmt::Debug for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Challenge::Answer(_) => "Answer(hidden)",
            Challenge::Validated => "Validated",
            Challenge::Again => "Again",
        })
    }
}
