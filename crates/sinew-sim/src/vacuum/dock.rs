use std::f64::consts::PI;

use super::world::{Pose, ROBOT_RADIUS, Rect};

/// A charging station. No real one was measured: all of it is assumed, from what such stations look
/// like.
///
/// It is a box behind the docked robot. Two guides stand out of it and narrow towards its back: a
/// robot that backs in between them slides along them, which centres it and turns it straight, until
/// it sits at the back. One that comes beside the mouth, or too slanted, meets the guides' ends and
/// gets no further; its wheels slip. The contacts are sprung, and meet a little before the seat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dock {
    /// Where a robot is that sits in it; it looks away from the station.
    pub pose: Pose,
    /// How far off its seat, in metres, the contacts still meet.
    pub reach: f64,
    /// How far turned, in radians, they still meet.
    pub angle: f64,
    /// How far the guides stand out, in metres.
    pub depth: f64,
    /// How far off the middle, in metres, a robot still gets between them.
    pub mouth: f64,
    /// How far turned, in radians, it still does.
    pub slant: f64,
}

/// What the guides leave a robot that sits, in metres and radians.
const PLAY: (f64, f64) = (0.002, 1.0 * PI / 180.0);
/// Half of the box's width, and how far it reaches behind the robot.
const HALF_WIDTH: f64 = 0.12;
const THICKNESS: f64 = 0.05;

impl Dock {
    /// A station whose guides stand out by 4 cm and take a robot that is up to 3 cm and 10 degrees
    /// off, and whose contacts meet within 8 mm and 3 degrees of the seat.
    pub const fn at(pose: Pose) -> Self {
        const DEGREE: f64 = PI / 180.0;
        Dock {
            pose,
            reach: 0.008,
            angle: 3.0 * DEGREE,
            depth: 0.04,
            mouth: 0.03,
            slant: 10.0 * DEGREE,
        }
    }

    /// Whether the charging contacts meet.
    pub(super) fn holds(&self, pose: &Pose) -> bool {
        pose.distance(&self.pose) <= self.reach && pose.turn_from(&self.pose).abs() <= self.angle
    }

    /// Where a robot ends up that tries to be at `wanted`: between the guides, or in front of them
    /// and beside the box.
    pub(super) fn settle(&self, wanted: Pose) -> Pose {
        let (ahead, left) = self.seen_from(&wanted);
        let turn = wanted.turn_from(&self.pose);
        if ahead >= self.depth {
            return wanted;
        }
        if ahead > -ROBOT_RADIUS && left.abs() <= self.mouth && turn.abs() <= self.slant {
            let ahead = ahead.max(0.0);
            let open = ahead / self.depth;
            let side = PLAY.0 + (self.mouth - PLAY.0).max(0.0) * open;
            let slant = PLAY.1 + (self.slant - PLAY.1).max(0.0) * open;
            let heading = self.pose.heading + within(turn, slant);
            return self.placed(ahead, within(left, side), heading);
        }
        let (near_ahead, near_left) = self.body().nearest((ahead, left));
        let (dx, dy) = (ahead - near_ahead, left - near_left);
        let distance = dx.hypot(dy);
        if distance >= ROBOT_RADIUS {
            wanted
        } else if distance > 0.0 {
            let scale = ROBOT_RADIUS / distance;
            self.placed(near_ahead + dx * scale, near_left + dy * scale, wanted.heading)
        } else {
            self.placed(self.depth, left, wanted.heading)
        }
    }

    /// The point of the box next to a robot.
    pub(super) fn nearest(&self, pose: &Pose) -> (f64, f64) {
        self.pose.point(self.body().nearest(self.seen_from(pose)))
    }

    /// The box up to the guides' ends, ahead and to the left of the seat.
    fn body(&self) -> Rect {
        let behind = -ROBOT_RADIUS - THICKNESS;
        Rect::new((behind, -HALF_WIDTH), (self.depth - ROBOT_RADIUS, HALF_WIDTH))
    }

    /// How far ahead and to the left of the seat a robot is.
    fn seen_from(&self, pose: &Pose) -> (f64, f64) {
        let (sin, cos) = self.pose.heading.sin_cos();
        let (x, y) = (pose.x - self.pose.x, pose.y - self.pose.y);
        (x * cos + y * sin, y * cos - x * sin)
    }

    fn placed(&self, ahead: f64, left: f64, heading: f64) -> Pose {
        let (x, y) = self.pose.point((ahead, left));
        Pose::new(x, y, heading)
    }
}

/// Bounds that are no numbers do not panic.
fn within(value: f64, most: f64) -> f64 {
    value.max(-most).min(most)
}
