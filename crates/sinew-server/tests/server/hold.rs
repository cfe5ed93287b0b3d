//! What clients of document 003's interface are let do, and which clients are.

use std::{io::ErrorKind, time::Duration};

use serde_json::{Value, json};
use sinew_robot::{
    drive::{HoldEnd, Speeds},
    vacuum::Command,
};
use sinew_server::Config;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
    time::timeout,
};

use crate::support::{
    Call, Client, DEADLINE, Double, Legacy, Running, control, drive, led, local, start, start_with,
};

const HOLD: Duration = Duration::from_secs(2);
const STILL: Command = Command::Velocity { linear: 0.0, angular: 0.0 };

/// 0.5 m/s, as a press of a button sends it.
fn press() -> Value {
    drive(0.5, 0.0)
}

fn release() -> Value {
    drive(0.0, 0.0)
}

fn velocity(hold: Option<Duration>) -> Command {
    Command::Lenient { speeds: Speeds::Velocity { linear: 0.5, angular: 0.0 }, hold }
}

fn with(change: impl FnOnce(&mut Config)) -> Running {
    let mut config = local();
    change(&mut config);
    start_with(config, &[("vacuum", Double::new())])
}

/// What a robot was told, without who told it.
fn told(robot: &Double) -> Vec<Command> {
    let executed = |call| match call {
        Call::Execute(command, _) => Some(command),
        _ => None,
    };
    robot.calls().into_iter().filter_map(executed).collect()
}

/// Waits until the robot has been told exactly this.
async fn is_told(robot: &Double, wanted: &[Command]) {
    crate::support::until("commands", || told(robot).len() >= wanted.len()).await;
    assert_eq!(told(robot), wanted);
}

