use serde::Serialize;

use super::{JOINTS, Keyframe, Pose};

/// How values between keyframes are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Interpolation {
    /// Straight lines.
    #[default]
    Linear,
    /// Cubic curves through the keyframes that never leave the range between two neighbours.
    Cubic,
    /// Standing still at each keyframe, smooth steps between.
    Smooth,
}

impl Interpolation {
    /// All of them.
    pub const ALL: [Interpolation; 3] =
        [Interpolation::Linear, Interpolation::Cubic, Interpolation::Smooth];

    /// Its name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            Interpolation::Linear => "linear",
            Interpolation::Cubic => "cubic",
            Interpolation::Smooth => "smooth",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Interpolation::ALL.into_iter().find(|way| way.name() == name)
    }
}

/// A motion given by keyframes: a curve for every slot.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    tracks: [Track; JOINTS],
}

/// One slot's keyframes in order of time; without any it rests.
#[derive(Debug, Clone, Default, PartialEq)]
struct Track {
    rest: f64,
    points: Vec<(f64, f64)>,
}

impl Curves {
    /// Curves through these keyframes; slots without any rest where `rest` has them. Of several
    /// keyframes of a slot at the same time the last counts; those of slots that do not exist and
    /// values that are no numbers do not.
    pub fn new(rest: Pose, keyframes: &[Keyframe]) -> Self {
        let mut tracks: [Track; JOINTS] = Default::default();
        for (track, rest) in tracks.iter_mut().zip(rest) {
            track.rest = rest.into();
        }
        for keyframe in keyframes.iter().filter(|keyframe| keyframe.value.is_finite()) {
            let Some(track) = tracks.get_mut(usize::from(keyframe.joint)) else { continue };
            let (time, value) = (f64::from(keyframe.time_ms), f64::from(keyframe.value));
            match track.points.binary_search_by(|point| point.0.total_cmp(&time)) {
                Ok(same) => {
                    if let Some(point) = track.points.get_mut(same) {
                        point.1 = value;
                    }
                }
                Err(place) => track.points.insert(place, (time, value)),
            }
        }
        Curves { tracks }
    }

    /// The pose at a time; before the first and after the last keyframe a slot rests.
    pub fn pose(&self, time_ms: f64, way: Interpolation) -> Pose {
        self.exact(time_ms, way).map(|value| value as f32)
    }

    pub(super) fn exact(&self, time_ms: f64, way: Interpolation) -> [f64; JOINTS] {
        self.tracks.each_ref().map(|track| track.value(time_ms, way))
    }
}

impl Track {
    fn value(&self, time: f64, way: Interpolation) -> f64 {
        let next = self.points.partition_point(|point| point.0 <= time);
        let before = next.checked_sub(1).and_then(|index| self.points.get(index));
        let (&(t0, v0), &(t1, v1)) = match (before, self.points.get(next)) {
            (Some(before), Some(after)) => (before, after),
            (Some(only), None) | (None, Some(only)) => return only.1,
            (None, None) => return self.rest,
        };
        let part = (time - t0) / (t1 - t0);
        let value = match way {
            Interpolation::Linear => v0 + (v1 - v0) * part,
            Interpolation::Smooth => v0 + (v1 - v0) * smooth_step(part),
            Interpolation::Cubic => {
                let span = t1 - t0;
                let (m0, m1) = (self.tangent(next - 1) * span, self.tangent(next) * span);
                hermite(part, v0, m0, v1, m1)
            }
        };
        // Rounding may leave the range that the curve itself cannot leave.
        value.max(v0.min(v1)).min(v0.max(v1))
    }

    /// The slope at a keyframe: zero at the ends and where the direction changes, otherwise the
    /// weighted harmonic mean of both sides, which keeps the cubic monotone (Fritsch and Butland).
    fn tangent(&self, index: usize) -> f64 {
        let at = |index: usize| self.points.get(index).copied();
        let before = index.checked_sub(1).and_then(at);
        let (Some((t0, v0)), Some((t1, v1)), Some((t2, v2))) = (before, at(index), at(index + 1))
        else {
            return 0.0;
        };
        let (h0, h1) = (t1 - t0, t2 - t1);
        let (d0, d1) = ((v1 - v0) / h0, (v2 - v1) / h1);
        if d0 * d1 <= 0.0 {
            return 0.0;
        }
        let (w0, w1) = (2.0 * h1 + h0, h1 + 2.0 * h0);
        (w0 + w1) / (w0 / d0 + w1 / d1)
    }
}

/// From 0 to 1, standing still at both ends.
fn smooth_step(part: f64) -> f64 {
    let part = part.clamp(0.0, 1.0);
    part * part * (3.0 - 2.0 * part)
}

fn hermite(part: f64, v0: f64, m0: f64, v1: f64, m1: f64) -> f64 {
    let rest = 1.0 - part;
    rest * rest * ((1.0 + 2.0 * part) * v0 + part * m0)
        + part * part * ((3.0 - 2.0 * part) * v1 - rest * m1)
}
