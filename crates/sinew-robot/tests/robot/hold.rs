//! Velocities of clients that know neither limits nor dead-man: scaled, and held for a while.

use std::time::Duration;

use proptest::prelude::*;
use sinew_robot::{
    Code,
    drive::{
        HoldEnd,
        Speeds::{self, Tank, Velocity},
    },
    vacuum::{Command, Event, Settings},
};
use sinew_wire::gd32::Flag;

use crate::bench::{Bench, MS, Sent, WHO, velocity};

const HOLD: Duration = Duration::from_secs(2);
/// What document 003's viewer sends while a key is held down.
const PRESS: Command = held(Velocity { linear: 0.5, angular: 0.0 });
const RELEASE: Command =
    Command::Lenient { speeds: Velocity { linear: 0.0, angular: 0.0 }, hold: Some(HOLD) };

const fn held(speeds: Speeds) -> Command {
    Command::Lenient { speeds, hold: Some(HOLD) }
}

fn ended(reason: HoldEnd) -> Event {
    Event::HoldEnded { reason }
}

/// When the wheels were first told to stand.
fn stood(bench: &Bench) -> Duration {
    let moved = bench.sent.iter().position(Sent::moves).unwrap();
    let is_still = |sent: &&Sent| sent.command == 0x66 && !sent.moves();
    bench.sent[moved..].iter().find(is_still).unwrap().at
}

#[test]
fn a_held_velocity_needs_no_repetition_and_ends_in_time_without_a_latch() {
    let mut bench = Bench::enabled();
    bench.execute(PRESS).unwrap();
    let at = bench.elapsed();
    bench.run(Duration::from_secs(3));
    assert_eq!(stood(&bench) - at, HOLD);
    let last = bench.sent.iter().rfind(|sent| sent.moves()).unwrap();
    assert!(last.at - at < HOLD && last.at - at >= HOLD - 20 * MS, "{last:?}");
    assert!(bench.events.contains(&Event::Held { by: WHO.into(), hold_ms: 2000 }));
    assert!(bench.events.contains(&ended(HoldEnd::Expired)));
    assert!(!bench.events.contains(&Event::DeadmanExpired));
    assert_eq!(bench.session.state().stopped_by, None, "no latch");
    assert_eq!(bench.session.state().velocity.linear, 0.0);
    bench.execute(PRESS).unwrap();
}

#[test]
fn zero_ends_it_at_once_and_is_no_expiry() {
    let mut bench = Bench::enabled();
    bench.execute(PRESS).unwrap();
    bench.run(700 * MS);
    let at = bench.elapsed();
    bench.execute(RELEASE).unwrap();
    assert_eq!(stood(&bench), at);
    bench.forget();
    bench.run(Duration::from_secs(3));
    assert!(!bench.moved());
    assert!(!bench.events.iter().any(|event| matches!(event, Event::HoldEnded { .. })));
    assert_eq!(bench.session.state().stopped_by, None);
}

#[test]
fn it_is_held_from_when_its_bytes_came() {
    let mut bench = Bench::enabled();
    bench.execute_old(200 * MS, PRESS).unwrap();
    let at = bench.elapsed();
    bench.run(Duration::from_secs(3));
    assert_eq!(stood(&bench) - at, HOLD - 200 * MS);
}

#[test]
fn holding_makes_nothing_fresh_that_came_long_ago() {
    let mut bench = Bench::enabled();
    assert_eq!(bench.execute_old(300 * MS, PRESS).unwrap_err().code, Code::NotReady);
    let short =
        Command::Lenient { speeds: Velocity { linear: 0.1, angular: 0.0 }, hold: Some(100 * MS) };
    assert_eq!(bench.execute_old(100 * MS, short.clone()).unwrap_err().code, Code::NotReady);
    bench.run(500 * MS);
    assert!(!bench.moved());
    // One that is shorter than the dead-man is as long as it says.
    bench.execute(short).unwrap();
    let at = bench.elapsed();
    bench.run(500 * MS);
    assert_eq!(stood(&bench) - at, 100 * MS);
}

#[test]
fn a_velocity_without_a_hold_ends_one_and_has_the_dead_man() {
    for next in [
        Command::Velocity { linear: 0.1, angular: 0.0 },
        Command::Lenient { speeds: Velocity { linear: 0.5, angular: 0.0 }, hold: None },
    ] {
        let mut bench = Bench::enabled();
        bench.execute(PRESS).unwrap();
        bench.run(100 * MS);
        bench.execute(next).unwrap();
        let at = bench.elapsed();
        bench.run(Duration::from_secs(3));
        assert_eq!(stood(&bench) - at, 300 * MS);
        assert!(bench.events.contains(&Event::DeadmanExpired));
    }
}

