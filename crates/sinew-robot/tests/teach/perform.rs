use std::sync::Arc;

use sinew_robot::{
    Code, Remedy,
    teach::{Answer, Event, MODE_IDLE, MODE_PLAYING, RobotRequest},
    trajectory::{Document, G1_ARMS, Plan, PlanOptions, Recording},
};
use sinew_wire::teach::Message;

use crate::bench::Bench;

/// Zigzags of one joint, too many for twenty keyframes; it takes ten seconds.
fn zigzag() -> Arc<Plan> {
    let mut recording = Recording::new();
    for index in 0..=40_u32 {
        let mut pose = [0.0; 12];
        pose[3] = if index.is_multiple_of(2) { 0.0 } else { 0.2 };
        recording.push(index * 250, pose).unwrap();
    }
    let document = Document { recording, ..Document::default() };
    Arc::new(Plan::new(&document, 0, PlanOptions::default(), &G1_ARMS).unwrap())
}

pub(crate) fn perform(looped: bool) -> RobotRequest {
    RobotRequest::Perform { name: "zigzag".into(), plan: zigzag(), looped }
}

fn pose_at_start(_: u32) -> [f32; 12] {
    [0.0; 12]
}

pub(crate) fn ready() -> Bench {
    let mut bench = Bench::pushing();
    bench.pose = pose_at_start;
    bench.run(100);
    bench.forget();
    bench
}

/// The robot plays what it was sent, for so long, and is seen to.
pub(crate) fn plays(bench: &mut Bench, ms: u64) {
    bench.mode = MODE_PLAYING;
    bench.run(ms);
    bench.mode = MODE_IDLE;
    bench.run(40);
}

fn numbers(bench: &Bench) -> Vec<u32> {
    let play = |message| if let Message::Play(play) = message { play.action_id } else { 0 };
    bench.sent_as(0x41).iter().map(|sent| play(sent.message())).collect()
}

pub(crate) fn ended(bench: &Bench) -> Option<&str> {
    bench.events.iter().find_map(|event| match event {
        Event::PlayEnded { why, .. } => Some(why.as_str()),
        _ => None,
    })
}

#[test]
fn a_motion_is_played_piece_by_piece() {
    let mut bench = ready();
    let answer = bench.get(perform(false)).unwrap();
    let Answer::Play { id: None, name, performed: Some(performed), note } = answer else {
        panic!()
    };
    assert_eq!(name.as_deref(), Some("zigzag"));
    assert!(performed.pieces >= 2 && note.contains("pieces"));
    assert_eq!(performed.duration_ms, 10_000);
    let playing = bench.session.state().playing.clone().unwrap();
    assert_eq!(playing.duration_ms, Some(10_000));
    for piece in 1..=performed.pieces {
        assert_eq!(numbers(&bench).len(), piece, "one after the other");
        assert_eq!(ended(&bench), None);
        plays(&mut bench, 1500);
    }
    assert_eq!(ended(&bench), Some("all of it was played"));
    assert_eq!(bench.session.state().playing, None);
    let numbers = numbers(&bench);
    assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]), "a play of the same is no new one");
    assert!(numbers.iter().all(|number| (1..=15).contains(number)));
}

#[test]
fn it_begins_where_the_arms_are() {
    let mut bench = ready();
    bench.pose = |_| [0.3; 12];
    bench.run(40);
    bench.get(perform(false)).unwrap();
    let first = bench.sent_as(0x41)[0].clone();
    let Message::Play(play) = first.message() else { panic!() };
    let beginnings = play.keyframes.iter().filter(|keyframe| keyframe.time_ms == 0);
    let values: Vec<_> = beginnings.map(|keyframe| keyframe.value).collect();
    assert_eq!(values, [0.3; 10]);
}

#[test]
fn nothing_follows_a_stop() {
    let mut bench = ready();
    bench.get(perform(true)).unwrap();
    bench.mode = MODE_PLAYING;
    bench.run(500);
    bench.session.stop(bench.now, "somebody");
    bench.settle();
    let sent = bench.sent_as(0x41).len();
    plays(&mut bench, 500);
    bench.run(5000);
    assert_eq!(bench.sent_as(0x41).len(), sent);
    assert!(ended(&bench).is_some());
}

#[test]
fn an_exit_ends_it_too() {
    let mut bench = ready();
    bench.get(perform(true)).unwrap();
    bench.mode = MODE_PLAYING;
    bench.run(500);
    // The robot stops before its answer to the exit comes.
    bench.statuses.insert(0x0E, None);
    bench.ask(RobotRequest::Exit);
    plays(&mut bench, 0);
    bench.run(5000);
    assert_eq!(bench.sent_as(0x41).len(), 1);
}

