//! A session, a scripted controller and a clock that only the test moves.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use sinew_robot::{
    Refusal,
    vacuum::{Command, Event, LinkState as Link, Output, Session, Settings},
};
use sinew_wire::gd32::{Flag, Frame, FrameBuf, Profile, STATUS_LEN, Status, Velocity};

pub(crate) const MS: Duration = Duration::from_millis(1);
pub(crate) const WHO: &str = "the test";

/// A frame that the session sent: when, command, payload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sent {
    pub(crate) at: Duration,
    pub(crate) command: u8,
    pub(crate) payload: Vec<u8>,
}

pub(crate) struct Bench {
    pub(crate) session: Session,
    pub(crate) controller: Controller,
    start: Instant,
    pub(crate) now: Instant,
    pub(crate) sent: Vec<Sent>,
    pub(crate) events: Vec<Event>,
    /// The port takes nothing.
    pub(crate) full: bool,
}

impl Bench {
    /// Nothing connected yet.
    pub(crate) fn new(settings: Settings) -> Self {
        let now = Instant::now();
        Bench {
            controller: Controller::new(now, settings.profile),
            session: Session::new(settings, now),
            start: now,
            now,
            sent: Vec::new(),
            events: Vec::new(),
            full: false,
        }
    }

    /// The port open and the controller booted; what was sent and told until then is forgotten.
    pub(crate) fn ready() -> Self {
        Bench::ready_with(Settings::default())
    }

    pub(crate) fn ready_with(settings: Settings) -> Self {
        let mut bench = Bench::new(settings);
        bench.connect();
        bench.run(Duration::from_secs(4));
        assert_eq!(bench.session.state().link, Link::Ready);
        bench.forget();
        bench
    }

    /// Ready, and `drive` Enable settled.
    pub(crate) fn enabled() -> Self {
        Bench::enabled_with(Settings::default())
    }

    pub(crate) fn enabled_with(settings: Settings) -> Self {
        let mut bench = Bench::ready_with(settings);
        bench.execute(Command::DriveEnable { mode: 2 }).unwrap();
        bench.run(150 * MS);
        bench.forget();
        bench
    }

    pub(crate) fn forget(&mut self) {
        self.sent.clear();
        self.events.clear();
    }

    pub(crate) fn connect(&mut self) {
        self.session.connected(self.now);
        self.drain();
    }

    pub(crate) fn execute(&mut self, command: Command) -> Result<(), Refusal> {
        let done = self.session.execute(self.now, command, WHO);
        self.drain();
        done
    }

    pub(crate) fn velocity(&mut self, linear: f32, angular: f32) -> Result<(), Refusal> {
        self.execute(Command::Velocity { linear, angular })
    }

    pub(crate) fn release(&mut self) {
        self.session.release(self.now, WHO);
        self.drain();
    }

    pub(crate) fn take(&mut self, by: &str) {
        self.session.taken(self.now, by);
        self.drain();
    }

    /// The host did not run for a while, and then says so.
    pub(crate) fn pause(&mut self, time: Duration) {
        self.sleep(time);
        self.session.paused(self.now, time);
        self.drain();
    }

    /// A command that came a while ago.
    pub(crate) fn execute_old(&mut self, age: Duration, command: Command) -> Result<(), Refusal> {
        let received = self.now.checked_sub(age).unwrap();
        let done = self.session.execute_received(self.now, received, command, WHO);
        self.drain();
        done
    }

    pub(crate) fn input(&mut self, bytes: &[u8]) {
        self.session.handle_input(self.now, bytes);
        self.drain();
    }

