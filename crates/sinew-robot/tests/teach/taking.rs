//! Another client takes the controls: what plays ends, teaching goes on.

use sinew_robot::{
    Code,
    teach::{
        Event, LinkState as Link, MODE_IDLE, MODE_PLAYING, MODE_TEACHING, RobotRequest, Target,
    },
};

use crate::{
    bench::{Bench, play, save},
    perform::{ended, perform, plays, ready},
};

fn take(bench: &mut Bench) {
    bench.session.taken(bench.now, "newcomer");
    bench.settle();
}

/// Commands sent, without those that keep the link up.
fn acts(bench: &Bench) -> Vec<u8> {
    bench.codes().into_iter().filter(|code| !(0x09..=0x0C).contains(code)).collect()
}

fn by_name(name: &str) -> RobotRequest {
    play(Target::Name(name.into()))
}

/// A robot that is being taught and plays an action of its own.
fn playing_while_taught() -> Bench {
    let mut bench = ready();
    bench.mode = MODE_TEACHING;
    bench.get(RobotRequest::Enter).unwrap();
    bench.get(play(Target::Id(1))).unwrap();
    bench.mode = MODE_PLAYING;
    bench.run(200);
    bench.forget();
    bench
}

fn taught(bench: &Bench) -> Vec<bool> {
    let taught = |event: &Event| match event {
        Event::Teaching { on, .. } => Some(*on),
        _ => None,
    };
    bench.events.iter().filter_map(taught).collect()
}

#[test]
fn an_action_of_the_robot_ends() {
    let mut bench = ready();
    bench.get(play(Target::Id(1))).unwrap();
    bench.mode = MODE_PLAYING;
    bench.run(200);
    bench.forget();
    take(&mut bench);
    assert_eq!(acts(&bench), [0x0E]);
    bench.mode = MODE_IDLE;
    bench.run(3000);
    assert_eq!(ended(&bench), Some("newcomer took the controls"));
    assert_eq!((acts(&bench), &bench.session.state().playing), (vec![0x0E], &None));
}

#[test]
fn a_motion_in_pieces_ends_whether_it_repeats_or_not() {
    for looped in [false, true] {
        let mut bench = ready();
        bench.get(perform(looped)).unwrap();
        plays(&mut bench, 500);
        bench.mode = MODE_PLAYING;
        bench.run(100);
        bench.forget();
        take(&mut bench);
        assert_eq!(acts(&bench), [0x0E]);
        bench.mode = MODE_IDLE;
        bench.run(20_000);
        assert_eq!(acts(&bench), [0x0E], "no further piece");
        assert_eq!(ended(&bench), Some("newcomer took the controls"));
    }
}

/// It may play already, whatever became of the answer.
#[test]
fn a_play_that_is_not_answered_yet_ends() {
    for verb in [play(Target::Id(1)), perform(false), perform(true)] {
        let mut bench = ready();
        bench.statuses.insert(0x41, None);
        let id = bench.ask(verb);
        take(&mut bench);
        assert_eq!(acts(&bench), [0x41, 0x0E]);
        let refusal = bench.outcome(id).unwrap().unwrap_err();
        assert_eq!(refusal.code, Code::Unconfirmed);
        assert!(refusal.message.contains("newcomer took the controls"), "{refusal}");
        bench.statuses.clear();
        bench.run(5000);
        assert_eq!(acts(&bench), [0x41, 0x0E], "it is not sent again");
    }
}

#[test]
fn what_waits_and_would_move_the_arms_is_not_sent() {
    let mut bench = ready();
    bench.statuses.insert(0x1A, None);
    let list = bench.ask(RobotRequest::List);
    let moving = [by_name("wave"), play(Target::Id(1)), perform(false), RobotRequest::Enter];
    let moving = moving.map(|verb| bench.ask(verb));
    take(&mut bench);
    for id in moving {
        let refusal = bench.outcome(id).unwrap().unwrap_err();
        assert_eq!(refusal.code, Code::NotReady);
        assert!(refusal.message.contains("newcomer"), "{refusal}");
    }
    assert_eq!(bench.outcome(list), None, "a question is no motion");
    bench.statuses.clear();
    bench.run(5000);
    assert!(bench.outcome(list).unwrap().is_ok());
    assert!(acts(&bench).iter().all(|code| *code == 0x1A), "{:x?}", acts(&bench));
    // Who has the controls now may.
    bench.get(play(Target::Id(1))).unwrap();
}

/// A play by name asks for the number first. The answer that comes after the takeover is not
/// followed by the play.
#[test]
fn a_play_whose_number_is_being_looked_up_is_not_sent() {
    let mut bench = ready();
    bench.statuses.insert(0x1A, None);
    let id = bench.ask(by_name("wave"));
    take(&mut bench);
    assert_eq!(bench.outcome(id).unwrap().unwrap_err().code, Code::NotReady);
    bench.statuses.clear();
    bench.run(100);
    let answer =
        crate::bench::list(&bench.list, bench.layout, bench.sent[0].datagram().sequence.next());
    bench.input(&answer);
    bench.run(3000);
    assert_eq!(acts(&bench), [0x1A]);
}

