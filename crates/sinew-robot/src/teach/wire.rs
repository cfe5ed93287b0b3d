//! Motions as the datagrams carry them.

use sinew_wire::teach::{self, KEYFRAME_SLOTS, Keyframes};

use super::Carries;
use crate::trajectory::{Interpolation, Keyframe};

/// What the teaching datagrams can carry.
pub(super) const CARRIES: Carries =
    Carries { looped: false, speed: false, keyframes: KEYFRAME_SLOTS };

/// Keyframes in the slots of a save or a play.
pub(super) fn to_wire(keyframes: &[Keyframe]) -> sinew_wire::Result<Keyframes> {
    let keyframes: Vec<_> = keyframes
        .iter()
        .map(|&Keyframe { joint, time_ms, value }| teach::Keyframe { joint, time_ms, value })
        .collect();
    Keyframes::new(&keyframes)
}

impl From<Interpolation> for teach::Interpolation {
    fn from(way: Interpolation) -> Self {
        match way {
            Interpolation::Linear => teach::Interpolation::Linear,
            Interpolation::Cubic => teach::Interpolation::Cubic,
            Interpolation::Smooth => teach::Interpolation::Smooth,
        }
    }
}
