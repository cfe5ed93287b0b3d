use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// The kind, for programs.
    pub code: Code,
    /// What was wanted and what came, for people, whatever they use.
    pub message: String,
    /// What its client could do about it, for programs that know how to say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
    /// The robots that it is about, where a command was for several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub robots: Vec<String>,
}

/// Kinds of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Code {
    /// The message is not JSON.
    InvalidJson,
    /// A member is missing, unknown or out of range.
    InvalidArgument,
    /// The robot or the transport cannot do it.
    Unsupported,
    /// There is no such robot, action or file.
    NotFound,
    /// The robot is not in a state to do it.
    NotReady,
    /// Another client holds the controls, or too much waits already.
    Busy,
    /// It can hurt, and `confirm` was not given.
    NotConfirmed,
    /// The token does not allow it.
    Unauthorized,
    /// The robot cannot be reached.
    LinkLost,
    /// The robot said no.
    Refused,
    /// The robot did not say.
    Unconfirmed,
    /// The message is over the limit.
    TooLarge,
}

/// What helps against a refusal. Front ends have words of their own for each: a member of a
/// message, a flag, a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Remedy {
    /// Taking the controls from the client that holds them.
    TakeControl,
    /// Confirming that it is meant.
    Confirm,
    /// Allowing the wheels to turn again.
    Enable,
    /// Naming the robot.
    NameRobot,
    /// Showing a token.
    ShowToken,
    /// Having it done in the library alone.
    UseLibrary,
    /// Making the arms soft first.
    Enter,
    /// Making the arms stiff first.
    Exit,
}

impl Refusal {
    /// A refusal with its reason.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Refusal { code, message: message.into(), remedy: None, robots: Vec::new() }
    }

    /// The same, with what helps against it.
    pub fn helped_by(self, remedy: Remedy) -> Self {
        Refusal { remedy: Some(remedy), ..self }
    }

    /// The same, with the robots that it is about.
    pub fn about(self, robots: Vec<String>) -> Self {
        Refusal { robots, ..self }
    }

    /// A refusal of something that cannot be meant.
    pub fn invalid(message: impl Into<String>) -> Self {
        Refusal::new(Code::InvalidArgument, message)
    }
}

impl Code {
    /// The code as it stands in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Code::InvalidJson => "invalid_json",
            Code::InvalidArgument => "invalid_argument",
            Code::Unsupported => "unsupported",
            Code::NotFound => "not_found",
            Code::NotReady => "not_ready",
            Code::Busy => "busy",
            Code::NotConfirmed => "not_confirmed",
            Code::Unauthorized => "unauthorized",
            Code::LinkLost => "link_lost",
            Code::Refused => "refused",
            Code::Unconfirmed => "unconfirmed",
            Code::TooLarge => "too_large",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for Refusal {}

/// A value for an error text, cut where it gets long.
pub fn shown(value: &Value) -> String {
    cut(value.to_string(), 60)
}

/// A text of at most so many characters, and a sign where it was cut.
pub fn cut(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
    text
}
