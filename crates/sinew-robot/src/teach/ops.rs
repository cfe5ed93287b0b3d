use serde_json::{Map, Value};

use super::{LibraryRequest, Playback, Request, RobotRequest, Target, new_name};
use crate::{
    Refusal,
    ops::{self, Members, Op, Parse, op},
    trajectory::{Document, G1_ARMS, Interpolation},
};

/// The thirteen of them.
pub const OPS: &[Op] = &ops::rows(&TABLE);

const TABLE: [(Op, Parse<Request>); 13] = [
    (
        op(
            "list",
            "the actions that the robot keeps",
            "`actions`: `id`, `name`, `kind` (`taught`, `preset`), `duration_ms` (null when \
             unknown)",
        ),
        |_| Ok(Request::Robot(RobotRequest::List)),
    ),
    (
        op(
            "enter",
            "make the arms compliant",
            "`pose_known`, `idle_exit_ms` (they are stiff again when so long nothing was asked \
             for)",
        ),
        |_| Ok(Request::Robot(RobotRequest::Enter)),
    ),
    (op("exit", "make the arms stiff again", ""), |_| Ok(Request::Robot(RobotRequest::Exit))),
    (Op { takes: &["name"], ..op("record_start", "begin to record", "`name`") }, |members| {
        Ok(Request::Robot(RobotRequest::RecordStart { name: members.new_name("name")? }))
    }),
    (op("record_stop", "end the recording", "`frames`, `duration_ms`, `largest_gap_ms`"), |_| {
        Ok(Request::Robot(RobotRequest::RecordStop))
    }),
    (
        Op {
            takes: &["name", "loop", "library"],
            ..op(
                "save",
                "store the recording in the robot and keep it in the library, or do only that",
                "`name`, `frames`, `keyframes`, `error_rad` (how far it is off at most), \
                 `duration_ms`, `library`, `file` (the library's), `note`",
            )
        },
        |members| members.save(),
    ),
    (
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
        |members| members.play(),
    ),
    (
        op("stop", "end playback and teaching", "`note`: what the robot can be trusted to do"),
        |_| Ok(Request::Robot(RobotRequest::Stop)),
    ),
    (
        Op {
            needs: &["name", "new_name"],
            takes: &["library"],
            ..op("rename", "give an action another name", "`name`, `new_name`, `library`")
        },
        |members| members.rename(),
    ),
    (
        Op {
            target: true,
            takes: &["library"],
            ..op("delete", "remove an action", "`name`, `library`")
        },
        |members| members.delete(),
    ),
    (
        op(
            "library",
            "what the library holds",
            "`motions`: `name`, `created`, `duration_ms`, `frames`, `keyframes`; `problems`: \
             `file`, `message`",
        ),
        |_| Ok(Request::Library(LibraryRequest::List)),
    ),
    (
        Op {
            needs: &["name"],
            takes: &["from"],
            ..op(
                "show",
                "give a motion of the library, 2,000 frames at a time",
                "the motion as its file has it, `frames_total`, `next` (the `from` of the rest)",
            )
        },
        |members| members.show(),
    ),
    (
        Op {
            needs: &["document"],
            takes: &["append", "more"],
            ..op(
                "import",
                "put a motion into the library; in parts, if it is long",
                "`frames` so far, `dropped` joints",
            )
        },
        |members| members.import(),
    ),
];

/// Parses the members of a `Teach`.
pub fn parse(members: &Map<String, Value>) -> Result<Request, Refusal> {
    ops::parse(&TABLE, members)
}

impl Members<'_> {
    fn new_name(&self, key: &str) -> Result<Option<String>, Refusal> {
        self.name(key)?.map(checked).transpose()
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

    fn save(&self) -> Result<Request, Refusal> {
        let (name, looped) = (self.new_name("name")?, self.flag("loop")?);
        if !self.flag("library")? {
            return Ok(Request::Robot(RobotRequest::Save { name, looped }));
        }
        if looped {
            let message = "loop: a motion of the library repeats when play is told so";
            return Err(Refusal::invalid(message));
        }
        Ok(Request::Library(LibraryRequest::Keep { name }))
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
        Ok(match self.flag("library")? {
            true => Request::Perform { name: self.motion(action)?, how },
            false => Request::Robot(RobotRequest::Play { action, how, keyframes: None }),
        })
    }

    /// The name of a motion of the library.
    fn motion(&self, target: Target) -> Result<String, Refusal> {
        match target {
            Target::Name(name) => Ok(name),
            Target::Id(_) => Err(Refusal::invalid(format!(
                "{}: the library knows motions by name, not by id",
                self.op
            ))),
        }
    }

    fn rename(&self) -> Result<Request, Refusal> {
        let name = self.needed("name")?;
        let new_name = self.needed("new_name").and_then(checked)?;
        Ok(match self.flag("library")? {
            true => Request::Library(LibraryRequest::Rename { name, new_name }),
            false => Request::Robot(RobotRequest::Rename { name, new_name }),
        })
    }

    fn delete(&self) -> Result<Request, Refusal> {
        let action = self.target()?;
        Ok(match self.flag("library")? {
            true => Request::Library(LibraryRequest::Delete { name: self.motion(action)? }),
            false => Request::Robot(RobotRequest::Delete { action }),
        })
    }

    fn show(&self) -> Result<Request, Refusal> {
        let (name, from) = (self.needed("name")?, self.number("from")?);
        Ok(Request::Library(LibraryRequest::Show { name, from }))
    }

    fn import(&self) -> Result<Request, Refusal> {
        let document = self.get("document").unwrap_or(&Value::Null);
        let read = Document::from_value(document.clone(), &G1_ARMS);
        let (document, dropped) =
            read.map_err(|error| Refusal::invalid(format!("{}: {error}", self.op)))?;
        let (document, append, more) =
            (Box::new(document), self.flag("append")?, self.flag("more")?);
        Ok(Request::Library(LibraryRequest::Import { document, dropped, append, more }))
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
