use serde_json::{Value, json};

use crate::{agree, sinew, sinew_with_input, text, vectors};

const VELOCITY: &str = "fafb0b66c80000000000000066c8";
const HEARTBEAT: &str = "fafb03060006";

#[test]
fn every_serial_vector_is_one_valid_frame() {
    for vector in vectors("gd32.json") {
        let run = sinew(&["decode", "--json", text(&vector, "frame")]);
        let elements = run.json();
        let element = &elements[0];
        assert_eq!((run.code, elements.as_array().unwrap().len()), (0, 1), "{vector}");
        assert_eq!(element["proto"], "gd32");
        assert_eq!(element["valid"], true);
        assert_eq!(element["command"], vector["command"]);
        assert_eq!(element["payload"], vector["payload"]);
        assert_eq!(element["length"], text(&vector, "frame").len() / 2);
        assert!(element["fields"].is_object() && element["problems"].is_null(), "{element}");
    }
}

#[test]
fn every_teaching_vector_is_told_with_its_layout_and_fields() {
    for vector in vectors("teach.json") {
        for layout in ["documented", "compact"] {
            let from_robot = vector["fields"]["from"] == "robot";
            let from: &[&str] = if from_robot { &["--from", "robot"] } else { &[] };
            let args = [&["decode", "--json", text(&vector, layout)], from].concat();
            let run = sinew(&args);
            let element = &run.json()[0];
            let mut fields = vector["fields"].clone();
            fields.as_object_mut().unwrap().remove("from");
            assert_eq!(run.code, 0, "{element}");
            assert_eq!(element["proto"], "teach");
            assert_eq!(element["layout"], layout);
            assert_eq!(element["sequence"], vector["sequence"]);
            assert_eq!(element["command"], vector["command"]);
            assert!(agree(&fields, &element["fields"], 1e-6), "{element}");
        }
    }
}

#[test]
fn every_cloud_and_map_vector_gives_its_points() {
    for vector in vectors("slam.json") {
        for (frame, points) in [("map", "points"), ("raw", "raw")] {
            let message = text(&vector, "message");
            let run = sinew(&["decode", "--json", "--points", "--frame", frame, message]);
            let element = &run.json()[0];
            assert_eq!((run.code, &element["proto"]), (0, &json!("slam")));
            assert_eq!(element["reading"], vector["reading"], "{element}");
            assert!(!text(element, "reason").is_empty());
            assert_eq!(element["points"], vector[points].as_array().unwrap().len());
            assert!(agree(&vector[points], &element["coordinates"], 1e-6), "{element}");
        }
    }
    for vector in vectors("voxel.json") {
        let run = sinew(&["decode", "--json", "--points", text(&vector, "message")]);
        let element = &run.json()[0];
        assert_eq!((run.code, &element["proto"]), (0, &json!("voxel")));
        assert!(agree(&vector["points"], &element["coordinates"], 1e-6), "{element}");
        let bounds = json!({ "min": [-3.2, -3.2, -0.5], "max": [3.15, 3.15, -0.4] });
        assert!(agree(&bounds, &element["bounds"], 1e-9), "{element}");
    }
}

#[test]
fn every_unitree_vector_is_recognised() {
    for vector in vectors("unitree.json") {
        let run = match (vector["text"].as_str(), vector["message"].as_str()) {
            (Some(text), _) => sinew_with_input(&["decode", "--json"], text.as_bytes()),
            (None, Some(message)) => sinew(&["decode", "--json", message]),
            (None, None) => continue,
        };
        let element = &run.json()[0];
        assert_eq!(run.code, 0, "{element}");
        let topic = vector["topic"].as_str().unwrap_or_default();
        let proto = match topic {
            "rt/utlidar/voxel_map_compressed" => "voxel",
            "rt/unitree/slam_mapping/points" => "slam",
            _ => "unitree",
        };
        assert_eq!(element["proto"], proto, "{element}");
    }
}

#[test]
fn json_may_stand_on_the_command_line() {
    let message = r#"{"type":"msg","topic":"rt/arm/action/state","data":"{\"holding\":false,\"id\":-1,\"name\":\"a b\"}"}"#;
    let run = sinew(&["decode", message]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("-1: recording") && run.stdout.contains("a b"), "{}", run.stdout);
    assert_eq!(sinew(&["decode", "--hex", message]).code, 2);
    let run = sinew(&["decode", "--json", "--proto", "unitree", "{\"type\":7}"]);
    assert_eq!((run.code, &run.json()[0]["problems"][0]["field"]), (1, &json!("type")));
}

