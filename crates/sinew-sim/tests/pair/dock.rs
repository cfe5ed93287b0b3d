//! The return to the dock.

use std::f32::consts::{FRAC_PI_2, PI};

use sinew_robot::vacuum::{Command, DockEvent, DockPhase, Event, Settings};
use sinew_sim::vacuum::{Options, Pose, Rect, World};

use crate::{
    harness::{Pair, Setup, ms},
    wire::Wire,
};

/// A leg of a way: turn by radians, then go metres.
type Leg = (f32, f32);

/// Goes the way from the dock, by time: what the encoders count is what the session knows.
fn go(pair: &mut Pair, way: &[Leg]) {
    pair.execute(Command::DriveEnable { mode: 2 }).unwrap();
    pair.run_for(ms(120));
    for &(turn, metres) in way {
        let spin = Command::Velocity { linear: 0.0, angular: 0.5_f32.copysign(turn) };
        pair.drive(ms((turn.abs() / 0.5 * 1000.0) as u64), &spin);
        let ahead = Command::Velocity { linear: 0.2_f32.copysign(metres), angular: 0.0 };
        pair.drive(ms((metres.abs() / 0.2 * 1000.0) as u64), &ahead);
    }
    pair.run_for(ms(1000));
    assert!(!pair.robot.is_moving());
}

fn ended(pair: &Pair) -> Option<DockEvent> {
    pair.events.iter().find_map(|(_, event)| match event {
        Event::Dock { dock: dock @ (DockEvent::Arrived | DockEvent::GaveUp { .. }) } => {
            Some(dock.clone())
        }
        _ => None,
    })
}

fn dock(pair: &mut Pair) -> DockEvent {
    pair.execute(Command::Dock).unwrap();
    pair.run_until(ms(121_000), |pair| ended(pair).is_some());
    ended(pair).unwrap()
}

#[test]
fn it_arrives_from_wherever_the_way_is_free() {
    let ways: [&[Leg]; 8] = [
        &[(0.0, 0.3)],
        &[(0.0, 0.8)],
        &[(0.0, 2.0)],
        &[(0.0, 1.0), (PI, 0.0)],
        &[(0.0, 1.0), (FRAC_PI_2, 0.8)],
        &[(0.0, 1.2), (-FRAC_PI_2, 0.8), (-1.0, 0.3)],
        &[(0.0, 0.6), (0.8, 0.6), (2.0, 0.0)],
        &[(0.0, 3.5), (PI, 0.5), (FRAC_PI_2, 0.4)],
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let seed = number as u64;
        let mut pair = Pair::ready(Options { seed, ..Options::default() });
        go(&mut pair, way);
        let from = pair.robot.pose();
        assert_eq!(dock(&mut pair), DockEvent::Arrived, "from {from:?}");
        pair.run_for(ms(500));
        assert!(!pair.robot.is_moving());
        assert!(pair.robot.pose().distance(&Pose::default()) < 0.05);
        let status = pair.host.state().status.unwrap();
        assert!(status.is(sinew_wire::gd32::Flag::Charging));
        let outputs = pair.robot.outputs();
        assert!(!outputs.has_companion() && outputs.lidar_pwm == 0, "{outputs:?}");
    }
}