/// Messages in one write, so that they come together.
async fn send_together(client: &mut Legacy, messages: &[Value]) {
    let texts = messages.iter().map(Value::to_string);
    let bytes: Vec<u8> = texts
        .flat_map(|text| [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat())
        .collect();
    client.0.write_all(&bytes).await.expect("is connected");
}

/// A client that is told all events.
async fn listener(server: &Running) -> Client {
    let mut client = server.lines().await;
    client.ok(json!({ "type": "Subscribe", "topics": ["events"] })).await;
    client
}

/// The events until one that is published now.
async fn events(server: &Running, client: &mut Client) -> Vec<Value> {
    let end = json!({ "event": "the end of a test" });
    server.robot.publish_event(end.clone());
    let mut events = Vec::new();
    loop {
        match client.event("events").await["data"].clone() {
            event if event == end => return events,
            event => events.push(event),
        }
    }
}

#[tokio::test]
async fn a_velocity_of_such_a_client_is_scaled_and_held_and_zero_ends_it() {
    let server = start();
    let mut client = server.legacy().await;
    client.send(press()).await;
    client.send(release()).await;
    let tank = json!({ "left": { "F32": 0.5 }, "right": { "F32": 0.25 } });
    let action = json!({ "type": "Configure", "config": tank });
    client.send(json!({ "type": "ComponentControl", "id": "drive", "action": action })).await;
    let tank =
        Command::Lenient { speeds: Speeds::Tank { left: 0.5, right: 0.25 }, hold: Some(HOLD) };
    is_told(&server.robot, &[velocity(Some(HOLD)), STILL, tank]).await;
}

#[tokio::test]
async fn no_other_client_has_the_exception() {
    let server = start();
    let plain = Command::Velocity { linear: 0.5, angular: 0.0 };
    let mut used = server.legacy().await;
    used.send(json!({ "type": "Robots", "req": 1 })).await;
    used.send(press()).await;
    is_told(&server.robot, std::slice::from_ref(&plain)).await;
    drop(used);

    let mut lines = Client::connect(server.at.tcp.expect("listens")).await;
    lines.ok(json!({ "type": "TakeControl" })).await;
    lines.send(press()).await;
    is_told(&server.robot, &vec![plain.clone(); 2]).await;

    let mut other = server.lines().await;
    other.ok(json!({ "type": "TakeControl" })).await;
    other.send(press()).await;
    is_told(&server.robot, &vec![plain; 3]).await;
}

#[tokio::test]
async fn its_own_req_ends_the_exception_with_what_it_holds() {
    let server = start();
    let mut client = server.legacy().await;
    client.send(press()).await;
    is_told(&server.robot, &[velocity(Some(HOLD))]).await;
    client.send(json!({ "type": "Robots", "req": 1 })).await;
    client.next_of("reply").await;
    let let_go = Command::LetGo { reason: HoldEnd::Withdrawn };
    is_told(&server.robot, &[velocity(Some(HOLD)), let_go]).await;
}

#[tokio::test]
async fn what_is_not_carried_out_ends_what_is_held() {
    let let_go = Command::LetGo { reason: HoldEnd::Withdrawn };
    let half = json!({ "linear": { "F32": 0.0 } });
    let action = json!({ "type": "Configure", "config": half });
    let half = json!({ "type": "ComponentControl", "id": "drive", "action": action });
    let unknown = json!({ "type": "ComponentControl", "id": "wings", "action": {} });
    for refused in [half, unknown, json!({ "type": "Fly" })] {
        let server = start();
        let mut client = server.legacy().await;
        client.send(press()).await;
        client.send(refused).await;
        // Whichever of the two was carried out first, nothing is held in the end.
        crate::support::until("it to be let go", || {
            let told = told(&server.robot);
            told.contains(&velocity(Some(HOLD))) && told.last() == Some(&let_go)
        })
        .await;
    }
}

#[tokio::test]
async fn a_release_that_finds_no_room_ends_what_is_held_all_the_same() {
    let server = start();
    let mut client = server.legacy().await;
    client.send(press()).await;
    is_told(&server.robot, &[velocity(Some(HOLD))]).await;
    server.robot.hang(true);
    let speed = json!({ "type": "Configure", "config": { "speed": { "U8": 10 } } });
    let speed = json!({ "type": "ComponentControl", "id": "vacuum", "action": speed });
    let mut all = vec![speed; 100];
    all.push(release());
    send_together(&mut client, &all).await;
    let let_go = Command::LetGo { reason: HoldEnd::Withdrawn };
    crate::support::until("it to be let go", || told(&server.robot).contains(&let_go)).await;
}

#[tokio::test]
async fn a_hold_of_zero_turns_it_off() {
    let server = with(|config| config.legacy_hold = Duration::ZERO);
    let mut client = server.legacy().await;
    client.send(press()).await;
    is_told(&server.robot, &[Command::Velocity { linear: 0.5, angular: 0.0 }]).await;
}

#[tokio::test]
async fn a_client_that_repeats_has_the_dead_man_from_then_on() {
    let server = start();
    let mut listener = listener(&server).await;
    let mut client = server.legacy().await;
    let name = format!("tcp {}", client.0.local_addr().expect("is bound"));
    // However fast a button is pressed: each time it is released between.
    let mut wanted = Vec::new();
    for _ in 0..4 {
        send_together(&mut client, &[press(), release(), press(), press(), release()]).await;
        let held = velocity(Some(HOLD));
        wanted.extend([held.clone(), STILL, held.clone(), held, STILL]);
    }
    is_told(&server.robot, &wanted).await;
    assert_eq!(events(&server, &mut listener).await, Vec::<Value>::new());

    send_together(&mut client, &[press(), press(), press(), press(), release(), press()]).await;
    let (held, repeated) = (velocity(Some(HOLD)), velocity(None));
    wanted.extend([held.clone(), held, repeated.clone(), repeated.clone(), STILL, repeated]);
    is_told(&server.robot, &wanted).await;
    let repeats = json!({ "event": "repeats", "by": name, "deadman_ms": 300 });
    assert_eq!(events(&server, &mut listener).await, [repeats]);

    // Another connection begins anew.
    drop(client);
    server.robot.called(Call::Release(name)).await;
    let mut next = server.legacy().await;
    next.send(press()).await;
    wanted.push(velocity(Some(HOLD)));
    is_told(&server.robot, &wanted).await;
}

#[tokio::test]
async fn a_client_that_takes_nothing_of_its_stream_is_let_go() {
    let hold = Duration::from_secs(10);
    let server = with(|config| config.legacy_hold = hold);
    let socket = TcpSocket::new_v4().expect("is a socket");
    socket.set_recv_buffer_size(2048).expect("is set");
    let stream = socket.connect(server.at.tcp.expect("listens")).await.expect("connects");
    let mut client = Legacy(stream);
    client.send(press()).await;
    is_told(&server.robot, &[velocity(Some(hold))]).await;
    let begin = std::time::Instant::now();
    let let_go = Command::LetGo { reason: HoldEnd::Unreachable };
    let mut number = 0;
    crate::support::until("it to be let go", || {
        number += 1;
        server.robot.publish_status(number);
        told(&server.robot).contains(&let_go)
    })
    .await;
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(300) && took < hold, "{took:?}");
    assert_eq!(told(&server.robot), [velocity(Some(hold)), let_go]);
}

