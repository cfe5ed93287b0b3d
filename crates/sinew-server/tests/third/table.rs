//! The beacon in the configuration, and in `Robots`.

use std::net::UdpSocket;

use serde_json::json;
use sinew_io::kind::Entry;

use crate::{
    bench::{read, robot, start, start_simulated, until_it, until_ready},
    kind::Beacon,
    sim,
};

#[test]
fn a_table_is_read_with_its_own_settings_and_refuses_a_vacuums() {
    let entry = read(json!({ "kind": "beacon", "link": "serial:/dev/ttyS9", "max_level": 30 }));
    let table = entry.expect("is a robot").to_table();
    let wanted = json!({
        "name": "beacon", "kind": "beacon", "link": "serial:/dev/ttyS9",
        "max_level": 30, "range": "udp:127.0.0.1:7070",
    });
    assert_eq!(json!(table), wanted);
    let with = |key: &str, value| {
        let mut table = json!({ "kind": "beacon", "link": "sim:" });
        table[key] = value;
        read(table).expect_err("is refused")
    };
    let unknown = |key, nearest| format!("unknown key robot.{key}: did you mean robot.{nearest}?");
    let all = "unknown key robot.max_linear: wanted one of name, kind, link, max_level, range";
    assert_eq!(with("max_linear", json!(0.1)), all, "none is near");
    assert_eq!(with("rang", json!("udp:::1")), unknown("rang", "range"));
    assert_eq!(with("max_level", json!(101)), "max_level: wanted 1 to 100, got 101");
    assert_eq!(with("range", json!("sim:")), "range: wanted udp:, got sim:?seed=1");
    assert_eq!(
        with("link", json!("udp:robot")),
        "beacon: wanted serial: or sim:, got udp:robot:49504"
    );
    // The vacuum is as it was, and is not taken for a beacon.
    let vacuum = read(json!({ "link": "serial:/dev/ttyS9", "max_linear": 0.1 })).expect("is one");
    assert_eq!(vacuum.kind.name(), "crl200s");
}

#[test]
fn it_has_a_name_and_settings_by_default() {
    let entry = Entry::new(&Beacon, "sim:".parse().expect("is an address")).expect("takes it");
    assert_eq!((entry.name.as_str(), entry.settings["max_level"].as_u64()), ("beacon", Some(80)));
}

#[tokio::test]
async fn robots_shows_what_it_is_and_how_each_driver_is_reached() {
    let server = start_simulated();
    let mut client = server.lines().await;
    let robot = until_ready(&mut client).await;
    assert_eq!((&robot["name"], &robot["kind"]), (&json!("beacon"), &json!("beacon")));
    assert_eq!(robot["capabilities"], json!(["components", "sensors"]));
    assert_eq!(robot["sensors"], json!(["lamp", "range"]));
    let range = &robot["links"]["range"];
    assert_eq!((&range["state"], &range["fresh"]), (&json!("ready"), &json!(true)));
    assert!(range["last_seen_ms"].is_u64(), "{range}");
    assert_eq!(robot["state"]["lamp"], 0);
    assert_eq!(robot["state"]["scanning"], true);
    assert!(server.figure("sinew_robot_lamp_celsius{robot=\"beacon\"}").await >= 20.0);
    assert!(server.figure("sinew_robot_scans_total{robot=\"beacon\"}").await > 0.0);
    server.end().await;
}

#[tokio::test]
async fn a_second_driver_that_is_down_says_why_and_the_first_goes_on() {
    let (_lamp, path) = sim::lamp().expect("starts");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
    let range = format!("udp:{}", socket.local_addr().expect("is bound"));
    drop(socket);
    let link = format!("serial:{}", path.display());
    let server = start(json!({ "kind": "beacon", "link": link, "range": range }));
    let mut client = server.lines().await;
    let refused = "Connection refused (os error 111)";
    let is_down = |robot: &serde_json::Value| robot["links"]["range"]["reason"] == refused;
    let robot = until_it(&mut client, is_down).await;
    assert_eq!(robot["links"]["range"]["state"], "down");
    assert_eq!(robot["stopped_by"], json!(null));
    // What the range finder does not tell is not fresh, whatever the lamp tells.
    assert_eq!(
        (&robot["fresh"], &robot["links"]["range"]["fresh"]),
        (&json!(false), &json!(false))
    );
    until_it(&mut client, |robot| robot["link"] == json!({ "state": "ready" })).await;
    server.end().await;
}

#[tokio::test]
async fn a_first_driver_that_is_down_says_why() {
    let server = start(json!({ "kind": "beacon", "link": "serial:/dev/no-such-lamp" }));
    let mut client = server.lines().await;
    let reason = "No such file or directory (os error 2)";
    let is_down = |robot: &serde_json::Value| robot["link"]["reason"] == reason;
    until_it(&mut client, is_down).await;
    assert_eq!(robot(&mut client).await["fresh"], false);
    let refusal = client.fails(crate::bench::level(10), "link_lost").await;
    assert_eq!(refusal, reason);
    server.end().await;
}
