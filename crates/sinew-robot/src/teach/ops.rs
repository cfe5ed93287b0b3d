use serde::Serialize;
use serde_json::{Map, Value};

use super::{LibraryRequest, Playback, Request, RobotRequest, Target, new_name};
use crate::{
    Code, Refusal,
    trajectory::{Document, G1_ARMS, Interpolation},
};

/// A row of the table of requests: for the parser, its error texts and the documentation.
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

/// The thirteen of them.
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

/// Members that belong to the message and not to the request.
const ENVELOPE: [&str; 4] = ["type", "robot", "req", "confirm"];

const fn op(op: &'static str, what: &'static str, answers: &'static str) -> Op {
    Op { op, what, needs: &[], target: false, takes: &[], answers }
}

/// Parses the members of a `Teach`.
pub fn parse(members: &Map<String, Value>) -> Result<Request, Refusal> {
    let Some(row) = members.get("op").and_then(|op| OPS.iter().find(|row| op == row.op)) else {
        let ops: Vec<_> = OPS.iter().map(|row| row.op).collect();
        let got = members.get("op").map_or("nothing".into(), shown);
        return Err(invalid(format!("op: wanted one of {}, got {got}", ops.join(", "))));
    };
    row.check(members)?;
    let members = Members { op: row.op, members };
    Ok(match row.op {
        "play" => members.play()?,
        "library" => Request::Library(LibraryRequest::List),
        "show" => Request::Library(LibraryRequest::Show {
            name: members.needed("name")?,
            from: members.number("from")?,
        }),
        "import" => Request::Library(members.import()?),
        _ if row.takes.contains(&"library") && members.flag("library")? => {
            Request::Library(members.of_library()?)
        }
        _ => Request::Robot(members.of_robot()?),
    })
}

impl Op {
    /// Refuses members that the request does not know, and misses those it needs.
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

    /// A number; 0 if it is not given.
    fn number(&self, key: &str) -> Result<u32, Refusal> {
        Ok(self.number_from(key, 0)?.unwrap_or_default())
    }

    fn number_from(&self, key: &str, min: u32) -> Result<Option<u32>, Refusal> {
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
        match self.number_from("id", 1)? {
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

    fn of_robot(&self) -> Result<RobotRequest, Refusal> {
        Ok(match self.op {
            "list" => RobotRequest::List,
            "enter" => RobotRequest::Enter,
            "exit" => RobotRequest::Exit,
            "record_start" => RobotRequest::RecordStart { name: self.new_name("name")? },
            "record_stop" => RobotRequest::RecordStop,
            "save" => {
                RobotRequest::Save { name: self.new_name("name")?, looped: self.flag("loop")? }
            }
            "rename" => {
                let (name, new_name) = self.names()?;
                RobotRequest::Rename { name, new_name }
            }
            "delete" => RobotRequest::Delete { action: self.target()? },
            _ => RobotRequest::Stop,
        })
    }

    fn of_library(&self) -> Result<LibraryRequest, Refusal> {
        Ok(match self.op {
            "save" => {
                let name = self.new_name("name")?;
                if self.flag("loop")? {
                    let message = "loop: a motion of the library repeats when play is told so";
                    return Err(invalid(message.into()));
                }
                LibraryRequest::Keep { name }
            }
            "rename" => {
                let (name, new_name) = self.names()?;
                LibraryRequest::Rename { name, new_name }
            }
            _ => LibraryRequest::Delete { name: self.motion(self.target()?)? },
        })
    }

    fn play(&self) -> Result<Request, Refusal> {
        let action = self.target()?;
        let how = Playback {
            frames: self.number("frames")?,
            duration_ms: self.number("duration_ms")?,
            interpolation: self.interpolation()?,
            looped: self.flag("loop")?,
            speed: self.speed()?,
        };
        Ok(if self.flag("library")? {
            Request::Perform { name: self.motion(action)?, how }
        } else {
            Request::Robot(RobotRequest::Play { action, how, keyframes: None })
        })
    }

    /// The name of a motion of the library.
    fn motion(&self, target: Target) -> Result<String, Refusal> {
        match target {
            Target::Name(name) => Ok(name),
            Target::Id(_) => {
                Err(invalid(format!("{}: the library knows motions by name, not by id", self.op)))
            }
        }
    }

    fn names(&self) -> Result<(String, String), Refusal> {
        Ok((self.needed("name")?, self.needed("new_name").and_then(checked)?))
    }

    fn import(&self) -> Result<LibraryRequest, Refusal> {
        let document = self.get("document").unwrap_or(&Value::Null);
        let read = Document::from_value(document.clone(), &G1_ARMS);
        let (document, dropped) = read.map_err(|error| invalid(format!("{}: {error}", self.op)))?;
        let (append, more) = (self.flag("append")?, self.flag("more")?);
        Ok(LibraryRequest::Import { document: Box::new(document), dropped, append, more })
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
