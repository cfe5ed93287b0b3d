//! A text message of the data channel.
//!
//! ```text
//! {"type":"msg", "topic":"rt/…", "data":…}      robots may leave the topic out,
//! {"type":"err", "info":…}                      and use `info` instead of `data`
//! ```

use alloc::{borrow::ToOwned, format, string::String};
use core::fmt;

use serde_json::{Map, Value, json};

use super::{
    VALIDATED, json,
    secret::{HIDDEN, redacted},
};
use crate::Result;

/// A message: the members that all have, and everything else that stood in it.
#[derive(Clone, PartialEq)]
pub struct Message {
    /// What it is.
    pub kind: Kind,
    /// The topic, where the member is there.
    pub topic: Option<String>,
    /// The content.
    pub data: Option<Value>,
    /// The content of `rtc_inner_req` and `err` from a robot.
    pub info: Option<Value>,
    /// Members without a known meaning.
    pub rest: Map<String, Value>,
}

/// The type of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Challenge, answer, and "Validation Ok.".
    Validation,
    /// Asks for a topic.
    Subscribe,
    /// Wants a topic no longer.
    Unsubscribe,
    /// Something published on a topic.
    Msg,
    /// A call of a service.
    Req,
    /// The answer to a call.
    Res,
    /// Switches video.
    Vid,
    /// Switches audio.
    Aud,
    /// A refusal.
    Err,
    /// Shows that the client lives.
    Heartbeat,
    /// A request to, or from, the robot's WebRTC bridge itself.
    RtcInnerReq,
    /// In the library's list, never seen.
    RtcReport,
    /// All faults there are.
    Errors,
    /// A fault that has come.
    AddError,
    /// A fault that is gone.
    RmError,
    /// Anything else, by its word.
    Other(String),
}

/// What tells which request a message belongs to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The number in a call's header.
    Id(i64),
    /// The text that the asking side made up.
    Uuid(String),
    /// Nothing but type and topic.
    KindAndTopic(String, String),
}

const KINDS: [(&str, Kind); 15] = [
    ("validation", Kind::Validation),
    ("subscribe", Kind::Subscribe),
    ("unsubscribe", Kind::Unsubscribe),
    ("msg", Kind::Msg),
    ("req", Kind::Req),
    ("res", Kind::Res),
    ("vid", Kind::Vid),
    ("aud", Kind::Aud),
    ("err", Kind::Err),
    ("heartbeat", Kind::Heartbeat),
    ("rtc_inner_req", Kind::RtcInnerReq),
    ("rtc_report", Kind::RtcReport),
    ("errors", Kind::Errors),
    ("add_error", Kind::AddError),
    ("rm_error", Kind::RmError),
];

impl Message {
    /// A message without content.
    pub fn new(kind: Kind, topic: &str) -> Self {
        let topic = Some(topic.to_owned());
        Message { kind, topic, data: None, info: None, rest: Map::new() }
    }

    /// A message with content.
    pub fn with_data(kind: Kind, topic: &str, data: impl Into<Value>) -> Self {
        Message { data: Some(data.into()), ..Message::new(kind, topic) }
    }

    /// What a client sends every two seconds: its local time, and the same in seconds since 1970.
    pub fn heartbeat(local_time: &str, unix_seconds: i64) -> Self {
        let data = json!({ "timeInStr": local_time, "timeInNum": unix_seconds });
        Message::with_data(Kind::Heartbeat, "", data)
    }

    /// Reads a message.
    pub fn parse(text: &[u8]) -> Result<Self> {
        Self::from_value(json::parse("message", text)?)
    }

    pub(crate) fn from_value(value: Value) -> Result<Self> {
        let Value::Object(mut rest) = value else {
            return Err(json::wrong("message", "a JSON object", Some(&value)));
        };
        let kind = Kind::from(json::text("type", rest.get("type"))?);
        let topic = match rest.get("topic") {
            None => None,
            topic => Some(json::text("topic", topic)?.to_owned()),
        };
        rest.remove("type");
        rest.remove("topic");
        let (data, info) = (rest.remove("data"), rest.remove("info"));
        Ok(Message { kind, topic, data, info, rest })
    }

    /// The text to send, with the members in the order in which the library writes them.
    pub fn emit(&self) -> String {
        let mut text = format!(r#"{{"type":{}"#, Value::from(self.kind.word()));
        let topic = self.topic.as_deref().map(Value::from);
        let known = [("topic", topic.as_ref()), ("data", self.data.as_ref())];
        let known = known.into_iter().chain([("info", self.info.as_ref())]);
        let rest = self.rest.iter().map(|(name, value)| (name.as_str(), Some(value)));
        for (name, value) in known.chain(rest) {
            if let Some(value) = value {
                text += &format!(",{}:{value}", Value::from(name));
            }
        }
        text + "}"
    }

    /// The topic, empty where there is none.
    pub fn topic(&self) -> &str {
        self.topic.as_deref().unwrap_or_default()
    }

    /// By what an answer finds its request. The library takes the first of these that is there,
    /// and does not look at type and topic then.
    pub fn key(&self) -> Key {
        let member = |value: &Option<Value>, name: &str| match value.as_ref()?.get(name)? {
            Value::String(text) => Some(Key::Uuid(text.clone())),
            _ => None,
        };
        let id = || {
            let header = self.data.as_ref()?.get("header")?;
            header.get("identity")?.get("id")?.as_i64().map(Key::Id)
        };
        member(&self.data, "uuid")
            .or_else(id)
            .or_else(|| member(&self.data, "req_uuid"))
            .or_else(|| member(&self.info, "uuid"))
            .or_else(|| member(&self.info, "req_uuid"))
            .unwrap_or_else(|| Key::KindAndTopic(self.kind.word().into(), self.topic().into()))
    }

    /// A copy without anything secret, to be shown.
    pub(crate) fn redacted(&self) -> Self {
        let hide = |value: &Option<Value>| value.as_ref().map(redacted);
        let mut shown = Message {
            data: hide(&self.data),
            info: hide(&self.info),
            rest: match redacted(&Value::Object(self.rest.clone())) {
                Value::Object(rest) => rest,
                _ => Map::new(),
            },
            ..self.clone()
        };
        let says_ok = self.data.as_ref().and_then(Value::as_str) == Some(VALIDATED);
        if self.kind == Kind::Validation && shown.data.is_some() && !says_ok {
            shown.data = Some(HIDDEN.into());
        }
        shown
    }
}

impl Kind {
    /// The word on the wire.
    pub fn word(&self) -> &str {
        if let Kind::Other(word) = self {
            return word;
        }
        KINDS.iter().find(|(_, kind)| kind == self).map_or("", |(word, _)| word)
    }
}

impl From<&str> for Kind {
    fn from(word: &str) -> Self {
        let known = KINDS.into_iter().find(|(known, _)| *known == word);
        known.map_or_else(|| Kind::Other(word.into()), |(_, kind)| kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({})", self.redacted().emit())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Id(id) => write!(f, "{id}"),
            Key::Uuid(uuid) => write!(f, "{uuid:?}"),
            Key::KindAndTopic(kind, topic) => write!(f, "{kind} $ {topic}"),
        }
    }
}
