//! Every request in the project's `vectors/teach.json`, as bytes that Sinew's codec did not make.

use std::{fs, path::Path};

use serde_json::Value;
use sinew_sim::g1::{Code, Mode, Options};
use sinew_wire::teach::Sequence;

use crate::support::*;

fn vectors() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/teach.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn hex(digits: &str) -> Vec<u8> {
    let pair = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(pair).collect()
}

/// What a robot that is being taught, with one action in its store, makes of a request.
fn expected(name: &str) -> (Option<Code>, Mode) {
    match name {
        "list request" => (None, Mode::Teaching),
        "exit teaching" => (Some(Code::Success), Mode::Idle),
        "record start" => (Some(Code::Success), Mode::Recording),
        "record stop" => (Some(Code::NothingRecorded), Mode::Teaching),
        // The second is not stored, and need not be.
        "play action 1" | "play action 2, cubic, 4 s, with keyframes" => {
            (Some(Code::Success), Mode::Playing)
        }
        "save with a multi-byte name" => (Some(Code::NothingRecorded), Mode::Teaching),
        _ => (Some(Code::Success), Mode::Teaching),
    }
}

#[test]
fn every_request_is_handled_in_both_layouts() {
    let mut count = 0;
    for vector in vectors() {
        let name = vector["name"].as_str().unwrap();
        // Two lists came into the file before robots' datagrams were marked.
        if vector["fields"]["from"] == "robot" || name.starts_with("list response") {
            continue;
        }
        for layout in LAYOUTS {
            let mut bench = Bench::with(vec![stored("ramp", &[(15, 0, 0.0), (15, 1000, 1.0)])]);
            bench.enter();
            bench.heard.clear();
            let bytes = hex(vector[layout.to_string()].as_str().unwrap());
            bench.bytes(client(1), &bytes);
            let heard = &bench.heard[0];
            let sequence = vector["sequence"].as_u64().unwrap() as u16;
            assert_eq!(heard.datagram().sequence, Sequence(sequence).next(), "{name}");
            assert_eq!(heard.datagram().layout, layout, "{name}");
            assert_eq!(Value::from(heard.datagram().command), vector["command"], "{name}");
            assert_eq!((heard.code(), bench.robot.mode()), expected(name), "{name}");
        }
        count += 1;
    }
    assert_eq!(count, 15);
}

#[test]
fn the_saves_are_stored_with_their_names_and_times() {
    let mut bench = Bench::new(Options { operator: None, ..Options::default() });
    bench.enter();
    bench.done(&START);
    bench.run(ms(1500));
    bench.done(&STOP);
    for vector in vectors().iter().filter(|vector| vector["fields"]["timestamp"].is_u64()) {
        let bytes = hex(vector["documented"].as_str().unwrap());
        bench.bytes(client(1), &bytes);
        assert_eq!(bench.heard.last().unwrap().code(), Some(Code::Success));
        let stored = bench.robot.actions().last().unwrap();
        assert_eq!(Value::from(stored.name.as_str()), vector["fields"]["name"]);
        assert_eq!(Value::from(stored.saved_at), vector["fields"]["timestamp"]);
        assert_eq!(Value::from(stored.duration_ms), vector["fields"]["duration_ms"]);
        assert_eq!(Value::from(stored.flags), vector["fields"]["flags"]);
    }
    assert_eq!(bench.robot.actions().len(), 3);
}

#[test]
fn what_robots_send_changes_nothing_but_a_list() {
    for vector in vectors().iter().filter(|vector| vector["fields"]["from"] == "robot") {
        let mut bench = Bench::still();
        bench.bytes(client(1), &hex(vector["documented"].as_str().unwrap()));
        assert_eq!((bench.robot.mode(), bench.stores), (Mode::Idle, 0));
        assert_eq!(bench.robot.joints(), [0.0; 12]);
    }
}
