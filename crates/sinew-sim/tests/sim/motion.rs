//! When the motors obey, and when they stop.

use std::time::Duration;

use sinew_robot::Session;
use sinew_sim::vacuum::{COMPANION, HANDSHAKE_TIME, MODE_SWITCH, Options, WATCHDOG, World};
use sinew_wire::gd32::{Mode, Profile};

use crate::support::{Bench, frame, ms, velocity};

fn open() -> Options {
    Options { world: World::empty(), ..Options::default() }
}

/// Synced and in navigation mode, no handshake yet.
fn unshaken() -> Bench {
    let mut bench = Bench::new(open());
    bench.sync();
    bench.send(0x65, &[2]);
    bench.beat(ms(120));
    bench
}

#[test]
fn motion_waits_for_two_seconds_of_handshake() {
    let mut bench = unshaken();
    let begin = bench.now;
    while bench.now < begin + HANDSHAKE_TIME {
        bench.send(0x6B, &[0x64]);
        assert!(!bench.robot.outputs().handshake_done);
        bench.drive(ms(20), 0.2, 0.0);
    }
    assert!(!bench.robot.is_moving());
    bench.send(0x6B, &[0x64]);
    assert!(bench.robot.outputs().handshake_done);
    bench.drive(ms(200), 0.2, 0.0);
    assert!(bench.robot.is_moving());
}

#[test]
fn a_broken_handshake_begins_anew() {
    for interruption in [ms(101), Duration::ZERO] {
        let mut bench = unshaken();
        for _ in 0..90 {
            bench.send(0x6B, &[0x64]);
            bench.run(ms(20));
        }
        if interruption.is_zero() {
            bench.send(0x6B, &[0x00]);
        } else {
            bench.run(interruption - ms(20));
        }
        for _ in 0..100 {
            bench.send(0x6B, &[0x64]);
            assert!(!bench.robot.outputs().handshake_done);
            bench.run(ms(20));
        }
        bench.send(0x6B, &[0x64]);
        assert!(bench.robot.outputs().handshake_done);
    }
}

#[test]
fn a_simulator_that_was_late_does_not_take_its_own_pause_for_the_hosts() {
    let mut bench = unshaken();
    for _ in 0..25 {
        bench.send(0x6B, &[0x64]);
        bench.now += ms(150);
        Session::paused(&mut bench.robot, bench.now, ms(130));
    }
    assert!(bench.robot.outputs().handshake_done);
}

#[test]
fn pulses_100_ms_apart_are_still_one_handshake() {
    let mut bench = unshaken();
    for _ in 0..=20 {
        bench.send(0x6B, &[0x64]);
        bench.run(ms(100));
    }
    assert!(bench.robot.outputs().handshake_done);
}

#[test]
fn a_finished_handshake_survives_a_later_6b() {
    let mut bench = Bench::in_the_open();
    bench.send(0x6B, &[0x00]);
    bench.drive(ms(200), 0.2, 0.0);
    assert!(bench.robot.is_moving());
}

#[test]
fn nothing_works_in_mode_idle() {
    let mut bench = Bench::in_the_open();
    bench.send(0x68, &10_000u16.to_le_bytes());
    bench.send(0x69, &[50]);
    bench.send(0x6A, &[60]);
    bench.send(0x6B, &[70]);
    bench.send(0x97, &[1]);
    bench.send(0x71, &60i32.to_le_bytes());
    bench.drive(ms(500), 0.2, 0.0);
    let on = bench.robot.outputs();
    assert_eq!(on.water_pump, 70);
    assert_eq!((on.vacuum, on.side_brush, on.main_brush), (100, 50, 60));
    assert!(on.lidar_power && on.lidar_pwm == 60 && bench.robot.is_moving());

    bench.send(0x65, &[0]);
    for _ in 0..50 {
        bench.send(0x68, &10_000u16.to_le_bytes());
        bench.send(0x69, &[50]);
        bench.send(0x6B, &[70]);
        bench.send(0x97, &[1]);
        bench.drive(ms(20), 0.2, 0.0);
    }
    let off = bench.robot.outputs();
    assert_eq!(off.water_pump, 0);
    assert_eq!((off.mode, off.vacuum, off.side_brush, off.main_brush), (Mode::Idle, 0, 0, 0));
    assert!(!off.lidar_power && off.lidar_pwm == 0 && !bench.robot.is_moving());
}

#[test]
fn a_mode_switch_deafens_for_100_ms() {
    let mut bench = Bench::in_the_open();
    let commands: [(u8, &[u8]); 5] =
        [(0x68, &[0x10, 0x27]), (0x69, &[50]), (0x6A, &[50]), (0x71, &[60, 0, 0, 0]), (0x97, &[1])];
    bench.send(0x65, &[2]);
    let before = bench.robot.outputs();
    let end = bench.now + MODE_SWITCH;
    while bench.now < end {
        for (command, payload) in commands {
            bench.send(command, payload);
        }
        bench.bytes(&velocity(0.2, 0.0));
        assert_eq!(bench.robot.outputs(), before);
        assert_eq!(bench.robot.wheel_targets(), (0.0, 0.0));
        bench.run(ms(20));
    }
    for (command, payload) in commands {
        bench.send(command, payload);
    }
    bench.bytes(&velocity(0.2, 0.0));
    assert_eq!(bench.robot.outputs().vacuum, 100);
    assert!(bench.robot.outputs().lidar_power);
    assert_eq!(bench.robot.wheel_targets(), (0.2, 0.2));
}

