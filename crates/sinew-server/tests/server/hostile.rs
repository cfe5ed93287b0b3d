use futures_util::StreamExt;
use serde_json::{Value, json};
use sinew_server::Config;
use tokio::{
    io::AsyncWriteExt,
    time::{Duration, timeout},
};

use crate::support::{Call, DEADLINE, Double, control, drive, led, local, post, start, start_with};

#[tokio::test]
async fn a_bad_message_costs_nothing_but_an_error() {
    let server = start();
    let mut client = server.lines().await;
    client.ok(json!({ "type": "Robots" })).await;
    let deep = "[".repeat(60_000);
    let bad: [&[u8]; 9] = [
        b"{",
        b"\xFF\xFE{}",
        b"{\"type\":\"\xFF\"}",
        b"{\"type\":\"Stop\"} {\"type\":\"Stop\"}",
        b"null garbage",
        b"\0\0\0\x02{}",
        b"{\"type\":1e999}",
        b"{\"type\":\"Stop\",\"type\":\"Stop\"}",
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
    client.ok(json!({ "type": "Robots" })).await;
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
    client.ok(json!({ "type": "Robots" })).await;
    let req = "x".repeat((1 << 20) - 100);
    client.send(json!({ "type": "Robots", "req": req })).await;
    assert_eq!(client.next().await["req"], req);
}

#[tokio::test]
async fn a_browsers_form_cannot_drive() {
    let server = start();
    for first in ["POST / HTTP/1.1\r\nHost: x\r\n\r\n", "a=1&b=\n", "--boundary\r\n"] {
        let mut client = server.lines().await;
        client.send_bytes(format!("{first}{}\n", drive(0.3, 0.0)).as_bytes()).await;
        loop {
            match client.next().await["error"]["code"].as_str() {
                Some("invalid_json") => {}
                code => break assert_eq!(code, Some("unauthorized"), "{first}"),
            }
        }
        client.ok(json!({ "type": "Stop" })).await;
        client.fails(drive(0.1, 0.0), "unauthorized").await;
    }
    assert_eq!(server.robot.calls().len(), 3);
}

#[tokio::test]
async fn a_stop_in_a_browsers_form_does_not_let_the_rest_of_it_drive() {
    let server = start();
    for _ in 0..20 {
        let mut client = server.lines().await;
        let stop = json!({ "type": "Stop" });
        let (enable, drive) = (control("drive", "Enable"), drive(0.3, 0.0));
        let form = format!("POST / HTTP/1.1\r\n\r\n{stop}\n{enable}\n{drive}\n");
        client.send_bytes(form.as_bytes()).await;
        for code in ["invalid_json", "unauthorized", "unauthorized"] {
            assert_eq!(client.next().await["error"]["code"], code);
        }
    }
    let stops = server.robot.calls();
    assert!(stops.len() == 20 && stops.iter().all(|call| matches!(call, Call::Stop(_))));
}

#[tokio::test]
async fn silent_clients_that_close_their_own_direction_are_no_more_than_others() {
    let server = start();
    let mut silent = Vec::new();
    for _ in 0..20 {
        let mut client = server.legacy().await;
        client.next_of("sensors/gd32_version").await;
        client.0.shutdown().await.expect("is connected");
        silent.push(client);
    }
    for client in &mut silent {
        assert_eq!(client.try_next().await, None, "it has gone");
    }
}

#[tokio::test]
async fn what_a_client_half_closed_behind_is_answered() {
    let server = start();
    for (text, wanted) in [("{\"type\":\"Robots\",\"req\":1}\n", "Reply"), ("rubbish\n", "Error")] {
        let mut client = server.lines().await;
        client.send_bytes(text.as_bytes()).await;
        client.writer.shutdown().await.expect("is connected");
        assert_eq!(client.next().await["type"], wanted);
        assert_eq!(client.try_next().await, None);
    }
    for state in 0..20 {
        let mut client = server.lines().await;
        let mut message = led(state);
        message["req"] = "led".into();
        client.send(message).await;
        client.writer.shutdown().await.expect("is connected");
        assert_eq!(client.next().await["ok"], true, "it is done and answered");
        assert_eq!(client.try_next().await, None);
    }
    let done = server.robot.calls().iter().filter(|call| matches!(call, Call::Execute(..))).count();
    assert_eq!(done, 20);
}

#[tokio::test]
async fn messages_that_only_look_like_a_stop_are_answered_as_any_other() {
    let server = start();
    let mut client = server.lines().await;
    for number in 0..40 {
        client
            .fails(json!({ "type": "Robots", "Stop": number, "x": "Stop" }), "invalid_argument")
            .await;
    }
    // Not looked into before its turn any more, and a stop all the same.
    client.ok(json!({ "type": "Stop" })).await;
    assert_eq!(server.robot.calls(), [Call::Stop(client.name.clone())]);
}

#[tokio::test]
async fn when_all_seats_are_taken_a_client_may_still_stop() {
    let server = start_with(Config { max_clients: 2, ..local() }, &[("vacuum", Double::new())]);
    let (mut first, mut second) = (server.lines().await, server.lines().await);
    first.ok(json!({ "type": "Robots" })).await;
    second.ok(json!({ "type": "Robots" })).await;
    let mut third = server.lines().await;
    assert!(third.fails(json!({ "type": "Robots" }), "busy").await.contains("stopping"));
    third.ok(json!({ "type": "Stop" })).await;
    third.fails(led(1), "busy").await;
    let (status, _) = post(server.http(), &led(1), &[]).await;
    assert_eq!(status, 409);
    assert_eq!(post(server.http(), &json!({ "type": "Stop" }), &[]).await.0, 200);
    assert_eq!(server.robot.calls(), [Call::Stop(third.name.clone()), Call::Stop("http".into())]);
    drop(second);
    let begin = std::time::Instant::now();
    while third.ask(json!({ "type": "Robots" })).await["ok"] != true {
        assert!(begin.elapsed() < DEADLINE, "there is a seat");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    first.ok(json!({ "type": "Robots" })).await;
}

#[tokio::test]
async fn a_stranger_has_five_seconds_and_little_room() {
    let server = start();
    let begin = std::time::Instant::now();
    let (mut silent, mut rude) = (server.lines().await, server.lines().await);
    rude.send(json!({ "type": "Nonsense" })).await;
    rude.next().await;
    let mut known = server.lines().await;
    known.ok(json!({ "type": "Robots" })).await;
    let page = format!("ws://{}/ws", server.http());
    let (mut page, _) = tokio_tungstenite::connect_async(page).await.expect("connects");
    let mut long = server.lines().await;
    long.send_bytes(&vec![b'x'; 65 << 10]).await;
    assert_eq!(long.next().await["error"]["code"], "too_large");
    assert_eq!(long.try_next().await, None::<Value>);
    assert_eq!(silent.try_next().await, None::<Value>);
    assert_eq!(rude.try_next().await, None::<Value>);
    let last = timeout(DEADLINE, page.next()).await.expect("ends");
    assert!(last.is_none_or(|message| message.is_err()), "a page that says nothing");
    let waited = begin.elapsed();
    assert!((Duration::from_secs(5)..Duration::from_secs(15)).contains(&waited), "{waited:?}");
    known.ok(json!({ "type": "Robots" })).await;
}

#[tokio::test]
async fn a_stop_is_heard_from_a_client_that_does_not_read() {
    let server = start();
    let mut client = server.lines().await;
    let ask = format!("{}\n", json!({ "type": "Robots", "req": "x".repeat(60_000) }));
    // Far more than all buffers on the way hold: answers are left unread, and then commands unheard.
    let write = async {
        for _ in 0..400 {
            client.writer.write_all(ask.as_bytes()).await.expect("is connected");
        }
        client.writer.write_all(b"{\"type\":\"Stop\"}\n").await.expect("is connected");
    };
    timeout(DEADLINE, write).await.expect("what it sends is taken");
    server.robot.called(Call::Stop(client.name.clone())).await;
    let begin = std::time::Instant::now();
    loop {
        assert!(begin.elapsed() < DEADLINE, "it is told that messages were dropped");
        if client.next().await["error"]["code"] == "busy" {
            break;
        }
    }
    client.send(json!({ "type": "Robots", "req": "after" })).await;
    while client.next().await["req"] != "after" {}
}

#[tokio::test]
async fn unknown_members_do_not_keep_a_stop_from_stopping() {
    let server = start();
    let mut client = server.lines().await;
    let data = client.ok(json!({ "type": "Stop", "please": true, "confirm": 7 })).await;
    assert!(data["note"].as_str().is_some_and(|note| note.contains("please")), "{data}");
    let mut disable = control("drive", "Disable");
    disable["please"] = true.into();
    disable["action"]["now"] = true.into();
    client.ok(disable).await;
    let mut reset = control("drive", "Reset");
    reset["action"]["config"] = json!({ "hard": true });
    client.ok(reset).await;
    client.ok(json!({ "type": "Stop", "robot": 7 })).await;
    let (stop, disable) = (Call::Stop(client.name.clone()), Call::Disable(client.name.clone()));
    assert_eq!(server.robot.calls(), [stop.clone(), disable, stop.clone(), stop]);
}

#[tokio::test]
async fn repeated_topics_are_one_subscription() {
    let server = start();
    let mut client = server.lines().await;
    let topics = vec!["state"; 200];
    let data = client.ok(json!({ "type": "Subscribe", "topics": topics })).await;
    assert_eq!(data, json!([{ "robot": "vacuum", "topic": "state" }]));
    assert_eq!(client.event("state").await["robot"], "vacuum");
    let topics = vec!["state"; 10_000];
    client.fails(json!({ "type": "Subscribe", "topics": topics }), "invalid_argument").await;
    // Had it greeted for each topic, the next message would be a state.
    client.send(json!({ "type": "Robots", "req": "after" })).await;
    assert_eq!(client.next().await["req"], "after");
}

#[tokio::test]
async fn what_looks_like_a_number_is_not_always_one() {
    let server = start();
    let mut client = server.lines().await;
    for command in ["+6", "-6", "0x+6", " 6", "0x", "0x066f", ""] {
        let raw = json!({ "type": "Raw", "command": command, "payload": "", "confirm": true });
        client.fails(raw, "invalid_argument").await;
    }
    assert_eq!(server.robot.calls(), []);
}

#[tokio::test]
async fn names_have_nothing_that_turns_the_writing_round() {
    let server = start();
    let mut client = server.lines().await;
    for name in ["a\u{1B}[2J", "a\u{202E}b", "\u{2066}x", "x\u{200F}", "\u{9B}31m", "a\u{2028}b"] {
        client.fails(json!({ "type": "Auth", "name": name }), "invalid_argument").await;
        client.fails(json!({ "type": "TakeControl", "name": name }), "invalid_argument").await;
    }
    client.ok(json!({ "type": "Auth", "name": "Zoë ✓ ユキ" })).await;
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
