/// A joint's position at a time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Keyframe {
    /// The slot of the joint.
    pub joint: u16,
    /// Milliseconds from the start.
    pub time_ms: u16,
    /// Position in radians.
    pub value: f32,
}