#[test]
fn deaf_ears_still_hear_the_heartbeat() {
    let mut bench = Bench::in_the_open();
    bench.drive(ms(500), 0.2, 0.0);
    bench.send(0x65, &[2]);
    for _ in 0..4 {
        bench.run(ms(20));
        bench.bytes(&velocity(0.0, 0.0));
    }
    assert_eq!(bench.robot.wheel_targets(), (0.2, 0.2), "neither stopped nor starved");
}

#[test]
fn motors_stop_when_the_host_is_silent_for_more_than_50_ms() {
    let mut bench = Bench::in_the_open();
    bench.send(0x69, &[50]);
    bench.send(0x97, &[1]);
    bench.drive(ms(1000), 0.2, 0.0);
    bench.bytes(&velocity(0.2, 0.0));
    bench.run(WATCHDOG);
    assert_eq!(bench.robot.wheel_targets(), (0.2, 0.2));
    bench.run(ms(1));
    assert_eq!(bench.robot.wheel_targets(), (0.0, 0.0));
    assert_eq!(bench.robot.outputs().side_brush, 0);
    assert!(bench.robot.outputs().lidar_power, "the lidar has no motor of the controller's");
    bench.run(ms(250));
    assert!(!bench.robot.is_moving());

    bench.beat(ms(500));
    assert!(!bench.robot.is_moving(), "a heartbeat alone brings no motion back");
    bench.drive(ms(100), 0.2, 0.0);
    assert!(bench.robot.is_moving());
}

#[test]
fn a_host_that_speaks_every_50_ms_is_in_time() {
    for bytes in [frame(0x06, &[]), velocity(0.2, 0.0), frame(0x67, &[200, 0, 200, 0])] {
        let mut bench = Bench::in_the_open();
        bench.bytes(&velocity(0.2, 0.0));
        for _ in 0..40 {
            bench.run(WATCHDOG);
            bench.bytes(&bytes);
            assert_eq!(bench.robot.wheel_targets(), (0.2, 0.2));
        }
    }
}

#[test]
fn only_whole_heartbeats_and_velocities_feed_the_watchdog() {
    let mut damaged = velocity(0.2, 0.0);
    damaged[5] ^= 1;
    let mut pairs = vec![frame(0x66, &[1, 2, 3]), frame(0x07, &[]), frame(0xEE, &[]), damaged];
    pairs.push(frame(0x69, &[10]));
    for bytes in pairs {
        let mut bench = Bench::in_the_open();
        bench.bytes(&velocity(0.2, 0.0));
        for _ in 0..6 {
            bench.run(ms(10));
            bench.bytes(&bytes);
        }
        assert_eq!(bench.robot.wheel_targets(), (0.0, 0.0), "{bytes:02x?}");
    }
}

#[test]
fn heartbeats_alone_keep_the_last_velocity() {
    let mut bench = Bench::in_the_open();
    bench.bytes(&velocity(0.2, 0.0));
    bench.beat(ms(3000));
    assert_eq!(bench.robot.wheel_targets(), (0.2, 0.2), "the known hazard of this controller");
}

#[test]
fn wheels_that_need_a_companion_stop_without_one() {
    let mut bench = Bench::ready(Options { needs_companion: true, ..open() });
    bench.drive(COMPANION - ms(40), 0.2, 0.0);
    assert!(bench.robot.is_moving());
    bench.drive(ms(400), 0.2, 0.0);
    assert!(!bench.robot.is_moving(), "though the host goes on asking");

    bench.send(0x97, &[1]);
    bench.drive(ms(3000), 0.2, 0.0);
    assert!(bench.robot.is_moving());
    bench.send(0x97, &[0]);
    bench.drive(ms(2000), 0.2, 0.0);
    assert!(!bench.robot.is_moving());
    bench.halt();
    bench.drive(ms(500), 0.2, 0.0);
    assert!(bench.robot.is_moving(), "a stop in between begins a new 1.5 s");
}

#[test]
fn other_robots_drive_alone() {
    let mut bench = Bench::in_the_open();
    bench.drive(ms(5000), 0.2, 0.0);
    assert!(bench.robot.is_moving());
}

#[test]
fn units_follow_the_profile() {
    let profile = Profile::LATER;
    let mut bench = Bench::ready(Options { profile, ..open() });
    let wire = profile.velocity(0.2, 0.0).unwrap();
    let payload = [wire.linear.to_le_bytes(), wire.angular.to_le_bytes()].concat();
    bench.send(0x66, &payload);
    let (left, right) = bench.robot.wheel_targets();
    assert!((left - 0.2).abs() < 0.002 && left == right, "{left}");
    bench.send(0x68, &profile.vacuum(75).unwrap().to_le_bytes());
    assert_eq!(bench.robot.outputs().vacuum, 75);
}

#[test]
fn outputs_and_speeds_are_limited() {
    let mut bench = Bench::in_the_open();
    bench.send(0x69, &[255]);
    bench.send(0x68, &[255, 255]);
    bench.send(0x71, &i32::MIN.to_le_bytes());
    bench.send(0x66, &[0i32.to_le_bytes(), i32::MIN.to_le_bytes()].concat());
    let outputs = bench.robot.outputs();
    assert_eq!((outputs.side_brush, outputs.vacuum, outputs.lidar_pwm), (100, 100, 0));
    assert_eq!(bench.robot.wheel_targets(), (0.5, -0.5));
}
