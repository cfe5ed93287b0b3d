//! The real robot below, on a simulated controller.

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
