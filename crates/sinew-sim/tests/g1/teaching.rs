//! Soft arms, and what is recorded of them.

use sinew_sim::g1::{Code, HAND_VELOCITY, MAX_RECORDING, Mode, Motion, Options, Script};
use sinew_wire::teach::{G1_ARM_JOINTS, Message};

use crate::support::*;

#[test]
fn damping_ends_by_itself_when_nobody_keeps_it_up() {
    let mut bench = Bench::new(Options::default());
    bench.enter();
    bench.teach(ms(45_000));
    assert_eq!(bench.robot.mode(), Mode::Teaching);
    bench.run(ms(9_999));
    assert_eq!(bench.robot.mode(), Mode::Teaching);
    bench.run(ms(1));
    assert_eq!(bench.robot.mode(), Mode::Idle);
    let held = bench.robot.joints();
    bench.robot.move_arm(0, 1.0);
    bench.run(ms(20_000));
    assert_eq!(bench.robot.joints(), held);
    assert_eq!(bench.robot.velocities(), [0.0; 12]);
    assert_eq!(bench.ask(&MAINTAIN), Code::WrongMode, "the host is told that it lapsed");
}

#[test]
fn a_recording_survives_the_lapse_and_can_be_saved() {
    let mut bench = Bench::new(Options::default());
    bench.enter();
    bench.done(&START);
    bench.run(ms(20_000));
    assert_eq!(bench.robot.mode(), Mode::Idle);
    bench.done(&save("late", 1, &[]));
    assert_eq!(bench.list(), [("late".to_owned(), 10_000)]);
}

#[test]
fn teaching_belongs_to_the_robot_and_not_to_a_client() {
    let mut bench = Bench::still();
    bench.enter();
    for _ in 0..4 {
        bench.run(ms(4500));
        bench.send(client(1), &MAINTAIN);
    }
    assert_eq!(bench.robot.mode(), Mode::Teaching);
    bench.send(client(2), &EXIT);
    assert_eq!(bench.robot.mode(), Mode::Idle);
}

#[test]
fn a_repeated_enter_keeps_what_is_recorded() {
    let mut bench = Bench::new(lifts(0, 0.5));
    bench.enter();
    bench.done(&START);
    bench.run(ms(1000));
    bench.enter();
    assert_eq!(bench.robot.mode(), Mode::Recording);
    assert_eq!(bench.robot.recorded_frames(), 51);
}

#[test]
fn a_state_of_zeros_enters_too() {
    for layout in LAYOUTS {
        let mut bench = Bench::still();
        bench.layout = layout;
        let Message::Enter(state) = enter() else { unreachable!() };
        bench.done(&Message::Enter(sinew_wire::teach::State { mode_flags: 0, ..state }));
        assert_eq!(bench.robot.mode(), Mode::Teaching);
    }
}

#[test]
fn only_soft_arms_yield_to_a_hand() {
    let mut bench = Bench::still();
    bench.robot.move_arm(3, 1.0);
    bench.run(ms(2000));
    assert_eq!(bench.joint(3), 0.0);
    bench.enter();
    bench.robot.move_arm(3, 1.0);
    bench.robot.move_arm(4, f32::NAN);
    bench.robot.move_arm(5, f32::INFINITY);
    bench.robot.move_arm(99, 1.0);
    bench.run(ms(3000));
    assert_near(bench.joint(3), 1.0, 0.01);
    assert_eq!((bench.joint(4), bench.joint(5)), (0.0, 0.0));
    bench.robot.move_arm(9, -9.0);
    bench.run(ms(3000));
    assert_near(bench.joint(9), G1_ARM_JOINTS[9].min, 0.01);
    assert!(bench.joint(9) >= G1_ARM_JOINTS[9].min);
}

#[test]
fn a_hand_moves_smoothly() {
    let mut bench = Bench::still();
    bench.enter();
    bench.robot.move_arm(0, -2.0);
    let mut before = bench.robot.velocities()[0];
    let mut fastest = 0f32;
    for _ in 0..600 {
        bench.run(ms(5));
        let velocity = bench.robot.velocities()[0];
        assert!((velocity - before).abs() <= 0.05, "{before} to {velocity} in 5 ms");
        fastest = fastest.max(velocity.abs());
        before = velocity;
    }
    assert_near(fastest, HAND_VELOCITY, 0.01);
    assert_near(bench.joint(0), -2.0, 0.01);
    assert!(bench.joint(0) >= -2.0, "without overshooting");
}

