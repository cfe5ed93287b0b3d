//! What is wrong is refused with a reason, and never reaches the robot.

use std::{io::Write, thread, time::Duration};

use serde_json::{Value, json};

use crate::{
    clients::{Lines, configure, control, drive, led},
    support::{Rig, STILL, until},
};

/// The cells that document 003's table marks "-", and what the component supports instead; so does the
/// pump of a later time.
const MISSING: [(&str, &[&str], &str); 12] = [
    ("water_pump", &["Reset"], "Enable, Disable, Configure"),
    ("vacuum", &["Reset"], "Enable, Disable, Configure"),
    ("main_brush", &["Reset"], "Enable, Disable, Configure"),
    ("side_brush", &["Reset"], "Enable, Disable, Configure"),
    ("led", &["Enable", "Disable", "Reset"], "Configure"),
    ("lidar", &["Reset", "Configure"], "Enable, Disable"),
    ("imu", &["Disable", "Configure"], "Enable, Reset"),
    ("compass", &["Disable", "Configure"], "Enable, Reset"),
    ("cliff_ir", &["Reset"], "Enable, Disable, Configure"),
    ("main_board", &["Configure"], "Enable, Disable, Reset"),
    ("charger", &["Reset", "Configure"], "Enable, Disable"),
    ("mcu", &["Configure"], "Enable, Disable, Reset"),
];

fn velocity(linear: Value, angular: Value) -> Value {
    configure("drive", json!({ "linear": linear, "angular": angular }))
}

fn tank(left: f64, right: f64) -> Value {
    configure("drive", json!({ "left": { "F32": left }, "right": { "F32": right } }))
}

/// Wrong values, and a piece of what is said about each.
fn wrong_values() -> Vec<(Value, &'static str)> {
    let speed = |speed: Value| configure("vacuum", json!({ "speed": speed }));
    let action =
        |action: Value| json!({ "type": "ComponentControl", "id": "led", "action": action });
    let enable = |id: &str, config: Value| {
        let action = json!({ "type": "Enable", "config": config });
        json!({ "type": "ComponentControl", "id": id, "action": action })
    };
    vec![
        // Speeds.
        (velocity(json!({ "F32": 0.31 }), json!({ "F32": 0.0 })), "0.3 m/s"),
        (velocity(json!({ "F32": -0.31 }), json!({ "F32": 0.0 })), "0.3 m/s"),
        (velocity(json!(0.30001), json!(0)), "0.3 m/s"),
        (velocity(json!({ "F32": 0.0 }), json!({ "F32": 1.01 })), "1 rad/s"),
        (velocity(json!({ "F32": 0.0 }), json!({ "F32": -1.01 })), "1 rad/s"),
        (velocity(json!({ "F32": 1e39 }), json!({ "F32": 0.0 })), "finite"),
        (velocity(json!({ "F32": "NaN" }), json!({ "F32": 0.0 })), "finite"),
        (velocity(json!("Infinity"), json!(0)), "finite"),
        (velocity(json!(null), json!(0)), "finite"),
        (velocity(json!(true), json!(0)), "finite"),
        (velocity(json!([0.1]), json!(0)), "finite"),
        (velocity(json!({ "U8": 0.1 }), json!({ "F32": 0.0 })), "F32"),
        (velocity(json!({ "Bool": true }), json!({ "F32": 0.0 })), "F32"),
        (velocity(json!({ "F32": 0.1, "U8": 0 }), json!({ "F32": 0.0 })), "F32"),
        (velocity(json!({}), json!({ "F32": 0.0 })), "F32"),
        (tank(0.31, 0.31), "0.3 m/s"),
        (tank(-0.31, -0.31), "0.3 m/s"),
        (tank(-0.2, 0.2), "rad/s"),
        // Halves, mixtures, and what does not belong there.
        (configure("drive", json!({ "linear": { "F32": 0.1 } })), "angular"),
        (configure("drive", json!({ "angular": { "F32": 0.1 } })), "linear"),
        (configure("drive", json!({ "left": { "F32": 0.1 } })), "right"),
        (configure("drive", json!({ "right": { "F32": 0.1 } })), "left"),
        (configure("drive", json!({ "linear": 0.1, "right": 0.1 })), "mixture"),
        (configure("drive", json!({ "linear": 0.1, "angular": 0, "x": 1 })), "\"x\""),
        (configure("drive", json!({})), "linear"),
        (configure("drive", json!(7)), "object"),
        (control("drive", "Configure"), "linear"),
        (enable("drive", json!({ "mode": { "U8": 1 } })), "0 or 2"),
        (enable("drive", json!({ "mode": { "U8": 3 } })), "0 or 2"),
        (enable("vacuum", json!({ "speed": { "U8": 5 } })), "no config"),
        // Bytes.
        (speed(json!({ "U8": 101 })), "0 to 100"),
        (speed(json!({ "U8": -1 })), "0 to 100"),
        (speed(json!({ "U8": 50.5 })), "whole"),
        (speed(json!("75")), "whole"),
        (speed(json!({ "F32": 75.5 })), "U8"),
        (speed(json!({ "U32": 101 })), "U8"),
        (configure("main_brush", json!({ "speed": 101 })), "0 to 100"),
        (configure("side_brush", json!({ "speed": 1e300 })), "0 to 100"),
        (configure("led", json!({ "state": 256 })), "0 to 255"),
        (configure("cliff_ir", json!({ "direction": -1 })), "0 to 255"),
        (enable("lidar", json!({ "pwm": 101 })), "0 to 100"),
        // Members.
        (control("wheels", "Enable"), "drive, vacuum, main_brush"),
        (json!({ "type": "ComponentControl", "action": { "type": "Enable" } }), "id"),
        (json!({ "type": "ComponentControl", "id": 3, "action": { "type": "Enable" } }), "3"),
        (json!({ "type": "ComponentControl", "id": "led" }), "action"),
        (action(json!("Enable")), "object"),
        (action(json!({ "type": "enable" })), "Enable, Disable, Reset or Configure"),
        (action(json!({})), "nothing"),
        (action(json!({ "type": "Configure", "confg": {} })), "confg"),
        (json!({ "type": "ComponentControl", "id": "led", "actoin": {} }), "actoin"),
        (json!({ "type": "ProtocolSync", "confirm": "yes" }), "true or false"),
        (json!({ "type": "Protocolsync" }), "ProtocolSync"),
        (json!({ "id": "led" }), "type"),
        (json!({ "type": "Raw", "command": 300, "confirm": true }), "0 to 255"),
        (json!({ "type": "Raw", "command": 6, "payload": "0", "confirm": true }), "hexadecimal"),
        (
            json!({ "type": "Raw", "command": 6, "payload": "00".repeat(253), "confirm": true }),
            "252 bytes",
        ),
        (json!({ "type": "Subscribe", "topics": ["sensor"] }), "sensors/GROUP"),
    ]
}

