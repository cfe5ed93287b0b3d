//! The map that is made here, as a file by HTTP.

use std::io::ErrorKind;

use serde_json::{Value, json};
use sinew_robot::{Code, mapping::Format};
use sinew_server::{Config, Tokens};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::{DEADLINE, Double, Running, get, led, local, request, start_with, until};

fn start() -> Running {
    start_with(local(), &[("g1", Double::mapper()), ("rock", Double::rock())])
}

fn path(format: &str) -> String {
    format!("/api/v1/robots/g1/map?format={format}")
}

/// Asks, and gives the socket.
async fn ask(server: &Running, line: &str) -> TcpStream {
    let mut socket = TcpStream::connect(server.http()).await.expect("connects");
    let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    socket.write_all(head.as_bytes()).await.expect("is connected");
    socket
}

/// The head, in small letters, and the body.
async fn answer(mut socket: TcpStream) -> (String, String) {
    let mut answer = String::new();
    let read = timeout(DEADLINE, socket.read_to_string(&mut answer)).await;
    read.expect("is answered").expect("is text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("has a head");
    (head.to_ascii_lowercase(), body.to_owned())
}

#[tokio::test]
async fn a_map_is_given_in_each_format_and_says_what_it_is() {
    let server = start();
    for (format, kind, name) in [
        ("pcd", "application/octet-stream", "g1-map.pcd"),
        ("pcd-ascii", "application/octet-stream", "g1-map.pcd"),
        ("pcd-compressed", "application/octet-stream", "g1-map.pcd"),
        ("ply", "application/octet-stream", "g1-map.ply"),
        ("pgm", "image/x-portable-graymap", "g1-map.pgm"),
        ("png", "image/png", "g1-map.png"),
    ] {
        let (head, body) = answer(ask(&server, &format!("GET {}", path(format))).await).await;
        assert_eq!(body, format);
        for line in [
            "http/1.1 200 ok".to_owned(),
            format!("content-type: {kind}"),
            format!("content-disposition: attachment; filename=\"{name}\""),
            format!("content-length: {}", format.len()),
            "cache-control: no-store".to_owned(),
        ] {
            assert!(head.lines().any(|found| found == line), "{line} in {head}");
        }
        let (looked, nothing) = answer(ask(&server, &format!("HEAD {}", path(format))).await).await;
        let dated = |head: &str| {
            head.lines().filter(|line| !line.starts_with("date")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((dated(&looked), nothing.as_str()), (dated(&head), ""));
    }
}

#[tokio::test]
async fn a_long_one_comes_whole() {
    let server = start();
    server.robot.pad_exports(5 << 20);
    let (status, body) = get(server.http(), &path("ply"), &[]).await;
    assert_eq!((status, body.len()), (200, (5 << 20) + 3));
    assert!(body.starts_with("ply..") && body.ends_with(".."));
}

#[tokio::test]
async fn what_cannot_be_given_is_said() {
    let server = start();
    let all = Format::ALL.map(Format::name).join(", ");
    for (address, status, code, said) in [
        (path("stl"), 400, "invalid_argument", format!("wanted one of {all}, got \"stl\"")),
        (path(""), 400, "invalid_argument", all.clone()),
        ("/api/v1/robots/g1/map".into(), 400, "invalid_argument", "got nothing".into()),
        ("/api/v1/robots/g1/map?formats=ply".into(), 400, "invalid_argument", all.clone()),
        ("/api/v1/robots/other/map?format=ply".into(), 404, "not_found", "other".into()),
        ("/api/v1/robots/rock/map?format=ply".into(), 501, "unsupported", "cannot map".into()),
    ] {
        let (got, body) = get(server.http(), &address, &[]).await;
        let body: Value = serde_json::from_str(&body).expect("is JSON");
        assert_eq!((got, &body["error"]["code"]), (status, &json!(code)), "{address}: {body}");
        let message = body["error"]["message"].as_str().expect("has a message");
        assert!(message.contains(&said), "{said} in {message}");
    }
    let (status, _) = request(server.http(), &format!("POST {}", path("ply")), &[], b"").await;
    assert_eq!(status, 405);
    for (code, status) in [(Code::NotReady, 409), (Code::LinkLost, 503), (Code::TooLarge, 413)] {
        server.robot.refuse(code);
        let (got, body) = get(server.http(), &path("ply"), &[]).await;
        assert_eq!((got, body.contains("as told")), (status, true), "{body}");
    }
}

#[tokio::test]
async fn two_are_made_at_a_time_and_the_server_answers_meanwhile() {
    let server = start();
    let hanging = server.robot.hang_until_told();
    let mut waiting = Vec::new();
    for _ in 0..5 {
        waiting.push(ask(&server, &format!("GET {}", path("png"))).await);
    }
    until("two exports", || server.robot.exports().0 == 2).await;
    // They wait for nothing but the processor, and hold up no other client's work: this test and the
    // server share one thread.
    for _ in 0..20 {
        assert_eq!(get(server.http(), "/api/v1/robots/g1", &[]).await.0, 200);
    }
    // One that does not wait any longer makes no room, since its file is still made.
    drop(waiting.remove(0));
    assert_eq!(get(server.http(), "/api/v1/robots", &[]).await.0, 200);
    assert_eq!(server.robot.exports(), (2, 2));
    drop(hanging);
    for socket in waiting {
        assert_eq!(answer(socket).await.1, "png");
    }
    assert_eq!(server.robot.exports(), (0, 2));
}

#[tokio::test]
async fn a_file_that_is_not_fetched_keeps_its_room_until_its_client_goes() {
    let server = start();
    server.robot.pad_exports(64 << 20);
    // More than the sockets hold, and not read.
    let mut idle = Vec::new();
    for _ in 0..2 {
        let socket = ask(&server, &format!("GET {}", path("png"))).await;
        let readable = timeout(DEADLINE, socket.readable()).await;
        readable.expect("an answer comes").expect("is connected");
        idle.push(socket);
    }
    server.robot.pad_exports(0);
    let third = ask(&server, &format!("GET {}", path("ply"))).await;
    for _ in 0..50 {
        assert_eq!(get(server.http(), "/api/v1/robots", &[]).await.0, 200);
    }
    let early = third.try_read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(early, Err(ErrorKind::WouldBlock), "there is no room for it yet");
    idle.pop();
    assert_eq!(answer(third).await.1, "ply");
}

#[tokio::test]
async fn a_token_for_reading_is_needed_and_enough() {
    let tokens = Tokens::parse("read only-look-at-r3ad\n").expect("is a file");
    let any = Some(([0, 0, 0, 0], 0).into());
    let config = Config { http: any, tcp: None, lines: None, tokens, ..local() };
    let mut server = start_with(config, &[("g1", Double::mapper())]);
    server.at.http.as_mut().expect("listens").set_ip([127, 0, 0, 1].into());
    assert_eq!(get(server.http(), &path("ply"), &[]).await.0, 401);
    let token = [("Authorization", "Bearer only-look-at-r3ad")];
    assert_eq!(get(server.http(), &path("ply"), &token).await, (200, "ply".to_owned()));
    let save = json!({ "type": "Mapping", "op": "save", "format": "ply" }).to_string();
    let line = "POST /api/v1/robots/g1/commands";
    let (status, reply) = request(server.http(), line, &token, save.as_bytes()).await;
    assert_eq!(status, 200, "{reply}");
}

#[tokio::test]
async fn save_says_where_the_file_is_and_there_it_is() {
    let server = start_with(local(), &[("G1_of-a.b", Double::mapper()), ("v", Double::new())]);
    let mut client = server.lines().await;
    // Another holds the controls, which it does not need.
    let mut holder = server.lines().await;
    holder.ok(json!({ "type": "TakeControl", "robot": "G1_of-a.b" })).await;
    holder.ok(led(1)).await;
    for format in Format::ALL.map(Format::name) {
        let save = json!({ "type": "Mapping", "op": "save", "format": format });
        let data = client.ok(save).await;
        let path = format!("/api/v1/robots/G1_of-a.b/map?format={format}");
        assert_eq!(data, json!({ "op": "save", "format": format, "path": path }));
        assert_eq!(get(server.http(), &path, &[]).await, (200, format.to_owned()));
    }
    server.robot.refuse(Code::NotReady);
    let save = json!({ "type": "Mapping", "op": "save", "format": "ply" });
    client.fails(save, "not_ready").await;
}
