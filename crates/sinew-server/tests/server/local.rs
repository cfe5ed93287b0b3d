//! Clients in the daemon's own process.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use sinew_server::{Access, Config, Locals, Server, Tokens};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use crate::support::{Call, DEADLINE, Double, Running, add, drive, local, run};

type Socket = WebSocketStream<TcpStream>;

fn start(config: Config) -> (Running, Locals) {
    let robot = Double::new();
    let mut server = Server::bind(config).expect("binds");
    add(&mut server, "vacuum", &robot).expect("is a new name");
    let locals = server.locals();
    (run(server, robot), locals)
}

async fn connect(locals: &Locals, name: &str) -> Socket {
    over(locals.connect(name).expect("the server runs")).await
}

async fn over(socket: std::net::TcpStream) -> Socket {
    socket.set_nonblocking(true).expect("is a socket");
    let socket = TcpStream::from_std(socket).expect("is a socket");
    WebSocketStream::from_raw_socket(socket, Role::Client, None).await
}

async fn ask(socket: &mut Socket, message: Value) -> Value {
    socket.send(Message::text(message.to_string())).await.expect("is connected");
    let answer = timeout(DEADLINE, socket.next()).await.expect("comes").expect("is connected");
    let text = answer.expect("is valid").into_text().expect("is text");
    serde_json::from_str(&text).expect("is JSON")
}

#[tokio::test]
async fn a_program_of_this_process_is_a_client_by_all_rules() {
    let (server, locals) = start(local());
    let mut bridge = connect(&locals, "bridge").await;
    let robots = ask(&mut bridge, json!({ "type": "Robots", "req": 1 })).await;
    assert_eq!(robots["data"]["robots"][0]["name"], "vacuum");
    let taken = ask(&mut bridge, json!({ "type": "TakeControl", "req": 2 })).await;
    assert_eq!(taken["ok"], true);
    let mut other = server.lines().await;
    let refused = other.ask(drive(0.1, 0.0)).await;
    assert_eq!(refused["error"]["code"], "busy");
    assert!(refused["error"]["message"].to_string().contains("bridge"), "{refused}");
    let moved = ask(&mut bridge, {
        let mut drive = drive(0.1, 0.0);
        drive["req"] = json!(3);
        drive
    });
    assert_eq!(moved.await["ok"], true);
    drop(bridge);
    server.robot.called(Call::Release("bridge".into())).await;
    server.end().await;
    assert!(locals.connect("late").is_err(), "the server has ended");
}

#[tokio::test]
async fn one_that_may_only_look_may_stop_all_the_same() {
    let (server, locals) = start(local());
    let socket = locals.connect_as("reader", Access::Read).expect("the server runs");
    let mut reader = over(socket).await;
    let taken = ask(&mut reader, json!({ "type": "TakeControl", "req": 1 })).await;
    assert_eq!(taken["error"]["code"], "unauthorized");
    let stopped = ask(&mut reader, json!({ "type": "Stop", "req": 2 })).await;
    assert_eq!(stopped["ok"], true);
    server.robot.called(Call::Stop("reader".into())).await;
}

#[tokio::test]
async fn it_needs_neither_ports_nor_a_token_and_waits_as_long_as_it_likes() {
    let closed = Config { tcp: None, lines: None, http: None, ..Config::default() };
    let tokens = Tokens::parse("control all-of-it-c0ntrol\n").expect("is a token file");
    let (server, locals) = start(Config { tokens, ..closed });
    let none: [Option<SocketAddr>; 3] = [server.at.tcp, server.at.lines, server.at.http];
    assert_eq!(none, [None; 3]);
    let mut bridge = connect(&locals, "bridge").await;
    let stopped = ask(&mut bridge, json!({ "type": "Stop", "req": 1 })).await;
    assert_eq!(stopped["ok"], true);
    server.robot.called(Call::Stop("bridge".into())).await;
    drop(server);
}
