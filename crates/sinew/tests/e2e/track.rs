//! A daemon whose line ends in this process, so that a client's send and what comes of it at the
//! line's end are timed by one clock.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sinew_sim::vacuum::Received;

use crate::{
    attackers::Target,
    clients::{Lines, auth},
    driver::Driver,
    line::Line,
    priority::raise_priority,
    support::{CONTROL_TOKEN, Dir, Process, serve, sinew, until},
};

/// A heartbeat, what the line carries meanwhile, and what a busy machine adds: the bench has the
/// figures that count.
pub(crate) const PROMPT: Duration = Duration::from_millis(150);
/// Nothing that is sent takes this long to come to the line's end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Below that of the thread at the line's end.
const PRIORITY: u8 = 50;
/// The first bytes of the frames that move the wheels.
const MOTION: [u8; 2] = [0x66, 0x67];

pub(crate) struct Track {
    pub(crate) line: Line,
    pub(crate) daemon: Process,
    pub(crate) ready: Value,
    pub(crate) dir: Dir,
}

impl Track {
    /// A robot that has booted, on a line that carries bytes as they come. There are tokens, which
    /// loopback does not need.
    pub(crate) fn start() -> Self {
        Self::on(Line::start(110).unwrap(), &[])
    }

    pub(crate) fn on(line: Line, more: &[&str]) -> Self {
        let dir = Dir::new();
        let tokens = ["--token-file", &dir.tokens()];
        let (daemon, ready) = serve(sinew(&dir), &line.link(), &[&tokens, more].concat());
        let track = Track { line, daemon, ready, dir };
        let mut client = track.lines();
        until("the link to be ready", || {
            let robots = client.ok(json!({ "type": "Robots" }));
            (robots["robots"][0]["link"]["state"] == "ready").then_some(())
        });
        track
    }

    pub(crate) fn address(&self, port: &str) -> &str {
        self.ready[port].as_str().unwrap()
    }

    /// A client that has shown a token, which it need not do on loopback.
    pub(crate) fn lines(&self) -> Lines {
        let mut client = Lines::connect(self.address("lines"));
        client.ok(auth(CONTROL_TOKEN));
        client
    }

    pub(crate) fn target(&self, token: Option<&str>) -> Target {
        let address = |port| self.address(port).parse().unwrap();
        let token = token.map(str::to_owned);
        Target { tcp: address("tcp"), lines: address("lines"), http: address("http"), token }
    }

    pub(crate) fn robot(&self) -> Value {
        self.lines().ok(json!({ "type": "Robots" }))["robots"][0].clone()
    }

    /// A client that turns the robot by so many commands a second.
    pub(crate) fn drive(&self, hz: u32) -> Driver {
        let lines = self.address("lines").parse().unwrap();
        let driver = Driver::start(lines, Some(CONTROL_TOKEN), hz).unwrap();
        self.await_motion();
        driver
    }

    /// Lets a driver drive that was stopped.
    pub(crate) fn drive_on(&self, driver: &Driver) {
        driver.enable().unwrap();
        self.await_motion();
    }

    /// Waits until the wheels are told to turn from now on.
    pub(crate) fn await_motion(&self) {
        let begin = Instant::now();
        self.await_frame("motion", |frame| frame.at >= begin && moves(frame));
    }

    /// How long it takes from now until the wheels are told to stand, at the line's end.
    pub(crate) fn time_to_stand(&self, stop: impl FnOnce()) -> Duration {
        raise_priority(PRIORITY);
        let begin = Instant::now();
        stop();
        let stands = |frame: &Received| frame.at >= begin && is_motion(frame) && !moves(frame);
        self.await_frame("zero velocity", stands).at - begin
    }

    /// Looks at the line for so many of its beats; none of them may move the wheels.
    #[track_caller]
    pub(crate) fn assert_stands(&self, beats: usize) {
        self.assert_stands_since(Instant::now(), beats);
    }

    /// The same from a moment on.
    #[track_caller]
    pub(crate) fn assert_stands_since(&self, begin: Instant, beats: usize) {
        let mut seen = 0;
        while seen < beats {
            let frame = self.await_frame("a beat", |frame| frame.at >= begin);
            assert!(!moves(&frame), "{:02X?} after it stood", frame.bytes());
            seen += usize::from(is_motion(&frame) || frame.bytes().get(3) == Some(&0x06));
        }
    }

    fn await_frame(&self, what: &str, is_it: impl Fn(&Received) -> bool) -> Received {
        let patience = Instant::now() + PATIENCE;
        while Instant::now() < patience {
            if let Ok(frame) = self.line.frames.recv_timeout(Duration::from_millis(100))
                && is_it(&frame)
            {
                return frame;
            }
        }
        panic!("waited too long for {what}");
    }
}

pub(crate) fn is_motion(frame: &Received) -> bool {
    frame.bytes().get(3).is_some_and(|command| MOTION.contains(command))
}

/// Whether the frame lets the wheels turn.
pub(crate) fn moves(frame: &Received) -> bool {
    is_motion(frame) && frame.payload().iter().any(|&byte| byte != 0)
}