#[tokio::test]
async fn what_another_client_holds_is_not_let_go() {
    let server = start();
    let mut client = server.legacy().await;
    client.send(press()).await;
    is_told(&server.robot, &[velocity(Some(HOLD))]).await;
    let mut other = server.lines().await;
    other.ok(json!({ "type": "TakeControl" })).await;
    client.send(json!({ "type": "Robots", "req": 1 })).await;
    client.next_of("reply").await;
    assert_eq!(told(&server.robot), [velocity(Some(HOLD))]);
}

#[tokio::test]
async fn a_refusal_that_its_client_is_not_told_is_an_event() {
    let server = start();
    let mut listener = listener(&server).await;
    let mut client = server.legacy().await;
    let name = format!("tcp {}", client.0.local_addr().expect("is bound"));
    client.send(control("imu", "Reset")).await;
    let event = listener.event("events").await;
    assert_eq!(event["robot"], "vacuum");
    let data = &event["data"];
    assert_eq!(
        (&data["event"], &data["by"], &data["command"], &data["code"]),
        (&json!("refused"), &json!(name), &json!("imu Reset"), &json!("not_confirmed"))
    );
    let message = data["message"].as_str().expect("has a message");
    assert!(message.contains(r#"legacy_confirm = ["imu"] in [server]"#), "{message}");
    assert_eq!(server.robot.calls(), []);

    client.send(json!({ "type": "Nonsense" })).await;
    let data = listener.event("events").await["data"].clone();
    assert_eq!((&data["command"], &data["code"]), (&Value::Null, &json!("invalid_argument")));
    // The robot's own refusals, too.
    server.robot.refuse(sinew_robot::Code::NotReady);
    client.send(press()).await;
    let data = listener.event("events").await["data"].clone();
    assert_eq!(
        (&data["command"], &data["message"]),
        (&json!("drive Configure"), &json!("as told"))
    );
}

#[tokio::test]
async fn a_refusal_that_its_client_is_told_is_none() {
    let server = start();
    let mut listener = listener(&server).await;
    server.lines().await.fails(control("imu", "Reset"), "not_confirmed").await;
    let mut client = server.legacy().await;
    client.send(json!({ "type": "Nonsense", "req": 1 })).await;
    client.next_of("reply").await;
    client.send(control("imu", "Reset")).await;
    client.next_of("reply").await;
    assert_eq!(events(&server, &mut listener).await, Vec::<Value>::new());
}

#[tokio::test]
async fn many_refusals_and_long_ones_do_not_push_out_other_events() {
    let server = start();
    let mut listener = listener(&server).await;
    let begin = std::time::Instant::now();
    let long = json!({ "type": "ComponentControl", "id": "x".repeat(50_000), "action": {} });
    for _ in 0..8 {
        let mut client = server.legacy().await;
        client.send(long.clone()).await;
        for _ in 0..100 {
            client.send(json!({ "type": "Nonsense\u{202e}" })).await;
        }
        client.send(json!({ "type": "Robots", "req": 1 })).await;
        client.next_of("reply").await;
    }
    let events = events(&server, &mut listener).await;
    let periods = begin.elapsed().as_secs() as usize + 1;
    assert!(events.len() >= 8 && events.len() <= 20 * periods, "{}", events.len());
    for event in events {
        let text = event.to_string();
        assert!(text.len() < 1000 && !text.contains('\u{202e}'), "{text}");
    }
}

#[tokio::test]
async fn components_of_the_list_need_no_confirm_from_such_clients() {
    let server = with(|config| config.legacy_confirm = vec!["imu".into()]);
    let mut client = server.legacy().await;
    client.send(control("compass", "Reset")).await;
    client.send(control("imu", "Reset")).await;
    is_told(&server.robot, &[Command::ImuCalibrate]).await;
    // From no others.
    client.send(json!({ "type": "Robots", "req": 1 })).await;
    client.next_of("reply").await;
    client.send(control("imu", "Reset")).await;
    assert_eq!(client.next_of("reply").await["error"]["code"], "not_confirmed");
    server.lines().await.fails(control("imu", "Reset"), "not_confirmed").await;
    assert_eq!(told(&server.robot), [Command::ImuCalibrate]);
}

/// How a connection ends: by an error, or by an end of what is sent.
async fn end(client: &mut Legacy) -> Option<ErrorKind> {
    let mut space = [0; 4096];
    loop {
        match timeout(DEADLINE, client.0.read(&mut space)).await.expect("it ends") {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(error.kind()),
        }
    }
}

#[tokio::test]
async fn a_connection_that_the_server_ends_is_reset() {
    let server = start();
    let mut large = server.legacy().await;
    large.send(led(1)).await;
    is_told(&server.robot, &[Command::Led { state: 1 }]).await;
    large.0.write_all(&(2u32 << 20).to_be_bytes()).await.expect("is connected");
    assert_eq!(end(&mut large).await, Some(ErrorKind::ConnectionReset));

    let (mut silent, mut driver) = (server.legacy().await, server.legacy().await);
    silent.next_of("sensors/gd32_version").await;
    driver.send(led(1)).await;
    is_told(&server.robot, &[Command::Led { state: 1 }, Command::Led { state: 1 }]).await;
    server.end().await;
    assert_eq!(end(&mut silent).await, Some(ErrorKind::ConnectionReset));
    assert_eq!(end(&mut driver).await, Some(ErrorKind::ConnectionReset));
}

#[tokio::test]
async fn a_silent_client_whose_place_is_needed_is_reset() {
    let server = with(|config| config.max_strangers = 2);
    let mut clients = Vec::new();
    for _ in 0..4 {
        let mut client = server.legacy().await;
        client.next_of("sensors/gd32_version").await;
        clients.push(client);
    }
    assert_eq!(end(&mut clients[0]).await, Some(ErrorKind::ConnectionReset));
}

#[tokio::test]
async fn a_client_that_used_req_gets_the_last_word() {
    let server = start();
    let mut client = server.legacy().await;
    client.send(json!({ "type": "Robots", "req": 1 })).await;
    client.next_of("reply").await;
    client.0.write_all(&(2u32 << 20).to_be_bytes()).await.expect("is connected");
    assert_eq!(client.next_of("reply").await["error"]["code"], "too_large");
    assert_eq!(end(&mut client).await, None);

    let mut client = server.legacy().await;
    client.send(json!({ "type": "Robots", "req": 1 })).await;
    client.next_of("reply").await;
    server.end().await;
    assert_eq!(end(&mut client).await, None);
}
