//! `sinew map record`.

use std::{fs, time::Duration};

use serde_json::json;
use sinew_api::frame::{self, Header};
use sinew_robot::map::file::messages::Recording;
use sinew_wire::unitree::Form;

use super::{
    Rig,
    fake::{Fake, await_subscription, send},
};
use crate::support::{Process, until};

/// What the robot sends, and in which form.
const SENT: [(&str, &[u8]); 3] =
    [("text", b"{\"topic\":\"rt/a\"}"), ("binary", b"\x02\x00\x00\x00{}"), ("text", b"")];

impl Rig {
    /// Publishes a message as this number of the topic's, with this time.
    fn publish(&self, sequence: u64, time_us: u64, (name, bytes): (&str, &[u8])) {
        let header = Header { sequence, time_us, name, ..Header::default() };
        self.robot.audience.frame("messages", frame::message(&header, bytes));
    }

    fn start_recording(&self, args: &[&str]) -> Process {
        let recording = self.start_map(&[&["record"], args].concat());
        until("a recorder", || self.robot.audience.wants_frames("messages").then_some(()));
        recording
    }

    fn recorded(&self, name: &str) -> Vec<(u64, Form, Vec<u8>)> {
        let bytes = fs::read(self.dir.join(name)).unwrap_or_default();
        let Ok(recording) = Recording::new(&bytes) else { return Vec::new() };
        recording
            .map(|message| {
                let message = message.unwrap();
                let micros = message.at.as_micros().try_into().unwrap();
                (micros, message.form, message.bytes.to_vec())
            })
            .collect()
    }
}

#[test]
fn messages_are_kept_with_their_times_and_what_was_lost_is_said() {
    let rig = Rig::start();
    let mut recording = rig.start_recording(&["run.msg"]);
    for (sequence, message) in [1, 2, 5].into_iter().zip(SENT) {
        rig.publish(sequence, 1_000_000 + sequence * 250_000, message);
    }
    // It is written while it is recorded.
    let kept = until("all messages in the file", || {
        Some(rig.recorded("run.msg")).filter(|kept| kept.len() == 3)
    });
    let wanted: Vec<_> = [0, 250_000, 1_000_000]
        .into_iter()
        .zip([Form::Text, Form::Binary, Form::Text])
        .zip(SENT)
        .map(|((at, form), (_, bytes))| (at, form, bytes.to_vec()))
        .collect();
    assert_eq!(kept, wanted);
    recording.signal("INT");
    let ended = recording.wait().ok();
    assert!(ended.stderr.contains("recorded 3 messages, 0 of them clouds"), "{ended:?}");
    assert!(ended.stderr.contains("2 messages were lost"), "{ended:?}");
    assert_eq!(rig.recorded("run.msg"), wanted);
    let again = rig.map(&["record", "run.msg", "--seconds", "1"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("--force writes over it"), "{again:?}");
    assert_eq!(rig.recorded("run.msg"), wanted);
}

#[test]
fn a_recording_ends_by_itself_and_says_when_nothing_came() {
    let rig = Rig::start();
    fs::write(rig.dir.join("run.msg"), "something else, and longer than a recording").unwrap();
    let mut recording = rig.start_recording(&["run.msg", "--force", "--seconds", "0.3", "--json"]);
    let ended = recording.wait().ok();
    let said = ended.json();
    assert_eq!((&said["messages"], &said["bytes"]), (&json!(0), &json!(16)), "{said}");
    assert!(said["seconds"].as_f64().is_some_and(|seconds| seconds >= 0.3), "{said}");
    assert!(ended.stderr.contains("no message came"), "{ended:?}");
    assert_eq!(fs::metadata(rig.dir.join("run.msg")).unwrap().len(), 16);
    assert_eq!(rig.map(&["record", "a.msg", "--seconds", "-1"]).code, Some(2));
}

#[test]
fn a_recorder_that_is_killed_leaves_what_it_had() {
    let rig = Rig::start();
    let mut recording = rig.start_recording(&["run.msg"]);
    let large = vec![7; 100_000];
    for sequence in 0..20 {
        rig.publish(sequence, sequence, ("binary", &large));
        // The daemon keeps a megabyte for a reader, and this one is to miss nothing.
        until("it to be written", || {
            Some(fs::metadata(rig.dir.join("run.msg")).ok()?.len())
                .filter(|bytes| *bytes >= (sequence + 1) * 100_000 || sequence % 5 < 4)
        });
    }
    recording.kill();
    assert_eq!(rig.recorded("run.msg").len(), 20);
    let info = rig.map(&["info", "run.msg"]);
    // What it holds is no cloud of a robot's.
    assert_eq!(info.code, Some(1), "{info:?}");
}

#[test]
fn a_disk_that_is_full_is_said() {
    let rig = Rig::start();
    let ended = rig.map(&["record", "/dev/full", "--force"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("cannot write /dev/full: No space left"), "{ended:?}");
}

#[test]
fn a_daemon_that_goes_or_talks_rubbish_costs_nothing_that_was_recorded() {
    let fake = Fake::with_frames(|socket| {
        await_subscription(socket);
        let message = |sequence, name: &'static str| {
            let header = Header { sequence, time_us: sequence, name, ..Header::default() };
            frame::message(&header, b"{}")
        };
        send(socket, message(1, "text"));
        send(socket, b"rubbish".to_vec());
        let mut huge = message(2, "text");
        huge[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        send(socket, huge);
        // Numbers that fall, and one at the end of all.
        send(socket, message(0, "text"));
        send(socket, message(u64::MAX, "nothing known"));
        // The client has taken it all when it has acknowledged the last.
        while let Ok(message) = socket.read() {
            if message.to_text().is_ok_and(|text| text.contains(&u64::MAX.to_string())) {
                break;
            }
        }
        let _ = socket.get_ref().shutdown(std::net::Shutdown::Both);
    });
    let ended = fake.map(&["record", "run.msg"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("lost the daemon"), "{ended:?}");
    assert!(ended.stderr.contains("is in run.msg"), "{ended:?}");
    let bytes = fs::read(fake.dir.join("run.msg")).unwrap();
    let kept: Vec<_> = Recording::new(&bytes).unwrap().map(|message| message.unwrap().at).collect();
    assert_eq!(kept.len(), 3);
    assert_eq!(kept[1], Duration::ZERO, "{kept:?}");
}
