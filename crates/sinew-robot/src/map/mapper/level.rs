use std::f64::consts::TAU;

use super::{
    FEWEST, RANGE, Scan,
    track::{self, Track},
};
use crate::vacuum::Pose;

/// The echoes of a turn, and where odometry had the robot at the time of each.
#[derive(Debug)]
pub(super) struct Turn {
    end: Pose,
    echoes: Vec<Seen>,
}

#[derive(Debug)]
struct Seen {
    /// How much of the turn was over.
    turned: f64,
    /// Where odometry had the robot.
    at: Pose,
    /// Where the echo is, seen from the robot's middle.
    place: [f64; 2],
}

impl Turn {
    /// None for too few echoes, or without odometry for their time.
    pub(super) fn new(scan: &Scan<'_>, track: &Track, end: Pose, lidar: Pose) -> Option<Self> {
        let duration = scan.ended.saturating_duration_since(scan.began);
        let first = scan.echoes.first()?.angle;
        let direction = track::direction(scan.echoes);
        let mut echoes = Vec::with_capacity(scan.echoes.len());
        for echo in scan.echoes {
            if !(RANGE.0..RANGE.1).contains(&echo.distance) || !echo.angle.is_finite() {
                continue;
            }
            let turned = ((echo.angle - first) * direction).rem_euclid(TAU) / TAU;
            let at = track.at(scan.began + duration.mul_f64(turned))?;
            let (sin, cos) = echo.angle.sin_cos();
            let place = lidar.place([echo.distance * cos, echo.distance * sin]);
            echoes.push(Seen { turned, at, place });
        }
        (echoes.len() >= FEWEST).then_some(Turn { end, echoes })
    }

    /// All echoes as they would be seen from where the turn ended.
    ///
    /// `wrong` is the step that odometry was wrong by in all; it went wrong evenly in a part of the
    /// turn. Of the echoes one in `every` is taken.
    pub(super) fn level(&self, wrong: Pose, (from, to): (f64, f64), every: usize) -> Vec<[f64; 2]> {
        let corrected = self.end.then(wrong);
        let (dx, dy) = (corrected.x - self.end.x, corrected.y - self.end.y);
        let echoes = self.echoes.iter().step_by(every).map(|echo| {
            let share = ((echo.turned - from) / (to - from)).clamp(0.0, 1.0);
            let at = Pose {
                x: echo.at.x + dx * share,
                y: echo.at.y + dy * share,
                heading: echo.at.heading + wrong.heading * share,
            };
            corrected.step_to(at).place(echo.place)
        });
        echoes.collect()
    }
}
