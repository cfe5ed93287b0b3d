//! The real robot below, on a simulated controller.

use std::time::{Duration, Instant};

use serde_json::json;
use sinew_server::Server;

use crate::support::{Double, add_kind, control, drive, local, run};

#[tokio::test(flavor = "multi_thread")]
async fn a_simulated_vacuum_is_driven_from_the_network() {
    let mut server = Server::bind(local()).expect("binds");
    add_kind(&mut server, "crl200s", "sim:");
    let server = run(server, Double::new());

    let mut client = server.lines().await;
    client.ok(json!({ "type": "Subscribe", "topics": ["state", "sensors/gd32_status"] })).await;
    loop {
        let state = client.event("state").await;
        assert_eq!(state["data"]["kind"], "crl200s");
        if state["data"]["link"]["state"] == "ready" {
            assert_eq!(state["data"]["fresh"], true);
            break;
        }
    }
    let status = client.event("sensors/gd32_status").await;
    assert!(status["data"]["values"]["battery_voltage"]["F32"].is_f64(), "{status}");
    client.fails(drive(0.1, 0.0), "not_ready").await;
    client.ok(control("drive", "Enable")).await;
    client.fails(drive(3.0, 0.0), "invalid_argument").await;
    loop {
        client.ok(drive(0.1, 0.0)).await;
        let state = client.event("state").await;
        if state["data"]["state"]["distance"].as_f64().is_some_and(|metres| metres > 0.005) {
            break;
        }
    }
    server.lines().await.ok(json!({ "type": "Stop" })).await;
    let said = client.fails(drive(0.1, 0.0), "not_ready").await;
    assert!(said.contains("lines 127.0.0.1"), "{said}");

    let mut legacy = server.legacy().await;
    let version = legacy.next_of("sensors/gd32_version").await;
    assert!(version["values"]["version_string"]["String"].is_string());
    let status = legacy.next_of("sensors/gd32_status").await;
    assert_eq!(status["values"]["raw_packet"]["Bytes"].as_array().map(Vec::len), Some(96));
    let figure = server.figure("sinew_robot_battery_percent{robot=\"vacuum\"}").await;
    assert!((0.0..=100.0).contains(&figure));
    server.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_of_the_lidar_go_on_when_the_client_that_switched_it_on_has_gone() {
    let mut server = Server::bind(local()).expect("binds");
    add_kind(&mut server, "crl200s", "sim:");
    let server = run(server, Double::new());

    let mut client = server.lines().await;
    let groups = ["gd32_status", "gd32_version", "lidar"];
    client.ok(json!({ "type": "Subscribe", "topics": ["state"] })).await;
    loop {
        let state = client.event("state").await;
        assert_eq!(state["data"]["sensors"], json!(groups));
        if state["data"]["link"]["state"] == "ready" {
            assert_eq!(state["data"]["links"]["lidar"]["state"], "silent");
            break;
        }
    }
    // What has not been sent when its client leaves is not sent. On a machine so busy that the
    // simulator is late, what is sent may fall into the time in which its controller hears nothing.
    let mut enabled = None;
    while client.event("state").await["data"]["links"]["lidar"]["state"] != "starting" {
        if enabled.is_none_or(|at: Instant| at.elapsed() > Duration::from_secs(6)) {
            enabled = Some(Instant::now());
            client.ok(control("lidar", "Enable")).await;
        }
    }
    drop(client);

    let mut legacy = server.legacy().await;
    for _ in 0..2 {
        let turn = legacy.next_of("sensors/lidar").await;
        let values = turn["values"].as_object().expect("has values");
        assert_eq!(values.keys().collect::<Vec<_>>(), ["scan"]);
        let scan = values["scan"]["PointCloud2D"].as_array().expect("is a cloud");
        assert!((300..=360).contains(&scan.len()), "{} points", scan.len());
        assert_eq!(scan[0].as_array().map(Vec::len), Some(3));
    }
    let mut other = server.lines().await;
    other.ok(json!({ "type": "Subscribe", "topics": ["state", "sensors/lidar"] })).await;
    let turn = other.event("sensors/lidar").await;
    assert_eq!(turn["data"]["values"]["pose"]["Vector3"], json!([0.0, 0.0, 0.0]));
    assert!(turn["data"]["values"]["began_us"]["U64"].is_u64());
    let robots = other.ok(json!({ "type": "Robots" })).await;
    let robot = &robots["robots"][0];
    assert_eq!(robot["links"]["lidar"]["state"], "turning", "{robot}");
    assert_eq!(robot["fresh"], true);
    assert!(robot["state"]["scan"]["turns"].as_u64() > Some(1), "{robot}");
    assert!(server.figure("sinew_robot_lidar_turns_total{robot=\"vacuum\"}").await > 1.0);

    // A stop switches it off, and that is no loss.
    other.ok(json!({ "type": "Stop" })).await;
    loop {
        let state = other.event("state").await;
        if state["data"]["links"]["lidar"]["state"] == "silent" {
            assert_eq!(state["data"]["state"]["scan"]["turns_per_second"], json!(null));
            break;
        }
    }
    server.end().await;
}
