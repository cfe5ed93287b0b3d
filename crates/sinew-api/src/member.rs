//! Members of messages: their types, how they are read, and what is said when they are wrong.

use serde_json::{Map, Value};
use sinew_robot::{Refusal, shown, text::is_unshowable};

use crate::{FRAMES, Topic};

/// The longest payload of a raw frame.
const MAX_RAW: usize = 252;
/// More topics than there are.
const MAX_TOPICS: usize = 256;
/// The longest name a client may give itself.
const MAX_NAME: usize = 64;

/// A member of a message.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Type,
    /// Whether it must be given. Null counts as not given where it need not.
    pub required: bool,
    /// What it is.
    pub what: &'static str,
}

/// What a member holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A text. It is never shown in an error: it may be a secret.
    Text,
    /// A client's name. Names stand in messages to others, so they are short and have nothing
    /// that moves a cursor or turns the writing round.
    Name,
    /// True or false.
    Flag,
    /// A byte, as a number or in hexadecimal.
    Byte,
    /// Bytes in hexadecimal, with white space between them or not.
    Hex,
    /// A list of topics.
    Topics,
    /// A number over 0.
    Rate,
    /// A whole number from this up.
    Whole(u32),
    /// A frame's number.
    Sequence,
    /// A topic of frames.
    Frames,
    /// A place of a map, and which way to face.
    Pose,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A component's name.
    Component,
    /// An action of a component. Each robot checks it by the table of its own components.
    Action,
    /// A motion as the library keeps it.
    Document,
    /// Anything.
    Any,
}

pub(crate) const fn required(name: &'static str, kind: Type, what: &'static str) -> Member {
    Member { name, kind, required: true, what }
}

pub(crate) const fn optional(name: &'static str, kind: Type, what: &'static str) -> Member {
    Member { name, kind, required: false, what }
}

impl Member {
    /// Refuses a value that is not of its type.
    pub(crate) fn check(&self, command: &str, value: Option<&Value>) -> Result<(), Refusal> {
        let value = value.filter(|value| self.required || !value.is_null());
        if value.is_none() && !self.required {
            return Ok(());
        }
        let kind = match self.kind {
            Type::Hex if !value.is_some_and(Value::is_string) => Type::Text,
            kind => kind,
        };
        let Some(Wrong { wanted, got }) = kind.wrong(value) else { return Ok(()) };
        let name = self.name;
        Err(Refusal::invalid(match (kind, got) {
            (_, None) => format!("{name}: wanted {wanted}"),
            (Type::Flag | Type::Component, Some(got)) => {
                format!("{name}: wanted {wanted}, got {got}")
            }
            (_, Some(got)) => format!("{command} {name}: wanted {wanted}, got {got}"),
        }))
    }
}

/// What is said of a wrong value.
struct Wrong {
    wanted: String,
    /// None where it may be a secret.
    got: Option<String>,
}

impl Type {
    /// What is wrong with a value, if it is not of this type.
    fn wrong(self, value: Option<&Value>) -> Option<Wrong> {
        let text = value.and_then(Value::as_str);
        let number = value.and_then(Value::as_f64);
        let whole = value.and_then(Value::as_u64);
        let (fits, wanted) = match self {
            Type::Text => (text.is_some(), "text".into()),
            Type::Name if text.is_none() => (false, "text".into()),
            Type::Name => {
                (text.is_some_and(is_name), format!("1 to {MAX_NAME} printable characters"))
            }
            Type::Flag => (value.is_some_and(Value::is_boolean), "true or false".into()),
            Type::Byte => (value.and_then(byte).is_some(), "0 to 255 or \"0x66\"".into()),
            Type::Hex => (
                text.and_then(bytes).is_some(),
                format!("at most {MAX_RAW} bytes in hexadecimal, as \"64 00\""),
            ),
            Type::Topics => return wrong_topics(value),
            Type::Rate => (number.is_some_and(|rate| rate > 0.0), "more than 0".into()),
            Type::Whole(min) => (
                whole.is_some_and(|whole| whole >= min.into() && whole <= u32::MAX.into()),
                format!("a whole number from {min} to {}", u32::MAX),
            ),
            Type::Sequence => (whole.is_some(), "a whole number from 0".into()),
            Type::Frames => (text.is_some_and(|text| FRAMES.contains(&text)), FRAMES.join(" or ")),
            Type::Word(words) => {
                (text.is_some_and(|text| words.contains(&text)), words.join(" or "))
            }
            Type::Component => (text.is_some(), "a component's name".into()),
            Type::Document | Type::Pose => {
                (value.is_some_and(Value::is_object), "an object".into())
            }
            Type::Action | Type::Any => (true, String::new()),
        };
        let got = match (self, value) {
            (Type::Text | Type::Name, _) => None,
            // As a robot's table of components says it.
            (Type::Component, None) => Some("null".into()),
            (_, value) => Some(got(value)),
        };
        (!fits).then_some(Wrong { wanted, got })
    }
}

