use super::JOINTS;

/// A joint that a slot stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Joint {
    /// The robot's own number for it.
    pub number: u8,
    /// Its name.
    pub name: &'static str,
    /// Smallest position, rad.
    pub min: f32,
    /// Largest position, rad.
    pub max: f32,
}

/// The twelve slots of a G1: its arms without the wrists' yaw (21 and 28), with the limits of
/// Unitree's tables for the 29-joint robot. A 23-joint one lacks the wrists' pitch (20 and 27),
/// too. No document says which joints its twelve are.
#[allow(clippy::approx_constant, reason = "the tables' figures, not ours")]
pub const G1_ARM_JOINTS: [Joint; JOINTS] = [
    joint(15, "left_shoulder_pitch", -3.0892, 2.6704),
    joint(16, "left_shoulder_roll", -1.5882, 2.2515),
    joint(17, "left_shoulder_yaw", -2.618, 2.618),
    joint(18, "left_elbow", -1.0472, 2.0944),
    joint(19, "left_wrist_roll", -1.972_222, 1.972_222),
    joint(20, "left_wrist_pitch", -1.614_43, 1.614_43),
    joint(22, "right_shoulder_pitch", -3.0892, 2.6704),
    joint(23, "right_shoulder_roll", -2.2515, 1.5882),
    joint(24, "right_shoulder_yaw", -2.618, 2.618),
    joint(25, "right_elbow", -1.0472, 2.0944),
    joint(26, "right_wrist_roll", -1.972_222, 1.972_222),
    joint(27, "right_wrist_pitch", -1.614_43, 1.614_43),
];

const fn joint(number: u8, name: &'static str, min: f32, max: f32) -> Joint {
    Joint { number, name, min, max }
}

impl Joint {
    /// The nearest position within its limits. What is no number becomes the nearest to zero.
    pub fn clamp(&self, value: f32) -> f32 {
        let value = if value.is_nan() { 0.0 } else { value };
        value.max(self.min).min(self.max)
    }
}
