use std::time::{Duration, Instant};

use serde::Serialize;

use super::{Curves, Error, Interpolation, JointMap, Piece, Pose, curve::smooth_step};

/// A caller that was away this long goes on where it was: a pose may lag, never jump.
const LONGEST_STEP: Duration = Duration::from_millis(100);
/// Nearer than this to where a motion begins, no easing is needed, rad.
const NEAR: f32 = 0.01;
/// The steepest part of a smooth step is this much faster than its mean.
const STEEPEST: f64 = 1.5;
/// How finely the time is cut where the full step would be too fast.
const CUTS: u32 = 12;

/// How a motion is played.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlayerSettings {
    /// How values between keyframes are found.
    pub interpolation: Interpolation,
    /// 1 is as recorded; 0.05 to 4.
    pub speed: f32,
    /// Whether it begins again at its end.
    pub looped: bool,
    /// Fastest that a joint may turn, rad/s. The robot's own guard is at 10.
    pub max_velocity: f32,
    /// Least time to get from the present pose to the first.
    #[serde(skip)]
    pub ease_in: Duration,
}

/// What a player does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// On the way to the first pose.
    EasingIn,
    /// In the motion.
    Playing,
    /// At its end.
    Done,
    /// Stopped by somebody; the pose is held.
    Stopped,
}

/// Where the joints should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Posture {
    /// By slot, rad.
    pub positions: Pose,
    /// Why.
    pub phase: Phase,
    /// How much of the motion is over, 0 to 1.
    pub progress: f32,
}

/// Plays a motion: ask for the pose as often as the robot wants one.
///
/// Every pose is within the joint limits and no further from the one before than the velocity
/// limit allows. Where the motion is faster, its time runs slower, for all joints alike, so that
/// they stay on their path.
#[derive(Debug, Clone)]
pub struct Player {
    settings: PlayerSettings,
    joints: JointMap,
    parts: Vec<Part>,
    duration_ms: f64,
    phase: Phase,
    last: Instant,
    pose: Pose,
    /// Milliseconds into the phase.
    at_ms: f64,
    ease: Ease,
}

#[derive(Debug, Clone)]
struct Part {
    start_ms: f64,
    curves: Curves,
}

#[derive(Debug, Clone, Copy)]
struct Ease {
    from: Pose,
    to: Pose,
    duration_ms: f64,
}

impl Default for PlayerSettings {
    fn default() -> Self {
        PlayerSettings {
            interpolation: Interpolation::Linear,
            speed: 1.0,
            looped: false,
            max_velocity: 2.0,
            ease_in: Duration::from_secs(1),
        }
    }
}

impl Player {
    /// A player that begins now, at the present pose. Keyframes beyond a joint's limits are
    /// played at the limit.
    pub fn new(
        pieces: &[Piece],
        settings: PlayerSettings,
        joints: JointMap,
        present: Pose,
        now: Instant,
    ) -> Result<Self, Error> {
        if !(0.05..=4.0).contains(&settings.speed) {
            return Err(Error::new("speed", "0.05 to 4", settings.speed));
        }
        if !(settings.max_velocity > 0.0 && settings.max_velocity.is_finite()) {
            let got = settings.max_velocity;
            return Err(Error::new("max_velocity", "more than 0 rad/s", got));
        }
        if let Some(value) = present.iter().find(|value| !value.is_finite()) {
            return Err(Error::new("present pose", "finite numbers", value));
        }
        let Some(last) = pieces.last() else {
            return Err(Error::new("motion", "at least one piece", "none"));
        };
        let duration_ms = f64::from(last.start_ms) + f64::from(last.duration_ms);
        let parts = pieces.iter().map(|piece| Part::new(piece, &joints)).collect();
        let pose = joints.clamp(present);
        let ease = Ease { from: pose, to: pose, duration_ms: 0.0 };
        let phase = Phase::EasingIn;
        let mut player = Player {
            settings,
            joints,
            parts,
            duration_ms,
            phase,
            last: now,
            pose,
            at_ms: 0.0,
            ease,
        };
        player.begin();
        Ok(player)
    }

