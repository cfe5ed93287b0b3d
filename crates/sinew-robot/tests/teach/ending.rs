use sinew_robot::{
    Code,
    teach::{Answer, Event, LinkState as Link, MODE_IDLE, MODE_PLAYING, RobotRequest, Target},
};

use crate::bench::{Bench, play};

#[test]
fn stop_is_sent_at_once_and_nothing_that_waited_is() {
    let mut bench = Bench::ready();
    bench.statuses.insert(0x41, None);
    let first = bench.ask(play(Target::Id(1)));
    let second = bench.session.request(bench.now, play(Target::Id(2)), "tester");
    let stop = bench.session.stop(bench.now, "anyone");
    bench.settle();
    assert_eq!(bench.codes(), [0x41, 0x0E]);
    assert_eq!(bench.outcome(first).unwrap().unwrap_err().code, Code::Unconfirmed);
    let refusal = bench.outcome(second).unwrap().unwrap_err();
    assert_eq!(refusal.code, Code::NotReady);
    assert!(refusal.message.contains("anyone"), "{refusal}");
    let Answer::Stop { note } = bench.outcome(stop).unwrap().unwrap() else { panic!() };
    assert!(note.contains("0x0E") && note.contains("unproven"), "{note}");
    bench.run(3000);
    assert_eq!(bench.codes().iter().filter(|code| **code == 0x41).count(), 1, "played again");
}

#[test]
fn stop_goes_before_datagrams_that_nobody_fetched() {
    let mut bench = Bench::ready();
    bench.session.request(bench.now, play(Target::Id(1)), "tester");
    bench.session.stop(bench.now, "tester");
    bench.settle();
    assert_eq!(bench.codes(), [0x0E]);
}

#[test]
fn a_stop_that_is_not_answered_is_repeated_quickly_and_ends_unconfirmed() {
    let mut bench = Bench::ready();
    bench.get(play(Target::Id(1))).unwrap();
    bench.forget();
    bench.statuses.insert(0x0E, None);
    let stop = bench.ask(RobotRequest::Stop);
    bench.run(1000);
    let times: Vec<_> = bench.sent_as(0x0E).iter().map(|sent| sent.at_ms).collect();
    assert_eq!(times, [100, 200, 300, 400, 500, 600, 700, 800]);
    assert_eq!(bench.outcome(stop).unwrap().unwrap_err().code, Code::Unconfirmed);
}

#[test]
fn stop_reaches_out_to_a_lost_robot_too() {
    let mut bench = Bench::ready();
    bench.mute = true;
    bench.run(12_000);
    assert_eq!(bench.session.state().link, Link::Lost { reason: None });
    bench.forget();
    let stop = bench.ask(RobotRequest::Stop);
    assert_eq!(bench.sent_as(0x0E).len(), 1);
    bench.run(1000);
    assert_eq!(bench.outcome(stop).unwrap().unwrap_err().code, Code::Unconfirmed);
}

#[test]
fn a_request_after_a_stop_waits_until_the_stop_is_through() {
    let mut bench = Bench::ready();
    bench.statuses.insert(0x0E, None);
    bench.ask(RobotRequest::Stop);
    let again = bench.ask(play(Target::Id(1)));
    bench.run(300);
    assert!(bench.sent_as(0x41).is_empty(), "a repeated stop would end it");
    bench.statuses.clear();
    bench.run(200);
    assert!(bench.outcome(again).unwrap().is_ok());
    let last_stop = bench.sent_as(0x0E).last().unwrap().at_ms;
    assert!(bench.sent_as(0x41)[0].at_ms >= last_stop);
}

#[test]
fn stop_ends_teaching_and_says_so() {
    let mut bench = Bench::ready();
    bench.get(RobotRequest::Enter).unwrap();
    let Answer::Stop { note } = bench.get(RobotRequest::Stop).unwrap() else { panic!() };
    assert!(note.contains("teaching ended"), "{note}");
    assert!(!bench.session.state().teaching);
    bench.forget();
    bench.run(10_000);
    assert!(bench.sent_as(0x0D).is_empty());
}

#[test]
fn the_end_of_a_playback_is_seen_in_the_status() {
    let mut bench = Bench::pushing();
    bench.get(play(Target::Id(1))).unwrap();
    bench.mode = MODE_PLAYING;
    bench.run(1000);
    assert!(bench.session.state().playing.as_ref().unwrap().observed);
    bench.mode = MODE_IDLE;
    bench.run(100);
    assert_eq!(bench.session.state().playing, None);
    let ended =
        Event::PlayEnded { id: Some(1), name: None, whole: true, why: "the robot says so".into() };
    assert!(bench.events.contains(&ended));
}

#[test]
fn without_status_a_playback_is_over_when_none_can_be_longer() {
    let mut bench = Bench::ready();
    bench.get(play(Target::Id(1))).unwrap();
    bench.run(65_000);
    assert!(bench.session.state().playing.is_some());
    bench.run(1000);
    assert_eq!(bench.session.state().playing, None);
}

#[test]
fn closing_ends_teaching_and_then_sends_nothing() {
    let mut bench = Bench::ready();
    bench.get(RobotRequest::Enter).unwrap();
    bench.forget();
    bench.session.close(bench.now);
    bench.settle();
    assert_eq!(bench.codes(), [0x0E]);
    assert_eq!(bench.events.last(), Some(&Event::Closed));
    assert_eq!(bench.session.state().link, Link::Closed);
    assert!(!bench.session.state().teaching);
    assert_eq!(bench.session.poll_timeout(), None);
    bench.forget();
    bench.run(20_000);
    assert!(bench.sent.is_empty());
    assert_eq!(bench.code(RobotRequest::Enter), Code::NotReady);
    assert_eq!(bench.code(RobotRequest::Stop), Code::NotReady);
}

#[test]
fn closing_does_not_wait_for_ever() {
    let mut bench = Bench::ready();
    bench.get(RobotRequest::Enter).unwrap();
    bench.mute = true;
    bench.forget();
    bench.session.close(bench.now);
    bench.run(1000);
    assert_eq!(bench.codes(), [0x0E; 8]);
    assert_eq!(bench.session.state().link, Link::Closed);
}

#[test]
fn closing_stops_what_plays_also_when_the_play_was_not_answered() {
    let mut bench = Bench::ready();
    bench.statuses.insert(0x41, None);
    bench.ask(play(Target::Id(1)));
    bench.forget();
    bench.session.close(bench.now);
    bench.settle();
    assert_eq!(bench.codes(), [0x0E]);
}

#[test]
fn closing_an_idle_link_sends_nothing() {
    let mut bench = Bench::ready();
    bench.session.close(bench.now);
    bench.settle();
    assert!(bench.sent.is_empty());
    assert_eq!(bench.session.state().link, Link::Closed);
}

#[test]
fn a_robot_that_refuses_to_exit_is_still_taught_and_not_pestered() {
    let mut bench = Bench::ready();
    bench.get(RobotRequest::Enter).unwrap();
    bench.statuses.insert(0x0E, Some(5));
    assert_eq!(bench.code(RobotRequest::Exit), Code::Refused);
    assert!(bench.session.state().teaching);
    bench.forget();
    bench.run(301_000);
    assert_eq!(bench.sent_as(0x0E).len(), 1, "the idle exit");
    assert!(bench.session.state().teaching);
    assert!(!bench.sent_as(0x0D).is_empty());
}