#[test]
fn the_robot_hears_the_documented_phases() {
    let mut pair = Pair::ready(Options::default());
    go(&mut pair, &[(0.0, 1.0)]);
    let from = pair.heard.len();
    assert_eq!(dock(&mut pair), DockEvent::Arrived);
    pair.run_for(ms(200));
    let phases: Vec<_> = pair
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Dock { dock: DockEvent::Phase { phase } } => Some(*phase),
            _ => None,
        })
        .collect();
    use DockPhase::{Approach, Navigation, Shutdown, Startup};
    assert_eq!(phases, [Startup, Navigation, Approach, Shutdown]);

    let mut heard: Vec<_> =
        pair.heard[from..].iter().map(|frame| Wire::parse(frame.bytes())).collect();
    heard.retain(|frame| !frame.is_beat() && frame.command != 0x0D);
    // The lidar's speed is said again every 100 ms.
    let mut repeated: Vec<Wire> = Vec::new();
    heard.retain(|frame| {
        let again = matches!(frame.command, 0x69 | 0x6A | 0x71) && repeated.contains(frame);
        repeated.push(frame.clone());
        !again
    });
    let wanted: [(u8, &[u8]); 18] = [
        (0x07, &[]),
        (0x8D, &[1]),
        (0x65, &[2]),
        (0x8D, &[6]),
        (0xA2, &[0x10, 0x0E, 0, 0]),
        (0x97, &[1]),
        (0x71, &[60, 0, 0, 0]),
        (0x69, &[30]),
        (0x6A, &[30]),
        (0x69, &[0]),
        (0x6A, &[0]),
        (0x86, &[0x10]),
        (0x6B, &[0]),
        (0x9D, &[1]),
        (0x65, &[0]),
        (0x97, &[0]),
        (0x86, &[0]),
        (0x0A, &[]),
    ];
    let wanted: Vec<_> =
        wanted.iter().map(|(command, payload)| Wire::new(*command, payload)).collect();
    assert_eq!(heard, wanted);
}

#[test]
fn a_dock_that_is_gone_is_given_up_with_a_reason() {
    let mut pair = Pair::ready(Options::default());
    go(&mut pair, &[(0.0, 1.0)]);
    // Somebody carried the robot: the dock is not where it thinks.
    pair.robot.place(Pose::new(2.5, 0.0, 0.0));
    let DockEvent::GaveUp { reason } = dock(&mut pair) else { panic!("it arrived") };
    assert!(reason.contains("not where it was"), "{reason}");
    pair.run_for(ms(500));
    assert!(!pair.robot.is_moving() && !pair.robot.outputs().has_companion());
}

#[test]
fn a_wall_in_the_way_is_given_up_with_a_reason() {
    let world = World { furniture: vec![Rect::new((0.9, -0.3), (1.1, 0.3))], ..World::default() };
    let mut pair = Pair::ready(Options { world, ..Options::default() });
    // Round the box by hand, so that the encoders know, then straight at it.
    go(&mut pair, &[(0.0, 0.4), (1.0, 0.9), (-1.0, 1.2), (-FRAC_PI_2, 0.75)]);
    let DockEvent::GaveUp { reason } = dock(&mut pair) else { panic!("it arrived") };
    assert!(reason.contains("bumper"), "{reason}");
}

#[test]
fn a_return_that_takes_too_long_ends() {
    let settings = Settings { dock_timeout: ms(3000), ..Settings::default() };
    let mut pair = Pair::new(Setup { settings, ..Setup::default() });
    pair.connect();
    pair.run_for(ms(5000));
    go(&mut pair, &[(0.0, 2.0)]);
    pair.execute(Command::Dock).unwrap();
    pair.run_until(ms(3001), |pair| ended(pair).is_some());
    assert!(matches!(ended(&pair), Some(DockEvent::GaveUp { .. })));
    pair.run_for(ms(400));
    assert!(!pair.robot.is_moving());
}

#[test]
fn a_stop_ends_the_return_at_once() {
    type Stop = fn(&mut Pair);
    let stops: [Stop; 4] = [
        |pair| pair.execute(Command::DriveReset).unwrap(),
        |pair| pair.execute(Command::DriveDisable).unwrap(),
        Pair::release,
        |pair| {
            pair.disconnect();
            pair.run_for(ms(20));
            pair.connect();
        },
    ];
    for stop in stops {
        let mut pair = Pair::ready(Options::default());
        go(&mut pair, &[(0.0, 1.5)]);
        pair.execute(Command::Dock).unwrap();
        pair.run_until(ms(10_000), |pair| pair.robot.is_moving());
        pair.run_for(ms(1000));
        stop(&mut pair);
        assert!(matches!(ended(&pair), Some(DockEvent::GaveUp { .. })));
        pair.run_for(ms(400));
        assert!(!pair.robot.is_moving());
        pair.run_for(ms(5000));
        assert!(pair.execute(Command::Dock).is_err(), "until somebody enables it");
        assert!(!pair.robot.is_moving() && !pair.robot.outputs().has_companion());
    }
}
