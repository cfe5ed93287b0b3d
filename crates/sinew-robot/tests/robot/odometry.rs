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

/// Raw units per rad/s that the session expects.
const UNITS: f64 = 5590.0;

/// Booted with such encoders and such a gyroscope, and driven about: how far the heading is off.
fn heading_error(encoder_scale: [f64; 2], gyro: Option<(f64, f64)>) -> f64 {
    let mut bench = Bench::new(Settings::default());
    bench.controller.encoder_scale = encoder_scale;
    bench.controller.gyro = gyro;
    bench.connect();
    bench.run(Duration::from_secs(4));
    bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
    bench.run(150 * MS);
    drive(&mut bench, Command::Velocity { linear: 0.2, angular: 0.0 }, Duration::from_secs(10));
    drive(&mut bench, Command::Velocity { linear: 0.0, angular: 0.5 }, Duration::from_secs(3));
    drive(&mut bench, Command::Velocity { linear: 0.2, angular: -0.4 }, Duration::from_secs(5));
    bench.run(Duration::from_secs(20));
    (bench.session.state().pose.heading - bench.controller.place[2]).sin().abs()
}

#[test]
fn the_gyroscope_knows_better_than_encoders_that_differ() {
    let wrong = [1.01, 0.99];
    assert!(heading_error(wrong, None) > 0.2);
    assert!(heading_error(wrong, Some((UNITS, 0.0))) < 0.01);
    assert!(heading_error([1.0; 2], Some((UNITS, 0.0))) < 0.01);
}

#[test]
fn what_the_gyroscope_reads_at_rest_is_no_turn() {
    for bias in [150.0, -40.0] {
        let mut bench = Bench::enabled();
        bench.controller.gyro = Some((UNITS, bias));
        bench.run(Duration::from_secs(40));
        drive(&mut bench, Command::Velocity { linear: 0.2, angular: 0.0 }, Duration::from_secs(20));
        let heading = bench.session.state().pose.heading;
        assert!(heading.abs() < 0.01, "{heading}");
        // Zeroed by a command while it stands.
        bench.execute(Command::ImuCalibrate).unwrap();
        bench.run(Duration::from_secs(1));
        drive(&mut bench, Command::Velocity { linear: 0.2, angular: 0.0 }, Duration::from_secs(20));
        let turned = bench.session.state().pose.heading - heading;
        assert!(turned.abs() < 0.01, "{turned}");
    }
    assert!(heading_error([1.0; 2], Some((UNITS, 150.0))) < 0.01, "zeroed by the boot");
}

#[test]
fn a_gyroscope_of_another_scale_or_sign_is_not_believed() {
    for units in [10.0 * UNITS, 2.0 * UNITS, 0.1 * UNITS, -UNITS] {
        let error = heading_error([1.0; 2], Some((units.min(32_000.0), 0.0)));
        assert!(error < 0.05, "{units}: {error}");
    }
}
