//! The return to the dock.

use std::{
    f32::consts::{FRAC_PI_2, PI},
    time::Duration,
};

use sinew_robot::vacuum::{Command, DockEvent, DockPhase, Event, Settings};
use sinew_sim::vacuum::{Dock, Options, Pose, Rect, World};
use sinew_wire::gd32::{DockIr, LedMode};

use crate::{
    harness::{Pair, Setup, ms},
    home::go_to,
    wire::Wire,
};

/// How long a robot may push against what does not give way: it has no bumper behind, and backs at
/// 4 cm a second from the station's guides to 8 cm behind where the dock should be.
const PUSHING: Duration = ms(4000);

/// What the LED shows before the return, and what it shows once the controller has booted.
const LED: LedMode = LedMode(12);
const BOOTED: LedMode = LedMode(1);

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

/// How the return ended, if it did.
pub(crate) fn ended(pair: &Pair) -> Option<DockEvent> {
    pair.events.iter().find_map(|(_, event)| match event {
        Event::Dock { dock: dock @ (DockEvent::Arrived | DockEvent::GaveUp { .. }) } => {
            Some(dock.clone())
        }
        _ => None,
    })
}

pub(crate) fn dock(pair: &mut Pair) -> DockEvent {
    dock_pushing(pair, PUSHING)
}

/// Has the robot return, which must not take longer than it may, nor push for longer than this
/// against what does not give way.
pub(crate) fn dock_pushing(pair: &mut Pair, longest: Duration) -> DockEvent {
    pair.execute(Command::Dock).unwrap();
    let begun = pair.now;
    let mut pushing = Duration::ZERO;
    loop {
        let before = pair.robot.pose();
        pair.run_for(ms(50));
        if let Some(end) = ended(pair) {
            return end;
        }
        assert!(pair.now - begun < ms(121_000), "{:?}", pair.host.state());
        let after = pair.robot.pose();
        let stuck = after.distance(&before) < 1e-4 && after.turn_from(&before).abs() < 1e-3;
        pushing = if stuck && pair.robot.is_moving() { pushing + ms(50) } else { Duration::ZERO };
        assert!(pushing < longest, "it pushes at {after:?}");
    }
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
        let pose = pair.robot.pose();
        assert!(pose.distance(&Pose::default()) < 0.01, "{pose:?}");
        assert!(pose.x < 0.001, "the contacts meet, yet it does not sit: {pose:?}");
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
    let wanted: [(u8, &[u8]); 19] = [
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
        // As it was before.
        (0x8D, &[1]),
    ];
    let wanted: Vec<_> =
        wanted.iter().map(|(command, payload)| Wire::new(*command, payload)).collect();
    assert_eq!(heard, wanted);
}

/// Booted on the dock, with an LED of its own.
fn with_led(options: Options) -> Pair {
    let mut pair = Pair::ready(options);
    pair.execute(Command::Led { state: LED.0 }).unwrap();
    pair
}

/// Returns, which fails for a reason and leaves nothing behind.
fn gives_up(pair: &mut Pair, why: &str) {
    let DockEvent::GaveUp { reason } = dock(pair) else { panic!("it arrived") };
    assert!(reason.contains(why), "{reason}");
    stays(pair);
    let outputs = pair.robot.outputs();
    assert_eq!((outputs.led, outputs.dock_ir), (LED, DockIr::Off));
}

/// The robot stands where it is, with everything off that the return switched on.
fn stays(pair: &mut Pair) {
    pair.run_for(ms(500));
    let pose = pair.robot.pose();
    pair.run_for(ms(5000));
    assert!(!pair.robot.is_moving());
    assert_eq!(pair.robot.pose(), pose);
    let outputs = pair.robot.outputs();
    assert!(!outputs.has_companion(), "{outputs:?}");
    assert_eq!((pair.host.state().docking, pair.host.state().dock_distance_m), (None, None));
}