#[test]
fn it_repeats_until_whoever_asked_has_gone() {
    let mut bench = ready();
    let Answer::Play { performed: Some(performed), .. } = bench.get(perform(true)).unwrap() else {
        panic!()
    };
    for _ in 0..performed.pieces * 2 {
        plays(&mut bench, 1500);
    }
    assert!(bench.sent_as(0x41).len() > performed.pieces * 2);
    assert_eq!(ended(&bench), None);
    bench.mode = MODE_PLAYING;
    bench.run(200);
    bench.forget();
    bench.session.release(bench.now, "tester");
    bench.settle();
    assert_eq!(bench.codes(), [0x0E]);
    bench.mode = MODE_IDLE;
    bench.run(5000);
    assert!(bench.sent_as(0x41).is_empty() && ended(&bench).is_some());
}

#[test]
fn what_repeats_does_not_begin_once_whoever_asked_has_gone() {
    let mut bench = ready();
    // The first piece is on its way, and not answered.
    bench.statuses.insert(0x41, None);
    let id = bench.ask(perform(true));
    bench.session.release(bench.now, "tester");
    bench.settle();
    assert!(bench.outcome(id).unwrap().is_err());
    assert_eq!(bench.codes(), [0x41, 0x0E]);
    bench.statuses.clear();
    plays(&mut bench, 1000);
    bench.run(5000);
    assert_eq!(bench.sent_as(0x41).len(), 1);
}

#[test]
fn what_has_an_end_outlives_whoever_asked() {
    let mut bench = ready();
    bench.get(perform(false)).unwrap();
    bench.mode = MODE_PLAYING;
    bench.run(200);
    bench.session.release(bench.now, "tester");
    plays(&mut bench, 200);
    assert_eq!(bench.sent_as(0x41).len(), 2);
}

#[test]
fn a_refused_piece_ends_it() {
    let mut bench = ready();
    bench.get(perform(false)).unwrap();
    bench.statuses.insert(0x41, Some(7));
    plays(&mut bench, 500);
    assert!(ended(&bench).unwrap().contains("status 7"));
    bench.run(5000);
    assert_eq!(bench.sent_as(0x41).len(), 2);
}

#[test]
fn a_piece_that_is_not_answered_ends_it_unless_it_is_seen_to_play() {
    let mut bench = ready();
    bench.get(perform(false)).unwrap();
    bench.statuses.insert(0x41, None);
    plays(&mut bench, 500);
    bench.mode = MODE_PLAYING;
    bench.run(3000);
    assert_eq!(ended(&bench), None);
    bench.mode = MODE_IDLE;
    bench.run(3000);
    assert!(ended(&bench).unwrap().contains("did not answer"));
}

#[test]
fn a_first_piece_that_is_not_answered_is_unconfirmed_and_the_last() {
    let mut bench = ready();
    bench.statuses.insert(0x41, None);
    assert_eq!(bench.code(perform(false)), Code::Unconfirmed);
    bench.statuses.clear();
    let sent = bench.sent_as(0x41).len();
    plays(&mut bench, 2000);
    bench.run(5000);
    assert_eq!(bench.sent_as(0x41).len(), sent);
}

#[test]
fn it_goes_on_by_the_clock_when_pieces_are_too_short_to_be_seen() {
    let mut bench = ready();
    let Answer::Play { performed: Some(performed), .. } = bench.get(perform(false)).unwrap() else {
        panic!()
    };
    bench.run(u64::from(performed.duration_ms) + 1100 * performed.pieces as u64);
    assert_eq!(bench.sent_as(0x41).len(), performed.pieces);
    assert_eq!(ended(&bench), Some("all of it was played"));
}

#[test]
fn a_lost_link_ends_it_for_good() {
    let mut bench = ready();
    bench.get(perform(true)).unwrap();
    bench.mode = MODE_PLAYING;
    bench.run(200);
    bench.mute = true;
    bench.run(2000);
    bench.mute = false;
    bench.mode = MODE_IDLE;
    bench.run(10_000);
    assert_eq!(bench.sent_as(0x41).len(), 1, "nothing is sent when it is back");
    assert_eq!(ended(&bench), Some("the link was lost"));
}

#[test]
fn it_is_refused_where_it_would_not_be_safe() {
    let mut bench = Bench::ready();
    let refusal = bench.get(perform(false)).unwrap_err();
    assert!(refusal.message.contains("does not tell its pose"), "{refusal}");
    let mut bench = ready();
    bench.get(RobotRequest::Enter).unwrap();
    assert_eq!(bench.get(perform(false)).unwrap_err().remedy, Some(Remedy::Exit));
    bench.get(RobotRequest::Exit).unwrap();
    bench.get(perform(false)).unwrap();
    for verb in
        [RobotRequest::Enter, perform(false), crate::bench::play(sinew_robot::teach::Target::Id(1))]
    {
        assert_eq!(bench.code(verb), Code::NotReady);
    }
    assert_eq!(bench.sent_as(0x41).len(), 1);
}
