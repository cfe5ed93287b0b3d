use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use sinew_robot::vacuum::Command;
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Bytes, Message, protocol::frame::coding::CloseCode},
};

use crate::support::{Call, DEADLINE, Running, drive, start};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn connect(server: &Running) -> Socket {
    connect_async(format!("ws://{}/ws", server.http())).await.expect("connects").0
}

async fn send(socket: &mut Socket, message: Value) {
    socket.send(Message::text(message.to_string())).await.expect("is connected");
}

async fn next(socket: &mut Socket) -> Message {
    timeout(DEADLINE, socket.next()).await.expect("comes").expect("is connected").expect("is valid")
}

async fn next_json(socket: &mut Socket) -> Value {
    serde_json::from_str(next(socket).await.to_text().expect("is text")).expect("is JSON")
}

#[tokio::test]
async fn commands_and_telemetry_are_those_of_lines() {
    let server = start();
    let mut socket = connect(&server).await;
    send(&mut socket, json!({ "type": "Robots", "req": 1 })).await;
    assert_eq!(next_json(&mut socket).await["data"]["robots"][0]["name"], "vacuum");
    let topics = json!(["sensors/gd32_status"]);
    send(&mut socket, json!({ "type": "Subscribe", "topics": topics, "req": 2 })).await;
    assert_eq!(next_json(&mut socket).await["ok"], true);
    for number in 0..100 {
        server.robot.publish_status(number);
    }
    for number in 0..100 {
        let message = next_json(&mut socket).await;
        assert_eq!(message["data"]["timestamp_us"], number);
    }
}

#[tokio::test]
async fn a_page_may_drive_and_its_end_stops_the_robot() {
    let server = start();
    let mut socket = connect(&server).await;
    send(&mut socket, drive(0.1, 0.0)).await;
    crate::support::until("the velocity", || server.robot.calls().len() == 1).await;
    let Call::Execute(command, name) = server.robot.calls()[0].clone() else { panic!() };
    assert_eq!(command, Command::Velocity { linear: 0.1, angular: 0.0 });
    assert!(name.starts_with("ws 127.0.0.1:"), "{name}");
    drop(socket);
    server.robot.called(Call::Release(name)).await;
}

#[tokio::test]
async fn bad_messages_get_an_error_and_pings_an_answer() {
    let server = start();
    let mut socket = connect(&server).await;
    socket.send(Message::text("{")).await.expect("is connected");
    assert_eq!(next_json(&mut socket).await["error"]["code"], "invalid_json");
    socket.send(Message::binary(&b"\xFF"[..])).await.expect("is connected");
    assert_eq!(next_json(&mut socket).await["error"]["code"], "invalid_json");
    socket.send(Message::Ping(Bytes::from_static(b"there?"))).await.expect("is connected");
    assert_eq!(next(&mut socket).await, Message::Pong(Bytes::from_static(b"there?")));
    socket.send(Message::text(" ".repeat(2 << 20))).await.expect("is connected");
    assert_eq!(next_json(&mut socket).await["error"]["code"], "too_large");
    let Message::Close(Some(close)) = next(&mut socket).await else { panic!("wanted a close") };
    assert_eq!(close.code, CloseCode::Size);
}

#[tokio::test]
async fn goodbye_is_answered() {
    let server = start();
    let mut socket = connect(&server).await;
    socket.close(None).await.expect("is connected");
    let Message::Close(Some(close)) = next(&mut socket).await else { panic!("wanted a close") };
    assert_eq!(close.code, CloseCode::Normal);
    assert!(socket.next().await.is_none());
    let begin = std::time::Instant::now();
    while server.figure("sinew_clients{transport=\"ws\"}").await > 0.0 {
        assert!(begin.elapsed() < DEADLINE, "it is gone");
    }
}
