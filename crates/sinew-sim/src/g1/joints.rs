use std::time::Duration;

/// How far the arms move at a time.
pub(super) const STEP: Duration = Duration::from_millis(5);
/// [`STEP`] in seconds.
pub(super) const STEP_S: f32 = 0.005;

/// No joint ever moves faster, in rad/s. The vendor's SDK shuts the robot down at 10, and the arms
/// of its sample motion reach 9.1.
pub const MAX_VELOCITY: f32 = 9.5;

/// What rounding may add to a limit before a value is refused.
const SLACK: f32 = 1e-3;

/// Positions of the twelve slots, in rad.
pub type Pose = [f32; JOINTS.len()];

/// A joint that a slot stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Joint {
    /// Its number in the body of 29 joints.
    pub number: u16,
    /// Its name.
    pub name: &'static str,
    /// Lowest position, in rad.
    pub low: f32,
    /// Highest position, in rad.
    pub high: f32,
}

/// The joints of the twelve slots: both arms without the wrists' yaw. Limits are the vendor's.
#[allow(clippy::approx_constant, reason = "the vendor rounds an elbow's 60 degrees")]
pub const JOINTS: [Joint; 12] = [
    joint(15, "left shoulder pitch", -3.0892, 2.6704),
    joint(16, "left shoulder roll", -1.5882, 2.2515),
    joint(17, "left shoulder yaw", -2.618, 2.618),
    joint(18, "left elbow", -1.0472, 2.0944),
    joint(19, "left wrist roll", -1.972_222, 1.972_222),
    joint(20, "left wrist pitch", -1.614_429_6, 1.614_429_6),
    joint(22, "right shoulder pitch", -3.0892, 2.6704),
    joint(23, "right shoulder roll", -2.2515, 1.5882),
    joint(24, "right shoulder yaw", -2.618, 2.618),
    joint(25, "right elbow", -1.0472, 2.0944),
    joint(26, "right wrist roll", -1.972_222, 1.972_222),
    joint(27, "right wrist pitch", -1.614_429_6, 1.614_429_6),
];

const fn joint(number: u16, name: &'static str, low: f32, high: f32) -> Joint {
    Joint { number, name, low, high }
}

impl Joint {
    /// The nearest position that the joint can take; the middle for what is no number.
    pub fn clamp(&self, position: f32) -> f32 {
        let position = if position.is_nan() { (self.low + self.high) / 2.0 } else { position };
        position.clamp(self.low, self.high)
    }

    /// Whether the joint can take a position, give or take rounding.
    pub fn allows(&self, position: f32) -> bool {
        (self.low - SLACK..=self.high + SLACK).contains(&position)
    }
}

/// The slot that a keyframe's joint means. No document says whether it counts slots or the body's
/// joints; 0 to 11 are slots, and the arms' joints begin at 15, so both can be had.
pub fn slot_of(joint: u16) -> Option<usize> {
    let slot = usize::from(joint);
    if slot < JOINTS.len() {
        return Some(slot);
    }
    JOINTS.iter().position(|known| known.number == joint)
}

/// The arms: where they are and how fast.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arms {
    pub(super) positions: Pose,
    pub(super) velocities: Pose,
}

impl Arms {
    pub(super) fn new(pose: Pose) -> Self {
        Arms { positions: clamped(pose), velocities: Pose::default() }
    }

    /// Keeps the arms where they are.
    pub(super) fn hold(&mut self) {
        self.velocities = Pose::default();
    }

    /// Moves every joint towards `goal` for one step, as far as limits and speed allow.
    pub(super) fn approach(&mut self, goal: &Pose) {
        let before = self.positions;
        for ((position, goal), joint) in self.positions.iter_mut().zip(goal).zip(&JOINTS) {
            const REACH: f32 = MAX_VELOCITY * STEP_S;
            let goal = joint.clamp(*goal);
            let way = goal - *position;
            *position =
                if way.abs() <= REACH { goal } else { *position + way.clamp(-REACH, REACH) };
        }
        for (slot, velocity) in self.velocities.iter_mut().enumerate() {
            *velocity = (self.positions[slot] - before[slot]) / STEP_S;
        }
    }

    /// The farthest that a joint is from `goal`.
    pub(super) fn distance(&self, goal: &Pose) -> f32 {
        self.positions.iter().zip(goal).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }
}

pub(super) fn clamped(pose: Pose) -> Pose {
    let mut pose = pose;
    for (position, joint) in pose.iter_mut().zip(&JOINTS) {
        *position = joint.clamp(*position);
    }
    pose
}
