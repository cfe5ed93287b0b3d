//! The messages of SangamIO's later interface: protobuf (proto3, package `sangamio`).
//!
//! ```text
//! Message          1 topic   oneof { 2 SensorGroup   3 Command }
//! SensorGroup      1 group_id   2 timestamp_us   3 map<string, SensorValue> values
//! SensorValue      oneof { 1 bool  2 uint32  3 uint64  4 int32  5 int64  6 float  7 double
//!                          8 string  9 bytes  10 Vector3  11 PointCloud2D }
//! Vector3          1 x  2 y  3 z        PointCloud2D  1 repeated LidarPoint
//! LidarPoint       1 angle_rad  2 distance_m  3 quality
//! Command          oneof { 1 ComponentControl  2 ProtocolSync  3 Shutdown }
//! ComponentControl 1 id   2 ComponentAction
//! ComponentAction  1 type   2 map<string, SensorValue> config
//! ```
//!
//! What clients send becomes the JSON of the same command, what they are sent is made of the JSON of
//! the same sensor group: both interfaces mean the same by them.

mod fields;

use serde_json::{Map, Value, json};
use sinew_robot::drive::ID as DRIVE;

use self::fields::{Content, Fields, Wrong, put_bytes, put_double, put_float, put_number};

/// Values of a config; no component takes as many.
const MOST_VALUES: usize = 32;

/// The types of actions, by their numbers. The first is what is meant where none is given.
const ACTIONS: [&str; 4] = ["Enable", "Disable", "Reset", "Configure"];

/// What a client asks, as document 003's interface would have it.
///
/// Shutdown would end the daemon that these clients know. Of this one it is the emergency stop: its
/// client wants the robot to be left alone, and to end a daemon takes more than reaching a port.
pub(crate) fn command(message: &[u8]) -> Result<Value, Wrong> {
    match Fields(payload(message)?).pick([1, 2, 3])? {
        [Some(control), None, None] => component_control(control.bytes()?),
        [None, Some(_), None] => Ok(json!({ "type": "ProtocolSync" })),
        [None, None, Some(_)] => Ok(control(DRIVE, &json!({ "type": "Reset" }))),
        [None, None, None] => Err("it has no command that is known"),
        _ => Err("it has several commands"),
    }
}

/// Whether a message asks for a stop: looking costs little, and takes no memory.
pub(crate) fn stops(message: &[u8]) -> bool {
    let look = || -> Result<bool, Wrong> {
        let [control, shutdown] = Fields(payload(message)?).pick([1, 3])?;
        let Some(control) = control else { return Ok(shutdown.is_some()) };
        let [id, action] = Fields(control.bytes()?).pick([1, 2])?;
        let (Some(id), Some(action)) = (id, action) else { return Ok(false) };
        let [kind] = Fields(action.bytes()?).pick([1])?;
        Ok(id.bytes()? == DRIVE.as_bytes() && matches!(kind, Some(Content::Varint(1 | 2))))
    };
    look().unwrap_or(false)
}

/// The `Command` of a message.
fn payload(message: &[u8]) -> Result<&[u8], Wrong> {
    let [command] = Fields(message).pick([3])?;
    command.ok_or("it is no command")?.bytes()
}

fn component_control(message: &[u8]) -> Result<Value, Wrong> {
    let [id, action] = Fields(message).pick([1, 2])?;
    let id = id.map_or(Ok(""), Content::text)?;
    // Enable is written as no type at all, but not as no action.
    let action = action.ok_or("it has no action")?.bytes()?;
    let [kind] = Fields(action).pick([1])?;
    let kind = kind.map_or(Ok(0), Content::varint)?;
    let known = usize::try_from(kind).ok().and_then(|kind| ACTIONS.get(kind));
    // Nothing that stands beside it keeps a stop from stopping.
    let config = match (id, kind) {
        (DRIVE, 1 | 2) => Map::new(),
        _ => config(action)?,
    };
    let kind = known.map_or_else(|| Value::from(kind), |name| Value::from(*name));
    Ok(control(
        id,
        &match config.is_empty() {
            true => json!({ "type": kind }),
            false => json!({ "type": kind, "config": config }),
        },
    ))
}

fn control(id: &str, action: &Value) -> Value {
    json!({ "type": "ComponentControl", "id": id, "action": action })
}

