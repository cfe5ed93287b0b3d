use std::{
    f64::consts::{PI, TAU},
    time::{Duration, Instant},
};

use sinew_wire::gd32::{Flag, Status};

use super::{Session, gyro::Gyro};
use crate::later;

/// No wheel of this robot is that fast: a reading that says so is a controller that restarted.
const IMPOSSIBLE: f64 = 2.0;
/// A gap longer than this tells nothing about how far the robot may have come.
const LONGEST_GAP: Duration = Duration::from_secs(1);
/// Wheels that have not turned for this long stand still.
const STANDSTILL: Duration = Duration::from_millis(100);

/// Where the encoders were, and what the gyroscope is good for.
#[derive(Debug, Default)]
pub(super) struct Odometry {
    /// Left and right count, and when.
    last: Option<(u64, u64, Instant)>,
    moved_at: Option<Instant>,
    pub(super) gyro: Gyro,
}

impl Odometry {
    /// Whether the wheels turn.
    pub(super) fn is_moving(&self, now: Instant) -> bool {
        self.moved_at.is_some_and(|moved| now < later(moved, STANDSTILL))
    }
}

impl Session {
    /// Moves the pose by what encoders and gyroscope say, and remembers where the dock is.
    pub(super) fn track(&mut self, now: Instant, status: &Status) {
        let profile = &self.settings.profile;
        let (left, right) = profile.encoders(status);
        if let Some((left_before, right_before, before)) = self.odometry.last {
            let metres = |ticks: i64| ticks as f64 / f64::from(self.settings.ticks_per_metre);
            let left_way = metres(profile.encoder_delta(left_before, left));
            let right_way = metres(profile.encoder_delta(right_before, right));
            let gap = now.saturating_duration_since(before);
            // Packets that waited in a buffer arrive at once, but were made one period apart.
            let gap = gap.max(self.settings.status_period).min(LONGEST_GAP);
            let furthest = IMPOSSIBLE * gap.as_secs_f64();
            // Not "any further": a scale of zero makes both ways infinite or no number.
            if left_way.abs() <= furthest && right_way.abs() <= furthest {
                if left_way != 0.0 || right_way != 0.0 {
                    self.odometry.moved_at = Some(now);
                }
                let turn = (right_way - left_way) / f64::from(self.settings.wheel_base);
                if self.odometry.is_moving(now) {
                    let since = now.saturating_duration_since(before).as_secs_f64();
                    let turn = self.odometry.gyro.turn(status, since, turn);
                    self.go(f64::midpoint(left_way, right_way), turn);
                } else {
                    self.odometry.gyro.rest(status);
                }
            } else {
                self.state.counters.encoder_jumps += 1;
            }
        }
        self.odometry.last = Some((left, right, now));
        // On the way off the dock the contacts still meet for a while; only a robot that stands
        // shows where it is docked.
        if status.is(Flag::OnDock) && !self.odometry.is_moving(now) {
            self.state.dock = Some(self.state.pose);
        }
    }

    fn go(&mut self, way: f64, turn: f64) {
        if !turn.is_finite() {
            return;
        }
        let pose = &mut self.state.pose;
        // The middle of the arc has the chord's direction.
        let (sin, cos) = (pose.heading + turn / 2.0).sin_cos();
        pose.x += way * cos;
        pose.y += way * sin;
        pose.heading = wrapped(pose.heading + turn);
        self.state.distance += way.abs();
    }
}

/// An angle between -π and π.
pub(crate) fn wrapped(angle: f64) -> f64 {
    let turned = angle.rem_euclid(TAU);
    if turned > PI { turned - TAU } else { turned }
}
