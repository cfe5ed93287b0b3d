//! The G1's arm service: preset actions, and actions that it was taught (service `arm`).
//!
//! | id | what | parameter |
//! | --- | --- | --- |
//! | 7106 | preset by number | `{"data":ID}` |
//! | 7107 | list | empty |
//! | 7108 | play a taught one | `{"action_name":NAME}` |
//! | 7109 | rename | `{"pre_name":OLD,"new_name":NEW}` |
//! | 7110 | record: start, keep alive, stop | `{"action_name":NAME}`, `{"action_name":""}`, empty |
//! | 7111 | pause | `{"pause":…}`, of which nothing more is known |
//! | 7112 | delete | `{"action_name":NAME}` |
//! | 7113 | stop playing | empty |
//!
//! From the vendor app's log; 7106 from the vendor's SDK, 7111 from a web client. The app keeps a
//! recording alive once a second; whether it would end otherwise is not known.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::fmt;

use serde_json::{Map, Value, json};

use super::{Message, json as read};
use crate::Result;

/// The service's name.
pub const SERVICE: &str = "arm";
/// Where the state is published, about ten times a second, while it is subscribed to.
pub const STATE_TOPIC: &str = "rt/arm/action/state";
/// The preset that lets the arms return.
pub const RELEASE: i64 = 99;

/// What the service is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub enum ArmRequest {
    /// 7106: a preset.
    Preset(i64),
    /// 7107: the list.
    List,
    /// 7108: a taught action.
    Play(String),
    /// 7109: another name.
    Rename {
        /// The one it has.
        old: String,
        /// The one it gets.
        new: String,
    },
    /// 7110 with a name: begin to record.
    RecordStart(String),
    /// 7110 with an empty name: the recording goes on.
    RecordKeepAlive,
    /// 7110 without a parameter: end the recording, which stores it.
    RecordStop,
    /// 7111, with what stood in `pause`.
    Pause(Value),
    /// 7112: forget a taught action.
    Delete(String),
    /// 7113: stop playing.
    Stop,
    /// Anything else.
    Other {
        /// What is called.
        api_id: i64,
        /// With what.
        parameter: String,
    },
}

/// The answer to 7107. Menus are built from it: tables of presets contradict each other.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionList {
    /// What the robot can do from the factory.
    pub presets: Vec<Preset>,
    /// What it was taught.
    pub taught: Vec<Taught>,
}

/// A preset action.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// By which it is called.
    pub id: i64,
    /// What it is called.
    pub name: String,
    /// The states of the robot in which it can be played, where it says so.
    pub fsm: Vec<i64>,
    /// The builds of the robot that have it, where it says so.
    pub mode_machine: Vec<i64>,
}

/// A taught action.
#[derive(Debug, Clone, PartialEq)]
pub struct Taught {
    /// By which it is called, with care for case.
    pub name: String,
    /// How long it is, in seconds.
    pub seconds: f64,
}

/// What the arms do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmState {
    /// False in all 4140 known samples, also while recording.
    pub holding: bool,
    /// See [`ArmState::phase`].
    pub id: i64,
    /// The action's.
    pub name: String,
}

/// What a state's number says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// 0.
    Idle,
    /// -1.
    Recording,
    /// 100: a taught action.
    Playing,
    /// 99: the arms return, about four seconds.
    Returning,
    /// The number of a preset. Inferred: none was played in the known logs.
    Preset(i64),
}

impl ArmRequest {
    /// What is called.
    pub const fn api_id(&self) -> i64 {
        match self {
            ArmRequest::Preset(_) => 7106,
            ArmRequest::List => 7107,
            ArmRequest::Play(_) => 7108,
            ArmRequest::Rename { .. } => 7109,
            ArmRequest::RecordStart(_) | ArmRequest::RecordKeepAlive | ArmRequest::RecordStop => {
                7110
            }
            ArmRequest::Pause(_) => 7111,
            ArmRequest::Delete(_) => 7112,
            ArmRequest::Stop => 7113,
            ArmRequest::Other { api_id, .. } => *api_id,
        }
    }

    /// With what.
    pub fn parameter(&self) -> String {
        let parameter = match self {
            ArmRequest::Preset(id) => json!({ "data": id }),
            ArmRequest::Play(name) | ArmRequest::RecordStart(name) | ArmRequest::Delete(name) => {
                json!({ "action_name": name })
            }
            // Written by hand for the app's order.
            ArmRequest::Rename { old, new } => {
                let [old, new] = [old, new].map(|name| Value::from(name.as_str()));
                return format!(r#"{{"pre_name":{old},"new_name":{new}}}"#);
            }
            ArmRequest::RecordKeepAlive => json!({ "action_name": "" }),
            ArmRequest::Pause(pause) => json!({ "pause": pause }),
            ArmRequest::List | ArmRequest::RecordStop | ArmRequest::Stop => return String::new(),
            ArmRequest::Other { parameter, .. } => return parameter.clone(),
        };
        format!("{parameter}")
    }

    /// Reads a call. Members that have no known meaning are left out; a call that the service has
    /// but that is not laid out as it should be is an error.
    pub fn parse(api_id: i64, parameter: &str) -> Result<Self> {
        let members = || -> Result<Map<String, Value>> {
            let value = read::parse("parameter", parameter.as_bytes())?;
            read::object("parameter", Some(&value)).cloned()
        };
        let text = |field: &'static str| -> Result<String> {
            Ok(read::text(field, members()?.get(field))?.to_owned())
        };
        Ok(match api_id {
            7106 => ArmRequest::Preset(read::whole("data", members()?.get("data"))?),
            7107 => ArmRequest::List,
            7108 => ArmRequest::Play(text("action_name")?),
            7109 => ArmRequest::Rename { old: text("pre_name")?, new: text("new_name")? },
            7110 if parameter.is_empty() => ArmRequest::RecordStop,
            7110 => match text("action_name")? {
                name if name.is_empty() => ArmRequest::RecordKeepAlive,
                name => ArmRequest::RecordStart(name),
            },
            7111 => ArmRequest::Pause(members()?.remove("pause").unwrap_or_default()),
            7112 => ArmRequest::Delete(text("action_name")?),
            7113 => ArmRequest::Stop,
            api_id => ArmRequest::Other { api_id, parameter: parameter.to_owned() },
        })
    }
}

