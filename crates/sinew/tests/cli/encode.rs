use serde_json::{Value, json};
use sinew_wire::gd32::{Field, MESSAGES, Meaning, Sender};

use crate::{sinew, text, vectors};

fn encoded(args: &[&str]) -> String {
    let run = sinew(&[&["encode"], args].concat());
    assert_eq!(run.code, 0, "{args:?}: {}", run.stderr);
    run.stdout.trim().to_owned()
}

#[test]
fn every_serial_vector_comes_out_by_number() {
    for vector in vectors("gd32.json") {
        // Captures show a check in 0x08; the form without is only received.
        if text(&vector, "source").contains("received only") {
            continue;
        }
        let command = vector["command"].to_string();
        let payload = text(&vector, "payload");
        let hex = encoded(&["gd32", "--command", &command, "--payload", payload]);
        assert_eq!(hex, text(&vector, "frame"));
    }
}

#[test]
fn typed_serial_commands_match_the_vectors() {
    let frames = vectors("gd32.json");
    let frame = |name: &str| {
        let vector = frames.iter().find(|vector| text(vector, "name") == name);
        text(vector.unwrap(), "frame").to_owned()
    };
    for (name, args) in [
        ("boot 1", &["protocol-sync"][..]),
        ("boot 2", &["version"]),
        ("boot 4", &["reset-error-code"]),
        ("boot 6", &["lidar-config"]),
        ("boot 7", &["lidar-query"]),
        ("boot 8", &["lidar-power", "--state", "off"]),
        ("boot 9", &["unknown-sensor"]),
        ("boot 11", &["motor-mode", "--mode", "0"]),
        ("boot 13", &["side-brush", "--percent", "0"]),
        ("boot 14", &["main-brush", "--percent", "0"]),
        ("boot 16", &["initialize"]),
        ("boot 17", &["lidar-enable"]),
        ("boot 18", &["unknown-lidar"]),
        ("handshake", &["motor-init"]),
        ("velocity 0.2 m/s, 0 rad/s", &["velocity", "--linear", "0.2", "--angular", "0"]),
        ("velocity -0.15 m/s, 0.5 rad/s", &["velocity", "--linear", "-0.15", "--angular", "0.5"]),
        ("wheel speeds 0.1 / 0.2 m/s", &["wheel-speed", "--left", "0.1", "--right", "0.2"]),
        ("vacuum 75 %", &["vacuum", "--percent", "75"]),
        ("lidar pwm 60 %", &["lidar-pwm", "--percent", "60"]),
        ("led 4", &["led", "--state", "4"]),
        ("imu state query", &["imu-state"]),
        ("lidar prep", &["lidar-prepare"]),
    ] {
        assert_eq!(encoded(&[&["gd32"], args].concat()), frame(name), "{name}");
    }
}

