//! What answers that are none, and datagrams of strangers, do to both sides.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    thread,
    time::{Duration, Instant},
};

use sinew_io::Link;
use sinew_sim::g1::{Channel, What};
use sinew_wire::unitree::{Form, signal::Offer};

use super::bench::{Caller, Robot, alone, connect};

/// A server whose connections are each given to `serve`, with what was asked.
fn server(serve: impl Fn(TcpStream, String) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = std::sync::Arc::new(serve);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let serve = std::sync::Arc::clone(&serve);
            thread::spawn(move || {
                let request = request(&mut stream);
                serve(stream, request);
            });
        }
    });
    address
}

pub(super) fn request(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        let Ok(count @ 1..) = stream.read(&mut buffer) else { return text };
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.split("content-length: ").nth(1).and_then(|it| it.lines().next());
        if body.len() >= length.and_then(|it| it.parse().ok()).unwrap_or(0) {
            return text;
        }
    }
}

/// An offer of our client.
pub(super) fn offer() -> String {
    let (tell, told) = std::sync::mpsc::channel();
    let address = server(move |mut stream, request| {
        let (head, body) = request.split_once("\r\n\r\n").unwrap_or_default();
        if head.contains("/con_notify") {
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        } else if let Ok(offer) = Offer::parse(body.as_bytes()) {
            let _ = tell.send(offer);
        }
    });
    let mut caller = Caller::new(address, None);
    let mut offer = None;
    alone(&mut caller, "no offer", |_| {
        offer = told.try_recv().ok();
        offer.is_some()
    });
    offer.unwrap().sdp
}

#[test]
fn an_offer_has_the_shape_that_robots_know() {
    let offer = offer();
    let sections: Vec<_> = offer.split("m=").collect();
    assert_eq!(sections.len(), 4, "{offer}");
    for (section, kind) in sections[1..].iter().zip(["audio", "video", "application"]) {
        assert!(section.starts_with(kind), "{offer}");
        assert!(section.contains("a=candidate:") && section.contains("a=end-of-candidates"));
    }
    for (section, mid) in sections[1..].iter().zip(["a=mid:0\r", "a=mid:1\r", "a=mid:2\r"]) {
        assert!(section.contains(mid), "{offer}");
    }
    assert!(offer.contains("a=group:BUNDLE 0 1 2\r\n"), "{offer}");
    assert!(!offer.contains("trickle") && !offer.contains("sha-384"), "{offer}");
    assert!(sections[1].contains("sendrecv") && sections[2].contains("recvonly"), "{offer}");
    assert!(offer.contains("a=setup:actpass") && offer.contains("a=sctp-port:5000"), "{offer}");
    let values = |name: &str| {
        let all = offer.lines().filter_map(|line| line.strip_prefix(name));
        all.map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
    };
    let (ufrags, passwords) = (values("a=ice-ufrag:"), values("a=ice-pwd:"));
    assert_eq!((ufrags.len(), passwords.len()), (1, 1), "one set of credentials");
    assert!(ufrags.iter().all(|it| it.len() == 4) && passwords.iter().all(|it| it.len() == 22));
    assert!(offer.len() < 6000, "{}", offer.len());
}

#[test]
fn answers_that_are_none_say_so_and_end() {
    let answer = |status: u16, body: &str| {
        format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    for (text, words) in [
        (answer(404, ""), "not a Unitree"),
        (answer(500, ""), "500"),
        (answer(504, r#"{"error":"timeout"}"#), "another client"),
        (answer(200, "hello"), "not a Unitree"),
        (answer(200, "eyJkYXRhMSI6MX0="), "not a Unitree"),
        (answer(301, ""), "301"),
        (answer(200, &"x".repeat(300_000)), "cannot be reached"),
        ("rubbish".into(), "cannot be reached"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort".into(), "cannot be reached"),
        (String::new(), "cannot be reached"),
    ] {
        let shown = text[..text.len().min(60)].to_owned();
        let address = server(move |mut stream, _| drop(stream.write_all(text.as_bytes())));
        let mut caller = Caller::new(address, None);
        alone(&mut caller, &shown, |caller| !caller.reasons.is_empty());
        assert!(caller.reasons[0].contains(words), "{shown}: {:?}", caller.reasons);
    }
}

#[test]
fn a_body_without_end_and_an_answer_that_never_comes_are_given_up() {
    let endless = server(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    });
    let slow = server(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(200));
        }
    });
    let silent = server(|stream, _| {
        // Until the client has gone.
        let _ = (&stream).read(&mut [0; 1]);
    });
    let begin = Instant::now();
    let mut callers = [endless, slow, silent].map(|address| Caller::new(address, None));
    while !callers.iter().all(|caller| !caller.reasons.is_empty()) {
        callers.iter_mut().for_each(Caller::turn);
        thread::yield_now();
        assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    }
    for caller in callers {
        assert!(caller.reasons[0].contains("cannot be reached"), "{:?}", caller.reasons);
    }
}

