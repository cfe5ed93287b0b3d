use std::{f64::consts::PI, time::Duration};

use sinew_robot::vacuum::{Command, Settings};
use sinew_wire::gd32::{EncoderWidth, Profile};

use crate::bench::{Bench, MS};

fn drive(bench: &mut Bench, command: Command, time: Duration) {
    let end = bench.now + time;
    while bench.now < end {
        bench.execute(command.clone()).unwrap();
        bench.run(100 * MS);
    }
    bench.velocity(0.0, 0.0).unwrap();
    bench.run(100 * MS);
}

fn assert_pose_is_true(bench: &Bench) {
    let pose = bench.session.state().pose;
    let [x, y, heading] = bench.controller.place;
    assert!((pose.x - x).abs() < 0.005, "{pose:?} {x}");
    assert!((pose.y - y).abs() < 0.005, "{pose:?} {y}");
    assert!((pose.heading - heading).sin().abs() < 0.01, "{pose:?} {heading}");
}

#[test]
fn the_pose_follows_the_wheels() {
    let mut bench = Bench::enabled();
    drive(&mut bench, Command::Velocity { linear: 0.2, angular: 0.0 }, Duration::from_secs(5));
    assert!((bench.session.state().pose.x - 1.0).abs() < 0.02);
    assert!((bench.session.state().distance - 1.0).abs() < 0.02);
    drive(&mut bench, Command::Velocity { linear: 0.1, angular: 0.5 }, Duration::from_secs(7));
    drive(&mut bench, Command::Tank { left: 0.1, right: -0.1 }, Duration::from_secs(2));
    drive(&mut bench, Command::Velocity { linear: -0.1, angular: 0.0 }, Duration::from_secs(2));
    assert_pose_is_true(&bench);
    assert!(bench.session.state().distance > 1.8);
    assert_eq!(bench.session.state().counters.encoder_jumps, 0);
}

#[test]
fn the_heading_stays_between_minus_pi_and_pi() {
    let mut bench = Bench::enabled();
    for _ in 0..4 {
        drive(&mut bench, Command::Velocity { linear: 0.0, angular: 1.0 }, Duration::from_secs(2));
        assert!(bench.session.state().pose.heading.abs() <= PI);
    }
    assert_pose_is_true(&bench);
}

#[test]
fn encoders_wrap_at_16_and_at_64_bits() {
    let narrow = Profile { encoder_width: EncoderWidth::Bits16, ..Profile::DOCUMENT };
    let starts = [(narrow, 0xFFFF - 1100), (Profile::DOCUMENT, u64::MAX - 1100)];
    for (profile, start) in starts {
        let mut bench = Bench::new(Settings { profile, ..Settings::default() });
        bench.controller.shift_encoders(start, start);
        bench.connect();
        bench.run(Duration::from_secs(4));
        bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
        bench.run(150 * MS);
        drive(&mut bench, Command::Velocity { linear: 0.2, angular: 0.1 }, Duration::from_secs(5));
        drive(&mut bench, Command::Velocity { linear: -0.2, angular: 0.1 }, Duration::from_secs(5));
        assert_pose_is_true(&bench);
        assert_eq!(bench.session.state().counters.encoder_jumps, 0);
    }
}

#[test]
fn which_encoder_stands_first_is_the_profiles() {
    let settings = Settings {
        profile: Profile { velocity_scale: 1000.0, ..Profile::LATER },
        ..Settings::default()
    };
    let mut bench = Bench::enabled_with(settings);
    drive(&mut bench, Command::Velocity { linear: 0.1, angular: 0.5 }, Duration::from_secs(3));
    assert_pose_is_true(&bench);
}

#[test]
fn the_first_status_sets_the_base() {
    let bench = Bench::ready();
    assert_eq!(bench.session.state().pose, Default::default());
    assert_eq!(bench.session.state().counters.encoder_jumps, 0);
}

#[test]
fn a_jump_is_ignored_and_counted() {
    let mut bench = Bench::enabled();
    drive(&mut bench, Command::Velocity { linear: 0.2, angular: 0.0 }, Duration::from_secs(1));
    let before = bench.session.state().pose;
    bench.controller.shift_encoders(2000, 2000);
    bench.run(50 * MS);
    assert_eq!(bench.session.state().pose, before);
    assert_eq!(bench.session.state().counters.encoder_jumps, 1);
    bench.controller.restart();
    bench.run(50 * MS);
    assert_eq!(bench.session.state().pose, before);
    assert_eq!(bench.session.state().counters.encoder_jumps, 2);
    bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
    bench.run(150 * MS);
    drive(&mut bench, Command::Velocity { linear: 0.2, angular: 0.0 }, Duration::from_secs(1));
    assert_pose_is_true(&bench);
}

#[test]
fn packets_that_arrive_together_are_no_jump() {
    let mut bench = Bench::enabled();
    bench.velocity(0.3, 0.0).unwrap();
    for _ in 0..10 {
        // 0.3 m/s for a period at 110 Hz.
        bench.controller.shift_encoders(12, 12);
        let frame = bench.controller.status_frame();
        bench.input(&frame);
    }
    assert_eq!(bench.session.state().counters.encoder_jumps, 0);
    assert!(bench.session.state().pose.x > 0.02);
}
