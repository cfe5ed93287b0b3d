use serde_json::{Value, json};
use sinew_robot::{Code, vacuum::Command};
use tokio::io::AsyncWriteExt;

use crate::support::{Call, Double, control, drive, led, local, start, start_with};

#[tokio::test]
async fn commands_reach_the_robot_in_order_with_the_clients_name() {
    let server = start();
    let mut client = server.lines().await;
    client.send(control("drive", "Enable")).await;
    client.send(drive(0.2, 0.0)).await;
    client.send(json!({ "type": "ProtocolSync" })).await;
    client.send(json!({ "type": "Dock" })).await;
    client.send(json!({ "type": "Boot" })).await;
    let raw = json!({ "type": "Raw", "command": "0x6B", "payload": "64 00ff", "confirm": true });
    client.ok(raw).await;
    let commands = [
        Command::DriveEnable { mode: 2 },
        Command::Velocity { linear: 0.2, angular: 0.0 },
        Command::ProtocolSync,
        Command::Dock,
        Command::Boot,
        Command::Raw { command: 0x6B, payload: vec![0x64, 0x00, 0xFF] },
    ];
    let calls = commands.map(|command| Call::Execute(command, client.name.clone()));
    assert_eq!(server.robot.calls(), calls);
}

#[tokio::test]
async fn any_req_comes_back() {
    let server = start();
    let mut client = server.lines().await;
    for req in [json!(1), json!("x"), json!(null), json!([1, { "a": false }])] {
        client.send(json!({ "type": "Robots", "req": req })).await;
        let answer = client.next().await;
        assert_eq!(answer["req"], req);
        assert_eq!((&answer["type"], &answer["ok"]), (&json!("Reply"), &json!(true)));
        client.send(json!({ "type": "Nonsense", "req": req })).await;
        let answer = client.next().await;
        assert_eq!((&answer["req"], &answer["ok"]), (&req, &json!(false)));
    }
}

#[tokio::test]
async fn without_req_success_is_silent_and_errors_are_told() {
    let server = start();
    let mut client = server.lines().await;
    client.send(led(3)).await;
    client.send(json!({ "type": "Nonsense" })).await;
    let answer = client.next().await;
    assert_eq!(answer["type"], "Error");
    assert_eq!(answer["error"]["code"], "invalid_argument");
    let message = answer["error"]["message"].as_str().expect("is there");
    assert!(message.contains("ComponentControl") && message.contains("TakeControl"), "{message}");
}

#[tokio::test]
async fn what_cannot_be_understood_says_what_was_wanted() {
    let server = start();
    let mut client = server.lines().await;
    let cases = [
        (json!({}), "type"),
        (json!({ "type": 7 }), "Subscribe"),
        (json!({ "type": "Robots", "speed": 1 }), "speed"),
        (json!({ "type": "Robots", "robot": 1 }), "robot"),
        (json!({ "type": "Robots", "confirm": "yes" }), "confirm"),
        (json!({ "type": "Subscribe" }), "topics"),
        (json!({ "type": "Subscribe", "topics": ["weather"] }), "sensors/GROUP"),
        (json!({ "type": "Subscribe", "topics": ["state"], "max_hz": 0 }), "max_hz"),
        (json!({ "type": "Subscribe", "topics": ["state"], "max_hz": -1 }), "max_hz"),
        (json!({ "type": "Auth" }), "token"),
        (json!({ "type": "TakeControl", "name": "a\u{1b}[2J" }), "printable"),
        (json!({ "type": "Raw", "command": 256, "confirm": true }), "0 to 255"),
        (json!({ "type": "Raw", "command": 1, "payload": "0", "confirm": true }), "hexadecimal"),
        (json!({ "type": "ComponentControl", "id": "horn", "action": {} }), "side_brush"),
        (json!({ "type": "ComponentControl", "id": "led" }), "action"),
    ];
    for (message, wanted) in cases {
        let said = client.fails(message.clone(), "invalid_argument").await;
        assert!(said.contains(wanted), "{message}: {said}");
    }
    client.send(json!([1])).await;
    assert_eq!(client.next().await["error"]["code"], "invalid_argument");
    assert_eq!(server.robot.calls(), []);
}

#[tokio::test]
async fn what_can_hurt_needs_confirm_and_confirm_never_hurts() {
    let server = start();
    let mut client = server.lines().await;
    let dangerous = [
        control("main_board", "Disable"),
        control("main_board", "Reset"),
        control("mcu", "Disable"),
        control("imu", "Reset"),
        control("compass", "Reset"),
        json!({ "type": "Raw", "command": 1 }),
    ];
    for mut message in dangerous {
        client.fails(message.clone(), "not_confirmed").await;
        assert_eq!(server.robot.calls(), []);
        message["confirm"] = false.into();
        client.fails(message.clone(), "not_confirmed").await;
    }
    client.ok(json!({ "type": "Robots", "confirm": true })).await;
    let mut reset = control("imu", "Reset");
    reset["confirm"] = true.into();
    client.ok(reset).await;
    assert_eq!(server.robot.calls().len(), 1);
}

