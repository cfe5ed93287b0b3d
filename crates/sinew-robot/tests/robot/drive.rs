use std::time::Duration;

use proptest::prelude::*;
use sinew_robot::{
    Code,
    vacuum::{Command, Event},
};

use crate::bench::{Bench, MS, Sent, velocity};

#[test]
fn a_velocity_goes_out_at_once_and_every_twenty_milliseconds() {
    let mut bench = Bench::enabled();
    bench.run(7 * MS);
    bench.forget();
    bench.velocity(0.2, -0.5).unwrap();
    let at = bench.elapsed();
    assert_eq!(bench.sent, [Sent { at, command: 0x66, payload: velocity(200, -500) }]);
    bench.run(100 * MS);
    let times: Vec<_> = bench.sent.iter().map(|sent| sent.at - at).collect();
    assert_eq!(times, [0, 20, 40, 60, 80, 100].map(Duration::from_millis));
    assert!(bench.sent.iter().all(|sent| sent.payload == velocity(200, -500)));
}

#[test]
fn of_velocities_within_a_beat_the_first_goes_at_once_and_the_newest_with_the_beat() {
    let mut bench = Bench::enabled();
    bench.run(7 * MS);
    bench.forget();
    let at = bench.elapsed();
    for linear in [0.1, 0.15, 0.2, 0.25] {
        bench.velocity(linear, 0.0).unwrap();
        bench.run(3 * MS);
    }
    bench.run(20 * MS);
    let sent: Vec<_> =
        bench.sent_as(0x66).into_iter().map(|sent| (sent.at - at, sent.payload)).collect();
    assert_eq!(sent, [(Duration::ZERO, velocity(100, 0)), (20 * MS, velocity(250, 0))]);
}

#[test]
fn a_velocity_does_not_wait_because_the_one_before_was_repeated() {
    let mut bench = Bench::enabled();
    bench.velocity(0.1, 0.0).unwrap();
    bench.run(45 * MS);
    bench.forget();
    bench.velocity(0.2, 0.0).unwrap();
    assert_eq!(bench.sent_as(0x66)[0].payload, velocity(200, 0));
}

#[test]
fn tank_mode_sends_wheel_speeds_in_place_of_velocities() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Tank { left: 0.1, right: 0.2 }).unwrap();
    bench.run(60 * MS);
    assert_eq!(bench.sent.len(), 4);
    for sent in &bench.sent {
        assert_eq!((sent.command, &*sent.payload), (0x67, &[100, 0, 200, 0][..]));
    }
    let velocity = bench.session.state().velocity;
    assert!((velocity.linear - 0.15).abs() < 1e-6);
    assert!((velocity.angular - 0.1 / 0.233).abs() < 1e-6);
}

#[test]
fn a_stop_of_tank_mode_zeroes_both_kinds_of_speed() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Tank { left: 0.1, right: 0.1 }).unwrap();
    bench.run(50 * MS);
    bench.forget();
    bench.execute(Command::DriveDisable).unwrap();
    let sent: Vec<_> = bench.sent.iter().map(|sent| (sent.command, sent.payload.len())).collect();
    assert_eq!(sent[..3], [(0x66, 8), (0x67, 4), (0x65, 1)]);
    assert!(!bench.moved());
    assert_eq!(bench.controller.wheels(), [0.0; 2]);
}

#[test]
fn idle_heartbeats_come_every_twenty_milliseconds() {
    let mut bench = Bench::ready();
    bench.run(Duration::from_secs(2));
    let beats: Vec<_> = bench.sent_as(0x06).iter().map(|sent| sent.at).collect();
    assert!(beats.len() >= 99);
    assert!(beats.windows(2).all(|two| two[1] - two[0] == 20 * MS));
}

