//! How actions are played.

use std::time::Duration;

use sinew_sim::g1::{Code, EASE_VELOCITY, Mode, Motion, Options, StoredAction};
use sinew_wire::teach::{Interpolation, Message};

use crate::support::*;

/// Plays until the end and says how long it took.
fn until_the_end(bench: &mut Bench) -> Duration {
    let begin = bench.now;
    while bench.robot.mode() == Mode::Playing {
        bench.run(ms(5));
        assert!(bench.now - begin < ms(900_000), "a play ends");
    }
    bench.now - begin
}

/// Joint 15 from 0 to 1 in a second.
fn ramp() -> StoredAction {
    stored("ramp", &[(15, 0, 0.0), (15, 1000, 1.0)])
}

#[test]
fn a_play_follows_its_keyframes() {
    let mut bench = Bench::with(vec![ramp()]);
    bench.done(&play(1));
    bench.run(ms(500));
    assert_near(bench.joint(0), 0.5, 0.001);
    bench.run(ms(250));
    assert_near(bench.joint(0), 0.75, 0.001);
    assert_near(bench.robot.velocities()[0], 1.0, 0.01);
    bench.run(ms(260));
    assert_eq!((bench.robot.mode(), bench.joint(0)), (Mode::Idle, 1.0));
    assert_eq!(bench.robot.velocities(), [0.0; 12]);
}

#[test]
fn interpolation_is_as_asked() {
    let halfway = |interpolation| {
        let mut bench = Bench::with(vec![ramp()]);
        bench.done(&play_with(1, |play| play.interpolation = interpolation));
        bench.run(ms(250));
        bench.joint(0)
    };
    assert_near(halfway(Interpolation::Linear), 0.25, 0.001);
    assert_near(halfway(Interpolation::Smooth), 0.15625, 0.001);
    assert_near(halfway(Interpolation::Cubic), 0.15625, 0.001);
    let mut bench = Bench::with(vec![ramp()]);
    let odd = play_with(1, |play| play.interpolation = Interpolation::Other(3));
    assert_eq!(bench.ask(&odd), Code::BadPayload);
}

#[test]
fn a_cubic_passes_smoothly_and_does_not_overshoot() {
    let keys = [(15, 0, 0.0), (15, 1000, 1.0), (15, 2000, 2.0), (15, 3000, 2.0), (15, 4000, 0.0)];
    let mut bench = Bench::with(vec![stored("stairs", &keys)]);
    bench.done(&play_with(1, |play| play.interpolation = Interpolation::Cubic));
    bench.run(ms(1000));
    assert_near(bench.joint(0), 1.0, 0.001);
    assert_near(bench.robot.velocities()[0], 1.0, 0.02);
    while bench.robot.mode() == Mode::Playing {
        bench.run(ms(5));
        assert!((0.0..=2.0).contains(&bench.joint(0)));
    }
    assert_near(bench.joint(0), 0.0, 0.001);
}

#[test]
fn a_play_eases_in_from_the_present_pose() {
    let mut bench = Bench::with(vec![stored("far", &[(15, 0, -2.0), (15, 1000, -2.0)])]);
    bench.done(&play(1));
    let mut fastest = 0f32;
    let mut before = 0.0;
    for _ in 0..600 {
        bench.run(ms(5));
        let velocity = bench.robot.velocities()[0];
        assert!((velocity - before).abs() < 0.02, "no jerk: {before} to {velocity}");
        fastest = fastest.max(velocity.abs());
        before = velocity;
    }
    assert_near(fastest, EASE_VELOCITY, 0.01);
    assert_near(bench.joint(0), -2.0, 0.001);
    assert_eq!(bench.robot.mode(), Mode::Playing, "the action itself begins then");
    assert_near(until_the_end(&mut bench).as_secs_f32(), 1.0, 0.02);
}

#[test]
fn a_joint_without_keyframes_stays_where_it_is() {
    let pose = std::array::from_fn(|slot| 0.05 * slot as f32);
    let options = Options { pose, actions: vec![ramp()], ..Options::default() };
    let mut bench = Bench::new(options);
    bench.done(&play(1));
    until_the_end(&mut bench);
    assert_eq!(bench.robot.joints()[1..], pose[1..]);
}

