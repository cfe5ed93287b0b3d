use serde_json::{Value, json};
use sinew_robot::{Code, vacuum::Command};

use sinew_server::{Config, Tokens};

use crate::support::{
    Call, Double, control, drive, get, led, local, post, request, start, start_with,
};

fn parse(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| panic!("not JSON: {body}"))
}

#[tokio::test]
async fn robots_can_be_looked_at() {
    let server = start();
    let (status, body) = get(server.http(), "/api/v1/robots", &[]).await;
    assert_eq!((status, &parse(&body)["robots"][0]["name"]), (200, &json!("vacuum")));
    let (status, body) = get(server.http(), "/api/v1/robots/vacuum", &[]).await;
    assert_eq!((status, &parse(&body)["kind"]), (200, &json!("double")));
    let (status, body) = get(server.http(), "/api/v1/robots/toaster", &[]).await;
    assert_eq!((status, &parse(&body)["error"]["code"]), (404, &json!("not_found")));
    let (status, body) = get(server.http(), "/nowhere", &[]).await;
    assert_eq!((status, &parse(&body)["error"]["code"]), (404, &json!("not_found")));
    let (status, body) = request(server.http(), "DELETE /api/v1/robots", &[], b"").await;
    assert_eq!((status, &parse(&body)["error"]["code"]), (405, &json!("unsupported")));
}

#[tokio::test]
async fn the_page_needs_no_token_and_may_use_nothing_from_elsewhere() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = start();
    let head = async |line: &str| {
        let mut socket = tokio::net::TcpStream::connect(server.http()).await.expect("connects");
        let request =
            format!("GET / HTTP/1.1\r\nHost: {}\r\n{line}Connection: close\r\n\r\n", server.http());
        socket.write_all(request.as_bytes()).await.expect("is taken");
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await.expect("is answered");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        answer.split_once("\r\n\r\n").map(|(head, body)| (head.to_owned(), body.to_owned()))
    };
    let (first, body) = head("").await.expect("has a head");
    for wanted in ["HTTP/1.1 200", "default-src 'none'", "nosniff", "frame-ancestors 'none'"] {
        assert!(first.contains(wanted), "{wanted}: {first}");
    }
    assert!(!first.contains("unsafe"), "{first}");
    // With the dashboard in it, or a page that says how to get it.
    match first.lines().find_map(|line| line.strip_prefix("etag: ")) {
        Some(tag) => {
            let line = format!("If-None-Match: W/\"other\", {tag}\r\n");
            let (again, _) = head(&line).await.expect("has a head");
            assert!(again.contains("HTTP/1.1 304"), "{again}");
        }
        None => assert!(body.contains("cargo xtask web"), "{body}"),
    }
}

#[tokio::test]
async fn a_post_is_a_command() {
    let server = start();
    let mut message = led(3);
    message["req"] = "r".into();
    let (status, answer) = post(server.http(), &message, &[]).await;
    assert_eq!(status, 200);
    assert_eq!(answer, json!({ "type": "Reply", "req": "r", "ok": true, "data": null }));
    assert_eq!(server.robot.calls(), [Call::Execute(Command::Led { state: 3 }, "http".into())]);
    let (status, answer) = post(server.http(), &json!({ "type": "Stop" }), &[]).await;
    assert_eq!((status, &answer["ok"]), (200, &json!(true)));
    assert_eq!(server.robot.calls()[1], Call::Stop("http".into()));
}

#[tokio::test]
async fn what_needs_a_connection_is_unsupported_by_post() {
    let server = start();
    let tank = json!({ "left": 0.1, "right": 0.1 });
    let action = json!({ "type": "Configure", "config": tank });
    let messages = [
        drive(0.1, 0.0),
        json!({ "type": "ComponentControl", "id": "drive", "action": action }),
        json!({ "type": "Dock" }),
        raw("0x66", "c8 00 00 00 00 00 00 00"),
        raw("67", "01000000"),
        json!({ "type": "TakeControl" }),
        json!({ "type": "Auth", "token": "x" }),
        json!({ "type": "Subscribe", "topics": ["state"] }),
        json!({ "type": "Teach", "op": "list" }),
    ];
    for message in messages {
        let (status, answer) = post(server.http(), &message, &[]).await;
        assert_eq!((status, &answer["error"]["code"]), (501, &json!("unsupported")), "{message}");
    }
    assert_eq!(server.robot.calls(), []);
}

fn raw(command: &str, payload: &str) -> Value {
    json!({ "type": "Raw", "command": command, "payload": payload, "confirm": true })
}

#[tokio::test]
async fn a_stop_is_heard_beside_long_messages_also_in_chunks() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = start();
    let head = "POST /api/v1/robots/vacuum/commands HTTP/1.1\r\nHost: localhost\r\n";
    let open = async |rest: String| {
        let mut socket = tokio::net::TcpStream::connect(server.http()).await.expect("connects");
        socket.write_all(format!("{head}{rest}").as_bytes()).await.expect("is connected");
        socket
    };
    // As many long messages as are read at a time, none of which ends.
    let mut long = Vec::new();
    for _ in 0..8 {
        long.push(open("Content-Length: 1000000\r\n\r\n{".into()).await);
    }
    let stop = r#"{"type":"Stop"}"#;
    let chunks = "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    let mut socket = open(format!("{chunks}{:x}\r\n{stop}\r\n0\r\n\r\n", stop.len())).await;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.expect("is answered");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(server.robot.calls(), [Call::Stop("http".into())]);
}

