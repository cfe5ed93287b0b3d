//! Messages of SangamIO's later interface, byte by byte.

use proptest::prelude::*;
use serde_json::{Value, json};
use sinew_api::{Command, Dialect, Halt, Request, may_be_urgent, sangam::sensors};
use sinew_robot::Code;

const ENABLE: &str = "drive Enable";
const CONFIGURE: &str = "drive Configure 0.2, 0.0";
const VACUUM: &str = "vacuum Configure speed 50";
const SYNC: &str = "ProtocolSync";
const SHUTDOWN: &str = "Shutdown";
const RESET: &str = "drive Reset";
const DISABLE: &str = "drive Disable";
const VERSION: &str = "device_version";

const ALL: [&str; 7] = [ENABLE, CONFIGURE, VACUUM, SYNC, SHUTDOWN, RESET, DISABLE];

/// The message of this name.
fn vector(name: &str) -> Vec<u8> {
    let all: Value = serde_json::from_str(include_str!("../../../../vectors/sangam.json")).unwrap();
    let entry = all.as_array().unwrap().iter().find(|entry| entry["name"] == name);
    bytes(entry.unwrap()["message"].as_str().unwrap())
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    let byte = |index| u8::from_str_radix(&digits[index..index + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn asked(message: &[u8]) -> Result<Command, Code> {
    let asked = Request::parse_sangam(message).asked;
    asked.map(|message| message.command).map_err(|refusal| refusal.code)
}

fn control(id: &str, action: Value) -> Result<Command, Code> {
    Ok(Command::ComponentControl { id: id.into(), action })
}

/// A field that is bytes.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
}

/// A component's Configure with this as its config's only value.
fn configured(value: &[u8]) -> Vec<u8> {
    let entry = [field(1, b"speed"), field(2, value)].concat();
    let action = [vec![0x08, 3], field(2, &entry)].concat();
    field(3, &field(1, &[field(1, b"vacuum"), field(2, &action)].concat()))
}

#[test]
fn commands_are_read_as_their_clients_write_them() {
    assert_eq!(asked(&vector(ENABLE)), control("drive", json!({ "type": "Enable" })));
    let config = json!({ "linear": { "F32": f64::from(0.2_f32) }, "angular": { "F32": 0.0 } });
    let action = json!({ "type": "Configure", "config": config });
    assert_eq!(asked(&vector(CONFIGURE)), control("drive", action));
    let action = json!({ "type": "Configure", "config": { "speed": { "U32": 50 } } });
    assert_eq!(asked(&vector(VACUUM)), control("vacuum", action));
    assert_eq!(asked(&vector(SYNC)), Ok(Command::Sync));
    assert_eq!(asked(&vector(RESET)), Ok(Command::Halt(Halt::Reset)));
    assert_eq!(asked(&vector(DISABLE)), Ok(Command::Halt(Halt::Disable)));
    // It ends no daemon, and stops what may move.
    assert_eq!(asked(&vector(SHUTDOWN)), Ok(Command::Halt(Halt::Reset)));
}

#[test]
fn stops_are_known_before_their_turn_and_nothing_else_is() {
    for message in ALL {
        let (message, is_stop) = (vector(message), [RESET, DISABLE, SHUTDOWN].contains(&message));
        assert_eq!(may_be_urgent(&message, Dialect::Sangam), is_stop);
        assert_eq!(Request::parse_urgent(&message, Dialect::Sangam).is_some(), is_stop);
    }
    // Reset of another component.
    let imu = field(3, &field(1, &[field(1, b"imu"), field(2, &[8, 2])].concat()));
    assert!(!may_be_urgent(&imu, Dialect::Sangam));
    assert_eq!(asked(&imu), control("imu", json!({ "type": "Reset" })));
}

#[test]
fn nothing_beside_it_keeps_a_stop_from_stopping() {
    let nonsense = [&[8, 2][..], &field(2, b"\xff\xff")].concat();
    let stop = field(3, &field(1, &[field(1, b"drive"), field(2, &nonsense)].concat()));
    assert!(may_be_urgent(&stop, Dialect::Sangam));
    assert_eq!(asked(&stop), Ok(Command::Halt(Halt::Reset)));
}

#[test]
fn every_type_of_value_is_read() {
    let of = |value: &[u8]| match asked(&configured(value)) {
        Ok(Command::ComponentControl { action, .. }) => Ok(action["config"]["speed"].clone()),
        Ok(other) => panic!("{other:?}"),
        Err(code) => Err(code),
    };
    let minus_five = bytes("fbffffffffffffffff01");
    for (value, wanted) in [
        (bytes("0800"), json!(false)),
        (bytes("0801"), json!(true)),
        (bytes("1032"), json!({ "U32": 50 })),
        (bytes("18808001"), json!({ "U64": 16384 })),
        ([&[0x20], &minus_five[..]].concat(), json!({ "I32": -5 })),
        ([&[0x28], &minus_five[..]].concat(), json!({ "I64": -5 })),
        (bytes("350000003f"), json!({ "F32": 0.5 })),
        (bytes("39000000000000e03f"), json!({ "F64": 0.5 })),
        (bytes("35 0000c07f"), json!({ "F32": null })),
        (bytes("4202 3530"), json!("50")),
        // None at all, bytes, and a value of a later time.
        (vec![], Value::Null),
        (bytes("4a0132"), Value::Null),
        (bytes("e00501"), Value::Null),
    ] {
        assert_eq!(of(&value), Ok(wanted), "{value:02x?}");
    }
    // Two at once, another wire type, a number of more than 64 bits.
    for wrong in ["08001032", "1200", "10ffffffffffffffffff02", "35000000", "420180"] {
        assert_eq!(of(&bytes(wrong)), Err(Code::InvalidArgument), "{wrong}");
    }
}

#[test]
fn what_is_not_known_is_skipped_and_the_order_does_not_matter() {
    let unknown = bytes("a00601 a10600000000000000aa a206021a00 a506000000bb");
    let action = [unknown.clone(), vec![0x08, 1], unknown.clone()].concat();
    let control = [field(2, &action), unknown.clone(), field(1, b"charger")].concat();
    let message = [unknown.clone(), field(3, &[unknown, field(1, &control)].concat())].concat();
    assert_eq!(asked(&message), self::control("charger", json!({ "type": "Disable" })));
}

#[test]
fn what_is_no_command_is_refused() {
    let drive = field(1, b"drive");
    let cases = [
        ("nothing", vec![]),
        ("a topic alone", bytes("0a07636f6d6d616e64")),
        ("sensors", vector(VERSION)),
        ("no command in it", bytes("1a00")),
        ("two commands", bytes("1a0412001a00")),
        ("no action", field(3, &field(1, &drive))),
        ("an id twice", field(3, &field(1, &[&drive[..], &drive, &[0x12, 0]].concat()))),
        (
            "an id that is no text",
            field(3, &field(1, &[field(1, b"\xff"), vec![0x12, 0]].concat())),
        ),
        ("field 0", [vector(ENABLE), vec![0x00, 0x00]].concat()),
        ("a group", [vector(ENABLE), vec![0x23, 0x24]].concat()),
    ];
    for (what, message) in cases {
        assert_eq!(asked(&message), Err(Code::InvalidArgument), "{what}");
    }
    // An action of a later time is left to the component to refuse.
    let action = field(3, &field(1, &[drive, field(2, &[8, 9])].concat()));
    assert_eq!(asked(&action), control("drive", json!({ "type": 9 })));
}

#[test]
fn a_config_is_bounded() {
    let entry = |name: &str| field(2, &[field(1, name.as_bytes()), field(2, &[0x10, 1])].concat());
    let with = |names: &[String]| {
        let config: Vec<u8> = names.iter().flat_map(|name| entry(name)).collect();
        let action = long_field(2, &[&[8, 3], &config[..]].concat());
        long_field(3, &long_field(1, &[field(1, b"led"), action].concat()))
    };
    let names: Vec<_> = (0..33).map(|index| format!("v{index}")).collect();
    assert!(asked(&with(&names[..32])).is_ok());
    assert_eq!(asked(&with(&names)), Err(Code::InvalidArgument));
    assert_eq!(asked(&with(&[names[0].clone(), names[0].clone()])), Err(Code::InvalidArgument));
}

/// A field of up to 16,383 bytes.
fn long_field(number: u8, content: &[u8]) -> Vec<u8> {
    let length = [content.len() as u8 | 0x80, (content.len() >> 7) as u8];
    [&[number << 3 | 2], &length[..], content].concat()
}

#[test]
fn every_truncation_is_refused() {
    for message in ALL.map(vector) {
        for length in 0..message.len() {
            // Their command is the last field, and so is what is in it: what is cut off is missed.
            assert_eq!(asked(&message[..length]), Err(Code::InvalidArgument), "{length}");
        }
    }
}

#[test]
fn after_any_flip_both_readers_agree_on_what_is_a_stop() {
    for message in ALL.map(vector) {
        for place in 0..message.len() * 8 {
            let mut flipped = message.clone();
            flipped[place / 8] ^= 1 << (place % 8);
            let is_stop = matches!(asked(&flipped), Ok(Command::Halt(_)));
            // Both readers of it agree, the quick one and the thorough one.
            let is_urgent = Request::parse_urgent(&flipped, Dialect::Sangam).is_some();
            assert_eq!(is_stop, is_urgent);
            assert!(!is_urgent || may_be_urgent(&flipped, Dialect::Sangam), "{flipped:02x?}");
        }
    }
}

/// As `SensorGroup` stands in JSON.
fn group(id: &str, time: u64, values: &Value) -> String {
    json!({ "type": "SensorGroup", "group_id": id, "timestamp_us": time, "values": values })
        .to_string()
}

#[test]
fn a_sensor_group_is_written_as_their_project_writes_it() {
    let values = json!({ "version_string": { "String": "SIM" }, "version_code": { "I32": 100 } });
    assert_eq!(sensors(&group("device_version", 1, &values)), Some(vector(VERSION)));
}

/// The value of a group with this one.
fn written(value: &Value) -> Vec<u8> {
    let written = sensors(&group("g", 1, &json!({ "v": value }))).unwrap();
    // topic, then SensorGroup with its id, time, and entry; which is the name, then the value.
    let before = bytes("0a09 73656e736f72732f67 12").len() + 1 + bytes("0a0167 1001 1a").len() + 1;
    written[before + bytes("0a0176 12").len() + 1..].to_vec()
}

#[test]
fn every_value_is_written_also_when_it_is_zero() {
    for (value, wanted) in [
        (json!({ "Bool": false }), "0800"),
        (json!({ "Bool": true }), "0801"),
        (json!({ "U8": 0 }), "1000"),
        (json!({ "U16": 65535 }), "10ffff03"),
        (json!({ "U32": 300 }), "10ac02"),
        (json!({ "U64": 0 }), "1800"),
        (json!({ "I16": -5 }), "20fbffffffffffffffff01"),
        (json!({ "I32": 0 }), "2000"),
        (json!({ "I64": 1 }), "2801"),
        (json!({ "F32": 0.0 }), "3500000000"),
        (json!({ "F32": 0.2 }), "35cdcc4c3e"),
        (json!({ "F64": 0.5 }), "39000000000000e03f"),
        (json!({ "String": "" }), "4200"),
        (json!({ "Bytes": [0, 255] }), "4a0200ff"),
        (json!({ "Vector3": [0.5, 0.0, -0.5] }), "520f0d0000003f1500000000 1d000000bf"),
        (json!({ "PointCloud2D": [] }), "5a00"),
        (json!({ "PointCloud2D": [[0.5, 0.2, 7]] }), "5a0e0a0c0d0000003f15cdcc4c3e1807"),
    ] {
        assert_eq!(written(&value), bytes(wanted), "{value}");
    }
}

#[test]
fn what_has_no_place_in_it_is_left_out_and_what_is_no_group_is_none() {
    let values = json!({ "plain": 5, "later": { "Matrix": [] }, "wrong": { "U8": -1 } });
    let wanted = bytes("0a09 73656e736f72732f67 1205 0a0167 1001");
    assert_eq!(sensors(&group("g", 1, &values)), Some(wanted));
    for text in ["", "{}", "[]", r#"{"group_id":"x"}"#] {
        assert_eq!(sensors(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(message in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = asked(&message);
        may_be_urgent(&message, Dialect::Sangam);
    }

    #[test]
    fn damaged_messages_are_too(
        which in 0..ALL.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut message = vector(ALL[which]);
        for (place, byte) in damage {
            let place = place.index(message.len());
            message[place] = byte;
        }
        let is_stop = matches!(asked(&message), Ok(Command::Halt(_)));
        prop_assert!(!is_stop || may_be_urgent(&message, Dialect::Sangam));
    }
}