#[test]
fn a_dock_that_is_gone_is_given_up_with_a_reason() {
    for dock in [None, Some(Dock::at(Pose::new(2.0, 2.2, -1.5)))] {
        let mut pair = with_led(Options::default());
        go(&mut pair, &[(0.0, 1.0)]);
        pair.robot.move_dock(dock);
        gives_up(&mut pair, "not where it was");
    }
}

#[test]
fn a_robot_that_was_carried_gives_up_with_a_reason() {
    let mut pair = with_led(Options::default());
    go(&mut pair, &[(0.0, 1.0)]);
    pair.robot.place(Pose::new(2.5, 0.0, 0.0));
    gives_up(&mut pair, "not where it was");
    assert!(pair.robot.pose().distance(&Pose::new(1.5, 0.0, 0.0)) < 0.5);
}

#[test]
fn what_is_in_the_way_is_given_up_with_a_reason() {
    let block = vec![Rect::new((0.9, -0.3), (1.1, 0.3))];
    let furniture = World { furniture: block.clone(), ..World::default() };
    let steps = World { steps: block, ..World::default() };
    for (world, why) in [(furniture, "it ran into something (bumper"), (steps, "the floor ends")] {
        let mut pair = with_led(Options { world, encoder_error: 0.01, ..Options::default() });
        go(&mut pair, &[]);
        for place in [(0.4, 0.0), (0.6, 0.7), (1.6, 0.7), (1.8, 0.0)] {
            go_to(&mut pair, place);
        }
        gives_up(&mut pair, why);
        assert!(pair.robot.pose().x > 1.1);
    }
}

#[test]
fn contacts_that_do_not_charge_are_given_up_with_a_reason() {
    let mut pair = with_led(Options::default());
    go(&mut pair, &[(0.0, 0.8)]);
    pair.execute(Command::Charger { on: false }).unwrap();
    gives_up(&mut pair, "does not charge");
    assert!(pair.robot.pose().distance(&Pose::default()) < 0.01);
}

#[test]
fn a_return_that_takes_too_long_ends() {
    let settings = Settings { dock_timeout: ms(3000), ..Settings::default() };
    let mut pair = Pair::new(Setup { settings, ..Setup::default() });
    pair.connect();
    pair.run_for(ms(5000));
    pair.execute(Command::Led { state: LED.0 }).unwrap();
    go(&mut pair, &[(0.0, 2.0)]);
    let begun = pair.now;
    gives_up(&mut pair, "not there after 3s");
    let (ended, _) = pair.events.last().unwrap();
    assert!(*ended - begun <= ms(3001));
}

#[test]
fn a_stop_ends_the_return_at_once() {
    type Stop = fn(&mut Pair);
    let stops: [(Stop, LedMode); 6] = [
        (|pair| pair.execute(Command::DriveReset).unwrap(), LED),
        (|pair| pair.execute(Command::DriveDisable).unwrap(), LED),
        (Pair::release, LED),
        (Pair::take, LED),
        (
            |pair| {
                pair.disconnect();
                pair.run_for(ms(20));
                pair.connect();
            },
            BOOTED,
        ),
        (
            |pair| {
                pair.cut();
                pair.run_for(ms(300));
                pair.restore();
            },
            BOOTED,
        ),
    ];
    // On the way, and backwards in front of the dock.
    for phase in [DockPhase::Navigation, DockPhase::Approach] {
        for (stop, led) in stops {
            let mut pair = with_led(Options::default());
            go(&mut pair, &[(0.0, 1.5)]);
            pair.execute(Command::Dock).unwrap();
            pair.run_until(ms(20_000), |pair| pair.host.state().docking == Some(phase));
            pair.run_for(ms(1500));
            assert!(pair.robot.is_moving());
            stop(&mut pair);
            assert!(matches!(ended(&pair), Some(DockEvent::GaveUp { .. })));
            pair.run_for(ms(400));
            assert!(!pair.robot.is_moving());
            stays(&mut pair);
            assert_eq!(pair.robot.outputs().led, led);
            assert!(pair.execute(Command::Dock).is_err(), "until a client enables it");
        }
    }
}
