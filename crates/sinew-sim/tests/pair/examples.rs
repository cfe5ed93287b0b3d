//! The JSON examples of document 003, from their text to what the robot hears.

use serde_json::Value;
use sinew_robot::{
    Code, Refusal,
    vacuum::{Command, components},
};
use sinew_sim::vacuum::Options;

use crate::{
    harness::{Pair, ms},
    wire::Wire,
};

type Frames = &'static [(u8, &'static [u8])];

struct Example {
    json: &'static str,
    /// Whether the wheels are enabled before.
    enabled: bool,
    confirm: bool,
    frames: Frames,
}

const fn example(json: &'static str, frames: Frames) -> Example {
    Example { json, enabled: false, confirm: false, frames }
}

/// One that needs the wheels enabled.
const fn driving(json: &'static str, frames: Frames) -> Example {
    Example { json, enabled: true, confirm: false, frames }
}

/// One that can hurt.
const fn hurting(json: &'static str, frames: Frames) -> Example {
    Example { json, enabled: false, confirm: true, frames }
}

const STOP: (u8, &[u8]) = (0x66, &[0; 8]);

const EXAMPLES: [Example; 17] = [
    driving(
        r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Configure", "config": {"linear": {"F32": 0.2}, "angular": {"F32": 0.0}}}}"#,
        &[(0x66, &[0xC8, 0, 0, 0, 0, 0, 0, 0]), STOP],
    ),
    driving(
        r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Configure", "config": {"linear": {"F32": 0.0}, "angular": {"F32": 0.5}}}}"#,
        &[(0x66, &[0, 0, 0, 0, 0xF4, 1, 0, 0]), STOP],
    ),
    driving(
        r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Configure", "config": {"left": {"F32": 0.1}, "right": {"F32": 0.2}}}}"#,
        &[(0x67, &[0x64, 0, 0xC8, 0]), STOP, (0x67, &[0; 4])],
    ),
    driving(
        r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Disable"}}"#,
        &[STOP, (0x65, &[0])],
    ),
    driving(
        r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Reset"}}"#,
        &[
            STOP,
            (0x68, &[0, 0]),
            (0x69, &[0]),
            (0x6A, &[0]),
            (0x71, &[0; 4]),
            (0x97, &[0]),
            (0x65, &[0]),
        ],
    ),
    example(
        r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Enable"}}"#,
        &[(0x65, &[2])],
    ),
    example(
        r#"{"type": "ComponentControl", "id": "drive", "action": {"type": "Enable", "config": {"mode": {"U8": 2}}}}"#,
        &[(0x65, &[2])],
    ),
    example(
        r#"{"type": "ComponentControl", "id": "vacuum", "action": {"type": "Configure", "config": {"speed": {"U8": 75}}}}"#,
        &[(0x65, &[2]), (0x68, &[0x4C, 0x1D])],
    ),
    hurting(
        r#"{"type": "ComponentControl", "id": "imu", "action": {"type": "Reset"}}"#,
        &[(0xA1, &[])],
    ),
    example(
        r#"{"type": "ComponentControl", "id": "led", "action": {"type": "Configure", "config": {"state": {"U8": 4}}}}"#,
        &[(0x8D, &[4])],
    ),
    example(
        r#"{"type": "ComponentControl", "id": "main_board", "action": {"type": "Enable"}}"#,
        &[(0x99, &[1])],
    ),
    hurting(
        r#"{"type": "ComponentControl", "id": "main_board", "action": {"type": "Reset"}}"#,
        &[STOP, (0x9A, &[])],
    ),
    example(
        r#"{"type": "ComponentControl", "id": "charger", "action": {"type": "Enable"}}"#,
        &[(0x9B, &[1])],
    ),
    example(
        r#"{"type": "ComponentControl", "id": "charger", "action": {"type": "Disable"}}"#,
        &[(0x9B, &[0])],
    ),
    hurting(
        r#"{"type": "ComponentControl", "id": "mcu", "action": {"type": "Disable"}}"#,
        &[STOP, (0x04, &[])],
    ),
    example(
        r#"{"type": "ComponentControl", "id": "mcu", "action": {"type": "Enable"}}"#,
        &[(0x05, &[])],
    ),
    example(
        r#"{"type": "ComponentControl", "id": "mcu", "action": {"type": "Reset"}}"#,
        &[(0x0A, &[])],
    ),
];

