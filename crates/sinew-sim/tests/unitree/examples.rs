//! What a client does in an afternoon.

use sinew_robot::{
    Code, OrderKind, Session as _,
    mapping::{Answer as MapAnswer, Pose, Request as Map},
    teach::{Answer, Playback, RobotRequest, Target},
    unitree::{Event, LinkState, Reply},
};
use sinew_sim::g1::{Mode, Walking};
use sinew_wire::slam::Reading;

use crate::harness::{Pair, options};

fn ready() -> Pair {
    let mut pair = Pair::new(options(1), 1);
    pair.open();
    pair.run(1000);
    assert_eq!(pair.session.state().link, LinkState::Ready);
    pair
}

fn play(name: &str) -> RobotRequest {
    let action = Target::Name(name.into());
    RobotRequest::Play { action, how: Playback::default(), keyframes: None }
}

fn record(name: &str) -> RobotRequest {
    RobotRequest::RecordStart { name: Some(name.into()) }
}

fn names(pair: &mut Pair) -> Vec<String> {
    let Ok(Reply::Teach(Answer::List { actions, .. })) = pair.get(RobotRequest::List) else {
        panic!()
    };
    actions.into_iter().map(|action| action.name).collect()
}

#[test]
fn what_is_taught_is_listed_renamed_played_stopped_and_deleted() {
    let mut pair = ready();
    pair.get(record("wave")).unwrap();
    pair.run(4000);
    assert_eq!(pair.robot.mode(), Mode::Recording);
    let Ok(Reply::Teach(Answer::RecordStop { frames, .. })) = pair.get(RobotRequest::RecordStop)
    else {
        panic!()
    };
    assert!(frames > 70, "{frames}");
    pair.run(6000);
    assert!(names(&mut pair).contains(&"wave".into()));
    let rename = RobotRequest::Rename { name: "wave".into(), new_name: "hello".into() };
    pair.get(rename).unwrap();
    pair.get(play("hello")).unwrap();
    pair.run(1500);
    assert_eq!(pair.robot.mode(), Mode::Playing);
    pair.get(RobotRequest::Stop).unwrap();
    assert!(pair.is_still());
    pair.run(6000);
    pair.get(RobotRequest::Delete { action: Target::Name("hello".into()) }).unwrap();
    assert!(!names(&mut pair).contains(&"hello".into()));
    // A preset that holds its pose, and one of the factory's.
    pair.get(play("both_hands_up")).unwrap();
    pair.run(8000);
    let refusal = pair.get(play("Spin_discs")).unwrap_err();
    assert!(refusal.message.contains("7401"), "{refusal}");
    pair.get(RobotRequest::Stop).unwrap();
    pair.run(6000);
    pair.get(play("Spin_discs")).unwrap();
    pair.run(20_000);
    let ended = |event: &&Event| matches!(event, Event::PlayEnded { whole: true, .. });
    assert!(pair.events.iter().filter(ended).count() >= 2);
}

#[test]
fn a_building_is_mapped_stored_fetched_and_walked_in() {
    for layout in [Reading::Packed, Reading::Documented] {
        let mut start = options(3);
        (start.unitree.layout, start.unitree.patrol) = (layout, true);
        start.unitree.points_per_cloud = 906;
        let mut pair = Pair::new(start, 3);
        pair.open();
        pair.run(500);
        pair.get(Map::Start).unwrap();
        pair.run(5000);
        let mapping = &pair.session.state().mapping;
        assert!(mapping.active && mapping.clouds > 40, "{mapping:?}");
        assert_eq!(mapping.clouds_rejected, 0);
        let Ok(Reply::Mapping(MapAnswer::Info(info))) = pair.get(Map::Info) else { panic!() };
        assert!(info.pose.is_some() && info.last_cloud.unwrap().points > 100);
        pair.get(Map::Stop { name: Some("home".into()) }).unwrap();
        let download = pair.get(Map::Download { name: "home".into() });
        let Ok(Reply::Mapping(MapAnswer::Download { file, .. })) = download else { panic!() };
        assert!(file.starts_with(b"# .PCD"));
        pair.get(Map::Relocate { map: "home".into(), pose: Pose::default() }).unwrap();
        pair.run(1000);
        let here = pair.session.state().pose.unwrap();
        let far = Pose { x: here.x + 30.0, ..here };
        assert_eq!(pair.get(Map::GoTo { pose: far }).unwrap_err().code, Code::InvalidArgument);
        let near = Pose { x: here.x + 0.6, ..here };
        pair.get(Map::GoTo { pose: near }).unwrap();
        pair.run(500);
        assert_ne!(pair.robot.walking(), Walking::No);
        pair.presence.end();
        pair.order(OrderKind::Released, 1);
        pair.run(1500);
        assert_eq!(pair.robot.walking(), Walking::No);
        assert!(!pair.session.state().mapping.walking);
    }
}

#[test]
fn a_stance_that_does_not_allow_it_is_named() {
    let mut start = options(1);
    start.unitree.fsm_id = 4;
    let mut pair = Pair::new(start, 1);
    pair.open();
    pair.run(1000);
    let refusal = pair.get(play("Spin_discs")).unwrap_err();
    assert_eq!(refusal.code, Code::Refused);
    for part in ["7404", "500", "it is in 4 (locked standing)"] {
        assert!(refusal.message.contains(part), "{refusal}");
    }
    assert_eq!(pair.robot.fsm_id(), 4);
}

#[test]
fn a_robot_that_asks_again_who_there_is_goes_on_being_served() {
    let mut start = options(1);
    start.unitree.revalidate_every = Some(std::time::Duration::from_secs(3));
    let mut pair = Pair::new(start, 1);
    pair.open();
    pair.run(20_000);
    assert_eq!(pair.session.state().link, LinkState::Ready);
    assert_eq!(pair.session.state().counters.reconnects, 0);
    assert!(!names(&mut pair).is_empty());
}

#[test]
fn a_robot_that_restarts_is_there_again() {
    let mut pair = ready();
    pair.get(play("Spin_discs")).unwrap();
    pair.run(1000);
    pair.robot.restart(pair.now);
    // Nothing says so but the silence.
    pair.run(5900);
    assert!(pair.session.state().counters.reconnects == 1);
    pair.run(3000);
    assert_eq!(pair.session.state().link, LinkState::Ready);
    pair.get(play("Spin_discs")).unwrap();
}
