//! What drivers say about themselves, in the interface's words.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Map, Value};

/// A link's state with the reason why it is down.
pub fn link_json(link: &impl Serialize, reason: Option<String>) -> Value {
    let mut value = serde_json::to_value(link).unwrap_or_default();
    if let Some(reason) = reason {
        value["reason"] = reason.into();
    }
    value
}

/// The members of a state.
pub fn members(state: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(state) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// Now, in microseconds of Unix time.
pub fn timestamp_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_micros() as u64
}