impl ActionList {
    /// Reads the `data` of an answer: `[presets, taught]`, in a string as a rule.
    pub fn parse(data: &Value) -> Result<Self> {
        let value = read::embedded("data", data)?;
        let lists = read::list("data", Some(&value))?;
        let presets = read::list("presets", lists.first())?.iter().map(Preset::parse);
        let taught = read::list("taught", lists.get(1))?.iter().map(Taught::parse);
        Ok(ActionList {
            presets: presets.collect::<Result<_>>()?,
            taught: taught.collect::<Result<_>>()?,
        })
    }

    /// The text that the answer's `data` holds.
    pub fn emit(&self) -> String {
        let presets: Value = self.presets.iter().map(Preset::json).collect();
        let taught: Value = self
            .taught
            .iter()
            .map(|taught| json!({ "name": taught.name, "time": taught.seconds }))
            .collect();
        format!("[{presets},{taught}]")
    }
}

impl Preset {
    fn parse(value: &Value) -> Result<Self> {
        let numbers = |field: &'static str| match value.get(field) {
            None => Ok(Vec::new()),
            list => read::list(field, list)?.iter().map(|n| read::whole(field, Some(n))).collect(),
        };
        Ok(Preset {
            id: read::whole("id", value.get("id"))?,
            name: read::text("name", value.get("name"))?.to_owned(),
            fsm: numbers("fsm")?,
            mode_machine: numbers("mode_machine")?,
        })
    }

    fn json(&self) -> Value {
        let mut value = json!({ "id": self.id, "name": self.name });
        for (field, numbers) in [("fsm", &self.fsm), ("mode_machine", &self.mode_machine)] {
            if !numbers.is_empty() {
                value[field] = json!(numbers);
            }
        }
        value
    }
}

impl Taught {
    fn parse(value: &Value) -> Result<Self> {
        let name = read::text("name", value.get("name"))?.to_owned();
        Ok(Taught { name, seconds: read::number("time", value.get("time"))? })
    }
}

impl ArmState {
    /// Reads a message of [`STATE_TOPIC`].
    pub fn parse(message: &Message) -> Result<Self> {
        let value = read::embedded("data", message.data.as_ref().unwrap_or(&Value::Null))?;
        let members = read::object("data", Some(&value))?;
        Ok(ArmState {
            holding: read::flag("holding", members.get("holding"))?,
            id: read::whole("id", members.get("id"))?,
            name: read::text_or_empty("name", members.get("name"))?.to_owned(),
        })
    }

    /// The text that the message's `data` holds.
    pub fn emit(&self) -> String {
        let ArmState { holding, id, name } = self;
        format!("{}", json!({ "holding": holding, "id": id, "name": name }))
    }

    /// What the number says.
    pub const fn phase(&self) -> Phase {
        match self.id {
            0 => Phase::Idle,
            -1 => Phase::Recording,
            100 => Phase::Playing,
            RELEASE => Phase::Returning,
            id => Phase::Preset(id),
        }
    }
}

impl fmt::Display for ArmRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArmRequest::Preset(id) => write!(f, "play preset {id}"),
            ArmRequest::List => f.write_str("list"),
            ArmRequest::Play(name) => write!(f, "play {name:?}"),
            ArmRequest::Rename { old, new } => write!(f, "rename {old:?} to {new:?}"),
            ArmRequest::RecordStart(name) => write!(f, "record {name:?}"),
            ArmRequest::RecordKeepAlive => f.write_str("go on recording"),
            ArmRequest::RecordStop => f.write_str("stop recording, and store"),
            ArmRequest::Pause(pause) => write!(f, "pause: {pause}"),
            ArmRequest::Delete(name) => write!(f, "delete {name:?}"),
            ArmRequest::Stop => f.write_str("stop playing"),
            ArmRequest::Other { api_id, .. } => write!(f, "unknown call {api_id}"),
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Phase::Idle => f.write_str("idle"),
            Phase::Recording => f.write_str("recording"),
            Phase::Playing => f.write_str("playing"),
            Phase::Returning => f.write_str("arms return"),
            Phase::Preset(id) => write!(f, "preset {id}"),
        }
    }
}
