use std::time::Duration;

use sinew_wire::teach::{Interpolation, JOINTS};

use super::{
    Key, Motion,
    joints::{Arms, Pose, STEP, STEP_S, clamped},
};

/// Peak speed on the way from where the arms are to where an action begins, in rad/s. The vendor's
/// arm example allows itself 0.5 for everything.
pub const EASE_VELOCITY: f32 = 1.0;

/// The arms have caught up when no joint is farther away than this.
const NEAR: f32 = 1e-3;

/// How a play is to go.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlayOptions {
    pub(super) interpolation: Interpolation,
    /// Length of the whole action, as stored.
    pub(super) action_ms: u32,
    /// How many frames that is.
    pub(super) frames: u32,
    /// How many frames to play, 0 for all.
    pub(super) play_frames: u32,
    /// How long that is to take, 0 for as long as it took.
    pub(super) play_ms: u32,
    pub(super) looped: bool,
}

/// Moves the arms through an action: first, gently, to where it begins.
///
/// The action's time waits for the arms. So where an action is faster than they may be, all joints
/// take longer together and the way stays the same.
#[derive(Debug, Clone)]
pub(super) struct Player {
    tracks: [Track; JOINTS],
    interpolation: Interpolation,
    looped: bool,
    /// Milliseconds of the action that are played, and in how many seconds.
    part_ms: f64,
    length: f64,
    from: Pose,
    ease: f64,
    /// Seconds since the beginning of the easing.
    clock: f64,
}

impl Player {
    pub(super) fn new(motion: &Motion, options: PlayOptions, arms: &Arms) -> Self {
        let part_ms = part(options);
        let play_ms = if options.play_ms == 0 { part_ms } else { options.play_ms.into() };
        let mut player = Player {
            tracks: tracks(motion, options.action_ms),
            interpolation: options.interpolation,
            looped: options.looped,
            part_ms,
            length: play_ms / 1000.0,
            from: Pose::default(),
            ease: 0.0,
            clock: 0.0,
        };
        player.begin(arms);
        player
    }

    /// Moves the arms for one step and says whether that was the last.
    pub(super) fn step(&mut self, arms: &mut Arms) -> bool {
        if arms.distance(&self.reference()) <= NEAR {
            self.clock += STEP.as_secs_f64();
        }
        let goal = self.reference();
        arms.approach(&goal);
        let ended = self.clock >= self.ease + self.length && arms.distance(&goal) <= NEAR;
        if ended && self.looped {
            self.begin(arms);
        }
        ended && !self.looped
    }

    pub(super) fn is_looped(&self) -> bool {
        self.looped
    }

    fn begin(&mut self, arms: &Arms) {
        self.clock = 0.0;
        self.from = arms.positions;
        // A smooth step's peak speed is 1.5 times its mean.
        self.ease = f64::from(1.5 * arms.distance(&self.at(0.0)) / EASE_VELOCITY);
        // Closer than a step is there already.
        if self.ease < f64::from(STEP_S) {
            self.ease = 0.0;
        }
    }

    /// Where the arms should be now.
    fn reference(&self) -> Pose {
        if self.clock < self.ease {
            let (done, goal) = (smooth(self.clock / self.ease), self.at(0.0));
            return std::array::from_fn(|slot| mix(self.from[slot], goal[slot], done));
        }
        let played = if self.length > 0.0 { (self.clock - self.ease) / self.length } else { 1.0 };
        self.at(played.min(1.0) * self.part_ms)
    }

    /// Where the action has the arms at a time of its own.
    fn at(&self, time_ms: f64) -> Pose {
        clamped(std::array::from_fn(|slot| {
            self.tracks[slot].at(time_ms, self.interpolation).unwrap_or(self.from[slot])
        }))
    }
}

