//! Where the return to the dock ends, by seed: with encoders and a gyroscope that are wrong, from
//! anywhere in the room whence the straight way is free.
//!
//! `SINEW_SEED=17 cargo test -p sinew-sim --test pair home -- --nocapture` runs that one alone and
//! prints every frame and event.

use std::{
    env,
    f64::consts::{PI, TAU},
    ops::Range,
};

use fastrand::Rng;
use sinew_faults::Faults;
use sinew_robot::vacuum::{Command, DockEvent, LinkState as Link};
use sinew_sim::vacuum::{Options, Pose, ROBOT_RADIUS, Rect, World};
use sinew_wire::gd32::{Flag, LedMode, Mode};

use crate::{
    dock::{dock, dock_pushing},
    harness::{Pair, Setup, ms},
};

const DOCK: Pose = Pose { x: 0.0, y: 0.0, heading: 0.0 };
/// Where the robot turns its back to the dock.
const STAGING: (f64, f64) = (0.4, 0.0);
/// What odometry may be wrong by on the way, beside the robot's own width.
const CORRIDOR: f64 = 0.1;

/// Runs a seed, and says whether the dock had to be looked for.
fn run(seed: u64, trace: bool) -> bool {
    let _reproduce = Reproduce(seed);
    let mut pair = out_and_about(seed, 0.002, Some(CORRIDOR), trace);
    let from = pair.robot.pose();
    let remembered = pair.host.state().dock.unwrap();
    assert_eq!(dock(&mut pair), DockEvent::Arrived, "from {from:?}");
    let believed = pair.host.state().pose;
    pair.run_for(ms(500));
    is_home(&pair);
    assert_eq!(pair.robot.outputs().led, led(seed));

    let (sin, cos) = remembered.heading.sin_cos();
    let aside = (believed.y - remembered.y) * cos - (believed.x - remembered.x) * sin;
    aside.abs() > 0.02
}

/// The same with a gyroscope that is ten times as wrong, from places whence the way need not be
/// free: it arrives, or gives up and stands. Says which.
fn run_anywhere(seed: u64, trace: bool) -> bool {
    let _reproduce = Reproduce(seed);
    let mut pair = out_and_about(seed, 0.02, None, trace);
    // The wall may be where it thinks that it backs from the place in front of the dock.
    let end = dock_pushing(&mut pair, ms(9000));
    pair.run_for(ms(500));
    match &end {
        DockEvent::GaveUp { reason } => assert!(!reason.is_empty()),
        _ => is_home(&pair),
    }
    assert!(!pair.robot.is_moving() && !pair.robot.outputs().has_companion());
    assert_eq!(pair.robot.outputs().led, led(seed));
    end == DockEvent::Arrived
}

fn led(seed: u64) -> LedMode {
    LedMode((seed % 19) as u8)
}

/// A robot that has left its dock and stands somewhere.
fn out_and_about(seed: u64, gyro_error: f64, corridor: Option<f64>, trace: bool) -> Pair {
    let options = Options { seed, encoder_error: 0.01, gyro_error, ..Options::default() };
    // Packets of every other seed are late, and some lost.
    let (late, down) = match seed % 2 {
        0 => Default::default(),
        _ => (ms(11), Faults { delay: ms(10), jitter: ms(10), drop: 1e-3, ..Faults::default() }),
    };
    let mut pair = Pair::new(Setup { seed, options, down, late, trace, ..Setup::default() });
    pair.connect();
    pair.run_until(ms(10_000), |pair| pair.host.state().link == Link::Ready);
    pair.execute(Command::Led { state: led(seed).0 }).unwrap();
    pair.execute(Command::DriveEnable { mode: 2 }).unwrap();
    pair.run_for(ms(120));
    wander(&mut pair, &mut Rng::with_seed(seed ^ 0xD0C4), corridor);
    pair
}

fn is_home(pair: &Pair) {
    let pose = pair.robot.pose();
    assert!(!pair.robot.is_moving());
    assert!(pose.distance(&DOCK) <= 0.01, "it ended at {pose:?}");
    assert!(pose.turn_from(&DOCK).abs() <= 2.0 * PI / 180.0, "it ended at {pose:?}");
    let state = pair.host.state();
    assert!(state.status.unwrap().is(Flag::Charging));
    assert_eq!((state.docking, state.dock_distance_m), (None, None));
    let outputs = pair.robot.outputs();
    assert!(outputs.mode == Mode::Idle && !outputs.has_companion(), "{outputs:?}");
}

