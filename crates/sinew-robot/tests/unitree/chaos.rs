//! Seeded runs in which messages are late, doubled and lost, channels stall and are cut, and
//! clients ask, stop, come and go. What must hold in each: every request ends once, no play is
//! doubled, and in the end nothing moves and nothing records.

use sinew_robot::{
    OrderKind, Presence, RequestId, Session as _,
    mapping::{Pose, Request as Map},
    teach::{RobotRequest, Target},
    unitree::{Request, Settings},
};

use crate::{
    bench::{Bench, Faults, UNIX_TIME, md5, play, play_id, record},
    robot::Arms,
};

const SEEDS: u64 = 2000;

#[test]
fn two_thousand_runs_keep_the_rules() {
    for seed in 0..SEEDS {
        let run = std::panic::catch_unwind(|| one(seed));
        assert!(run.is_ok(), "seed {seed}");
    }
}

fn one(seed: u64) {
    let mut chance = fastrand::Rng::with_seed(seed);
    let mut bench = Bench::with(Settings::new(UNIX_TIME, seed, md5));
    bench.faults = Some(Faults {
        delay: chance.u64(0..150),
        stalls: chance.u32(0..30),
        doubles: chance.u32(0..100),
        losses: chance.u32(0..100),
        chance: chance.fork(),
    });
    bench.robot.ends_unkept = chance.bool();
    bench.robot.joints_every = 1000;
    bench.robot.files.insert("/home/unitree/home.pcd".into(), vec![1; 500]);
    bench.open();
    bench.run(1000);
    let mut asked: Vec<RequestId> = Vec::new();
    let mut plays = 0;
    for _ in 0..chance.usize(5..15) {
        act(&mut bench, &mut chance, &mut asked, &mut plays);
        bench.run(chance.u64(0..1500));
        check(&bench, &asked, false, plays);
    }
    calm_down(&mut bench);
    check(&bench, &asked, true, plays);
    assert!(bench.robot.is_still(), "{:?} {:?}", bench.robot.arms, bench.robot.walk);
    assert!(!bench.session.state().recording && bench.session.state().stopping.is_none());
}

fn act(
    bench: &mut Bench,
    chance: &mut fastrand::Rng,
    asked: &mut Vec<RequestId>,
    plays: &mut usize,
) {
    let pose = Pose { x: chance.f64() * 6.0, y: chance.f64() * 6.0, z: 0.0, yaw: 1.0 };
    let request: Request = match chance.u32(0..24) {
        0..3 => {
            *plays += 1;
            play("Waist_Drum_Dance").into()
        }
        3 => {
            *plays += 1;
            play_id(17).into()
        }
        4..7 => record(&format!("r{}", asked.len())).into(),
        7..9 => RobotRequest::RecordStop.into(),
        9 => RobotRequest::List.into(),
        10 => RobotRequest::Save { name: Some(format!("s{}", asked.len())), looped: false }.into(),
        11 => RobotRequest::Delete { action: Target::Name("touch me not".into()) }.into(),
        12 => RobotRequest::Stop.into(),
        13 => Map::Start.into(),
        14 => Map::Relocate { map: "home".into(), pose: Pose::default() }.into(),
        15..17 => Map::GoTo { pose }.into(),
        17 => [Map::Pause, Map::Resume, Map::Close][chance.usize(0..3)].clone().into(),
        18 => Map::Download { name: "home".into() }.into(),
        19 => return bench.order(OrderKind::Stop, 2),
        20 => return bench.order(OrderKind::Taken, 2),
        21 => {
            bench.presence.end();
            bench.order(OrderKind::Released, 1);
            bench.presence = Presence::default();
            return;
        }
        22 if bench.open => {
            bench.cut("the cable is out");
            return bench.reopen_in(chance.u64(100..8000));
        }
        _ => {
            // A robot that is there, and cannot be heard for a while.
            bench.dead = true;
            bench.run(chance.u64(200..7000));
            bench.dead = false;
            return;
        }
    };
    asked.push(bench.ask(request));
}

fn check(bench: &Bench, asked: &[RequestId], over: bool, plays: usize) {
    for id in asked {
        let outcome = bench.outcome(*id);
        assert!(!over || outcome.is_some(), "request {id} never ended");
    }
    let sent = bench.robot.calls(7106).len() + bench.robot.calls(7108).len();
    assert!(sent <= plays, "{sent} plays for {plays} requests");
    let calls = bench.robot.calls(7110);
    for (_, parameter) in &calls {
        assert!(parameter.is_empty() || parameter.contains("action_name"));
    }
    // What keeps a recording alive never follows what ends it.
    for pair in calls.windows(2) {
        let [(_, before), (_, after)] = pair else { continue };
        assert!(!(before.is_empty() && after == r#"{"action_name":""}"#), "{calls:?}");
    }
    let starts = calls.iter().filter(|(_, it)| it.contains(r#""r"#)).count();
    assert!(starts <= asked.len());
}

/// The faults end, a client stops the robot, and there is time for that.
fn calm_down(bench: &mut Bench) {
    bench.faults = None;
    bench.dead = false;
    // Longer than any cut.
    bench.run(9000);
    bench.order(OrderKind::Stop, 9);
    bench.run(20_000);
}

/// Without any stop: what was begun is ended by the rules alone.
#[test]
fn no_recording_outlives_its_client_and_its_channel() {
    for seed in 0..300 {
        let mut chance = fastrand::Rng::with_seed(seed);
        let mut bench = Bench::with(Settings::new(UNIX_TIME, seed, md5));
        bench.faults = Some(Faults {
            delay: 100,
            stalls: 20,
            doubles: 50,
            losses: chance.u32(0..300),
            chance: chance.fork(),
        });
        bench.robot.ends_unkept = false;
        bench.robot.joints_every = 1000;
        bench.open();
        bench.run(1000);
        let id = bench.ask(record("wave"));
        bench.run(chance.u64(0..4000));
        if chance.bool() {
            bench.cut("cut");
            bench.reopen_in(chance.u64(100..5000));
        }
        bench.run(chance.u64(0..4000));
        bench.presence.end();
        bench.run(90_000);
        assert!(bench.outcome(id).is_some(), "seed {seed}");
        let records = matches!(bench.robot.arms, Arms::Recording { .. });
        assert!(!records && bench.robot.pending.is_none(), "seed {seed}: {:?}", bench.robot.arms);
    }
}
