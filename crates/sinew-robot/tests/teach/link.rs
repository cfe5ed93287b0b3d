use std::time::Duration;

use sinew_robot::{
    Code,
    teach::{Event, LinkState as Link, RobotRequest, Settings},
};
use sinew_wire::teach::{Layout, Message};

use crate::bench::Bench;

#[test]
fn the_opening_is_four_commands_in_order_and_numbers_count_from_zero() {
    let mut bench = Bench::new();
    bench.settle();
    assert_eq!(bench.codes(), [0x09, 0x0A, 0x0B, 0x0C]);
    for (number, sent) in bench.sent.iter().enumerate() {
        assert_eq!(usize::from(sent.datagram().sequence.0), number);
    }
    assert!(matches!(bench.sent[3].message(), Message::Ready { ready: 1, .. }));
    assert_eq!(bench.session.state().link, Link::Ready);
}

#[test]
fn the_cycle_is_kept_up() {
    let mut bench = Bench::ready();
    bench.run(20_000);
    let first: Vec<_> = bench.sent_as(0x09).iter().map(|sent| sent.at_ms).collect();
    assert_eq!(first, [4700, 9400, 14_100, 18_800]);
    assert_eq!(bench.codes()[..4], [0x09, 0x0A, 0x0B, 0x0C]);
}

#[test]
fn both_layouts_are_sent_as_set_and_understood_as_they_come() {
    for (sending, answering) in
        [(Layout::Compact, Layout::Compact), (Layout::Documented, Layout::Compact)]
    {
        let mut bench = Bench::with(Settings { layout: sending, ..Settings::default() });
        bench.layout = answering;
        bench.period = Some(Duration::from_millis(20));
        bench.run(100);
        assert!(bench.sent.iter().all(|sent| sent.datagram().layout == sending));
        assert_eq!(bench.session.state().link, Link::Ready);
        assert!(bench.session.state().positions.is_some());
        bench.get(RobotRequest::Enter).unwrap();
    }
}

#[test]
fn a_step_that_is_not_answered_is_repeated_and_then_passed_over() {
    let mut bench = Bench::new();
    bench.statuses.insert(0x0A, None);
    bench.run(3000);
    let round = [0x09, 0x0A, 0x0A, 0x0A, 0x0B, 0x0C];
    assert_eq!(bench.codes(), [round, round].concat(), "once more, in case one was lost");
    assert_eq!(bench.session.state().link, Link::Ready);
}

#[test]
fn an_opening_of_which_a_step_was_lost_is_repeated() {
    let mut bench = Bench::new();
    bench.statuses.insert(0x0A, None);
    bench.run(1000);
    bench.statuses.clear();
    bench.run(1000);
    let lost = [0x09, 0x0A, 0x0A, 0x0A, 0x0B, 0x0C];
    assert_eq!(bench.codes(), [&lost[..], &[0x09, 0x0A, 0x0B, 0x0C]].concat());
    assert_eq!(bench.session.state().link, Link::Ready);
    bench.forget();
    bench.run(10_000);
    assert_eq!(bench.sent_as(0x09).len(), 2, "afterwards every 4.7 s");
}

#[test]
fn a_step_that_is_refused_is_told_and_passed_over() {
    let mut bench = Bench::new();
    bench.statuses.insert(0x0A, Some(9));
    bench.settle();
    assert_eq!(bench.session.state().link, Link::Ready);
    assert!(bench.events.contains(&Event::StepRefused { command: 0x0A, status: 9 }));
}

#[test]
fn a_robot_that_only_pushes_is_ready_too() {
    let mut bench = Bench::new();
    for code in [0x09, 0x0A, 0x0B, 0x0C] {
        bench.statuses.insert(code, None);
    }
    bench.period = Some(Duration::from_millis(20));
    bench.run(8000);
    assert_eq!(bench.session.state().link, Link::Ready);
}

#[test]
fn without_status_the_link_is_lost_after_two_unanswered_cycles() {
    let mut bench = Bench::ready();
    bench.mute = true;
    // Cycles at 4.7 and 9.4 s, 400 ms for each of four steps.
    bench.run(10_850);
    assert_eq!(bench.session.state().link, Link::Ready);
    bench.run(200);
    assert_eq!(bench.session.state().link, Link::Lost { reason: None });
    assert_eq!(bench.session.state().counters.cycles_unanswered, 2);
}

