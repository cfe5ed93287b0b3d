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
    dock::dock,
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
    let options = Options { seed, encoder_error: 0.01, gyro_error: 0.002, ..Options::default() };
    // Packets of every other seed are late, and some lost.
    let (late, down) = match seed % 2 {
        0 => Default::default(),
        _ => (ms(11), Faults { delay: ms(10), jitter: ms(10), drop: 1e-3, ..Faults::default() }),
    };
    let mut pair = Pair::new(Setup { seed, options, down, late, trace, ..Setup::default() });
    pair.connect();
    pair.run_until(ms(10_000), |pair| pair.host.state().link == Link::Ready);
    let led = (seed % 19) as u8;
    pair.execute(Command::Led { state: led }).unwrap();
    pair.execute(Command::DriveEnable { mode: 2 }).unwrap();
    pair.run_for(ms(120));
    wander(&mut pair, &mut Rng::with_seed(seed ^ 0xD0C4));
    let from = pair.robot.pose();
    let remembered = pair.host.state().dock.unwrap();

    assert_eq!(dock(&mut pair), DockEvent::Arrived, "from {from:?}");
    let believed = pair.host.state().pose;
    pair.run_for(ms(500));
    let pose = pair.robot.pose();
    assert!(!pair.robot.is_moving());
    assert!(pose.distance(&DOCK) <= 0.01, "from {from:?} to {pose:?}");
    assert!(pose.turn_from(&DOCK).abs() <= 2.0 * PI / 180.0, "from {from:?} to {pose:?}");
    let state = pair.host.state();
    assert!(state.status.unwrap().is(Flag::Charging));
    assert_eq!((state.docking, state.dock_distance_m, state.led), (None, None, led));
    let outputs = pair.robot.outputs();
    assert_eq!((outputs.led, outputs.mode), (LedMode(led), Mode::Idle));
    assert!(!outputs.has_companion(), "{outputs:?}");

    let (sin, cos) = remembered.heading.sin_cos();
    let aside = (believed.y - remembered.y) * cos - (believed.x - remembered.x) * sin;
    aside.abs() > 0.02
}

/// Takes the robot about the room, some metres, to a place from where the straight way is free.
/// The driver sees where the robot is, the robot does not.
fn wander(pair: &mut Pair, rng: &mut Rng) {
    let world = World::default();
    let mut at = (0.5, 0.0);
    go_to(pair, at);
    let wanted = 3.0 + 3.0 * rng.f64();
    let mut metres = 0.5;
    while metres < wanted || !is_free(&world, at, STAGING, CORRIDOR) {
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

fn hold(seeds: Range<u64>) {
    if let Ok(seed) = env::var("SINEW_SEED") {
        let seed = seed.parse().unwrap();
        if seeds.contains(&seed) {
            run(seed, true);
        }
        return;
    }
    let looked_for = seeds.filter(|seed| run(*seed, false)).count();
    assert!(looked_for > 0, "odometry never missed the dock: this proves little");
}

#[test]
fn it_ends_on_the_dock_in_seeds_0_to_99() {
    hold(0..100);
}

#[test]
fn it_ends_on_the_dock_in_seeds_100_to_199() {
    hold(100..200);
}
