//! Runs by seed, each with its own network, troubles and client.
//!
//! `SINEW_SEED=17 cargo test -p sinew-sim --test unitree seeds` runs that one alone.

use std::env;

use fastrand::Rng;
use sinew_robot::{
    OrderKind, Presence, Session as _,
    mapping::{Pose, Request as Map},
    teach::{Playback, RobotRequest, Target},
    unitree::{Event, LinkState, Request},
};
use sinew_sim::g1::Walking;

use crate::harness::{Network, Pair, options};

const SEEDS: u64 = 2000;
/// Runs are spread over tests, so that they use all cores.
const PARTS: u64 = 4;

fn part(part: u64) {
    let one_seed = env::var("SINEW_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    for seed in (0..SEEDS).filter(|seed| seed % PARTS == part) {
        if one_seed.is_none_or(|one| seed == one) {
            let result = std::panic::catch_unwind(|| run(seed));
            assert!(result.is_ok(), "seed {seed}");
        }
    }
}

#[test]
fn seeds_of_the_first_part_keep_the_rules() {
    part(0);
}

#[test]
fn seeds_of_the_second_part_keep_the_rules() {
    part(1);
}

#[test]
fn seeds_of_the_third_part_keep_the_rules() {
    part(2);
}

#[test]
fn seeds_of_the_fourth_part_keep_the_rules() {
    part(3);
}

fn run(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let mut pair = Pair::new(options(seed), seed);
    pair.network =
        Network { delay: rng.u64(0..150), losses: rng.u32(0..60), rng: Rng::with_seed(seed) };
    pair.joints = seed.is_multiple_of(10);
    pair.open();
    pair.run(1000);
    if rng.bool() {
        // In a map, so that it can walk.
        pair.ask(Map::Start);
        pair.run(1500);
        pair.ask(Map::Stop { name: Some("home".into()) });
        pair.run(1500);
        pair.ask(Map::Relocate { map: "home".into(), pose: Pose::default() });
        pair.run(2000);
    }
    let mut plays = 0;
    for turn in 0..rng.usize(4..12) {
        act(&mut pair, &mut rng, turn, &mut plays);
        pair.run(rng.u64(0..1500));
        check(&pair, plays);
    }
    let gone = rng.bool();
    pair.network = Network { rng: pair.network.rng, ..Network::default() };
    // Longer than any cut.
    pair.run(8500);
    if gone {
        // Without any stop: the rules alone.
        pair.presence.end();
        pair.order(OrderKind::Released, 1);
        pair.run(15_000);
    } else {
        pair.order(OrderKind::Stop, 9);
        pair.run(8000);
    }
    check(&pair, plays);
    let state = pair.session.state();
    assert_eq!(state.link, LinkState::Ready);
    assert!(!state.recording && state.stopping.is_none());
    // A walk that a client paused waits for the next one; a stop ends that, too.
    assert!(!state.mapping.walking || (gone && state.mapping.paused), "{:?}", state.mapping);
    assert!(pair.is_still(), "{:?}, {:?}", pair.robot.mode(), pair.robot.walking());
    assert_ne!(pair.robot.walking(), Walking::Blocked);
    for id in &pair.asked {
        assert!(pair.outcome(*id).is_some(), "request {id} never ended");
    }
}

fn act(pair: &mut Pair, rng: &mut Rng, turn: usize, plays: &mut usize) {
    let here = pair.session.state().pose.unwrap_or_default();
    let pose = Pose { x: here.x + rng.f64() * 2.0, y: here.y + rng.f64() * 2.0, z: 0.0, yaw: 1.0 };
    let request: Request = match rng.u32(0..22) {
        0..4 => {
            *plays += 1;
            let name = ["Spin_discs", "clamp", "hug", "nothing"][rng.usize(0..4)];
            let action = Target::Name(name.into());
            RobotRequest::Play { action, how: Playback::default(), keyframes: None }.into()
        }
        4..7 => RobotRequest::RecordStart { name: Some(format!("r{turn}")) }.into(),
        7..9 => RobotRequest::RecordStop.into(),
        9 => RobotRequest::List.into(),
        10 => RobotRequest::Save { name: Some(format!("s{turn}")), looped: false }.into(),
        11 => RobotRequest::Stop.into(),
        12..15 => Map::GoTo { pose }.into(),
        15 => [Map::Pause, Map::Resume, Map::Close, Map::Start][rng.usize(0..4)].clone().into(),
        16 => return pair.order(OrderKind::Stop, 2),
        17 => return pair.order(OrderKind::Taken, 2),
        18 => {
            pair.presence.end();
            pair.order(OrderKind::Released, 1);
            pair.presence = Presence::default();
            return;
        }
        19 => {
            pair.cut("the cable is out");
            return pair.reopen_in(rng.u64(100..8000));
        }
        _ => Map::Info.into(),
    };
    pair.ask(request);
}

fn check(pair: &Pair, plays: usize) {
    let sent = pair.count_of(7106) + pair.count_of(7108);
    assert!(sent <= plays, "{sent} plays for {plays} requests");
    let records: Vec<&str> = pair
        .calls
        .iter()
        .filter(|(api, _)| *api == 7110)
        .map(|(_, parameter)| parameter.as_str())
        .collect();
    for calls in records.windows(2) {
        let kept = calls[0].is_empty() && calls[1] == r#"{"action_name":""}"#;
        assert!(!kept, "kept alive behind its end: {records:?}");
    }
    let stances = pair.count_of(7101) + pair.count_of(1002);
    assert_eq!(stances, 0, "no stance is changed");
    let rejected = |event: &Event| matches!(event, Event::CloudRejected { .. });
    assert!(!pair.events.iter().any(rejected));
}
