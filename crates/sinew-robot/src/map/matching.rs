//! Where a turn of a lidar fits a map: coarse to fine, by how likely its echoes are.

use serde::Serialize;

use super::field::Field;
use crate::vacuum::Pose;

/// Steps of the coarse search: metres, radians.
const COARSE: (f64, f64) = (0.05, 0.012);
/// The finest step, metres and radians.
const FINEST: (f64, f64) = (0.001, 0.000_2);
/// The last step of those that only lead towards a fit.
const ROUGH: (f64, f64) = (0.006, 0.001_5);
/// Echoes of the coarse search.
const ROUGH_ECHOES: usize = 120;
/// Places of the coarse search that are looked at closely.
const CANDIDATES: usize = 3;
/// What a step away from where odometry says the robot is costs, a metre or radian of it: it
/// decides where echoes do not, as along a corridor.
const PRIOR: (f64, f64) = (0.1, 0.08);
/// Echoes of neighbouring directions err alike: this many count as one.
const ALIKE: f64 = 6.0;

/// How far around a pose to look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) metres: f64,
    pub(super) radians: f64,
}

/// A pose that fits best.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    pub(super) pose: Pose,
    /// The mean likelihood of the echoes there.
    pub(super) score: f64,
}

/// How well a pose is known, as one standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Uncertainty {
    /// Metres along x.
    pub x: f64,
    /// Metres along y.
    pub y: f64,
    /// Radians.
    pub heading: f64,
}

/// The best fit within a window around a pose.
pub(super) fn best(field: &Field, around: Pose, window: Window, echoes: &[[f64; 2]]) -> Fit {
    let rough = thinned(echoes, ROUGH_ECHOES);
    let mut candidates: Vec<Fit> = Vec::new();
    let steps = |reach: f64, step: f64| (reach / step).ceil() as i32;
    let (turns, ways) = (steps(window.radians, COARSE.1), steps(window.metres, COARSE.0));
    for turn in -turns..=turns {
        let heading = around.heading + f64::from(turn) * COARSE.1;
        let turned = field.turned(heading, &rough);
        for (dx, dy) in (-ways..=ways).flat_map(|dx| (-ways..=ways).map(move |dy| (dx, dy))) {
            let pose = Pose {
                x: around.x + f64::from(dx) * COARSE.0,
                y: around.y + f64::from(dy) * COARSE.0,
                heading,
            };
            let score = field.rough([pose.x, pose.y], &turned) - cost(around, pose);
            keep(&mut candidates, Fit { pose, score });
        }
    }
    let fits = candidates.into_iter().map(|fit| refined(field, around, fit.pose, echoes));
    fits.max_by(|a, b| a.score.total_cmp(&b.score)).unwrap_or(Fit { pose: around, score: 0.0 })
}

/// Keeps the best few that do not lie side by side.
fn keep(candidates: &mut Vec<Fit>, fit: Fit) {
    let beside = |other: &Fit| {
        other.pose.distance(fit.pose) < 1.5 * COARSE.0
            && (other.pose.heading - fit.pose.heading).abs() < 2.5 * COARSE.1
    };
    if let Some(other) = candidates.iter_mut().find(|other| beside(other)) {
        if other.score < fit.score {
            *other = fit;
        }
        return;
    }
    if candidates.len() < CANDIDATES {
        candidates.push(fit);
    } else if let Some(worst) = candidates.iter_mut().min_by(|a, b| a.score.total_cmp(&b.score))
        && worst.score < fit.score
    {
        *worst = fit;
    }
}

/// The best fit near a pose.
pub(super) fn refined(field: &Field, around: Pose, from: Pose, echoes: &[[f64; 2]]) -> Fit {
    climbed(field, around, from, echoes, FINEST)
}

/// Roughly the best fit near a pose.
pub(super) fn towards(field: &Field, around: Pose, from: Pose, echoes: &[[f64; 2]]) -> Fit {
    climbed(field, around, from, echoes, ROUGH)
}

