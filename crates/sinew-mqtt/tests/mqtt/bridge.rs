//! What is published, and what commands mean.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sinew_api::{Command, RobotReport};
use sinew_mqtt::{Action, Bridge, Names, Output, Publish};
use sinew_robot::{Code, Refusal};

pub(crate) fn names() -> Names {
    Names { prefix: "sinew".into(), discovery: "homeassistant".into(), node: "flat".into() }
}

pub(crate) fn vacuum(members: Value) -> RobotReport {
    let mut report = json!({
        "name": "vacuum", "kind": "crl200s", "link": { "state": "ready" },
        "capabilities": ["drive", "components", "sensors", "mapping"], "sensors": ["gd32_status"],
        "holder": null, "stopped_by": null, "last_seen_ms": 4, "fresh": true,
        "state": {
            "battery_percent": 75, "battery_volts": 15.04, "is_charging": true,
            "is_dock_connected": true, "bumper_left": false, "docking": null, "led": 1, "vacuum": 0,
            "main_brush": 0, "side_brush": null, "version": "7.1", "distance": 1.26,
            "map": { "mapping": false, "voxels": 0 },
        },
    });
    merge(&mut report, members);
    serde_json::from_value(report).expect("is a report")
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn humanoid() -> RobotReport {
    let report = json!({
        "name": "g1", "kind": "g1", "link": { "state": "ready" }, "capabilities": ["sensors", "teach"],
        "sensors": [], "holder": null, "stopped_by": null, "last_seen_ms": 4, "fresh": true,
        "state": { "battery": { "percent": 90.0, "volts": 51.2 }, "playing": null, "faults": [{}, {}] },
    });
    serde_json::from_value(report).expect("is a report")
}

struct Bench {
    bridge: Bridge,
    now: Instant,
    states: u32,
}

impl Bench {
    fn new() -> Self {
        Bench { bridge: Bridge::new(names()), now: Instant::now(), states: 0 }
    }

    /// A vacuum at a broker, with all said that there is to say.
    fn with_vacuum() -> Self {
        let mut bench = Self::new();
        bench.bridge.state(bench.now, vacuum(json!({})));
        bench.bridge.up(bench.now);
        bench.outputs();
        bench
    }

    fn outputs(&mut self) -> Vec<Output> {
        std::iter::from_fn(|| self.bridge.poll(self.now)).collect()
    }

    fn pass(&mut self, ms: u64) -> Vec<Output> {
        self.now += Duration::from_millis(ms);
        self.outputs()
    }

    fn published(&mut self) -> Vec<Publish> {
        self.outputs().into_iter().filter_map(publish).collect()
    }

    fn command(&mut self, leaf: &str, payload: &str) -> Vec<Output> {
        let topic = format!("sinew/flat/vacuum/{leaf}");
        self.bridge.message(self.now, &topic, payload.as_bytes(), false);
        self.outputs()
    }

    /// A return to the dock that was accepted.
    fn returning(&mut self) {
        let outputs = self.command("command", "return_to_base");
        assert!(outputs.iter().any(|output| matches!(output, Output::Ask { lasts: true, .. })));
        self.bridge.acknowledged();
        self.bridge.answered(self.now, "vacuum", &Command::Dock, Ok(()));
        self.bridge.state(self.now, vacuum(json!({ "state": { "docking": "navigation" } })));
        self.outputs();
    }

    fn error(&mut self) -> Value {
        // Another one than before, so that it is published.
        self.states += 1;
        let report = vacuum(json!({ "state": { "distance": self.states } }));
        self.bridge.state(self.now, report);
        let state = self.published().into_iter().rfind(|message| message.topic.ends_with("/state"));
        json_of(&state.expect("has changed"))["error"].clone()
    }
}

fn publish(output: Output) -> Option<Publish> {
    match output {
        Output::Publish(publish) => Some(publish),
        _ => None,
    }
}

fn json_of(message: &Publish) -> Value {
    serde_json::from_slice(&message.payload).expect("is JSON")
}

fn is_halt(output: &Output) -> bool {
    *output == Output::Halt("vacuum".into())
}

fn asked(outputs: &[Output]) -> Vec<Value> {
    let commands = outputs.iter().filter_map(|output| match output {
        Output::Ask { commands, .. } => Some(commands),
        _ => None,
    });
    commands.flatten().map(Command::to_value).collect()
}

#[test]
fn a_robot_is_made_known_before_its_state_and_all_of_it_is_kept() {
    let mut bench = Bench::new();
    bench.bridge.up(bench.now);
    bench.outputs();
    bench.bridge.state(bench.now, vacuum(json!({})));
    let published = bench.published();
    let topics: Vec<_> = published.iter().map(|message| &*message.topic).collect();
    assert_eq!(
        topics,
        [
            "homeassistant/device/sinew_flat_vacuum/config",
            "sinew/flat/vacuum/availability",
            "sinew/flat/vacuum/state",
        ]
    );
    assert!(published.iter().all(|message| message.retain));
    let config = json_of(&published[0]);
    let components = config["components"].as_object().expect("is an object");
    let ids: std::collections::BTreeSet<_> =
        components.values().map(|component| component["unique_id"].to_string()).collect();
    assert_eq!(ids.len(), components.len(), "ids are unique");
    assert_eq!(components["vacuum"]["platform"], "vacuum");
    assert_eq!(components["led"]["options"].as_array().map(Vec::len), Some(19));
    assert_eq!(components["map"]["platform"], "image");
    assert!(!components.contains_key("teaching"));
    let state = json_of(&published[2]);
    // All that is announced has a value, be it null.
    for (key, component) in components {
        if let Some(template) = component["value_template"].as_str() {
            let member = template.trim_matches(['{', '}', ' ']).strip_prefix("value_json.");
            let member = member.unwrap_or_else(|| panic!("{key}: {template}"));
            assert!(state.get(member).is_some(), "{member} in {state}");
        }
    }
    assert_eq!(state["state"], "docked");
    assert_eq!(state["fan_speed"], "strong");
    assert_eq!((&state["battery"], &state["voltage"]), (&json!(75.0), &json!(15.0)));
    assert_eq!((&state["charging"], &state["bumper_left"]), (&json!("ON"), &json!("OFF")));
    assert_eq!(state["side_brush"], Value::Null);
}

#[test]
fn only_what_changed_is_published_and_all_when_home_assistant_comes_back() {
    let mut bench = Bench::with_vacuum();
    bench.bridge.state(bench.now, vacuum(json!({ "last_seen_ms": 9 })));
    assert_eq!(bench.published(), []);
    bench.bridge.state(bench.now, vacuum(json!({ "state": { "battery_percent": 74 } })));
    assert_eq!(bench.published().len(), 1);
    bench.bridge.message(bench.now, "homeassistant/status", b"online", true);
    let topics: Vec<_> = bench.published().into_iter().map(|message| message.topic).collect();
    assert_eq!(topics.len(), 4, "{topics:?}");
    bench.bridge.down();
    bench.bridge.state(bench.now, vacuum(json!({ "fresh": false })));
    assert_eq!(bench.published(), [], "there is no broker");
    bench.bridge.up(bench.now);
    let published = bench.published();
    let offline = |message: &Publish| {
        message.topic.ends_with("/availability") && message.payload == b"offline"
    };
    assert!(published.iter().any(offline), "{published:?}");
}

#[test]
fn a_start_sucks_and_brushes_and_does_not_drive() {
    let mut bench = Bench::with_vacuum();
    assert!(asked(&bench.command("fan_speed", "quiet")).is_empty(), "it does not suck yet");
    let asked_for = asked(&bench.command("command", "start"));
    let ids: Vec<_> =
        asked_for.iter().map(|command| command["id"].as_str().expect("has one")).collect();
    assert_eq!(ids, ["vacuum", "main_brush", "side_brush"]);
    assert_eq!(asked_for[0]["action"]["config"]["speed"]["U8"], 25);
    let report = vacuum(json!({ "state": { "vacuum": 25 } }));
    bench.bridge.state(bench.now, report);
    let asked_for = asked(&bench.command("fan_speed", "max"));
    assert_eq!(asked_for[0]["action"]["config"]["speed"]["U8"], 100);
}

#[test]
fn a_light_is_chosen_by_what_home_assistant_shows() {
    let mut bench = Bench::with_vacuum();
    let asked_for = asked(&bench.command("led", "11 blue, medium blink: working"));
    assert_eq!(asked_for[0]["action"]["config"]["state"]["U8"], 11);
    assert!(asked(&bench.command("led", "blue")).is_empty());
}

#[test]
fn what_is_kept_long_unknown_or_no_text_is_not_carried_out_and_said() {
    let mut bench = Bench::with_vacuum();
    let long = "start".repeat(100);
    for (leaf, payload, retained) in [
        ("command", b"start".as_slice(), true),
        ("command", b"return_to_base", true),
        ("command", b"clean_spot", false),
        ("command", b"\xff\xfe", false),
        ("command", long.as_bytes(), false),
        ("fan_speed", b"hurricane", false),
        ("play", b"wave", false),
        ("velocity", b"0.3", false),
    ] {
        let topic = format!("sinew/flat/vacuum/{leaf}");
        bench.bridge.message(bench.now, &topic, payload, retained);
        let outputs = bench.outputs();
        let acts = |output: &Output| !matches!(output, Output::Publish(_));
        assert!(!outputs.iter().any(acts), "{leaf} {payload:?}: {outputs:?}");
        assert!(bench.error().is_string(), "{leaf} {payload:?}");
        // What is carried out is no error.
        bench.command("command", "start");
        assert_eq!(bench.error(), Value::Null);
    }
    for topic in
        ["sinew/flat/other/command", "sinew/flatter/vacuum/command", "sinew/flat/command", "x"]
    {
        bench.bridge.message(bench.now, topic, b"start", false);
        assert_eq!(bench.outputs(), [], "{topic}");
    }
}

#[test]
fn a_return_needs_a_broker_that_acknowledges() {
    let mut bench = Bench::with_vacuum();
    bench.returning();
    // As long as it does, it goes on.
    for _ in 0..20 {
        let outputs = bench.pass(500);
        let beats =
            |output: &&Output| matches!(output, Output::Publish(Publish { acknowledge: true, .. }));
        assert_eq!(outputs.iter().filter(beats).count(), 1, "{outputs:?}");
        assert!(!outputs.iter().any(is_halt));
        bench.bridge.acknowledged();
    }
    assert!(!bench.pass(500).iter().any(is_halt), "a beat that is not acknowledged");
    assert!(!bench.pass(1999).iter().any(is_halt));
    assert!(bench.pass(1).iter().any(is_halt));
    assert!(!bench.pass(60_000).iter().any(is_halt), "once");
    assert!(bench.error().as_str().is_some_and(|text| text.contains("broker")));
}

#[test]
fn a_return_ends_with_the_broker_with_home_assistant_and_with_a_stop() {
    let mut bench = Bench::with_vacuum();
    bench.returning();
    bench.bridge.down();
    assert_eq!(bench.outputs().iter().filter(|output| is_halt(output)).count(), 1);
    let mut bench = Bench::with_vacuum();
    bench.returning();
    bench.bridge.message(bench.now, "homeassistant/status", b"offline", false);
    assert!(bench.outputs().iter().any(is_halt));
    let mut bench = Bench::with_vacuum();
    bench.returning();
    assert!(bench.command("command", "stop").iter().any(is_halt));
    assert!(!bench.pass(60_000).iter().any(is_halt), "nothing is left to end");
}

#[test]
fn a_return_that_is_over_frees_the_controls() {
    for over in [
        json!({ "event": "dock", "dock": "arrived" }),
        json!({ "event": "dock", "dock": "gave_up", "reason": "lost" }),
    ] {
        let mut bench = Bench::with_vacuum();
        bench.returning();
        bench.bridge.event(bench.now, "vacuum", &over);
        assert!(bench.outputs().contains(&Output::Leave("vacuum".into())));
    }
    let mut bench = Bench::with_vacuum();
    bench.returning();
    bench.bridge.state(bench.now, vacuum(json!({})));
    assert!(bench.outputs().contains(&Output::Leave("vacuum".into())), "another client stopped it");
    let mut bench = Bench::with_vacuum();
    bench.command("command", "return_to_base");
    let refusal = Refusal::new(Code::Busy, "ann holds the controls");
    bench.bridge.answered(bench.now, "vacuum", &Command::Dock, Err(refusal));
    assert!(bench.outputs().contains(&Output::Leave("vacuum".into())));
    assert_eq!(bench.error(), "ann holds the controls");
    let mut bench = Bench::with_vacuum();
    bench.command("command", "return_to_base");
    bench.bridge.acknowledged();
    bench.bridge.answered(bench.now, "vacuum", &Command::Dock, Ok(()));
    // A state from before the return began.
    bench.bridge.state(bench.now, vacuum(json!({ "last_seen_ms": 8 })));
    assert!(!bench.outputs().contains(&Output::Leave("vacuum".into())));
    assert!(bench.pass(3000).contains(&Output::Leave("vacuum".into())), "it was never seen");
}

#[test]
fn actions_are_buttons_that_come_and_go() {
    let mut bench = Bench::new();
    bench.bridge.up(bench.now);
    bench.bridge.state(bench.now, humanoid());
    assert!(bench.outputs().contains(&Output::List("g1".into())));
    let action = |id, name: &str| Action { id, name: name.into() };
    bench.bridge.actions("g1", vec![action(1, "wave"), action(2, "bow")]);
    let published = bench.published();
    let config = json_of(&published[0]);
    assert_eq!(config["components"]["play_1"]["payload_press"], "wave");
    assert_eq!(config["components"]["faults"]["platform"], "sensor");
    bench.bridge.message(bench.now, "sinew/flat/g1/play", b"bow", false);
    let asked_for = asked(&bench.outputs());
    assert_eq!(asked_for, [json!({ "type": "Teach", "op": "play", "name": "bow" })]);
    // What has gone is removed first: a component of which nothing but the platform is said.
    bench.bridge.actions("g1", vec![action(1, "wave")]);
    let configs: Vec<_> = bench.published().iter().map(json_of).collect();
    assert_eq!(configs[0]["components"]["play_2"], json!({ "platform": "button" }));
    assert_eq!(configs[1]["components"].get("play_2"), None);
    bench.bridge.message(bench.now, "sinew/flat/g1/play", b"bow", false);
    assert!(asked(&bench.outputs()).is_empty());
    // Something happened: it may have been saved.
    bench.bridge.event(bench.now, "g1", &json!({ "event": "saved" }));
    assert!(bench.pass(1000).contains(&Output::List("g1".into())));
}

#[test]
fn a_map_is_asked_for_when_it_has_changed_and_not_too_often() {
    let mut bench = Bench::with_vacuum();
    let map =
        |voxels: u64| vacuum(json!({ "state": { "map": { "mapping": true, "voxels": voxels } } }));
    let mut pictures = 0;
    for turn in 1..=50 {
        bench.bridge.state(bench.now, map(turn));
        pictures +=
            bench.pass(1000).iter().filter(|it| **it == Output::Picture("vacuum".into())).count();
    }
    assert_eq!(pictures, 5);
    bench.pass(10_000);
    assert!(!bench.pass(60_000).contains(&Output::Picture("vacuum".into())), "nothing has changed");
    bench.bridge.picture("vacuum", vec![1, 2, 3]);
    assert_eq!(
        bench.published().last().map(|message| message.payload.clone()),
        Some(vec![1, 2, 3])
    );
    bench.bridge.message(bench.now, "homeassistant/status", b"online", false);
    assert!(bench.published().iter().any(|message| message.topic == "sinew/flat/vacuum/map"));
}
