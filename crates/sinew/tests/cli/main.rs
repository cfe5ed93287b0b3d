//! The binary as a user meets it: arguments in, text or JSON and an exit code out.

#![cfg(feature = "tools")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod decode;
#[cfg(feature = "capture")]
mod dissector;
mod encode;
// The help is that of a build that has everything.
#[cfg(all(feature = "fleet", feature = "foxglove", feature = "g1", feature = "sim"))]
#[path = "../snapshots/golden.rs"]
mod golden;
#[cfg(all(feature = "fleet", feature = "foxglove", feature = "g1", feature = "sim"))]
mod help;
#[cfg(feature = "capture")]
mod inspect;
#[cfg(all(feature = "daemon", feature = "g1"))]
mod map;
#[cfg(feature = "capture")]
mod page;
mod shell;

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::Value;

/// What a run of `sinew` left behind.
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Run {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {}", self.stdout))
    }
}

fn sinew(args: &[&str]) -> Run {
    sinew_with_input(args, b"")
}

fn sinew_with_input(args: &[&str], input: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sinew"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // A program that refuses its arguments does not read: that is not our failure.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn vectors(file: &str) -> Vec<Value> {
    let path = format!("{}/../../vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap()
}

/// Whether two JSON values agree, numbers to within `tolerance`; `got` may have more members.
fn agree(wanted: &Value, got: &Value, tolerance: f64) -> bool {
    match (wanted, got) {
        (Value::Number(a), Value::Number(b)) => {
            (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() <= tolerance
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b, tolerance))
        }
        (Value::Object(a), Value::Object(_)) => {
            a.iter().all(|(name, value)| agree(value, &got[name], tolerance))
        }
        (a, b) => a == b,
    }
}
