//! What stands between a client and a robot: other forms of SDP.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    thread,
    time::Duration,
};

use sinew_io::{Habits, WebRtcOptions, WebRtcServerOptions};
use sinew_wire::unitree::signal::{Answer, Offer};

use super::{
    bench::{Caller, Robot, connect, robot_options},
    hostile::request,
};

/// Stands between a client and a robot of old firmware, whose signalling is in the clear: it puts
/// its own addresses into their SDP, and passes their datagrams on.
struct Between {
    address: SocketAddr,
}

#[derive(Clone)]
struct Way {
    robot: SocketAddr,
    /// Changes the client's SDP, and the robot's.
    change: [fn(&str) -> String; 2],
}

impl Between {
    fn new(robot: SocketAddr, change: [fn(&str) -> String; 2]) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let way = Way { robot, change };
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let request = request(&mut stream);
                let (_, body) = request.split_once("\r\n\r\n").unwrap_or_default();
                let body = Offer::parse(body.as_bytes()).ok().and_then(|offer| way.pass(offer));
                let text = match body {
                    Some(body) => {
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
                    }
                    None => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".into(),
                };
                let _ = stream.write_all(text.as_bytes());
            }
        });
        Between { address }
    }

    fn caller(&self) -> Caller {
        Caller::with(WebRtcOptions {
            host: self.address.ip().to_string(),
            port: Some(self.address.port()),
            key: None,
            interface: Some("127.0.0.1".into()),
        })
    }
}

impl Way {
    /// Has an offer answered, with sockets of ours in between.
    fn pass(&self, mut offer: Offer) -> Option<String> {
        let [near, far] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let client = through(&mut offer.sdp, far.local_addr().ok()?)?;
        offer.sdp = self.change[0](&offer.sdp);
        let body = offer.emit();
        let mut stream = TcpStream::connect(self.robot).ok()?;
        let length = body.len();
        let request = format!("POST /offer HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let (_, body) = text.split_once("\r\n\r\n")?;
        let Ok(Answer::Sdp(mut sdp)) = Answer::parse(body.as_bytes()) else {
            return Some(body.into());
        };
        let robot = through(&mut sdp, near.local_addr().ok()?)?;
        relay(near.try_clone().ok()?, far.try_clone().ok()?, robot);
        relay(far, near, client);
        Some(Answer::Sdp(self.change[1](&sdp)).emit())
    }
}

/// Passes on what comes at one socket from the other, until nothing has come for long.
fn relay(from: UdpSocket, by: UdpSocket, to: SocketAddr) {
    from.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((count, _)) = from.recv_from(&mut buffer) {
            let _ = by.send_to(&buffer[..count], to);
        }
    });
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

fn unchanged(sdp: &str) -> String {
    sdp.into()
}

/// The SCTP lines of aiortc up to 1.13 and of others that are as old.
fn old_sctp(sdp: &str) -> String {
    sdp.replace("UDP/DTLS/SCTP webrtc-datachannel", "DTLS/SCTP 5000")
        .replace("a=sctp-port:5000", "a=sctpmap:5000 webrtc-datachannel 65535")
        .replace("a=max-message-size:262144", "a=max-message-size:65536")
}

/// A robot of old firmware.
fn robot(is_active: bool) -> Robot {
    Robot::new(WebRtcServerOptions {
        listen: None,
        listen_old: Some((Ipv4Addr::LOCALHOST, 0).into()),
        interface: Some("127.0.0.1".into()),
        habits: Habits { is_active, ..Habits::default() },
        ..robot_options()
    })
}

#[test]
fn either_form_of_sctp_lines_is_understood_by_both_sides() {
    for change in [[old_sctp, unchanged], [unchanged, old_sctp], [old_sctp, old_sctp]] {
        let mut robot = robot(false);
        let between = Between::new(robot.address(), change);
        let mut caller = between.caller();
        connect(&mut robot, &mut caller);
        assert_eq!(caller.reasons, [""; 0]);
    }
}

#[test]
fn a_robot_that_waits_for_the_client_to_begin_is_found_out() {
    // To an offer of the old form our robot does not begin, though it is the DTLS client.
    let mut robot = robot(true);
    let between = Between::new(robot.address(), [old_sctp, unchanged]);
    let mut caller = between.caller();
    connect(&mut robot, &mut caller);
    assert_eq!(caller.reasons.len(), 1, "{:?}", caller.reasons);
    assert!(caller.reasons[0].contains("SCTP"), "{:?}", caller.reasons);
}

#[test]
fn an_answer_may_be_untidy() {
    fn untidy(sdp: &str) -> String {
        let sdp = sdp
            .replace("s=-", "s= ")
            .replace("t=0 0", "t=17 4711\r\ni=a robot\r\nb=AS:500")
            .replace("o=- ", "o=- -")
            .replace("network-cost 999", "network-cost 999 vendor x ufrag y ")
            .replace("a=fingerprint:", "a=fingerprint:sha-1 00:11:22\r\na=fingerprint:");
        let extra = "a=candidate:2 1 udp 1 0.0.0.0 9 typ host\r\na=candidate:3 1 udp 1 \
                     x.local 9 typ host\r\na=candidate:4 1 tcp 1 127.0.0.1 9 typ host\r\n\
                     a=\r\nk=clear\r\n\r\n";
        let without: String = sdp
            .lines()
            .filter(|line| !line.starts_with("a=group:"))
            .map(|line| format!("{line}\n"))
            .collect();
        without + extra
    }
    let mut robot = robot(true);
    let between = Between::new(robot.address(), [unchanged, untidy]);
    let mut caller = between.caller();
    connect(&mut robot, &mut caller);
    assert_eq!(caller.reasons, [""; 0]);
}
