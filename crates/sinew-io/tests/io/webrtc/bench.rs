//! A client and a robot that take turns on one thread.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sinew_io::{
    Habits, Link, Signalling, WebRtcLink, WebRtcOptions, WebRtcServer, WebRtcServerOptions,
};
use sinew_sim::g1::{Channel, What};
use sinew_wire::unitree::{DeviceKey, Form};

/// A test that takes longer has failed.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn key(digits: &str) -> DeviceKey {
    DeviceKey::from_hex(digits).unwrap()
}

/// A robot as most tests want it: on loopback, on any port, only new signalling.
pub(super) fn robot_options() -> WebRtcServerOptions {
    WebRtcServerOptions {
        listen: Some((Ipv4Addr::LOCALHOST, 0).into()),
        listen_old: None,
        signalling: Signalling::Static,
        interface: Some("lo".into()),
        habits: Habits::default(),
    }
}

pub(super) struct Robot {
    pub(super) link: WebRtcServer,
    buffer: Vec<u8>,
    pub(super) heard: Vec<(What, Vec<u8>)>,
    pub(super) client: u32,
}

impl Robot {
    pub(super) fn new(options: WebRtcServerOptions) -> Self {
        let link = WebRtcServer::new(options).unwrap();
        let buffer = vec![0; link.longest()];
        Robot { link, buffer, heard: Vec::new(), client: 0 }
    }

    pub(super) fn usual() -> Self {
        Self::new(robot_options())
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.link.address().or(self.link.old_address()).unwrap()
    }

    pub(super) fn turn(&mut self) {
        self.link.take_events(Instant::now()).unwrap();
        self.link.flush(Instant::now()).unwrap();
        while let Some((count, Channel { client, what })) =
            self.link.receive(Instant::now(), &mut self.buffer).unwrap()
        {
            if what == What::Opened {
                self.client = client;
            }
            self.heard.push((what, self.buffer[..count].to_vec()));
        }
    }

    pub(super) fn send(&mut self, what: What, bytes: &[u8]) -> std::io::Result<()> {
        self.link.send(Instant::now(), Channel { client: self.client, what }, bytes)
    }

    pub(super) fn count(&self, wanted: What) -> usize {
        self.heard.iter().filter(|(what, _)| *what == wanted).count()
    }
}

pub(super) struct Caller {
    pub(super) link: WebRtcLink,
    buffer: Vec<u8>,
    pub(super) heard: Vec<(Form, Vec<u8>)>,
    /// Why it was down, each time.
    pub(super) reasons: Vec<String>,
    pub(super) opened: usize,
}

impl Caller {
    pub(super) fn new(address: SocketAddr, key: Option<DeviceKey>) -> Self {
        Self::with(WebRtcOptions {
            host: address.ip().to_string(),
            port: Some(address.port()),
            key,
            interface: Some("lo".into()),
        })
    }

    pub(super) fn with(options: WebRtcOptions) -> Self {
        let link = WebRtcLink::new(options).unwrap();
        let buffer = vec![0; link.longest()];
        Caller { link, buffer, heard: Vec::new(), reasons: Vec::new(), opened: 0 }
    }

    pub(super) fn turn(&mut self) {
        let now = Instant::now();
        if self.link.is_open() {
            if let Err(error) = self.link.take_events(now).and_then(|()| self.link.flush(now)) {
                self.reasons.push(error.to_string());
            }
        } else {
            match self.link.open(now) {
                Ok(()) => self.opened += 1,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => self.reasons.push(error.to_string()),
            }
        }
        while self.link.is_open() {
            match self.link.receive(Instant::now(), &mut self.buffer) {
                Ok(None) => break,
                Ok(Some((count, form))) => {
                    self.heard.push((form, self.buffer[..count].to_vec()));
                }
                Err(error) => self.reasons.push(error.to_string()),
            }
        }
    }

    pub(super) fn send(&mut self, text: &str) {
        self.link.send(Instant::now(), Form::Text, text.as_bytes()).unwrap();
    }
}

/// Waits a moment for any of them.
fn rest(links: &[Option<std::os::fd::BorrowedFd<'_>>]) {
    let fds = links.iter().flatten();
    let mut fds: Vec<_> = fds.map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let moment = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
    poll(&mut fds, Some(&moment)).unwrap();
}

/// Both take turns until this is so.
pub(super) fn until(
    robot: &mut Robot,
    caller: &mut Caller,
    what: &str,
    mut done: impl FnMut(&mut Robot, &mut Caller) -> bool,
) {
    let begin = Instant::now();
    while !done(robot, caller) {
        rest(&[robot.link.events(), caller.link.events()]);
        robot.turn();
        caller.turn();
        assert!(begin.elapsed() < LIMIT, "{what}; the client says {:?}", caller.reasons);
    }
}

/// The client takes turns alone until this is so.
pub(super) fn alone(caller: &mut Caller, what: &str, mut done: impl FnMut(&Caller) -> bool) {
    let begin = Instant::now();
    while !done(caller) {
        rest(&[caller.link.events()]);
        caller.turn();
        assert!(begin.elapsed() < LIMIT, "{what}; the client says {:?}", caller.reasons);
    }
}

/// Until there is a channel, and a message has passed each way.
pub(super) fn connect(robot: &mut Robot, caller: &mut Caller) {
    until(robot, caller, "no channel", |robot, caller| {
        caller.link.is_open() && robot.count(What::Opened) > 0
    });
    let before = (robot.heard.len(), caller.heard.len());
    robot.send(What::Message(Form::Text), b"challenge").unwrap();
    caller.send("answer");
    until(robot, caller, "no messages", |robot, caller| {
        robot.heard.len() > before.0 && caller.heard.len() > before.1
    });
    assert_eq!(caller.heard[before.1], (Form::Text, b"challenge".to_vec()));
    assert_eq!(robot.heard[before.0], (What::Message(Form::Text), b"answer".to_vec()));
}
