//! A line that carries less than clients ask for, with a kernel's queue in front of it.

use std::time::{Duration, Instant};

use sinew_robot::vacuum::{Command, Event, LinkState as Link, Settings};

use crate::{
    harness::{Pair, Setup, ms},
    wire::Wire,
};

const ENABLE: Command = Command::DriveEnable { mode: 2 };
const AHEAD: Command = Command::Velocity { linear: 0.02, angular: 0.1 };

/// A pair on such a line, with the wheels enabled.
fn enabled(baud: u32) -> Pair {
    let settings = Settings { baud, ..Settings::default() };
    let mut pair = Pair::new(Setup { settings, slow: true, ..Setup::default() });
    pair.connect();
    pair.run_until(ms(10_000), |pair| pair.host.state().link == Link::Ready);
    pair.execute(ENABLE).unwrap();
    pair.run_for(ms(200));
    pair
}

/// Streams velocities this often.
fn stream(pair: &mut Pair, time: Duration, rate: u32) {
    let end = pair.now + time;
    while pair.now < end {
        pair.execute(AHEAD).unwrap();
        pair.run_for(Duration::from_secs(1) / rate);
    }
}

/// When the robot first heard a zero velocity since.
fn heard_zero(pair: &Pair, since: Instant) -> Duration {
    let zero = |frame: &Wire| frame.is_velocity() && frame.is_zero();
    let heard = pair.heard.iter().filter(|heard| heard.at >= since);
    let first = heard.into_iter().find(|heard| zero(&Wire::parse(heard.bytes()))).unwrap();
    first.at - since
}

#[test]
fn a_stop_is_a_few_milliseconds_behind_however_fast_the_drivers() {
    for baud in [115_200, 38_400, 9600] {
        for rate in [50, 1000, 2000] {
            for stop in [Command::DriveReset, Command::DriveDisable] {
                let mut pair = enabled(baud);
                stream(&mut pair, ms(2000), rate);
                assert!(pair.robot.is_moving());
                let at = pair.now;
                pair.execute(stop).unwrap();
                pair.run_for(ms(100));
                let time = heard_zero(&pair, at);
                let most = if baud == 9600 { ms(32) } else { ms(12) };
                assert!(time <= most, "{baud} baud, {rate} Hz: {time:?}");
                assert_eq!(pair.host.state().link, Link::Ready);
            }
        }
    }
}

#[test]
fn the_dead_man_is_on_time_however_fast_the_drivers_were() {
    for rate in [1000, 2000] {
        let mut pair = enabled(115_200);
        stream(&mut pair, ms(2000), rate);
        let silent = pair.now;
        pair.run_for(ms(1000));
        let moving = |bytes: &[u8]| Wire::parse(bytes).moves();
        let last = pair.heard.iter().rfind(|heard| moving(heard.bytes())).unwrap();
        assert!(last.at - silent <= ms(300), "{rate} Hz: {:?}", last.at - silent);
        assert!(heard_zero(&pair, silent) <= ms(310));
        assert!(pair.events.iter().any(|(_, event)| *event == Event::DeadmanExpired));
        assert_eq!(pair.host.state().link, Link::Ready);
    }
}

#[test]
fn a_flood_of_outputs_does_not_keep_the_watchdog_waiting() {
    let mut pair = enabled(115_200);
    let from = pair.heard.len();
    let mut refused = 0;
    for count in 0..4000_u32 {
        let state = count as u8;
        refused += u32::from(pair.execute(Command::Led { state }).is_err());
        if count % 40 == 0 {
            pair.execute(AHEAD).unwrap();
        }
        pair.run_for(Duration::from_micros(250));
    }
    assert!(refused > 1000, "{refused}");
    let beats = pair.heard[from..].iter().filter(|heard| Wire::parse(heard.bytes()).is_beat());
    let times: Vec<_> = beats.map(|heard| heard.at).collect();
    let widest = times.windows(2).map(|two| two[1] - two[0]).max().unwrap();
    assert!(widest <= ms(30), "{widest:?}");
    assert!(pair.robot.is_moving());
}

#[test]
fn what_waited_in_a_socket_while_the_host_did_not_run_moves_nothing() {
    for pause in [ms(400), ms(4000)] {
        let mut pair = enabled(115_200);
        stream(&mut pair, ms(500), 20);
        assert!(pair.robot.is_moving());
        let from = pair.now;
        pair.pause(pause);
        for _ in 0..5 {
            pair.execute(AHEAD).unwrap();
            pair.execute(ENABLE).unwrap();
            pair.execute(AHEAD).unwrap();
            pair.run_for(pause / 5);
        }
        let resumed = pair.now;
        // A client that has not noticed streams on.
        while pair.now < resumed + ms(1000) {
            assert!(pair.execute(AHEAD).is_err());
            pair.run_for(ms(20));
        }
        let late = pair.heard.iter().filter(|heard| heard.at > from + ms(5));
        assert!(!late.into_iter().any(|heard| Wire::parse(heard.bytes()).moves()), "{pause:?}");
        assert!(!pair.robot.is_moving());
        if pair.host.state().link == Link::Ready {
            pair.execute(ENABLE).unwrap();
            pair.run_for(ms(120));
            pair.execute(AHEAD).unwrap();
        }
    }
}

#[test]
fn who_takes_the_controls_finds_the_robot_standing() {
    let mut pair = enabled(115_200);
    stream(&mut pair, ms(500), 20);
    let at = pair.now;
    pair.take();
    pair.run_for(ms(1000));
    assert!(heard_zero(&pair, at) <= ms(10));
    assert!(!pair.robot.is_moving());
    assert!(pair.execute(AHEAD).is_err());
}
