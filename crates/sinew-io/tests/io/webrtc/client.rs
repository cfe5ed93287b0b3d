//! How a client comes to a channel, and loses it.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    time::{Duration, Instant},
};

use sinew_io::{Habits, Link, Signalling, WebRtcOptions, WebRtcServerOptions};
use sinew_sim::g1::What;
use sinew_wire::unitree::Form;

use super::bench::{Caller, Robot, alone, connect, key, robot_options, until};

const KEY: &str = "00112233445566778899aabbccddeeff";

fn with(signalling: Signalling) -> WebRtcServerOptions {
    WebRtcServerOptions { signalling, ..robot_options() }
}

#[test]
fn signalling_may_be_plain_or_closed_with_either_key() {
    for (signalling, given) in [
        (Signalling::Plain, None),
        (Signalling::Static, None),
        (Signalling::Device(key(KEY)), Some(key(KEY))),
        // A key that is not asked for does no harm.
        (Signalling::Static, Some(key(KEY))),
    ] {
        let mut robot = Robot::new(with(signalling));
        let mut caller = Caller::new(robot.address(), given);
        connect(&mut robot, &mut caller);
        assert_eq!(caller.reasons, [""; 0]);
    }
}

#[test]
fn old_firmware_is_asked_in_its_own_way() {
    let listen_old = Some((Ipv4Addr::LOCALHOST, 0).into());
    let mut robot = Robot::new(WebRtcServerOptions { listen: None, listen_old, ..robot_options() });
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
}

