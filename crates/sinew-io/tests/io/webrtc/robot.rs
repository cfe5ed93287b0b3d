//! What a simulated robot does that a client depends on.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket},
    time::{Duration, Instant},
};

use sinew_io::{Both, Link, UdpServer, WebRtcServer, WebRtcServerOptions};
use sinew_sim::g1::{Channel, Peer, What};
use sinew_wire::unitree::Form;

use super::bench::{Caller, Robot, connect, robot_options, until};

/// What a robot answers, up to where it closes the connection.
pub(super) fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn a_robot_closes_the_connection_after_each_answer_and_does_not_say_so() {
    let robot = Robot::usual();
    let request = "POST /con_notify HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    let answer = ask(robot.address(), request);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(!answer.to_lowercase().contains("connection"), "{answer}");
}

#[test]
fn what_is_no_request_for_a_channel_gets_none() {
    let robot = Robot::usual();
    let post = |path: &str, body: &str| {
        let length = body.len();
        format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    for (request, wanted) in [
        (post("/", ""), "HTTP/1.1 404"),
        (post("/offer", "{}"), "HTTP/1.1 404"),
        (post("/con_ing_12", "{}"), "HTTP/1.1 404"),
        ("GET /con_notify HTTP/1.1\r\n\r\n".into(), ""),
        ("\0\0\0\0\r\n\r\n".into(), ""),
        ("POST / HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n".into(), ""),
        ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n".into(), ""),
        (format!("POST / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(20_000)), ""),
    ] {
        let answer = ask(robot.address(), &request);
        let good = if wanted.is_empty() { answer.is_empty() } else { answer.starts_with(wanted) };
        assert!(good, "{request:.60}: {answer}");
    }
}

#[test]
fn a_probe_and_slow_clients_do_not_keep_others_out() {
    let mut robot = Robot::usual();
    drop(TcpStream::connect(robot.address()).unwrap());
    let slow: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = TcpStream::connect(robot.address()).unwrap();
            stream.write_all(b"POST /con_no").unwrap();
            stream
        })
        .collect();
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    drop(slow);
}

#[test]
fn an_offer_that_nothing_follows_frees_the_robot() {
    let listen_old = Some((Ipv4Addr::LOCALHOST, 0).into());
    let mut robot = Robot::new(WebRtcServerOptions { listen: None, listen_old, ..robot_options() });
    let body = super::hostile::offer().replace('\r', "\\r").replace('\n', "\\n");
    let body = format!(r#"{{"id":"","sdp":"{body}","type":"offer","token":""}}"#);
    let length = body.len();
    let request =
        format!("POST /offer HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}");
    let answer = ask(robot.address(), &request);
    assert!(answer.contains(r#""type":"answer""#) && !answer.contains("reject"), "{answer}");
    // It has the look of a real one's.
    for wanted in [
        "a=setup:active",
        "WMS myKvsVideoStream",
        "network-cost 999",
        "a=sctp-port:5000",
        "c=IN IP4 127.0.0.1",
        "a=group:BUNDLE 0 1 2",
    ] {
        assert!(answer.contains(wanted), "{wanted}: {answer}");
    }
    for unwanted in ["max-message-size", "end-of-candidates"] {
        assert!(!answer.contains(unwanted), "{unwanted}: {answer}");
    }
    assert!(ask(robot.address(), &request).contains("reject"), "it is busy");
    let begin = Instant::now();
    loop {
        robot.turn();
        if robot.link.poll_timeout().is_none() && begin.elapsed() > Duration::from_secs(1) {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "it is never free");
    }
    assert!(begin.elapsed() > Duration::from_secs(10), "{:?}", begin.elapsed());
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    assert_eq!(robot.count(What::Closed), 0, "the other never was there");
}

#[test]
fn clouds_do_not_starve_replies_and_the_newest_is_kept() {
    let mut robot = Robot::usual();
    let mut caller = Caller::new(robot.address(), None);
    connect(&mut robot, &mut caller);
    caller.heard.clear();
    // The client does not listen meanwhile.
    let cloud = |number: u8| vec![number; 200_000];
    for number in 0..20 {
        robot.send(What::Message(Form::Binary), &cloud(number)).unwrap();
        robot.send(What::Message(Form::Text), &[number]).unwrap();
    }
    assert!(!robot.link.has_room());
    until(&mut robot, &mut caller, "no room", |robot, caller| {
        robot.link.has_room() && caller.heard.iter().any(|(_, bytes)| *bytes == cloud(19))
    });
    let texts: Vec<_> = caller.heard.iter().filter(|(form, _)| *form == Form::Text).collect();
    let numbers: Vec<_> = texts.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<u8>>(), "replies are whole and in order");
    let clouds = caller.heard.len() - texts.len();
    assert!((1..=3).contains(&clouds), "{clouds}");
}

#[test]
fn datagrams_and_channels_are_one_link() {
    let datagrams = UdpServer::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).unwrap();
    let address = datagrams.address();
    let channels = WebRtcServer::new(robot_options()).unwrap();
    let mut caller = Caller::new(channels.address().unwrap(), None);
    let mut both = Both::new(datagrams, Some(Box::new(channels))).unwrap();
    assert_eq!(both.longest(), 256 << 10);
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    client.send_to(b"datagram", address).unwrap();
    let mut buffer = vec![0; both.longest()];
    let mut heard = Vec::new();
    let begin = Instant::now();
    while heard.len() < 3 {
        let now = Instant::now();
        both.take_events(now).unwrap();
        while let Some((count, peer)) = both.receive(now, &mut buffer).unwrap() {
            if let Peer::Channel(Channel { client, what: What::Opened }) = peer {
                let what = What::Message(Form::Text);
                both.send(now, Peer::Channel(Channel { client, what }), b"hello").unwrap();
            }
            heard.push((peer, buffer[..count].to_vec()));
        }
        both.flush(now).unwrap();
        caller.turn();
        if caller.link.is_open() && !caller.heard.is_empty() && heard.len() == 2 {
            caller.send("message");
            caller.heard.clear();
        }
        assert!(begin.elapsed() < super::bench::LIMIT, "{heard:?} {:?}", caller.reasons);
    }
    let from = client.local_addr().unwrap();
    assert!(heard.contains(&(Peer::Datagram(from), b"datagram".to_vec())), "{heard:?}");
    let what = What::Message(Form::Text);
    let message = (Peer::Channel(Channel { client: 1, what }), b"message".to_vec());
    assert!(heard.contains(&message), "{heard:?}");
    both.send(Instant::now(), Peer::Datagram(from), b"back").unwrap();
    let count = client.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..count], b"back");
}
