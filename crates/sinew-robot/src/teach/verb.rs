use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use sinew_wire::teach::Keyframe;

use super::new_name;
use crate::{
    Code, Refusal,
    trajectory::{Document, G1_ARMS, Interpolation, Plan},
};

/// What may be asked of a robot that can be taught, checked for form but not yet against what the
/// robot or the transport can do.
#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    /// The stored actions.
    List,
    /// Make the arms compliant.
    Enter,
    /// Make them stiff again.
    Exit,
    /// Begin to record.
    RecordStart {
        /// What the recording is to be called, when that is known already.
        name: Option<String>,
    },
    /// End the recording.
    RecordStop,
    /// Store the recording.
    Save {
        /// What it is called; the name given when recording began, if none.
        name: Option<String>,
        /// Whether it repeats when it is played.
        looped: bool,
        /// In the library, and not in the robot.
        library: bool,
    },
    /// Play a stored action.
    Play {
        /// Which.
        action: Target,
        /// How many of its frames; 0 is all.
        frames: u32,
        /// How long it takes; 0 is as recorded.
        duration_ms: u32,
        /// How values between keyframes are found.
        interpolation: Interpolation,
        /// Whether it repeats.
        looped: bool,
        /// How much faster than recorded.
        speed: Option<f32>,
        /// From the library, and not what the robot has.
        library: bool,
        /// Keyframes to play instead of the stored ones. No JSON member gives them.
        keyframes: Option<Vec<Keyframe>>,
    },
    /// Play a motion that the robot does not have. No JSON gives it.
    Perform {
        /// What it is called.
        name: String,
        /// The motion.
        plan: Arc<Plan>,
        /// Whether it repeats.
        looped: bool,
    },
    /// End playback.
    Stop,
    /// Give an action another name.
    Rename {
        /// Its name.
        name: String,
        /// The new one.
        new_name: String,
        /// In the library, and not in the robot.
        library: bool,
    },
    /// Remove an action.
    Delete {
        /// Which.
        action: Target,
        /// From the library, and not from the robot.
        library: bool,
    },
    /// What the library holds.
    Library,
    /// Give a motion of the library.
    Show {
        /// Which.
        name: String,
        /// The first of its frames to give; one answer does not hold those of a long motion.
        from: u32,
    },
    /// Put a motion, or a part of one, into the library.
    Import {
        /// The motion.
        document: Box<Document>,
        /// Joints it has that no slot takes.
        dropped: Vec<String>,
        /// Whether it goes on with a motion of which not all has come.
        append: bool,
        /// Whether more of it will come.
        more: bool,
    },
}

/// A stored action: by the number its list gives it, or by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// By number.
    Id(u32),
    /// By name.
    Name(String),
}

/// A row of the table of verbs: for the parser, its error texts and the documentation.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Op {
    /// Its name in `Teach`.
    pub op: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Members that must be given.
    pub needs: &'static [&'static str],
    /// Whether `id` or `name`, and not both, must be given.
    pub target: bool,
    /// Members that may be given.
    pub takes: &'static [&'static str],
    /// What its answer has.
    pub answers: &'static str,
}

/// The thirteen verbs.
pub const OPS: &[Op] = &[
    op(
        "list",
        "the actions that the robot keeps",
        "`actions`: `id`, `name`, `kind` (`taught`, `preset`), `duration_ms` (null when unknown)",
    ),
    op("enter", "make the arms compliant", "`pose_known`"),
    op("exit", "make the arms stiff again", ""),
    Op { takes: &["name"], ..op("record_start", "begin to record", "`name`") },
    op("record_stop", "end the recording", "`frames`, `duration_ms`, `largest_gap_ms`"),
    Op {
        takes: &["name", "loop", "library"],
        ..op(
            "save",
            "store the recording in the robot and keep it in the library, or do only that",
            "`name`, `frames`, `keyframes`, `error_rad` (how far it is off at most), \
             `duration_ms`, `library`, `note`",
        )
    },
    Op {
        target: true,
        takes: &["frames", "duration_ms", "interpolation", "loop", "speed", "library"],
        ..op(
            "play",
            "play what the robot keeps; from the library what it does not, or not so",
            "`id` (null from the library), `name`, `note`; from the library also `pieces`, \
             `duration_ms`, `error_rad`, `limited`; the end is an event",
        )
    },
    op("stop", "end playback and teaching", "`note`: what the robot can be trusted to do"),
    Op {
        needs: &["name", "new_name"],
        takes: &["library"],
        ..op("rename", "give an action another name", "`name`, `new_name`, `library`")
    },
    Op {
        target: true,
        takes: &["library"],
        ..op("delete", "remove an action", "`name`, `library`")
    },
    op(
        "library",
        "what the library holds",
        "`motions`: `name`, `created`, `duration_ms`, `frames`, `keyframes`; `problems`: `file`, \
         `message`",
    ),
    Op {
        needs: &["name"],
        takes: &["from"],
        ..op(
            "show",
            "give a motion of the library, 2,000 frames at a time",
            "the motion as its file has it, `frames_total`, `next` (the `from` of the rest)",
        )
    },
    Op {
        needs: &["document"],
        takes: &["append", "more"],
        ..op(
            "import",
            "put a motion into the library; in parts, if it is long",
            "`frames` so far, `dropped` joints",
        )
    },
];

