//! Every JSON example of document 003, word for word, and the frames it must cause.

use serde_json::{Value, json};

use crate::{
    clients::{Lines, Prefixed, configure, control, led},
    support::{ALL_OFF, FORWARD, Rig, STILL, frame},
};

const TANK: &str = r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Configure", "config": {"left": {"F32": 0.1}, "right": {"F32": 0.2}}}}"#;
const DRIVE: &str = r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Configure", "config": {"linear": {"F32": 0.2}, "angular": {"F32": 0.0}}}}"#;
const TURN: &str = r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Configure", "config": {"linear": {"F32": 0.0}, "angular": {"F32": 0.5}}}}"#;
const DISABLE: &str =
    r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Disable"}}"#;
const RESET: &str = r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Reset"}}"#;
const ENABLE: &str = r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Enable"}}"#;
const ENABLE_MODE: &str = r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Enable", "config": {"mode": {"U8": 2}}}}"#;
const VACUUM: &str = r#"{"type": "ComponentControl", "id": "vacuum", "action": {"type": "Configure", "config": {"speed": {"U8": 75}}}}"#;
const IMU: &str = r#"{"type": "ComponentControl", "id": "imu", "action": {"type": "Reset"}}"#;
const LED: &str = r#"{"type": "ComponentControl", "id": "led", "action": {"type": "Configure", "config": {"state": {"U8": 4}}}}"#;
const BOARD_ON: &str =
    r#"{"type": "ComponentControl", "id": "main_board", "action": {"type": "Enable"}}"#;
const BOARD_RESTART: &str =
    r#"{"type": "ComponentControl", "id": "main_board", "action": {"type": "Reset"}}"#;
const CHARGER_ON: &str =
    r#"{"type": "ComponentControl", "id": "charger", "action": {"type": "Enable"}}"#;
const CHARGER_OFF: &str =
    r#"{"type": "ComponentControl", "id": "charger", "action": {"type": "Disable"}}"#;
const SLEEP: &str = r#"{"type": "ComponentControl", "id": "mcu", "action": {"type": "Disable"}}"#;
const WAKE: &str = r#"{"type": "ComponentControl", "id": "mcu", "action": {"type": "Enable"}}"#;
const CLEAR: &str = r#"{"type": "ComponentControl", "id": "mcu", "action": {"type": "Reset"}}"#;
const SYNC: &str = r#"{"type": "ProtocolSync"}"#;

/// Those that make the wheels turn; each begins with the drive enabled.
const MOVING: [(&str, &str); 3] =
    [(TANK, "67 64 00 C8 00"), (DRIVE, FORWARD), (TURN, "66 00 00 00 00 F4 01 00 00")];

/// The others, in an order in which the drive is off and then on again.
const STANDING: [(&str, &[&str]); 15] = [
    (DISABLE, &[STILL, "65 00"]),
    (RESET, &[STILL, ALL_OFF[0], ALL_OFF[1], ALL_OFF[2], ALL_OFF[3], ALL_OFF[4], ALL_OFF[5]]),
    (ENABLE, &["65 02"]),
    (ENABLE_MODE, &["65 02"]),
    (VACUUM, &["68 4C 1D"]),
    (DISABLE, &[STILL, "65 00", "65 02", "68 4C 1D"]),
    (RESET, &[STILL, ALL_OFF[0], ALL_OFF[1], ALL_OFF[2], ALL_OFF[3], ALL_OFF[4], ALL_OFF[5]]),
    // Nothing works in mode 0, so it is left first.
    (VACUUM, &["65 02", "68 4C 1D"]),
    (LED, &["8D 04"]),
    (BOARD_ON, &["99 01"]),
    (CHARGER_ON, &["9B 01"]),
    (CHARGER_OFF, &["9B 00"]),
    (WAKE, &["05"]),
    (CLEAR, &["0A"]),
    (SYNC, &["0C 01"]),
];

/// Those that can hurt.
const HURTING: [(&str, &[&str]); 2] = [(IMU, &["A1"]), (BOARD_RESTART, &[STILL, "9A"])];

/// The three ways in which a client may say them.
enum Client {
    Bare(Prefixed),
    Wrapped(Prefixed),
    Line(Lines),
}

