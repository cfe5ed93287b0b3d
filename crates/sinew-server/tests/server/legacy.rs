use serde_json::{Value, json};
use sinew_robot::vacuum::Command;
use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};

use crate::support::{
    Call, Client, DEADLINE, Double, Legacy, control, led, local, start, start_with,
};

fn envelope(command: Value) -> Value {
    json!({ "topic": "command", "payload": { "type": "Command", "command": command } })
}

/// Publishes until the client has a message of the topic.
async fn streamed(robot: &Double, client: &mut Legacy, topic: &str) -> Value {
    let publish = async {
        for number in 0.. {
            robot.publish_status(number);
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        message = client.next_of(topic) => message,
        () = publish => unreachable!(),
    }
}

#[tokio::test]
async fn a_silent_client_gets_the_sensors_of_the_first_robot_with_components() {
    let robots = [("rock", Double::rock()), ("one", Double::new()), ("two", Double::new())];
    let server = start_with(local(), &robots);
    let mut client = server.legacy().await;
    let status = streamed(&robots[1].1, &mut client, "sensors/gd32_status").await;
    assert_eq!(status["type"], "SensorGroup");
    assert_eq!(status["group_id"], "gd32_status");
    assert!(status["timestamp_us"].is_u64());
    assert_eq!(status["values"]["battery_level"], json!({ "U8": 75 }));
    let raw = status["values"]["raw_packet"]["Bytes"].as_array().expect("has raw bytes");
    assert_eq!(raw.len(), 96);
}

#[tokio::test]
async fn the_version_comes_once_without_being_asked_for() {
    let server = start();
    let mut client = server.legacy().await;
    let version = client.next_of("sensors/gd32_version").await;
    assert_eq!(version["values"]["version_code"], json!({ "I32": 7 }));
}

#[tokio::test]
async fn commands_come_bare_and_in_envelopes() {
    let server = start();
    let mut client = server.legacy().await;
    client.send(envelope(control("drive", "Enable"))).await;
    client.send(led(5)).await;
    let name = format!("tcp {}", client.0.local_addr().expect("is bound"));
    server.robot.called(Call::Execute(Command::Led { state: 5 }, name.clone())).await;
    assert_eq!(
        server.robot.calls()[0],
        Call::Execute(Command::DriveEnable { mode: 2 }, name.clone())
    );
    drop(client);
    server.robot.called(Call::Release(name)).await;
}

#[tokio::test]
async fn answers_come_only_to_those_who_have_used_req() {
    let server = start();
    let mut client = server.legacy().await;
    client.send(json!({ "type": "Nonsense" })).await;
    client.send(envelope(json!({ "type": "Nonsense" }))).await;
    client.send(json!({ "topic": "weather", "payload": {} })).await;
    client.send(json!({ "type": "Shutdown", "req": 1 })).await;
    let answer = client.next_of("reply").await;
    assert_eq!((&answer["req"], &answer["error"]["code"]), (&json!(1), &json!("unsupported")));
    client.send(envelope(json!({ "type": "Robots", "req": 2 }))).await;
    let answer = client.next_of("reply").await;
    assert_eq!((&answer["req"], &answer["ok"]), (&json!(2), &json!(true)));
    client.send(envelope(control("imu", "Reset"))).await;
    let answer = client.next_of("reply").await;
    assert_eq!(answer["type"], "Error");
    assert_eq!(answer["error"]["code"], "not_confirmed");
}

#[tokio::test]
async fn other_topics_can_be_had_too() {
    let server = start();
    let mut client = server.legacy().await;
    client.send(json!({ "type": "Subscribe", "topics": ["state"] })).await;
    let state = client.next_of("state").await;
    assert_eq!((&state["type"], &state["robot"]), (&json!("Event"), &json!("vacuum")));
}

#[tokio::test]
async fn a_brace_makes_it_a_connection_of_lines() {
    let server = start();
    let mut client = Client::connect(server.at.tcp.expect("listens")).await;
    let data = client.ok(json!({ "type": "Robots" })).await;
    assert_eq!(data["robots"][0]["name"], "vacuum");
    client.ok(json!({ "type": "Subscribe", "topics": ["state"] })).await;
    assert_eq!(client.event("state").await["robot"], "vacuum");
}

#[tokio::test]
async fn a_message_may_come_byte_by_byte_after_the_silence() {
    let server = start();
    let mut client = server.legacy().await;
    client.next_of("sensors/gd32_version").await;
    let text = json!({ "type": "Robots", "req": 1 }).to_string();
    let bytes = [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat();
    for byte in bytes {
        client.0.write_all(&[byte]).await.expect("is connected");
    }
    assert_eq!(client.next_of("reply").await["req"], 1);
}

#[tokio::test]
async fn rubbish_between_messages_does_not_end_the_connection() {
    let server = start();
    let mut client = Legacy(TcpStream::connect(server.at.tcp.expect("listens")).await.expect("ok"));
    client.0.write_all(b"\0\0\0\x03\xFF\xFE\xFD\0\0\0\0").await.expect("is connected");
    client.send(json!({ "type": "Robots", "req": 1 })).await;
    let answer = timeout(DEADLINE, client.next_of("reply")).await.expect("is answered");
    assert_eq!(answer["ok"], true);
}