#[test]
fn every_message_of_the_host_is_encoded_by_its_word_and_decoded_to_what_was_given() {
    for entry in MESSAGES.iter().filter(|entry| entry.sender == Sender::Host) {
        let given: Vec<(&str, &str, Value)> = entry.fields.iter().filter_map(given).collect();
        let mut args = vec!["gd32".to_owned(), entry.word.unwrap().to_owned()];
        args.extend(
            given.iter().flat_map(|(name, value, _)| [format!("--{name}"), (*value).into()]),
        );
        let frame = encoded(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let elements = sinew(&["decode", "--json", "--from", "host", &frame]).json();
        let decoded = &elements[0];
        assert_eq!(decoded["command"], entry.command.code(), "{args:?}");
        assert_eq!(decoded["name"], entry.command.name(), "{args:?}");
        for (name, _, shown) in given {
            assert_eq!(decoded["fields"][name], shown, "{args:?}");
        }
    }
}

/// A field's flag, a value for it, and the value as it is decoded.
fn given(field: &Field) -> Option<(&'static str, &'static str, Value)> {
    let (value, shown) = match field.meaning {
        Meaning::Always(..) => return None,
        Meaning::Byte | Meaning::Led | Meaning::Named(_) => ("0x12", json!(0x12)),
        Meaning::Percent | Meaning::WidePercent => ("42", json!(42)),
        Meaning::Power => ("42", json!(42.0)),
        Meaning::Choice([.., choice]) => (choice.word, json!(choice.value)),
        Meaning::Speed(_) | Meaning::WheelSpeed => ("-0.25", json!(-0.25)),
        Meaning::Bytes(3) => ("c0ffee", json!("c0ffee")),
        Meaning::Bytes(4) => ("0badcafe", json!("0badcafe")),
        other => panic!("no value for {other:?}"),
    };
    Some((field.name, value, shown))
}

#[test]
fn an_empty_payload_is_fine() {
    assert_eq!(encoded(&["gd32", "--command", "6", "--payload", ""]), "fafb03060006");
    assert_eq!(encoded(&["gd32", "--command", "0x06"]), "fafb03060006");
}

#[test]
fn typed_teaching_commands_match_the_vectors_in_both_layouts() {
    for vector in vectors("teach.json") {
        for layout in ["documented", "compact"] {
            let mut args = vec!["teach".to_owned()];
            args.extend(typed(&vector));
            args.extend(["--layout", layout, "--sequence"].map(String::from));
            args.push(vector["sequence"].to_string());
            let args: Vec<_> = args.iter().map(String::as_str).collect();
            assert_eq!(encoded(&args), text(&vector, layout), "{args:?}");
        }
    }
}

/// The arguments that encode a vector.
fn typed(vector: &Value) -> Vec<String> {
    let fields = &vector["fields"];
    let list = |value: &Value| {
        let numbers: Vec<_> = value.as_array().unwrap().iter().map(Value::to_string).collect();
        numbers.join(",")
    };
    let option = |name: &str, value: String| [format!("--{name}"), value];
    let keyframes = || {
        let keyframes = fields["keyframes"].as_array().unwrap();
        keyframes.iter().flat_map(|k| ["--keyframe".into(), list(k).replace(',', ":")])
    };
    let number = |name: &str| fields[name].to_string();
    let mut args: Vec<String> = Vec::new();
    match vector["command"].as_u64().unwrap() {
        _ if fields.get("status").is_some() => {
            args.push("answer".into());
            args.extend(option("to", vector["command"].to_string()));
            args.extend(option("status", number("status")));
        }
        0x09 => args.push("control-mode".into()),
        0x0A => args.push("parameter-sync".into()),
        0x0B if fields.get("positions").is_some() => {
            args.push("status".into());
            args.extend(option("positions", list(&fields["positions"])));
            args.extend(option("velocities", list(&fields["velocities"])));
            args.extend(option("time-ms", number("time_ms")));
            args.extend(option("mode", number("mode")));
            args.extend(option("flags", number("flags")));
        }
        0x0B => args.push("subscribe".into()),
        0x0C => args.push("ready".into()),
        0x0D if fields.get("positions").is_some() => {
            args.push("enter".into());
            for name in ["positions", "velocities", "imu", "feet"] {
                args.extend(option(name, list(&fields[name])));
            }
            args.extend(option("time-ms", number("timestamp_ms")));
        }
        0x0D => args.push("maintain".into()),
        0x0E => args.push("exit".into()),
        0x0F if fields["recording"] == true => args.extend(["record", "--start"].map(String::from)),
        0x0F => args.extend(["record", "--stop"].map(String::from)),
        0x1A if fields.get("actions").is_some() => {
            args.push("actions".into());
            for action in fields["actions"].as_array().unwrap() {
                let pair = format!("{}={}", text(action, "name"), action["metadata"]);
                args.extend(option("action", pair));
            }
        }
        0x1A => args.push("list".into()),
        0x2B => {
            args.push("save".into());
            args.extend(option("name", text(fields, "name").into()));
            args.extend(option("timestamp", number("timestamp")));
            args.extend(option("duration-ms", number("duration_ms")));
            args.extend(option("frames", number("frame_count")));
            args.extend(option("flags", number("flags")));
            args.extend(keyframes());
        }
        0x41 => {
            args.push("play".into());
            args.extend(option("id", number("action_id")));
            args.extend(option("frames", number("frame_count")));
            args.extend(option("duration-ms", number("duration_ms")));
            args.extend(option("interpolation", text(fields, "interpolation").into()));
            args.extend(keyframes());
        }
        other => panic!("no such command: {other}"),
    }
    args
}

#[test]
fn what_cannot_be_encoded_is_refused_with_a_reason() {
    let long_name = "x".repeat(32);
    let payload = "00".repeat(253);
    for (args, code, reason) in [
        (&["gd32", "--command", "1", "--payload", &payload][..], 1, "at most 252"),
        (&["gd32", "velocity", "--linear", "nan", "--angular", "0"], 1, "finite"),
        (&["gd32", "velocity", "--linear", "0.1"], 2, "--angular"),
        (&["gd32", "vacuum", "--percent", "101"], 2, "101"),
        (&["gd32", "--command", "256"], 2, "too large"),
        (&["gd32", "--command", "1", "--payload", "0"], 2, "odd number"),
        (&["gd32"], 2, "--command"),
        (&["teach", "save", "--name", &long_name], 1, "1 to 31"),
        (&["teach", "save", "--name", ""], 1, "1 to 31"),
        (&["teach", "save", "--name", "x", "--duration-ms", "65536"], 1, "65535"),
        (&["teach", "play", "--id", "0"], 1, "1 to 15"),
        (&["teach", "play", "--id", "16"], 1, "1 to 15"),
        (&["teach", "enter", "--flags", "1", "--layout", "compact"], 1, "compact layout"),
        (&["teach", "enter", "--positions", "1,2"], 1, "12 numbers"),
        (&["teach", "record"], 2, "--start"),
        (&["teach"], 2, "--command"),
    ] {
        let run = sinew(&[&["encode"], args].concat());
        assert_eq!(run.code, code, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(reason), "{args:?}: {}", run.stderr);
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn json_is_printed_when_asked_for() {
    let run = sinew(&["encode", "gd32", "heartbeat", "--json"]);
    assert_eq!(run.json(), json!({ "proto": "gd32", "length": 6, "hex": "fafb03060006" }));
}
