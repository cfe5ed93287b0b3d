//! What clients ask, and how they are answered.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde_json::{Map, Value, json};
use sinew_robot::{
    Code, Refusal, teach,
    text::is_unshowable,
    vacuum::{Command, components},
};

use crate::{Access, Capability, feed::Topic, json as strict};

/// The longest payload of a raw frame.
const MAX_RAW: usize = 252;
/// More topics than there are.
const MAX_TOPICS: usize = 256;
/// The longest message that is looked at before its turn.
pub(crate) const MAX_URGENT: usize = 512;
/// The longest name a client may give itself.
const MAX_NAME: usize = 64;
const TEACH: &str = "Teach";
/// Members that every command may have.
const COMMON: &[&str] = &["type", "robot", "req", "confirm"];

/// The commands and the members of each; those of `Teach` are [`teach::OPS`]'s to check.
const COMMANDS: &[(&str, &[&str])] = &[
    ("ComponentControl", &["id", "action"]),
    ("ProtocolSync", &[]),
    ("Dock", &[]),
    ("Boot", &[]),
    ("Raw", &["command", "payload"]),
    (TEACH, &[]),
    ("Mapping", &["op"]),
    ("Subscribe", &["topics", "max_hz"]),
    ("Robots", &[]),
    ("Stop", &[]),
    ("TakeControl", &["name"]),
    ("Auth", &["token", "name"]),
];

/// A message of a client.
#[derive(Debug)]
pub(crate) struct Request {
    /// To be sent back with the answer.
    pub(crate) req: Option<Value>,
    /// The robot it is for, and what it asks.
    pub(crate) asked: Result<(Option<String>, Asked), Refusal>,
}

/// How a robot is stopped. These come before everything that waits, whichever client sends them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Halt {
    /// `Stop`: everything, of one robot or of all; with what there is to say about the message.
    Stop { note: Option<String> },
    /// `drive` Reset, document 003's emergency stop: everything.
    Reset,
    /// `drive` Disable: the wheels, and what would move them.
    Disable,
}

#[derive(Debug)]
pub(crate) enum Asked {
    /// Something that reaches a robot.
    Robot(Command, Capability),
    /// Something for a robot that can be taught.
    Teach(teach::Verb),
    /// Something that no robot here can do yet.
    Incapable(Capability),
    Subscribe {
        topics: Vec<Topic>,
        max_hz: Option<f64>,
    },
    Robots,
    Halt(Halt),
    TakeControl {
        name: Option<String>,
    },
    Auth {
        token: Option<String>,
        name: Option<String>,
    },
}

impl Asked {
    /// What it takes to ask it.
    pub(crate) fn access(&self) -> Access {
        match self {
            Asked::Auth { .. } => Access::Nothing,
            Asked::Subscribe { .. } | Asked::Robots | Asked::Halt(_) => Access::Read,
            Asked::Teach(verb) if verb.is_query() || *verb == teach::Verb::Stop => Access::Read,
            Asked::Robot(..)
            | Asked::Teach(_)
            | Asked::Incapable(_)
            | Asked::TakeControl { .. } => Access::Control,
        }
    }
}

impl Request {
    pub(crate) fn parse(text: &[u8]) -> Self {
        match strict::parse(text) {
            Ok(value) => Self::from_value(value),
            Err(error) => Self::refused(Code::InvalidJson, format!("not JSON: {error}")),
        }
    }

    /// Reads a message that stops something, or shows a token.
    pub(crate) fn parse_urgent(text: &[u8], legacy: bool) -> Option<Self> {
        let request = if legacy { Self::parse_legacy(text) } else { Self::parse(text) };
        let is_urgent = match &request.asked {
            Ok((_, Asked::Halt(_) | Asked::Teach(teach::Verb::Stop) | Asked::Auth { .. })) => true,
            Ok(_) | Err(_) => false,
        };
        is_urgent.then_some(request)
    }

    /// Whether it was JSON at all.
    pub(crate) fn is_json(&self) -> bool {
        !matches!(&self.asked, Err(refusal) if refusal.code == Code::InvalidJson)
    }

    /// A message of a length-prefixed client: bare, or in the envelope of document 003's time.
    pub(crate) fn parse_legacy(text: &[u8]) -> Self {
        let mut value: Value = match strict::parse(text) {
            Ok(value) => value,
            Err(error) => return Self::refused(Code::InvalidJson, format!("not JSON: {error}")),
        };
        if value.get("topic").is_none() {
            return Self::from_value(value);
        }
        let is_command = value.get("topic").is_some_and(|topic| topic == "command")
            && value.pointer("/payload/type").is_some_and(|kind| kind == "Command");
        match value.pointer_mut("/payload/command").map(Value::take) {
            Some(command) if is_command => Self::from_value(command),
            _ => Self::refused(
                Code::InvalidArgument,
                "wanted topic \"command\" and payload {\"type\":\"Command\",\"command\":…}",
            ),
        }
    }