#[test]
fn every_seed_waves_in_its_own_way() {
    let wave = |seed| {
        let mut bench = Bench::new(Options { seed, ..Options::default() });
        bench.enter();
        bench.done(&START);
        bench.teach(ms(12_000));
        bench.done(&STOP);
        bench.done(&save("wave", 1, &[]));
        let Motion::Poses(poses) = bench.robot.actions()[0].motion.clone() else { panic!() };
        poses
    };
    let turns = |poses: &[[f32; 12]]| {
        let ways: Vec<f32> = poses.windows(2).map(|two| two[1][8] - two[0][8]).collect();
        let ways: Vec<f32> = ways.into_iter().filter(|way| way.abs() > 1e-4).collect();
        ways.windows(2).filter(|two| two[0] * two[1] < 0.0).count()
    };
    assert_eq!(wave(1), wave(1));
    assert_ne!(wave(1), wave(2));
    for seed in 0..20 {
        let turns = turns(&wave(seed));
        assert!(turns >= 5, "seed {seed} turned {turns} times");
    }
}

#[test]
fn a_script_repeats_and_a_senseless_one_does_no_harm() {
    let moves = |slot, target| vec![sinew_sim::g1::Move { at: ms(0), slot, target }];
    for (moves, repeat) in [
        (moves(50, 1.0), None),
        (moves(0, f32::NAN), Some(ms(0))),
        (moves(1, 1e9), Some(ms(1))),
        (Vec::new(), Some(ms(0))),
    ] {
        let operator = Some(Script::Moves { moves, repeat });
        let mut bench = Bench::new(Options { operator, ..Options::default() });
        bench.enter();
        bench.run(ms(5000));
        assert!(
            bench
                .robot
                .joints()
                .iter()
                .zip(&G1_ARM_JOINTS)
                .all(|(at, joint)| joint.clamp(*at) == *at)
        );
    }
}

#[test]
fn recording_needs_teaching() {
    let mut bench = Bench::still();
    assert_eq!(bench.ask(&START), Code::WrongMode);
    assert_eq!(bench.ask(&STOP), Code::WrongMode);
    bench.enter();
    assert_eq!(bench.ask(&STOP), Code::NothingRecorded);
    assert_eq!(bench.ask(&Message::Record { flag: 2, rest: &[] }), Code::BadPayload);
    bench.done(&START);
    bench.done(&EXIT);
    assert_eq!(bench.ask(&STOP), Code::WrongMode);
}

#[test]
fn a_repeated_start_or_stop_is_acknowledged_and_changes_nothing() {
    let mut bench = Bench::still();
    bench.enter();
    bench.done(&START);
    bench.run(ms(500));
    bench.done(&START);
    bench.run(ms(500));
    bench.done(&STOP);
    bench.run(ms(500));
    bench.done(&STOP);
    assert_eq!(bench.robot.recorded_frames(), 51, "one second at 50 Hz");
}

#[test]
fn a_recording_stays_until_the_next_start_or_exit() {
    let mut bench = Bench::still();
    bench.enter();
    bench.done(&START);
    bench.run(ms(1000));
    bench.done(&STOP);
    bench.done(&save("one", 1, &[]));
    bench.done(&save("two", 1, &[]));
    assert_eq!(bench.list(), [("one".to_owned(), 1000), ("two".to_owned(), 1000)]);
    bench.done(&START);
    bench.run(ms(200));
    bench.done(&STOP);
    bench.done(&save("three", 1, &[]));
    assert_eq!(bench.list()[2].1, 200);
    bench.done(&EXIT);
    bench.enter();
    assert_eq!(bench.ask(&save("four", 1, &[])), Code::NothingRecorded);
}

#[test]
fn a_recording_is_bounded_and_a_long_one_cannot_be_saved() {
    let mut bench = Bench::still();
    bench.enter();
    bench.done(&START);
    bench.teach(MAX_RECORDING + ms(10_000));
    assert_eq!(bench.robot.mode(), Mode::Teaching, "ended by itself");
    assert_eq!(bench.robot.recorded_frames(), 15_001);
    assert_eq!(bench.ask(&save("long", 1, &[])), Code::TooLong);
    for (length, code) in [(65_520, Code::Success), (65_540, Code::TooLong)] {
        bench.done(&START);
        bench.teach(ms(length));
        bench.done(&STOP);
        assert_eq!(bench.ask(&save(&length.to_string(), 1, &[])), code);
    }
}