#[test]
fn nothing_is_sent_when_nothing_plays() {
    for teaching in [false, true] {
        let mut bench = ready();
        if teaching {
            bench.get(RobotRequest::Enter).unwrap();
            bench.get(RobotRequest::RecordStart { name: None }).unwrap();
            bench.run(500);
        }
        bench.forget();
        take(&mut bench);
        take(&mut bench);
        assert_eq!(bench.codes(), [0; 0]);
        let state = bench.session.state();
        assert_eq!((state.teaching, state.recording), (teaching, teaching));
        if teaching {
            bench.run(500);
            bench.get(RobotRequest::RecordStop).unwrap();
            bench.get(save("mine")).unwrap();
        }
    }
}

#[test]
fn teaching_survives_the_end_of_what_plays() {
    let mut bench = playing_while_taught();
    take(&mut bench);
    assert_eq!(acts(&bench), [0x0E, 0x0D], "it is entered again once the robot has stopped");
    bench.mode = MODE_TEACHING;
    bench.run(20_000);
    assert!(bench.session.state().teaching);
    assert_eq!(taught(&bench), [true; 0], "to clients it never ended");
    assert_eq!(ended(&bench), Some("newcomer took the controls"));
    assert_eq!(bench.sent_as(0x0E).len(), 1);
    let maintained = bench.sent_as(0x0D).len();
    assert!(maintained >= 4, "and is kept up: {maintained}");
    bench.get(RobotRequest::RecordStart { name: None }).unwrap();
}

#[test]
fn requests_of_the_taker_wait_until_teaching_is_back() {
    let mut bench = playing_while_taught();
    bench.statuses.insert(0x0D, None);
    take(&mut bench);
    let record = bench.ask(RobotRequest::RecordStart { name: None });
    bench.run(300);
    assert_eq!((acts(&bench), bench.outcome(record)), (vec![0x0E, 0x0D], None));
    bench.statuses.clear();
    bench.run(300);
    assert!(bench.outcome(record).unwrap().is_ok());
    assert_eq!(acts(&bench), [0x0E, 0x0D, 0x0D, 0x0F]);
}

/// What is lost is sent again, and given up in the end; teaching is still taken to be on, since the
/// robot may have heard.
#[test]
fn lost_datagrams_do_not_cost_teaching() {
    for lost in [0x0E, 0x0D] {
        let mut bench = playing_while_taught();
        bench.statuses.insert(lost, None);
        take(&mut bench);
        bench.run(3000);
        let sent = acts(&bench);
        assert!(sent.iter().filter(|code| **code == lost).count() > 2, "{sent:x?}");
        let last_end = sent.iter().rposition(|code| *code == 0x0E);
        assert!(last_end < sent.iter().rposition(|code| *code == 0x0D), "{sent:x?}");
        assert!(bench.session.state().teaching && taught(&bench).is_empty());
    }
}

#[test]
fn a_robot_that_refuses_to_be_taught_again_is_not_taught() {
    let mut bench = playing_while_taught();
    bench.statuses.insert(0x0D, Some(3));
    take(&mut bench);
    bench.mode = MODE_IDLE;
    bench.run(1000);
    assert!(!bench.session.state().teaching);
    assert_eq!((acts(&bench), taught(&bench)), (vec![0x0E, 0x0D, 0x0E], vec![false]));
}

/// A stop that comes meanwhile is a stop: nothing makes the arms soft after it.
#[test]
fn a_stop_ends_teaching_also_during_a_takeover() {
    for unanswered in [0x0E, 0x0D] {
        let mut bench = playing_while_taught();
        bench.statuses.insert(unanswered, None);
        take(&mut bench);
        bench.run(150);
        bench.forget();
        let stop = bench.ask(RobotRequest::Stop);
        bench.statuses.clear();
        bench.mode = MODE_IDLE;
        bench.run(20_000);
        assert!(bench.outcome(stop).unwrap().is_ok());
        assert!(bench.sent_as(0x0D).is_empty(), "{:x?}", acts(&bench));
        assert!(!bench.session.state().teaching);
    }
}

#[test]
fn a_takeover_does_not_undo_a_stop_or_a_close() {
    let mut bench = playing_while_taught();
    bench.statuses.insert(0x0E, None);
    bench.ask(RobotRequest::Stop);
    take(&mut bench);
    bench.statuses.clear();
    bench.mode = MODE_IDLE;
    bench.run(20_000);
    assert!(bench.sent_as(0x0D).is_empty() && !bench.session.state().teaching);

    let mut bench = playing_while_taught();
    bench.statuses.insert(0x0E, None);
    take(&mut bench);
    bench.session.close(bench.now);
    bench.statuses.clear();
    bench.run(2000);
    take(&mut bench);
    assert_eq!(bench.session.state().link, Link::Closed);
    assert!(bench.sent_as(0x0D).is_empty());
}

/// A robot that went silent while it played may play still.
#[test]
fn what_plays_out_of_sight_is_ended_too() {
    let mut bench = ready();
    bench.get(play(Target::Id(1))).unwrap();
    bench.mode = MODE_PLAYING;
    bench.run(200);
    bench.mute = true;
    bench.run(1500);
    assert_eq!(bench.session.state().link, Link::Lost { reason: None });
    bench.forget();
    take(&mut bench);
    assert_eq!(acts(&bench), [0x0E]);
}
