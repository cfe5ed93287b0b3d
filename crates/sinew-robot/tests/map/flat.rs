//! A furnished flat, a robot that drives through it, and what its wheels and its lidar say: in
//! virtual time, by a seed. The mapper under test gets only what a robot would.

use std::{
    f64::consts::{PI, TAU},
    time::{Duration, Instant},
};

use sinew_robot::{
    map::{Echo, Grid, Mapper, MapperSettings, Outcome, Scan, file::Ground},
    vacuum::Pose,
};

/// Rectangles: left, bottom, right, top, metres. First the walls, then what stands between them.
const BOXES: &[[f64; 4]] = &[
    [-0.2, -0.2, 9.8, 0.0],
    [-0.2, 7.2, 9.8, 7.4],
    [-0.2, 0.0, 0.0, 7.2],
    [9.6, 0.0, 9.8, 7.2],
    [4.0, 0.0, 4.1, 1.2],
    [4.0, 2.1, 4.1, 5.0],
    [4.0, 5.9, 4.1, 7.2],
    [0.0, 4.2, 2.0, 4.3],
    [2.9, 4.2, 4.0, 4.3],
    [4.1, 3.6, 6.5, 3.7],
    [7.4, 3.6, 9.6, 3.7],
    [1.4, 0.0, 3.2, 0.4],
    [1.60, 2.20, 1.65, 2.25],
    [2.50, 2.20, 2.55, 2.25],
    [1.60, 2.80, 1.65, 2.85],
    [2.50, 2.80, 2.55, 2.85],
    [3.5, 2.6, 4.0, 4.1],
    [5.2, 0.0, 7.2, 1.1],
    [4.1, 2.7, 5.4, 3.6],
    [6.0, 5.3, 7.6, 5.9],
    [9.3, 5.0, 9.6, 6.5],
    [4.3, 3.7, 5.3, 4.2],
    [0.0, 6.9, 0.5, 7.2],
    [1.5, 6.7, 3.4, 7.2],
    [3.3, 4.3, 4.0, 4.7],
];
/// Middle and radius.
const PLANT: ([f64; 2], f64) = ([9.2, 0.4], 0.2);
/// A round through all rooms.
const ROUND: &[[f64; 2]] = &[
    [1.0, 1.0],
    [3.3, 1.65],
    [4.7, 1.65],
    [8.7, 1.7],
    [8.8, 2.8],
    [6.95, 2.6],
    [6.95, 4.6],
    [8.7, 4.6],
    [8.7, 6.4],
    [5.2, 6.5],
    [4.9, 5.45],
    [3.1, 5.45],
    [0.8, 6.4],
    [0.7, 5.0],
    [2.45, 5.0],
    [2.45, 3.4],
    [0.8, 3.4],
];
const WHEEL_BASE: f64 = 0.233;
const TICK: Duration = Duration::from_millis(20);
/// Ticks of a turn of the lidar, and its echoes in each.
const TURN: usize = 10;
const RAYS: usize = 36;
const NOISE: f64 = 0.01;
const MISSING: f64 = 0.05;
const SCALE: f64 = 0.03;
const SLIP: f64 = 0.05;
const FURTHEST: f64 = 8.0;

/// How good a map and a pose are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    /// Metres and radians between the pose and the truth at the end.
    pub(crate) end: (f64, f64),
    /// The largest on the way.
    pub(crate) worst: (f64, f64),
    /// The same of odometry alone, at the end.
    pub(crate) odometry: (f64, f64),
    /// Share of occupied squares within a square's side of a true surface.
    pub(crate) right: f64,
    /// Share of the surfaces that could be seen within a square's side of an occupied square.
    pub(crate) complete: f64,
    /// Turns that were taken, of all.
    pub(crate) matched: (usize, usize),
    /// Share of poses within three of the deviations that were stated.
    pub(crate) honest: f64,
}

/// The robot, the flat, and the mapper.
pub(crate) struct Run {
    pub(crate) mapper: Mapper,
    pub(crate) outcomes: Vec<Outcome>,
    /// What each turn took of the processor.
    #[allow(dead_code, reason = "the bench tells it")]
    pub(crate) times: Vec<Duration>,
    random: fastrand::Rng,
    now: Instant,
    start: Pose,
    pub(crate) truth: Pose,
    odometry: Pose,
    scale: [f64; 2],
    next: usize,
    echoes: Vec<Echo>,
    ticks: usize,
    slip: [f64; 2],
    until_slip: usize,
    worst: (f64, f64),
    within: (usize, usize),
}