    fn refused(code: Code, message: impl Into<String>) -> Self {
        Request { req: None, asked: Err(Refusal::new(code, message)) }
    }

    pub(crate) fn from_value(value: Value) -> Self {
        let Value::Object(mut members) = value else {
            return Self::refused(Code::InvalidArgument, "wanted an object with a member \"type\"");
        };
        let req = members.remove("req");
        Request { req, asked: parse(&members) }
    }
}

/// Whether a message may be one that stops something, or a token: looking costs next to nothing.
pub(crate) fn may_be_urgent(text: &[u8]) -> bool {
    static WORDS: LazyLock<[Finder<'static>; 5]> = LazyLock::new(|| {
        ["\"Stop\"", "\"stop\"", "\"Reset\"", "\"Disable\"", "\"Auth\""].map(Finder::new)
    });
    text.len() <= MAX_URGENT && WORDS.iter().any(|word| word.find(text).is_some())
}

fn parse(members: &Map<String, Value>) -> Result<(Option<String>, Asked), Refusal> {
    let names = || COMMANDS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let Some(kind) = members.get("type") else {
        return Err(invalid(format!("type: wanted one of {}, got nothing", names())));
    };
    if kind == "Shutdown" {
        let message = "a client cannot end Sinew; end its process";
        return Err(Refusal::new(Code::Unsupported, message));
    }
    let Some((kind, known)) = COMMANDS.iter().find(|(name, _)| kind == name) else {
        return Err(invalid(format!("type: wanted one of {}, got {}", names(), shown(kind))));
    };
    let is_known = |key: &str| COMMON.contains(&key) || known.contains(&key);
    let unknown = members.keys().find(|key| !is_known(key)).filter(|_| *kind != TEACH);
    let surplus = unknown.map(|unknown| {
        let wanted = [COMMON, known].concat().join(", ");
        format!("{kind}: wanted {wanted}, got {}", shown(&json!(unknown)))
    });
    let robot = text(members, "robot");
    if *kind == "Stop" {
        // Nothing that stands beside it keeps it from stopping; without a name it is for all.
        let note = robot.as_ref().err().map(|refusal| refusal.message.clone()).or(surplus);
        return Ok((robot.unwrap_or(None), Asked::Halt(Halt::Stop { note })));
    }
    let robot = robot?;
    let confirmed = match members.get("confirm") {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(confirmed)) => Ok(*confirmed),
        Some(other) => Err(format!("confirm: wanted true or false, got {}", shown(other))),
    };
    match (asked(kind, members, confirmed == Ok(true)), surplus) {
        (Ok(halt @ Asked::Halt(_)), _) => Ok((robot, halt)),
        (_, Some(surplus)) => Err(invalid(surplus)),
        (asked, None) => {
            confirmed.map_err(invalid)?;
            Ok((robot, asked?))
        }
    }
}

fn asked(kind: &str, members: &Map<String, Value>, confirmed: bool) -> Result<Asked, Refusal> {
    let simple = |command, capability| Ok(Asked::Robot(command, capability));
    match kind {
        "ComponentControl" => {
            let member = |name| members.get(name).unwrap_or(&Value::Null);
            // Nothing that stands beside it keeps a stop from stopping.
            match member("action").get("type").and_then(Value::as_str) {
                Some("Reset") if member("id") == "drive" => return Ok(Asked::Halt(Halt::Reset)),
                Some("Disable") if member("id") == "drive" => {
                    return Ok(Asked::Halt(Halt::Disable));
                }
                _ => {}
            }
            let command = components::parse(member("id"), member("action"), confirmed)?;
            simple(command, Capability::Components)
        }
        "ProtocolSync" => simple(Command::ProtocolSync, Capability::Components),
        "Boot" => simple(Command::Boot, Capability::Components),
        "Dock" => simple(Command::Dock, Capability::Drive),
        "Raw" => simple(raw(members, confirmed)?, Capability::Components),
        TEACH => Ok(Asked::Teach(teach::parse(members)?)),
        "Mapping" => Ok(Asked::Incapable(Capability::Mapping)),
        "Subscribe" => subscribe(members),
        "Robots" => Ok(Asked::Robots),
        "TakeControl" => Ok(Asked::TakeControl { name: client_name(members)? }),
        _ => {
            let (token, name) = (text(members, "token")?, client_name(members)?);
            if token.is_none() && name.is_none() {
                return Err(invalid("Auth: wanted token or name, got neither"));
            }
            Ok(Asked::Auth { token, name })
        }
    }
}

