//! What is asked of arms that return from something: it waits for them.

use sinew_robot::{Code, OrderKind, RequestId, Session as _, teach::Answer, unitree::Reply};

use crate::{
    bench::{Bench, play, record},
    robot::Arms,
};

/// A robot whose arms return for so many milliseconds more, and what was asked of it since.
fn asked(ms: u64) -> (Bench, RequestId) {
    let mut bench = Bench::ready();
    bench.robot.arms = Arms::Returning { until: bench.ms() + ms };
    bench.run(200);
    let id = bench.ask(play("touch me not"));
    bench.run(1000);
    assert_eq!(bench.outcome(id), None, "it waits");
    assert!(bench.robot.calls(7108).is_empty());
    (bench, id)
}

/// Runs on until long after everything would have begun, and gives why it did not.
fn never_played(bench: &mut Bench, id: RequestId) -> (Code, String) {
    bench.run(20_000);
    assert!(bench.robot.plays.is_empty());
    let refusal = bench.outcome(id).unwrap().unwrap_err();
    (refusal.code, refusal.message)
}

#[test]
fn a_play_is_sent_when_the_arms_are_back() {
    let (mut bench, id) = asked(4000);
    bench.run(4000);
    assert!(matches!(bench.outcome(id), Some(Ok(Reply::Teach(Answer::Play { .. })))));
    bench.run(20_000);
    assert_eq!(bench.robot.calls(7108).len(), 1);
}

#[test]
fn what_was_just_recorded_can_be_played_and_recorded_anew_at_once() {
    let mut bench = Bench::ready();
    bench.teach(record("wave"));
    bench.run(2000);
    bench.teach(sinew_robot::teach::RobotRequest::RecordStop);
    bench.teach(play("wave"));
    assert_eq!(bench.robot.plays, ["wave"]);
    bench.teach(sinew_robot::teach::RobotRequest::Stop);
    bench.teach(record("another"));
    assert!(bench.session.state().recording);
}

#[test]
fn a_stop_ends_the_wait() {
    let (mut bench, id) = asked(4000);
    bench.order(OrderKind::Stop, 2);
    let (code, message) = never_played(&mut bench, id);
    assert_eq!(code, Code::NotReady);
    assert_eq!(message, "stopped by client 2 before the robot was asked to play");
}

#[test]
fn a_takeover_ends_the_wait() {
    let (mut bench, id) = asked(4000);
    bench.order(OrderKind::Taken, 2);
    let (_, message) = never_played(&mut bench, id);
    assert_eq!(message, "client 2 took the controls before the robot was asked to play");
}

#[test]
fn the_end_of_its_client_ends_the_wait_and_that_of_another_does_not() {
    let (mut bench, id) = asked(4000);
    bench.order(OrderKind::Released, 1);
    let (_, message) = never_played(&mut bench, id);
    assert_eq!(message, "client 1 has gone before the robot was asked to play");
    let (mut bench, id) = asked(4000);
    bench.order(OrderKind::Released, 2);
    bench.run(4000);
    assert!(bench.outcome(id).unwrap().is_ok());
    // One that vanished without a word, too.
    let (mut bench, id) = asked(4000);
    bench.presence.end();
    assert_eq!(never_played(&mut bench, id).1, "its client has gone");
}

#[test]
fn a_link_that_is_lost_ends_the_wait() {
    let (mut bench, id) = asked(4000);
    bench.cut("unplugged");
    bench.reopen_in(500);
    assert_eq!(never_played(&mut bench, id).0, Code::LinkLost);
}

#[test]
fn arms_that_do_not_come_back_are_asked_and_the_robot_says_why_not() {
    let (mut bench, id) = asked(60_000);
    bench.run(6000);
    let refusal = bench.outcome(id).unwrap().unwrap_err();
    assert_eq!(refusal.code, Code::Refused);
    assert!(refusal.message.starts_with("the robot refused play with 7400"), "{refusal:?}");
    assert_eq!(bench.robot.calls(7108).len(), 1);
}
