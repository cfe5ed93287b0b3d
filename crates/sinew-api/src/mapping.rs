//! `Mapping` in messages. Its ops, their members and their parser are sinew-robot's.

use serde_json::{Value, json};
use sinew_robot::{
    Refusal,
    mapping::{self, Pose, Request},
};

use crate::{
    Command,
    command::given,
    member::{Given, Member, Type, optional, required},
};

/// The types of all ops' members; which op takes which, its row says.
pub(crate) const MEMBERS: &[Member] = &[
    required("op", Type::Text, "what to do"),
    optional("name", Type::Text, "a map's name"),
    optional(
        "format",
        Type::Text,
        "what to give a map out as: `pcd`, `pcd-ascii`, `pcd-compressed`, `ply`, `pgm` or `png`",
    ),
    optional("map", Type::Text, "the name of the map to load"),
    optional("pose", Type::Pose, "a place of the map, and which way to face"),
];

pub(crate) fn make(given: &Given<'_>) -> Result<Command, Refusal> {
    Ok(Command::Mapping(mapping::parse(given.0)?))
}

/// The message. What has to be confirmed is not.
pub(crate) fn to_value(request: &Request) -> Value {
    let message = json!({ "type": "Mapping", "op": request.op() });
    let pose = |pose: &Pose| ("pose", Some(json!(pose)));
    match request {
        Request::Start
        | Request::Clear
        | Request::Info
        | Request::Pause
        | Request::Resume
        | Request::Close => message,
        Request::Save { format } => given(message, &[("format", Some(format.name().into()))]),
        Request::Stop { name } => given(message, &[("name", name.as_deref().map(Value::from))]),
        Request::Relocate { map, pose: at } => {
            given(message, &[("map", Some(map.as_str().into())), pose(at)])
        }
        Request::GoTo { pose: to } => given(message, &[pose(to)]),
        Request::Download { name } => given(message, &[("name", Some(name.as_str().into()))]),
    }
}
