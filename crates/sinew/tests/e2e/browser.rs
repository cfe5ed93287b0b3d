//! What a web page could make a browser send, and what a request without a connection may ask.

use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::{
    clients::{HANDSHAKE, Lines, connect, control, drive, led, post, request, stop},
    support::{Dir, FORWARD, Process, Rig, STILL, until},
};

fn raw(command: &str, payload: &str) -> Value {
    json!({ "type": "Raw", "command": command, "payload": payload, "confirm": true })
}

/// Motion that goes on needs a connection to lose; a request has none.
#[test]
fn nothing_that_goes_on_moving_is_asked_by_post() {
    let rig = Rig::start();
    let http = rig.address("http");
    // A robot that has left its dock, so that it could drive there.
    let drive_for = ["vacuum", "drive", "--linear", "0.3", "--for", "1s"];
    rig.cli(&drive_for).wait().ok();
    let mark = rig.quiet();
    assert_eq!(post(http, "", &control("drive", "Enable")).0, 200);
    for message in [
        raw("0x66", "C8 00 00 00 00 00 00 00"),
        raw("66", "00 00 00 00 E8 03 00 00"),
        raw("0x67", "64 00 64 00"),
        json!({ "type": "Raw", "command": 102, "payload": "C8", "confirm": true }),
        json!({ "type": "Dock" }),
        drive(0.2),
        drive(-0.2),
        control("drive", "Configure"),
    ] {
        let (status, answer) = post(http, "", &message);
        let code = answer["error"]["code"].as_str().unwrap_or("none");
        // Something malformed may be called so.
        let refused = status == 501 && code == "unsupported"
            || status == 400 && code == "invalid_argument" && message["id"] == "drive";
        assert!(refused, "{message}: {status} {answer}");
    }
    rig.expect(mark, "only the mode", &["65 02"]);
    // What does not move is allowed.
    assert_eq!(post(http, "", &raw("0x8D", "07")).0, 200);
    assert_eq!(post(http, "", &led(8)).0, 200);
    rig.expect(mark, "the lamp", &["65 02", "8D 07", "8D 08"]);
    for message in [stop(), control("drive", "Reset"), control("drive", "Disable")] {
        let mark = rig.quiet();
        assert_eq!(post(http, "", &message).0, 200, "{message}");
        rig.await_frame(mark, STILL);
    }
}

/// A play that repeats ends with a connection, and a request has none.
#[test]
#[cfg_attr(not(feature = "g1"), ignore = "a build without the G1")]
fn a_loop_is_not_asked_by_post() {
    let dir = Dir::new();
    let any = "127.0.0.1:0";
    let ports = ["--tcp", "off", "--lines", any, "--http", any];
    let args = [&["serve", "--json", "--g1", "sim:"][..], &ports].concat();
    let daemon = Process::sinew(&dir, &args);
    let ready = daemon.ready();
    let mut client = Lines::connect(ready["lines"].as_str().unwrap());
    until("the link to be ready", || {
        let robots = client.ok(json!({ "type": "Robots" }));
        (robots["robots"][0]["link"]["state"] == "ready").then_some(())
    });
    let list = client.ok(json!({ "type": "Teach", "op": "list" }));
    let play = |name: &str, more: Value| {
        let mut message = json!({ "type": "Teach", "op": "play", "name": name });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let line = "POST /api/v1/robots/g1/commands";
        let http = ready["http"].as_str().unwrap();
        let (status, _, body) = request(http, line, "", &message.to_string());
        (status, body)
    };
    // What the robot keeps, and what there may be in the library.
    let kept = list["actions"][0]["name"].as_str().unwrap_or("wave").to_owned();
    for (name, more) in
        [(&*kept, json!({ "loop": true })), ("wave", json!({ "loop": true, "library": true }))]
    {
        let (status, body) = play(name, more);
        assert_eq!(status, 501, "{name}: {body}");
        assert!(body.contains("unsupported"), "{name}: {body}");
    }
    let state = client.ok(json!({ "type": "Robots" }))["robots"][0]["state"].clone();
    assert!(state["playing"].is_null() || state["playing"] == false, "{state}");
}