/// Steps towards what fits better, smaller and smaller ones.
fn climbed(
    field: &Field,
    around: Pose,
    from: Pose,
    echoes: &[[f64; 2]],
    finest: (f64, f64),
) -> Fit {
    let value = |pose: Pose| field.score(pose, echoes) - cost(around, pose);
    let mut fit = Fit { pose: from, score: value(from) };
    let (mut metres, mut radians) = (COARSE.0 / 2.0, COARSE.1 / 2.0);
    while metres > finest.0 || radians > finest.1 {
        let mut better = false;
        for (dx, dy, turn) in [
            (metres, 0.0, 0.0),
            (-metres, 0.0, 0.0),
            (0.0, metres, 0.0),
            (0.0, -metres, 0.0),
            (0.0, 0.0, radians),
            (0.0, 0.0, -radians),
        ] {
            let pose =
                Pose { x: fit.pose.x + dx, y: fit.pose.y + dy, heading: fit.pose.heading + turn };
            let score = value(pose);
            if score > fit.score {
                (fit, better) = (Fit { pose, score }, true);
            }
        }
        if !better {
            (metres, radians) = (metres / 2.0, radians / 2.0);
        }
    }
    fit.score = field.score(fit.pose, echoes);
    fit
}

fn cost(around: Pose, pose: Pose) -> f64 {
    let turn = (pose.heading - around.heading).abs();
    around.distance(pose) * PRIOR.0 + turn * PRIOR.1
}

/// How sharp the fit is: where stepping aside costs little, little is known.
pub(super) fn uncertainty(field: &Field, fit: Fit, echoes: &[[f64; 2]]) -> Uncertainty {
    const STEP: [f64; 3] = [0.02, 0.02, 0.008];
    let at = |by: [f64; 3]| {
        let pose = Pose {
            x: fit.pose.x + by[0],
            y: fit.pose.y + by[1],
            heading: fit.pose.heading + by[2],
        };
        // Likelihood to information: its logarithm, summed over echoes that are independent.
        -field.score(pose, echoes).max(1e-6).ln() * echoes.len() as f64 / ALIKE
    };
    let here = at([0.0; 3]);
    let mut bend = [[0.0; 3]; 3];
    for a in 0..3 {
        for b in 0..=a {
            let step = |x: f64, y: f64| {
                let mut by = [0.0; 3];
                by[a] += x * STEP[a];
                by[b] += y * STEP[b];
                at(by)
            };
            let value = if a == b {
                (step(1.0, 0.0) + step(-1.0, 0.0) - 2.0 * here) / (STEP[a] * STEP[a])
            } else {
                let across = step(1.0, 1.0) + step(-1.0, -1.0) - step(1.0, -1.0) - step(-1.0, 1.0);
                across / (4.0 * STEP[a] * STEP[b])
            };
            (bend[a][b], bend[b][a]) = (value, value);
        }
    }
    let [x, y, heading] = deviations(bend);
    Uncertainty { x, y, heading }
}

/// Square roots of the diagonal of the inverse, within what makes sense: a millimetre, a metre.
fn deviations(m: [[f64; 3]; 3]) -> [f64; 3] {
    let minor = |a: usize, b: usize| {
        let (r, s) = ((a + 1) % 3, (a + 2) % 3);
        let (t, u) = ((b + 1) % 3, (b + 2) % 3);
        m[r][t] * m[s][u] - m[r][u] * m[s][t]
    };
    let determinant: f64 = (0..3).map(|column| m[0][column] * minor(0, column)).sum();
    std::array::from_fn(|axis| {
        let variance = minor(axis, axis) / determinant;
        if variance > 0.0 { variance.sqrt().clamp(0.001, 1.0) } else { 1.0 }
    })
}

/// Every so many of some echoes, at most `most`.
pub(super) fn thinned(echoes: &[[f64; 2]], most: usize) -> Vec<[f64; 2]> {
    let every = echoes.len().div_ceil(most).max(1);
    echoes.iter().step_by(every).copied().collect()
}
