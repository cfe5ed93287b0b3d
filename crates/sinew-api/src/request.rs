//! Messages of clients, read by the table.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde_json::{Map, Value, json};
use sinew_robot::{Code, Refusal, Remedy, cut, shown};

use crate::{
    COMMANDS, COMMON, Command, Halt, Row, Rules, json as strict,
    member::Given,
    sangam,
    table::{CONFIRM, ROBOT},
};

/// The longest message that is looked at before its turn.
pub const MAX_URGENT: usize = 512;

/// How a client writes what it asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// JSON.
    Own,
    /// The same, bare or in the envelope of document 003's time.
    Legacy,
    /// Protobuf, as SangamIO's later interface has it.
    Sangam,
}

/// What a client sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// To be sent back with the reply.
    pub req: Option<Value>,
    /// What it asks.
    pub asked: Result<Message, Refusal>,
}

/// A message that was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The robot it is for.
    pub robot: Option<String>,
    /// Whether what can hurt is meant.
    pub confirmed: bool,
    /// What it asks.
    pub command: Command,
    name: &'static str,
    rules: Rules,
}

impl Message {
    /// What it is, for people: its type, or the component and what is to be done with it.
    pub fn described(&self) -> String {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match &self.command {
            Command::ComponentControl { id, action } => {
                let verb = action.get("type").map(text).unwrap_or_default();
                format!("{} {}", cut(text(id), 40), cut(verb, 40))
            }
            Command::Halt(Halt::Reset) => "drive Reset".into(),
            Command::Halt(Halt::Disable) => "drive Disable".into(),
            _ => self.name.into(),
        }
    }

    /// What it takes to ask it.
    pub fn rules(&self) -> Rules {
        self.rules
    }
}

impl Request {
    /// Reads a message.
    pub fn parse(text: &[u8]) -> Self {
        match strict::parse(text) {
            Ok(value) => Self::from_value(value),
            Err(error) => Self::refused(Code::InvalidJson, format!("not JSON: {error}")),
        }
    }

    /// Reads a message of any of the interfaces.
    pub fn read(text: &[u8], dialect: Dialect) -> Self {
        match dialect {
            Dialect::Own => Self::parse(text),
            Dialect::Legacy => Self::parse_legacy(text),
            Dialect::Sangam => Self::parse_sangam(text),
        }
    }

    /// Reads a message that is heard before all that waits; none if it is another.
    pub fn parse_urgent(text: &[u8], dialect: Dialect) -> Option<Self> {
        let request = Self::read(text, dialect);
        let is_urgent = request.asked.as_ref().is_ok_and(|message| message.rules.urgent);
        is_urgent.then_some(request)
    }

    /// A message of a length-prefixed client: bare, or in the envelope of document 003's time.
    pub fn parse_legacy(text: &[u8]) -> Self {
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

    /// A message of SangamIO's later interface.
    pub fn parse_sangam(message: &[u8]) -> Self {
        match sangam::command(message) {
            Ok(command) => Self::from_value(command),
            Err(wrong) => {
                Self::refused(Code::InvalidArgument, format!("not a message of sangamio: {wrong}"))
            }
        }
    }

    /// Reads a message from JSON that was read already.
    pub fn from_value(value: Value) -> Self {
        let Value::Object(mut members) = value else {
            return Self::refused(Code::InvalidArgument, "wanted an object with a member \"type\"");
        };
        let req = members.remove("req");
        Request { req, asked: parse(&members) }
    }

    /// Whether it was JSON at all.
    pub fn is_json(&self) -> bool {
        !matches!(&self.asked, Err(refusal) if refusal.code == Code::InvalidJson)
    }

    fn refused(code: Code, message: impl Into<String>) -> Self {
        Request { req: None, asked: Err(Refusal::new(code, message)) }
    }
}

/// Whether a message may be an urgent one: looking costs next to nothing.
pub fn may_be_urgent(text: &[u8], dialect: Dialect) -> bool {
    text.len() <= MAX_URGENT
        && match dialect {
            Dialect::Own | Dialect::Legacy => has_urgent_word(text),
            Dialect::Sangam => sangam::stops(text),
        }
}

fn has_urgent_word(text: &[u8]) -> bool {
    static WORDS: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| {
        let words = urgent_words().map(|word| Finder::new(&format!("\"{word}\"")).into_owned());
        words.collect()
    });
    WORDS.iter().any(|word| word.find(text).is_some())
}

/// Texts without which a message is not urgent: a command's name, or what tells its case.
fn urgent_words() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().flat_map(|row| {
        let cases = row.cases.iter().filter(|case| case.terms.urgent);
        let told = cases.filter_map(|case| case.of.last()).map(|(_, value)| *value);
        told.chain(row.terms.urgent.then_some(row.name))
    })
}

fn parse(members: &Map<String, Value>) -> Result<Message, Refusal> {
    let row = find(members)?;
    let robot = ROBOT.check(row.name, members.get("robot"));
    let named = members.get("robot").and_then(Value::as_str).map(str::to_owned);
    let confirm = CONFIRM.check(row.name, members.get("confirm"));
    let confirmed = members.get("confirm") == Some(&Value::Bool(true));
    let surplus = row.surplus(members);
    let command = match (row.read(members, confirmed), surplus) {
        // Nothing that stands beside it keeps it from stopping; without a name it is for all.
        (Ok(Command::Halt(Halt::Stop { .. })), surplus) => {
            let note = robot.err().map(|refusal| refusal.message).or(surplus);
            Command::Halt(Halt::Stop { note })
        }
        (Ok(halt @ Command::Halt(_)), _) => robot.map(|()| halt)?,
        (command, surplus) => {
            robot?;
            surplus.map_or(Ok(()), |surplus| Err(Refusal::invalid(surplus)))?;
            confirm?;
            command?
        }
    };
    Ok(Message { robot: named, confirmed, command, name: row.name, rules: row.rules(members) })
}

fn find(members: &Map<String, Value>) -> Result<&'static Row, Refusal> {
    let names = || COMMANDS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
    let Some(kind) = members.get("type") else {
        return Err(Refusal::invalid(format!("type: wanted one of {}, got nothing", names())));
    };
    if kind == "Shutdown" {
        let message = "a client cannot end Sinew; end its process";
        return Err(Refusal::new(Code::Unsupported, message));
    }
    COMMANDS.iter().find(|row| kind == row.name).ok_or_else(|| {
        Refusal::invalid(format!("type: wanted one of {}, got {}", names(), shown(kind)))
    })
}

impl Row {
    /// What is said about a member that the command does not know.
    fn surplus(&self, members: &Map<String, Value>) -> Option<String> {
        if !self.ops.is_empty() {
            return None;
        }
        let known = || COMMON.iter().chain(self.members).map(|member| member.name);
        let unknown = members.keys().find(|key| !known().any(|name| name == *key))?;
        let wanted = known().collect::<Vec<_>>().join(", ");
        Some(format!("{}: wanted {wanted}, got {}", self.name, shown(&json!(unknown))))
    }

    fn read(&self, members: &Map<String, Value>, confirmed: bool) -> Result<Command, Refusal> {
        if self.ops.is_empty() {
            for member in self.members {
                member.check(self.name, members.get(member.name))?;
            }
        }
        let command = (self.make)(&Given(members))?;
        match self.confirm.filter(|_| !confirmed) {
            Some(why) => Err(Refusal::new(Code::NotConfirmed, why).helped_by(Remedy::Confirm)),
            None => Ok(command),
        }
    }
}
