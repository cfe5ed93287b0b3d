use std::fmt;

use serde_json::{Value, json};
use sinew_robot::{drive, mapping::Request as Mapping, teach::Request};

use crate::{mapping, teach};

/// What clients may ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Switch a component. Each robot reads it by the table of its own components.
    ComponentControl {
        /// Member `id`, a text.
        id: Value,
        /// Member `action`; null if it was not there, for the robot to say what it wants.
        action: Value,
    },
    /// Wake the controller's protocol.
    Sync,
    /// Drive back to the dock.
    Dock,
    /// Run the boot sequence again.
    Boot,
    /// Send any frame.
    Raw {
        /// The command byte.
        command: u8,
        /// Its payload.
        payload: Vec<u8>,
    },
    /// Teach a robot, or have it play.
    Teach(Request),
    /// Make a map, or find the way in one.
    Mapping(Mapping),
    /// Be told what happens.
    Subscribe {
        /// Of what; of nothing any more, if none.
        topics: Vec<Topic>,
        /// How often at most, a second.
        max_hz: Option<f64>,
    },
    /// Say that a frame was taken, so that another may come.
    Ack {
        /// Of which topic.
        topic: Topic,
        /// Its number.
        seq: u64,
    },
    /// What there is to tell about the robots.
    Robots,
    /// Stop something.
    Halt(Halt),
    /// Take the controls from the client that holds them.
    TakeControl {
        /// What the client is called from now on.
        name: Option<String>,
    },
    /// Show a token, or give a name.
    Auth {
        /// The token.
        token: Option<String>,
        /// What the client is called from now on.
        name: Option<String>,
    },
    /// Be answered.
    Ping,
}

/// How a robot is stopped. These come before everything that waits, whichever client sends them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halt {
    /// `Stop`: everything, of one robot or of all.
    Stop {
        /// What there is to say about the message. It is not sent.
        note: Option<String>,
    },
    /// `drive` Reset, document 003's emergency stop: everything.
    Reset,
    /// `drive` Disable: the wheels, and what would move them.
    Disable,
}

/// Something to subscribe to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Topic {
    /// What `Robots` tells, on change.
    State,
    /// What happens.
    Events,
    /// A sensor group.
    Sensors(String),
    /// Frames: one of [`FRAMES`].
    Frames(&'static str),
}

/// The topics of frames, as bytes; the place of one, from 1, is its frames' kind.
pub const FRAMES: [&str; 4] = ["cloud", "map", "messages", RAW];

/// The topic of what passes on a robot's link, both ways.
pub const RAW: &str = "raw";

impl Command {
    /// The message, to which `robot`, `req` and `confirm` may be added. [`Request::parse`] gives
    /// the command again.
    ///
    /// [`Request::parse`]: crate::Request::parse
    pub fn to_value(&self) -> Value {
        let bare = |name: &str| json!({ "type": name });
        let drive = |verb: &str| control(&drive::ID.into(), &json!({ "type": verb }));
        match self {
            Command::ComponentControl { id, action } => control(id, action),
            Command::Sync => bare("ProtocolSync"),
            Command::Dock => bare("Dock"),
            Command::Boot => bare("Boot"),
            Command::Raw { command, payload } => {
                let payload: String = payload.iter().map(|byte| format!("{byte:02x}")).collect();
                json!({ "type": "Raw", "command": command, "payload": payload })
            }
            Command::Teach(request) => teach::to_value(request),
            Command::Mapping(request) => mapping::to_value(request),
            Command::Subscribe { topics, max_hz } => {
                let topics: Vec<_> = topics.iter().map(Topic::to_string).collect();
                let message = json!({ "type": "Subscribe", "topics": topics });
                given(message, &[("max_hz", max_hz.map(Value::from))])
            }
            Command::Ack { topic, seq } => {
                json!({ "type": "Ack", "topic": topic.to_string(), "seq": seq })
            }
            Command::Robots => bare("Robots"),
            Command::Halt(Halt::Stop { .. }) => bare("Stop"),
            Command::Halt(Halt::Reset) => drive("Reset"),
            Command::Halt(Halt::Disable) => drive("Disable"),
            Command::TakeControl { name } => {
                given(bare("TakeControl"), &[("name", name.clone().map(Value::from))])
            }
            Command::Auth { token, name } => given(
                bare("Auth"),
                &[
                    ("token", token.clone().map(Value::from)),
                    ("name", name.clone().map(Value::from)),
                ],
            ),
            Command::Ping => bare("Ping"),
        }
    }
}

impl From<Command> for Value {
    fn from(command: Command) -> Self {
        command.to_value()
    }
}

fn control(id: &Value, action: &Value) -> Value {
    json!({ "type": "ComponentControl", "id": id, "action": action })
}

/// A message with those of the members that are there.
pub(crate) fn given(mut message: Value, members: &[(&str, Option<Value>)]) -> Value {
    for (name, value) in members {
        if let Some(value) = value {
            message[*name] = value.clone();
        }
    }
    message
}

const SENSORS: &str = "sensors/";

impl Topic {
    /// The topic of this name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "state" => Some(Topic::State),
            "events" => Some(Topic::Events),
            _ => Topic::frames(text)
                .or_else(|| text.strip_prefix(SENSORS).map(|group| Topic::Sensors(group.into()))),
        }
    }

    /// The topic of frames of this name.
    pub fn frames(text: &str) -> Option<Self> {
        FRAMES.into_iter().find(|name| *name == text).map(Topic::Frames)
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Topic::State => f.write_str("state"),
            Topic::Events => f.write_str("events"),
            Topic::Sensors(group) => write!(f, "{SENSORS}{group}"),
            Topic::Frames(name) => f.write_str(name),
        }
    }
}
