use serde_json::{Value, json};
use sinew_api::{
    COMMANDS, COMMON, Command, Dialect, Halt, MAX_URGENT, Message, Request, Topic, may_be_urgent,
};
use sinew_robot::{Code, component, vacuum::components::COMPONENTS};

fn read(message: Value) -> Message {
    let text = message.to_string();
    Request::parse(text.as_bytes()).asked.unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

fn refused(message: Value) -> (Code, String) {
    let refusal = Request::parse(message.to_string().as_bytes()).asked.expect_err("is refused");
    (refusal.code, refusal.message)
}

#[test]
fn every_row_is_read_from_its_own_example() {
    for row in COMMANDS {
        let example: Value = serde_json::from_str(row.example).unwrap();
        assert_eq!(example["type"], row.name);
        let message = read(example);
        assert_eq!(message.command.to_value()["type"], row.name);
        assert!(!row.what.is_empty());
    }
}

#[test]
fn names_are_unique() {
    for (index, row) in COMMANDS.iter().enumerate() {
        assert!(COMMANDS[..index].iter().all(|other| other.name != row.name), "{}", row.name);
        let names: Vec<_> = COMMON.iter().chain(row.members).map(|member| member.name).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{} {name}", row.name);
        }
    }
}

#[test]
fn the_types_of_all_members_of_all_ops_are_known() {
    for row in COMMANDS {
        for op in row.ops {
            let target: &[&str] = if op.target { &["id", "name"] } else { &[] };
            for name in [op.needs, op.takes, target].concat() {
                assert!(row.members.iter().any(|member| member.name == name), "{} {name}", op.op);
            }
        }
    }
}

/// What was said before there was a table, to the letter.
#[test]
fn what_is_wrong_is_said_in_the_same_words_as_ever() {
    let name = "x".repeat(65);
    let long = "y".repeat(80);
    let raw = |command: Value| json!({ "type": "Raw", "command": command, "confirm": true });
    let payload = |payload: Value| json!({ "type": "Raw", "command": 1, "payload": payload });
    let topics = "state, events, sensors/GROUP, cloud, map, messages, raw";
    let cases = [
        (json!([1]), "wanted an object with a member \"type\"".to_owned()),
        (
            json!({ "type": "Robots", "speed": 1 }),
            "Robots: wanted type, robot, req, confirm, got \"speed\"".into(),
        ),
        (
            json!({ "type": "Raw", "speed": 1 }),
            "Raw: wanted type, robot, req, confirm, command, payload, got \"speed\"".into(),
        ),
        (json!({ "type": "Robots", "robot": 1 }), "robot: wanted text".into()),
        (
            json!({ "type": "Robots", "confirm": "yes" }),
            "confirm: wanted true or false, got \"yes\"".into(),
        ),
        (json!({ "type": "Auth", "token": ["secret"] }), "token: wanted text".into()),
        (json!({ "type": "Auth" }), "Auth: wanted token or name, got neither".into()),
        (json!({ "type": "Auth", "name": null }), "Auth: wanted token or name, got neither".into()),
        (
            json!({ "type": "Auth", "name": name }),
            "name: wanted 1 to 64 printable characters".into(),
        ),
        (
            json!({ "type": "TakeControl", "name": "a\u{202E}" }),
            "name: wanted 1 to 64 printable characters".into(),
        ),
        (json!({ "type": "TakeControl", "name": 7 }), "name: wanted text".into()),
        (raw(json!(256)), "Raw command: wanted 0 to 255 or \"0x66\", got 256".into()),
        (raw(json!(null)), "Raw command: wanted 0 to 255 or \"0x66\", got null".into()),
        (raw(json!("+6")), "Raw command: wanted 0 to 255 or \"0x66\", got \"+6\"".into()),
        (json!({ "type": "Raw" }), "Raw command: wanted 0 to 255 or \"0x66\", got nothing".into()),
        (payload(json!(7)), "payload: wanted text".into()),
        (
            payload(json!("0")),
            "Raw payload: wanted at most 252 bytes in hexadecimal, as \"64 00\", got \"0\"".into(),
        ),
        (
            payload(json!("00".repeat(253))),
            format!(
                "Raw payload: wanted at most 252 bytes in hexadecimal, as \"64 00\", got \"{}…",
                "0".repeat(59)
            ),
        ),
        (
            json!({ "type": "Subscribe" }),
            format!("Subscribe topics: wanted a list of {topics}, got nothing"),
        ),
        (
            json!({ "type": "Subscribe", "topics": "state" }),
            format!("Subscribe topics: wanted a list of {topics}, got \"state\""),
        ),
        (
            json!({ "type": "Subscribe", "topics": vec!["state"; 257] }),
            "Subscribe topics: wanted at most 256, got 257".into(),
        ),
        (
            json!({ "type": "Subscribe", "topics": ["state", long] }),
            format!("Subscribe topics: wanted {topics}, got \"{}…", "y".repeat(59)),
        ),
        (
            json!({ "type": "Subscribe", "topics": [], "max_hz": 0 }),
            "Subscribe max_hz: wanted more than 0, got 0".into(),
        ),
        (
            json!({ "type": "Teach", "op": "stop", "speed": 1 }),
            "stop: wanted no members, got \"speed\"".into(),
        ),
        (
            json!({ "type": "ComponentControl", "action": {} }),
            "id: wanted a component's name, got null".into(),
        ),
        (
            json!({ "type": "ComponentControl", "id": 3, "action": {} }),
            "id: wanted a component's name, got 3".into(),
        ),
    ];
    for (message, wanted) in cases {
        assert_eq!(refused(message), (Code::InvalidArgument, wanted));
    }
    let all = COMMANDS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
    let wanted = format!("type: wanted one of {all}, got nothing");
    assert_eq!(refused(json!({})), (Code::InvalidArgument, wanted));
    let wanted = format!("type: wanted one of {all}, got 7");
    assert_eq!(refused(json!({ "type": 7 })), (Code::InvalidArgument, wanted));
    let wanted = "a client cannot end Sinew; end its process".into();
    assert_eq!(refused(json!({ "type": "Shutdown" })), (Code::Unsupported, wanted));
    let wanted = "a raw frame goes to the robot unchecked, and has to be confirmed".into();
    assert_eq!(refused(payload(json!("64 00"))), (Code::NotConfirmed, wanted));
}

