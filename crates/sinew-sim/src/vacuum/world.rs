use std::f64::consts::{PI, TAU};

use super::Dock;

/// Radius of the robot in metres.
pub const ROBOT_RADIUS: f64 = 0.17;
/// Where the cliff sensors are, in metres forward and to the left of the robot's centre: left side,
/// left front, right front, right side.
pub const CLIFF_SENSORS: [(f64, f64); 4] =
    [(0.12, 0.10), (0.15, 0.05), (0.15, -0.05), (0.12, -0.10)];

/// How near an obstacle must be to press the bumper, which is the way the bumper gives.
const BUMPER_TRAVEL: f64 = 0.002;
/// A contact this close to straight ahead presses both halves of the bumper.
const BOTH_BUMPERS: f64 = 10.0 * PI / 180.0;

/// A place and a direction: metres, and radians counter-clockwise from the x axis.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pose {
    /// Metres along x.
    pub x: f64,
    /// Metres along y.
    pub y: f64,
    /// Radians, counter-clockwise, from -π to π.
    pub heading: f64,
}

impl Pose {
    /// A pose; the heading is brought between -π and π.
    pub fn new(x: f64, y: f64, heading: f64) -> Self {
        Pose { x, y, heading: wrapped(heading) }
    }

    /// Metres between the two places.
    pub fn distance(&self, other: &Pose) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }

    /// The least turn from `other`'s heading to this one, in radians.
    pub fn turn_from(&self, other: &Pose) -> f64 {
        wrapped(self.heading - other.heading)
    }

    /// The place of a point that is `forward` and `left` of the robot's centre.
    pub(super) fn point(&self, (forward, left): (f64, f64)) -> (f64, f64) {
        let (sin, cos) = self.heading.sin_cos();
        (self.x + forward * cos - left * sin, self.y + forward * sin + left * cos)
    }

    /// Where a robot is after this long that goes on as it does: forwards in m/s, turning in rad/s.
    pub(super) fn after(&self, seconds: f64, speed: f64, turn: f64) -> Pose {
        let (sin, cos) = (self.heading + turn * seconds / 2.0).sin_cos();
        let way = speed * seconds;
        Pose::new(self.x + way * cos, self.y + way * sin, self.heading + turn * seconds)
    }

    fn is_finite(&self) -> bool {
        self.x.is_finite() && self.y.is_finite() && self.heading.is_finite()
    }
}

/// A rectangle along the axes, in metres.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Rect {
    pub left: f64,
    pub bottom: f64,
    pub right: f64,
    pub top: f64,
}

impl Rect {
    /// A rectangle between two corners, the lower left one first.
    pub const fn new((left, bottom): (f64, f64), (right, top): (f64, f64)) -> Self {
        Rect { left, bottom, right, top }
    }

    fn contains(&self, (x, y): (f64, f64)) -> bool {
        (self.left..=self.right).contains(&x) && (self.bottom..=self.top).contains(&y)
    }

    /// The point of the rectangle next to a place. Bounds that cross do not panic.
    pub(super) fn nearest(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (x.max(self.left).min(self.right), y.max(self.bottom).min(self.top))
    }

    /// How far along a ray of length 1 it enters the rectangle, and how far it leaves it; none when it
    /// misses it or has it behind.
    fn crossed(&self, (x, y): (f64, f64), (dx, dy): (f64, f64)) -> Option<(f64, f64)> {
        let along = |low: f64, high: f64, from: f64, step: f64| {
            if step == 0.0 {
                let within = (low..=high).contains(&from);
                return within.then_some((f64::NEG_INFINITY, f64::INFINITY));
            }
            let (a, b) = ((low - from) / step, (high - from) / step);
            Some((a.min(b), a.max(b)))
        };
        let (in_x, out_x) = along(self.left, self.right, x, dx)?;
        let (in_y, out_y) = along(self.bottom, self.top, y, dy)?;
        let (enters, leaves) = (in_x.max(in_y), out_x.min(out_y));
        (enters <= leaves && leaves >= 0.0).then_some((enters, leaves))
    }

    fn shrunk(&self, by: f64) -> Rect {
        Rect::new((self.left + by, self.bottom + by), (self.right - by, self.top - by))
    }
}

/// What surrounds the robot.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// The floor within the walls.
    pub room: Rect,
    /// Boxes that stand on it.
    pub furniture: Vec<Rect>,
    /// Where the floor is missing. Cliff sensors see it; the robot does not fall.
    pub steps: Vec<Rect>,
    /// The charging station, if there is one.
    pub dock: Option<Dock>,
}

impl World {
    /// No walls within a kilometre, no furniture, no step, no dock.
    pub fn empty() -> Self {
        World {
            room: Rect::new((-1000.0, -1000.0), (1000.0, 1000.0)),
            furniture: Vec::new(),
            steps: Vec::new(),
            dock: None,
        }
    }

    /// Whether the charging contacts meet.
    pub(super) fn on_dock(&self, pose: &Pose) -> bool {
        self.dock.is_some_and(|dock| dock.holds(pose))
    }

