use proptest::prelude::*;
use sinew_robot::teach::{RobotRequest, Settings, State};
use sinew_wire::teach::{Command, Datagram, Layout, Message, Sequence, Status};

use crate::bench::Bench;

/// All of a state that is not a count.
fn uncounted(state: &State) -> serde_json::Value {
    let mut value = serde_json::to_value(state).unwrap();
    value.as_object_mut().unwrap().remove("counters");
    value
}

fn status(sequence: u16, time_ms: u32, position: f32) -> Vec<u8> {
    let status = Status {
        positions: [position; 12],
        velocities: [0.0; 12],
        time_ms,
        mode: 0,
        flags: 0,
        rest: &[],
    };
    Message::Status(status).to_vec(Layout::Documented, Sequence(sequence)).unwrap()
}

#[test]
fn damaged_datagrams_are_counted_and_change_nothing() {
    let mut bench = Bench::ready();
    let before = uncounted(bench.session.state());
    let seen = bench.session.state().last_seen;
    let mut damaged = status(1, 1, 0.5);
    damaged[40] ^= 1;
    bench.input(&damaged);
    bench.input(&[]);
    bench.input(b"GET / HTTP/1.1");
    let unknown = Datagram::emit(Layout::Documented, Sequence(9), 0x42, &[0; 44], &mut [0; 80]);
    assert!(unknown.is_ok());
    assert_eq!(uncounted(bench.session.state()), before);
    assert_eq!(bench.session.state().last_seen, seen);
    assert_eq!(bench.session.state().counters.foreign, 3);
}

#[test]
fn unknown_commands_and_short_payloads_are_counted_and_change_nothing() {
    let mut bench = Bench::ready();
    let before = uncounted(bench.session.state());
    let mut out = [0; 80];
    for (command, payload) in [(0x42, &[0; 44][..]), (0x0D, &[0, 0])] {
        let len =
            Datagram::emit(Layout::Documented, Sequence(9), command, payload, &mut out).unwrap();
        bench.input(&out[..len]);
    }
    assert_eq!(uncounted(bench.session.state()), before);
    let counters = bench.session.state().counters;
    assert_eq!((counters.unknown, counters.malformed), (1, 1));
}

#[test]
fn a_pose_that_is_no_number_is_no_pose() {
    let mut bench = Bench::ready();
    for position in [f32::NAN, f32::INFINITY] {
        bench.input(&status(1, 1, position));
    }
    assert_eq!(bench.session.state().positions, None);
    assert_eq!(bench.session.state().counters.malformed, 2);
}

#[test]
fn old_and_repeated_status_is_recognised_across_the_wrap() {
    let mut bench = Bench::ready();
    for (sequence, position) in [(65_534, 0.1), (65_535, 0.2), (0, 0.3), (1, 0.4)] {
        bench.input(&status(sequence, u32::from(sequence), position));
    }
    for (sequence, position) in [(1, 9.0), (0, 9.0), (65_535, 9.0), (60_000, 9.0)] {
        bench.input(&status(sequence, 7, position));
    }
    assert_eq!(bench.session.state().positions, Some([0.4; 12]));
    assert_eq!(bench.session.state().counters.stale, 4);
}

#[test]
fn answers_that_nobody_asked_for_change_nothing() {
    let mut bench = Bench::ready();
    let before = uncounted(bench.session.state());
    for (number, code) in [0x0D, 0x0E, 0x0F, 0x2B, 0x41].into_iter().enumerate() {
        let answer = Message::Answer { command: Command::from(code), status: 0, rest: &[] };
        let sequence = Sequence(100 + number as u16);
        bench.input(&answer.to_vec(Layout::Documented, sequence).unwrap());
    }
    assert_eq!(uncounted(bench.session.state()), before);
    assert_eq!(bench.session.state().counters.unasked, 5);
}

#[test]
fn events_that_nobody_fetches_cost_poses_not_outcomes() {
    let mut bench = Bench::ready();
    bench.statuses.insert(0x1A, Some(3));
    let id = bench.session.request(
        bench.now,
        RobotRequest::Rename { name: "a".into(), new_name: "b".into() },
        "t",
    );
    for number in 0..2000_u16 {
        bench.session.handle_input(bench.now, &status(number, number.into(), 0.0));
    }
    bench.settle();
    assert!(bench.outcome(id).is_some());
    assert!(bench.session.state().counters.events_lost > 1000);
    assert!(bench.events.len() <= 520);
}

/// Good datagrams with any content, and rubbish.
fn datagrams() -> impl Strategy<Value = Vec<u8>> {
    let layout = prop_oneof![Just(Layout::Documented), Just(Layout::Compact)];
    let code = prop_oneof![
        prop::sample::select(vec![0x09_u8, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x1A, 0x2B, 0x41]),
        any::<u8>()
    ];
    let payload = prop::collection::vec(any::<u8>(), 0..300);
    let good = (layout, any::<u16>(), code, payload).prop_map(|(layout, number, code, payload)| {
        let mut out = vec![0; 400];
        let len = Datagram::emit(layout, Sequence(number), code, &payload, &mut out).unwrap();
        out.truncate(len);
        out
    });
    prop_oneof![4 => good, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

#[derive(Debug, Clone)]
enum Step {
    Input(Vec<u8>),
    Wait(u64),
    Ask(RobotRequest),
    Stop,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let verb = prop::sample::select(vec![
        RobotRequest::List,
        RobotRequest::Enter,
        RobotRequest::Exit,
        RobotRequest::RecordStart { name: None },
        RobotRequest::RecordStop,
        crate::bench::save("x"),
        crate::bench::play(sinew_robot::teach::Target::Id(3)),
        crate::bench::play(sinew_robot::teach::Target::Name("x".into())),
    ]);
    let step = prop_oneof![
        4 => datagrams().prop_map(Step::Input),
        2 => (0_u64..6000).prop_map(Step::Wait),
        2 => verb.prop_map(Step::Ask),
        1 => Just(Step::Stop),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a peer sends: no panic, every request ends once, and closing ends.
    #[test]
    fn every_request_ends_whatever_the_peer_sends(steps in steps(), mute in any::<bool>()) {
        let mut bench = Bench::with(Settings::default());
        bench.mute = mute;
        let mut asked = Vec::new();
        for step in steps {
            match step {
                Step::Input(bytes) => bench.input(&bytes),
                Step::Wait(ms) => bench.run(ms),
                Step::Ask(verb) => asked.push(bench.ask(verb)),
                Step::Stop => asked.push(bench.ask(RobotRequest::Stop)),
            }
        }
        bench.session.close(bench.now);
        bench.run(2000);
        for id in asked {
            prop_assert!(bench.outcome(id).is_some(), "request {} never ended", id);
        }
        prop_assert_eq!(bench.session.poll_timeout(), None);
    }

    /// A mute peer that is fed rubbish never looks reachable.
    #[test]
    fn rubbish_changes_nothing(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut bench = Bench::ready();
        let before = uncounted(bench.session.state());
        bench.input(&bytes);
        prop_assert_eq!(uncounted(bench.session.state()), before);
        prop_assert_eq!(bench.session.state().counters.foreign, 1);
    }
}