    /// The pose for now.
    pub fn pose(&mut self, now: Instant) -> Posture {
        let step = now.saturating_duration_since(self.last).min(LONGEST_STEP);
        self.last = self.last.max(now);
        let step_ms = step.as_secs_f64() * 1000.0;
        let reach = f64::from(self.settings.max_velocity) * step.as_secs_f64();
        match self.phase {
            Phase::EasingIn => {
                self.at_ms += step_ms;
                self.approach(self.ease.pose(self.at_ms), reach);
                if self.at_ms >= self.ease.duration_ms && self.pose == self.ease.to {
                    self.phase = Phase::Playing;
                    self.at_ms = 0.0;
                }
            }
            Phase::Playing => {
                self.at_ms += self.affordable(step_ms * f64::from(self.settings.speed), reach);
                let target = self.motion(self.at_ms);
                self.approach(target, reach);
                if self.at_ms >= self.duration_ms && self.pose == target {
                    if self.settings.looped { self.begin() } else { self.phase = Phase::Done }
                }
            }
            Phase::Done | Phase::Stopped => {}
        }
        self.posture()
    }

    /// Ends the motion where it is; the pose is held.
    pub fn stop(&mut self) -> Posture {
        self.phase = Phase::Stopped;
        self.posture()
    }

    fn posture(&self) -> Posture {
        let progress = match self.phase {
            Phase::EasingIn => 0.0,
            _ if self.duration_ms <= 0.0 => 1.0,
            _ => (self.at_ms / self.duration_ms).min(1.0) as f32,
        };
        Posture { positions: self.pose, phase: self.phase, progress }
    }

    /// From where the joints are to where the motion begins.
    fn begin(&mut self) {
        let to = self.motion(0.0);
        let far = distance(&self.pose, &to);
        let slowest = STEEPEST * 1000.0 * f64::from(far) / f64::from(self.settings.max_velocity);
        let least = self.settings.ease_in.as_secs_f64() * 1000.0;
        let duration_ms = if far > NEAR { slowest.max(least) } else { slowest };
        self.ease = Ease { from: self.pose, to, duration_ms };
        self.phase = Phase::EasingIn;
        self.at_ms = 0.0;
    }

    fn motion(&self, at_ms: f64) -> Pose {
        let next = self.parts.partition_point(|part| part.start_ms <= at_ms);
        let part = next.checked_sub(1).and_then(|index| self.parts.get(index));
        let Some(part) = part.or_else(|| self.parts.first()) else { return self.pose };
        let pose = part.curves.pose(at_ms - part.start_ms, self.settings.interpolation);
        self.joints.clamp(pose)
    }

    /// How much of a step the velocity limit allows: all of it as a rule.
    fn affordable(&self, step_ms: f64, reach: f64) -> f64 {
        let fits =
            |step: f64| f64::from(distance(&self.pose, &self.motion(self.at_ms + step))) <= reach;
        if fits(step_ms) {
            return step_ms;
        }
        let (mut low, mut high) = (0.0, step_ms);
        for _cut in 0..CUTS {
            let middle = (low + high) / 2.0;
            if fits(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// Towards a pose, as far as the velocity limit allows.
    fn approach(&mut self, target: Pose, reach: f64) {
        for (value, target) in self.pose.iter_mut().zip(target) {
            let way = f64::from(target) - f64::from(*value);
            *value = if way.abs() <= reach {
                target
            } else {
                (f64::from(*value) + reach.copysign(way)) as f32
            };
        }
    }
}

impl Part {
    fn new(piece: &Piece, joints: &JointMap) -> Self {
        let mut keyframes = piece.keyframes.clone();
        for keyframe in &mut keyframes {
            if let Some(joint) = joints.joints.get(usize::from(keyframe.joint)) {
                keyframe.value = joint.clamp(keyframe.value);
            }
        }
        let curves = Curves::new(joints.clamp(piece.rest), &keyframes);
        Part { start_ms: piece.start_ms.into(), curves }
    }
}

impl Ease {
    fn pose(&self, at_ms: f64) -> Pose {
        let part = if at_ms >= self.duration_ms { 1.0 } else { at_ms / self.duration_ms };
        let part = smooth_step(part);
        let mut pose = self.to;
        if part < 1.0 {
            for (value, from) in pose.iter_mut().zip(self.from) {
                let (from, to) = (f64::from(from), f64::from(*value));
                *value = (from + (to - from) * part) as f32;
            }
        }
        pose
    }
}

fn distance(a: &Pose, b: &Pose) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}
