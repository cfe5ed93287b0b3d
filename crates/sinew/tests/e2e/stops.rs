//! Everybody's right to stop, and what a stop must not be mistaken for.

use std::{io::Write, time::Duration};

use rustix::net::sockopt;
use serde_json::{Value, json};

use crate::{
    clients::{Lines, Prefixed, Socket, auth, control, drive, led, post, stop, turn},
    line::Line,
    support::{CONTROL_TOKEN, FORWARD, READ_TOKEN, Rig, STILL, until},
    track::{PROMPT, Track},
};

/// Sends a message on a connection of its own, as a client that shows this token.
fn send_on(track: &Track, port: &str, token: &str, message: &Value) -> Duration {
    let (tcp, lines) = (track.address("tcp"), track.address("lines"));
    let http = track.address("http");
    match port {
        "lines" => {
            let mut client = Lines::connect(lines);
            client.ok(auth(token));
            track.time_to_stand(|| client.send(&message.to_string()))
        }
        "tcp" => {
            // As document 003's clients do: no `req`, nothing is read.
            let mut client = Prefixed::connect(tcp);
            client.send(auth(token).to_string().as_bytes());
            track.time_to_stand(|| client.send(message.to_string().as_bytes()))
        }
        "ws" => {
            let mut client = Socket::connect(http);
            client.ok(auth(token));
            track.time_to_stand(|| client.send(message))
        }
        _ => {
            let bearer = format!("Authorization: Bearer {token}\r\n");
            track.time_to_stand(|| {
                let (status, answer) = post(http, &bearer, message);
                assert_eq!(status, 200, "{answer}");
            })
        }
    }
}

#[test]
fn drive_reset_and_disable_are_for_everybody_as_stop_is() {
    let track = Track::start();
    let driver = track.drive(50);
    for port in ["lines", "tcp", "ws", "post"] {
        for token in [READ_TOKEN, CONTROL_TOKEN] {
            for message in [stop(), control("drive", "Reset"), control("drive", "Disable")] {
                let took = send_on(&track, port, token, &message);
                assert!(took < PROMPT, "{port}, {token}, {message}: {took:?}");
                // The driver goes on asking, and is refused.
                track.assert_stands(5);
                assert!(track.robot()["stopped_by"].is_string(), "{port}, {token}, {message}");
                track.drive_on(&driver);
            }
        }
    }
}

#[test]
fn a_reader_may_not_enable_or_drive_what_it_stopped() {
    let rig_dir = crate::support::Dir::new();
    let rig = Rig::with(&["--token-file", &rig_dir.tokens()]);
    let mut reader = rig.lines();
    reader.ok(auth(READ_TOKEN));
    let mark = rig.quiet();
    for refused in [control("drive", "Enable"), drive(0.1), control("vacuum", "Disable"), led(3)] {
        reader.fails(refused, "unauthorized");
    }
    rig.expect(mark, "nothing", &[]);
}

#[test]
fn what_was_switched_off_before_a_disable_is_still_switched_off() {
    let rig = Rig::start();
    let mut client = rig.lines();
    let mark = rig.mark();
    for message in
        [control("drive", "Enable"), control("vacuum", "Enable"), control("main_brush", "Enable")]
    {
        client.ok(message);
    }
    rig.await_frame(mark, "6A 64");
    rig.await_frame(mark, "68 10 27");
    client.ok(drive(0.2));
    rig.await_frame(mark, FORWARD);
    let mark = rig.mark();
    let burst = [
        control("vacuum", "Disable"),
        control("main_brush", "Disable"),
        drive(0.1),
        control("drive", "Disable"),
    ];
    let burst: String = burst.iter().map(|message| format!("{message}\n")).collect();
    client.send_bytes(burst.as_bytes());
    for off in ["68 00 00", "6A 00", STILL, "65 00"] {
        rig.await_frame(mark, off);
    }
    rig.quiet();
    assert_eq!(rig.velocities(mark).last(), Some(&crate::support::frame(STILL)));
}

