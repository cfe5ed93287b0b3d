//! The dissector in tshark, against `sinew decode`.

use std::{fs, process::Command};

use serde_json::{Map, Value};
use sinew_wire::teach::{Interpolation, PORT};

use crate::{
    inspect::write::{self, Ends, Order},
    sinew,
};

/// On ports that say nothing.
const ENDS: Ends = ((10, 41_000), (3, 41_001));
/// DLT_USER0.
const SERIAL: u16 = 147;

/// What tshark finds in each packet, without what is not ours; none without tshark.
fn tshark(capture: &[u8]) -> Option<Vec<Map<String, Value>>> {
    let directory = tempfile::tempdir().unwrap();
    let (script, file) = (directory.path().join("sinew.lua"), directory.path().join("file"));
    fs::write(&script, sinew(&["inspect", "--dissector"]).stdout).unwrap();
    fs::write(&file, capture).unwrap();
    let output = Command::new("tshark")
        .arg(format!("-Xlua_script:{}", script.display()))
        .args(["-n", "-T", "json", "--no-duplicate-keys", "-r"])
        .arg(&file)
        .output();
    let Ok(output) = output else {
        println!("skipped: tshark is not installed (apt-get install tshark)");
        return None;
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    // A version may have bytes that are no text.
    let stdout = String::from_utf8_lossy(&output.stdout);
    for said in [&stderr, &stdout] {
        assert!(!said.to_lowercase().contains("lua error"), "{said}");
    }
    let packets: Vec<Value> = serde_json::from_str(&stdout).unwrap();
    Some(packets.iter().map(|packet| flat(&packet["_source"]["layers"])).collect())
}

/// Our fields, each with the list of its values.
fn flat(layers: &Value) -> Map<String, Value> {
    fn walk(value: &Value, fields: &mut Map<String, Value>) {
        for (key, value) in value.as_object().into_iter().flatten() {
            match value {
                Value::Object(_) => walk(value, fields),
                Value::Array(list) if list.iter().any(Value::is_object) => {
                    list.iter().for_each(|value| walk(value, fields));
                }
                value if key.starts_with("sinew_") => {
                    let values = fields.entry(key).or_insert(Value::Array(Vec::new()));
                    let more = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
                    values.as_array_mut().unwrap().extend(more);
                }
                _ => {}
            }
        }
    }
    let mut fields = Map::new();
    walk(layers, &mut fields);
    fields
}

fn vectors(name: &str) -> Vec<Value> {
    let path = format!("{}/../../vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn bytes(hex: &Value) -> Vec<u8> {
    let digits = hex.as_str().unwrap().as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn decoded(hex: &Value, from: Option<&str>) -> Value {
    let mut args = vec!["decode", hex.as_str().unwrap(), "--json"];
    args.extend(from.iter().flat_map(|from| ["--from", from]));
    let run = sinew(&args);
    assert_eq!(run.code, 0, "{hex}: {}", run.stderr);
    run.json()[0].clone()
}

/// Whether a value of tshark's is what decode gives.
fn same(field: &str, ours: &Value, theirs: &Value) -> bool {
    let theirs = theirs.as_str().unwrap();
    let number = |text: &str| match text {
        "true" | "True" => Some(1.0),
        "false" | "False" => Some(0.0),
        text => text.parse::<f64>().ok(),
    };
    let close = |ours: f64| {
        number(theirs).is_some_and(|theirs| (ours - theirs).abs() <= 1e-6 * ours.abs().max(1.0))
    };
    match ours {
        Value::Bool(on) => close(f64::from(u8::from(*on))),
        Value::Number(ours) => close(ours.as_f64().unwrap()),
        Value::String(mode) if field == "interpolation" => number(theirs)
            .is_some_and(|mode_| Interpolation::from(mode_ as u32).to_string() == *mode),
        Value::String(text) => *text == theirs || *text == theirs.replace(':', ""),
        _ => false,
    }
}

/// The values of a member of decode's, under the names that its parts have with tshark.
fn spread(field: &str, value: &Value) -> Vec<(String, Vec<Value>)> {
    let column = |list: &[Value], at: usize| list.iter().map(|row| row[at].clone()).collect();
    let member = |list: &[Value], name: &str| list.iter().map(|row| row[name].clone()).collect();
    match (field, value) {
        ("keyframes", Value::Array(list)) => ["joint", "time_ms", "value"]
            .iter()
            .enumerate()
            .map(|(at, name)| (format!("keyframes.{name}"), column(list, at)))
            .collect(),
        ("samples", Value::Array(list)) => ["quality", "metres"]
            .iter()
            .enumerate()
            .map(|(at, name)| (format!("samples.{name}"), column(list, at)))
            .collect(),
        ("actions", Value::Array(list)) => {
            let count = vec![Value::from(list.len())];
            let named = ["name", "metadata"].map(|name| (name.to_owned(), member(list, name)));
            named.into_iter().chain([("count".to_owned(), count)]).collect()
        }
        (field, Value::Array(list)) => vec![(field.to_owned(), list.clone())],
        (field, value) => vec![(field.to_owned(), vec![value.clone()])],
    }
}

/// Holds each field of decode's against tshark's, and no field of tshark's may be left over.
fn agree(about: &str, decode: &Value, theirs: &Map<String, Value>) {
    let proto = format!("sinew_{}", decode["proto"].as_str().unwrap());
    let fact = |name: &str| theirs[&format!("{proto}.{name}")][0].as_str().unwrap().to_owned();
    let code = u64::from_str_radix(fact("command").trim_start_matches("0x"), 16).unwrap();
    assert_eq!(
        (code, fact("name").as_str()),
        (decode["command"].as_u64().unwrap(), decode["name"].as_str().unwrap()),
        "{about}"
    );
    for name in ["layout", "sequence"] {
        if let Some(ours) = decode.get(name) {
            assert!(same(name, ours, &fact(name).into()), "{about}: {name}");
        }
    }
    let mut left: Map<String, Value> = theirs.clone();
    left.retain(|key, value| {
        let parts = key.strip_prefix(&format!("{proto}."));
        let is_none = value.as_array().is_some_and(|list| list.iter().all(|text| text == ""));
        parts.is_some_and(|parts| parts.contains('.')) && !is_none
    });
    for (field, value) in decode["fields"].as_object().unwrap() {
        for (name, ours) in spread(field, value) {
            let key = left.keys().find(|key| key.ends_with(&format!(".{name}"))).cloned();
            let theirs = key.map_or(Value::Array(Vec::new()), |key| left.remove(&key).unwrap());
            let theirs = theirs.as_array().unwrap();
            let is_same = ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(ours, theirs)| same(field, ours, theirs));
            let is_empty_text = ours == [""] && theirs.is_empty();
            assert!(is_same || is_empty_text, "{about}, {name}: {ours:?} but {theirs:?}");
        }
    }
    assert!(left.is_empty(), "{about}: {left:?} is not decode's");
}

#[test]
fn serial_frames_of_vectors_are_the_same_in_tshark() {
    let mut frames: Vec<Value> = ["gd32", "delta2d"]
        .iter()
        .flat_map(|name| vectors(name))
        .map(|vector| vector["frame"].clone())
        .collect();
    // Bytes that differ show which is read where.
    let status: Vec<u8> = (0..96_u8).map(|byte| byte.wrapping_mul(37).wrapping_add(11)).collect();
    let status = sinew_wire::gd32::FrameBuf::new(0x15, &status).unwrap();
    frames.push(
        status.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
    );
    let on_line: Vec<_> = frames.iter().map(|hex| (0, bytes(hex))).collect();
    let on_udp: Vec<_> = frames.iter().map(|hex| (0, write::udp(ENDS, &bytes(hex)))).collect();
    for file in [write::pcap(SERIAL.into(), &on_line), write::pcap(101, &on_udp)] {
        let Some(packets) = tshark(&file) else { return };
        assert_eq!(packets.len(), frames.len());
        for (hex, theirs) in frames.iter().zip(&packets) {
            agree(&hex.to_string(), &decoded(hex, None), theirs);
        }
    }
}

#[test]
fn the_capture_says_which_side_of_a_line_sent() {
    let frames: Vec<Value> =
        ["fafb04a201a201", "fafb03060006", "fafb03070007"].map(Value::from).to_vec();
    for (direction, from) in [(1, "robot"), (2, "host")] {
        let order = Order::Little;
        let mut file = [write::section(order), write::interface(order, SERIAL, &[])].concat();
        for frame in &frames {
            let frame = bytes(frame);
            let mut body = [order.u32(0), order.u32(0), order.u32(0)].concat();
            body.extend([order.u32(frame.len() as u32), order.u32(frame.len() as u32)].concat());
            body.extend(&frame);
            body.resize(body.len().next_multiple_of(4), 0);
            body.extend([order.u16(2), order.u16(4)].concat());
            body.extend([order.u32(direction), order.u32(0)].concat());
            file.extend(write::block(order, 6, &body));
        }
        let Some(packets) = tshark(&file) else { return };
        for (hex, theirs) in frames.iter().zip(&packets) {
            let run = sinew(&["decode", hex.as_str().unwrap(), "--json", "--from", from]);
            let name = &run.json()[0]["name"];
            assert_eq!(theirs["sinew_gd32.name"][0], *name, "{hex} from the {from}");
        }
    }
}

#[test]
fn teaching_datagrams_of_vectors_are_the_same_in_tshark() {
    let (mut packets, mut wanted) = (Vec::new(), Vec::new());
    for vector in vectors("teach") {
        let by_robot = vector["fields"]["from"] == "robot";
        let ways = match by_robot {
            true => vec![(((3, PORT), (10, 41_000)), Some("robot"))],
            false => vec![(ENDS, None)],
        };
        for (layout, (ends, from)) in ["documented", "compact"]
            .into_iter()
            .flat_map(|layout| ways.iter().map(move |way| (layout, *way)))
        {
            packets.push((0, write::udp(ends, &bytes(&vector[layout]))));
            wanted.push((format!("{}, {layout}", vector["name"]), decoded(&vector[layout], from)));
        }
    }
    let Some(seen) = tshark(&write::pcap(101, &packets)) else { return };
    assert_eq!(seen.len(), wanted.len());
    for ((about, decode), theirs) in wanted.iter().zip(&seen) {
        agree(about, decode, theirs);
        assert!(same("right", &true.into(), &theirs["sinew_teach.check_right"][0]), "{about}");
    }
}

#[test]
fn what_is_damaged_or_another_protocol_is_not_taken() {
    let good = bytes(&vectors("teach")[0]["documented"]);
    let mut damaged = good.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let mut random = fastrand::Rng::with_seed(9);
    let mut packets = vec![(0, write::udp(ENDS, &good)), (1, write::udp(ENDS, &damaged))];
    let elsewhere = ((10, 5000), (3, 5001));
    packets
        .extend((1..50).map(|number| {
            (number, write::udp(elsewhere, &write::record(&mut random, number, 44)))
        }));
    let Some(seen) = tshark(&write::pcap(101, &packets)) else { return };
    assert!(same("", &true.into(), &seen[0]["sinew_teach.check_right"][0]));
    assert!(same("", &false.into(), &seen[1]["sinew_teach.check_right"][0]));
    assert!(seen[2..].iter().all(Map::is_empty), "records were taken for datagrams");
}

#[test]
fn no_bytes_break_the_dissector() {
    let mut packets = Vec::new();
    let mut random = fastrand::Rng::with_seed(4);
    let frames = ["gd32", "delta2d"].iter().flat_map(|name| vectors(name));
    for frame in frames.map(|vector| bytes(&vector["frame"])) {
        for _ in 0..8 {
            let mut broken = frame.clone();
            broken.truncate(random.usize(..=frame.len()));
            broken.extend(&frame);
            let place = random.usize(..broken.len());
            broken[place] ^= random.u8(..);
            packets.push((0, broken));
        }
    }
    // Any command with a payload of any length, with a right check.
    for command in 0..=255 {
        let payload: Vec<u8> = (0..random.usize(..100)).map(|_| random.u8(..)).collect();
        let frame = sinew_wire::gd32::FrameBuf::new(command, &payload).unwrap();
        packets.push((0, frame.as_bytes().to_vec()));
        let frame = sinew_wire::delta2d::FrameBuf::new(command, &payload).unwrap();
        packets.push((0, frame.as_bytes().to_vec()));
    }
    let Some(seen) = tshark(&write::pcap(SERIAL.into(), &packets)) else { return };
    assert_eq!(seen.len(), packets.len());
    let mut datagrams = Vec::new();
    for (_, command, _) in sinew_wire::teach::Command::TABLE {
        for length in [0, 1, 3, 4, 44, 45, 100, 108, 144, 146, 176, 207, 208, 300] {
            let payload: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
            let (layout, number) =
                (sinew_wire::teach::Layout::Documented, sinew_wire::teach::Sequence(1));
            let mut out = vec![0; 512];
            let size =
                sinew_wire::teach::Datagram::emit(layout, number, command, &payload, &mut out);
            for ends in [ENDS, ((3, PORT), (10, 41_000)), ((10, 41_000), (3, PORT))] {
                datagrams.push((0, write::udp(ends, &out[..*size.as_ref().unwrap()])));
            }
        }
    }
    let Some(seen) = tshark(&write::pcap(101, &datagrams)) else { return };
    assert!(seen.iter().all(|packet| packet.contains_key("sinew_teach.command")));
}
