//! What a topic's messages are, and the schemas that say so.

use std::{borrow::Cow, sync::LazyLock};

use foxglove::{
    Encode, Schema,
    messages::{FrameTransforms, Grid, JointStates, LaserScan, Log, PointCloud, PoseInFrame},
};
use serde_json::{Map, Value, json};

/// All messages of the network interface.
const INTERFACE: &str = include_str!("../../../docs/api.schema.json");

/// What a topic's messages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A cloud of points, or a map in space.
    PointCloud,
    /// A turn of a lidar.
    LaserScan,
    /// A map of the ground.
    Grid,
    /// Where a robot is.
    PoseInFrame,
    /// How frames lie in each other.
    FrameTransforms,
    /// How joints stand.
    JointStates,
    /// What happened, for people.
    Log,
    /// What `Robots` tells about a robot.
    State,
    /// What happened, as the robot tells it.
    Event,
    /// A reading of a sensor group.
    Sensors,
    /// A message of a robot's link that is text, as it came.
    Text,
    /// A message of a robot's link that is bytes, as it came.
    Binary,
}

/// A message of a topic.
#[derive(Debug, Clone, PartialEq)]
pub struct Topical {
    /// As `/vacuum/scan`.
    pub topic: String,
    /// What it is.
    pub kind: Kind,
    /// When it came here, nanoseconds since 1970 by the daemon's clock.
    pub log_ns: u64,
    /// When it was seen, by the daemon's clock.
    pub publish_ns: u64,
    /// The message.
    pub data: Vec<u8>,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 12] = [
        Kind::PointCloud,
        Kind::LaserScan,
        Kind::Grid,
        Kind::PoseInFrame,
        Kind::FrameTransforms,
        Kind::JointStates,
        Kind::Log,
        Kind::State,
        Kind::Event,
        Kind::Sensors,
        Kind::Text,
        Kind::Binary,
    ];

    /// How messages are encoded, in MCAP's words; a robot's bytes are what they are.
    pub const fn encoding(self) -> &'static str {
        match self {
            Kind::PointCloud
            | Kind::LaserScan
            | Kind::Grid
            | Kind::PoseInFrame
            | Kind::FrameTransforms
            | Kind::JointStates
            | Kind::Log => "protobuf",
            Kind::State | Kind::Event | Kind::Sensors => "json",
            Kind::Text => "text/plain",
            Kind::Binary => "application/octet-stream",
        }
    }

    /// What a message looks like; of a robot's own bytes that is not said.
    pub fn schema(self) -> Option<Schema> {
        match self {
            Kind::PointCloud => PointCloud::get_schema(),
            Kind::LaserScan => LaserScan::get_schema(),
            Kind::Grid => Grid::get_schema(),
            Kind::PoseInFrame => PoseInFrame::get_schema(),
            Kind::FrameTransforms => FrameTransforms::get_schema(),
            Kind::JointStates => JointStates::get_schema(),
            Kind::Log => Log::get_schema(),
            Kind::State => Some(json_schema("sinew.RobotReport", &REPORT)),
            Kind::Event => Some(json_schema("sinew.Event", &EVENT)),
            Kind::Sensors => Some(json_schema("sinew.SensorGroup", &SENSORS)),
            Kind::Text | Kind::Binary => None,
        }
    }

    /// The kind of a channel that names this schema and encoding.
    pub fn of(schema: &str, encoding: &str) -> Option<Kind> {
        Some(match (schema, encoding) {
            ("foxglove.PointCloud", "protobuf") => Kind::PointCloud,
            ("foxglove.LaserScan", "protobuf") => Kind::LaserScan,
            ("foxglove.Grid", "protobuf") => Kind::Grid,
            ("foxglove.PoseInFrame", "protobuf") => Kind::PoseInFrame,
            ("foxglove.FrameTransforms", "protobuf") => Kind::FrameTransforms,
            ("foxglove.JointStates", "protobuf") => Kind::JointStates,
            ("foxglove.Log", "protobuf") => Kind::Log,
            ("sinew.RobotReport", "json") => Kind::State,
            ("sinew.Event", "json") => Kind::Event,
            ("sinew.SensorGroup", "json") => Kind::Sensors,
            ("", "text/plain") => Kind::Text,
            ("", "application/octet-stream") => Kind::Binary,
            _ => return None,
        })
    }
}