#[test]
fn taking_the_controls_from_a_driver_stops_and_latches() {
    // Long enough to be told from a stop.
    let track = Track::on(Line::start(110).unwrap(), &["--deadman-ms", "2000"]);
    let driver = track.drive(20);
    let mut taker = track.lines();
    let took = track.time_to_stand(|| {
        taker.send(&json!({ "type": "TakeControl" }).to_string());
    });
    assert!(took < PROMPT, "{took:?}");
    track.assert_stands(10);
    let refused = taker.ask(turn())["error"].clone();
    assert_eq!(refused["remedy"], "enable", "{refused}");
    taker.ok(control("drive", "Enable"));
    taker.ok(turn());
    track.await_motion();
    drop(driver);
}

/// A client that holds the controls already takes nothing from another.
#[test]
fn taking_ones_own_controls_changes_nothing() {
    let rig = Rig::with(&["--deadman-ms", "2000"]);
    let mut client = rig.lines();
    client.ok(control("drive", "Enable"));
    client.ok(json!({ "type": "TakeControl" }));
    client.ok(drive(0.2));
    rig.await_frame(0, FORWARD);
}

#[test]
fn taking_the_controls_from_a_dock_stops_and_latches() {
    let track = Track::start();
    let mut docking = track.lines();
    drive_off_the_dock(&track, &mut docking);
    docking.ok(json!({ "type": "Dock" }));
    track.await_motion();
    let mut taker = track.lines();
    let took = track.time_to_stand(|| {
        taker.send(&json!({ "type": "TakeControl" }).to_string());
    });
    assert!(took < PROMPT, "{took:?}");
    track.assert_stands(50);
    assert_eq!(track.robot()["state"]["docking"], json!(null));
    taker.fails(turn(), "not_ready");
    drop(docking);
}

/// Half a metre away, standing.
pub(crate) fn drive_off_the_dock(track: &Track, client: &mut Lines) {
    client.ok(control("drive", "Enable"));
    until("the robot to leave its dock", || {
        client.ok(drive(0.3));
        (track.robot()["state"]["distance"].as_f64()? > 0.5).then_some(())
    });
    client.ok(drive(0.0));
}

#[test]
fn a_client_that_does_not_read_its_answers_is_heard() {
    let track = Track::start();
    let _driver = track.drive(50);
    let mut client = track.lines();
    let answer = client.ok(json!({ "type": "Robots" })).to_string();
    // So that what is not read waits in the daemon.
    sockopt::set_socket_recv_buffer_size(&client.socket, 4096).unwrap();
    let robots = format!("{}\n", json!({ "type": "Robots", "req": 1 }));
    client.send_bytes(robots.repeat((3 << 20) / answer.len()).as_bytes());
    let took = track.time_to_stand(|| client.send(&stop().to_string()));
    assert!(took < Duration::from_secs(2), "{took:?}");
    track.assert_stands(10);
}

#[test]
fn a_stop_with_members_that_do_not_belong_there_stops() {
    let track = Track::start();
    let driver = track.drive(50);
    let mut client = track.lines();
    for message in [
        json!({ "type": "Stop", "why": "because", "req": "s" }),
        json!({ "type": "Stop", "topics": ["state"], "op": 7, "req": "s" }),
        json!({ "type": "Stop", "confirm": "yes", "req": "s" }),
    ] {
        let took = track.time_to_stand(|| client.send(&message.to_string()));
        assert!(took < PROMPT, "{message}: {took:?}");
        let answer = client.next();
        assert_eq!((&answer["req"], &answer["ok"]), (&json!("s"), &json!(true)), "{answer}");
        track.drive_on(&driver);
    }
}