impl Run {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut sign = || if random.bool() { SCALE } else { -SCALE };
        let scale = [1.0 + sign(), 1.0 + sign()];
        let start = Pose { x: ROUND[0][0], y: ROUND[0][1], heading: random.f64() * TAU - PI };
        Run {
            mapper: Mapper::new(MapperSettings::default()),
            outcomes: Vec::new(),
            times: Vec::new(),
            until_slip: 300,
            random,
            now: Instant::now(),
            start,
            truth: start,
            // Somewhere else: only steps count.
            odometry: Pose { x: 3.0, y: -2.0, heading: 1.0 },
            scale,
            next: 1,
            echoes: Vec::new(),
            ticks: 0,
            slip: [0.0; 2],
            worst: (0.0, 0.0),
            within: (0, 0),
        }
    }

    /// Drives for so many seconds.
    pub(crate) fn drive(&mut self, seconds: usize) {
        for _ in 0..seconds * 50 {
            let (speed, turn) = self.steer();
            self.tick(speed, turn);
        }
    }

    /// Stands for so many seconds.
    pub(crate) fn stand(&mut self, seconds: usize) {
        (0..seconds * 50).for_each(|_| self.tick(0.0, 0.0));
    }

    /// Carries the robot to another place; its wheels do not turn.
    pub(crate) fn carry(&mut self, to: Pose) {
        self.truth = to;
    }

    /// Speed and turn towards the next place of the round.
    fn steer(&mut self) -> (f64, f64) {
        let [x, y] = ROUND[self.next % ROUND.len()];
        let (dx, dy) = (x - self.truth.x, y - self.truth.y);
        if dx.hypot(dy) < 0.1 {
            self.next += 1;
        }
        let off = wrapped(dy.atan2(dx) - self.truth.heading);
        match off.abs() > 0.4 {
            true => (0.0, off.signum() * 0.8),
            false => (0.22, off * 2.0),
        }
    }

    fn tick(&mut self, speed: f64, turn: f64) {
        let seconds = TICK.as_secs_f64();
        let before = self.truth;
        let step = Pose { x: speed * seconds, y: 0.0, heading: turn * seconds };
        self.truth = before.then(step);
        self.scan(before);
        self.now += TICK;
        self.ticks += 1;
        let half = turn * WHEEL_BASE / 2.0;
        let moves = speed != 0.0 || turn != 0.0;
        let slips = self.slips(moves);
        let [left, right] = [
            (speed - half) * seconds * self.scale[0] + slips[0],
            (speed + half) * seconds * self.scale[1] + slips[1],
        ];
        let turned = (right - left) / WHEEL_BASE;
        let way = f64::midpoint(left, right);
        let middle = self.odometry.heading + turned / 2.0;
        self.odometry.x += way * middle.cos();
        self.odometry.y += way * middle.sin();
        self.odometry.heading = wrapped(self.odometry.heading + turned);
        self.mapper.odometry(self.now, self.odometry);
        if self.ticks.is_multiple_of(TURN) {
            let echoes = std::mem::take(&mut self.echoes);
            let began = self.now - TICK * TURN as u32;
            let scan = Scan { began, ended: self.now, echoes: &echoes };
            let asked = spent();
            self.outcomes.push(self.mapper.scan(&scan));
            self.times.push(spent() - asked);
            self.measure();
        }
    }

    /// What the wheels turn without the robot moving: 5 cm within a fifth of a second, every ten
    /// seconds or so.
    fn slips(&mut self, moves: bool) -> [f64; 2] {
        if moves {
            self.until_slip = self.until_slip.saturating_sub(1);
        }
        if self.until_slip == 0 {
            self.until_slip = self.random.usize(300..700);
            let wheels = self.random.usize(1..4);
            self.slip = [wheels & 1, wheels >> 1].map(|slips| slips as f64 * SLIP);
        }
        let now = self.slip.map(|left| left.min(SLIP / 10.0));
        self.slip = [self.slip[0] - now[0], self.slip[1] - now[1]];
        now
    }

    /// A part of a turn, from where the robot is meanwhile.
    fn scan(&mut self, before: Pose) {
        let step = before.step_to(self.truth);
        let first = self.ticks % TURN * RAYS;
        for ray in 0..RAYS {
            let share = ray as f64 / RAYS as f64;
            let moved =
                Pose { x: step.x * share, y: step.y * share, heading: step.heading * share };
            let at = before.then(moved);
            let angle = wrapped((first + ray) as f64 / (TURN * RAYS) as f64 * TAU);
            let noise: f64 = (0..12).map(|_| self.random.f64()).sum::<f64>() - 6.0;
            let distance = cast([at.x, at.y], at.heading + angle) + noise * NOISE;
            if distance < FURTHEST && self.random.f64() >= MISSING {
                self.echoes.push(Echo { angle, distance });
            }
        }
    }

    fn measure(&mut self) {
        let error = self.error();
        self.worst = (self.worst.0.max(error.0), self.worst.1.max(error.1));
        let (pose, truth) = (self.mapper.pose(), self.start.step_to(self.truth));
        let known = self.mapper.uncertainty();
        let is_within = (pose.x - truth.x).abs() <= 3.0 * known.x
            && (pose.y - truth.y).abs() <= 3.0 * known.y
            && wrapped(pose.heading - truth.heading).abs() <= 3.0 * known.heading;
        self.within = (self.within.0 + usize::from(is_within), self.within.1 + 1);
    }

    /// Metres and radians between the mapper's pose and the truth.
    pub(crate) fn error(&self) -> (f64, f64) {
        let truth = self.start.step_to(self.truth);
        let pose = self.mapper.pose();
        (pose.distance(truth), wrapped(pose.heading - truth.heading).abs())
    }

    pub(crate) fn figures(&self) -> Figures {
        let truth = self.start.step_to(self.truth);
        let alone = Pose { x: 3.0, y: -2.0, heading: 1.0 }.step_to(self.odometry);
        let (right, complete) = walls(self.mapper.grid(), self.start);
        let taken = self.outcomes.iter().filter(|outcome| {
            matches!(outcome, Outcome::Matched { .. } | Outcome::Bumped { .. } | Outcome::Began)
        });
        Figures {
            end: self.error(),
            worst: self.worst,
            odometry: (alone.distance(truth), wrapped(alone.heading - truth.heading).abs()),
            right,
            complete,
            matched: (taken.count(), self.outcomes.len()),
            honest: self.within.0 as f64 / self.within.1.max(1) as f64,
        }
    }
}

