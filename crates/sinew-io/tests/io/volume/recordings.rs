//! Recordings in a robot's place: whole, cut, and of rubbish.

use std::{
    fs,
    path::PathBuf,
    sync::{OnceLock, atomic::Ordering},
    time::{Duration, Instant},
};

use serde_json::json;
use sinew_robot::{
    Code,
    mapping::{Pose, Request},
};
use sinew_wire::{slam::Reading, unitree::Form};

use super::bench::{Mapped, recording, standing};

type Messages = Vec<(u64, Form, Vec<u8>)>;

/// What a robot sends while it maps, the same for all tests.
fn messages() -> &'static Messages {
    static MESSAGES: OnceLock<Messages> = OnceLock::new();
    MESSAGES.get_or_init(|| {
        let robot = Mapped::simulated(standing(Reading::Packed), Vec::new());
        robot.ask(Request::Start).unwrap();
        robot.until("clouds", |robot| robot.clouds() >= 6);
        robot.shut_down();
        robot.messages()
    })
}

fn clouds() -> impl Iterator<Item = &'static (u64, Form, Vec<u8>)> {
    messages().iter().filter(|(_, form, _)| *form == Form::Binary)
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Files(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let file = self.0.path().join(name);
        fs::write(&file, bytes).unwrap();
        file
    }
}

#[test]
fn a_recording_can_be_asked_about_its_map_and_for_nothing_else() {
    let files = Files::new();
    // A name that has all that a link's text could stumble over.
    let file = files.write("a hall? 2=1.messages", &recording(messages()));
    let (replay, reason) = Mapped::replayed(&file, "?speed=1000");
    assert_eq!(reason, "the recording is over");
    let info = replay.ask(Request::Info).unwrap();
    assert_eq!((&info["mapping"], &info["clouds"]), (&json!(true), &json!(clouds().count())));
    assert!(info["voxels"].as_u64().unwrap() > 500 && info["pose"].is_object(), "{info}");
    let pose = Pose::default();
    for request in [
        Request::Relocate { map: "hall".into(), pose },
        Request::GoTo { pose },
        Request::Pause,
        Request::Resume,
        Request::Close,
        Request::Download { name: "hall".into() },
    ] {
        let refusal = replay.ask(request).unwrap_err();
        assert_eq!(refusal.code, Code::Unsupported);
        assert!(refusal.message.contains("recording"), "{refusal}");
    }
    // It is over: a new map would stay empty, and this one is not lost by asking.
    assert_eq!(replay.ask(Request::Start).unwrap_err().code, Code::NotReady);
    let stopped = replay.ask(Request::Stop { name: None }).unwrap();
    assert!(stopped["note"].as_str().unwrap().contains("the map stays here"), "{stopped}");
    assert_eq!(replay.ask(Request::Info).unwrap()["voxels"], info["voxels"]);
    replay.ask(Request::Clear).unwrap();
    assert!(replay.ask(Request::Info).unwrap()["voxels"].is_null());
    let ended = replay.events().into_iter().find(|event| event["link"]["state"] == "ended");
    assert_eq!(ended.unwrap()["link"]["reason"], "the recording is over");
    replay.shut_down();
}

#[test]
fn a_recording_plays_at_its_own_pace_or_another() {
    let files = Files::new();
    let odometry = messages().iter().find(|(_, form, bytes)| {
        *form == Form::Text && String::from_utf8_lossy(bytes).contains("slam_mapping/odom")
    });
    let bytes = &odometry.unwrap().2;
    let at = |millis: u64| (millis * 1000, Form::Text, bytes.clone());
    let file = files.write("slow", &recording(&[at(0), at(300), at(600)]));
    for (speed, least) in [("", 600), ("?speed=1", 600), ("?speed=2", 300), ("?speed=0.5", 1200)] {
        let begin = Instant::now();
        Mapped::replayed(&file, speed).0.shut_down();
        let took = begin.elapsed();
        assert!(took >= Duration::from_millis(least), "{speed}: {took:?}");
    }
    // Days of silence, times that go back, and one at the end of time.
    let days = at(3 * 24 * 3_600_000);
    let last = (u64::MAX, Form::Text, bytes.clone());
    let file = files.write("long", &recording(&[at(0), days, at(5), last]));
    let (replay, _) = Mapped::replayed(&file, "?speed=1000");
    assert_eq!(replay.state("/counters/received"), 4);
    replay.shut_down();
}

#[test]
fn what_is_no_recording_is_refused_at_the_start() {
    let files = Files::new();
    let whole = recording(messages());
    let mut version = whole.clone();
    version[8] = 2;
    for (name, bytes, words) in [
        ("empty", &b""[..], "got nothing"),
        ("text", b"# a list\n", "got none of them"),
        ("pcd", b"# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\n", "got pcd"),
        ("magic", b"SINEWMSG", "SINEWMSG and a version"),
        ("version", &version, "wanted 1, got 2"),
        // Lengths beyond the file: nothing is allocated for them.
        ("lengths", b"\xff\xff\xff\xff\xff\xff\xff\xff{\"a\":1}", "json_len"),
    ] {
        let file = files.write(name, bytes);
        let error = Mapped::replay(&file, "").err().unwrap().to_string();
        assert!(error.contains(words) && error.contains(name), "{error}");
    }
    let none = Mapped::replay(&files.0.path().join("none"), "").err().unwrap().to_string();
    assert!(none.contains("none: No such file"), "{none}");
    let dir = Mapped::replay(files.0.path(), "").err().unwrap().to_string();
    assert!(dir.contains("no file"), "{dir}");
}