#[test]
fn a_components_name_is_missed_in_the_words_of_its_robot() {
    for id in [Value::Null, json!(3)] {
        let robots = component::parse(COMPONENTS, &id, &json!({}), false).unwrap_err().message;
        let message = json!({ "type": "ComponentControl", "id": id });
        assert_eq!(refused(message), (Code::InvalidArgument, robots));
    }
    let message = read(json!({ "type": "ComponentControl", "id": "led" }));
    let command = Command::ComponentControl { id: "led".into(), action: Value::Null };
    assert_eq!(message.command, command, "the rest is the robot's to say");
}

#[test]
fn a_raw_frame_is_read_in_every_way_of_writing_it() {
    for (command, payload) in
        [(json!(107), "64 00ff"), (json!("0x6B"), "6400FF"), (json!("6b"), " 64 00\tff ")]
    {
        let message =
            json!({ "type": "Raw", "command": command, "payload": payload, "confirm": true });
        let wanted = Command::Raw { command: 0x6B, payload: vec![0x64, 0x00, 0xFF] };
        assert_eq!(read(message).command, wanted);
    }
}

#[test]
fn each_topic_counts_once() {
    let topics = ["events", "state", "events", "sensors/joints", "cloud", "state"];
    let message = read(json!({ "type": "Subscribe", "topics": topics, "max_hz": null }));
    let topics =
        vec![Topic::Events, Topic::State, Topic::Sensors("joints".into()), Topic::Frames("cloud")];
    assert_eq!(message.command, Command::Subscribe { topics, max_hz: None });
}