#[test]
fn letting_go_stops_what_is_held_and_nothing_else() {
    let mut bench = Bench::enabled();
    let let_go = Command::LetGo { reason: HoldEnd::Unreachable };
    bench.execute(let_go.clone()).unwrap();
    assert!(!bench.events.contains(&ended(HoldEnd::Unreachable)));
    bench.velocity(0.1, 0.0).unwrap();
    bench.execute(let_go.clone()).unwrap();
    bench.run(100 * MS);
    assert!(bench.sent_as(0x66).iter().all(Sent::moves), "that one is not held");
    bench.execute(PRESS).unwrap();
    bench.run(100 * MS);
    bench.execute(let_go).unwrap();
    assert!(!bench.sent.last().unwrap().moves());
    assert!(bench.events.contains(&ended(HoldEnd::Unreachable)));
    assert_eq!(bench.session.state().stopped_by, None, "no latch");
    bench.forget();
    bench.run(Duration::from_secs(3));
    assert!(!bench.moved());
    bench.execute(PRESS).unwrap();
}

#[test]
fn every_stop_ends_it_for_good() {
    type Stop = fn(&mut Bench);
    let stops: [(&str, Stop); 8] = [
        ("reset", |bench| bench.execute(Command::DriveReset).unwrap()),
        ("disable", |bench| bench.execute(Command::DriveDisable).unwrap()),
        ("release", Bench::release),
        ("take", |bench| bench.take("another")),
        ("pause", |bench| bench.pause(400 * MS)),
        ("boot", |bench| bench.execute(Command::Boot).unwrap()),
        ("sleep", |bench| bench.execute(Command::McuSleep).unwrap()),
        ("enable", |bench| bench.execute(Command::DriveEnable { mode: 2 }).unwrap()),
    ];
    for (name, stop) in stops {
        let mut bench = Bench::enabled();
        bench.execute(PRESS).unwrap();
        bench.run(100 * MS);
        bench.forget();
        stop(&mut bench);
        assert!(!bench.sent[0].moves(), "{name}: {:?}", bench.sent[0]);
        bench.run(Duration::from_secs(5));
        assert!(!bench.moved(), "{name}");
        assert!(!bench.events.contains(&ended(HoldEnd::Expired)), "{name}");
    }
}

#[test]
fn a_lost_link_and_a_closed_port_end_it() {
    let mut bench = Bench::enabled();
    bench.execute(PRESS).unwrap();
    bench.run(50 * MS);
    bench.controller.streams = false;
    bench.run(250 * MS);
    bench.forget();
    bench.run(Duration::from_secs(1));
    assert!(!bench.moved());
    assert_eq!(bench.execute(PRESS).unwrap_err().code, Code::LinkLost);

    let mut bench = Bench::enabled();
    bench.execute(PRESS).unwrap();
    bench.session.disconnected(bench.now);
    bench.drain();
    bench.forget();
    bench.connect();
    bench.run(Duration::from_secs(5));
    assert!(!bench.moved());
    assert_eq!(bench.execute(PRESS).unwrap_err().code, Code::NotReady, "latched");
}

#[test]
fn a_bumper_ends_it_and_keeps_the_next_from_beginning() {
    let mut bench = Bench::enabled();
    bench.execute(PRESS).unwrap();
    bench.run(100 * MS);
    bench.controller.status.set(Flag::BumperLeft, true);
    bench.run(20 * MS);
    bench.forget();
    assert_eq!(bench.execute(PRESS).unwrap_err().code, Code::NotReady);
    bench.run(Duration::from_secs(3));
    assert!(!bench.moved());
    bench.execute(held(Velocity { linear: -0.5, angular: 0.0 })).unwrap();
    assert!(bench.moved());
}

#[test]
fn it_needs_enable_as_any_velocity_does() {
    let mut bench = Bench::ready();
    assert_eq!(bench.execute(PRESS).unwrap_err().code, Code::NotReady);
    bench.run(Duration::from_secs(1));
    assert!(!bench.moved());
}

