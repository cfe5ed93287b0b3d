//! Whatever is asked, the arms stay inside their limits.

use proptest::{collection::vec, prelude::*};
use sinew_sim::g1::{MAX_VELOCITY, Motion, Options, Robot, StoredAction};
use sinew_wire::teach::{G1_ARM_JOINTS, Interpolation};

use crate::support::*;

/// Values of which some are at or beyond a limit, and some are no numbers.
fn value() -> impl Strategy<Value = f32> {
    prop_oneof![
        6 => -3.2f32..3.2,
        1 => prop::sample::select(vec![-3.0892, 2.6704, 2.2515, -1.047, 2.0944, -0.0]),
        1 => any::<f32>(),
    ]
}

fn keys() -> impl Strategy<Value = Vec<(u16, u16, f32)>> {
    let joint = prop_oneof![4 => 15u16..29, 2 => 0u16..12, 1 => any::<u16>()];
    let time = prop_oneof![4 => 0u16..3000, 1 => any::<u16>()];
    vec((joint, time, value()), 1..20)
}

#[derive(Debug, Clone)]
enum Deed {
    Save(Vec<(u16, u16, f32)>),
    Play(u32, u32, u32, u32, Option<Vec<(u16, u16, f32)>>),
    Teach,
    Exit,
    Record(u32),
    Own,
    Hand(usize, f32),
}

fn deed() -> impl Strategy<Value = Deed> {
    let plays = (1u32..5, 0u32..60, 0u32..3000, 0u32..4, prop::option::weighted(0.3, keys()));
    prop_oneof![
        2 => keys().prop_map(Deed::Save),
        4 => plays.prop_map(|(id, frames, time, way, keys)| Deed::Play(id, frames, time, way, keys)),
        2 => Just(Deed::Teach),
        1 => Just(Deed::Exit),
        2 => (0u32..3).prop_map(Deed::Record),
        1 => Just(Deed::Own),
        2 => (0usize..13, value()).prop_map(|(slot, target)| Deed::Hand(slot, target)),
    ]
}

fn act(bench: &mut Bench, number: u32, deed: &Deed) {
    let name = format!("action {number}");
    let from = client(0);
    match deed {
        Deed::Save(keys) => bench.send(from, &save(&name, number, keys)),
        Deed::Own => bench.send(from, &save(&name, number, &[])),
        Deed::Teach => bench.send(from, &enter()),
        Deed::Exit => bench.send(from, &EXIT),
        Deed::Record(flag) => {
            bench.send(from, &sinew_wire::teach::Message::Record { flag: *flag, rest: &[] });
        }
        Deed::Hand(slot, target) => bench.robot.move_arm(*slot, *target),
        Deed::Play(id, frames, time, way, keys) => {
            let message = play_with(*id, |play| {
                play.frame_count = *frames;
                play.duration_ms = *time;
                play.interpolation = Interpolation::from(*way);
                if let Some(keys) = keys {
                    play.keyframes = keyframes(keys);
                }
            });
            bench.send(from, &message);
        }
    }
}

fn assert_inside(robot: &Robot) {
    for (slot, joint) in G1_ARM_JOINTS.iter().enumerate() {
        let position = robot.joints()[slot];
        assert!((joint.min..=joint.max).contains(&position), "{}: {position}", joint.name);
    }
}

/// Lets time pass in the arms' own steps and checks every one.
fn watch(bench: &mut Bench, steps: u32) {
    for _ in 0..steps {
        let before = bench.robot.joints();
        bench.run(ms(5));
        assert_inside(&bench.robot);
        for (slot, joint) in G1_ARM_JOINTS.iter().enumerate() {
            let way = (bench.joint(slot) - before[slot]).abs();
            // What is left is rounding.
            assert!(way <= MAX_VELOCITY * 0.005 * 1.0001, "{} moved {way} in 5 ms", joint.name);
            let velocity = bench.robot.velocities()[slot].abs();
            assert!(velocity < 10.0, "{} has {velocity} rad/s", joint.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_arms_never_leave_their_limits(
        seed: u64,
        pose in prop::array::uniform12(value()),
        deeds in vec((deed(), 0u32..200), 1..40),
    ) {
        let mut bench = Bench::new(Options { seed, pose, ..Options::default() });
        assert_inside(&bench.robot);
        for (number, (deed, steps)) in deeds.iter().enumerate() {
            act(&mut bench, number as u32, deed);
            watch(&mut bench, *steps);
        }
        watch(&mut bench, 1000);
    }

    #[test]
    fn nor_with_whatever_the_store_holds(
        frames: u32, duration_ms: u32, flags: u32,
        poses in vec(prop::array::uniform12(value()), 0..20),
        keyed in keys(), by_keys: bool,
        play_frames in 0u32..30, play_ms in 0u32..2000, way in 0u32..3,
    ) {
        let motion = if by_keys { stored("x", &keyed).motion } else { Motion::Poses(poses) };
        let action = StoredAction {
            name: "x".into(), saved_at: 0, duration_ms: duration_ms % 70_000, frames, flags, motion,
        };
        let mut bench = Bench::with(vec![action]);
        act(&mut bench, 0, &Deed::Play(1, play_frames, play_ms, way, None));
        watch(&mut bench, 800);
    }
}