#[test]
fn raw_motion_obeys_the_rules_of_motion() {
    let rig = Rig::start();
    let mut client = rig.lines();
    client.ok(control("drive", "Enable"));
    client.ok(stop());
    let (forward, wheels) = (raw("0x66", "C8 00 00 00 00 00 00 00"), raw("0x67", "64 00 64 00"));
    let mark = rig.quiet();
    // Stopped, and while another client has the controls.
    for message in [&forward, &wheels] {
        client.fails(message.clone(), "not_ready");
        rig.lines().fails(message.clone(), "busy");
    }
    client.ok(control("drive", "Enable"));
    // Over the limit.
    for (command, payload) in [("0x66", "F4 01 00 00 00 00 00 00"), ("0x67", "F4 01 F4 01")] {
        let answer = client.ask(raw(command, payload));
        assert_eq!(answer["ok"], false, "{answer}");
    }
    rig.expect(mark, "only the mode", &["65 02"]);
    // The dead-man.
    client.ok(forward);
    let moving = rig.await_frame(mark, FORWARD);
    let still = rig.await_frame(moving, STILL);
    let took = rig.at(still) - rig.at(moving);
    assert!((200_000..500_000).contains(&took), "{took} us");
}

/// The status of a WebSocket's handshake.
fn handshake(address: &str, headers: &str) -> u16 {
    let mut socket = connect(address);
    let head = format!("GET /ws HTTP/1.1\r\n{headers}{HANDSHAKE}\r\n");
    socket.write_all(head.as_bytes()).unwrap();
    let mut start = [0; 12];
    socket.read_exact(&mut start).unwrap();
    str::from_utf8(&start).unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

/// The statuses of a look, a command and a WebSocket with these headers.
fn statuses(rig: &Rig, headers: &str) -> [u16; 3] {
    let http = rig.address("http");
    let commands = "POST /api/v1/robots/vacuum/commands";
    [
        request(http, "GET /api/v1/robots", headers, "").0,
        request(http, commands, headers, &led(3).to_string()).0,
        handshake(http, headers),
    ]
}

const LET_IN: [u16; 3] = [200, 200, 101];
const KEPT_OUT: [u16; 3] = [403; 3];

#[test]
fn pages_of_other_hosts_are_kept_out_where_there_are_tokens_too() {
    let dir = Dir::new();
    for more in [&[][..], &["--token-file", &dir.tokens()]] {
        let rig = Rig::with(more);
        let http = rig.address("http").to_owned();
        let port = http.rsplit(':').next().unwrap();
        let mark = rig.quiet();
        for foreign in [
            "Host: evil.example\r\n".into(),
            format!("Host: evil.example:{port}\r\nOrigin: http://evil.example:{port}\r\n"),
            format!("Host: {http}\r\nOrigin: http://evil.example\r\n"),
            format!("Host: {http}\r\nOrigin: null\r\n"),
            "Host: localhost.evil.example\r\n".into(),
            "Host: 127.0.0.1.evil.example\r\n".into(),
        ] {
            assert_eq!(statuses(&rig, &foreign), KEPT_OUT, "{more:?}: {foreign}");
        }
        rig.expect(mark, "nothing", &[]);
        for own in [
            format!("Host: {http}\r\n"),
            format!("Host: {http}\r\nOrigin: http://{http}\r\n"),
            format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n"),
        ] {
            assert_eq!(statuses(&rig, &own), LET_IN, "{more:?}: {own}");
        }
    }
}

#[test]
fn a_host_of_the_configuration_is_let_in() {
    let dir = Dir::new();
    let config = dir.file("hosts.toml", "[server]\nhosts = [\"robot.example\"]\n");
    for more in [&[][..], &["--token-file", &dir.tokens()]] {
        let rig = Rig::with(&[&["--config", &config], more].concat());
        let http = rig.address("http").to_owned();
        let port = http.rsplit(':').next().unwrap();
        for (name, expected) in
            [("robot.example", LET_IN), ("ROBOT.example", LET_IN), ("x.robot.example", KEPT_OUT)]
        {
            let page = format!("Host: {name}:{port}\r\nOrigin: http://{name}:{port}\r\n");
            assert_eq!(statuses(&rig, &page), expected, "{page}");
        }
        // Its own pages only.
        let mixed = format!("Host: robot.example:{port}\r\nOrigin: http://evil.example\r\n");
        assert_eq!(statuses(&rig, &mixed), KEPT_OUT);
        assert_eq!(statuses(&rig, &format!("Host: {http}\r\n")), LET_IN);
    }
}