#[test]
fn a_recording_that_is_cut_or_damaged_gives_the_map_of_what_is_whole() {
    let files = Files::new();
    let whole = recording(messages());
    let cut = &whole[..whole.len() - 7];
    let mut form = whole.clone();
    form.extend([0; 16]);
    let mut length = whole.clone();
    length.extend([[0; 8], [2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]].concat());
    for (name, bytes, words, fewer) in [
        ("cut", cut, "not whole", 1),
        ("head", &whole[..whole.len() - messages().last().unwrap().2.len() - 3], "not whole", 1),
        ("form", &form, "damaged: form", 0),
        ("length", &length, "not whole", 0),
    ] {
        let (replay, reason) = Mapped::replayed(&files.write(name, bytes), "?speed=1000");
        assert!(reason.contains(words), "{name}: {reason}");
        let received = replay.state("/counters/received").as_u64().unwrap() as usize;
        assert_eq!(received, messages().len() - fewer, "{name}");
        assert!(replay.state("/map/voxels").as_u64().unwrap() > 500, "{name}");
        replay.shut_down();
    }
}

#[test]
fn rubbish_between_the_messages_is_counted_and_leaves_the_map_as_it_is() {
    let files = Files::new();
    let good: Messages = messages().clone();
    let (_, _, cloud) = clouds().next().unwrap();
    let json_len = u32::from_le_bytes(cloud[4..8].try_into().unwrap()) as usize;
    let json = String::from_utf8(cloud[12..12 + json_len].to_vec()).unwrap();
    let with = |json: &str| {
        let head = [&cloud[..4], &(json.len() as u32).to_le_bytes(), &cloud[8..12]].concat();
        [&head, json.as_bytes(), &cloud[12 + json_len..]].concat()
    };
    let bad = vec![
        b"{\"type\":\"msg\",\"topic\":".to_vec(),
        b"".to_vec(),
        vec![0xff; 100],
        // Longer than any message, and still within the file.
        vec![b'{'; 300 << 10],
        // Lengths of 4 GiB.
        [&cloud[..4], &[0xff; 8], &cloud[12..]].concat(),
        // A box of no numbers, one of huge ones, one that does not fit its points.
        with(&numbers(&json, "null")),
        with(&numbers(&json, "1e999")),
        with(&numbers(&json, "1e30")),
        with(&numbers(&json, "\"NaN\"")),
        // Half of the points are missing, or there are some bytes too many.
        cloud[..cloud.len() / 2].to_vec(),
        [cloud, &[1, 2, 3][..]].concat(),
    ];
    let mut all = Messages::new();
    let forms = [Form::Binary, Form::Text];
    for (index, message) in good.iter().enumerate() {
        all.push(message.clone());
        let rubbish = bad.iter().cycle().skip(index).take(2).zip(forms);
        all.extend(rubbish.map(|(bytes, form)| (message.0, form, bytes.clone())));
    }
    let (wanted, _) = Mapped::replayed(&files.write("good", &recording(&good)), "?speed=1000");
    let (replay, reason) = Mapped::replayed(&files.write("bad", &recording(&all)), "?speed=1000");
    assert_eq!(reason, "the recording is over");
    assert_eq!(replay.state("/counters/received"), all.len());
    let counted = |pointer| replay.state(pointer).as_u64().unwrap();
    let lost = counted("/counters/malformed") + counted("/mapping/clouds_rejected");
    assert!(lost as usize >= 2 * good.len() - good.len() / 5, "{lost} of {}", 2 * good.len());
    assert!(counted("/mapping/clouds_rejected") > 0);
    assert_eq!(replay.cells(), wanted.cells());
    replay.shut_down();
    wanted.shut_down();
}

/// A cloud's description with something else for each number of its box.
fn numbers(json: &str, number: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(json).unwrap();
    let mark = "a mark";
    let mut stack = vec![&mut value];
    while let Some(value) = stack.pop() {
        match value {
            serde_json::Value::Object(members) => stack.extend(members.values_mut()),
            serde_json::Value::Array(values) => stack.extend(values.iter_mut()),
            serde_json::Value::Number(_) => *value = mark.into(),
            _ => {}
        }
    }
    value.to_string().replace(&format!("\"{mark}\""), number)
}

#[test]
fn messages_without_times_come_ten_times_a_second() {
    let files = Files::new();
    let count = 4;
    let bytes: Vec<u8> = clouds().take(count).flat_map(|(_, _, bytes)| bytes.clone()).collect();
    let file = files.write("bare", &bytes);
    let begin = Instant::now();
    let (replay, reason) = Mapped::replayed(&file, "");
    assert!(begin.elapsed() >= Duration::from_millis(300), "{:?}", begin.elapsed());
    assert_eq!((reason.as_str(), replay.clouds()), ("the recording is over", count as u64));
    replay.shut_down();
    let cut = files.write("cut", &bytes[..bytes.len() - 1]);
    let (replay, reason) = Mapped::replayed(&cut, "?speed=1000");
    assert!(reason.contains("ends in no message"), "{reason}");
    assert_eq!(replay.clouds(), count as u64 - 1);
    replay.shut_down();
}

#[test]
fn what_a_recording_plays_can_be_recorded_again() {
    let files = Files::new();
    // It begins with a silence, so that a reader is there before the first message.
    let mut later = messages().clone();
    later.insert(0, (later[0].0 - 1_000_000, Form::Binary, Vec::new()));
    let file = files.write("first", &recording(&later));
    let replay = Mapped::replay(&file, "").unwrap();
    replay.heard.wants.store(true, Ordering::Relaxed);
    replay.until("ended", |replay| replay.link()["state"] == "ended");
    let bytes = |messages: &Messages| messages.iter().map(|m| m.2.clone()).collect::<Vec<_>>();
    let heard = bytes(&replay.messages());
    assert!(heard.ends_with(&bytes(messages())), "{} of {}", heard.len(), later.len());
    replay.shut_down();
}
