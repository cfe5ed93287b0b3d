//! Where the robot is, and how it walks: straight on, after it has turned.

use std::{
    f64::consts::{PI, TAU},
    time::Duration,
};

use super::super::building::{PATROL, clearance};

/// How fast it walks, m/s.
pub(super) const SPEED: f64 = 0.5;
/// How fast it turns, rad/s.
const TURN: f64 = 0.8;
/// It stops before what is closer than this.
const CLOSE: f64 = 0.5;
/// It gives up when its way has been blocked for so long. Supposed.
const GIVE_UP_S: f64 = 20.0;
/// It is there when it is no farther off.
const THERE: f64 = 0.02;
/// It walks when it looks this way but for so much.
const AIMED: f64 = 0.02;

/// How far it moves at a time.
pub(super) const STEP: Duration = Duration::from_millis(20);
const STEP_S: f64 = 0.02;

/// A place in the building: x and y in metres, and which way it looks in radians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// East.
    pub x: f64,
    /// North.
    pub y: f64,
    /// Counter-clockwise from east.
    pub yaw: f64,
}

/// What a robot's legs do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walking {
    /// They stand.
    No,
    /// An operator leads the robot around while it maps.
    Led,
    /// To a goal.
    ToGoal,
    /// They stand, until the walk to a goal is resumed.
    Paused,
    /// They stand, since something is in the way to a goal.
    Blocked,
}

/// A walk to a goal.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    pub(super) start: Place,
    pub(super) goal: Place,
    pub(super) is_paused: bool,
    /// How long something has been in the way, in seconds.
    pub(super) blocked_s: Option<f64>,
    pub(super) used_s: f64,
    /// Forward in m/s, and turning in rad/s.
    pub(super) velocity: [f64; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Goes,
    Arrived,
    GaveUp,
}

impl Place {
    pub(super) const fn at(self) -> [f64; 2] {
        [self.x, self.y]
    }

    pub(super) fn distance(self, to: [f64; 2]) -> f64 {
        (to[0] - self.x).hypot(to[1] - self.y)
    }

    fn bearing(self, to: [f64; 2]) -> f64 {
        (to[1] - self.y).atan2(to[0] - self.x)
    }
}

impl Walk {
    pub(super) fn new(start: Place, goal: Place) -> Self {
        let velocity = [0.0; 2];
        Walk { start, goal, is_paused: false, blocked_s: None, used_s: 0.0, velocity }
    }

    /// Moves the body for one step.
    pub(super) fn step(&mut self, body: &mut Place) -> Step {
        self.velocity = [0.0; 2];
        if self.is_paused {
            return Step::Goes;
        }
        self.used_s += STEP_S;
        let left = body.distance(self.goal.at());
        let course = if left > THERE { body.bearing(self.goal.at()) } else { self.goal.yaw };
        let turn = wrapped(course - body.yaw);
        if turn.abs() > AIMED {
            let turned = turn.clamp(-TURN * STEP_S, TURN * STEP_S);
            body.yaw = wrapped(body.yaw + turned);
            self.velocity[1] = turned / STEP_S;
            return Step::Goes;
        }
        if left <= THERE {
            return Step::Arrived;
        }
        if clearance(body.at(), body.yaw) < CLOSE {
            let blocked = self.blocked_s.unwrap_or(0.0) + STEP_S;
            self.blocked_s = Some(blocked);
            return if blocked > GIVE_UP_S { Step::GaveUp } else { Step::Goes };
        }
        self.blocked_s = None;
        let way = left.min(SPEED * STEP_S);
        let (sin, cos) = course.sin_cos();
        body.x += way * cos;
        body.y += way * sin;
        self.velocity[0] = way / STEP_S;
        Step::Goes
    }

    /// How far it has come, in percent.
    pub(super) fn percent(&self, body: Place) -> f64 {
        let whole = self.start.distance(self.goal.at());
        let left = body.distance(self.goal.at());
        if whole > 0.0 { (100.0 * (1.0 - left / whole)).clamp(0.0, 100.0) } else { 100.0 }
    }

    /// About how long it takes yet, in seconds.
    pub(super) fn left_s(&self, body: Place) -> f64 {
        body.distance(self.goal.at()) / SPEED
    }
}

/// Where an operator leads the robot next: the waypoint after the one it is at, or the nearest that
/// it can walk to straight.
pub(super) fn led_to(body: Place) -> Option<Place> {
    let at = PATROL.iter().position(|point| body.distance(*point) < 0.1);
    let next = match at {
        Some(index) => Some(PATROL[(index + 1) % PATROL.len()]),
        None => {
            let free = |point: &&[f64; 2]| {
                clearance(body.at(), body.bearing(**point)) > body.distance(**point) + CLOSE
            };
            let nearest = |one: &&[f64; 2], two: &&[f64; 2]| {
                body.distance(**one).total_cmp(&body.distance(**two))
            };
            PATROL.iter().filter(free).min_by(nearest).copied()
        }
    };
    next.map(|[x, y]| Place { x, y, yaw: body.bearing([x, y]) })
}

/// An angle between -π and π.
pub(super) fn wrapped(angle: f64) -> f64 {
    let turned = angle.rem_euclid(TAU);
    if turned > PI { turned - TAU } else { turned }
}