#[tokio::test]
async fn what_the_robot_cannot_do_is_unsupported() {
    let server = start();
    let mut client = server.lines().await;
    let said = client.fails(json!({ "type": "Teach", "op": "list" }), "unsupported").await;
    assert_eq!(said, "vacuum cannot be taught");
    let mapping = json!({ "type": "Mapping", "op": "start", "robot": "vacuum" });
    assert_eq!(client.fails(mapping, "unsupported").await, "vacuum cannot map");
    let said = client.fails(control("led", "Enable"), "unsupported").await;
    assert!(said.contains("Configure"), "{said}");
    client.fails(json!({ "type": "Subscribe", "topics": ["cloud"] }), "unsupported").await;
    client.fails(json!({ "type": "Shutdown" }), "unsupported").await;
    let topics = json!(["sensors/gd32_staus"]);
    let said = client.fails(json!({ "type": "Subscribe", "topics": topics }), "not_found").await;
    assert!(said.contains("gd32_status"), "{said}");
}

#[tokio::test]
async fn a_robot_must_be_named_only_when_it_is_not_clear() {
    let (first, second, rock) = (Double::new(), Double::new(), Double::rock());
    let robots = [("one", first.clone()), ("two", second.clone()), ("rock", rock.clone())];
    let server = start_with(local(), &robots);
    let mut client = server.lines().await;
    let said = client.fails(led(1), "invalid_argument").await;
    assert!(said.contains("one, two") && !said.contains("rock"), "{said}");
    let mut message = led(1);
    message["robot"] = "two".into();
    client.ok(message.clone()).await;
    assert_eq!((first.calls().len(), second.calls().len()), (0, 1));
    message["robot"] = "rock".into();
    assert_eq!(
        client.fails(message.clone(), "unsupported").await,
        "rock cannot control components"
    );
    message["robot"] = "three".into();
    assert!(client.fails(message, "not_found").await.contains("one, two, rock"));

    client.ok(json!({ "type": "Stop" })).await;
    for robot in [first, second, rock] {
        assert!(robot.calls().contains(&Call::Stop(client.name.clone())), "all are stopped");
    }
    server.end().await;

    let robots = [("rock", Double::rock()), ("vacuum", Double::new())];
    let server = start_with(local(), &robots);
    let mut client = server.lines().await;
    client.ok(led(1)).await;
    assert_eq!(robots[1].1.calls().len(), 1, "only one can do it");
}

#[tokio::test]
async fn robots_tells_all_about_them() {
    let server = start();
    let mut client = server.lines().await;
    client.ok(json!({ "type": "TakeControl", "name": "ann" })).await;
    let data = client.ok(json!({ "type": "Robots" })).await;
    let expected = json!([{
        "name": "vacuum", "kind": "double", "link": { "state": "ready" }, "fresh": true,
        "capabilities": ["drive", "components", "sensors"],
        "sensors": ["gd32_status", "gd32_version"],
        "holder": "ann", "stopped_by": "nobody", "last_seen_ms": 7, "state": { "changes": 0 },
        "limits": { "linear": 0.3, "angular": 1.0, "deadman_ms": 300 },
    }]);
    assert_eq!(data["robots"], expected);
    assert_eq!(data["warnings"], json!([]));
}

#[tokio::test]
async fn refusals_of_the_robot_reach_the_client() {
    let server = start();
    let mut client = server.lines().await;
    for code in [Code::NotReady, Code::LinkLost, Code::Refused, Code::Unconfirmed] {
        server.robot.refuse(code);
        assert_eq!(client.fails(led(1), code.as_str()).await, "as told");
    }
    assert_eq!(server.figure("sinew_commands_total{result=\"link_lost\"}").await, 1.0);
}

#[tokio::test]
async fn a_client_that_only_closes_its_own_direction_gets_its_answer() {
    let server = start();
    let mut client = server.lines().await;
    client.send(json!({ "type": "Robots", "req": 1 })).await;
    client.writer.shutdown().await.expect("is connected");
    assert_eq!(client.next().await["req"], 1);
    assert_eq!(client.try_next().await, None::<Value>);
}

#[tokio::test]
async fn the_end_stops_the_robots_and_closes_the_connections() {
    let server = start();
    let (robot, mut client) = (server.robot.clone(), server.lines().await);
    client.ok(led(1)).await;
    server.end().await;
    assert_eq!(robot.calls()[1], Call::Stop("the daemon's end".into()));
    assert_eq!(client.try_next().await, None::<Value>);
}
