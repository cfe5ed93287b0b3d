//! Faults below a channel, and what is written down of what passes through it.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_io::{
    Around, Habits, Link, WebRtcOptions, WebRtcServerOptions,
    sim::{G1Options, G1Simulator},
    unitree::Unitree,
};
use sinew_robot::{capability::Driver, unitree::LinkState};
use sinew_sim::g1::What;
use sinew_wire::unitree::Form;

use super::bench::{Caller, LIMIT, Robot, connect, robot_options, until};

fn pair(is_active: bool) -> (Robot, Caller) {
    let habits = Habits { is_active, ..Habits::default() };
    let robot = Robot::new(WebRtcServerOptions { habits, ..robot_options() });
    let caller = Caller::new(robot.address(), None);
    (robot, caller)
}

#[test]
fn a_channel_comes_about_and_loses_nothing_where_datagrams_are_lost() {
    let faults = "drop=0.05,duplicate=0.02,reorder=0.02,corrupt=0.01".parse().unwrap();
    for (seed, is_active) in [(6, true), (3, false)] {
        let (mut robot, mut caller) = pair(is_active);
        match is_active {
            true => robot.link.damage(faults, seed),
            false => caller.link.damage(faults, seed),
        }
        connect(&mut robot, &mut caller);
        robot.heard.clear();
        caller.heard.clear();
        for number in 0..50 {
            caller.send(&format!("{number}"));
            robot.send(What::Message(Form::Text), format!("{number}").as_bytes()).unwrap();
        }
        until(&mut robot, &mut caller, "lost", |robot, caller| {
            robot.heard.len() >= 50 && caller.heard.len() >= 50
        });
        for number in 0..50 {
            assert_eq!(robot.heard[number].1, format!("{number}").into_bytes());
            assert_eq!(caller.heard[number].1, format!("{number}").into_bytes());
        }
    }
}

#[test]
fn datagrams_are_delayed_on_either_side_both_ways() {
    const DELAY: Duration = Duration::from_millis(100);
    for at_robot in [false, true] {
        let (mut robot, mut caller) = pair(true);
        let faults = "delay=100ms".parse().unwrap();
        match at_robot {
            true => robot.link.damage(faults, 1),
            false => caller.link.damage(faults, 1),
        }
        connect(&mut robot, &mut caller);
        let (heard, begin) = (robot.heard.len(), Instant::now());
        caller.send("there");
        until(&mut robot, &mut caller, "there", |robot, _| robot.heard.len() > heard);
        let there = begin.elapsed();
        let (heard, begin) = (caller.heard.len(), Instant::now());
        robot.send(What::Message(Form::Text), b"back").unwrap();
        until(&mut robot, &mut caller, "back", |_, caller| caller.heard.len() > heard);
        let back = begin.elapsed();
        assert!(there >= DELAY && back >= DELAY, "{at_robot}: {there:?} {back:?}");
        // A goodbye is not held back, since there would be none left to send it.
        caller.link.close();
        until(&mut robot, &mut caller, "no end", |robot, _| robot.count(What::Closed) > 0);
    }
}

#[test]
fn nothing_of_the_validation_is_written_down() {
    let directory = tempfile::tempdir().unwrap();
    let [robots, hosts] = ["robot", "host"].map(|name| directory.path().join(name));
    let webrtc = Some(WebRtcServerOptions::default());
    let options = G1Options { webrtc, ..G1Options::default() };
    let around = vec![Around::record(&robots).unwrap()];
    let simulator = G1Simulator::spawn_with(options, around).unwrap();
    let address = simulator.webrtc().unwrap();
    let options = WebRtcOptions {
        host: address.ip().to_string(),
        port: Some(address.port()),
        key: None,
        interface: Some("lo".into()),
    };
    let around = vec![Around::record(&hosts).unwrap()];
    let unitree = Unitree::spawn(options, around, Arc::new(())).unwrap();
    let begin = Instant::now();
    while unitree.state().link != LinkState::Ready {
        assert!(begin.elapsed() < LIMIT, "{:?}", unitree.state().link);
        std::thread::yield_now();
    }
    unitree.shut_down();
    drop((unitree, simulator));
    for path in [robots, hosts] {
        let messages = messages(&path);
        assert!(messages.iter().any(|message| message.contains("subscribe")), "{messages:?}");
        let secret = messages.iter().find(|message| message.to_lowercase().contains("validation"));
        assert_eq!(secret, None, "{}", path.display());
    }
}

/// What a record has, as text.
fn messages(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter_map(|line| line.split(',').nth(2));
    let byte = |digits: &str| u8::from_str_radix(digits, 16).ok();
    lines
        .map(|hex| hex.split(' ').filter_map(byte).collect::<Vec<_>>())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect()
}
