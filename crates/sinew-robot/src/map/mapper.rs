//! A map of the ground, and where the robot is in it: odometry, corrected by what the lidar sees.
//!
//! Odometry is good over a turn of the lidar and drifts over a room. Each turn is laid where it fits
//! the map best, near where odometry says; what then does not fit is not taken, and what fits
//! extends the map. The map is never moved afterwards: it is what holds the poses together.

mod find;
mod level;
mod track;

use std::time::Instant;

use super::{
    field::{Agreement, Field},
    grid::{Grid, Patch},
    matching::{self, Fit, Uncertainty, Window},
};
use crate::vacuum::Pose;
use level::Turn;
use track::Track;

/// Echoes nearer than this are the robot itself, further ones noise, metres.
const RANGE: (f64, f64) = (0.12, 12.0);
/// Fewest echoes that say anything.
const FEWEST: usize = 30;
/// Where a turn is looked for first, and where when it does not fit well there: a wheel that slips by
/// 5 cm turns odometry by 0.2 rad.
const NEAR: Window = Window { metres: 0.05, radians: 0.06 };
const WINDOW: Window = Window { metres: 0.15, radians: 0.35 };
/// It fits well with this share.
const FITS_WELL: f64 = 0.85;
/// Echoes fit better in another way when their score grows by this factor.
const STRAIGHTER: f64 = 1.01;
/// Parts of a turn in which odometry may have gone wrong, and how often to look for them.
const PARTS: [(f64, f64); 5] = [(0.0, 1.0), (0.0, 0.33), (0.0, 0.66), (0.33, 1.0), (0.66, 1.0)];
const BENDS: usize = 3;
/// They are tried with one in so many echoes, and the best few of them with all.
const FEW: usize = 3;
const CLOSELY: usize = 3;
/// With less of the others' score the last echoes do not fit.
const BENT: f64 = 0.8;
/// A match is taken when this share of the echoes that the map knows about fits.
const FITS: f64 = 0.6;
/// With less of the turn known than this, the map cannot say where the robot is.
const KNOWN: f64 = 0.25;
/// After so many turns in a row that contradict the map, the robot is not where it was.
const LOST_AFTER: u32 = 5;
/// While it is lost, one in so many turns is looked for in the whole map.
const LOOK_EVERY: u32 = 5;
/// A correction over this, metres or radians, is no error of odometry's scale: a wheel slipped, or
/// something pushed.
const BUMP: (f64, f64) = (0.025, 0.09);
/// The map is extended after so much way or turn, metres or radians.
const EXTEND: (f64, f64) = (0.04, 0.04);
/// Turns at one place that extend the map.
const STANDING: u32 = 4;
/// The map is not extended by a turn that odometry was wrong about by more, metres or radians: what
/// it was while the echoes came is a guess.
const SURE: (f64, f64) = (0.012, 0.02);
/// Poses of the path, and metres between them.
const PATH: (usize, f64) = (20_000, 0.05);

/// How a map is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The side of a square, metres: 0.02 to 0.2.
    pub resolution: f64,
    /// Most memory for the grid, bytes.
    pub max_bytes: usize,
    /// Where the lidar is, seen from the robot's middle.
    pub lidar: Pose,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { resolution: 0.05, max_bytes: 16 << 20, lidar: Pose::default() }
    }
}

/// An echo in the lidar's frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Echo {
    /// Radians to the left of straight ahead.
    pub angle: f64,
    /// Metres.
    pub distance: f64,
}

/// A turn of the lidar, with its echoes in the order in which they came.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    /// When the turn began.
    pub began: Instant,
    /// When it was over.
    pub ended: Instant,
    /// What came back; directions without an echo are left out.
    pub echoes: &'a [Echo],
}

/// What became of a turn.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// It is the first: the map begins with it.
    Began,
    /// It fits, as far from where odometry had the robot.
    Matched {
        /// The correction: ahead, to the left, and turned.
        by: Pose,
    },
    /// It fits, but too far from there for an error of scale: a wheel slipped, or the robot was
    /// pushed.
    Bumped {
        /// The correction.
        by: Pose,
    },
    /// The map knows too little of what it shows; odometry counts.
    New,
    /// It contradicts the map, and is not taken; odometry counts.
    Unmatched,
    /// It contradicts the map for a while now: the robot is somewhere else. Nothing is mapped until
    /// it is found.
    Lost,
    /// The robot was lost, and is found here.
    Found {
        /// Where.
        pose: Pose,
    },
    /// There are too few echoes, or no odometry for its time.
    Unusable,
}

/// Makes a map of the ground.
#[derive(Debug)]
pub struct Mapper {
    settings: Settings,
    grid: Grid,
    track: Track,
    /// Odometry's pose and the map's, at the end of the last turn.
    anchor: Option<(Pose, Pose)>,
    uncertainty: Uncertainty,
    /// Turns in a row that contradict the map.
    contradicted: u32,
    /// Where the map was last extended, and how often there.
    extended: Option<(Pose, u32)>,
    path: Vec<Pose>,
    field: Field,
}