    /// Which cliff sensors look down a step, in the order of [`CLIFF_SENSORS`].
    pub(super) fn cliffs(&self, pose: &Pose) -> [bool; 4] {
        CLIFF_SENSORS.map(|sensor| {
            let place = pose.point(sensor);
            self.steps.iter().any(|step| step.contains(place))
        })
    }

    /// Where the robot ends up when it tries to be at `wanted`: beside what is in the way, so that
    /// a move along a wall slides. A pose that is no number gives `fallback`.
    pub(super) fn settle(&self, wanted: Pose, fallback: Pose) -> Pose {
        if !wanted.is_finite() {
            return fallback;
        }
        let mut pose = Pose::new(wanted.x, wanted.y, wanted.heading);
        let floor = self.room.shrunk(ROBOT_RADIUS);
        for _ in 0..2 {
            if let Some(dock) = &self.dock {
                pose = dock.settle(pose);
            }
            let mut at = (pose.x, pose.y);
            for piece in &self.furniture {
                at = beside(piece, at, &floor);
            }
            (pose.x, pose.y) = floor.nearest(at);
        }
        pose
    }

    /// How far it is from a place to what light meets first in a direction: a wall or furniture. The
    /// station is lower than a lidar looks. None when that is no number, or the place is outside.
    pub(super) fn range(&self, from: (f64, f64), direction: f64) -> Option<f64> {
        let (sin, cos) = direction.sin_cos();
        if !(self.room.contains(from) && sin.is_finite()) {
            return None;
        }
        let (_, wall) = self.room.crossed(from, (cos, sin))?;
        let pieces = self.furniture.iter().filter_map(|piece| piece.crossed(from, (cos, sin)));
        Some(pieces.fold(wall, |nearest, (enters, _)| nearest.min(enters.max(0.0))))
    }

    /// Whether the left and the right half of the bumper are pressed.
    pub(super) fn bumpers(&self, pose: &Pose) -> (bool, bool) {
        let mut pressed = (false, false);
        let mut touch = |(x, y): (f64, f64)| {
            let (dx, dy) = (x - pose.x, y - pose.y);
            let bearing = wrapped(dy.atan2(dx) - pose.heading);
            if dx.hypot(dy) < ROBOT_RADIUS + BUMPER_TRAVEL && bearing.abs() < PI / 2.0 {
                pressed.0 |= bearing > -BOTH_BUMPERS;
                pressed.1 |= bearing < BOTH_BUMPERS;
            }
        };
        let Rect { left, bottom, right, top } = self.room;
        for wall in [(left, pose.y), (right, pose.y), (pose.x, bottom), (pose.x, top)] {
            touch(wall);
        }
        for piece in &self.furniture {
            touch(piece.nearest((pose.x, pose.y)));
        }
        if let Some(dock) = &self.dock {
            touch(dock.nearest(pose));
        }
        pressed
    }
}

impl Default for World {
    /// A room of 5 x 4 m. The dock is at its left wall and its pose is the origin, so that what a
    /// robot measures from its dock can be compared with where it is. Straight ahead of the dock
    /// the floor is free up to the far wall.
    fn default() -> Self {
        World {
            // The station is between the docked robot and the wall, 5 cm thick.
            room: Rect::new((-0.22, -1.5), (4.78, 2.5)),
            furniture: vec![
                Rect::new((2.0, 1.2), (2.6, 1.8)),
                Rect::new((3.2, -1.5), (4.78, -0.7)),
            ],
            steps: vec![Rect::new((3.9, 1.7), (4.78, 2.5))],
            dock: Some(Dock::at(Pose::default())),
        }
    }
}

/// The place next to `at` where a robot does not overlap the box, on the floor if there is one.
fn beside(piece: &Rect, at: (f64, f64), floor: &Rect) -> (f64, f64) {
    let near = piece.nearest(at);
    let (dx, dy) = (at.0 - near.0, at.1 - near.1);
    let distance = dx.hypot(dy);
    if distance >= ROBOT_RADIUS {
        at
    } else if distance > 0.0 {
        let scale = ROBOT_RADIUS / distance;
        (near.0 + dx * scale, near.1 + dy * scale)
    } else {
        // The centre is inside: leave by the nearest side that is not at a wall.
        let sides = [
            (at.0 - piece.left, (piece.left - ROBOT_RADIUS, at.1)),
            (piece.right - at.0, (piece.right + ROBOT_RADIUS, at.1)),
            (at.1 - piece.bottom, (at.0, piece.bottom - ROBOT_RADIUS)),
            (piece.top - at.1, (at.0, piece.top + ROBOT_RADIUS)),
        ];
        let free = sides.into_iter().filter(|(_, place)| floor.contains(*place));
        free.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(at, |(_, place)| place)
    }
}

/// An angle between -π and π.
fn wrapped(angle: f64) -> f64 {
    let turned = angle.rem_euclid(TAU);
    if turned > PI { turned - TAU } else { turned }
}
