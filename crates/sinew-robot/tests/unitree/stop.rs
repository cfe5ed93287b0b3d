//! Stops: repeated until the robot's state says so.

use sinew_robot::{
    Code, OrderKind, Session as _,
    teach::{Answer, RobotRequest},
    unitree::{Event, Reply},
};

use crate::{
    bench::{Bench, play, record},
    robot::Arms,
};

fn stop_ended(bench: &Bench) -> Vec<bool> {
    let confirmed = |event: &Event| match event {
        Event::StopEnded { confirmed, .. } => Some(*confirmed),
        _ => None,
    };
    bench.events.iter().filter_map(confirmed).collect()
}

#[test]
fn a_stop_ends_playback_and_is_confirmed_by_the_state() {
    let mut bench = Bench::ready();
    bench.teach(play("Waist_Drum_Dance"));
    bench.run(2000);
    assert!(bench.session.state().playing.is_some());
    let asked = bench.ms();
    let Answer::Stop { note } = bench.teach(RobotRequest::Stop) else { panic!() };
    assert!(note.contains("the robot's own state"), "{note}");
    assert!(bench.ms() - asked < 400, "{}", bench.ms() - asked);
    assert!(bench.robot.is_still());
    let before = bench.robot.calls(7113);
    assert!(before.iter().all(|(_, parameter)| parameter.is_empty()));
    bench.run(5000);
    assert_eq!(bench.robot.calls(7113).len(), before.len(), "no more than needed");
    let ended = bench.events.iter().find_map(|event| match event {
        Event::PlayEnded { whole, why, .. } => Some((*whole, why.clone())),
        _ => None,
    });
    assert_eq!(ended, Some((false, "stopped by client 1".into())));
    assert_eq!(stop_ended(&bench), [true]);
}

#[test]
fn a_stop_that_is_not_heard_is_repeated_and_then_unconfirmed() {
    let mut bench = Bench::ready();
    bench.teach(play("Waist_Drum_Dance"));
    bench.run(1000);
    bench.robot.deaf.insert(7113);
    let id = bench.ask(RobotRequest::Stop);
    bench.run(2000);
    assert!(bench.outcome(id).is_none());
    let heard = bench.robot.calls(7113).len();
    assert!(heard >= 18, "{heard}");
    assert_eq!(bench.session.state().stopping.as_deref(), Some("stopped by client 1"));
    bench.run(4000);
    let refusal = bench.outcome(id).unwrap().unwrap_err();
    assert_eq!(refusal.code, Code::Unconfirmed);
    assert_eq!(stop_ended(&bench), [false]);
    assert!(bench.session.state().stopping.is_none());
}

#[test]
fn a_stop_goes_on_until_the_state_says_so_whatever_is_answered() {
    let mut bench = Bench::ready();
    bench.teach(play("Waist_Drum_Dance"));
    bench.run(1000);
    // Answered with yes, and not done.
    bench.robot.codes.insert(7113, 0);
    let id = bench.ask(RobotRequest::Stop);
    bench.run(2000);
    assert!(bench.outcome(id).is_none());
    bench.robot.codes.clear();
    bench.run(1000);
    assert!(matches!(bench.outcome(id), Some(Ok(Reply::Teach(Answer::Stop { .. })))));
    assert!(bench.robot.is_still());
}

#[test]
fn a_stop_right_behind_a_play_outlasts_its_beginning() {
    // The robot begins half a second after it was asked, and forgets no play for a stop before.
    for wait in [0, 20, 50, 100, 300, 340, 400, 490, 510, 700] {
        let mut bench = Bench::ready();
        let played = bench.ask(play("Waist_Drum_Dance"));
        bench.run(wait);
        bench.order(OrderKind::Stop, 2);
        bench.run(4000);
        assert!(bench.robot.is_still(), "after {wait} ms: {:?}", bench.robot.arms);
        assert!(bench.outcome(played).is_some());
        assert_eq!(stop_ended(&bench), [true], "after {wait} ms");
    }
}

#[test]
fn a_stop_overtakes_what_waits() {
    let mut bench = Bench::ready();
    let first = bench.ask(play("touch me not"));
    let second = bench.ask(play("Waist_Drum_Dance"));
    let list = bench.ask(RobotRequest::List);
    bench.order(OrderKind::Stop, 2);
    let refused = bench.outcome(second).unwrap().unwrap_err();
    assert_eq!(refused.code, Code::NotReady);
    assert_eq!(refused.message, "stopped by client 2");
    assert!(bench.outcome(first).unwrap().is_err());
    bench.run(5000);
    assert!(bench.outcome(list).unwrap().is_ok(), "a question is not overtaken");
    assert!(bench.robot.plays.is_empty());
    assert!(bench.events.contains(&Event::Stopped { by: "client 2".into() }));
}

