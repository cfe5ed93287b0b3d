use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use fastrand::Rng;
use sinew_robot::{NoJob, Order, OrderKind, Origin, Output, RequestId, Session, lidar::Mounting};
use sinew_wire::delta2d::{
    Body, FrameBuf, MAX_SAMPLES, METRE, Measurement, Message, Sample, TURNS_PER_SECOND,
};

use super::{
    Controller,
    body::deviation,
    scene::{Scene, Seen},
};

/// How often a lidar that is not at its speed says how fast it is.
const LOOK: Duration = Duration::from_millis(20);
/// How often one at rest looks whether it has power: a tenth of what its motor takes to its speed.
const REST: Duration = Duration::from_millis(200);
/// Frames that a late caller missed are sent when they are no older than this.
const BACKLOG: Duration = Duration::from_millis(50);
/// A caller that was away for longer finds the motor at its speed, and the time between is not
/// stepped through.
const LONG_GAP: Duration = Duration::from_secs(3);
/// Frames a host that does not read may leave lying about; then the oldest are lost.
const CAPACITY: usize = 64;
/// Percent of the motor that make one turn a second: 60 give about 5.
const PERCENT_PER_TURN: f64 = 12.0;
/// Below this share of its speed the lidar does not measure.
const AT_SPEED: f64 = 0.95;
/// No echo comes from further away, in metres; what a real one reaches is not known.
const REACH: f64 = 8.0;

/// Which lidar a simulated robot has.
#[derive(Debug, Clone, PartialEq)]
pub struct LidarOptions {
    /// Where all chance comes from.
    pub seed: u64,
    /// Frames of a turn.
    pub frames: u16,
    /// Samples of a frame.
    pub samples: u16,
    /// The second field of its measurements.
    pub second_field: i16,
    /// Deviation of a distance, in metres; none is over three times as much.
    pub noise: f64,
    /// How many echoes are missing, as a share.
    pub missing: f64,
    /// How long its motor takes to its speed.
    pub spin_up: Duration,
    /// How it stands on the robot.
    pub mounting: Mounting,
    /// Whether its check is the sum of the bytes; otherwise it is something else.
    pub sums: bool,
}

impl Default for LidarOptions {
    fn default() -> Self {
        LidarOptions {
            seed: 0,
            frames: 15,
            samples: 24,
            second_field: 0,
            noise: 0.01,
            missing: 0.05,
            spin_up: Duration::from_secs(2),
            mounting: Mounting::default(),
            sums: true,
        }
    }
}

/// A simulated Delta-2D on a simulated vacuum, whose controller gives it power.
///
/// It shares the robot's place with its [`Controller`]: call that one first. It sends only: speeds
/// while its motor is not at its speed, then measurements of what surrounds the robot.
#[derive(Debug)]
pub struct Lidar {
    options: LidarOptions,
    scene: Scene,
    rng: Rng,
    /// Up to here everything has happened.
    now: Instant,
    /// When the next frame is due, or the next look at the power.
    next: Instant,
    /// Turns a second.
    speed: f64,
    /// The frame of the turn that is due.
    frame: u16,
    outbox: VecDeque<FrameBuf>,
}

impl Lidar {
    /// The lidar of this robot.
    pub fn new(controller: &mut Controller, options: LidarOptions, now: Instant) -> Self {
        let options = LidarOptions {
            frames: options.frames.clamp(1, 360),
            samples: options.samples.min(MAX_SAMPLES as u16),
            ..options
        };
        Lidar {
            // Other luck than that of a controller with the same seed.
            rng: Rng::with_seed(options.seed ^ 0x11DA_11DA_11DA_11DA),
            options,
            scene: controller.share_scene(),
            now,
            next: now,
            speed: 0.0,
            frame: 0,
            outbox: VecDeque::new(),
        }
    }

