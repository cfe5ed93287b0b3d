//! What is saved, and what is refused.

use sinew_sim::g1::{Code, Key, MAX_ACTIONS, Motion, Options, Robot, StoredAction};
use sinew_wire::teach::{Message, Name, Save, Sequence};

use crate::support::*;

const KEYS: &[(u16, u16, f32)] = &[(15, 0, 0.5), (15, 2500, -0.25), (18, 5000, 1.25)];

fn changed(message: Message<'static>, change: impl FnOnce(&mut Save<'_>)) -> Message<'static> {
    let Message::Save(mut save) = message else { panic!("a save") };
    change(&mut save);
    Message::Save(Save { rest: &[], ..save })
}

#[test]
fn keyframes_are_stored_as_they_were_sent() {
    for layout in LAYOUTS {
        let mut bench = Bench::still();
        bench.layout = layout;
        bench.done(&save("wave", 1_674_988_800, KEYS));
        assert_eq!((bench.stores, bench.list()), (1, vec![("wave".to_owned(), 5000)]));
        let keys = KEYS.iter().map(|&(joint, time_ms, value)| Key { joint, time_ms, value });
        let wanted = StoredAction {
            name: "wave".into(),
            saved_at: 1_674_988_800,
            duration_ms: 5000,
            frames: 50,
            flags: 1,
            motion: Motion::Keyframes(keys.collect()),
        };
        assert_eq!(bench.robot.actions(), [wanted]);
    }
}

#[test]
fn a_slots_number_is_stored_as_the_bodys_joint() {
    let mut bench = Bench::still();
    bench.done(&save("slots", 1, &[(0, 0, 0.0), (6, 100, 0.1), (11, 200, 0.2), (27, 300, 0.3)]));
    let Motion::Keyframes(keys) = &bench.robot.actions()[0].motion else { panic!("keyframes") };
    assert_eq!(keys.iter().map(|key| key.joint).collect::<Vec<_>>(), [15, 22, 27, 27]);
}

#[test]
fn a_repeated_save_is_acknowledged_and_stored_once() {
    let mut bench = Bench::still();
    bench.done(&save("wave", 7, KEYS));
    bench.done(&save("wave", 7, KEYS));
    assert_eq!(bench.ask(&save("wave", 8, KEYS)), Code::NameTaken);
    bench.done(&save("Wave", 8, KEYS));
    assert_eq!((bench.robot.actions().len(), bench.stores), (2, 2));
}

#[test]
fn a_save_is_acknowledged_again_when_its_recording_is_gone() {
    let mut bench = Bench::still();
    bench.enter();
    bench.done(&START);
    bench.run(ms(100));
    bench.done(&STOP);
    bench.done(&save("mine", 7, &[]));
    bench.done(&EXIT);
    bench.done(&save("mine", 7, &[]));
    assert_eq!(bench.robot.actions().len(), 1);
}

#[test]
fn the_sixteenth_action_is_refused() {
    let mut bench = Bench::still();
    for number in 0..MAX_ACTIONS {
        bench.done(&save(&format!("action {number}"), 1, KEYS));
    }
    assert_eq!(bench.ask(&save("one more", 1, KEYS)), Code::StoreFull);
    bench.done(&save("action 0", 1, KEYS));
    assert_eq!(bench.ask(&save("action 0", 2, KEYS)), Code::NameTaken);
    assert_eq!((bench.robot.actions().len(), bench.stores), (MAX_ACTIONS, MAX_ACTIONS));
}

#[test]
fn names_that_are_none_are_refused() {
    let mut bench = Bench::still();
    for field in [[0; 32], [b'a'; 32], [0xFF; 32]] {
        let bad = changed(save("x", 1, KEYS), |save| save.name = Name::from_field(field));
        assert_eq!(bench.ask(&bad), Code::BadName);
    }
    assert_eq!(bench.stores, 0);
    bench.done(&save(&"a".repeat(31), 1, KEYS));
    bench.done(&save("волна_привет_ok", 1, KEYS));
    assert_eq!(bench.list()[1].0, "волна_привет_ok");
}