impl Mapper {
    /// An empty map, with the robot at its origin.
    pub fn new(settings: Settings) -> Self {
        let fallback = Settings::default();
        let resolution = settings.resolution.clamp(0.02, 0.2);
        let resolution = if resolution.is_nan() { fallback.resolution } else { resolution };
        let lidar = if settings.lidar.is_finite() { settings.lidar } else { fallback.lidar };
        Mapper {
            settings: Settings { resolution, lidar, ..settings },
            grid: Grid::new(resolution, settings.max_bytes),
            track: Track::default(),
            anchor: None,
            uncertainty: Uncertainty::default(),
            contradicted: 0,
            extended: None,
            path: Vec::new(),
            field: Field::default(),
        }
    }

    /// The map.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The parts of it that were seen since this was asked before, for a
    /// [`GroundMap`](super::GroundMap).
    pub fn take_seen(&mut self) -> Vec<Patch> {
        self.grid.take_seen()
    }

    /// Where the robot is in it: the last match, and odometry since.
    pub fn pose(&self) -> Pose {
        match (self.anchor, self.track.last()) {
            (Some((odometry, pose)), Some(now)) => pose.then(odometry.step_to(now)),
            _ => Pose::default(),
        }
    }

    /// How well that is known.
    pub fn uncertainty(&self) -> Uncertainty {
        let since = match (self.anchor, self.track.last()) {
            (Some((odometry, _)), Some(now)) => odometry.step_to(now),
            _ => Pose::default(),
        };
        grown(self.uncertainty, since)
    }

    /// Whether the robot is somewhere that is not known.
    pub fn is_lost(&self) -> bool {
        self.contradicted >= LOST_AFTER
    }

    /// Where it was, every few centimetres.
    pub fn path(&self) -> &[Pose] {
        &self.path
    }

    /// Takes odometry's pose. Only steps between poses count, whatever they are measured from.
    pub fn odometry(&mut self, now: Instant, pose: Pose) {
        self.track.push(now, pose);
    }

    /// Takes a turn of the lidar. Odometry up to its end should have come before it.
    pub fn scan(&mut self, scan: &Scan<'_>) -> Outcome {
        let Some(odometry) = self.track.at(scan.ended) else { return Outcome::Unusable };
        let Some(turn) = Turn::new(scan, &self.track, odometry, self.settings.lidar) else {
            return Outcome::Unusable;
        };
        let mut echoes = turn.level(Pose::default(), PARTS[0], 1);
        let Some((before, pose)) = self.anchor else {
            self.anchor = Some((odometry, Pose::default()));
            self.extend(Pose::default(), &echoes);
            return Outcome::Began;
        };
        let step = before.step_to(odometry);
        let guess = pose.then(step);
        if self.is_lost() {
            return self.look(odometry, guess, &echoes);
        }
        self.draw(guess, &echoes);
        let (mut fit, mut agreement) = self.fit(guess, &echoes);
        if exceeds(guess.step_to(fit.pose), SURE) || self.is_bent(fit, &echoes) {
            (fit, echoes) = self.straightened(&turn, guess, fit, echoes);
            agreement = self.field.agreement(&self.grid, fit.pose, &echoes);
        }
        let outcome = self.judge(guess, fit, agreement);
        let is_taken = matches!(outcome, Outcome::Matched { .. } | Outcome::Bumped { .. });
        let pose = if is_taken { normal(fit.pose) } else { guess };
        self.anchor = Some((odometry, pose));
        self.uncertainty = match is_taken {
            true => matching::uncertainty(&self.field, fit, &echoes),
            false => grown(self.uncertainty, step),
        };
        let by = guess.step_to(pose);
        if let Outcome::Matched { by } = outcome {
            self.track.learn(step, by);
        }
        if !exceeds(by, SURE) && (is_taken || outcome == Outcome::New) {
            self.extend(pose, &echoes);
        }
        self.trace(pose);
        outcome
    }

    /// Echoes of a turn in which odometry went wrong are bent, and fit better when they are bent back:
    /// evenly over the turn, or over the part of it in which a wheel slipped.
    fn straightened(
        &self,
        turn: &Turn,
        guess: Pose,
        mut fit: Fit,
        mut echoes: Vec<[f64; 2]>,
    ) -> (Fit, Vec<[f64; 2]>) {
        let last = &echoes[echoes.len() / 3 * 2..];
        let end = matching::best(&self.field, guess, WINDOW, last);
        let mut wrong = vec![guess.step_to(end.pose)];
        for _ in 0..BENDS {
            wrong.push(guess.step_to(fit.pose));
            let trials = wrong.drain(..).flat_map(|by| PARTS.map(|part| (by, part)));
            let mut rough: Vec<_> = trials
                .map(|(by, part)| {
                    let few = turn.level(by, part, FEW);
                    let at = matching::towards(&self.field, guess, guess.then(by), &few);
                    (at, by, part)
                })
                .collect();
            rough.sort_by(|(a, ..), (b, ..)| b.score.total_cmp(&a.score));
            let straight = rough.iter().take(CLOSELY).map(|(at, by, part)| {
                let level = turn.level(*by, *part, 1);
                (matching::refined(&self.field, guess, at.pose, &level), level)
            });
            let best = straight.max_by(|(a, _), (b, _)| a.score.total_cmp(&b.score));
            match best {
                Some((better, level)) if better.score > fit.score * STRAIGHTER => {
                    (fit, echoes) = (better, level);
                }
                _ => break,
            }
        }
        (fit, echoes)
    }

