use std::{net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use sinew_server::{Access, Config, Server, Tokens};

use crate::support::{
    Call, Client, Double, Legacy, Running, get, led, local, post, request, start_with,
};

const FILE: &str = "# who may what\ncontrol  all-of-it-c0ntrol \n\nread only-look-at-r3ad\n";

fn everywhere() -> Option<SocketAddr> {
    Some(([0, 0, 0, 0], 0).into())
}

fn tokens() -> Tokens {
    Tokens::parse(FILE).expect("is a token file")
}

fn public() -> Config {
    let any = everywhere();
    Config { tcp: any, lines: any, http: any, tokens: tokens(), ..Config::default() }
}

fn start() -> Running {
    let mut running = start_with(public(), &[("vacuum", Double::new())]);
    for port in [&mut running.at.tcp, &mut running.at.lines, &mut running.at.http] {
        port.as_mut().expect("listens").set_ip([127, 0, 0, 1].into());
    }
    running
}

fn auth(token: &str) -> Value {
    json!({ "type": "Auth", "token": token })
}

#[test]
fn a_token_file_is_read_and_its_errors_show_no_secret() {
    let tokens = tokens();
    assert_eq!(tokens.access("all-of-it-c0ntrol"), Some(Access::Control));
    assert_eq!(tokens.access("only-look-at-r3ad"), Some(Access::Read));
    for unknown in ["", "all-of-it-c0ntro", "all-of-it-c0ntrolx", "control", "#"] {
        assert_eq!(tokens.access(unknown), None);
    }
    assert!(!format!("{tokens:?}").contains("only-look-at-r3ad"));
    for (text, line) in [
        ("read sixteen-letters-a\nadmin hunter2hunter2hunter2", "line 2"),
        ("read", "line 1"),
        ("read two hunter2hunter2hunter2", "line 1"),
        ("read hunter2hunter2hunter2\ncontrol hunter2hunter2hunter2", "line 2"),
        ("read sixteen-letters-a\ncontrol hunter2", "line 2: wanted a secret of at least 16"),
    ] {
        let error = Tokens::parse(text).expect_err(text).to_string();
        assert!(error.contains(line) && !error.contains("hunter2"), "{error}");
    }
}

#[test]
fn the_network_is_not_listened_to_without_tokens() {
    let none = Config { tcp: None, lines: None, http: None, ..Config::default() };
    let any = everywhere();
    let open = [
        Config { tcp: any, ..none.clone() },
        Config { lines: any, ..none.clone() },
        Config { http: any, ..none.clone() },
        Config { lines: any, legacy_open: true, ..none.clone() },
        Config { tcp: Some("[::]:0".parse().expect("is one")), ..none.clone() },
    ];
    for config in open {
        let error = Server::bind(config).expect_err("needs a token").to_string();
        assert!(error.contains("token"), "{error}");
    }
    let server = Server::bind(Config { tcp: any, legacy_open: true, ..none.clone() });
    let server = server.expect("is allowed");
    assert_eq!(server.warnings().len(), 1);
    assert!(server.addresses().tcp.is_some() && server.addresses().http.is_none());
    let server = Server::bind(Config { tcp: any, tokens: tokens(), ..none }).expect("has tokens");
    assert_eq!(server.warnings(), [""; 0]);
}

#[tokio::test]
async fn without_a_token_nothing_is_told() {
    let server = start();
    let mut client = server.lines().await;
    for message in [
        json!({ "type": "Robots" }),
        json!({ "type": "Stop" }),
        json!({ "type": "TakeControl" }),
        json!({ "type": "Subscribe", "topics": ["state"] }),
        json!({ "type": "Auth", "name": "me" }),
        auth("guess"),
        led(1),
    ] {
        client.fails(message, "unauthorized").await;
    }
    assert_eq!(server.robot.calls(), []);
}

#[tokio::test]
async fn a_read_token_may_look_and_stop() {
    let server = start();
    let mut client = server.lines().await;
    assert_eq!(client.ok(auth("only-look-at-r3ad")).await["access"], "read");
    client.ok(json!({ "type": "Robots" })).await;
    client.ok(json!({ "type": "Subscribe", "topics": ["state"] })).await;
    client.fails(led(1), "unauthorized").await;
    client.fails(json!({ "type": "TakeControl" }), "unauthorized").await;
    client.ok(json!({ "type": "Stop" })).await;
    assert_eq!(server.robot.calls(), [Call::Stop(client.name.clone())]);
    client.ok(auth("all-of-it-c0ntrol")).await;
    client.ok(led(1)).await;
}

#[tokio::test]
async fn a_length_prefixed_client_gets_sensors_once_it_showed_a_token() {
    let server = start();
    let mut client = server.legacy().await;
    client.send(json!({ "type": "Robots", "req": 1 })).await;
    assert_eq!(client.next_of("reply").await["error"]["code"], "unauthorized");
    client.send(auth("only-look-at-r3ad")).await;
    client.next_of("sensors/gd32_version").await;
}

#[test]
fn a_token_file_is_its_owners_alone() {
    use std::{fs, os::unix::fs::PermissionsExt};
    let path = std::env::temp_dir().join(format!("sinew-tokens-{}", std::process::id()));
    fs::write(&path, FILE).expect("is written");
    for (mode, works) in [(0o600, true), (0o400, true), (0o644, false), (0o640, false)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("is ours");
        let loaded = Tokens::load(&path);
        assert_eq!(loaded.is_ok(), works, "{mode:o}");
        if let Err(error) = loaded {
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }
    fs::remove_file(&path).expect("is there");
}

#[tokio::test]
async fn a_message_of_a_reader_over_64_kib_is_skipped_and_the_next_one_heard() {
    let server = start();
    let mut client = server.lines().await;
    client.ok(auth("only-look-at-r3ad")).await;
    let topics = vec!["state"; 60_000];
    client.send(json!({ "type": "Subscribe", "topics": topics })).await;
    assert_eq!(client.next().await["error"]["code"], "too_large");
    client.ok(json!({ "type": "Stop" })).await;
    let read = [("Authorization", "Bearer only-look-at-r3ad")];
    let long = json!({ "type": "Subscribe", "topics": topics });
    assert_eq!(post(server.http(), &long, &read).await.0, 413);
}

#[tokio::test]
async fn without_a_token_four_kilobytes_are_heard() {
    let server = start();
    let mut client = server.lines().await;
    client.send_bytes(&[b' '; 5000]).await;
    assert_eq!(client.next().await["error"]["code"], "too_large");
    assert_eq!(client.try_next().await, None);
}

#[tokio::test]
async fn wrong_tokens_are_answered_once_a_second_and_right_ones_at_once() {
    let server = start();
    let begin = std::time::Instant::now();
    let mut guessers = Vec::new();
    for _ in 0..3 {
        let mut guesser = server.lines().await;
        guesser.send(auth("wrong")).await;
        guessers.push(guesser);
    }
    let mut right = server.lines().await;
    right.ok(auth("all-of-it-c0ntrol")).await;
    right.ok(led(1)).await;
    let at_once = begin.elapsed();
    for guesser in &mut guessers {
        assert_eq!(guesser.next().await["error"]["code"], "unauthorized");
    }
    // Three answers take two seconds, whichever client asks; the right one came before the second.
    assert!(begin.elapsed() >= Duration::from_secs(2) && at_once < begin.elapsed() / 2);
}

#[tokio::test]
async fn legacy_open_needs_no_token_and_is_told() {
    let config = Config { tcp: everywhere(), legacy_open: true, ..local() };
    let server = start_with(config, &[("vacuum", Double::new())]);
    let mut address = server.at.tcp.expect("listens");
    address.set_ip([127, 0, 0, 1].into());
    let mut client = Legacy(tokio::net::TcpStream::connect(address).await.expect("connects"));
    client.send(json!({ "type": "Robots", "req": 1 })).await;
    let answer = client.next_of("reply").await;
    let warning = answer["data"]["warnings"][0].as_str().expect("is told");
    assert!(warning.contains("legacy_open"), "{warning}");
    let mut client = Client::connect(address).await;
    client.ok(led(1)).await;
}

#[tokio::test]
async fn http_takes_bearer_tokens() {
    let server = start();
    let read = [("Authorization", "Bearer only-look-at-r3ad")];
    let control = [("Authorization", "bearer all-of-it-c0ntrol")];
    for path in ["/api/v1/robots", "/api/v1/robots/vacuum", "/metrics"] {
        assert_eq!(get(server.http(), path, &[]).await.0, 401, "{path}");
        assert_eq!(get(server.http(), path, &read).await.0, 200, "{path}");
    }
    let wrong = [("Authorization", "Bearer wrong")];
    assert_eq!(get(server.http(), "/metrics", &wrong).await.0, 401);
    assert_eq!(post(server.http(), &led(1), &wrong).await.0, 401);
    assert_eq!(post(server.http(), &led(1), &[]).await.0, 401);
    assert_eq!(post(server.http(), &led(1), &read).await.0, 403);
    assert_eq!(post(server.http(), &json!({ "type": "Stop" }), &read).await.0, 200);
    assert_eq!(post(server.http(), &led(1), &control).await.0, 200);
    assert_eq!(server.robot.calls().len(), 2);
}

#[tokio::test]
async fn a_websocket_takes_its_token_from_the_address_or_the_first_message() {
    use futures_util::{SinkExt, StreamExt};
    use tokio_tungstenite::{connect_async, tungstenite::Message};
    let server = start();
    for (query, first) in [
        ("?token=only-look-at-r3ad", None),
        ("?token=only-look-at-r3%61d", None),
        ("", Some(auth("only-look-at-r3ad"))),
    ] {
        let address = format!("ws://{}/ws{query}", server.http());
        let (mut socket, _) = connect_async(address).await.expect("connects");
        if let Some(message) = first {
            socket.send(Message::text(message.to_string())).await.expect("is connected");
        }
        let ask = json!({ "type": "Robots", "req": 1 }).to_string();
        socket.send(Message::text(ask)).await.expect("is connected");
        let answer = socket.next().await.expect("comes").expect("is valid");
        let answer: Value =
            serde_json::from_str(answer.to_text().expect("is text")).expect("is JSON");
        assert_eq!(answer["ok"], true, "{answer}");
    }
    let (status, _) = request(
        server.http(),
        "GET /ws?token=wrong",
        &[
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ],
        b"",
    )
    .await;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn loopback_needs_none() {
    let config = Config { tokens: tokens(), ..local() };
    let server = start_with(config, &[("vacuum", Double::new())]);
    let mut client = server.lines().await;
    client.ok(led(1)).await;
    client.ok(auth("only-look-at-r3ad")).await;
    client.fails(led(1), "unauthorized").await;
}