    /// Lets time pass: both sides are called when they asked for it.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let session = self.session.poll_timeout();
            let next = [session, Some(self.controller.timeout())].into_iter().flatten().min();
            let next = next.unwrap().max(self.now);
            if next > end {
                break;
            }
            self.now = next;
            while let Some(bytes) = self.controller.poll(self.now) {
                self.session.handle_input(self.now, &bytes);
                self.drain();
            }
            if self.session.poll_timeout().is_some_and(|at| at <= self.now) {
                self.session.handle_timeout(self.now);
                self.drain();
                let due = self.session.poll_timeout().is_some_and(|at| at <= self.now);
                assert!(!due, "asked to be called again at once");
            }
        }
        self.now = end;
    }

    /// Runs until the check holds.
    pub(crate) fn run_until(&mut self, longest: Duration, check: impl Fn(&Bench) -> bool) {
        let end = self.now + longest;
        while !check(self) {
            assert!(self.now < end, "did not happen within {longest:?}");
            self.run(5 * MS);
        }
    }

    /// Time passes for the controller only: the host sleeps.
    pub(crate) fn sleep(&mut self, time: Duration) {
        self.now += time;
    }

    pub(crate) fn timeout(&mut self) {
        self.session.handle_timeout(self.now);
        self.drain();
    }

    /// Everything sent but idle heartbeats, zero velocities and the 0x0D poll.
    pub(crate) fn commands(&self) -> Vec<(u8, Vec<u8>)> {
        let quiet = |sent: &&Sent| {
            !(sent.command == 0x06
                || sent.command == 0x0D
                || (sent.command == 0x66 && sent.payload == [0; 8]))
        };
        self.sent.iter().filter(quiet).map(|sent| (sent.command, sent.payload.clone())).collect()
    }

    /// What was sent under a command byte.
    pub(crate) fn sent_as(&self, command: u8) -> Vec<Sent> {
        self.sent.iter().filter(|sent| sent.command == command).cloned().collect()
    }

    pub(crate) fn moved(&self) -> bool {
        self.sent.iter().any(Sent::moves)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.now - self.start
    }

    pub(crate) fn drain(&mut self) {
        if self.full {
            return;
        }
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Transmit(frame) => {
                    let frame = Frame::new_checked(frame.as_bytes()).unwrap();
                    let (command, payload) = (frame.command(), frame.payload().to_vec());
                    self.controller.take(self.now, command, &payload);
                    self.sent.push(Sent { at: self.now - self.start, command, payload });
                }
                Output::Event(event) => self.events.push(event),
            }
        }
    }
}

impl Sent {
    /// Whether it makes the wheels turn.
    pub(crate) fn moves(&self) -> bool {
        matches!(self.command, 0x66 | 0x67) && self.payload.iter().any(|&byte| byte != 0)
    }
}

/// The payload of 0x66.
pub(crate) fn velocity(linear: i32, angular: i32) -> Vec<u8> {
    let Velocity { linear, angular } = Velocity { linear, angular };
    [linear.to_le_bytes(), angular.to_le_bytes()].concat()
}

/// A controller that answers as document 003 shows, with wheels on an endless floor.
pub(crate) struct Controller {
    /// Commands it does not answer.
    pub(crate) deaf_to: Vec<u8>,
    /// Nothing comes from it, nothing reaches it.
    pub(crate) unplugged: bool,
    pub(crate) streams: bool,
    pub(crate) status: Status,
    pub(crate) period: Duration,
    /// Where it really is, and where its dock is.
    pub(crate) place: [f64; 3],
    pub(crate) dock: Option<[f64; 3]>,
    pub(crate) charges: bool,
    /// What the encoders count for one tick.
    pub(crate) encoder_scale: [f64; 2],
    /// Raw units per rad/s of its gyroscope and what it reads at rest, if it has one.
    pub(crate) gyro: Option<(f64, f64)>,
    noise: f64,
    profile: Profile,
    ticks: [f64; 2],
    offset: [u64; 2],
    wheels: [f64; 2],
    mode: u8,
    listens_from: Instant,
    heard: Instant,
    next_status: Instant,
    answers: VecDeque<(Instant, FrameBuf)>,
}

const TICKS_PER_METRE: f64 = 4464.0;
const WHEEL_BASE: f64 = 0.233;

impl Controller {
    fn new(now: Instant, profile: Profile) -> Self {
        let mut status = Status::default();
        status.battery_decivolts = 145;
        status.set(Flag::DustboxAttached, true);
        Controller {
            deaf_to: Vec::new(),
            unplugged: false,
            streams: true,
            status,
            period: Duration::from_secs(1) / 110,
            place: [0.0; 3],
            dock: None,
            charges: true,
            encoder_scale: [1.0; 2],
            gyro: None,
            noise: 1.0,
            profile,
            ticks: [0.0; 2],
            offset: [1000, 2000],
            wheels: [0.0; 2],
            mode: 0,
            listens_from: now,
            heard: now,
            next_status: now,
            answers: VecDeque::new(),
        }
    }

    /// Loses its counts and its mode, as when the power fails for a moment.
    pub(crate) fn restart(&mut self) {
        self.ticks = [0.0; 2];
        self.offset = [0; 2];
        self.wheels = [0.0; 2];
        self.mode = 0;
        self.answers.clear();
    }

    /// Left and right wheel, m/s.
    pub(crate) fn wheels(&self) -> [f64; 2] {
        self.wheels
    }

    /// Adds ticks to the left and the right encoder.
    pub(crate) fn shift_encoders(&mut self, left: u64, right: u64) {
        self.offset = [self.offset[0].wrapping_add(left), self.offset[1].wrapping_add(right)];
    }