#[test]
fn nothing_that_stands_beside_it_keeps_a_stop_from_stopping() {
    let stop = |message: Value| match read(message) {
        Message { robot, command: Command::Halt(halt), .. } => (robot, halt),
        other => panic!("{other:?}"),
    };
    let note = |note: &str| Halt::Stop { note: Some(note.into()) };
    assert_eq!(stop(json!({ "type": "Stop" })), (None, Halt::Stop { note: None }));
    let message = json!({ "type": "Stop", "robot": "a", "now": 1, "confirm": "x" });
    let surplus = "Stop: wanted type, robot, req, confirm, got \"now\"";
    assert_eq!(stop(message), (Some("a".into()), note(surplus)));
    let message = json!({ "type": "Stop", "robot": 7, "now": 1 });
    assert_eq!(stop(message), (None, note("robot: wanted text")));
    for (verb, halt) in [("Reset", Halt::Reset), ("Disable", Halt::Disable)] {
        let action = json!({ "type": verb, "config": 7, "x": 1 });
        let mut message = json!({
            "type": "ComponentControl", "id": "drive", "action": action, "confirm": 3, "x": 1,
        });
        assert_eq!(stop(message.clone()), (None, halt));
        message["robot"] = 7.into();
        assert_eq!(refused(message), (Code::InvalidArgument, "robot: wanted text".into()));
    }
}

#[test]
fn the_envelope_of_document_003_holds_a_command() {
    let text =
        br#"{"topic":"command","payload":{"type":"Command","command":{"type":"Dock","req":1}}}"#;
    let request = Request::parse_legacy(text);
    assert_eq!(request.req, Some(json!(1)));
    assert_eq!(request.asked.unwrap().command, Command::Dock);
    assert_eq!(Request::parse_legacy(br#"{"type":"Dock"}"#).asked.unwrap().command, Command::Dock);
    let refusal = Request::parse_legacy(br#"{"topic":"command","payload":{"type":"Dock"}}"#);
    assert_eq!(refusal.asked.unwrap_err().code, Code::InvalidArgument);
    assert!(!Request::parse_legacy(b"{").is_json());
}

#[test]
fn what_is_urgent_is_recognised_before_it_is_read() {
    let drive = |verb: &str| json!({ "type": "ComponentControl", "id": "drive", "action": { "type": verb } });
    let urgent = [
        json!({ "type": "Stop", "x": 1 }),
        json!({ "type": "Teach", "op": "stop" }),
        json!({ "type": "Auth", "token": "x" }),
        drive("Reset"),
        drive("Disable"),
    ];
    for message in urgent {
        let text = message.to_string();
        assert!(may_be_urgent(text.as_bytes(), Dialect::Own), "{text}");
        assert!(Request::parse_urgent(text.as_bytes(), Dialect::Own).is_some(), "{text}");
        let envelope =
            json!({ "topic": "command", "payload": { "type": "Command", "command": message } });
        assert!(
            Request::parse_urgent(envelope.to_string().as_bytes(), Dialect::Legacy).is_some(),
            "{text}"
        );
        let long = format!("{text}{}", " ".repeat(MAX_URGENT));
        assert!(!may_be_urgent(long.as_bytes(), Dialect::Own));
    }
    let others =
        [json!({ "type": "Robots" }), json!({ "type": "Teach", "op": "list" }), drive("Enable")];
    for message in others {
        assert!(!may_be_urgent(message.to_string().as_bytes(), Dialect::Own), "{message}");
    }
    // They look like it, and are not.
    let led =
        json!({ "type": "ComponentControl", "id": "vacuum", "action": { "type": "Disable" } });
    for message in [json!({ "type": "Robots", "x": "Stop" }), led] {
        assert!(may_be_urgent(message.to_string().as_bytes(), Dialect::Own));
        assert!(Request::parse_urgent(message.to_string().as_bytes(), Dialect::Own).is_none());
    }
}

#[test]
fn what_is_not_json_is_no_message() {
    let deep = "[".repeat(60_000);
    let bad: [&[u8]; 9] = [
        b"{",
        b"\xFF\xFE{}",
        b"{\"type\":\"\xFF\"}",
        b"{\"type\":\"Stop\"} {\"type\":\"Stop\"}",
        b"null garbage",
        b"\0\0\0\x02{}",
        b"{\"type\":1e999}",
        b"{\"type\":\"Stop\",\"type\":\"Stop\"}",
        deep.as_bytes(),
    ];
    for bytes in bad {
        let request = Request::parse(bytes);
        assert!(!request.is_json());
        assert_eq!(request.asked.unwrap_err().code, Code::InvalidJson);
        assert!(Request::parse_urgent(bytes, Dialect::Legacy).is_none());
    }
}