fn json_schema(name: &str, text: &'static str) -> Schema {
    Schema::new(name, "jsonschema", Cow::Borrowed(text.as_bytes()))
}

static REPORT: LazyLock<String> = LazyLock::new(|| {
    let interface: Value = serde_json::from_str(INTERFACE).unwrap_or_default();
    let mut schema = plain(&interface["$defs"]["RobotReport"], &interface["$defs"], 0)
        .unwrap_or_else(|| json!({ "type": "object" }));
    schema["title"] = "sinew.RobotReport".into();
    schema.to_string()
});

static EVENT: LazyLock<String> = LazyLock::new(|| {
    json!({
        "title": "sinew.Event",
        "description": "What happened to a robot; other members are the event's own.",
        "type": "object",
        "properties": { "event": { "type": "string" } },
        "required": ["event"],
    })
    .to_string()
});

static SENSORS: LazyLock<String> = LazyLock::new(|| {
    json!({
        "title": "sinew.SensorGroup",
        "description": "A reading; each value stands under the name of its type.",
        "type": "object",
        "properties": {
            "type": { "const": "SensorGroup", "type": "string" },
            "group_id": { "type": "string" },
            "timestamp_us": { "type": "integer" },
            "values": { "type": "object" },
        },
        "required": ["group_id", "values"],
    })
    .to_string()
});

/// A schema in what tools for recordings read: objects, lists and single types, with nothing that refers
/// elsewhere. What may be null, or one of several types, is left out, and so may be anything.
fn plain(schema: &Value, all: &Value, depth: usize) -> Option<Value> {
    // The interface's types do not contain themselves; if one did, it would end here.
    if depth > 8 {
        return None;
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return plain(&all[name], all, depth + 1);
    }
    let kind = schema["type"].as_str()?;
    let mut plain = json!({ "type": kind });
    if let Some(text) = schema["description"].as_str() {
        plain["description"] = text.into();
    }
    match kind {
        "object" => {
            let members = schema["properties"].as_object();
            let members: Map<String, Value> = members
                .into_iter()
                .flatten()
                .filter_map(|(name, member)| {
                    Some((name.clone(), self::plain(member, all, depth + 1)?))
                })
                .collect();
            let required = schema["required"].as_array().into_iter().flatten();
            plain["required"] = required
                .filter(|name| name.as_str().is_some_and(|name| members.contains_key(name)))
                .cloned()
                .collect();
            plain["properties"] = members.into();
        }
        "array" => plain["items"] = self::plain(&schema["items"], all, depth + 1)?,
        _ => {}
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_known_again_by_its_schema_and_encoding() {
        for kind in Kind::ALL {
            let name = kind.schema().map(|schema| schema.name).unwrap_or_default();
            assert_eq!(Kind::of(&name, kind.encoding()), Some(kind));
        }
    }

    #[test]
    fn schemas_of_json_are_of_plain_types_only() {
        fn check(schema: &Value) {
            assert!(schema["type"].is_string(), "{schema}");
            assert!(schema.get("$ref").is_none() && schema.get("anyOf").is_none(), "{schema}");
            for member in schema["properties"].as_object().into_iter().flatten() {
                check(member.1);
            }
            if schema["type"] == "array" {
                check(&schema["items"]);
            }
        }
        for kind in [Kind::State, Kind::Event, Kind::Sensors] {
            let schema = kind.schema().expect("has one");
            check(&serde_json::from_slice(&schema.data).expect("is JSON"));
        }
        let report: Value = serde_json::from_str(&REPORT).expect("is JSON");
        assert_eq!(report["properties"]["link"]["properties"]["state"]["type"], "string");
        assert_eq!(report["properties"]["state"]["type"], "object");
        assert_eq!(report["properties"]["fresh"]["type"], "boolean");
    }
}