    /// Whether the last echoes of a turn fit worse than the others: odometry went wrong at its end.
    fn is_bent(&self, fit: Fit, echoes: &[[f64; 2]]) -> bool {
        let last = &echoes[echoes.len() / 3 * 2..];
        self.field.score(fit.pose, last) < fit.score * BENT
    }

    /// Where echoes fit best: near a guess, or further from it when they do not fit well there.
    fn fit(&self, guess: Pose, echoes: &[[f64; 2]]) -> (Fit, Agreement) {
        let near = matching::best(&self.field, guess, NEAR, echoes);
        let agreement = self.field.agreement(&self.grid, near.pose, echoes);
        if agreement.share() >= FITS_WELL {
            return (near, agreement);
        }
        let far = matching::best(&self.field, guess, WINDOW, echoes);
        if far.score <= near.score {
            return (near, agreement);
        }
        (far, self.field.agreement(&self.grid, far.pose, echoes))
    }

    fn judge(&mut self, guess: Pose, fit: Fit, agreement: Agreement) -> Outcome {
        if agreement.known() < KNOWN || agreement.share() >= FITS && agreement.fitting < FEWEST {
            return Outcome::New;
        }
        if agreement.share() < FITS {
            self.contradicted += 1;
            return if self.is_lost() { Outcome::Lost } else { Outcome::Unmatched };
        }
        self.contradicted = 0;
        let by = guess.step_to(fit.pose);
        if exceeds(by, BUMP) {
            return Outcome::Bumped { by };
        }
        Outcome::Matched { by }
    }

    /// Draws the part of the map that echoes from around a pose fall into.
    fn draw(&mut self, around: Pose, echoes: &[[f64; 2]]) {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        let mut reach: f64 = 0.0;
        for echo in echoes {
            let place = around.place(*echo);
            reach = reach.max(echo[0].hypot(echo[1]));
            for axis in 0..2 {
                low[axis] = low[axis].min(place[axis]);
                high[axis] = high[axis].max(place[axis]);
            }
        }
        // An echo turns with the robot, by a part of how far it is.
        let margin = WINDOW.metres + 0.2 + reach * WINDOW.radians * 0.5;
        let (low, high) = (low.map(|axis| axis - margin), high.map(|axis| axis + margin));
        self.field.draw(&self.grid, low, high);
    }

    /// Takes echoes into the map, unless it has them already.
    fn extend(&mut self, pose: Pose, echoes: &[[f64; 2]]) {
        let times = match self.extended {
            Some((last, times)) => {
                let step = last.step_to(pose);
                if exceeds(step, EXTEND) { 0 } else { times }
            }
            None => 0,
        };
        if times >= STANDING {
            return;
        }
        let at = if times == 0 { pose } else { self.extended.map_or(pose, |(last, _)| last) };
        self.extended = Some((at, times + 1));
        let places: Vec<_> = echoes.iter().map(|echo| pose.place(*echo)).collect();
        let lidar = pose.then(self.settings.lidar);
        self.grid.insert([lidar.x, lidar.y], &places);
    }

    fn trace(&mut self, pose: Pose) {
        if self.path.last().is_some_and(|last| last.distance(pose) < PATH.1) {
            return;
        }
        if self.path.len() >= PATH.0 {
            // Every other pose: a long path needs fewer of them.
            let mut keep = false;
            self.path.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.path.push(pose);
    }
}

/// What is known less and less while only odometry counts: a tenth of the way, and what wheels of
/// different scale make of it.
fn grown(uncertainty: Uncertainty, step: Pose) -> Uncertainty {
    let way = step.x.hypot(step.y);
    let aside = 0.1 * way;
    Uncertainty {
        x: uncertainty.x + aside,
        y: uncertainty.y + aside,
        heading: uncertainty.heading + 0.25 * way + 0.06 * step.heading.abs(),
    }
}

/// Whether a step is longer than so many metres, or turns by more radians.
fn exceeds(step: Pose, (metres, radians): (f64, f64)) -> bool {
    step.x.hypot(step.y) > metres || step.heading.abs() > radians
}

/// The same pose with its heading between -π and π.
fn normal(pose: Pose) -> Pose {
    Pose { heading: crate::vacuum::wrapped(pose.heading), ..pose }
}