#[test]
fn a_duration_stretches_or_shortens() {
    for (duration_ms, seconds) in [(0, 1.0), (4000, 4.0), (500, 0.5)] {
        let mut bench = Bench::with(vec![ramp()]);
        bench.done(&play_with(1, |play| play.duration_ms = duration_ms));
        bench.run(ms((seconds * 500.0) as u64));
        assert_near(bench.joint(0), 0.5, 0.01);
        assert_near(until_the_end(&mut bench).as_secs_f32(), seconds / 2.0, 0.02);
        assert_eq!(bench.joint(0), 1.0);
    }
    let mut bench = Bench::with(vec![ramp()]);
    let for_ever = play_with(1, |play| play.duration_ms = u32::MAX);
    assert_eq!(bench.ask(&for_ever), Code::TooLong);
}

#[test]
fn what_is_too_fast_takes_longer_and_keeps_its_way() {
    // Both joints go together, so at any time one has done the same part of its way as the other.
    let keys = [(15, 0, -2.0), (16, 0, -1.0), (15, 2000, 2.0), (16, 2000, 2.0)];
    let pose = [-2.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let actions = vec![stored("swing", &keys)];
    let mut bench = Bench::new(Options { pose, actions, ..Options::default() });
    bench.done(&play_with(1, |play| play.duration_ms = 1));
    let begin = bench.now;
    while bench.robot.mode() == Mode::Playing {
        bench.run(ms(5));
        assert!(bench.robot.velocities().iter().all(|velocity| velocity.abs() <= 9.51));
    }
    let took = (bench.now - begin).as_secs_f32();
    assert!((0.42..0.5).contains(&took), "4 rad at 9.5 rad/s took {took} s");
    assert_eq!((bench.joint(0), bench.joint(1)), (2.0, 2.0));
}

#[test]
fn the_first_frames_can_be_played_alone() {
    // 101 frames, 10 ms apart.
    for (frames, last) in [(1, 0.0), (51, 0.5), (101, 1.0), (5000, 1.0)] {
        let mut bench = Bench::with(vec![ramp()]);
        bench.done(&play_with(1, |play| play.frame_count = frames));
        until_the_end(&mut bench);
        assert_near(bench.joint(0), last, 0.001);
    }
    let poses = (0..11).map(|number| [0.01 * number as f32; 12]);
    let action = StoredAction { frames: 11, motion: Motion::Poses(poses.collect()), ..ramp() };
    let mut bench = Bench::with(vec![action]);
    bench.done(&play_with(1, |play| {
        play.frame_count = 6;
        play.duration_ms = 1000;
    }));
    bench.run(ms(500));
    assert_near(bench.joint(7), 0.025, 0.001);
    until_the_end(&mut bench);
    assert_near(bench.joint(7), 0.05, 0.001);
}

#[test]
fn a_play_with_keyframes_needs_no_stored_action_but_a_number() {
    let mut bench = Bench::with(Vec::new());
    let own = keyframes(&[(3, 0, 0.0), (3, 500, 0.5)]);
    for id in [0, 16, u32::MAX] {
        assert_eq!(bench.ask(&play_with(id, |play| play.keyframes = own)), Code::UnknownId);
    }
    bench.done(&play_with(15, |play| play.keyframes = own));
    bench.run(ms(3000));
    assert_eq!(bench.robot.mode(), Mode::Idle);
    assert!((bench.robot.joints()[3] - 0.5).abs() < 1e-3);
}

#[test]
fn keyframes_of_a_play_take_the_place_of_the_actions() {
    let mut bench = Bench::with(vec![ramp()]);
    bench.done(&play_with(1, |play| play.keyframes = keyframes(&[(3, 0, 0.0), (3, 2000, 0.5)])));
    assert_near(until_the_end(&mut bench).as_secs_f32(), 2.0, 0.02);
    assert_eq!((bench.joint(0), bench.joint(3)), (0.0, 0.5));
    bench.run(ms(2000));
    for bad in [(13, 0, 0.1), (18, 0, 3.0), (18, 0, f32::NAN)] {
        let bad = play_with(1, |play| play.keyframes = keyframes(&[bad]));
        assert_eq!(bench.ask(&bad), Code::BadJoint);
    }
}

#[test]
fn ids_are_places_from_one() {
    let mut bench = Bench::with(vec![ramp(), stored("elbow", &[(18, 0, 0.0), (18, 500, 0.5)])]);
    for id in [0, 3, 15, 16, u32::MAX] {
        assert_eq!(bench.ask(&play(id)), Code::UnknownId, "{id}");
    }
    bench.done(&play(2));
    until_the_end(&mut bench);
    assert_eq!((bench.joint(0), bench.joint(3)), (0.0, 0.5));
}

#[test]
fn a_repeated_play_is_acknowledged_and_not_restarted() {
    let mut bench = Bench::with(vec![stored("slow", &[(15, 0, 0.0), (15, 4000, 1.0)]), ramp()]);
    bench.done(&play(1));
    bench.run(ms(1999));
    assert_eq!(bench.ask(&play(2)), Code::Busy);
    let before = bench.joint(0);
    bench.done(&play(1));
    bench.run(ms(1));
    assert!(bench.joint(0) >= before, "it went on");
    assert_eq!(bench.ask(&play(1)), Code::Busy, "two seconds later it is another");
    bench.run(ms(2100));
    assert_eq!(bench.robot.mode(), Mode::Idle);
    bench.done(&play(1));
    assert_eq!(bench.robot.mode(), Mode::Playing);
}

#[test]
fn a_retry_that_comes_after_a_short_play_does_not_play_it_twice() {
    let mut bench = Bench::with(vec![stored("short", &[(15, 0, 0.0), (15, 100, 0.2)])]);
    bench.done(&play(1));
    bench.run(ms(1000));
    bench.done(&play(1));
    assert_eq!(bench.robot.mode(), Mode::Idle);
    bench.run(ms(1000));
    bench.done(&play(1));
    assert_eq!(bench.robot.mode(), Mode::Playing);
}

#[test]
fn exit_stops_a_play_where_it_is() {
    for teaching in [false, true] {
        let mut bench = Bench::with(vec![ramp()]);
        if teaching {
            bench.enter();
        }
        bench.done(&play(1));
        bench.run(ms(500));
        bench.done(&EXIT);
        let held = bench.robot.joints();
        assert_near(held[0], 0.5, 0.01);
        assert_eq!((bench.robot.mode(), bench.robot.velocities()), (Mode::Idle, [0.0; 12]));
        bench.done(&EXIT);
        bench.run(ms(3000));
        assert_eq!(bench.robot.joints(), held);
        bench.done(&play(1));
        assert_eq!(bench.robot.mode(), Mode::Playing, "a play after a stop is a new one");
    }
}

#[test]
fn damping_rests_while_an_action_plays() {
    let mut bench = Bench::with(vec![ramp()]);
    bench.enter();
    bench.done(&play(1));
    bench.robot.move_arm(1, 1.0);
    assert_eq!(bench.ask(&START), Code::Busy);
    bench.done(&MAINTAIN);
    until_the_end(&mut bench);
    assert_eq!((bench.robot.mode(), bench.joint(1)), (Mode::Teaching, 0.0));
    bench.robot.move_arm(1, 1.0);
    bench.run(ms(3000));
    assert_near(bench.joint(1), 1.0, 0.01);
}

#[test]
fn a_play_goes_on_when_teaching_begins_or_lapses() {
    let mut bench = Bench::with(vec![stored("long", &[(15, 0, 0.0), (15, 20_000, 1.0)])]);
    bench.done(&play(1));
    bench.enter();
    assert_eq!(bench.robot.mode(), Mode::Playing);
    bench.run(ms(19_000));
    assert_eq!(bench.robot.mode(), Mode::Playing);
    bench.run(ms(1_100));
    assert_eq!((bench.robot.mode(), bench.joint(0)), (Mode::Idle, 1.0));
}

#[test]
fn nothing_plays_while_a_recording_runs() {
    let mut bench = Bench::with(vec![ramp()]);
    bench.enter();
    bench.done(&START);
    assert_eq!(bench.ask(&play(1)), Code::Busy);
    bench.done(&STOP);
    bench.done(&play(1));
}

#[test]
fn a_loop_ends_with_exit_or_with_its_client() {
    let looped = StoredAction { flags: 3, ..stored("loop", &[(15, 0, 0.0), (15, 500, 0.5)]) };
    let mut bench = Bench::with(vec![looped]);
    bench.done(&play(1));
    for _ in 0..20 {
        bench.run(ms(4700));
        bench.open(client(0));
    }
    assert_eq!(bench.robot.mode(), Mode::Playing);
    bench.run(ms(9_900));
    assert_eq!(bench.robot.mode(), Mode::Playing);
    bench.run(ms(200));
    assert_eq!(bench.robot.mode(), Mode::Idle, "nobody is left to stop it");
    bench.done(&play(1));
    bench.run(ms(5000));
    bench.send(client(5), &Message::Exit { mode_flags: 0, rest: &[] });
    assert_eq!(bench.robot.mode(), Mode::Idle);
}