impl Client {
    fn say(&mut self, text: &str) {
        match self {
            Client::Bare(client) => client.send(text.as_bytes()),
            Client::Wrapped(client) => client.send(
                format!(r#"{{"topic":"command","payload":{{"type":"Command","command":{text}}}}}"#)
                    .as_bytes(),
            ),
            Client::Line(client) => client.send(text),
        }
    }

    /// The error that a refused command brings, where clients expect errors.
    fn error(&mut self, text: &str) -> Value {
        match self {
            // Silent until `req` is used.
            Client::Bare(_) | Client::Wrapped(_) => {
                let with_req = text.replacen('{', r#"{"req": "a","#, 1);
                self.say(&with_req);
                let (Client::Bare(client) | Client::Wrapped(client)) = self else { panic!() };
                let reply = client.next_of("reply");
                assert_eq!(reply["req"], "a");
                reply["error"].clone()
            }
            Client::Line(client) => client.next()["error"].clone(),
        }
    }
}

fn confirmed(text: &str) -> String {
    let open = text.strip_suffix('}').unwrap();
    format!(r#"{open}, "confirm": true}}"#)
}

/// Says it, and sees that it causes these frames and no others: the LED comes after all of them.
fn say(rig: &Rig, client: &mut Client, text: &str, frames: &[&str], fence: u8) {
    let mark = rig.quiet();
    client.say(text);
    rig.expect(mark, text, frames);
    client.say(&led(fence).to_string());
    let fence = format!("8D {fence:02X}");
    rig.expect(mark, text, &[frames, &[fence.as_str()]].concat());
}

fn all_examples(mut connect: impl FnMut(&Rig) -> Client) {
    // A velocity must outlast the look at the record, however slow the machine.
    let rig = Rig::with(&["--deadman-ms", "2000"]);
    let client = &mut connect(&rig);
    for (fence, (text, moving)) in (20..).zip(MOVING) {
        let mark = rig.quiet();
        client.say(ENABLE);
        rig.expect(mark, "enable", &["65 02"]);
        say(&rig, client, text, &[moving], fence);
        let mark = rig.mark();
        client.say(DISABLE);
        rig.await_frame(mark, "65 00");
    }
    for (fence, (text, frames)) in (30..).zip(STANDING) {
        say(&rig, client, text, frames, fence);
    }
    for (fence, (text, frames)) in (50..).step_by(2).zip(HURTING) {
        say(&rig, client, text, &[], fence);
        if let Client::Line(_) = client {
            assert_eq!(client.error(text)["code"], "not_confirmed");
        }
        say(&rig, client, &confirmed(text), frames, fence + 1);
    }
    let mark = rig.quiet();
    if let Client::Line(_) = client {
        client.say(SLEEP);
    }
    assert_eq!(client.error(SLEEP)["code"], "not_confirmed");
    client.say(&led(60).to_string());
    rig.expect(mark, "sleep", &["8D 3C"]);

    // A controller that sleeps is silent, so the link is lost until it is woken.
    let mark = rig.quiet();
    client.say(&confirmed(SLEEP));
    rig.wait_link("lost");
    let sent = rig.acts(mark);
    assert_eq!(sent[..2], [frame(STILL), frame("04")]);
    let mark = rig.mark();
    client.say(WAKE);
    rig.await_frame(mark, "05");
    rig.wait_ready();
}

#[test]
fn examples_work_bare_on_the_port_of_document_003() {
    all_examples(|rig| Client::Bare(rig.prefixed()));
}

#[test]
fn examples_work_in_envelopes_on_the_port_of_document_003() {
    all_examples(|rig| Client::Wrapped(rig.prefixed()));
}

#[test]
fn examples_work_as_lines() {
    all_examples(|rig| Client::Line(rig.lines()));
}

#[test]
fn every_other_cell_of_the_table_sends_its_frame() {
    let rig = Rig::start();
    let client = &mut rig.lines();
    client.ok(control("drive", "Enable"));
    let speed = |id: &str, speed: u8| configure(id, json!({ "speed": { "U8": speed } }));
    let mut idle = control("drive", "Enable");
    idle["action"]["config"] = json!({ "mode": { "U8": 0 } });
    let mut spin = control("lidar", "Enable");
    spin["action"]["config"] = json!({ "pwm": 40 });
    let cells: [(Value, &[&str]); 24] = [
        (control("vacuum", "Enable"), &["68 10 27"]),
        (control("vacuum", "Disable"), &["68 00 00"]),
        (control("main_brush", "Enable"), &["6A 64"]),
        (speed("main_brush", 30), &["6A 1E"]),
        (control("main_brush", "Disable"), &["6A 00"]),
        (control("side_brush", "Enable"), &["69 64"]),
        (speed("side_brush", 31), &["69 1F"]),
        (control("side_brush", "Disable"), &["69 00"]),
        (control("lidar", "Enable"), &["A2 10 0E 00 00", "97 01", "71 3C 00 00 00"]),
        (control("lidar", "Disable"), &["97 00"]),
        (spin, &["A2 10 0E 00 00", "97 01", "71 28 00 00 00"]),
        (control("lidar", "Disable"), &["97 00"]),
        (control("imu", "Enable"), &["A2"]),
        (control("compass", "Enable"), &["A4"]),
        (control("compass", "Reset"), &["A3"]),
        (control("cliff_ir", "Enable"), &["78 01"]),
        (control("cliff_ir", "Disable"), &["78 00"]),
        (configure("cliff_ir", json!({ "direction": { "U8": 3 } })), &["79 03"]),
        (control("main_board", "Disable"), &[STILL, "99 00"]),
        (configure("led", json!({ "state": 255 })), &["8D FF"]),
        (json!({ "type": "Raw", "command": "0x86", "payload": "41" }), &["86 41"]),
        (configure("drive", json!({ "linear": 0, "angular": 0 })), &[STILL]),
        (idle, &["65 00"]),
        (control("side_brush", "Enable"), &["65 02", "69 64"]),
    ];
    for (fence, (mut message, frames)) in (100..).zip(cells) {
        // Accepted on any command.
        message["confirm"] = true.into();
        let mark = rig.quiet();
        client.ok(message.clone());
        rig.expect(mark, &message.to_string(), frames);
        client.ok(led(fence));
        let fence = format!("8D {fence:02X}");
        rig.expect(mark, &message.to_string(), &[frames, &[fence.as_str()]].concat());
    }
}

#[test]
fn a_mode_switch_is_waited_for() {
    let rig = Rig::start();
    let mut client = rig.lines();
    let mark = rig.quiet();
    client.send(VACUUM);
    let (mode, vacuum) = (rig.await_frame(mark, "65 02"), rig.await_frame(mark, "68 4C 1D"));
    assert!(rig.at(vacuum) - rig.at(mode) >= 100_000);
    // Heartbeats go on meanwhile.
    let mut record = rig.record.borrow_mut();
    let beats = record.read()[mode..vacuum].iter().filter(|sent| sent.command() == 0x06).count();
    assert!(beats >= 3, "{beats}");
}

#[test]
fn boot_sends_the_captured_frames_in_their_order() {
    const BOOT: [&str; 19] = [
        "FA FB 04 0C 01 0C 01",
        "FA FB 03 07 00 07",
        "FA FB 04 8D 01 8D 01",
        "FA FB 03 0A 00 0A",
        "FA FB 03 07 00 07",
        "FA FB 07 17 01 F0 DF FA 07 1A",
        "FA FB 03 18 00 18",
        "FA FB 04 97 00 97 00",
        "FA FB 04 9D 01 9D 01",
        "FA FB 07 71 00 00 00 00 71 00",
        "FA FB 04 65 00 65 00",
        "FA FB 05 68 00 00 68 00",
        "FA FB 04 69 00 69 00",
        "FA FB 04 6A 00 6A 00",
        "FA FB 04 6B 00 6B 00",
        "FA FB 03 08 00 08",
        "FA FB 04 19 01 19 01",
        "FA FB 06 7C 00 FF FF 7B FF",
        "FA FB 04 8D 01 8D 01",
    ];
    let rig = Rig::booting(&[]);
    let mut client = rig.lines();
    let refusal = client.fails(control("drive", "Enable"), "not_ready");
    assert!(refusal.contains("booting"), "{refusal}");
    rig.wait_ready();
    let mut acts = rig.acts(0);
    // Retries are allowed.
    acts.dedup();
    acts.retain(|sent| *sent != frame(STILL) && *sent != frame("6B 64"));
    assert_eq!(acts, BOOT);
    let mut record = rig.record.borrow_mut();
    let pulses: Vec<_> = record.read().iter().filter(|sent| sent.command() == 0x6B).collect();
    let (first, last) = (pulses[1], pulses[pulses.len() - 1]);
    assert!(last.at - first.at >= 2_000_000, "{}", last.at - first.at);
}