fn wrong_topics(value: Option<&Value>) -> Option<Wrong> {
    let wanted = format!("state, events, sensors/GROUP, {}", FRAMES.join(", "));
    let wrong = |wanted: String, got| Some(Wrong { wanted, got: Some(got) });
    let Some(Value::Array(list)) = value else {
        return wrong(format!("a list of {wanted}"), got(value));
    };
    if list.len() > MAX_TOPICS {
        return wrong(format!("at most {MAX_TOPICS}"), list.len().to_string());
    }
    let unknown = list.iter().find(|topic| self::topic(topic).is_none())?;
    wrong(wanted, shown(unknown))
}

/// The members of a message. Once they are checked, what is read of them is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given<'a>(pub(crate) &'a Map<String, Value>);

impl Given<'_> {
    /// A member, or one of a member's.
    pub(crate) fn at(&self, path: &str) -> Option<&Value> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let value = self.0.get(first)?;
        if rest.is_empty() { Some(value) } else { value.get(rest) }
    }

    pub(crate) fn value(&self, name: &str) -> Value {
        self.0.get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn given(&self, name: &str) -> Option<Value> {
        Some(self.value(name)).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.at(name).and_then(Value::as_str).map(str::to_owned)
    }

    pub(crate) fn sequence(&self, name: &str) -> u64 {
        self.at(name).and_then(Value::as_u64).unwrap_or_default()
    }

    /// A topic of frames.
    pub(crate) fn frames(&self, name: &str) -> Option<Topic> {
        self.at(name).and_then(Value::as_str).and_then(Topic::frames)
    }

    pub(crate) fn byte(&self, name: &str) -> u8 {
        self.at(name).and_then(byte).unwrap_or_default()
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        self.at(name).and_then(Value::as_str).and_then(bytes).unwrap_or_default()
    }

    /// Each of the topics once.
    pub(crate) fn topics(&self, name: &str) -> Vec<Topic> {
        let mut topics = Vec::new();
        for topic in self.at(name).and_then(Value::as_array).into_iter().flatten().filter_map(topic)
        {
            if !topics.contains(&topic) {
                topics.push(topic);
            }
        }
        topics
    }
}

fn topic(value: &Value) -> Option<Topic> {
    value.as_str().and_then(Topic::parse)
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.chars().count()) && !name.chars().any(is_unshowable)
}

fn byte(value: &Value) -> Option<u8> {
    let Some(text) = value.as_str() else { return value.as_u64()?.try_into().ok() };
    let digits = text.strip_prefix("0x").unwrap_or(text);
    // A sign would be taken for part of the number.
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| is_number)
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for word in text.split_whitespace() {
        for pair in word.as_bytes().chunks(2) {
            let &[high, low] = pair else { return None };
            let digit = |digit: u8| char::from(digit).to_digit(16);
            bytes.push((digit(high)? * 16 + digit(low)?) as u8);
        }
    }
    Some(bytes).filter(|bytes| bytes.len() <= MAX_RAW)
}

fn got(value: Option<&Value>) -> String {
    value.map_or("nothing".into(), shown)
}