#[test]
fn what_the_arms_cannot_do_is_refused() {
    let mut bench = Bench::still();
    for keys in [
        [(15, 0, 2.7)],
        [(18, 0, -1.1)],
        [(18, 0, f32::NAN)],
        [(15, 0, f32::NEG_INFINITY)],
        [(12, 0, 0.1)],
        [(21, 0, 0.1)],
        [(28, 0, 0.1)],
        [(u16::MAX, 0, 0.1)],
    ] {
        assert_eq!(bench.ask(&save("x", 1, &keys)), Code::BadJoint, "{keys:?}");
    }
    let long = changed(save("x", 1, KEYS), |save| save.duration_ms = 65_536);
    assert_eq!(bench.ask(&long), Code::TooLong);
    assert_eq!(bench.stores, 0);
    bench.done(&changed(save("x", 1, KEYS), |save| save.duration_ms = 65_535));
    // The two rolls of the shoulders are mirrored.
    bench.done(&save("y", 1, &[(16, 0, 2.25), (23, 0, -2.25)]));
    assert_eq!(bench.ask(&save("z", 1, &[(16, 0, -2.25)])), Code::BadJoint);
    assert_eq!(bench.ask(&save("z", 1, &[(23, 0, 2.25)])), Code::BadJoint);
}

#[test]
fn saving_without_keyframes_needs_a_finished_recording() {
    let mut bench = Bench::still();
    assert_eq!(bench.ask(&save("x", 1, &[])), Code::NothingRecorded);
    bench.enter();
    bench.done(&START);
    assert_eq!(bench.ask(&save("x", 1, &[])), Code::Busy);
    bench.done(&save("from the host", 1, KEYS));
}

#[test]
fn a_short_save_or_play_is_refused() {
    for layout in LAYOUTS {
        let mut bench = Bench::still();
        for (number, command) in [0x2B, 0x41, 0x0E, 0x0F, 0x1A, 0x0D, 0x09].into_iter().enumerate()
        {
            let payload = if number < 2 { &[0; 44][..] } else { &[0; 3][..] };
            let mut out = [0; 128];
            let sequence = Sequence(number as u16);
            let emitted =
                sinew_wire::teach::Datagram::emit(layout, sequence, command, payload, &mut out);
            bench.bytes(client(0), &out[..emitted.unwrap()]);
            let heard = bench.heard.last().unwrap();
            assert_eq!((heard.datagram().command, heard.code()), (command, Some(Code::BadPayload)));
        }
        assert_eq!((bench.heard.len(), bench.robot.counters().refused), (7, 7));
    }
}

#[test]
fn an_action_can_be_read_and_written_by_hand() {
    let text = r#"{
        "name": "wave", "saved_at": 7, "duration_ms": 500, "frames": 2, "flags": 1,
        "motion": {"keyframes": [{"joint": 15, "time_ms": 500, "value": 0.5}]}
    }"#;
    let action: StoredAction = serde_json::from_str(text).unwrap();
    assert_eq!(
        action,
        StoredAction { saved_at: 7, frames: 2, ..stored("wave", &[(15, 500, 0.5)]) }
    );
    let mut bench = Bench::new(Options::default());
    bench.enter();
    bench.done(&START);
    bench.run(ms(3000));
    bench.done(&STOP);
    bench.done(&save("own", 1, &[]));
    let own = bench.robot.actions().to_vec();
    let text = serde_json::to_string(&own).unwrap();
    assert!(text.contains(r#""motion":{"poses":[[0.0,"#), "{text}");
    assert_eq!(serde_json::from_str::<Vec<StoredAction>>(&text).unwrap(), own);
    assert!(serde_json::from_str::<StoredAction>(r#"{"name":"x","colour":1}"#).is_err());
}

#[test]
fn what_cannot_be_played_is_left_out_at_the_start() {
    let good = stored("good", &[(15, 500, 0.5)]);
    let mut poses = good.clone();
    poses.name = "poses".into();
    poses.motion = Motion::Poses(vec![[9.0; 12]]);
    let actions = vec![
        good.clone(),
        good.clone(),
        stored("", &[(15, 0, 0.5)]),
        stored("joint", &[(13, 0, 0.5)]),
        stored("empty", &[]),
        StoredAction { name: "long".into(), duration_ms: 65_536, ..good.clone() },
        poses,
    ];
    let bench = Bench::with(actions);
    assert_eq!(bench.robot.actions(), std::slice::from_ref(&good));
    assert_eq!(bench.robot.counters().actions_left_out, 6);
    let many = (0..20).map(|number| StoredAction { name: number.to_string(), ..good.clone() });
    let options = Options { actions: many.collect(), ..Options::default() };
    assert_eq!(Robot::new(options, bench.now).actions().len(), MAX_ACTIONS);
}

#[test]
fn codes_have_numbers_and_texts_and_are_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocols/teach.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (place, (code, number, text)) in Code::TABLE.into_iter().enumerate() {
        assert_eq!((code.number(), place), (number, number as usize));
        assert_eq!((code.text(), Code::from_number(number)), (text, Some(code)));
        let row = format!("| {number} | `{code:?}` | {text} |");
        assert!(page.contains(&row), "the page lacks: {row}");
    }
    assert_eq!(Code::from_number(14), None);
}