#[test]
fn a_late_call_beats_at_once_and_never_in_a_burst() {
    let mut bench = Bench::ready();
    bench.sleep(170 * MS);
    let status = bench.controller.status_frame();
    bench.input(&status);
    let beats = |bench: &Bench| bench.sent_as(0x06).len();
    assert_eq!(beats(&bench), 1);
    bench.timeout();
    assert_eq!(beats(&bench), 1);
    bench.run(19 * MS);
    assert_eq!(beats(&bench), 1);
    bench.run(MS);
    assert_eq!(beats(&bench), 2);
}

#[test]
fn enable_switches_the_mode_and_holds_velocities_back_while_it_settles() {
    let mut bench = Bench::ready();
    bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
    assert_eq!(bench.commands(), [(0x65, vec![0x02])]);
    assert!(bench.events.iter().any(|event| matches!(event, Event::Enabled { .. })));
    let at = bench.elapsed();
    bench.run(30 * MS);
    bench.velocity(0.1, 0.0).unwrap();
    bench.run(69 * MS);
    assert!(bench.sent_as(0x66).is_empty(), "settling");
    assert!(bench.sent_as(0x06).len() >= 4, "heartbeats go on");
    // The mode was on the line behind a heartbeat, half a millisecond long.
    bench.run(2 * MS);
    let sent = bench.sent_as(0x66);
    let settled = sent[0].at - at;
    assert!(settled >= 100 * MS && settled <= 101 * MS, "{settled:?}");
    assert_eq!(sent[0].payload, velocity(100, 0));
}

#[test]
fn a_velocity_that_went_stale_while_the_mode_settled_is_not_sent() {
    let settings = sinew_robot::vacuum::Settings {
        deadman: 50 * MS,
        ..sinew_robot::vacuum::Settings::default()
    };
    let mut bench = Bench::ready_with(settings);
    bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
    bench.velocity(0.1, 0.0).unwrap();
    bench.run(500 * MS);
    assert!(!bench.moved());
}

#[test]
fn the_mode_is_zero_or_two() {
    let mut bench = Bench::ready();
    let refusal = bench.execute(Command::DriveEnable { mode: 1 }).unwrap_err();
    assert_eq!(refusal.code, Code::InvalidArgument);
    assert!(bench.commands().is_empty());
    bench.execute(Command::DriveEnable { mode: 0 }).unwrap();
    assert_eq!(bench.commands(), [(0x65, vec![0x00])]);
    let refusal = bench.velocity(0.1, 0.0).unwrap_err();
    assert_eq!(refusal.code, Code::NotReady);
    assert!(refusal.message.contains("mode 0"), "{refusal}");
}

#[test]
fn disable_sends_zero_velocity_then_mode_zero() {
    let mut bench = Bench::enabled();
    bench.velocity(0.2, 0.0).unwrap();
    bench.run(10 * MS);
    bench.forget();
    bench.execute(Command::DriveDisable).unwrap();
    assert_eq!((bench.sent[0].command, &bench.sent[0].payload), (0x66, &velocity(0, 0)));
    assert_eq!((bench.sent[1].command, &*bench.sent[1].payload), (0x65, &[0x00][..]));
    assert_eq!(bench.commands(), [(0x65, vec![0x00])]);
}

#[test]
fn disable_keeps_what_else_is_on() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Vacuum { percent: 50 }).unwrap();
    bench.execute(Command::LidarOn { pwm: 60 }).unwrap();
    bench.run(20 * MS);
    bench.forget();
    bench.execute(Command::DriveDisable).unwrap();
    assert_eq!(bench.commands(), [(0x65, vec![0x00]), (0x65, vec![0x02])]);
    bench.run(99 * MS);
    assert_eq!(bench.commands().len(), 2, "settling");
    // The mode was on the line behind zero velocity and the other mode.
    bench.run(3 * MS);
    assert_eq!(
        bench.commands()[2..6],
        [
            (0x68, vec![0x88, 0x13]),
            (0xA2, vec![0x10, 0x0E, 0, 0]),
            (0x97, vec![0x01]),
            (0x71, vec![60, 0, 0, 0])
        ]
    );
    assert_eq!(bench.velocity(0.1, 0.0).unwrap_err().code, Code::NotReady);
}