#[test]
fn a_stop_is_sent_before_all_that_waits_in_the_session() {
    let mut bench = Bench::ready();
    let origin = bench.origin(1);
    // Nothing is fetched meanwhile.
    for _ in 0..5 {
        bench.session.request(bench.now, RobotRequest::List.into(), &origin);
    }
    let stop = sinew_robot::Order { kind: OrderKind::Stop, epoch: 1, by: "x".into(), client: None };
    bench.session.order(bench.now, &stop);
    let mut bytes = Vec::new();
    bench.session.poll_output(true, &mut bytes);
    let first = String::from_utf8(bytes).unwrap();
    assert!(first.contains(r#""api_id":7113"#), "{first}");
}

#[test]
fn a_stop_ends_a_recording_too() {
    let mut bench = Bench::ready();
    bench.robot.ends_unkept = false;
    bench.teach(record("wave"));
    bench.run(1500);
    bench.order(OrderKind::Stop, 2);
    bench.run(500);
    assert!(bench.robot.is_still());
    assert!(!bench.session.state().recording);
    assert!(bench.session.state().recorded.is_some(), "what came here is kept");
}

#[test]
fn a_stop_while_a_recording_begins_ends_it() {
    for wait in [0, 10, 60, 150, 310, 340, 400] {
        let mut bench = Bench::ready();
        bench.robot.ends_unkept = false;
        let id = bench.ask(record("wave"));
        bench.run(wait);
        bench.order(OrderKind::Stop, 2);
        bench.run(4000);
        assert!(bench.robot.is_still(), "after {wait} ms: {:?}", bench.robot.arms);
        assert!(bench.outcome(id).is_some());
        assert!(!bench.session.state().recording);
    }
}

#[test]
fn a_stop_goes_on_after_a_reconnect() {
    let mut bench = Bench::ready();
    bench.teach(play("Waist_Drum_Dance"));
    bench.run(1000);
    bench.robot.deaf.insert(7113);
    let id = bench.ask(RobotRequest::Stop);
    bench.run(300);
    bench.cut("the cable is out");
    bench.robot.deaf.clear();
    bench.run(2000);
    bench.open();
    bench.run(500);
    assert!(bench.robot.is_still());
    assert!(matches!(bench.robot.arms, Arms::Returning { .. }));
    bench.run(5000);
    assert!(bench.outcome(id).is_some());
}

#[test]
fn a_stop_without_a_channel_says_so_and_is_sent_when_there_is_one() {
    let mut bench = Bench::ready();
    bench.teach(play("Waist_Drum_Dance"));
    bench.run(1000);
    bench.cut("the cable is out");
    let id = bench.ask(RobotRequest::Stop);
    let refusal = bench.outcome(id).unwrap().unwrap_err();
    assert_eq!(refusal.code, Code::LinkLost);
    assert!(refusal.message.contains("as soon as it is back"), "{}", refusal.message);
    bench.run(1000);
    bench.open();
    bench.run(500);
    assert!(bench.robot.is_still());
}

#[test]
fn a_takeover_ends_what_plays() {
    let mut bench = Bench::ready();
    bench.teach(play("Waist_Drum_Dance"));
    bench.run(1000);
    bench.order(OrderKind::Taken, 2);
    bench.run(500);
    assert!(bench.robot.is_still());
    // When nothing plays nothing is sent.
    bench.run(5000);
    bench.forget();
    bench.order(OrderKind::Taken, 3);
    bench.run(1000);
    assert!(bench.robot.messages("req").is_empty());
}

#[test]
fn a_single_play_outlives_its_client() {
    let mut bench = Bench::ready();
    bench.teach(play("touch me not"));
    bench.order(OrderKind::Released, 1);
    bench.run(1500);
    assert!(matches!(bench.robot.arms, Arms::Playing { .. }));
    assert!(bench.robot.calls(7113).is_empty());
}

#[test]
fn a_robot_without_an_arm_state_is_stopped_by_its_answer() {
    let mut bench = Bench::new();
    bench.robot.missing.insert("rt/arm/action/state".into());
    let mut bench = bench.opened();
    bench.run(2000);
    let Answer::Stop { note } = bench.teach(RobotRequest::Stop) else { panic!() };
    assert!(note.contains("does not tell"), "{note}");
    assert!(bench.session.state().fresh, "other messages come");
}

#[test]
fn the_daemons_end_stops_what_plays_and_does_not_wait_for_ever() {
    let mut bench = Bench::ready();
    bench.teach(play("Waist_Drum_Dance"));
    bench.run(1000);
    bench.session.close(bench.now, &"the daemon's end".into());
    bench.run(500);
    assert!(bench.session.is_closed() && bench.robot.is_still());

    let mut bench = Bench::ready();
    bench.teach(play("Waist_Drum_Dance"));
    bench.run(1000);
    bench.robot.deaf.insert(7113);
    bench.session.close(bench.now, &"the daemon's end".into());
    bench.run(2900);
    assert!(!bench.session.is_closed());
    bench.run(200);
    assert!(bench.session.is_closed());

    let mut bench = Bench::ready();
    bench.session.close(bench.now, &"the daemon's end".into());
    assert!(bench.session.is_closed(), "nothing goes on");
}
