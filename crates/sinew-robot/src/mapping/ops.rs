use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Format, Pose, Request};
use crate::{
    Refusal,
    ops::{self, Members, Op, Parse, op},
    text::is_unshowable,
};

/// The longest name of a map, in bytes: with an ending it is still a file's.
pub const MAX_NAME: usize = 64;

/// The eleven of them.
pub const OPS: &[Op] = &ops::rows(&TABLE);

const TABLE: [(Op, Parse<Request>); 11] = [
    (op("start", "begin a map", "`note`"), |_| Ok(Request::Start)),
    (
        Op {
            takes: &["name"],
            ..op(
                "stop",
                "end the map; a robot that can stores it, by default under the date",
                "`name`, `note`",
            )
        },
        |members| Ok(Request::Stop { name: members.map_name("name")? }),
    ),
    (op("clear", "forget the map that is made here", ""), |_| Ok(Request::Clear)),
    (
        Op {
            needs: &["format"],
            ..op(
                "save",
                "give out the map that is made here",
                "`format`, `path` (where HTTP has the file)",
            )
        },
        |members| Ok(Request::Save { format: members.format()? }),
    ),
    (
        op(
            "info",
            "how it goes",
            "`mapping`, `walking`, `map` (the one that is loaded), `pose`, `clouds` (since it \
             began), `last_cloud` (`points`, `bounds`, `age_ms`), `voxels`; null is what is not \
             known; and where they are known `bounds`, `uncertainty` (`x`, `y`, `heading`), `trouble`",
        ),
        |_| Ok(Request::Info),
    ),
    (
        Op {
            needs: &["map", "pose"],
            ..op("relocate", "load a map that the robot stores, and say where it is", "`map`")
        },
        |members| Ok(Request::Relocate { map: members.needed_map("map")?, pose: members.pose()? }),
    ),
    (
        Op {
            needs: &["pose"],
            confirm: Some("the robot walks by itself, and that has to be confirmed"),
            ..op(
                "go_to",
                "walk to a place of the map that is loaded; ends with the connection or a stop",
                "`note`; the end is an event",
            )
        },
        |members| Ok(Request::GoTo { pose: members.pose()? }),
    ),
    (op("pause", "stand still on the way", ""), |_| Ok(Request::Pause)),
    (op("resume", "walk on; ends with the connection or a stop", "the end is an event"), |_| {
        Ok(Request::Resume)
    }),
    (op("close", "end mapping, or the way, without storing", ""), |_| Ok(Request::Close)),
    (
        Op {
            needs: &["name"],
            ..op(
                "download",
                "fetch a map that the robot stores",
                "`name`, `file` (on the daemon's computer), `bytes`",
            )
        },
        |members| Ok(Request::Download { name: members.needed_map("name")? }),
    ),
];

/// Parses the members of a `Mapping`.
pub fn parse(members: &Map<String, Value>) -> Result<Request, Refusal> {
    ops::parse(&TABLE, members)
}

/// Whether this can be a map's name. Paths are made of it, here and in the robot.
pub fn map_name(name: &str) -> bool {
    let fits = |c: char| !is_unshowable(c) && !matches!(c, '/' | '\\');
    (1..=MAX_NAME).contains(&name.len())
        && !name.starts_with('.')
        && name.trim() == name
        && name.chars().all(fits)
}

impl Members<'_> {
    fn map_name(&self, key: &str) -> Result<Option<String>, Refusal> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_str().filter(|name| map_name(name)) {
            Some(name) => Ok(Some(name.into())),
            None => {
                let wanted = format!(
                    "a name of 1 to {MAX_NAME} bytes that does not begin with a dot and has no \
                     slashes, control or direction characters, nor spaces around it"
                );
                Err(self.wrong(key, &wanted))
            }
        }
    }

    fn needed_map(&self, key: &str) -> Result<String, Refusal> {
        self.map_name(key)?.ok_or_else(|| self.wrong(key, "a map's name"))
    }

    fn format(&self) -> Result<Format, Refusal> {
        let format = self.get("format").and_then(Value::as_str).and_then(Format::named);
        format.ok_or_else(|| {
            let wanted = Format::ALL.map(Format::name).join(", ");
            self.wrong("format", &format!("one of {wanted}"))
        })
    }

    fn pose(&self) -> Result<Pose, Refusal> {
        let pose = self.get("pose").filter(|pose| pose.is_object());
        let pose = pose.and_then(|pose| Pose::deserialize(pose).ok());
        pose.filter(Pose::is_finite)
            .ok_or_else(|| self.wrong("pose", "{x, y, and z and yaw if not 0}, all numbers"))
    }
}