#[test]
fn a_challenge_is_not_printed() {
    for args in [&["decode"][..], &["decode", "--json"]] {
        let run = sinew_with_input(args, br#"{"data":"s3cret","topic":"","type":"validation"}"#);
        assert_eq!(run.code, 0);
        assert!(run.stdout.contains("hidden"), "{}", run.stdout);
        let hex = "73 33 63 72";
        assert!(!run.stdout.contains("s3cret") && !run.stdout.contains(hex), "{}", run.stdout);
    }
}

#[test]
fn hex_may_be_written_in_any_usual_way() {
    let ways: [&[&str]; 5] = [
        &["FAFB03060006"],
        &["fa", "fb", "03", "06", "00", "06"],
        &["0xfa,0xfb,0x03,0x06,0x00,0x06"],
        &["fa:fb:03:06:00:06"],
        &["0xFAFB", "0306", "0006"],
    ];
    for way in ways {
        let run = sinew(&[&["decode", "--json"], way].concat());
        assert_eq!((run.code, &run.json()[0]["name"]), (0, &json!("Heartbeat")), "{way:?}");
    }
}

#[test]
fn files_and_standard_input_may_hold_hex_or_bytes() {
    let bytes = [0xFA, 0xFB, 0x03, 0x06, 0x00, 0x06];
    let hex = b"fa fb 03\n06 00 06\n";
    for input in [&bytes[..], hex] {
        let run = sinew_with_input(&["decode", "--json"], input);
        assert_eq!((run.code, &run.json()[0]["name"]), (0, &json!("Heartbeat")));
        let run = sinew_with_input(&["decode", "--json", "-"], input);
        assert_eq!(run.code, 0);
    }
    let file = std::env::temp_dir().join(format!("sinew-cli-{}.bin", std::process::id()));
    std::fs::write(&file, bytes).unwrap();
    let run = sinew(&["decode", "--json", &format!("@{}", file.display())]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!((run.code, &run.json()[0]["name"]), (0, &json!("Heartbeat")));
}

#[test]
fn raw_and_hex_can_be_forced() {
    let run = sinew_with_input(&["decode", "--json", "--raw"], b"fafb03060006");
    assert_eq!((run.code, run.json()[0]["length"].as_u64()), (2, Some(12)));
    let run = sinew_with_input(&["decode", "--json", "--hex"], &[0xFA, 0xFB, 0x03]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
}

#[test]
fn rubbish_between_frames_is_an_element_of_its_own() {
    let stream = format!("0102{VELOCITY}aa55{HEARTBEAT}");
    let run = sinew(&["decode", "--json", &stream]);
    let elements = run.json();
    let protos: Vec<_> = elements.as_array().unwrap().iter().map(|e| text(e, "proto")).collect();
    assert_eq!(run.code, 1);
    assert_eq!(protos, ["unknown", "gd32", "unknown", "gd32"]);
    assert_eq!(elements[2]["valid"], false);
    assert_eq!((&elements[2]["offset"], &elements[2]["length"]), (&json!(16), &json!(2)));
    let shown = sinew(&["decode", &stream]);
    assert!(shown.stdout.contains("aa 55"), "{}", shown.stdout);
}

#[test]
fn a_false_start_hides_nothing_and_is_rubbish() {
    let run = sinew(&["decode", "--json", &format!("{HEARTBEAT}fafbff{VELOCITY}{HEARTBEAT}")]);
    let elements = run.json();
    let protos: Vec<_> = elements.as_array().unwrap().iter().map(|e| text(e, "proto")).collect();
    assert_eq!((run.code, protos), (1, vec!["gd32", "unknown", "gd32", "gd32"]));
}

#[test]
fn a_frame_with_a_wrong_check_is_recognised_and_invalid() {
    let run = sinew(&["decode", "--json", "fafb030600ff"]);
    let elements = run.json();
    assert_eq!((run.code, elements.as_array().unwrap().len()), (1, 1));
    assert_eq!((&elements[0]["proto"], &elements[0]["valid"]), (&json!("gd32"), &json!(false)));
    let problem = &elements[0]["problems"][0];
    assert_eq!(*problem, json!({ "field": "check", "wanted": "0x0006", "got": "0x00ff" }));
}

#[test]
fn every_truncation_of_a_frame_is_invalid_or_unrecognised() {
    for end in 1..VELOCITY.len() / 2 {
        let run = sinew(&["decode", "--json", &VELOCITY[..end * 2]]);
        assert_eq!(run.code, if end < 2 { 2 } else { 1 }, "{end} bytes");
        assert_eq!(run.json()[0]["valid"], false);
    }
}

#[test]
fn a_payload_that_does_not_fit_is_a_problem_of_a_valid_frame() {
    let short_velocity = sinew(&["encode", "gd32", "--command", "0x66", "--payload", "c800"]);
    let run = sinew(&["decode", "--json", short_velocity.stdout.trim()]);
    let element = &run.json()[0];
    assert_eq!((run.code, &element["valid"]), (0, &json!(true)));
    let problem = json!({ "field": "payload length", "wanted": "at least 8", "got": "2" });
    assert_eq!(element["problems"], json!([problem]));

    let short_save =
        sinew(&["encode", "teach", "--command", "0x2b", "--payload", &"00".repeat(44)]);
    let run = sinew(&["decode", "--json", short_save.stdout.trim()]);
    let element = &run.json()[0];
    assert_eq!((run.code, &element["valid"]), (0, &json!(true)));
    assert_eq!(element["problems"][0]["wanted"], "at least 208");
    let answer = sinew(&["decode", "--json", "--from", "robot", short_save.stdout.trim()]);
    assert_eq!(answer.json()[0]["fields"], json!({ "status": 0 }));
}

#[test]
fn the_documents_examples_are_frames_that_fit_neither_layout() {
    let mut complete = 0;
    for example in vectors("teach_documents.json") {
        let run = sinew(&["decode", "--json", text(&example, "hex")]);
        let elements = run.json();
        assert_eq!((run.code, elements.as_array().unwrap().len()), (1, 1), "{example}");
        assert_eq!(elements[0]["proto"], "teach");
        assert_eq!((&elements[0]["layout"], &elements[0]["valid"]), (&Value::Null, &json!(false)));
        complete += usize::from(example["complete"] == true);
    }
    assert_eq!(complete, 12);
}

#[test]
fn a_dtls_record_is_said_to_be_one() {
    let record = format!("17fefd00010000000001 0d 002c {}", "5a".repeat(44)).replace(' ', "");
    let run = sinew(&["decode", "--json", &record]);
    let element = &run.json()[0];
    assert_eq!((run.code, &element["proto"]), (0, &json!("dtls")));
    assert_eq!(element["fields"]["sequence"], 0x010d);
    let shown = sinew(&["decode", &record]);
    assert!(shown.stdout.contains("DTLS record"), "{}", shown.stdout);
    let forced = sinew(&["decode", "--json", "--proto", "teach", &record]);
    let element = &forced.json()[0];
    assert_eq!((forced.code, &element["layout"]), (1, &json!("compact")));
    assert!(element["notes"][0].as_str().unwrap().contains("DTLS record"), "{element}");
}

#[test]
fn a_teaching_frame_with_a_flipped_bit_is_invalid() {
    let vector = &vectors("teach.json")[0];
    let mut hex = text(vector, "documented").to_owned();
    hex.replace_range(40..42, "01");
    let run = sinew(&["decode", "--json", &hex]);
    let element = &run.json()[0];
    assert_eq!((run.code, &element["layout"]), (1, &json!("documented")));
    assert_eq!(element["problems"][0]["field"], "check");
}

#[test]
fn one_format_forced_on_the_other_names_the_right_one() {
    let cloud = vectors("slam.json")[0]["message"].clone();
    let map = vectors("voxel.json")[0]["message"].clone();
    for (message, proto, right) in [(&cloud, "voxel", "slam"), (&map, "slam", "voxel")] {
        let run = sinew(&["decode", "--json", "--proto", proto, message.as_str().unwrap()]);
        let problem = &run.json()[0]["problems"][0];
        assert_eq!((run.code, &problem["field"]), (1, &json!("format")));
        assert!(text(problem, "got").contains(right), "{problem}");
    }
}

#[test]
fn a_cut_cloud_says_which_length_is_wrong() {
    let vectors = vectors("slam.json");
    let message = text(&vectors[0], "message");
    let run = sinew(&["decode", "--json", &message[..message.len() - 2]]);
    let element = &run.json()[0];
    assert_eq!((run.code, &element["proto"]), (1, &json!("slam")));
    assert_eq!(element["problems"][0]["field"], "binary_len");
}

#[test]
fn nothing_recognised_is_exit_code_2() {
    for (args, input) in [
        (&["decode", "00112233"][..], &b""[..]),
        (&["decode"], b"hello"),
        (&["decode"], b""),
        (&["decode", "--json"], b"\xFA"),
    ] {
        assert_eq!(sinew_with_input(args, input).code, 2, "{args:?} {input:?}");
    }
}

#[test]
fn bad_input_is_refused_with_a_reason() {
    for (args, code, reason) in [
        (&["decode", "fafg"][..], 2, "not a hex digit"),
        (&["decode", "fafb0"], 2, "odd number"),
        (&["decode", "@/nonexistent/file"], 1, "cannot open"),
        (&["decode", "--proto", "gd33", "00"], 2, "possible values"),
    ] {
        let run = sinew(args);
        assert_eq!(run.code, code, "{args:?}");
        assert!(run.stderr.contains(reason), "{}", run.stderr);
    }
}

#[test]
fn the_profile_decides_scale_and_encoders() {
    let status = vectors("gd32.json")
        .into_iter()
        .find(|vector| text(vector, "name").starts_with("status"))
        .unwrap();
    let fields = |profile| {
        let frame = text(&status, "frame");
        sinew(&["decode", "--json", "--profile", profile, frame]).json()[0]["fields"].clone()
    };
    let (document, later) = (fields("document"), fields("later"));
    assert_eq!(document["wheel_right"], 0x1716_1514_1312_1110_u64);
    assert_eq!(later["wheel_left"], 0x1110);
    let velocity = sinew(&["decode", "--json", "--profile", "later", VELOCITY]);
    let linear = velocity.json()[0]["fields"]["linear"].as_f64().unwrap();
    assert!((linear - 200.0 / 523.0).abs() < 1e-6);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_sinew"))
        .args(["decode", &HEARTBEAT.repeat(5_000)])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
