//! A network that loses datagrams.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use sinew_io::{Habits, Link, WebRtcOptions, WebRtcServerOptions};
use sinew_sim::g1::What;
use sinew_wire::unitree::{
    Form,
    signal::{Answer, Offer},
};

use super::{
    bench::{Caller, Robot, robot_options, until},
    hostile::request,
};

/// Stands between a client and a robot of old firmware, whose signalling is in the clear: it puts
/// its own addresses into their SDP, and passes their datagrams on, but not all.
struct Lossy {
    address: SocketAddr,
}

impl Lossy {
    fn new(robot: SocketAddr, percent: u64, seed: u64) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let chance = Arc::new(Mutex::new(seed | 1));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let request = request(&mut stream);
                let (_, body) = request.split_once("\r\n\r\n").unwrap_or_default();
                let body = match Offer::parse(body.as_bytes()) {
                    Ok(offer) => pass(robot, offer, percent, &chance),
                    Err(_) => None,
                };
                let text = match body {
                    Some(body) => {
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
                    }
                    None => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".into(),
                };
                let _ = stream.write_all(text.as_bytes());
            }
        });
        Lossy { address }
    }
}

/// Has an offer answered, with sockets of ours in between.
fn pass(
    robot: SocketAddr,
    mut offer: Offer,
    percent: u64,
    chance: &Arc<Mutex<u64>>,
) -> Option<String> {
    let [near, far] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let client = through(&mut offer.sdp, far.local_addr().ok()?)?;
    let body = offer.emit();
    let mut stream = TcpStream::connect(robot).ok()?;
    let length = body.len();
    let request = format!("POST /offer HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (_, body) = text.split_once("\r\n\r\n")?;
    let Ok(Answer::Sdp(mut sdp)) = Answer::parse(body.as_bytes()) else { return Some(body.into()) };
    let robot = through(&mut sdp, near.local_addr().ok()?)?;
    relay(near.try_clone().ok()?, far.try_clone().ok()?, robot, percent, Arc::clone(chance));
    relay(far, near, client, percent, Arc::clone(chance));
    Some(Answer::Sdp(sdp).emit())
}

/// Replaces the address of all candidates, which is one, and gives it.
fn through(sdp: &mut String, ours: SocketAddr) -> Option<SocketAddr> {
    let line = sdp.lines().find(|line| line.starts_with("a=candidate:"))?;
    let mut words = line.split(' ').skip(4);
    let (ip, port) = (words.next()?, words.next()?);
    let theirs = format!("{ip}:{port}").parse().ok()?;
    *sdp = sdp.replace(&format!(" {ip} {port} "), &format!(" {} {} ", ours.ip(), ours.port()));
    Some(theirs)
}

/// Passes on what comes at one socket from the other, until nothing has come for long.
fn relay(from: UdpSocket, by: UdpSocket, to: SocketAddr, percent: u64, chance: Arc<Mutex<u64>>) {
    from.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((count, _)) = from.recv_from(&mut buffer) {
            let mut state = chance.lock().unwrap();
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            if *state % 100 >= percent {
                let _ = by.send_to(&buffer[..count], to);
            }
        }
    });
}

#[test]
fn a_channel_comes_about_and_loses_nothing_where_datagrams_are_lost() {
    for (seed, is_active) in [(1, true), (2, false)] {
        let mut robot = Robot::new(WebRtcServerOptions {
            listen: None,
            listen_old: Some((Ipv4Addr::LOCALHOST, 0).into()),
            interface: Some("127.0.0.1".into()),
            habits: Habits { is_active, ..Habits::default() },
            ..robot_options()
        });
        let lossy = Lossy::new(robot.address(), 5, seed);
        let mut caller = Caller::with(WebRtcOptions {
            host: lossy.address.ip().to_string(),
            port: Some(lossy.address.port()),
            key: None,
            interface: Some("127.0.0.1".into()),
        });
        let begin = Instant::now();
        until(&mut robot, &mut caller, "no channel", |robot, caller| {
            caller.link.is_open() && robot.count(What::Opened) > 0
        });
        eprintln!("{is_active}: {:?} {:?}", begin.elapsed(), caller.reasons);
        robot.heard.clear();
        for number in 0..50 {
            caller.send(&format!("{number}"));
            robot.send(What::Message(Form::Text), format!("{number}").as_bytes()).unwrap();
        }
        until(&mut robot, &mut caller, "lost", |robot, caller| {
            robot.heard.len() >= 50 && caller.heard.len() >= 50
        });
        for number in 0..50 {
            assert_eq!(robot.heard[number].1, format!("{number}").into_bytes());
            assert_eq!(caller.heard[number].1, format!("{number}").into_bytes());
        }
    }
}