#[test]
fn a_key_that_is_wrong_or_missing_is_said_so_and_not_tried_again_soon() {
    for (given, words) in
        [(None, "none is given"), (Some(key(&"ab".repeat(16))), "not this robot's")]
    {
        let mut robot = Robot::new(with(Signalling::Device(key(KEY))));
        let mut caller = Caller::new(robot.address(), given);
        until(&mut robot, &mut caller, "no reason", |_, caller| !caller.reasons.is_empty());
        assert!(caller.reasons[0].contains(words), "{:?}", caller.reasons);
        assert!(!caller.reasons[0].contains("abab"), "{:?}", caller.reasons);
        let error = caller.link.open(Instant::now() + Duration::from_secs(30)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
        assert!(caller.link.events().is_none(), "it tries again");
    }
}

#[test]
fn a_second_client_is_refused_until_the_first_has_left() {
    let mut robot = Robot::usual();
    let mut first = Caller::new(robot.address(), None);
    connect(&mut robot, &mut first);
    let mut second = Caller::new(robot.address(), None);
    until(&mut robot, &mut second, "no reason", |_, second| {
        first.turn();
        !second.reasons.is_empty()
    });
    assert!(second.reasons[0].contains("another client"), "{:?}", second.reasons);
    assert!(first.link.is_open());
    // It says goodbye, so the robot is free at once.
    first.link.close();
    let left = Instant::now();
    let mut third = Caller::new(robot.address(), None);
    until(&mut robot, &mut third, "not free", |robot, _| robot.count(What::Closed) > 0);
    assert!(left.elapsed() < Duration::from_secs(3), "{:?}", left.elapsed());
    let mut third =
        if third.reasons.is_empty() { third } else { Caller::new(robot.address(), None) };
    robot.heard.clear();
    connect(&mut robot, &mut third);
    assert_eq!(robot.client, 2, "a number comes once");
}

#[test]
fn a_link_that_is_dropped_says_goodbye() {
    let mut robot = Robot::usual();
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    drop(caller);
    let begin = Instant::now();
    while robot.count(What::Closed) == 0 {
        robot.turn();
        assert!(begin.elapsed() < Duration::from_secs(3), "the robot is not told");
    }
}

#[test]
fn a_robot_that_ends_the_channel_is_called_again() {
    let mut robot = Robot::usual();
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    robot.send(What::Message(Form::Text), b"last words").unwrap();
    robot.send(What::Closed, b"").unwrap();
    until(&mut robot, &mut caller, "not down", |_, caller| !caller.reasons.is_empty());
    assert!(caller.reasons[0].contains("ended the connection"), "{:?}", caller.reasons);
    assert_eq!(caller.heard.last().unwrap().1, b"last words");
    robot.heard.clear();
    connect(&mut robot, &mut caller);
    assert_eq!(caller.opened, 2);
}

#[test]
fn a_robot_that_falls_silent_is_noticed_by_its_client() {
    let mut robot = Robot::usual();
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    // Killed: it takes no more turns and says no goodbye.
    let begin = Instant::now();
    alone(&mut caller, "not down", |caller| !caller.reasons.is_empty());
    assert!(caller.reasons[0].contains("nothing has come for 5 s"), "{:?}", caller.reasons);
    assert!((4..9).contains(&begin.elapsed().as_secs()), "{:?}", begin.elapsed());
}

#[test]
fn a_client_that_falls_silent_frees_the_robot() {
    let mut robot = Robot::usual();
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    let begin = Instant::now();
    while robot.count(What::Closed) == 0 {
        robot.turn();
        assert!(begin.elapsed() < Duration::from_secs(9), "the robot waits");
    }
    let mut next = Caller::new(robot.address(), None);
    robot.heard.clear();
    connect(&mut robot, &mut next);
    drop(caller);
}

#[test]
fn silence_that_lasts_is_no_silence_while_datagrams_come() {
    let mut robot = Robot::usual();
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    // Neither side says anything, so it is STUN that keeps them together.
    let begin = Instant::now();
    until(&mut robot, &mut caller, "", |_, _| begin.elapsed() > Duration::from_secs(8));
    assert_eq!(caller.reasons, [""; 0]);
    connect(&mut robot, &mut caller);
}

#[test]
fn every_kind_of_robot_is_taken() {
    let usual = Habits::default();
    for habits in [
        usual,
        Habits { dcep_ack: true, ..usual },
        Habits { is_active: false, ..usual },
        Habits { is_active: false, dcep_ack: true, ..usual },
        Habits { rsa_certificate: true, ..usual },
        Habits { extended_master_secret: false, ..usual },
        Habits { cbc_only: true, ..usual },
        Habits {
            rsa_certificate: true,
            extended_master_secret: false,
            cbc_only: true,
            is_active: false,
            dcep_ack: true,
            rsa_only: false,
        },
    ] {
        let mut robot = Robot::new(WebRtcServerOptions { habits, ..robot_options() });
        let mut caller = Caller::new(robot.address(), None);
        connect(&mut robot, &mut caller);
        assert_eq!(caller.reasons, [""; 0], "{habits:?}");
    }
}

#[test]
fn a_robot_that_takes_only_rsa_is_shown_rsa() {
    let habits = Habits { rsa_certificate: true, rsa_only: true, ..Habits::default() };
    let mut robot = Robot::new(WebRtcServerOptions { habits, ..robot_options() });
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    assert_eq!(caller.reasons, ["DTLS failed: no shared cipher"]);
    // What was learned is not forgotten.
    caller.link.close();
    robot.heard.clear();
    connect(&mut robot, &mut caller);
    assert_eq!(caller.reasons.len(), 1, "{:?}", caller.reasons);
}

#[test]
fn ipv6_will_do() {
    let listen = Some((Ipv6Addr::LOCALHOST, 0).into());
    let interface = Some("::1".into());
    let mut robot =
        Robot::new(WebRtcServerOptions { listen, interface: interface.clone(), ..robot_options() });
    let port = Some(robot.address().port());
    let mut caller = Caller::with(WebRtcOptions { host: "::1".into(), port, key: None, interface });
    connect(&mut robot, &mut caller);
    assert!(caller.link.address_of(Form::Text).unwrap().is_ipv6());
}

#[test]
fn a_name_with_several_addresses_is_tried_at_each() {
    let mut robot = Robot::usual();
    let options = WebRtcOptions {
        // ::1 and 127.0.0.1, and the robot listens on one.
        host: "localhost".into(),
        port: Some(robot.address().port()),
        key: None,
        interface: None,
    };
    let mut caller = Caller::with(options);
    connect(&mut robot, &mut caller);
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let options = WebRtcOptions {
        host: "127.0.0.1".into(),
        port: Some(9),
        key: None,
        interface: Some("no-such-interface".into()),
    };
    let mut caller = Caller::with(options);
    alone(&mut caller, "no reason", |caller| !caller.reasons.is_empty());
    assert!(caller.reasons[0].contains("no-such-interface"), "{:?}", caller.reasons);
}

#[test]
fn long_messages_pass_both_ways_and_too_long_ones_are_refused() {
    let mut robot = Robot::usual();
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    for length in [1, 1200, 65_536, 65_537, 200_000, 262_144] {
        let bytes: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
        for form in [Form::Text, Form::Binary] {
            // A lone 2 is what a channel's ACK would look like.
            let bytes = if length == 1 { b"x".to_vec() } else { bytes.clone() };
            until(&mut robot, &mut caller, "no room", |robot, caller| {
                robot.link.has_room() && caller.link.has_room()
            });
            robot.send(What::Message(form), &bytes).unwrap();
            caller.link.send(Instant::now(), form, &bytes).unwrap();
            let before = (robot.heard.len(), caller.heard.len());
            until(&mut robot, &mut caller, "lost", |robot, caller| {
                robot.heard.len() > before.0 && caller.heard.len() > before.1
            });
            assert!(robot.heard.last().unwrap() == &(What::Message(form), bytes.clone()));
            assert!(caller.heard.last().unwrap() == &(form, bytes));
        }
    }
    let long = vec![b'x'; 262_145];
    let error = caller.link.send(Instant::now(), Form::Text, &long).unwrap_err();
    assert!(error.to_string().contains("262145"), "{error}");
    let error = robot.send(What::Message(Form::Text), &long).unwrap_err();
    assert!(error.to_string().contains("262145"), "{error}");
    connect(&mut robot, &mut caller);
    assert_eq!(caller.reasons, [""; 0]);
}

#[test]
fn a_robot_that_does_not_listen_costs_an_error_and_nothing_in_silence() {
    let mut robot = Robot::usual();
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    robot.heard.clear();
    // The robot takes no turns, so nothing is acknowledged.
    let message = vec![b'x'; 50_000];
    let mut sent = 0;
    let error = loop {
        match caller.link.send(Instant::now(), Form::Text, &message) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
        assert!(sent < 100, "it takes anything");
    };
    assert!(error.to_string().contains("50000"), "{error}");
    assert!(caller.link.is_open() && !caller.link.has_room());
    until(&mut robot, &mut caller, "lost", |robot, _| robot.heard.len() >= sent);
    assert!(robot.heard.iter().all(|(_, bytes)| *bytes == message));
    until(&mut robot, &mut caller, "no room", |_, caller| caller.link.has_room());
    assert_eq!(robot.heard.len(), sent);
}

#[test]
fn what_waits_is_forgotten_when_told_to() {
    let mut robot = Robot::usual();
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    robot.heard.clear();
    while caller.link.send(Instant::now(), Form::Text, &[b'x'; 50_000]).is_ok() {}
    caller.link.discard();
    caller.send("stop");
    until(&mut robot, &mut caller, "no stop", |robot, _| {
        robot.heard.last().is_some_and(|(_, bytes)| bytes == b"stop")
    });
    // What SCTP had already: the longest message and a little.
    assert!(robot.heard.len() <= 8, "{}", robot.heard.len());
}