    /// Lets the time up to `now` happen.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = self.now.max(now);
        if self.now.saturating_duration_since(self.next) > LONG_GAP
            && let Some(seen) = self.scene.look()
        {
            self.speed = wanted(&seen);
            self.next = self.now.checked_sub(BACKLOG).unwrap_or(self.now);
        }
        while self.next <= self.now {
            let at = self.next;
            match self.scene.look() {
                Some(seen) => self.advance(at, &seen),
                None => self.next = crate::later(at, REST),
            }
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    pub fn poll_timeout(&self) -> Instant {
        self.next
    }

    /// The next frame for the host.
    pub fn poll_transmit(&mut self) -> Option<FrameBuf> {
        self.outbox.pop_front()
    }

    /// Turns a second.
    pub fn turns_per_second(&self) -> f64 {
        self.speed
    }

    /// What happens at `at`: a frame, or nothing.
    fn advance(&mut self, at: Instant, seen: &Seen) {
        let wanted = wanted(seen);
        let at_speed =
            self.speed > 0.0 && self.speed >= wanted * AT_SPEED && self.speed <= wanted / AT_SPEED;
        let rate = self.speed * f64::from(self.options.frames);
        let period = if at_speed {
            Duration::from_secs_f64(1.0 / rate)
        } else if seen.lidar.is_none() && self.speed <= 0.0 {
            REST
        } else {
            LOOK
        };
        self.next = crate::later(at, period);
        self.turn_motor(wanted, period);
        if seen.lidar.is_none() || self.speed <= 0.0 {
            return;
        }
        // A caller that was away has lost what came meanwhile.
        let is_late = self.now.saturating_duration_since(at) > BACKLOG;
        let speed = (self.speed / f64::from(TURNS_PER_SECOND)).round().clamp(0.0, 255.0) as u8;
        if !at_speed {
            self.frame = 0;
            return self.send(Body::Speed(speed), is_late);
        }
        let span = 36_000 / u32::from(self.options.frames);
        let start = (span * u32::from(self.frame)) as u16;
        let samples = self.measure(at, start, span, period, seen);
        self.frame = (self.frame + 1) % self.options.frames;
        let offset = self.options.second_field;
        let measurement = Measurement { speed, offset, start, samples: &samples };
        self.send(Body::Measurement(measurement), is_late);
    }

    fn turn_motor(&mut self, wanted: f64, period: Duration) {
        /// Turns a second at which a motor takes all of its time.
        const USUAL: f64 = 5.0;
        let most = USUAL * period.as_secs_f64() / self.options.spin_up.as_secs_f64().max(0.001);
        self.speed += (wanted - self.speed).clamp(-most, most);
    }

    /// The samples that were taken in the time up to `at`.
    fn measure(
        &mut self,
        at: Instant,
        start: u16,
        span: u32,
        period: Duration,
        seen: &Seen,
    ) -> Vec<[u8; 3]> {
        let count = self.options.samples;
        let since = signed_seconds(seen.at, at) - period.as_secs_f64();
        let sample = |index: u16| {
            let share = f64::from(index) / f64::from(count);
            let degrees = (f64::from(start) + f64::from(span) * share) / 100.0;
            let (speed, turn) = seen.speeds;
            let pose = seen.pose.after(since + period.as_secs_f64() * share, speed, turn);
            self.sample(&seen.world, &pose, degrees).into()
        };
        (0..count).map(sample).collect()
    }

    fn sample(&mut self, world: &super::World, pose: &super::Pose, degrees: f64) -> Sample {
        let Mounting { x, y, optics, .. } = self.options.mounting;
        let from = pose.point((x, y));
        let range = world.range(from, pose.heading + self.options.mounting.direction(degrees));
        let noise = deviation(&mut self.rng) * self.options.noise;
        let is_missing = self.rng.f64() < self.options.missing;
        let echo = range.filter(|range| !is_missing && *range < REACH);
        let distance = echo.map_or(0.0, |range| (range - optics + noise) / f64::from(METRE));
        let distance = distance.round().clamp(0.0, u16::MAX.into()) as u16;
        // Echoes are weaker from further away.
        let quality = echo.map_or(0, |range| 20 + (200.0 / (1.0 + range)) as u8);
        Sample { quality, distance }
    }

    fn send(&mut self, body: Body<'_>, is_late: bool) {
        let Ok(frame) = Message::from(body).frame() else { return };
        if is_late {
            return;
        }
        if self.outbox.len() >= CAPACITY {
            self.outbox.pop_front();
        }
        self.outbox.push_back(frame);
    }
}

/// Turns a second that the motor is to make.
fn wanted(seen: &Seen) -> f64 {
    seen.lidar.map_or(0.0, |percent| f64::from(percent) / PERCENT_PER_TURN)
}

/// Seconds from one time to another, which may be before it.
fn signed_seconds(from: Instant, to: Instant) -> f64 {
    let (after, before) = (to.saturating_duration_since(from), from.saturating_duration_since(to));
    after.as_secs_f64() - before.as_secs_f64()
}

impl Session for Lidar {
    type Request = NoJob;
    type Reply = ();
    type Event = ();
    type State = ();
    type Peer = ();
    type Job = NoJob;
    type Done = NoJob;

    fn connected(&mut self, _now: Instant) {}

    fn disconnected(&mut self, _now: Instant, _reason: &str) {}

    /// A lidar hears nothing.
    fn handle_input(&mut self, _now: Instant, (): (), _bytes: &[u8]) {}

    fn handle_timeout(&mut self, now: Instant) {
        Lidar::handle_timeout(self, now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(Lidar::poll_timeout(self))
    }

    fn poll_output(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        let frame = self.poll_transmit().filter(|_| room)?;
        let (bytes_before, sums) = (bytes.len(), self.options.sums);
        bytes.extend_from_slice(frame.as_bytes());
        if let (false, Some([.., last])) = (sums, bytes.get_mut(bytes_before..)) {
            *last ^= 0x55;
        }
        Some(Output::Transmit(()))
    }

    fn request(&mut self, _now: Instant, request: NoJob, _origin: &Origin) -> RequestId {
        match request {}
    }

    fn is_overtaken(request: &NoJob, _by: OrderKind) -> bool {
        match *request {}
    }

    fn order(&mut self, _now: Instant, _order: &Order) {}

    fn close(&mut self, _now: Instant, _by: &Arc<str>) {}

    fn is_closed(&self) -> bool {
        true
    }

    fn state(&self) -> &() {
        &()
    }
}
