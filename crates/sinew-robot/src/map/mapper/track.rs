use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::Echo;
use crate::vacuum::{Pose, wrapped};

/// How far back odometry is kept: a turn of the lidar lasts a fifth of a second.
const KEPT: Duration = Duration::from_secs(5);
/// Most poses that are kept.
const MOST: usize = 4096;
/// How much earlier than the first pose an echo may be.
const SLACK: Duration = Duration::from_millis(100);

/// Longest step between two poses, metres.
const JUMP: f64 = 2.0;
/// How much of an error is learnt from a turn: more from the first ones.
const LEARNT: f64 = 0.03;
/// Wheels are not wrong by more than this: of the way, of a turn, and in radians a metre.
const MOST_WRONG: Scale = Scale { way: 0.1, turn: 0.15, drift: 0.5 };

/// Odometry's poses of the last seconds, with what is known of its errors taken out.
#[derive(Debug, Default)]
pub(super) struct Track {
    poses: VecDeque<(Instant, Pose)>,
    /// The last pose as it came.
    raw: Option<Pose>,
    scale: Scale,
    /// Turns learnt from: on the way, and on the spot.
    learnt: (u32, u32),
}

/// What wheels whose sizes are not what they are taken for do to odometry.
#[derive(Debug, Clone, Copy, Default)]
struct Scale {
    /// Metres too few, a metre.
    way: f64,
    /// Radians too few, a radian.
    turn: f64,
    /// Radians to the left that are missing, a metre.
    drift: f64,
}

impl Track {
    pub(super) fn push(&mut self, now: Instant, pose: Pose) {
        let is_later = self.poses.back().is_none_or(|(last, _)| now > *last);
        if !pose.is_finite() || !is_later {
            return;
        }
        let old = |at: Instant| now.saturating_duration_since(at) > KEPT;
        while self.poses.len() >= MOST || self.poses.front().is_some_and(|(at, _)| old(*at)) {
            self.poses.pop_front();
        }
        let step = self.raw.replace(pose).map_or(Pose::default(), |last| last.step_to(pose));
        // So far at once is no way: odometry began anew, and from here it counts again.
        let step = if step.x.hypot(step.y) <= JUMP { step } else { Pose::default() };
        let scale = self.scale;
        let step = Pose {
            x: step.x * (1.0 + scale.way),
            y: step.y * (1.0 + scale.way),
            heading: step.heading * (1.0 + scale.turn) + step.x * scale.drift,
        };
        let before = self.last().unwrap_or_default();
        self.poses.push_back((now, before.then(step)));
    }

    /// Learns from a step that had to be corrected.
    pub(super) fn learn(&mut self, step: Pose, by: Pose) {
        let (way, turn) = (step.x, step.heading);
        let learn = |factor: &mut f64, times: u32, error: f64, most: f64| {
            let share = LEARNT.max(1.0 / f64::from(times + 3));
            *factor = (*factor + share * error).clamp(-most, most);
        };
        let (ways, turns) = &mut self.learnt;
        if way.abs() > 0.02 && turn.abs() < 0.05 {
            learn(&mut self.scale.drift, *ways, by.heading / way, MOST_WRONG.drift);
            learn(&mut self.scale.way, *ways, by.x / way, MOST_WRONG.way);
            *ways = ways.saturating_add(1);
        } else if turn.abs() > 0.05 && way.abs() < 0.01 {
            learn(&mut self.scale.turn, *turns, by.heading / turn, MOST_WRONG.turn);
            *turns = turns.saturating_add(1);
        }
    }

    pub(super) fn last(&self) -> Option<Pose> {
        self.poses.back().map(|(_, pose)| *pose)
    }

    /// The pose at a time, between its two neighbours; the last one for what is later.
    pub(super) fn at(&self, time: Instant) -> Option<Pose> {
        let after = self.poses.partition_point(|(at, _)| *at <= time);
        let Some((end, later)) = self.poses.get(after) else { return self.last() };
        let Some((start, earlier)) = after.checked_sub(1).and_then(|index| self.poses.get(index))
        else {
            return (end.saturating_duration_since(time) <= SLACK).then_some(*later);
        };
        let whole = end.saturating_duration_since(*start).as_secs_f64();
        let share = time.saturating_duration_since(*start).as_secs_f64() / whole.max(1e-9);
        let turn = wrapped(later.heading - earlier.heading);
        Some(Pose {
            x: earlier.x + (later.x - earlier.x) * share,
            y: earlier.y + (later.y - earlier.y) * share,
            heading: wrapped(earlier.heading + turn * share),
        })
    }
}

/// Which way a lidar turns: 1 to the left, -1 to the right.
pub(super) fn direction(echoes: &[Echo]) -> f64 {
    let left = echoes.windows(2).filter(|pair| wrapped(pair[1].angle - pair[0].angle) > 0.0);
    if left.count() * 2 >= echoes.len() { 1.0 } else { -1.0 }
}
