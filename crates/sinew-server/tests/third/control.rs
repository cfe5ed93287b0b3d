//! Commands and stops.

use serde_json::json;

use crate::{
    bench::{Bench, level, robot, start_simulated, until_it, until_ready},
    support::{control, drive, request},
};

#[tokio::test]
async fn components_of_both_drivers_are_switched_by_the_holder_of_the_controls() {
    let server = start_simulated();
    let (mut client, mut other) = (server.lines().await, server.lines().await);
    until_ready(&mut client).await;
    client.ok(level(40)).await;
    // Its reply came when the lamp had said so.
    assert_eq!(robot(&mut client).await["state"]["lamp"], 40);
    let holder = robot(&mut other).await["holder"].clone();
    assert_eq!(holder, client.name.as_str());
    let busy = other.fails(control("range", "Disable"), "busy").await;
    assert!(busy.contains(&client.name), "{busy}");
    client.ok(control("range", "Disable")).await;
    assert_eq!(robot(&mut other).await["state"]["scanning"], false);
    other.ok(json!({ "type": "TakeControl" })).await;
    other.ok(control("range", "Enable")).await;
    client.fails(level(10), "busy").await;
    assert_eq!(robot(&mut other).await["state"]["lamp"], 40);
    server.end().await;
}

#[tokio::test]
async fn what_it_cannot_do_is_refused_in_its_own_words() {
    let server = start_simulated();
    let mut client = server.lines().await;
    until_ready(&mut client).await;
    for message in [drive(0.1, 0.0), control("drive", "Reset"), json!({ "type": "Dock" })] {
        assert_eq!(client.fails(message, "unsupported").await, "beacon cannot drive");
    }
    let teach = json!({ "type": "Teach", "op": "list" });
    assert_eq!(client.fails(teach, "unsupported").await, "beacon cannot be taught");
    let wanted = "id: wanted one of lamp, range, got \"vacuum\"";
    assert_eq!(client.fails(control("vacuum", "Enable"), "invalid_argument").await, wanted);
    let wanted = "lamp: wanted at most 80 %, got 81";
    assert_eq!(client.fails(level(81), "invalid_argument").await, wanted);
    let boot = client.fails(json!({ "type": "Boot" }), "unsupported").await;
    assert_eq!(boot, "a beacon has no frames of its own");
    server.end().await;
}

#[tokio::test]
async fn a_lamp_is_switched_by_a_request_without_a_connection() {
    let server = start_simulated();
    let mut client = server.lines().await;
    until_ready(&mut client).await;
    let line = "POST /api/v1/robots/beacon/commands";
    let (body, json) = (level(20).to_string(), [("Content-Type", "application/json")]);
    let (status, reply) = request(server.http(), line, &json, body.as_bytes()).await;
    assert_eq!(status, 200, "{reply}");
    let robot = robot(&mut client).await;
    assert_eq!((&robot["state"]["lamp"], &robot["holder"]), (&json!(20), &json!(null)));
    server.end().await;
}

#[tokio::test]
async fn a_stop_reaches_both_drivers_and_overtakes_what_waits() {
    let (mut bench, server) = Bench::start().await;
    let (mut client, mut other) = (server.lines().await, server.lines().await);
    until_it(&mut other, |robot| robot["link"]["state"] == "ready").await;
    // In one go, so that all of them come before the stop.
    let numbered = |(req, percent): (u8, u8)| {
        let mut message = level(percent);
        message["req"] = req.into();
        format!("{message}\n")
    };
    let messages: String = [(1, 10), (2, 20), (3, 30)].map(numbered).concat();
    client.send_bytes(messages.as_bytes()).await;
    // The lamp does not answer, so that the others wait.
    assert_eq!(bench.lamp_hears().await, "level 10");
    other.ok(json!({ "type": "Stop" })).await;
    assert_eq!(bench.lamp_hears().await, "stop");
    bench.finder_hears("halt").await;
    for _ in 0..3 {
        let reply = client.next().await;
        assert_eq!(reply["error"]["code"], "not_ready", "{reply}");
    }
    let robot = robot(&mut other).await;
    assert_eq!(robot["stopped_by"], other.name.as_str());
    assert_eq!(robot["state"]["scanning"], false);
    // Nothing of what waited was sent: this is the next that the lamp hears.
    client.send_bytes(numbered((4, 40)).as_bytes()).await;
    assert_eq!(bench.lamp_hears().await, "level 40");
    bench.lamp_says("done 40");
    let reply = client.next().await;
    assert_eq!((&reply["req"], &reply["ok"]), (&json!(4), &json!(true)), "{reply}");
    server.end().await;
}

#[tokio::test]
async fn the_end_of_the_daemon_ends_both_drivers() {
    let (mut bench, server) = Bench::start().await;
    let ending = tokio::spawn(server.end());
    for wanted in ["stop", "bye"] {
        assert_eq!(bench.lamp_hears().await, wanted);
        bench.finder_hears(if wanted == "stop" { "halt" } else { wanted }).await;
    }
    ending.await.expect("ends");
}
