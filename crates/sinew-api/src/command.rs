use std::fmt;

use serde_json::{Value, json};
use sinew_robot::{drive, teach::Request};

use crate::teach;

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
    /// Make a map. No robot can do that yet.
    Mapping {
        /// What to do.
        op: Option<Value>,
    },
    /// Be told what happens.
    Subscribe {
        /// Of what; of nothing any more, if none.
        topics: Vec<Topic>,
        /// How often at most, a second.
        max_hz: Option<f64>,
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
    /// Clouds of points.
    Cloud,
}

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
            Command::Mapping { op } => given(bare("Mapping"), &[("op", op.clone())]),
            Command::Subscribe { topics, max_hz } => {
                let topics: Vec<_> = topics.iter().map(Topic::to_string).collect();
                let message = json!({ "type": "Subscribe", "topics": topics });
                given(message, &[("max_hz", max_hz.map(Value::from))])
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
            "cloud" => Some(Topic::Cloud),
            _ => text.strip_prefix(SENSORS).map(|group| Topic::Sensors(group.into())),
        }
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Topic::State => f.write_str("state"),
            Topic::Events => f.write_str("events"),
            Topic::Sensors(group) => write!(f, "{SENSORS}{group}"),
            Topic::Cloud => f.write_str("cloud"),
        }
    }
}