/// How many of the action's milliseconds its first frames are, the first standing at 0.
fn part(options: PlayOptions) -> f64 {
    let all = f64::from(options.action_ms);
    let PlayOptions { frames, play_frames, .. } = options;
    if play_frames == 0 || play_frames >= frames {
        return all;
    }
    all * f64::from(play_frames - 1) / f64::from(frames - 1)
}

/// A joint's samples, by time.
#[derive(Debug, Clone, Default)]
struct Track(Vec<(f64, f32)>);

fn tracks(motion: &Motion, action_ms: u32) -> [Track; JOINTS] {
    let mut tracks: [Track; JOINTS] = Default::default();
    match motion {
        Motion::Keyframes(keys) => {
            let mut keys: Vec<&Key> = keys.iter().collect();
            keys.sort_by_key(|key| key.time_ms);
            for key in keys {
                if let Some(track) = key.slot().and_then(|slot| tracks.get_mut(slot)) {
                    track.push(key.time_ms.into(), key.value);
                }
            }
        }
        Motion::Poses(poses) => {
            let gaps = poses.len().saturating_sub(1).max(1);
            let gap = f64::from(action_ms) / gaps as f64;
            for (number, pose) in poses.iter().enumerate() {
                for (track, value) in tracks.iter_mut().zip(pose) {
                    track.push(number as f64 * gap, *value);
                }
            }
        }
    }
    tracks
}

impl Track {
    /// Adds a sample; of two at the same time the later one counts.
    fn push(&mut self, time: f64, value: f32) {
        match self.0.last_mut() {
            Some(last) if last.0 >= time => last.1 = value,
            _ => self.0.push((time, value)),
        }
    }

    /// The value at a time: the first before the first sample, the last after the last.
    fn at(&self, time: f64, interpolation: Interpolation) -> Option<f32> {
        let right = self.0.partition_point(|sample| sample.0 <= time);
        let Some(&(begin, from)) = right.checked_sub(1).and_then(|left| self.0.get(left)) else {
            return self.0.first().map(|sample| sample.1);
        };
        let Some(&(end, to)) = self.0.get(right) else {
            return Some(from);
        };
        let done = (time - begin) / (end - begin);
        Some(match interpolation {
            Interpolation::Smooth => mix(from, to, smooth(done)),
            Interpolation::Cubic => {
                let (t, span) = (done as f32, (end - begin) as f32);
                let (m0, m1) = (self.tangent(right - 1) * span, self.tangent(right) * span);
                hermite(t, from, to, m0, m1)
            }
            _ => mix(from, to, done),
        })
    }

    /// The slope at a sample, per ms: the harmonic mean of its neighbours' slopes, and 0 at a turn
    /// or an end. Such a cubic stays between its samples, so it cannot leave the limits.
    fn tangent(&self, index: usize) -> f32 {
        let slope = |left: usize| {
            let (a, b) = (self.0.get(left)?, self.0.get(left + 1)?);
            Some((b.1 - a.1) / (b.0 - a.0) as f32)
        };
        match (index.checked_sub(1).and_then(slope), slope(index)) {
            (Some(before), Some(after)) if before * after > 0.0 => {
                2.0 * before * after / (before + after)
            }
            _ => 0.0,
        }
    }
}

fn hermite(t: f32, from: f32, to: f32, m0: f32, m1: f32) -> f32 {
    let (t2, t3) = (t * t, t * t * t);
    (2.0 * t3 - 3.0 * t2 + 1.0) * from
        + (t3 - 2.0 * t2 + t) * m0
        + (3.0 * t2 - 2.0 * t3) * to
        + (t3 - t2) * m1
}

fn smooth(t: f64) -> f64 {
    t * t * (3.0 - 2.0 * t)
}

fn mix(from: f32, to: f32, part: f64) -> f32 {
    from + (to - from) * part as f32
}

/// How long a play may be asked to last.
pub(super) fn too_long(play_ms: u32) -> bool {
    Duration::from_millis(play_ms.into()) > super::MAX_PLAY
}
