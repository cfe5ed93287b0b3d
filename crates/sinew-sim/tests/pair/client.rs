//! A client that does what clients do, and what none should.

use std::time::{Duration, Instant};

use fastrand::Rng;
use sinew_robot::{
    drive::{HoldEnd, Speeds},
    vacuum::{Command, LinkState as Link},
};

use crate::harness::{Pair, ms};

/// What the client is up to for a while.
#[derive(Debug, Clone, Copy)]
enum Mood {
    Silent,
    Velocity {
        linear: f32,
        angular: f32,
    },
    Tank {
        left: f32,
        right: f32,
    },
    /// Presses a button and lets go of it, as one that knows neither limits nor dead-man.
    Pressing,
    /// Another velocity every time.
    Erratic,
    /// Anything, in any order.
    Wild,
    /// Commands without motion, faster than the line carries them.
    Flood,
}

#[derive(Debug)]
pub(crate) struct Client {
    rng: Rng,
    mood: Mood,
    until: Instant,
    /// Time between two commands of a stream.
    period: Duration,
    pub(crate) next: Instant,
    /// Sends Enable when it is refused, as a person would. Some keep streaming instead.
    reasonable: bool,
    /// May switch the controller or the board off.
    reckless: bool,
    docks: bool,
}

impl Client {
    pub(crate) fn new(seed: u64, now: Instant) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0xC11E_7000);
        Client {
            mood: Mood::Silent,
            until: now,
            period: ms(50),
            next: now,
            reasonable: rng.u8(..) < 200,
            reckless: rng.u8(..) < 25,
            docks: rng.u8(..) < 100,
            rng,
        }
    }

    pub(crate) fn act(&mut self, pair: &mut Pair) {
        if pair.now >= self.until {
            self.change(pair);
        }
        let refused = match self.mood {
            Mood::Silent => false,
            Mood::Velocity { linear, angular } => {
                pair.execute(Command::Velocity { linear, angular }).is_err()
            }
            Mood::Tank { left, right } => pair.execute(Command::Tank { left, right }).is_err(),
            Mood::Pressing => {
                let command = self.button();
                pair.execute(command).is_err()
            }
            Mood::Erratic => {
                let command = self.velocity();
                pair.execute(command).is_err()
            }
            Mood::Wild => {
                let command = self.anything();
                pair.execute(command).is_err()
            }
            Mood::Flood => {
                let command = self.output();
                pair.execute(command).is_err()
            }
        };
        let ready = pair.host.state().link == Link::Ready;
        if refused && ready && self.reasonable && self.rng.u8(..) < 40 {
            // Forward motion ends at walls; who is reasonable backs off.
            let _ = pair.execute(Command::DriveEnable { mode: 2 });
            self.mood = Mood::Velocity { linear: -0.1, angular: 0.4 };
        }
        self.next = pair.now + self.period.mul_f64(0.5 + self.rng.f64());
    }

    fn change(&mut self, pair: &mut Pair) {
        self.until = pair.now + ms(self.rng.u64(50..2500));
        self.period = match self.rng.u8(0..10) {
            0 => ms(self.rng.u64(200..500)),
            1 => Duration::from_micros(self.rng.u64(400..2000)),
            2 => ms(self.rng.u64(1..20)),
            _ => ms(self.rng.u64(20..150)),
        };
        match self.rng.u8(0..20) {
            0 => {
                let _ = pair.execute(Command::DriveReset);
            }
            1 => {
                let _ = pair.execute(Command::DriveDisable);
            }
            2 if self.rng.bool() => pair.release(),
            2 => pair.take(),
            3 | 4 => {
                let command = self.output();
                let _ = pair.execute(command);
            }
            5..=10 => {
                let _ = pair.execute(Command::DriveEnable { mode: 2 });
            }
            11..=13 if self.docks => {
                let _ = pair.execute(Command::DriveEnable { mode: 2 });
                let _ = pair.execute(Command::Dock);
                // Whoever drives on ends the return.
                self.mood = Mood::Silent;
                self.until = pair.now + ms(self.rng.u64(500..8000));
                return;
            }
            _ => {}
        }
        self.mood = match self.rng.u8(0..14) {
            12 | 13 => {
                self.period = ms(self.rng.u64(20..900));
                Mood::Pressing
            }
            0 | 1 => Mood::Silent,
            2..=5 => {
                let linear = self.rng.f32() * 0.5 - 0.2;
                let angular = if self.rng.bool() { 0.0 } else { self.signed(1.0) };
                Mood::Velocity { linear: linear.min(0.3), angular }
            }
            6..=8 => {
                let left = self.signed(0.3);
                let right = left + self.signed(0.235);
                Mood::Tank { left, right }
            }
            9 => Mood::Erratic,
            10 if self.rng.u8(..) < 50 => {
                self.period = Duration::from_micros(self.rng.u64(200..1000));
                self.until = pair.now + ms(self.rng.u64(50..300));
                Mood::Flood
            }
            10 => Mood::Wild,
            _ => Mood::Velocity { linear: 0.3, angular: 0.0 },
        };
    }

    fn signed(&mut self, most: f32) -> f32 {
        (self.rng.f32() * 2.0 - 1.0) * most
    }

    /// A press, a release, or what ends a press by itself.
    fn button(&mut self) -> Command {
        let hold = match self.rng.u8(0..4) {
            0 => None,
            _ => Some(ms([50, 400, 2000][self.rng.usize(0..3)])),
        };
        let speeds = match self.rng.u8(0..6) {
            0 => Speeds::Velocity { linear: 0.0, angular: 0.0 },
            1 => {
                let reason = HoldEnd::Unreachable;
                return Command::LetGo { reason };
            }
            2 => Speeds::Tank { left: self.signed(0.8), right: self.signed(0.8) },
            3 => Speeds::Velocity { linear: self.signed(f32::MAX), angular: f32::NAN },
            _ => Speeds::Velocity { linear: self.signed(0.6), angular: self.signed(3.0) },
        };
        Command::Lenient { speeds, hold }
    }

    /// Speeds at, near and over the limits, and no speeds at all.
    fn velocity(&mut self) -> Command {
        match self.rng.u8(0..8) {
            0 => Command::Velocity { linear: 0.0, angular: 0.0 },
            1 => Command::Tank { left: 0.0, right: 0.0 },
            2 => Command::Velocity { linear: self.signed(0.6), angular: self.signed(2.0) },
            3 => Command::Tank { left: self.signed(0.4), right: self.signed(0.4) },
            4 => Command::Velocity { linear: f32::NAN, angular: f32::INFINITY },
            5 => {
                // Turning in place at 1 rad/s, about.
                let half = if self.rng.bool() { 0.1165 } else { 0.1165 + self.signed(0.001) };
                Command::Tank { left: -half, right: half }
            }
            6 => Command::Velocity {
                linear: 0.3_f32.copysign(self.signed(1.0)),
                angular: 1.0_f32.copysign(self.signed(1.0)),
            },
            _ => Command::Velocity { linear: self.signed(0.3), angular: self.signed(1.0) },
        }
    }

    fn output(&mut self) -> Command {
        let percent = self.rng.u8(0..=110);
        match self.rng.u8(0..6) {
            0 => Command::Vacuum { percent },
            1 => Command::MainBrush { percent },
            2 => Command::SideBrush { percent },
            3 => Command::LidarOn { pwm: percent },
            4 => Command::LidarOff,
            _ => Command::Led { state: self.rng.u8(..) },
        }
    }

    fn anything(&mut self) -> Command {
        match self.rng.u8(0..32) {
            0..=4 => self.output(),
            5..=10 => self.velocity(),
            11 | 12 => Command::DriveEnable { mode: self.rng.u8(0..4) },
            13 => Command::DriveEnable { mode: 2 },
            14 => Command::DriveDisable,
            15 => Command::DriveReset,
            16 => Command::Dock,
            17 => Command::ImuState,
            18 => Command::CompassState,
            19 => Command::CliffIr { on: self.rng.bool() },
            20 => Command::Charger { on: self.rng.bool() },
            21 => Command::McuWake,
            22 => Command::McuClearErrors,
            23 => Command::ProtocolSync,
            24 => Command::CliffIrDirection { direction: self.rng.u8(..) },
            25 if self.reckless => Command::McuSleep,
            26 if self.reckless => Command::MainBoard { on: false },
            27 if self.reckless => Command::MainBoardRestart,
            28 if self.reckless => Command::Boot,
            29 => self.button(),
            _ => self.raw(),
        }
    }

    fn raw(&mut self) -> Command {
        let (command, payload) = match self.rng.u8(0..6) {
            0 => {
                let linear = self.rng.i32(-400..=400).to_le_bytes();
                let angular = self.rng.i32(-1200..=1200).to_le_bytes();
                (0x66, [linear, angular].concat())
            }
            1 => {
                let wheels = [self.rng.i16(-350..=350), self.rng.i16(-350..=350)];
                (0x67, wheels.map(i16::to_le_bytes).concat())
            }
            2 => (self.rng.u8(0x66..=0x67), vec![0; self.rng.usize(0..10)]),
            3 => (0x65, vec![self.rng.u8(0..=2)]),
            4 => (
                self.rng.u8(0x65..=0x71),
                (0..self.rng.usize(0..6)).map(|_| self.rng.u8(..)).collect(),
            ),
            _ => {
                // Not those that put the controller to sleep.
                let command = self.rng.u8(0x06..);
                (command, (0..self.rng.usize(0..20)).map(|_| self.rng.u8(..)).collect())
            }
        };
        Command::Raw { command, payload }
    }
}