#[test]
fn speeds_over_the_limits_are_scaled_by_one_factor_and_it_is_told_once() {
    let mut bench = Bench::enabled();
    let cases = [
        (Velocity { linear: 0.5, angular: 0.0 }, velocity(300, 0)),
        (Velocity { linear: 0.5, angular: 0.5 }, velocity(300, 300)),
        (Velocity { linear: -0.5, angular: 1.0 }, velocity(-300, 600)),
        (Velocity { linear: 0.1, angular: 2.0 }, velocity(50, 1000)),
        (Velocity { linear: 0.2, angular: -0.4 }, velocity(200, -400)),
        (Velocity { linear: f32::MAX, angular: 0.0 }, velocity(300, 0)),
    ];
    for (speeds, wanted) in cases {
        bench.run(100 * MS);
        bench.execute(held(speeds)).unwrap();
        assert_eq!(bench.sent_as(0x66).last().unwrap().payload, wanted, "{speeds:?}");
    }
    bench.run(Duration::from_secs(3));
    bench.forget();
    let repeated = Command::Lenient { speeds: Velocity { linear: 0.5, angular: 0.5 }, hold: None };
    for _ in 0..50 {
        bench.execute(repeated.clone()).unwrap();
        bench.run(50 * MS);
    }
    let told: Vec<_> =
        bench.events.iter().filter(|event| matches!(event, Event::Scaled { .. })).collect();
    assert_eq!(told, [&Event::Scaled { by: WHO.into(), factor: 0.6 }]);
}

#[test]
fn wheels_are_scaled_by_their_speeds_and_by_the_turn_they_imply() {
    let mut bench = Bench::enabled();
    let wheels = |left: i16, right: i16| [left.to_le_bytes(), right.to_le_bytes()].concat();
    for (left, right, wanted) in [
        (0.5, 0.5, wheels(300, 300)),
        (0.6, 0.5, wheels(300, 250)),
        // 0.466 m/s between the wheels are 2 rad/s.
        (-0.233, 0.233, wheels(-116, 116)),
        (0.05, 0.516, wheels(25, 258)),
        (0.1, 0.2, wheels(100, 200)),
    ] {
        bench.run(100 * MS);
        bench.execute(held(Tank { left, right })).unwrap();
        assert_eq!(bench.sent_as(0x67).last().unwrap().payload, wanted, "{left} {right}");
    }
}

#[test]
fn what_is_no_speed_is_refused_all_the_same() {
    let mut bench = Bench::enabled();
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for speeds in [
            Velocity { linear: bad, angular: 0.0 },
            Velocity { linear: 0.5, angular: bad },
            Tank { left: bad, right: 0.1 },
            Tank { left: bad, right: bad },
        ] {
            let refusal = bench.execute(held(speeds)).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidArgument, "{speeds:?}");
        }
    }
    bench.run(100 * MS);
    assert!(!bench.moved());
}

proptest! {
    /// The radius of the curve is the same, as far as whole millimetres go, and no limit is passed.
    #[test]
    fn the_curve_stays(a in -3.0f32..3.0, b in -3.0f32..3.0, tank: bool, small in 0.05f32..1.0) {
        let settings = Settings { max_angular: small, ..Settings::default() };
        let (base, most) = (f64::from(settings.wheel_base), f64::from(settings.max_linear));
        let mut bench = Bench::enabled_with(settings);
        bench.forget();
        let speeds = if tank { Tank { left: a, right: b } } else { Velocity { linear: a, angular: b } };
        bench.execute(held(speeds)).unwrap();
        let sent = bench.sent.iter().rfind(|sent| matches!(sent.command, 0x66 | 0x67)).unwrap();
        let number = |at: usize, long: bool| {
            let bytes = &sent.payload[at..];
            f64::from(match long {
                true => i32::from_le_bytes(bytes[..4].try_into().unwrap()),
                false => i16::from_le_bytes(bytes[..2].try_into().unwrap()).into(),
            }) / 1000.0
        };
        let (x, y) = if tank { (number(0, false), number(2, false)) } else { (number(0, true), number(4, true)) };
        let turn = if tank { (y - x) / base } else { y };
        let linear = if tank { x.abs().max(y.abs()) } else { x.abs() };
        prop_assert!(linear <= most + 1e-6 && turn.abs() <= f64::from(small) + 1e-6, "{sent:?}");
        // Both by one factor: what was asked for and what was sent are parallel, but for rounding
        // and for a unit less where that went over a limit.
        let (a, b) = (f64::from(a), f64::from(b));
        let length = a.hypot(b).max(1e-9);
        prop_assert!((a * y - b * x).abs() / length <= 0.0016, "{speeds:?} became {x} {y}");
    }
}
