//! [`Flat`]: a vacuum with its controller and its lidar, both sessions, and a clock of their own.

use std::time::{Duration, Instant};

use sinew_faults::{Faults, FaultyBytes};
use sinew_robot::{
    Output, Session as _,
    lidar::{self, Event, Mounting, Scan},
    vacuum::{self, Command, LinkState},
};
use sinew_sim::vacuum::{Controller, Lidar, LidarOptions, Options, Pose, World};

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A robot, its two hosts, and a line from its lidar that may be faulty.
pub(crate) struct Flat {
    pub(crate) host: vacuum::Session,
    pub(crate) robot: Controller,
    pub(crate) device: Lidar,
    pub(crate) listener: lidar::Session,
    pub(crate) line: FaultyBytes,
    pub(crate) now: Instant,
    /// Events but for scans, and when.
    pub(crate) events: Vec<(Instant, Event)>,
    /// Scans, each with where the robot really was when its last frame came.
    pub(crate) scans: Vec<(Scan, Pose)>,
    /// Where the robot was at each step of late.
    poses: Vec<(Instant, Pose)>,
    /// All bytes that the lidar sent.
    pub(crate) sent: Vec<u8>,
    /// Frames that it sent.
    pub(crate) frames: u64,
}

impl Flat {
    /// A robot that has booted, with its lidar off.
    pub(crate) fn new(options: Options, lidar: LidarOptions, faults: Faults) -> Self {
        let now = Instant::now();
        let mut robot = Controller::new(options, now);
        let device = Lidar::new(&mut robot, lidar, now);
        let mut flat = Flat {
            host: vacuum::Session::new(vacuum::Settings::default(), now),
            robot,
            device,
            listener: lidar::Session::new(),
            line: FaultyBytes::new(faults, 1).with_baud(115_200),
            now,
            events: Vec::new(),
            scans: Vec::new(),
            poses: Vec::new(),
            sent: Vec::new(),
            frames: 0,
        };
        flat.host.connected(now);
        flat.listener.connected(now);
        flat.run_until(ms(10_000), |flat| flat.host.state().link == LinkState::Ready);
        flat
    }

    /// The same without noise and without missing echoes.
    pub(crate) fn exact(options: Options) -> Self {
        let lidar = LidarOptions { noise: 0.0, missing: 0.0, ..LidarOptions::default() };
        Flat::new(options, lidar, Faults::default())
    }

    /// Switches the lidar on and waits for its first whole turn.
    pub(crate) fn turning(mut self) -> Self {
        self.execute(Command::LidarOn { pwm: 60 });
        self.run_until(ms(6000), |flat| !flat.scans.is_empty());
        self
    }

    pub(crate) fn execute(&mut self, command: Command) {
        self.host.execute(self.now, command, "client").unwrap();
        self.fetch();
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.step(end);
        }
    }

    #[track_caller]
    pub(crate) fn run_until(&mut self, time: Duration, done: impl Fn(&Flat) -> bool) {
        let end = self.now + time;
        while !done(self) {
            assert!(self.now < end, "not in {time:?}: {:?}", self.listener.state());
            self.step(end);
        }
    }

    /// Streams a velocity as a client does.
    pub(crate) fn drive(&mut self, time: Duration, linear: f32, angular: f32) {
        let end = self.now + time;
        while self.now < end {
            self.execute(Command::Velocity { linear, angular });
            self.run_for(ms(50).min(end - self.now));
        }
    }

    fn step(&mut self, limit: Instant) {
        let timeouts = [
            Some(self.robot.poll_timeout()),
            Some(self.device.poll_timeout()),
            self.host.poll_timeout(),
            self.listener.poll_timeout(),
            self.line.poll_timeout(),
        ];
        self.now = timeouts.into_iter().flatten().fold(limit, Instant::min).max(self.now);
        self.robot.handle_timeout(self.now);
        self.device.handle_timeout(self.now);
        self.poses.push((self.now, self.robot.pose()));
        let mut bytes = Vec::new();
        while self.device.poll_output(true, &mut bytes).is_some() {
            self.frames += 1;
            self.line.send(self.now, &bytes);
            self.sent.append(&mut bytes);
        }
        let bytes = self.line.receive(self.now);
        if !bytes.is_empty() {
            self.listener.handle_input(self.now, (), &bytes);
        }
        self.listener.handle_timeout(self.now);
        while let Some(frame) = self.robot.poll_transmit() {
            self.host.handle_input(self.now, frame.as_bytes());
        }
        self.host.handle_timeout(self.now);
        self.fetch();
    }

    fn fetch(&mut self) {
        while let Some(output) = self.host.poll_output() {
            if let vacuum::Output::Transmit(frame) = output {
                self.robot.handle_input(self.now, frame.as_bytes());
            }
        }
        while let Some(output) = self.listener.poll_output(true, &mut Vec::new()) {
            match output {
                Output::Event(Event::Scan { scan }) => {
                    let before = |(at, _): &&(Instant, Pose)| *at <= scan.ended;
                    let (_, pose) = *self.poses.iter().rfind(before).unwrap();
                    self.poses.drain(..self.poses.len().saturating_sub(2000));
                    self.scans.push((*scan, pose));
                }
                Output::Event(event) => self.events.push((self.now, event)),
                _ => panic!("a lidar is told nothing"),
            }
        }
    }

    /// How far each echo of a scan is from what it should have hit.
    pub(crate) fn errors(&self, (scan, pose): &(Scan, Pose)) -> Vec<f64> {
        let mounting = Mounting::default();
        let (sin, cos) = pose.heading.sin_cos();
        let place = |(x, y): (f64, f64)| (pose.x + x * cos - y * sin, pose.y + x * sin + y * cos);
        let points = scan.turn.points.iter().map(|point| place(mounting.place(point)));
        points.map(|at| distance_to_walls(self.robot.world(), at)).collect()
    }
}

/// How far a place is from the nearest wall, of the room or of a piece of furniture.
pub(crate) fn distance_to_walls(world: &World, (x, y): (f64, f64)) -> f64 {
    let boxes = std::iter::once(&world.room).chain(&world.furniture);
    let to_edges = boxes.map(|area| {
        let across = |low: f64, high: f64, at: f64| (low - at).max(at - high).max(0.0);
        let (dx, dy) = (across(area.left, area.right, x), across(area.bottom, area.top, y));
        if dx > 0.0 || dy > 0.0 {
            return dx.hypot(dy);
        }
        (x - area.left).min(area.right - x).min(y - area.bottom).min(area.top - y)
    });
    to_edges.fold(f64::INFINITY, f64::min)
}