/// What this thread took of the processor: other programs do not count.
pub(crate) fn spent() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap(), now.tv_nsec.try_into().unwrap())
}

/// How much of a map is right, and how much of the flat is in it.
fn walls(grid: &Grid, start: Pose) -> (f64, f64) {
    let raster = grid.raster().unwrap();
    let (mut right, mut all) = (0, 0);
    for row in 0..raster.height {
        for column in 0..raster.width {
            if raster.at(column, row) == Ground::Occupied {
                let place = [column, row].map(|index| (index as f64 + 0.5) * raster.resolution);
                let place = [raster.origin[0] + place[0], raster.origin[1] + place[1]];
                all += 1;
                right += usize::from(to_surface(start.place(place)) <= raster.resolution);
            }
        }
    }
    // What can be seen from the round, every two metres of it, is what should be there.
    let (mut found, mut seen) = (0, 0);
    for (index, from) in ROUND.iter().enumerate() {
        let to = ROUND[(index + 1) % ROUND.len()];
        let middle = [f64::midpoint(from[0], to[0]), f64::midpoint(from[1], to[1])];
        for place in [*from, middle] {
            for ray in 0..360 {
                let angle = f64::from(ray).to_radians();
                let distance = cast(place, angle);
                if distance > 4.0 {
                    continue;
                }
                let echo = [place[0] + distance * angle.cos(), place[1] + distance * angle.sin()];
                let there = start.step_to(Pose { x: echo[0], y: echo[1], heading: 0.0 });
                let near =
                    (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (dx, dy))).any(|(x, y)| {
                        let by = |step: i32| f64::from(step) * raster.resolution;
                        grid.at([there.x + by(x), there.y + by(y)]) == Ground::Occupied
                    });
                seen += 1;
                found += usize::from(near);
            }
        }
    }
    (
        f64::from(right as u32) / f64::from(all as u32),
        f64::from(found as u32) / f64::from(seen as u32),
    )
}

/// Metres from a place to the next surface.
fn to_surface([x, y]: [f64; 2]) -> f64 {
    let boxes = BOXES.iter().map(|[left, bottom, right, top]| {
        let (dx, dy) = ((left - x).max(x - right), (bottom - y).max(y - top));
        match dx.max(dy) <= 0.0 {
            true => -dx.max(dy),
            false => dx.max(0.0).hypot(dy.max(0.0)),
        }
    });
    let plant = ((x - PLANT.0[0]).hypot(y - PLANT.0[1]) - PLANT.1).abs();
    boxes.fold(plant, f64::min)
}

/// How far a ray goes.
fn cast([x, y]: [f64; 2], angle: f64) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let mut reach: f64 = 20.0;
    for [left, bottom, right, top] in BOXES {
        let (a, b) = ((left - x) / cos, (right - x) / cos);
        let (c, d) = ((bottom - y) / sin, (top - y) / sin);
        let enter = a.min(b).max(c.min(d));
        let leave = a.max(b).min(c.max(d));
        if enter <= leave && enter > 0.0 {
            reach = reach.min(enter);
        }
    }
    let ([px, py], radius) = PLANT;
    let along = (px - x) * cos + (py - y) * sin;
    let aside = (px - x) * sin - (py - y) * cos;
    if along > 0.0 && aside.abs() < radius {
        reach = reach.min(along - (radius * radius - aside * aside).sqrt());
    }
    reach
}

pub(crate) fn wrapped(angle: f64) -> f64 {
    let turned = angle.rem_euclid(TAU);
    if turned > PI { turned - TAU } else { turned }
}
