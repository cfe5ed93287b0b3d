//! What Unitree robots say over WebRTC.

mod binary;
mod explained;
mod files;
mod hostile;
mod messages;
mod services;
mod signalling;

use serde_json::Value;
use sinew_wire::unitree::Message;

use crate::support::{text, vectors};

/// The vectors of one sort.
fn of(what: &str) -> Vec<Value> {
    let mut entries = vectors("unitree.json");
    entries.retain(|entry| entry["what"] == what);
    assert!(!entries.is_empty(), "no vector is a {what}");
    entries
}

fn named(name: &str) -> Value {
    vectors("unitree.json").into_iter().find(|entry| entry["name"] == name).expect(name)
}

fn message(vector: &Value) -> Message {
    Message::parse(text(vector, "text").as_bytes()).unwrap()
}

/// Every text that there is.
fn texts() -> Vec<String> {
    let entries = vectors("unitree.json");
    entries.iter().filter_map(|entry| entry["text"].as_str()).map(String::from).collect()
}