/// Members that belong to the message and not to the verb.
const ENVELOPE: [&str; 4] = ["type", "robot", "req", "confirm"];

const fn op(op: &'static str, what: &'static str, answers: &'static str) -> Op {
    Op { op, what, needs: &[], target: false, takes: &[], answers }
}

/// Parses the members of a `Teach`.
pub fn parse(members: &Map<String, Value>) -> Result<Verb, Refusal> {
    let Some(row) = members.get("op").and_then(|op| OPS.iter().find(|row| op == row.op)) else {
        let ops: Vec<_> = OPS.iter().map(|row| row.op).collect();
        let got = members.get("op").map_or("nothing".into(), shown);
        return Err(invalid(format!("op: wanted one of {}, got {got}", ops.join(", "))));
    };
    row.check(members)?;
    let members = Members { op: row.op, members };
    Ok(match row.op {
        "list" => Verb::List,
        "enter" => Verb::Enter,
        "exit" => Verb::Exit,
        "record_start" => Verb::RecordStart { name: members.new_name("name")? },
        "record_stop" => Verb::RecordStop,
        "save" => Verb::Save {
            name: members.new_name("name")?,
            looped: members.flag("loop")?,
            library: members.flag("library")?,
        },
        "play" => Verb::Play {
            action: members.target()?,
            frames: members.number("frames", 0)?.unwrap_or_default(),
            duration_ms: members.number("duration_ms", 0)?.unwrap_or_default(),
            interpolation: members.interpolation()?,
            looped: members.flag("loop")?,
            speed: members.speed()?,
            library: members.flag("library")?,
            keyframes: None,
        },
        "rename" => Verb::Rename {
            name: members.needed("name")?,
            new_name: members.needed("new_name").and_then(checked)?,
            library: members.flag("library")?,
        },
        "delete" => Verb::Delete { action: members.target()?, library: members.flag("library")? },
        "library" => Verb::Library,
        "show" => Verb::Show {
            name: members.needed("name")?,
            from: members.number("from", 0)?.unwrap_or_default(),
        },
        "import" => members.import()?,
        _ => Verb::Stop,
    })
}

impl Verb {
    /// Its name in `Teach`.
    pub const fn op(&self) -> &'static str {
        match self {
            Verb::List => "list",
            Verb::Enter => "enter",
            Verb::Exit => "exit",
            Verb::RecordStart { .. } => "record_start",
            Verb::RecordStop => "record_stop",
            Verb::Save { .. } => "save",
            Verb::Play { .. } | Verb::Perform { .. } => "play",
            Verb::Stop => "stop",
            Verb::Rename { .. } => "rename",
            Verb::Delete { .. } => "delete",
            Verb::Library => "library",
            Verb::Show { .. } => "show",
            Verb::Import { .. } => "import",
        }
    }

    /// Whether it only asks, and changes nothing.
    pub const fn is_query(&self) -> bool {
        matches!(self, Verb::List | Verb::Library | Verb::Show { .. })
    }

    /// Whether the arms may move when it is carried out. Soft ones do, by their own weight.
    pub const fn moves(&self) -> bool {
        matches!(self, Verb::Enter | Verb::Play { .. } | Verb::Perform { .. })
    }

    /// Whether it is about the library and nothing else.
    pub const fn is_of_library(&self) -> bool {
        match self {
            Verb::Save { library, .. }
            | Verb::Play { library, .. }
            | Verb::Rename { library, .. }
            | Verb::Delete { library, .. } => *library,
            Verb::Library | Verb::Show { .. } | Verb::Import { .. } => true,
            _ => false,
        }
    }
}

