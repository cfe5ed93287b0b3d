//! The server for Foxglove, without a daemon: its gate.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use sinew_record::live::{Live, Options};

use crate::support::until;

fn start(token: Option<&'static str>) -> (Live, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let options = Options {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        admits: Arc::new(move |shown| token.is_none() || shown == token),
        hosts: Vec::new(),
        on_thread: || (),
        topics: Vec::new(),
    };
    let count = Arc::clone(&asked);
    let connect = move || {
        count.fetch_add(1, Ordering::SeqCst);
        Err(std::io::Error::other("no daemon here"))
    };
    (Live::start(options, connect).unwrap(), asked)
}

fn shake_hands(live: &Live, path: &str, more: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(live.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n{more}\r\n",
        live.address()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n") && stream.read(&mut byte).unwrap() > 0 {
        answer.push(byte[0]);
    }
    (stream, String::from_utf8(answer).unwrap())
}

#[test]
fn the_daemon_is_asked_only_while_a_client_is_there() {
    let (live, asked) = start(None);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    let (stream, answer) = shake_hands(&live, "/", "");
    assert!(answer.contains("101"), "{answer}");
    until("a question", || (asked.load(Ordering::SeqCst) > 0).then_some(()));
    drop(stream);
    drop(live);
}

#[test]
fn pages_of_other_places_and_wrong_tokens_stay_out() {
    let (live, asked) = start(Some("secret-of-16-chars"));
    let (_, answer) = shake_hands(&live, "/", "Origin: https://evil.example\r\n");
    assert!(answer.contains("403"), "{answer}");
    let (_, answer) = shake_hands(&live, "/?token=wrong", "");
    assert!(answer.contains("401"), "{answer}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    let origin = "Origin: https://app.foxglove.dev\r\n";
    let (_, answer) = shake_hands(&live, "/?token=secret-of-16-chars", origin);
    assert!(answer.contains("101"), "{answer}");
}

#[test]
fn more_clients_than_there_are_seats_are_turned_away_and_strangers_do_not_stay() {
    let (live, _) = start(None);
    let silent: Vec<_> = (0..40).map(|_| TcpStream::connect(live.address()).unwrap()).collect();
    // They have five seconds, and are not let in twice.
    let mut inside = Vec::new();
    for _ in 0..16 {
        let (stream, answer) = shake_hands(&live, "/", "");
        assert!(answer.contains("101"), "{answer}");
        inside.push(stream);
    }
    let (_, answer) = shake_hands(&live, "/", "");
    assert!(answer.contains("503"), "{answer}");
    inside.pop();
    until("a seat", || shake_hands(&live, "/", "").1.contains("101").then_some(()));
    drop(silent);
}
