use std::time::Duration;

use sinew_wire::teach::{G1_ARM_JOINTS, Joint};

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
pub type Pose = [f32; G1_ARM_JOINTS.len()];

/// Whether a joint can take a position, give or take rounding.
pub(super) fn allows(joint: &Joint, position: f32) -> bool {
    (joint.min - SLACK..=joint.max + SLACK).contains(&position)
}

/// The slot that a keyframe's joint means. No document says whether it counts slots or the body's
/// joints; 0 to 11 are slots, and the arms' joints begin at 15, so both can be had.
pub fn slot_of(joint: u16) -> Option<usize> {
    let slot = usize::from(joint);
    if slot < G1_ARM_JOINTS.len() {
        return Some(slot);
    }
    G1_ARM_JOINTS.iter().position(|known| u16::from(known.number) == joint)
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
        for ((position, goal), joint) in self.positions.iter_mut().zip(goal).zip(&G1_ARM_JOINTS) {
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
    for (position, joint) in pose.iter_mut().zip(&G1_ARM_JOINTS) {
        *position = joint.clamp(*position);
    }
    pose
}