impl Op {
    /// Refuses members the verb does not know, and misses those it needs.
    fn check(&self, members: &Map<String, Value>) -> Result<(), Refusal> {
        let target: &[&str] = if self.target { &["id", "name"] } else { &[] };
        let known = |key: &str| {
            key == "op"
                || [&ENVELOPE, self.needs, target, self.takes].iter().any(|set| set.contains(&key))
        };
        if let Some(unknown) = members.keys().find(|key| !known(key)) {
            return Err(invalid(format!("{}: wanted {}, got {unknown:?}", self.op, self.wanted())));
        }
        let given = |key: &str| members.get(key).is_some_and(|value| !value.is_null());
        if let Some(missing) = self.needs.iter().find(|key| !given(key)) {
            return Err(invalid(format!(
                "{}: wanted {}, got no {missing:?}",
                self.op,
                self.wanted()
            )));
        }
        let got = match (given("id"), given("name")) {
            _ if !self.target => return Ok(()),
            (true, true) => "both",
            (false, false) => "neither",
            _ => return Ok(()),
        };
        Err(invalid(format!("{}: wanted id or name, got {got}", self.op)))
    }

    /// The members it takes, in words.
    pub fn wanted(&self) -> String {
        let mut words: Vec<String> = self.needs.iter().map(|need| (*need).into()).collect();
        if self.target {
            words.push("id or name".into());
        }
        if !self.takes.is_empty() {
            words.push(format!("optionally {}", self.takes.join(", ")));
        }
        if words.is_empty() { "no members".into() } else { words.join(", ") }
    }
}

/// The members of one `Teach`; null counts as not given.
struct Members<'a> {
    op: &'static str,
    members: &'a Map<String, Value>,
}

impl Members<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.members.get(key).filter(|value| !value.is_null())
    }

    fn wrong(&self, key: &str, wanted: &str) -> Refusal {
        let got = self.get(key).map_or("nothing".into(), shown);
        invalid(format!("{}: {key}: wanted {wanted}, got {got}", self.op))
    }

    fn name(&self, key: &str) -> Result<Option<String>, Refusal> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(name)) if !name.is_empty() => Ok(Some(name.clone())),
            Some(_) => Err(self.wrong(key, "a text that is not empty")),
        }
    }

    fn new_name(&self, key: &str) -> Result<Option<String>, Refusal> {
        self.name(key)?.map(checked).transpose()
    }

    fn needed(&self, key: &str) -> Result<String, Refusal> {
        self.name(key)?.ok_or_else(|| self.wrong(key, "a text that is not empty"))
    }

    fn number(&self, key: &str, min: u32) -> Result<Option<u32>, Refusal> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        match number.filter(|&number| number >= min) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(key, &format!("a whole number from {min} to {}", u32::MAX))),
        }
    }

    fn flag(&self, key: &str) -> Result<bool, Refusal> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    fn target(&self) -> Result<Target, Refusal> {
        match self.number("id", 1)? {
            Some(id) => Ok(Target::Id(id)),
            None => self.needed("name").map(Target::Name),
        }
    }

    fn speed(&self) -> Result<Option<f32>, Refusal> {
        let Some(value) = self.get("speed") else { return Ok(None) };
        match value.as_f64().map(|speed| speed as f32).filter(|speed| *speed > 0.0) {
            Some(speed) => Ok(Some(speed)),
            None => Err(self.wrong("speed", "a number over 0")),
        }
    }

    fn import(&self) -> Result<Verb, Refusal> {
        let document = self.get("document").unwrap_or(&Value::Null);
        let read = Document::from_value(document.clone(), &G1_ARMS);
        let (document, dropped) = read.map_err(|error| invalid(format!("{}: {error}", self.op)))?;
        let (append, more) = (self.flag("append")?, self.flag("more")?);
        Ok(Verb::Import { document: Box::new(document), dropped, append, more })
    }

    fn interpolation(&self) -> Result<Interpolation, Refusal> {
        let Some(value) = self.get("interpolation") else { return Ok(Interpolation::default()) };
        value
            .as_str()
            .and_then(Interpolation::from_name)
            .ok_or_else(|| self.wrong("interpolation", "linear, cubic or smooth"))
    }
}

/// A name that something is to get.
fn checked(name: String) -> Result<String, Refusal> {
    new_name(&name).map(|_| name)
}

fn invalid(message: String) -> Refusal {
    Refusal::new(Code::InvalidArgument, message)
}

/// A value for an error text, cut where it gets long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
