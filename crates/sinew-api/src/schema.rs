//! The JSON Schema of the interface: commands by the table, the daemon's messages by their types.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use sinew_robot::{component::Verb, ops::Op};

use crate::{
    Authenticated, COMMANDS, COMMON, DaemonMessage, FRAMES, Member, Pong, Robots, Row, Subscribed,
    Taken, Type,
};

/// The schema of all messages. `$defs` has one for each command (`StopCommand`), for each message of
/// the daemon, and `Replies`: what the `data` of a reply is.
pub fn document() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut all = Map::new();
    for row in COMMANDS {
        all.insert(format!("{}Command", row.name), row.schema());
    }
    let commands: Vec<_> = all.keys().map(|name| reference(name)).collect();
    all.insert("Command".into(), json!({ "oneOf": commands }));
    all.insert("Replies".into(), replies(&mut generator));
    let daemon = schema::<DaemonMessage>(&mut generator);
    all.extend(generator.take_definitions(true));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sinew's network interface",
        "description": "Messages of clients (Command) and of the daemon (DaemonMessage).",
        "anyOf": [reference("Command"), daemon],
        "$defs": all,
    })
}

/// What is in `data` of the reply to each command whose replies have a type.
fn replies(generator: &mut SchemaGenerator) -> Value {
    let replies = json!({
        "Auth": schema::<Authenticated>(generator),
        "Ping": schema::<Pong>(generator),
        "Robots": schema::<Robots>(generator),
        "Subscribe": schema::<Vec<Subscribed>>(generator),
        "TakeControl": schema::<Taken>(generator),
    });
    json!({
        "description": "What `data` of a reply is, by the command's name.",
        "type": "object",
        "properties": replies,
    })
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

impl Row {
    fn schema(&self) -> Value {
        if self.ops.is_empty() {
            return self.object(self.what, self.members, self.confirm.is_some());
        }
        let ops: Vec<_> = self.ops.iter().map(|op| self.op(op)).collect();
        json!({ "description": self.what, "oneOf": ops })
    }

    /// One op of a command that has some.
    fn op(&self, op: &Op) -> Value {
        let target: &[&str] = if op.target { &["id", "name"] } else { &[] };
        let takes = |member: &&Member| {
            [op.needs, target, op.takes].iter().any(|names| names.contains(&member.name))
        };
        let members: Vec<_> = self
            .members
            .iter()
            .filter(takes)
            .map(|member| Member { required: op.needs.contains(&member.name), ..*member })
            .collect();
        let mut schema = self.object(op.what, &members, op.confirm.is_some());
        schema["properties"]["op"] = json!({ "const": op.op });
        if let Some(required) = schema["required"].as_array_mut() {
            required.push("op".into());
        }
        if op.target {
            schema["oneOf"] = json!([{ "required": ["id"] }, { "required": ["name"] }]);
        }
        schema
    }

    fn object(&self, what: &str, members: &[Member], confirm: bool) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for member in COMMON.iter().chain(members) {
            let mut schema = member.kind.schema();
            schema["description"] = member.what.into();
            properties.insert(member.name.into(), schema);
            if member.required || (member.name == "confirm" && confirm) {
                required.push(member.name);
            }
        }
        properties.insert("type".into(), json!({ "const": self.name }));
        json!({
            "description": what,
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

impl Type {
    fn schema(self) -> Value {
        match self {
            Type::Text | Type::Component => json!({ "type": "string" }),
            Type::Name => json!({ "type": "string", "minLength": 1, "maxLength": 64 }),
            Type::Flag => json!({ "type": "boolean" }),
            Type::Byte => json!({
                "anyOf": [
                    { "type": "integer", "minimum": 0, "maximum": 255 },
                    { "type": "string" },
                ],
            }),
            Type::Hex => json!({ "type": "string" }),
            Type::Topics => json!({ "type": "array", "items": { "type": "string" } }),
            Type::Rate => json!({ "type": "number", "exclusiveMinimum": 0 }),
            Type::Whole(min) => json!({ "type": "integer", "minimum": min, "maximum": u32::MAX }),
            Type::Sequence => json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
            Type::Frames => json!({ "enum": FRAMES }),
            Type::Pose => {
                let number = json!({ "type": "number" });
                json!({
                    "type": "object",
                    "properties": { "x": number, "y": number, "z": number, "yaw": number },
                    "required": ["x", "y"],
                    "additionalProperties": false,
                })
            }
            Type::Word(words) => json!({ "enum": words }),
            Type::Action => json!({
                "type": "object",
                "properties": {
                    "type": { "enum": Verb::ALL.map(Verb::name) },
                    "config": { "type": "object" },
                },
                "required": ["type"],
                "additionalProperties": false,
            }),
            Type::Document => json!({ "type": "object" }),
            Type::Any => json!({}),
        }
    }
}