fn raw(members: &Map<String, Value>, confirmed: bool) -> Result<Command, Refusal> {
    let command = match members.get("command") {
        Some(Value::String(text)) => {
            let digits = text.strip_prefix("0x").unwrap_or(text);
            // A sign would be taken for part of the number.
            let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            u8::from_str_radix(digits, 16).ok().filter(|_| is_number)
        }
        Some(number) => number.as_u64().and_then(|number| number.try_into().ok()),
        None => None,
    };
    let Some(command) = command else {
        let got = members.get("command").map_or("nothing".into(), shown);
        return Err(invalid(format!("Raw command: wanted 0 to 255 or \"0x66\", got {got}")));
    };
    let payload = text(members, "payload")?.unwrap_or_default();
    let Some(payload) = bytes(&payload).filter(|payload| payload.len() <= MAX_RAW) else {
        return Err(invalid(format!(
            "Raw payload: wanted at most {MAX_RAW} bytes in hexadecimal, as \"64 00\", got {}",
            shown(&json!(payload))
        )));
    };
    if !confirmed {
        let message = "a raw frame goes to the robot unchecked; it needs \"confirm\": true";
        return Err(Refusal::new(Code::NotConfirmed, message));
    }
    Ok(Command::Raw { command, payload })
}

/// Bytes in hexadecimal, with white space between them or not.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for word in text.split_whitespace() {
        for pair in word.as_bytes().chunks(2) {
            let &[high, low] = pair else { return None };
            let digit = |digit: u8| char::from(digit).to_digit(16);
            bytes.push((digit(high)? * 16 + digit(low)?) as u8);
        }
    }
    Some(bytes)
}

fn subscribe(members: &Map<String, Value>) -> Result<Asked, Refusal> {
    let wanted = "state, events, sensors/GROUP, cloud";
    let Some(Value::Array(list)) = members.get("topics") else {
        let got = members.get("topics").map_or("nothing".into(), shown);
        return Err(invalid(format!("Subscribe topics: wanted a list of {wanted}, got {got}")));
    };
    if list.len() > MAX_TOPICS {
        let got = list.len();
        return Err(invalid(format!("Subscribe topics: wanted at most {MAX_TOPICS}, got {got}")));
    }
    let mut topics = Vec::new();
    for topic in list {
        let Some(topic) = topic.as_str().and_then(Topic::parse) else {
            let got = shown(topic);
            return Err(invalid(format!("Subscribe topics: wanted {wanted}, got {got}")));
        };
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    let max_hz = match members.get("max_hz") {
        None | Some(Value::Null) => None,
        Some(value) => match value.as_f64().filter(|hz| *hz > 0.0) {
            Some(hz) => Some(hz),
            None => {
                let got = shown(value);
                return Err(invalid(format!("Subscribe max_hz: wanted more than 0, got {got}")));
            }
        },
    };
    Ok(Asked::Subscribe { topics, max_hz })
}

/// Names stand in messages to others, so they are short and have nothing that moves a cursor or
/// turns the writing round.
fn client_name(members: &Map<String, Value>) -> Result<Option<String>, Refusal> {
    let Some(name) = text(members, "name")? else { return Ok(None) };
    let length = name.chars().count();
    if length == 0 || length > MAX_NAME || name.chars().any(is_unshowable) {
        return Err(invalid(format!("name: wanted 1 to {MAX_NAME} printable characters")));
    }
    Ok(Some(name))
}

fn text(members: &Map<String, Value>, member: &str) -> Result<Option<String>, Refusal> {
    match members.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        // What came may be a secret.
        Some(_) => Err(invalid(format!("{member}: wanted text"))),
    }
}

/// A value for an error text, cut where it gets long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub(crate) fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidArgument, message)
}

/// The answer to a command; none when it was silent success.
pub(crate) fn answer(req: Option<&Value>, result: &Result<Value, Refusal>) -> Option<Value> {
    match (req, result) {
        (Some(_), _) => Some(reply(req, result)),
        (None, Ok(_)) => None,
        (None, Err(refusal)) => Some(json!({ "type": "Error", "error": refusal })),
    }
}

/// An answer that is sent whether `req` was given or not.
pub(crate) fn reply(req: Option<&Value>, result: &Result<Value, Refusal>) -> Value {
    let mut reply = match result {
        Ok(data) => json!({ "type": "Reply", "ok": true, "data": data }),
        Err(refusal) => json!({ "type": "Reply", "ok": false, "error": refusal }),
    };
    if let Some(req) = req {
        reply["req"] = req.clone();
    }
    reply
}