#[test]
fn the_state_tells_joints_by_name() {
    let mut bench = Bench::pushing();
    bench.pose = |_| std::array::from_fn(|slot| slot as f32 / 4.0);
    bench.run(100);
    let state = serde_json::to_value(bench.session.state()).unwrap();
    let positions = state["positions"].as_object().unwrap();
    assert_eq!(positions.len(), 12);
    assert_eq!(positions["left_shoulder_pitch"], 0.0);
    assert_eq!(positions["right_wrist_pitch"], 2.75);
    assert_eq!(state["velocities"]["left_elbow"], 0.0);
    let unknown = serde_json::to_value(Bench::new().session.state()).unwrap();
    assert!(unknown["positions"].is_null() && unknown["velocities"].is_null());
}

#[test]
fn with_status_the_link_is_lost_after_a_second_without_it() {
    let mut bench = Bench::pushing();
    bench.mute = true;
    bench.run(950);
    assert_eq!(bench.session.state().link, Link::Ready);
    bench.run(100);
    let state = bench.session.state();
    assert_eq!(state.link, Link::Lost { reason: None });
    assert_eq!((state.positions, state.mode), (None, None), "values look fresh");
    assert!(state.last_seen.is_some());
}

#[test]
fn a_slow_stream_may_pause_for_ten_periods() {
    let mut bench = Bench::new();
    bench.period = Some(Duration::from_millis(200));
    bench.run(4000);
    bench.mute = true;
    bench.run(1790);
    assert_eq!(bench.session.state().link, Link::Ready);
    bench.run(400);
    assert_eq!(bench.session.state().link, Link::Lost { reason: None });
}

#[test]
fn a_robot_that_is_back_is_opened_anew() {
    let mut bench = Bench::pushing();
    bench.mute = true;
    bench.run(30_000);
    assert_eq!(bench.session.state().link, Link::Lost { reason: None });
    bench.forget();
    bench.mute = false;
    // Restarted: it counts from somewhere else.
    bench.pushed = 3;
    bench.run(50);
    assert_eq!(bench.codes(), [0x09, 0x0A, 0x0B, 0x0C]);
    assert_eq!(bench.session.state().link, Link::Ready);
    assert!(bench.session.state().positions.is_some());
}

#[test]
fn a_stream_that_ends_while_answers_go_on_leaves_no_stale_pose() {
    let mut bench = Bench::pushing();
    bench.period = None;
    bench.run(1000);
    assert_eq!(bench.session.state().link, Link::Ready);
    assert_eq!(bench.session.state().positions, None);
}

#[test]
fn nothing_is_asked_of_a_lost_robot() {
    let mut bench = Bench::ready();
    bench.mute = true;
    bench.run(12_000);
    bench.forget();
    let refusal = bench.get(RobotRequest::List).unwrap_err();
    assert_eq!(refusal.code, Code::LinkLost);
    assert!(refusal.message.contains("last heard 12."), "{refusal}");
    assert!(bench.sent_as(0x1A).is_empty());
}

#[test]
fn a_robot_that_never_answered_is_link_lost_not_unconfirmed() {
    let mut bench = Bench::new();
    bench.mute = true;
    let refusal = bench.get(RobotRequest::List).unwrap_err();
    assert_eq!(refusal.code, Code::LinkLost);
    assert!(refusal.message.contains("never answered"), "{refusal}");
    assert!(bench.sent_as(0x1A).is_empty());
    assert!(bench.at_ms() <= 5000);
}

#[test]
fn requests_made_before_the_link_is_up_wait_for_it() {
    let mut bench = Bench::new();
    let id = bench.session.request(bench.now, RobotRequest::List, "tester");
    bench.settle();
    assert!(bench.outcome(id).unwrap().is_ok());
    assert_eq!(bench.codes(), [0x09, 0x0A, 0x0B, 0x0C, 0x1A]);
}

#[test]
fn an_encrypted_peer_is_recognised_and_named() {
    let mut bench = Bench::new();
    bench.mute = true;
    let mut record = vec![0x17, 0xFE, 0xFD, 0, 1, 0, 0, 0, 0, 1, 9, 0, 44];
    record.resize(57, 0x5A);
    for _ in 0..5 {
        bench.input(&record);
    }
    let told = bench.events.iter().filter(|event| **event == Event::EncryptedPeer).count();
    assert_eq!(told, 1);
    assert!(bench.get(RobotRequest::List).unwrap_err().message.contains("webrtc:"));
    assert_eq!(bench.session.state().last_seen, None);
}