/// What needs `confirm`.
fn hurting() -> Vec<Value> {
    vec![
        control("main_board", "Disable"),
        control("main_board", "Reset"),
        control("mcu", "Disable"),
        control("imu", "Reset"),
        control("compass", "Reset"),
        json!({ "type": "Raw", "command": "0x99", "payload": "00" }),
    ]
}

/// Everything that is refused: the message, the code, a piece of the reason.
fn refused() -> Vec<(Value, &'static str, &'static str)> {
    let mut all = Vec::new();
    for (id, verbs, supported) in MISSING {
        all.extend(verbs.iter().map(|verb| (control(id, verb), "unsupported", supported)));
    }
    all.extend(wrong_values().into_iter().map(|(text, what)| (text, "invalid_argument", what)));
    all.extend(hurting().into_iter().map(|text| (text, "not_confirmed", "has to be confirmed")));
    let mut elsewhere = led(3);
    elsewhere["robot"] = "g1".into();
    all.push((elsewhere, "not_found", "vacuum"));
    all.push((json!({ "type": "Shutdown" }), "unsupported", "process"));
    all.push((json!({ "type": "Teach", "op": "list" }), "unsupported", "vacuum"));
    all.push((json!({ "type": "Mapping", "op": "start" }), "unsupported", "vacuum"));
    all
}

