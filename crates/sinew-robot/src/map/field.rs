//! How well a place fits the echoes of a map: a dense picture of a part of it, made for one match.

use super::{file::Ground, grid::Grid};
use crate::vacuum::Pose;

/// Nodes along the side of a square of the grid.
const FINENESS: f64 = 2.0;
/// How far from an echo's mean another is likely to be, metres.
const SPREAD: f64 = 0.04;
/// Nodes along each axis that an echo reaches: to 2.5 spreads in a grid of 5 cm.
const KERNEL: usize = 10;
/// Longest side of a field, metres: a lidar sees less far.
const MAX_SIDE: f64 = 60.0;

/// Likelihoods from 0 to 1 at the nodes of a fine grid.
#[derive(Debug, Default)]
pub(super) struct Field {
    origin: [f64; 2],
    step: f64,
    width: usize,
    height: usize,
    nodes: Vec<f32>,
}

impl Field {
    /// Draws the part of a map around some places; the old one's memory is used again.
    pub(super) fn draw(&mut self, grid: &Grid, low: [f64; 2], high: [f64; 2]) {
        self.step = grid.resolution() / FINENESS;
        self.origin = low;
        let side = |axis: usize| ((high[axis] - low[axis]).clamp(0.0, MAX_SIDE) / self.step).ceil();
        (self.width, self.height) = (side(0) as usize + 2, side(1) as usize + 2);
        self.nodes.clear();
        self.nodes.resize(self.width * self.height, 0.0);
        let reach = (KERNEL / 2 - 1) as i64;
        let falloff = -0.5 * (self.step / SPREAD).powi(2);
        grid.echoes(low, high, |echo| {
            let [x, y] = [0, 1].map(|axis| (echo[axis] - self.origin[axis]) / self.step);
            let (left, bottom) = (x.floor(), y.floor());
            // The bell is the product of one along each axis.
            let horizontal = bell(x - left + reach as f64, falloff);
            let vertical = bell(y - bottom + reach as f64, falloff);
            let first = (left as i64 - reach).clamp(0, self.width as i64);
            let end = (left as i64 - reach + KERNEL as i64).clamp(0, self.width as i64);
            let skipped = (first - (left as i64 - reach)) as usize;
            for (vertical, index) in vertical.into_iter().zip(0..) {
                let row = bottom as i64 - reach + index;
                if row < 0 || row >= self.height as i64 {
                    continue;
                }
                let row = row as usize * self.width;
                let nodes = &mut self.nodes[row + first as usize..row + end as usize];
                for (node, across) in nodes.iter_mut().zip(&horizontal[skipped.min(KERNEL)..]) {
                    *node = node.max(vertical * across);
                }
            }
        });
    }

    /// A place in steps between nodes.
    fn node(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [(x - self.origin[0]) / self.step, (y - self.origin[1]) / self.step]
    }

    /// The likelihood at a place, between its four nodes.
    #[inline]
    fn between(&self, [column, row]: [f64; 2]) -> f64 {
        let inside = column >= 0.0 && row >= 0.0;
        let (left, bottom) = (column as u32, row as u32);
        let (across, up) = (column - f64::from(left), row - f64::from(bottom));
        let (left, bottom) = (left as usize, bottom as usize);
        if !inside || left + 1 >= self.width || bottom + 1 >= self.height {
            return 0.0;
        }
        let at = bottom * self.width + left;
        let (low, high) = (&self.nodes[at..at + 2], &self.nodes[at + self.width..][..2]);
        let mix = |pair: &[f32]| f64::from(pair[0]) * (1.0 - across) + f64::from(pair[1]) * across;
        mix(low) * (1.0 - up) + mix(high) * up
    }

    /// Echoes in steps between nodes, as a robot with this heading sees them from where it is.
    pub(super) fn turned(&self, heading: f64, echoes: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let (sin, cos) = heading.sin_cos();
        let (sin, cos) = (sin / self.step, cos / self.step);
        echoes.iter().map(|[x, y]| [x * cos - y * sin, x * sin + y * cos]).collect()
    }

    /// How well echoes that were [turned](Self::turned) fit, seen from a place: their mean
    /// likelihood at the next nodes.
    pub(super) fn rough(&self, place: [f64; 2], turned: &[[f64; 2]]) -> f64 {
        let [x, y] = self.node(place).map(|axis| axis + 0.5);
        let nearest = turned.iter().map(|[across, up]| {
            let (column, row) = (x + across, y + up);
            // Below zero, as above the end, is outside; what is no number becomes zero.
            let (left, bottom) = (column as u32 as usize, row as u32 as usize);
            if column < 0.0 || row < 0.0 || left >= self.width {
                return 0.0;
            }
            let node = bottom.saturating_mul(self.width) + left;
            self.nodes.get(node).copied().unwrap_or(0.0)
        });
        f64::from(nearest.sum::<f32>()) / turned.len().max(1) as f64
    }

    /// How well echoes fit, seen from a pose: their mean likelihood.
    pub(super) fn score(&self, pose: Pose, echoes: &[[f64; 2]]) -> f64 {
        let (sin, cos) = pose.heading.sin_cos();
        let (sin, cos) = (sin / self.step, cos / self.step);
        let [left, bottom] = self.node([pose.x, pose.y]);
        let sum: f64 = echoes
            .iter()
            .map(|[x, y]| self.between([left + x * cos - y * sin, bottom + x * sin + y * cos]))
            .sum();
        sum / echoes.len().max(1) as f64
    }

    /// How echoes seen from a pose agree with the map.
    pub(super) fn agreement(&self, grid: &Grid, pose: Pose, echoes: &[[f64; 2]]) -> Agreement {
        let mut agreement = Agreement::default();
        for echo in echoes {
            let place = pose.place(*echo);
            if self.between(self.node(place)) > 0.3 {
                agreement.fitting += 1;
            } else if grid.at(place) == Ground::Free {
                agreement.contrary += 1;
            } else {
                agreement.new += 1;
            }
        }
        agreement
    }
}

/// A bell at nodes that are the first one `off` before its middle, and then one after the other.
fn bell(off: f64, falloff: f64) -> [f32; KERNEL] {
    // The steps between neighbours grow by the same factor: three powers are enough for all.
    let mut value = (off * off * falloff).exp();
    let mut step = ((1.0 - 2.0 * off) * falloff).exp();
    let growth = (2.0 * falloff).exp();
    std::array::from_fn(|_| {
        let node = value as f32;
        value *= step;
        step *= growth;
        node
    })
}

/// How many echoes say what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Agreement {
    /// Where the map has echoes.
    pub(super) fitting: usize,
    /// Where the map has nothing.
    pub(super) contrary: usize,
    /// Where the map does not know.
    pub(super) new: usize,
}

impl Agreement {
    /// The share that fits, of those about which the map knows.
    pub(super) fn share(self) -> f64 {
        self.fitting as f64 / (self.fitting + self.contrary).max(1) as f64
    }

    /// The share about which the map knows.
    pub(super) fn known(self) -> f64 {
        let known = self.fitting + self.contrary;
        known as f64 / (known + self.new).max(1) as f64
    }
}