#[tokio::test]
async fn names_that_lead_here_are_those_that_were_set() {
    let tokens = Tokens::parse("control all-of-it-c0ntrol").expect("is a token file");
    let hosts = vec!["robot.example".into()];
    let config = Config { tokens, hosts, ..local() };
    let server = start_with(config, &[("vacuum", Double::new())]);
    for headers in [
        &[("Host", "evil.example")][..],
        &[("Host", "evil.example:8787")],
        &[("Host", "a{b.example")],
    ] {
        assert_eq!(post(server.http(), &led(2), headers).await.0, 403);
        assert_eq!(get(server.http(), "/ws", headers).await.0, 403);
    }
    for host in ["robot.example", "Robot.Example:8787", "localhost", "127.0.0.1:1"] {
        assert_eq!(post(server.http(), &led(1), &[("Host", host)]).await.0, 200, "{host}");
    }
    assert_eq!(server.robot.calls().len(), 4);
}

#[tokio::test]
async fn errors_have_fitting_statuses() {
    let server = start();
    let line = "POST /api/v1/robots/vacuum/commands";
    let (status, body) = request(server.http(), line, &[], b"{").await;
    assert_eq!((status, &parse(&body)["error"]["code"]), (400, &json!("invalid_json")));
    let (status, body) = request(server.http(), line, &[], &vec![b' '; 2 << 20]).await;
    assert_eq!((status, &parse(&body)["error"]["code"]), (413, &json!("too_large")));
    let (status, answer) = post(server.http(), &control("imu", "Reset"), &[]).await;
    assert_eq!((status, &answer["error"]["code"]), (428, &json!("not_confirmed")));
    let other = json!({ "type": "Stop", "robot": "other" });
    assert_eq!(post(server.http(), &other, &[]).await.0, 400);
    let line = "POST /api/v1/robots/toaster/commands";
    let (status, _) = request(server.http(), line, &[], br#"{"type":"Stop"}"#).await;
    assert_eq!(status, 404);

    let mut holder = server.lines().await;
    holder.ok(json!({ "type": "TakeControl", "name": "ann" })).await;
    let (status, answer) = post(server.http(), &led(1), &[]).await;
    assert_eq!((status, &answer["error"]["code"]), (409, &json!("busy")));
    drop(holder);
    server.robot.called(Call::Release("ann".into())).await;
    for (code, expected) in [(Code::LinkLost, 503), (Code::Unconfirmed, 504), (Code::NotReady, 409)]
    {
        server.robot.refuse(code);
        assert_eq!(post(server.http(), &led(1), &[]).await.0, expected);
    }
}

#[tokio::test]
async fn pages_of_other_hosts_may_not_come_in() {
    let server = start();
    let own = format!("http://{}", server.http());
    assert_eq!(post(server.http(), &led(1), &[("Origin", &own)]).await.0, 200);
    let strangers = [
        &[("Origin", "http://evil.example")][..],
        &[("Origin", "null")],
        &[("Origin", "http://127.0.0.1:1")],
        // A name that was made to lead here.
        &[("Origin", "http://evil.example"), ("Host", "evil.example")],
        &[("Host", "evil.example")],
    ];
    for headers in strangers {
        let (status, answer) = post(server.http(), &led(2), headers).await;
        assert_eq!(
            (status, &answer["error"]["code"]),
            (403, &json!("unauthorized")),
            "{headers:?}"
        );
        assert_eq!(get(server.http(), "/ws", headers).await.0, 403);
    }
    assert_eq!(server.robot.calls().len(), 1);
    assert_eq!(get(server.http(), "/metrics", &[("Host", "localhost:8787")]).await.0, 200);
    assert_eq!(get(server.http(), "/metrics", &[("Host", "[::1]:8787")]).await.0, 200);
}

#[tokio::test]
async fn metrics_show_robots_clients_and_commands() {
    let server = start();
    let mut client = server.lines().await;
    client.ok(led(1)).await;
    client.fails(json!({ "type": "Nonsense" }), "invalid_argument").await;
    let (_, page) = get(server.http(), "/metrics", &[]).await;
    for line in [
        "sinew_robot_link{robot=\"vacuum\",state=\"ready\"} 1",
        "sinew_robot_last_seen_seconds{robot=\"vacuum\"} 0.007",
        "sinew_robot_frames_total{robot=\"vacuum\"} 12",
        "sinew_robot_held{robot=\"vacuum\"} 1",
        "sinew_clients{transport=\"lines\"} 1",
        "sinew_messages_lost_total 0",
        "sinew_commands_total{result=\"ok\"} 1",
        "sinew_commands_total{result=\"invalid_argument\"} 1",
        "# TYPE sinew_commands_total counter",
    ] {
        assert!(page.lines().any(|found| found == line), "{line} in {page}");
    }
}

#[tokio::test]
async fn ws_without_a_handshake_says_what_it_wants() {
    let server = start();
    let (status, body) = get(server.http(), "/ws", &[]).await;
    assert_eq!((status, &parse(&body)["error"]["code"]), (426, &json!("invalid_argument")));
}