    fn timeout(&self) -> Instant {
        let answer = self.answers.front().map(|(at, _)| *at);
        answer.map_or(self.next_status, |at| at.min(self.next_status))
    }

    fn take(&mut self, now: Instant, command: u8, payload: &[u8]) {
        if self.unplugged {
            return;
        }
        self.heard = now;
        let listens = now >= self.listens_from && self.mode == 2;
        match (command, payload) {
            (0x65, [mode]) => {
                self.mode = *mode;
                self.listens_from = now + 100 * MS;
                self.wheels = if *mode == 0 { [0.0; 2] } else { self.wheels };
            }
            (0x66, _) => {
                let [a, b, c, d, e, f, g, h] = payload.try_into().unwrap();
                let linear = f64::from(i32::from_le_bytes([a, b, c, d])) / 1000.0;
                let turn = f64::from(i32::from_le_bytes([e, f, g, h])) / 1000.0;
                if listens || (linear, turn) == (0.0, 0.0) {
                    let half = turn * WHEEL_BASE / 2.0;
                    self.wheels = [linear - half, linear + half];
                }
            }
            (0x08 | 0xA1, _) => self.gyro = self.gyro.map(|(units, _)| (units, 0.0)),
            (0x67, [a, b, c, d]) if listens => {
                let speed = |bytes| f64::from(i16::from_le_bytes(bytes)) / 1000.0;
                self.wheels = [speed([*a, *b]), speed([*c, *d])];
            }
            _ => {}
        }
        let answer: (u64, &[u8]) = match command {
            0x0C => (270, &[0x01]),
            0x07 => (3, b"\x05v1.23"),
            0x17 => (3, &[0x01]),
            0x18 => (3, &[0x04, 0, 0, 0, 0x7F, 0, 0, 0]),
            0x08 => (3, &[]),
            0xA2 => (3, &[0x01]),
            0xA4 => (3, &[0x02, 0x03]),
            _ => return,
        };
        if !self.deaf_to.contains(&command) {
            let frame = FrameBuf::new(command, answer.1).unwrap();
            self.answers.push_back((now + Duration::from_millis(answer.0), frame));
        }
    }

    fn poll(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.answers.front().is_some_and(|(at, _)| *at <= now) {
            let (_, frame) = self.answers.pop_front().unwrap();
            return (!self.unplugged).then(|| frame.as_bytes().to_vec());
        }
        if now < self.next_status {
            return None;
        }
        self.next_status = now + self.period;
        self.go(now);
        (self.streams && !self.unplugged).then(|| self.status_frame())
    }

    fn go(&mut self, now: Instant) {
        if now > self.heard + 50 * MS {
            self.wheels = [0.0; 2];
        }
        let seconds = self.period.as_secs_f64();
        let [left, right] = self.wheels.map(|speed| speed * seconds);
        let turn = (right - left) / WHEEL_BASE;
        let (sin, cos) = (self.place[2] + turn / 2.0).sin_cos();
        let way = (left + right) / 2.0;
        self.place = [self.place[0] + way * cos, self.place[1] + way * sin, self.place[2] + turn];
        for ((ticks, way), scale) in
            self.ticks.iter_mut().zip([left, right]).zip(self.encoder_scale)
        {
            *ticks += way * TICKS_PER_METRE * scale;
        }
        if let Some((units, bias)) = self.gyro {
            self.noise = -self.noise;
            let yaw = bias - turn / seconds * units + self.noise;
            self.status.set_gyro([yaw.round() as i16, 0, 0]);
        }
        if let Some([x, y, heading]) = self.dock {
            let off = (self.place[0] - x).hypot(self.place[1] - y);
            let docked = off < 0.03 && (self.place[2] - heading).sin().abs() < 0.17;
            self.status.set(Flag::OnDock, docked);
            self.status.set(Flag::Charging, docked && self.charges);
        }
    }

    pub(crate) fn status_frame(&mut self) -> Vec<u8> {
        let count = |offset: u64, ticks: f64| offset.wrapping_add(ticks.round() as i64 as u64);
        let left = count(self.offset[0], self.ticks[0]);
        let right = count(self.offset[1], self.ticks[1]);
        self.status.encoders = match self.profile.encoder_order {
            sinew_wire::gd32::EncoderOrder::RightFirst => [right, left],
            sinew_wire::gd32::EncoderOrder::LeftFirst => [left, right],
        };
        let mut raw = [0; STATUS_LEN];
        self.status.emit(&mut raw);
        FrameBuf::new(0x15, &raw).unwrap().as_bytes().to_vec()
    }
}