#[test]
fn a_port_that_is_closed_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut caller = Caller::new(address, None);
    alone(&mut caller, "no reason", |caller| !caller.reasons.is_empty());
    assert!(caller.reasons[0].contains("refused"), "{:?}", caller.reasons);
}

#[test]
fn signalling_that_is_given_up_does_not_pile_up() {
    let silent = server(|stream, _| {
        let _ = (&stream).read(&mut [0; 1]);
    });
    let mut caller = Caller::new(silent, None);
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    for _ in 0..50 {
        caller.turn();
        caller.link.close();
    }
    // Those of the client, and of the server that it holds.
    assert!(threads() <= before + 3 * 2, "{} threads", threads() - before);
    let begin = Instant::now();
    drop(caller);
    assert!(begin.elapsed() < Duration::from_secs(1), "closing waits");
}

#[test]
fn an_answer_that_leads_nowhere_ends_by_itself() {
    // Every line of a good answer left out, doubled or damaged: an error in words, or a connection that
    // comes to nothing, never more.
    let offer = offer();
    let good = format!("{offer}a=setup:active\r\n").replace("a=setup:actpass", "a=setup:active");
    let lines: Vec<_> = good.lines().collect();
    let mut answers: Vec<String> = (0..lines.len())
        .step_by(3)
        .map(|skip| {
            let kept = lines.iter().enumerate().filter(|(index, _)| *index != skip);
            kept.map(|(_, line)| format!("{line}\r\n")).collect()
        })
        .collect();
    answers.extend((0..good.len()).step_by(499).map(|end| good[..end].to_owned()));
    answers.extend([String::new(), "reject ".into(), "v=0\r\n".into(), "\u{0}".repeat(1000)]);
    for answer in answers {
        let body = serde_json::json!({"type": "answer", "sdp": answer}).to_string();
        let address = server(move |mut stream, request| {
            let (status, body) = match request.starts_with("POST /con_notify") {
                true => ("404 Not Found", ""),
                false => ("200 OK", body.as_str()),
            };
            let length = body.len();
            let text = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
            let _ = stream.write_all(text.as_bytes());
        });
        let mut caller = Caller::new(address, None);
        let mut came = None;
        alone(&mut caller, &answer, |caller| {
            // It may look for the way for 15 s; having got so far is enough.
            came = came.or(caller.link.poll_timeout().map(|_| Instant::now()));
            let opening = came.is_some_and(|came| came.elapsed() > Duration::from_millis(20));
            opening || !caller.reasons.is_empty()
        });
        let words = caller.reasons.join(" ");
        let password = answer.lines().find_map(|line| line.strip_prefix("a=ice-pwd:"));
        assert!(!caller.link.is_open(), "{answer}");
        assert!(password.is_none_or(|password| !words.contains(password)), "{words}");
    }
}

#[test]
fn datagrams_of_strangers_change_nothing() {
    let mut robot = Robot::usual();
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    let client = Channel { client: 1, what: What::Opened };
    let ends =
        [caller.link.address_of(Form::Text).unwrap(), robot.link.address_of(client).unwrap()];
    let strangers = ends.map(|end| UdpSocket::bind((end.ip(), 0)).unwrap());
    let mut bytes = 0x9E37_79B9_7F4A_7C15_u64;
    for round in 0..3000_usize {
        let length = round % 1400;
        let mut datagram: Vec<u8> = (0..length)
            .map(|_| {
                bytes ^= bytes << 13;
                bytes ^= bytes >> 7;
                bytes ^= bytes << 17;
                bytes as u8
            })
            .collect();
        // STUN, DTLS of each type, RTP.
        if let Some(first) = datagram.first_mut() {
            *first = [0, 1, 20, 21, 22, 23, 24, 128, 200][round % 9];
        }
        if round % 2 == 0 && length > 13 {
            datagram[1..3].copy_from_slice(&[0xFE, 0xFD]);
            let rest = (length - 13) as u16;
            datagram[11..13].copy_from_slice(&rest.to_be_bytes());
        }
        strangers[round % 2].send_to(&datagram, ends[round % 2]).unwrap();
        if round % 50 == 0 {
            robot.turn();
            caller.turn();
        }
    }
    connect(&mut robot, &mut caller);
    assert_eq!(caller.reasons, [""; 0]);
    assert_eq!(caller.opened, 1);
}
