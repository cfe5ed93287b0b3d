use super::{
    super::{
        file::Ground,
        matching::{self, Fit, Window},
    },
    LOOK_EVERY, LOST_AFTER, Mapper, Outcome, normal,
};
use crate::vacuum::Pose;

/// Places of the map that are tried: one in a square of so many metres, in so many directions.
const PLACES: f64 = 0.25;
const DIRECTIONS: usize = 120;
/// Echoes of a trial, and how many of the best are looked at closely.
const ECHOES: usize = 60;
const CLOSELY: usize = 24;
/// Around each of those.
const WINDOW: Window = Window { metres: 0.15, radians: 0.04 };
/// The robot is found where this share of the echoes fits, and nothing else fits nearly as well.
const FOUND: f64 = 0.8;
const DISTINCT: f64 = 0.85;
/// What is nearer than this, metres, is the same place.
const SAME: f64 = 0.4;

impl Mapper {
    /// Looks for a robot that is lost, now and then, in the whole map.
    pub(super) fn look(&mut self, odometry: Pose, guess: Pose, echoes: &[[f64; 2]]) -> Outcome {
        self.anchor = Some((odometry, guess));
        self.contradicted = self.contradicted.saturating_add(1);
        if !(self.contradicted - LOST_AFTER).is_multiple_of(LOOK_EVERY) {
            return Outcome::Lost;
        }
        let Some(fit) = self.find(echoes) else { return Outcome::Lost };
        let pose = normal(fit.pose);
        self.anchor = Some((odometry, pose));
        self.uncertainty = matching::uncertainty(&self.field, fit, echoes);
        self.contradicted = 0;
        self.extended = None;
        self.trace(pose);
        Outcome::Found { pose }
    }

    fn find(&mut self, echoes: &[[f64; 2]]) -> Option<Fit> {
        let free = self.free_places();
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for place in &free {
            for axis in 0..2 {
                low[axis] = low[axis].min(place[axis] - 1.0);
                high[axis] = high[axis].max(place[axis] + 1.0);
            }
        }
        if free.is_empty() {
            return None;
        }
        self.field.draw(&self.grid, low, high);
        let rough = matching::thinned(echoes, ECHOES);
        let mut trials: Vec<Fit> = Vec::new();
        for direction in 0..DIRECTIONS {
            let heading = direction as f64 / DIRECTIONS as f64 * std::f64::consts::TAU;
            let turned = self.field.turned(heading, &rough);
            trials.extend(free.iter().map(|&[x, y]| Fit {
                pose: Pose { x, y, heading },
                score: self.field.rough([x, y], &turned),
            }));
            trials.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
            trials.truncate(CLOSELY);
        }
        let mut fits: Vec<_> = trials
            .iter()
            .map(|trial| matching::best(&self.field, trial.pose, WINDOW, echoes))
            .collect();
        fits.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
        let best = *fits.first()?;
        let other = fits.iter().find(|fit| fit.pose.distance(best.pose) > SAME);
        let agreement = self.field.agreement(&self.grid, best.pose, echoes);
        let is_distinct = other.is_none_or(|other| other.score < best.score * DISTINCT);
        (agreement.share() >= FOUND && agreement.known() >= FOUND && is_distinct).then_some(best)
    }

    /// Places where the robot can be, some way apart.
    fn free_places(&self) -> Vec<[f64; 2]> {
        let resolution = self.grid.resolution();
        let every = (PLACES / resolution).round().max(1.0) as i32;
        let free = self.grid.known().filter(|(index, ground)| {
            *ground == Ground::Free && index.iter().all(|axis| axis.rem_euclid(every) == 0)
        });
        free.map(|(index, _)| index.map(|axis| (f64::from(axis) + 0.5) * resolution)).collect()
    }
}