#[test]
fn reset_sends_everything_off_in_order() {
    let mut bench = Bench::enabled();
    bench.execute(Command::Vacuum { percent: 100 }).unwrap();
    bench.velocity(0.2, 0.0).unwrap();
    bench.run(15 * MS);
    bench.forget();
    bench.execute(Command::DriveReset).unwrap();
    let sent: Vec<_> = bench.sent.iter().map(|sent| (sent.command, &*sent.payload)).collect();
    let zero = velocity(0, 0);
    let wanted: [(u8, &[u8]); 7] = [
        (0x66, &zero),
        (0x68, &[0, 0]),
        (0x69, &[0]),
        (0x6A, &[0]),
        (0x71, &[0, 0, 0, 0]),
        (0x97, &[0]),
        (0x65, &[0]),
    ];
    assert_eq!(sent, wanted);
    bench.run(Duration::from_secs(2));
    assert_eq!(bench.commands().len(), 6, "and nothing after it");
}

#[test]
fn limits_refuse_and_never_clamp() {
    let mut bench = Bench::enabled();
    let over = [
        (0.301, 0.0),
        (-0.301, 0.0),
        (0.0, 1.001),
        (0.0, -1.001),
        (f32::NAN, 0.0),
        (0.0, f32::NAN),
        (f32::INFINITY, 0.0),
        (0.0, f32::NEG_INFINITY),
        (0.3f32.next_up(), 0.0),
    ];
    for (linear, angular) in over {
        let refusal = bench.velocity(linear, angular).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidArgument, "{linear} {angular}");
    }
    let over = [
        (0.31, 0.31),
        (-0.31, -0.31),
        (0.0, 0.3),
        (-0.12, 0.12),
        (f32::NAN, 0.0),
        (0.0, f32::INFINITY),
    ];
    for (left, right) in over {
        let refusal = bench.execute(Command::Tank { left, right }).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidArgument, "{left} {right}");
    }
    assert!(!bench.moved());
    bench.velocity(0.3, 1.0).unwrap();
    bench.velocity(-0.3, -1.0).unwrap();
    bench.execute(Command::Tank { left: 0.3, right: 0.3 }).unwrap();
    bench.execute(Command::Tank { left: 0.0, right: 0.233 }).unwrap();
    bench.execute(Command::Tank { left: -0.1165, right: 0.1165 }).unwrap();
}

#[test]
fn a_refusal_says_what_was_wanted_and_what_came() {
    let mut bench = Bench::enabled();
    let message = bench.velocity(0.5, 0.0).unwrap_err().message;
    assert!(message.contains("0.3") && message.contains("0.5"), "{message}");
    let message = bench.execute(Command::Tank { left: -0.2, right: 0.2 }).unwrap_err().message;
    assert!(message.contains("1.717") && message.contains("at most 1"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_speed_over_the_limit_reaches_the_wire(commands in prop::collection::vec(
        (any::<bool>(), -0.5f32..0.5, -1.5f32..1.5), 1..20,
    )) {
        let mut bench = Bench::enabled();
        for (tank, a, b) in commands {
            let command = if tank {
                Command::Tank { left: a, right: b / 3.0 }
            } else {
                Command::Velocity { linear: a, angular: b }
            };
            let _ = bench.execute(command);
            bench.run(13 * MS);
        }
        for sent in &bench.sent {
            let p = &sent.payload;
            match sent.command {
                0x66 => {
                    prop_assert!(i32::from_le_bytes([p[0], p[1], p[2], p[3]]).abs() <= 300);
                    prop_assert!(i32::from_le_bytes([p[4], p[5], p[6], p[7]]).abs() <= 1000);
                }
                0x67 => {
                    let left = i16::from_le_bytes([p[0], p[1]]);
                    let right = i16::from_le_bytes([p[2], p[3]]);
                    prop_assert!(left.abs() <= 300 && right.abs() <= 300);
                    prop_assert!((right - left).abs() <= 234);
                }
                _ => {}
            }
        }
    }
}