#[test]
fn a_key_that_comes_twice_is_not_json() {
    let rig = Rig::start();
    let twice = [
        r#"{"type":"Raw","command":"0x8D","payload":"07","confirm":false,"confirm":true}"#,
        r#"{"type":"ComponentControl","id":"imu","action":{"type":"Reset"},"confirm":false,"confirm":true}"#,
        r#"{"type":"Robots","type":"ProtocolSync"}"#,
        r#"{"type":"ComponentControl","id":"led","id":"charger","action":{"type":"Disable"}}"#,
        r#"{"type":"ComponentControl","id":"charger","action":{"type":"Enable","type":"Disable"}}"#,
        r#"{"type":"ComponentControl","id":"led","action":{"type":"Configure","config":{"state":{"U8":3},"st\u0061te":{"U8":4}}}}"#,
    ];
    let mark = rig.quiet();
    let mut client = rig.lines();
    client.ok(json!({ "type": "Robots" }));
    let mut page = Socket::connect(rig.address("http"));
    page.ok(json!({ "type": "Robots" }));
    let mut old = rig.prefixed();
    old.send(br#"{"type":"Robots","req":1}"#);
    assert_eq!(old.next_of("reply")["ok"], true);
    for text in twice {
        client.send(text);
        assert_eq!(client.next()["error"]["code"], "invalid_json", "{text}");
        page.send_text(text);
        assert_eq!(page.next()["error"]["code"], "invalid_json", "{text}");
        old.send(text.as_bytes());
        assert_eq!(old.next_of("reply")["error"]["code"], "invalid_json", "{text}");
        let line = "POST /api/v1/robots/vacuum/commands";
        let (status, _, body) = crate::clients::request(rig.address("http"), line, "", text);
        assert_eq!(status, 400, "{text}: {body}");
        assert!(body.contains("invalid_json"), "{body}");
    }
    client.ok(json!({ "type": "Raw", "command": "0x8D", "payload": "09", "confirm": true }));
    rig.expect(mark, "nothing but what had each key once", &["8D 09"]);
}

#[test]
fn a_raw_command_has_digits_only() {
    let rig = Rig::start();
    let mark = rig.quiet();
    let mut client = rig.lines();
    for command in ["+6", "0x+6", "-6", " 6", "6 ", "0x", ""] {
        let message = json!({ "type": "Raw", "command": command, "payload": "", "confirm": true });
        client.fails(message, "invalid_argument");
    }
    client.ok(json!({ "type": "Raw", "command": "8d", "payload": "0A", "confirm": true }));
    rig.expect(mark, "nothing but digits", &["8D 0A"]);
}

#[test]
fn a_first_line_that_is_not_json_leaves_looking_and_stopping() {
    let rig = Rig::with(&["--deadman-ms", "2000"]);
    for first in ["nonsense", "POST / HTTP/1.1", "Content-Type: text/plain", "\u{feff}{}", "{"] {
        let mut driver = rig.lines();
        driver.ok(control("drive", "Enable"));
        driver.ok(drive(0.2));
        let driving = rig.await_frame(rig.mark(), FORWARD);
        drop(driver);
        rig.await_frame(driving, STILL);
        until("the controls to be free", || rig.robot()["holder"].is_null().then_some(()));

        let mut page = rig.lines();
        page.send(first);
        assert_eq!(page.next()["error"]["code"], "invalid_json", "{first}");
        let mark = rig.quiet();
        for refused in [led(3), control("drive", "Enable"), json!({ "type": "TakeControl" })] {
            page.fails(refused, "unauthorized");
        }
        page.ok(json!({ "type": "Robots" }));
        rig.expect(mark, first, &[]);
        page.ok(stop());
        // A thread that drives shows its state a moment later where another looks at it just then.
        until("the stop to be shown", || (rig.robot()["stopped_by"] == page.name()).then_some(()));
    }
    // Later it is a mistake like any other.
    let mut client = rig.lines();
    client.ok(json!({ "type": "Robots" }));
    client.send("nonsense");
    assert_eq!(client.next()["error"]["code"], "invalid_json");
    client.ok(led(4));
}

#[test]
fn names_do_not_turn_the_text_around_them() {
    let rig = Rig::start();
    for hidden in
        ["\u{202e}", "\u{2066}", "\u{200f}", "\u{61c}", "\u{7}", "\u{1b}[2J", "\u{9b}", "\u{2028}"]
    {
        let mut client = rig.lines();
        let name = format!("a{hidden}b");
        let answer = client.ask(json!({ "type": "TakeControl", "name": name }));
        let code = answer["error"]["code"].as_str();
        assert!(answer["ok"] == true || code == Some("invalid_argument"), "{answer}");
        let holder = rig.robot()["holder"].clone();
        let sign = hidden.chars().next().unwrap();
        assert!(!holder.to_string().contains(sign), "{hidden:?} in {holder}");
        let shown = rig.cli(&["robots"]).wait().ok().stdout;
        assert!(!shown.contains(sign), "{hidden:?} in {shown}");
        drop(client);
        until("the controls to be free", || rig.robot()["holder"].is_null().then_some(()));
    }
    let mut client = rig.lines();
    client.ok(json!({ "type": "TakeControl", "name": "Zoë's 掃除機" }));
    assert_eq!(rig.robot()["holder"], "Zoë's 掃除機");
}

#[test]
fn a_topic_that_is_named_often_is_subscribed_once() {
    let rig = Rig::start();
    for times in [1, 50] {
        let mut client = rig.lines();
        let topics = |topic| json!({ "type": "Subscribe", "topics": vec![topic; times] });
        client.send(&topics("state").to_string());
        // What comes before the next answer is the greeting.
        client.send(&json!({ "type": "Robots", "req": "end" }).to_string());
        let mut greetings = 0;
        while client.next()["req"] != "end" {
            greetings += 1;
        }
        assert_eq!(greetings, 1, "{times} times");
        let mut listener = rig.lines();
        listener.ok(topics("events"));
        client.ok(control("drive", "Enable"));
        client.ok(led(times as u8));
        client.ok(control("drive", "Disable"));
        let mut events = Vec::new();
        while events.last() != Some(&json!("stopped")) {
            events.push(listener.next()["data"]["event"].clone());
        }
        let enabled = events.iter().filter(|event| **event == "enabled").count();
        assert_eq!(enabled, 1, "{times} times: {events:?}");
    }
}

#[test]
fn a_readers_message_over_64_kib_is_skipped() {
    let dir = crate::support::Dir::new();
    let rig = Rig::with(&["--token-file", &dir.tokens()]);
    let large = json!({ "type": "Robots", "req": "large", "x": "x".repeat(70_000) }).to_string();
    let mut reader = rig.lines();
    reader.ok(auth(READ_TOKEN));
    for _ in 0..3 {
        // In pieces, so that it is not there all at once.
        for piece in large.as_bytes().chunks(10_000) {
            reader.socket.write_all(piece).unwrap();
        }
        reader.send("");
        assert_eq!(reader.next()["error"]["code"], "too_large");
        reader.ok(json!({ "type": "Robots" }));
    }
    let mut page = Socket::connect(rig.address("http"));
    page.ok(auth(READ_TOKEN));
    page.send_text(&large);
    assert_eq!(page.next()["error"]["code"], "too_large");
    page.ok(json!({ "type": "Robots" }));
    let mut old = rig.prefixed();
    old.send(json!({ "type": "Auth", "token": READ_TOKEN, "req": 1 }).to_string().as_bytes());
    assert_eq!(old.next_of("reply")["ok"], true);
    old.send(large.as_bytes());
    assert_eq!(old.next_of("reply")["error"]["code"], "too_large");
    old.send(br#"{"type":"Robots","req":2}"#);
    assert_eq!(old.next_of("reply")["ok"], true);

    // Who may control may send more.
    let mut driver = rig.lines();
    driver.ok(auth(CONTROL_TOKEN));
    driver.send(&large);
    assert_eq!(driver.next()["error"]["code"], "invalid_argument");
}
