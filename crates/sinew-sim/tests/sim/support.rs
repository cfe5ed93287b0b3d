//! A host of few words: it sends what a test says, when it says so, and keeps what comes back.

use std::time::{Duration, Instant};

use sinew_sim::vacuum::{Controller, Options, Pose, World};
use sinew_wire::gd32::{Command, Flag, Frame, FrameBuf, Profile, Status};

pub(crate) const SYNC: [u8; 7] = [0xFA, 0xFB, 0x04, 0x0C, 0x01, 0x0C, 0x01];

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) fn frame(command: u8, payload: &[u8]) -> Vec<u8> {
    FrameBuf::new(command, payload).unwrap().as_bytes().to_vec()
}

pub(crate) fn velocity(linear: f32, angular: f32) -> Vec<u8> {
    let wire = Profile::DOCUMENT.velocity(linear, angular).unwrap();
    frame(0x66, &[wire.linear.to_le_bytes(), wire.angular.to_le_bytes()].concat())
}

/// A robot, its time, and every frame it sent.
pub(crate) struct Bench {
    pub(crate) robot: Controller,
    pub(crate) start: Instant,
    pub(crate) now: Instant,
    pub(crate) heard: Vec<(Instant, Vec<u8>)>,
}

impl Bench {
    pub(crate) fn new(options: Options) -> Self {
        let now = Instant::now();
        Bench { robot: Controller::new(options, now), start: now, now, heard: Vec::new() }
    }

    /// A robot that has been synced and shaken hands with, in navigation mode.
    pub(crate) fn ready(options: Options) -> Self {
        let mut bench = Bench::new(options);
        bench.sync();
        bench.shake_hands();
        bench.send(0x65, &[2]);
        bench.beat(ms(120));
        bench
    }

    /// The same in the middle of nowhere.
    pub(crate) fn in_the_open() -> Self {
        Bench::ready(Options { world: World::empty(), ..Options::default() })
    }

    pub(crate) fn sync(&mut self) {
        self.bytes(&SYNC);
        self.run(ms(280));
    }

    pub(crate) fn shake_hands(&mut self) {
        for _ in 0..=100 {
            self.send(0x6B, &[0x64]);
            self.run(ms(20));
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.robot.handle_input(self.now, bytes);
        self.listen();
    }

    pub(crate) fn send(&mut self, command: u8, payload: &[u8]) {
        self.bytes(&frame(command, payload));
    }

    /// Lets time pass, calling the robot whenever it asks.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            let next = self.robot.poll_timeout();
            assert!(next > self.now, "a robot that was called has nothing left to do");
            self.now = next.min(end);
            self.robot.handle_timeout(self.now);
            self.listen();
        }
    }

    /// Lets time pass with a heartbeat every 20 ms.
    pub(crate) fn beat(&mut self, time: Duration) {
        self.repeat(time, &frame(0x06, &[]));
    }

    /// Drives with a command every 20 ms.
    pub(crate) fn drive(&mut self, time: Duration, linear: f32, angular: f32) {
        self.repeat(time, &velocity(linear, angular));
    }

    pub(crate) fn repeat(&mut self, time: Duration, bytes: &[u8]) {
        let end = self.now + time;
        while self.now < end {
            self.bytes(bytes);
            self.run(ms(20).min(end - self.now));
        }
    }

    /// Stands the robot still.
    pub(crate) fn halt(&mut self) {
        self.drive(ms(500), 0.0, 0.0);
        assert!(!self.robot.is_moving());
    }

    /// The time since the robot was made.
    pub(crate) fn elapsed(&self, at: Instant) -> Duration {
        at - self.start
    }

    /// Payloads of what the robot sent under a command, and when.
    pub(crate) fn heard(&self, command: u8) -> Vec<(Instant, Vec<u8>)> {
        let frames = self.heard.iter().filter_map(|(at, bytes)| {
            let frame = Frame::new_checked(bytes).unwrap();
            (frame.command() == command).then(|| (*at, frame.payload().to_vec()))
        });
        frames.collect()
    }

    /// How often the robot answered under a command.
    pub(crate) fn count(&self, command: u8) -> usize {
        self.heard(command).len()
    }

    /// The latest status.
    pub(crate) fn status(&self) -> Status {
        Status::parse(&self.heard(Command::Status.code()).last().unwrap().1).unwrap()
    }

    pub(crate) fn flags(&self) -> Vec<Flag> {
        let status = self.status();
        Flag::ALL.iter().copied().filter(|flag| status.is(*flag)).collect()
    }

    pub(crate) fn pose(&self) -> Pose {
        self.robot.pose()
    }

    fn listen(&mut self) {
        while let Some(frame) = self.robot.poll_transmit() {
            self.heard.push((self.now, frame.as_bytes().to_vec()));
        }
    }
}

#[track_caller]
pub(crate) fn assert_near(got: f64, wanted: f64, within: f64) {
    assert!((got - wanted).abs() <= within, "{got} is not {wanted} within {within}");
}