#[test]
fn what_is_wrong_is_refused_with_a_reason_and_never_sent() {
    let rig = Rig::start();
    let mut client = rig.lines();
    client.ok(control("drive", "Enable"));
    let mark = rig.quiet();
    for (message, code, reason) in refused() {
        let got = client.fails(message.clone(), code);
        assert!(got.contains(reason), "{message}: wanted {reason:?} in {got:?}");
    }
    // The same again, as a client of the old port hears it.
    client.ok(led(20));
    drop(client);
    until("the controls to be free", || rig.robot()["holder"].is_null().then_some(()));
    let mut old = rig.prefixed();
    for (message, code, reason) in refused() {
        let mut with_req = message.clone();
        with_req["req"] = 1.into();
        old.send(with_req.to_string().as_bytes());
        let reply = old.next_of("reply");
        assert_eq!(reply["error"]["code"], code, "{message}: {reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains(reason), "{reply}");
    }
    old.send(led(21).to_string().as_bytes());
    rig.await_frame(mark, "8D 15");
    // The first client's end stopped the wheels.
    rig.expect(mark, "nothing but the LED and the stop", &["8D 14", STILL, "8D 15"]);
}

#[test]
fn rubbish_costs_its_sender_nothing_but_an_error() {
    let rig = Rig::start();
    let mut client = rig.lines();
    // A stranger may say less than this.
    client.ok(json!({ "type": "Robots" }));
    let mark = rig.quiet();
    let deep = "[".repeat(100_000);
    let rubbish: [&[u8]; 8] = [
        b"{",
        b"nonsense",
        b"{\"type\": \"ComponentControl\", \"id\": \"led\xFF\"}",
        b"\xFF\xFE\x00",
        br#"{"type":"ComponentControl","id":"drive","action":{"type":"Configure","config":{"linear":{"F32":NaN},"angular":{"F32":0}}}}"#,
        br#"{"type":"ComponentControl","id":"drive","action":{"type":"Configure","config":{"linear":{"F32":1e999},"angular":{"F32":0}}}}"#,
        br#"{"type":"ProtocolSync"} {"type":"ProtocolSync"}"#,
        deep.as_bytes(),
    ];
    for bytes in rubbish {
        client.send_bytes(&[bytes, b"\n"].concat());
        let answer = client.next();
        assert_eq!(answer["error"]["code"], "invalid_json", "{answer}");
    }
    for text in ["[]", "3", "null", "\"Stop\""] {
        client.send(text);
        assert_eq!(client.next()["error"]["code"], "invalid_argument");
    }
    let mut old = rig.prefixed();
    old.send(br#"{"type":"Robots","req":1}"#);
    assert_eq!(old.next_of("reply")["ok"], true);
    for bytes in rubbish {
        old.send(bytes);
        assert_eq!(old.next_of("reply")["error"]["code"], "invalid_json");
    }
    old.send(br#"{"topic":"command","payload":{"type":"ProtocolSync"}}"#);
    assert_eq!(old.next_of("reply")["error"]["code"], "invalid_argument");
    old.send(led(22).to_string().as_bytes());
    rig.expect(mark, "nothing but the LED", &["8D 16"]);
}

#[test]
fn a_message_of_two_mebibytes_ends_its_own_connection_only() {
    let rig = Rig::start();
    let mut other = rig.lines();
    let mark = rig.quiet();
    let mut large = vec![b' '; 2 << 20];
    large.extend_from_slice(led(1).to_string().as_bytes());

    let mut client = rig.lines();
    client.ok(json!({ "type": "Robots" }));
    // The daemon may close before it has read all.
    let _ = client.socket.write_all(&[&large[..], b"\n"].concat());
    assert_eq!(client.next()["error"]["code"], "too_large");
    assert_eq!(client.try_next(), None);

    let mut old = rig.prefixed();
    old.send(br#"{"type":"Robots","req":1}"#);
    assert_eq!(old.next_of("reply")["ok"], true);
    let length = u32::try_from(large.len()).unwrap().to_be_bytes();
    let _ = old.socket.write_all(&[&length, &large[..]].concat());
    assert_eq!(old.next_of("reply")["error"]["code"], "too_large");
    assert_eq!(old.try_next_of("reply"), None);

    other.ok(led(23));
    rig.expect(mark, "only the other's command", &["8D 17"]);
}

#[test]
fn one_byte_at_a_time_is_as_good_as_any() {
    let rig = Rig::start();
    let slowly = |socket: &mut dyn Write, bytes: &[u8]| {
        for byte in bytes {
            socket.write_all(&[*byte]).unwrap();
            thread::sleep(Duration::from_millis(1));
        }
    };
    let mark = rig.quiet();
    let mut client = rig.lines();
    slowly(&mut client.socket, format!("{}\r\n\r\n{}\n", led(24), led(25)).as_bytes());
    rig.expect(mark, "lines", &["8D 18", "8D 19"]);
    drop(client);
    until("the controls to be free", || rig.robot()["holder"].is_null().then_some(()));
    let mark = rig.mark();
    let old = rig.prefixed();
    let text = led(26).to_string();
    let length = u32::try_from(text.len()).unwrap().to_be_bytes();
    slowly(&mut &old.socket, &[&length, text.as_bytes()].concat());
    rig.await_frame(mark, "8D 1A");
}

#[test]
fn a_client_that_never_reads_disturbs_nobody() {
    let rig = Rig::start();
    let mut driver = rig.lines();
    // Eight that get everything and read nothing.
    let topics =
        json!({ "type": "Subscribe", "topics": ["state", "events", "sensors/gd32_status"] });
    let mut deaf: Vec<Lines> = (0..8).map(|_| rig.lines()).collect();
    for client in &mut deaf {
        client.send(&topics.to_string());
        // Their answers pile up too.
        client.send_bytes(
            format!("{}\n", json!({ "type": "Robots", "req": 1 })).repeat(200).as_bytes(),
        );
    }
    let mut listener = rig.lines();
    listener.ok(topics);
    let mark = rig.quiet();
    driver.ok(control("drive", "Enable"));
    for _ in 0..200 {
        driver.ok(drive(0.05));
    }
    rig.await_frame(mark, "66 32 00 00 00 00 00 00 00");
    // Everyone else's telemetry is whole.
    let mut last = 0;
    for _ in 0..200 {
        let status = loop {
            let message = listener.next();
            assert_ne!(message["type"], "Lost", "{message}");
            if message["topic"] == "sensors/gd32_status" {
                break message;
            }
        };
        let at = status["data"]["timestamp_us"].as_u64().unwrap();
        assert!(at > last);
        last = at;
    }
    rig.quiet();
}
