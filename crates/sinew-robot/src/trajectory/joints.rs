use sinew_wire::teach::{G1_ARM_JOINTS, Joint};

use super::Pose;

/// Joints of a motion.
pub const JOINTS: usize = 12;

/// Which joints the twelve slots are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointMap {
    /// By slot.
    pub joints: [Joint; JOINTS],
}

/// The G1's arms.
pub const G1_ARMS: JointMap = JointMap { joints: G1_ARM_JOINTS };

impl JointMap {
    /// The slot of the joint with this name.
    pub fn slot_of(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|joint| joint.name == name)
    }

    /// The slot of the robot's joint number.
    pub fn slot_of_number(&self, number: u8) -> Option<usize> {
        self.joints.iter().position(|joint| joint.number == number)
    }

    /// The nearest pose within all limits.
    #[must_use]
    pub fn clamp(&self, pose: Pose) -> Pose {
        let mut clamped = pose;
        for (value, joint) in clamped.iter_mut().zip(&self.joints) {
            *value = joint.clamp(*value);
        }
        clamped
    }

    /// The joints of a pose that are beyond their limits.
    pub fn beyond(&self, pose: &Pose) -> impl Iterator<Item = &Joint> {
        let pairs = self.joints.iter().zip(*pose);
        pairs.filter(|(joint, value)| joint.clamp(*value) != *value).map(|(joint, _)| joint)
    }
}

impl Default for JointMap {
    fn default() -> Self {
        G1_ARMS
    }
}
