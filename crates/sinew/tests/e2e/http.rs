//! HTTP and WebSocket, by hand.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::{Value, json};

use crate::{
    clients::{Socket, control, drive, led},
    support::{ALL_OFF, FORWARD, Rig, STILL, until},
};

fn request(rig: &Rig, line: &str, headers: &str, body: &str) -> (u16, String, String) {
    crate::clients::request(rig.address("http"), line, headers, body)
}

fn get(rig: &Rig, path: &str) -> (u16, Value) {
    let (status, head, body) = request(rig, &format!("GET {path}"), "", "");
    assert!(head.contains("application/json"), "{head}");
    (status, serde_json::from_str(&body).unwrap())
}

fn post(rig: &Rig, message: &Value) -> (u16, Value) {
    let line = "POST /api/v1/robots/vacuum/commands";
    let (status, _, body) = request(rig, line, "", &message.to_string());
    (status, serde_json::from_str(&body).unwrap())
}

#[test]
fn robots_are_looked_at_and_commanded() {
    let rig = Rig::start();
    let (status, all) = get(&rig, "/api/v1/robots");
    assert_eq!((status, &all["robots"][0]["name"]), (200, &json!("vacuum")));
    let (status, one) = get(&rig, "/api/v1/robots/vacuum");
    assert_eq!((status, &one["link"]["state"]), (200, &json!("ready")));
    let (status, none) = get(&rig, "/api/v1/robots/nobody");
    assert_eq!((status, &none["error"]["code"]), (404, &json!("not_found")));

    let mark = rig.quiet();
    let (status, answer) = post(&rig, &led(8));
    assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{answer}");
    rig.expect(mark, "the LED", &["8D 08"]);
    // A request holds the controls no longer than it takes.
    assert_eq!(rig.robot()["holder"], json!(null));

    let mark = rig.mark();
    assert_eq!(post(&rig, &control("drive", "Enable")).0, 200);
    let (status, answer) = post(&rig, &drive(0.1));
    assert_eq!((status, &answer["error"]["code"]), (501, &json!("unsupported")), "{answer}");
    for (message, status, code) in [
        (control("imu", "Reset"), 428, "not_confirmed"),
        (control("led", "Enable"), 501, "unsupported"),
        (control("wheel", "Enable"), 400, "invalid_argument"),
        (json!({ "type": "TakeControl" }), 501, "unsupported"),
    ] {
        let (got, answer) = post(&rig, &message);
        assert_eq!((got, &answer["error"]["code"]), (status, &json!(code)), "{answer}");
    }
    let mut holder = rig.lines();
    holder.ok(led(9));
    let (status, answer) = post(&rig, &led(10));
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("busy")), "{answer}");
    rig.expect(mark, "what was allowed", &["65 02", "8D 09"]);
    holder.ok(drive(0.2));
    let mark = rig.await_frame(mark, FORWARD);
    assert_eq!(post(&rig, &json!({ "type": "Stop" })).0, 200);
    rig.expect(rig.await_frame(mark, STILL), "stop", &[&[STILL], &ALL_OFF[..]].concat());
}

#[test]
fn metrics_are_there_and_pages_of_others_are_kept_out() {
    let rig = Rig::start();
    let (status, head, metrics) = request(&rig, "GET /metrics", "", "");
    assert_eq!(status, 200);
    assert!(head.contains("text/plain"), "{head}");
    let figure = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in {metrics}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(figure("sinew_robot_frames_total{robot=\"vacuum\"}") > 100.0);
    assert_eq!(figure("sinew_robot_bad_checks_total{robot=\"vacuum\"}"), 0.0);
    assert_eq!(figure("sinew_robot_fresh{robot=\"vacuum\"}"), 1.0);
    assert_eq!(figure("sinew_robot_battery_percent{robot=\"vacuum\"}"), 75.0);

    let mark = rig.quiet();
    let line = "POST /api/v1/robots/vacuum/commands";
    for headers in ["Origin: http://evil.example\r\n", "Origin: null\r\n"] {
        let (status, _, _) = request(&rig, line, headers, &led(3).to_string());
        assert_eq!(status, 403, "{headers}");
    }
    let own = format!("Origin: http://{}\r\n", rig.address("http"));
    assert_eq!(request(&rig, line, &own, &led(4).to_string()).0, 200);
    rig.expect(mark, "only our own page's", &["8D 04"]);
    // Not even a page that calls its own name this address.
    let mut socket = TcpStream::connect(rig.address("http")).unwrap();
    socket.write_all(b"GET /api/v1/robots HTTP/1.0\r\nHost: evil.example\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 403"), "{answer}");
    assert_eq!(request(&rig, "GET /ws", "Origin: http://evil.example\r\n", "").0, 403);
    assert_eq!(request(&rig, "GET /nothing", "", "").0, 404);
}

#[test]
fn a_websocket_subscribes_drives_and_stops_the_robot_with_its_end() {
    let rig = Rig::with(&["--deadman-ms", "2000"]);
    let mut page = Socket::connect(rig.address("http"));
    page.ok(json!({ "type": "Subscribe", "topics": ["state", "events", "sensors/gd32_status"] }));
    assert_eq!(page.next_of("state")["link"]["state"], "ready");
    let status = page.next_of("sensors/gd32_status");
    assert_eq!(status["values"]["battery_level"], json!({ "U8": 75 }));
    let mark = rig.quiet();
    page.ok(control("drive", "Enable"));
    assert_eq!(page.next_of("events")["event"], "enabled");
    page.ok(drive(0.2));
    let driving = rig.await_frame(mark, FORWARD);
    drop(page);
    let stopped = rig.await_frame(driving, STILL);
    let took = rig.at(stopped) - rig.at(driving);
    assert!(took < 1_500_000, "{took} us");
    until("the latch", || rig.robot()["stopped_by"].as_str().map(|_| ()));
    rig.lines().fails(drive(0.1), "not_ready");
}