fn parse(json: &str, confirm: bool) -> Result<Command, Refusal> {
    let value: Value = serde_json::from_str(json).unwrap();
    components::parse(&value["id"], &value["action"], confirm)
}

/// A booted pair that has been quiet for a while.
fn quiet(enabled: bool) -> Pair {
    let mut pair = Pair::ready(Options::default());
    if enabled {
        pair.execute(Command::DriveEnable { mode: 2 }).unwrap();
    }
    pair.run_for(ms(500));
    pair.heard.clear();
    pair
}

/// What the robot heard but idle heartbeats, polls, and repetitions of what it had heard before.
fn heard(pair: &Pair) -> Vec<Wire> {
    let mut frames: Vec<Wire> = Vec::new();
    for received in &pair.heard {
        let frame = Wire::parse(received.bytes());
        let again = matches!(frame.command, 0x66..=0x6A | 0x71) && frames.contains(&frame);
        if !again && !matches!(frame.command, 0x06 | 0x0D) {
            frames.push(frame);
        }
    }
    frames
}

fn wires(frames: Frames) -> Vec<Wire> {
    frames.iter().map(|(command, payload)| Wire::new(*command, payload)).collect()
}

#[test]
fn the_robot_hears_what_the_examples_say() {
    for Example { json, enabled, confirm, frames } in EXAMPLES {
        let mut pair = quiet(enabled);
        pair.execute(parse(json, confirm).unwrap()).unwrap();
        // Less than a silence that the host would take for a lost link, for what sends to sleep.
        pair.run_for(if frames.contains(&(0x04, &[])) { ms(150) } else { ms(700) });
        assert_eq!(heard(&pair), wires(frames), "{json}");
    }
}

#[test]
fn protocol_sync_is_one_frame() {
    let mut pair = quiet(false);
    pair.execute(Command::ProtocolSync).unwrap();
    pair.run_for(ms(150));
    assert_eq!(heard(&pair), [Wire::new(0x0C, &[1])]);
}

#[test]
fn what_can_hurt_is_not_sent_unconfirmed() {
    for Example { json, confirm, .. } in EXAMPLES {
        if confirm {
            assert_eq!(parse(json, false).unwrap_err().code, Code::NotConfirmed, "{json}");
        }
    }
}

#[test]
fn driving_is_repeated_every_20_ms_until_it_expires() {
    for Example { json, frames, .. } in &EXAMPLES[..3] {
        let mut pair = quiet(true);
        pair.execute(parse(json, false).unwrap()).unwrap();
        pair.run_for(ms(700));
        let driven = Wire::new(frames[0].0, frames[0].1);
        let times: Vec<_> = pair
            .heard
            .iter()
            .filter(|frame| Wire::parse(frame.bytes()) == driven)
            .map(|frame| frame.at)
            .collect();
        assert_eq!(times.len(), 15, "{json}");
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == ms(20)), "{json}");
    }
}

#[test]
fn a_stop_while_something_is_on_leaves_it_on() {
    let mut pair = quiet(true);
    pair.execute(Command::Vacuum { percent: 75 }).unwrap();
    pair.run_for(ms(530));
    pair.heard.clear();
    pair.execute(Command::DriveDisable).unwrap();
    pair.run_for(ms(500));
    const FRAMES: Frames = &[STOP, (0x65, &[0]), (0x65, &[2]), (0x68, &[0x4C, 0x1D])];
    assert_eq!(heard(&pair), wires(FRAMES));
    assert_eq!(pair.robot.outputs().vacuum, 75);
}
