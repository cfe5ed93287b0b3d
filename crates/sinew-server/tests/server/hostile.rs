use serde_json::{Value, json};
use sinew_server::Config;
use tokio::{io::AsyncWriteExt, time::Duration};

use crate::support::{Double, drive, led, local, start, start_with};

#[tokio::test]
async fn a_bad_message_costs_nothing_but_an_error() {
    let server = start();
    let mut client = server.lines().await;
    let deep = "[".repeat(100_000);
    let bad: [&[u8]; 8] = [
        b"{",
        b"\xFF\xFE{}",
        b"{\"type\":\"\xFF\"}",
        b"{\"type\":\"Stop\"} {\"type\":\"Stop\"}",
        b"null garbage",
        b"\0\0\0\x02{}",
        b"{\"type\":1e999}",
        deep.as_bytes(),
    ];
    for bytes in bad {
        client.send_bytes(&[bytes, b"\n"].concat()).await;
        let answer = client.next().await;
        assert_eq!(answer["error"]["code"], "invalid_json", "{answer}");
    }
    client.ok(json!({ "type": "Robots" })).await;
    assert_eq!(server.robot.calls(), []);
}

#[tokio::test]
async fn one_byte_at_a_time_is_as_good_as_any() {
    let server = start();
    let mut client = server.lines().await;
    let text = format!("{}\r\n\r\n{}\n", json!({ "type": "Robots", "req": 1 }), led(4));
    for byte in text.bytes() {
        client.send_bytes(&[byte]).await;
    }
    assert_eq!(client.next().await["req"], 1);
    crate::support::until("the led", || server.robot.calls().len() == 1).await;
}

#[tokio::test]
async fn a_message_of_two_mebibytes_is_told_and_ends_only_its_connection() {
    let server = start();
    let (mut client, mut other) = (server.lines().await, server.lines().await);
    let mut message = vec![b' '; 2 << 20];
    message.push(b'\n');
    client.send_bytes(&message).await;
    let answer = client.next().await;
    assert_eq!(answer["error"]["code"], "too_large");
    assert_eq!(client.try_next().await, None::<Value>);
    other.ok(json!({ "type": "Robots" })).await;
}

#[tokio::test]
async fn a_large_message_within_the_limit_is_read() {
    let server = start();
    let mut client = server.lines().await;
    let req = "x".repeat((1 << 20) - 100);
    client.send(json!({ "type": "Robots", "req": req })).await;
    assert_eq!(client.next().await["req"], req);
}

#[tokio::test]
async fn a_browsers_form_cannot_drive() {
    let server = start();
    let mut client = server.lines().await;
    let form = format!("POST / HTTP/1.1\r\nHost: x\r\n\r\n{}\n", drive(0.3, 0.0));
    client.send_bytes(form.as_bytes()).await;
    for code in ["invalid_json", "invalid_json", "unauthorized"] {
        assert_eq!(client.next().await["error"]["code"], code);
    }
    client.ok(json!({ "type": "Stop" })).await;
    assert_eq!(server.robot.calls().len(), 1);
}

#[tokio::test]
async fn clients_over_the_limit_are_turned_away() {
    let server = start_with(Config { max_clients: 2, ..local() }, &[("vacuum", Double::new())]);
    let (mut first, mut second) = (server.lines().await, server.lines().await);
    first.ok(json!({ "type": "Robots" })).await;
    second.ok(json!({ "type": "Robots" })).await;
    let mut third = server.lines().await;
    assert_eq!(third.next().await["error"]["code"], "busy");
    assert_eq!(third.try_next().await, None::<Value>);
    drop(second);
    loop {
        let mut next = server.lines().await;
        next.writer.write_all(b"{\"type\":\"Robots\",\"req\":1}\n").await.expect("is connected");
        if next.next().await["ok"] == true {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    first.ok(json!({ "type": "Robots" })).await;
}

#[tokio::test]
async fn many_connections_disturb_nobody() {
    let server = start();
    let mut idle = Vec::new();
    for _ in 0..500 {
        idle.push(server.lines().await);
    }
    let mut client = server.lines().await;
    client.ok(led(1)).await;
    drop(idle);
    client.ok(led(2)).await;
}
