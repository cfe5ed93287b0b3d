//! Driving on a link without faults.

use sinew_robot::vacuum::{Command, Event, LinkState as Link};
use sinew_sim::vacuum::{Options, Pose};

use crate::{
    harness::{Pair, ms},
    wire::Wire,
};

const AHEAD: Command = Command::Velocity { linear: 0.2, angular: 0.0 };

fn enabled(options: Options) -> Pair {
    let mut pair = Pair::ready(options);
    pair.execute(Command::DriveEnable { mode: 2 }).unwrap();
    pair.run_for(ms(120));
    pair
}

fn moving(frame: &sinew_sim::vacuum::Received) -> bool {
    Wire::parse(frame.bytes()).moves()
}

#[test]
fn velocity_expires_when_the_client_is_silent() {
    for command in [AHEAD, Command::Tank { left: 0.1, right: 0.2 }] {
        let mut pair = enabled(Options::default());
        pair.execute(command).unwrap();
        let given = pair.now;
        pair.run_for(ms(1000));
        let last = pair.heard.iter().rfind(|frame| moving(frame)).unwrap();
        assert!(last.at - given < ms(300), "{:?}", last.at - given);
        assert!(last.at - given >= ms(260), "{:?}", last.at - given);
        assert!(!pair.robot.is_moving());
        assert!(pair.events.iter().any(|(_, event)| *event == Event::DeadmanExpired));
        // It alone does not latch.
        pair.execute(AHEAD).unwrap();
    }
}

#[test]
fn every_stop_is_on_the_wire_at_once_and_holds_against_a_client_that_streams_on() {
    type Stop = fn(&mut Pair);
    let stops: [Stop; 3] = [
        |pair| pair.execute(Command::DriveReset).unwrap(),
        |pair| pair.execute(Command::DriveDisable).unwrap(),
        Pair::release,
    ];
    for stop in stops {
        for command in [AHEAD, Command::Tank { left: 0.1, right: 0.2 }] {
            let mut pair = enabled(Options::default());
            pair.drive(ms(500), &command);
            stop(&mut pair);
            let from = pair.heard.len();
            for _ in 0..200 {
                assert!(pair.execute(command.clone()).is_err());
                pair.run_for(ms(10));
            }
            assert!(!pair.heard[from..].iter().any(moving));
            assert_eq!(Wire::parse(pair.heard[from].bytes()), Wire::new(0x66, &[0; 8]));
            assert!(!pair.robot.is_moving());
            pair.execute(Command::DriveEnable { mode: 2 }).unwrap();
            pair.drive(ms(500), &command);
            assert!(pair.robot.is_moving());
        }
    }
}

#[test]
fn a_lost_link_stops_the_robot_and_keeps_it_stopped() {
    let mut pair = enabled(Options::default());
    pair.drive(ms(500), &AHEAD);
    // Only what the robot says is lost: it would hear the host's next velocity.
    pair.down.cut();
    let cut = pair.now;
    while pair.execute(AHEAD).is_ok() {
        pair.run_for(ms(10));
        assert!(pair.now - cut < ms(250));
    }
    assert_eq!(pair.host.state().link, Link::Lost);
    pair.run_for(ms(400));
    assert!(!pair.robot.is_moving());
    pair.down.restore();
    pair.run_until(ms(10_000), |pair| pair.host.state().link == Link::Ready);
    assert!(pair.execute(AHEAD).is_err());
}

#[test]
fn a_wall_and_a_step_stop_forward_motion_and_nothing_else() {
    for start in [Pose::new(4.3, 0.0, 0.0), Pose::new(3.5, 2.1, 0.0)] {
        let mut pair = enabled(Options { start, ..Options::default() });
        let mut went = 0;
        while pair.execute(AHEAD).is_ok() {
            pair.run_for(ms(50));
            went += 1;
            assert!(went < 100, "nothing stopped it");
        }
        assert!(pair.events.iter().any(|(_, event)| matches!(event, Event::Reflex { .. })));
        pair.run_for(ms(400));
        assert!(!pair.robot.is_moving());
        assert!(pair.execute(Command::Tank { left: 0.1, right: 0.1 }).is_err());
        pair.drive(ms(1000), &Command::Velocity { linear: -0.1, angular: 0.0 });
        pair.run_for(ms(400));
        pair.execute(AHEAD).unwrap();
    }
}

#[test]
fn wheel_speeds_at_the_limit_are_not_rounded_over_it() {
    let mut pair = enabled(Options::default());
    let mut accepted = 0;
    for half in 0..300 {
        let left = -(f64::from(half) + 0.5) / 1000.0;
        for (left, right) in [(left, 0.233 + left), (0.233 + left, left), (-left, -left - 0.233)] {
            let (left, right) = (left as f32, right as f32);
            // What comes of it is looked at by the rules.
            accepted += u32::from(pair.execute(Command::Tank { left, right }).is_ok());
            pair.run_for(ms(5));
        }
    }
    assert!(accepted > 300, "{accepted}");
}

#[test]
fn nothing_over_a_limit_is_sent() {
    let mut pair = enabled(Options::default());
    let from = pair.heard.len();
    for (a, b) in [(0.301, 0.0), (0.0, 1.001), (-0.301, 0.0), (0.0, -1.001), (f32::NAN, 0.0)] {
        assert!(pair.execute(Command::Velocity { linear: a, angular: b }).is_err());
    }
    for (left, right) in [(0.301, 0.2), (0.2, -0.2), (-0.12, 0.12), (f32::INFINITY, 0.0)] {
        assert!(pair.execute(Command::Tank { left, right }).is_err());
    }
    let raw = |command, payload: &[u8]| Command::Raw { command, payload: payload.to_vec() };
    assert!(pair.execute(raw(0x66, &[0x2D, 1, 0, 0, 0, 0, 0, 0])).is_err());
    assert!(pair.execute(raw(0x67, &[0x2D, 1, 0x2D, 1])).is_err());
    pair.run_for(ms(300));
    assert!(!pair.heard[from..].iter().any(moving));
}

#[test]
fn a_controller_that_sleeps_is_woken_and_booted_again() {
    let mut pair = enabled(Options::default());
    pair.execute(Command::McuSleep).unwrap();
    pair.run_until(ms(2_000), |pair| pair.host.state().link == Link::Lost);
    assert!(pair.robot.outputs().asleep);
    pair.execute(Command::McuWake).unwrap();
    pair.run_until(ms(10_000), |pair| pair.host.state().link == Link::Ready);
    assert!(!pair.robot.outputs().asleep);
    assert!(pair.execute(AHEAD).is_err());
}