/// The values of an action, by their names.
fn config(action: &[u8]) -> Result<Map<String, Value>, Wrong> {
    let mut config = Map::new();
    for field in Fields(action) {
        let (2, entry) = field? else { continue };
        let [key, value] = Fields(entry.bytes()?).pick([1, 2])?;
        let key = key.map_or(Ok(""), Content::text)?;
        let value = value.map_or(Ok(&[][..]), Content::bytes)?;
        if config.insert(key.into(), typed(value)?).is_some() {
            return Err("a value stands in its config twice");
        }
        if config.len() > MOST_VALUES {
            return Err("its config has too many values");
        }
    }
    Ok(config)
}

/// A value with its type. One that is missing, or of which no config is made, is null, and so is a
/// number that is none: the component says what it wants.
fn typed(value: &[u8]) -> Result<Value, Wrong> {
    let mut picked = Value::Null;
    for field in Fields(value) {
        let (number, content) = field?;
        let typed = match (number, content) {
            (1, Content::Varint(on)) => Value::from(on != 0),
            (2, Content::Varint(number)) => json!({ "U32": number }),
            (3, Content::Varint(number)) => json!({ "U64": number }),
            (4, Content::Varint(number)) => json!({ "I32": number as i64 }),
            (5, Content::Varint(number)) => json!({ "I64": number as i64 }),
            (6, Content::Four(bytes)) => json!({ "F32": f64::from(f32::from_le_bytes(bytes)) }),
            (7, Content::Eight(bytes)) => json!({ "F64": f64::from_le_bytes(bytes) }),
            (8, content) => Value::from(content.text()?),
            (1..=7, _) => return Err("a value is not of the type that it says"),
            _ => continue,
        };
        if !picked.is_null() {
            return Err("a value has several types");
        }
        picked = typed;
    }
    Ok(picked)
}

/// The message with a sensor group, of the group's JSON; none if that is no sensor group. Values of
/// types that the interface does not have are left out.
pub fn sensors(group: &str) -> Option<Vec<u8>> {
    let group: Value = serde_json::from_str(group).ok()?;
    let id = group["group_id"].as_str()?;
    let mut message = Vec::new();
    put_bytes(1, format!("sensors/{id}").as_bytes(), &mut message);
    let mut written = Vec::new();
    put_bytes(1, id.as_bytes(), &mut written);
    put_number(2, group["timestamp_us"].as_u64()?, &mut written);
    let mut entry = Vec::new();
    for (name, value) in group["values"].as_object()? {
        let Some(value) = sensor_value(value) else { continue };
        entry.clear();
        put_bytes(1, name.as_bytes(), &mut entry);
        put_bytes(2, &value, &mut entry);
        put_bytes(3, &entry, &mut written);
    }
    put_bytes(2, &written, &mut message);
    Some(message)
}

/// A value by its type. It is written even if it is 0: clients take an absent one for missing.
fn sensor_value(value: &Value) -> Option<Vec<u8>> {
    let (tag, value) = value.as_object()?.iter().next()?;
    let mut out = Vec::new();
    match tag.as_str() {
        "Bool" => put_number(1, value.as_bool()?.into(), &mut out),
        "U8" | "U16" | "U32" => put_number(2, value.as_u64()?, &mut out),
        "U64" => put_number(3, value.as_u64()?, &mut out),
        // Not zigzag: a negative one has ten bytes.
        "I8" | "I16" | "I32" => put_number(4, value.as_i64()? as u64, &mut out),
        "I64" => put_number(5, value.as_i64()? as u64, &mut out),
        "F32" => put_float(6, value.as_f64()? as f32, &mut out),
        "F64" => put_double(7, value.as_f64()?, &mut out),
        "String" => put_bytes(8, value.as_str()?.as_bytes(), &mut out),
        "Bytes" => {
            let bytes = value.as_array()?.iter().map(|byte| byte.as_u64()?.try_into().ok());
            put_bytes(9, &bytes.collect::<Option<Vec<u8>>>()?, &mut out);
        }
        "Vector3" => put_bytes(10, &vector(value)?, &mut out),
        "PointCloud2D" => put_bytes(11, &cloud(value)?, &mut out),
        _ => return None,
    }
    Some(out)
}

fn vector(value: &Value) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for (field, number) in (1..=3).zip(value.as_array()?) {
        put_float(field, number.as_f64()? as f32, &mut out);
    }
    Some(out)
}

fn cloud(value: &Value) -> Option<Vec<u8>> {
    let (mut out, mut point) = (Vec::new(), Vec::new());
    for measured in value.as_array()? {
        let [angle, distance, quality] = measured.as_array()?.as_slice() else { return None };
        point.clear();
        put_float(1, angle.as_f64()? as f32, &mut point);
        put_float(2, distance.as_f64()? as f32, &mut point);
        put_number(3, quality.as_u64()?, &mut point);
        put_bytes(1, &point, &mut out);
    }
    Some(out)
}
