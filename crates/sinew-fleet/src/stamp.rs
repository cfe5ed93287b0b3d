//! What stands beside a command and its reply.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// What a client of the fleet says about a message: the attachment of a query, as JSON. A client that only looks or
/// stops need not say anything.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stamp {
    /// The last part of its liveliness token's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// What it is called, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The daemon that is meant: two of the same name must not both act.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Rises with each message of this client.
    pub seq: u64,
    /// When it was sent, by the client's clock, whose zero is anywhere.
    pub sent_us: u64,
    /// The `daemon_us` of the newest answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub echo_us: Option<u64>,
    /// How long before `sent_us` that answer came.
    pub held_us: u64,
    /// How long before `sent_us` it was wished for, where it had to wait.
    pub since_us: u64,
    /// The client sends something at least every second for as long as it is there: silent for longer than two, it
    /// has gone, whatever its token says.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub beats: bool,
    /// A secret, where the daemon asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// What a daemon says beside a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The daemon's life: new with each start.
    pub instance: String,
    /// Its clock when it answered.
    pub daemon_us: u64,
    /// False if the client has to come back under another name.
    #[serde(default = "yes")]
    pub known: bool,
    /// Whether the daemon can tell how old this client's messages are.
    #[serde(default)]
    pub in_step: bool,
}

/// What a daemon says beside a robot's state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// The daemon's life.
    pub instance: String,
    /// The robot's topics of frames.
    pub frames: Vec<String>,
}

fn yes() -> bool {
    true
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The secret stays one.
        let Stamp { client, seq, sent_us, .. } = self;
        write!(f, "Stamp({client:?}, {seq}, {sent_us} us)")
    }
}

/// Microseconds of a time.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