/// Takes the robot about the room, some metres; with a corridor, to a place from where the straight
/// way is free. The driver sees where the robot is, the robot does not.
fn wander(pair: &mut Pair, rng: &mut Rng, corridor: Option<f64>) {
    let world = World::default();
    let mut at = (0.5, 0.0);
    go_to(pair, at);
    let wanted = 3.0 + 3.0 * rng.f64();
    let mut metres = 0.5;
    let has_way = |at| corridor.is_none_or(|aside| is_free(&world, at, STAGING, aside));
    while metres < wanted || !has_way(at) {
        let next = (rng.f64() * 5.0 - 0.2, rng.f64() * 4.0 - 1.5);
        if is_free(&world, at, next, 0.06) {
            go_to(pair, next);
            metres += (next.0 - at.0).hypot(next.1 - at.1);
            at = next;
        }
    }
    turn_to(pair, rng.f64() * TAU);
    pair.run_for(ms(300));
}

pub(crate) fn go_to(pair: &mut Pair, (x, y): (f64, f64)) {
    loop {
        let pose = pair.robot.pose();
        let (dx, dy) = (x - pose.x, y - pose.y);
        if dx.hypot(dy) < 0.03 {
            break;
        }
        let turn = Pose::new(0.0, 0.0, dy.atan2(dx)).turn_from(&pose);
        let linear = if turn.abs() > 0.2 { 0.0 } else { 0.2 };
        velocity(pair, linear, turn);
    }
}

fn turn_to(pair: &mut Pair, heading: f64) {
    loop {
        let turn = Pose::new(0.0, 0.0, heading).turn_from(&pair.robot.pose());
        if turn.abs() < 0.1 {
            break;
        }
        velocity(pair, 0.0, turn);
    }
}

fn velocity(pair: &mut Pair, linear: f32, turn: f64) {
    let angular = (2.0 * turn as f32).clamp(-0.8, 0.8);
    pair.execute(Command::Velocity { linear, angular }).unwrap();
    pair.run_for(ms(50));
}

/// Whether a robot with so much room at its sides gets straight from one place to the other.
fn is_free(world: &World, from: (f64, f64), to: (f64, f64), aside: f64) -> bool {
    let gap = |(x, y): (f64, f64), piece: &Rect| {
        let dx = (piece.left - x).max(x - piece.right).max(0.0);
        let dy = (piece.bottom - y).max(y - piece.top).max(0.0);
        dx.hypot(dy)
    };
    let Rect { left, bottom, right, top } = world.room;
    let station = Rect::new((-0.22, -0.12), (-0.13, 0.12));
    (0..=100).all(|step| {
        let share = f64::from(step) / 100.0;
        let (x, y) = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
        let walls = (x - left).min(right - x).min(y - bottom).min(top - y);
        let pieces = world.furniture.iter().chain(&world.steps).chain([&station]);
        pieces.map(|piece| gap((x, y), piece)).fold(walls, f64::min) > ROBOT_RADIUS + aside
    })
}

/// Says how to run a seed again when it fails.
struct Reproduce(u64);

impl Drop for Reproduce {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = self.0;
            eprintln!(
                "reproduce: SINEW_SEED={seed} cargo test -p sinew-sim --test pair home -- --nocapture"
            );
        }
    }
}

/// Runs every seed of a range, or only the one that was asked for, and counts.
fn count(seeds: Range<u64>, run: fn(u64, bool) -> bool) -> usize {
    let Ok(seed) = env::var("SINEW_SEED") else {
        return seeds.filter(|seed| run(*seed, false)).count();
    };
    let seed = seed.parse().unwrap();
    if seeds.contains(&seed) {
        run(seed, true);
    }
    1
}

#[test]
fn it_ends_on_the_dock_in_seeds_0_to_99() {
    assert!(count(0..100, run) > 0, "odometry never missed the dock: this proves little");
}

#[test]
fn it_ends_on_the_dock_in_seeds_100_to_199() {
    assert!(count(100..200, run) > 0, "odometry never missed the dock: this proves little");
}

#[test]
fn it_arrives_or_gives_up_in_seeds_200_to_299() {
    let arrived = count(200..300, run_anywhere);
    assert!((1..100).contains(&arrived), "{arrived} arrived");
}
