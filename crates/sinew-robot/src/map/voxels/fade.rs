use super::{super::stream::BITS, CELLS, Key, VoxelMap, block, place};
use crate::mapping::Cloud;

/// Most rays of a cloud that are followed; of more, every so many.
const RAYS: usize = 2000;
/// Nearer to the sensor than this is the robot itself, metres.
const ROBOT: f64 = 0.4;
/// A ray passes close by the surface that it ends on: this much of it says nothing, metres.
const END: f64 = 0.5;
/// Furthest that a ray is followed, metres.
const FURTHEST: f64 = 20.0;
/// A ray passes through a cell when it comes this near to its middle, in cells: one that grazes a
/// surface does not.
const MIDDLE: f64 = 0.35;

impl VoxelMap {
    /// Follows rays from the sensor to what they hit: what lies on the way is there no more.
    pub(super) fn fade(&mut self, sensor: [f64; 3], cloud: &Cloud, tick: u32) {
        let every = cloud.points.len().div_ceil(RAYS).max(1);
        // Others each time.
        let first = (cloud.sequence % every as u64) as usize;
        for point in cloud.points.iter().skip(first).step_by(every) {
            self.follow(sensor, place(cloud, point), tick);
        }
    }

    fn follow(&mut self, sensor: [f64; 3], end: [f64; 3], tick: u32) {
        let way: [f64; 3] = std::array::from_fn(|axis| end[axis] - sensor[axis]);
        let length = way.iter().map(|axis| axis * axis).sum::<f64>().sqrt();
        let unit = self.settings.cell;
        // Not a range of a length that is no number.
        if !(length > ROBOT + END && length <= self.settings.reach) {
            return;
        }
        let steps = ((length - END).min(FURTHEST) / unit) as usize;
        let mut step = (ROBOT / unit) as usize;
        let mut held: Option<(Key, bool)> = None;
        while step < steps {
            let share = step as f64 * unit / length;
            let at = std::array::from_fn(|axis| sensor[axis] + way[axis] * share);
            let Some(cell) = self.cell_at(at) else { return };
            let (key, index) = block::split(cell);
            let is_filled = match held {
                Some((last, is_filled)) if last == key => is_filled,
                _ => self.blocks.get(&key).is_some_and(block::Block::is_filled),
            };
            held = Some((key, is_filled));
            if is_filled && self.is_middle(sensor, way, length, cell) {
                held = None;
                self.miss(key, index, tick);
            }
            step += if is_filled { 1 } else { self.steps_within(key, at, way, length) };
        }
    }

    /// How many steps of a cell's length a ray takes to leave a block.
    fn steps_within(&self, key: Key, at: [f64; 3], way: [f64; 3], length: f64) -> usize {
        let origin = self.origin();
        let steps = (0..3).map(|axis| {
            let side = key[axis] + u16::from(way[axis] >= 0.0);
            let border = origin[axis] + f64::from(u32::from(side) << BITS) * self.settings.cell;
            (border - at[axis]) * length / (way[axis] * self.settings.cell)
        });
        // A step that ends at the border may be on either side of it, and is looked at.
        (steps.fold(f64::INFINITY, f64::min) - 0.01) as usize + 1
    }

    /// Whether a ray in the direction of `way`, which is `length` long, passes near a cell's middle.
    fn is_middle(&self, sensor: [f64; 3], way: [f64; 3], length: f64, cell: [u16; 3]) -> bool {
        let middle = self.middle(cell, 0.5);
        let (mut whole, mut along) = (0.0, 0.0);
        for axis in 0..3 {
            let off = middle[axis] - sensor[axis];
            whole += off * off;
            along += off * way[axis] / length;
        }
        let most = MIDDLE * self.settings.cell;
        whole - along * along <= most * most
    }

    fn miss(&mut self, key: Key, index: usize, tick: u32) {
        debug_assert!(index < CELLS);
        let gone = self.blocks.get_mut(&key).and_then(|block| block.miss(index, tick));
        let Some(gone) = gone else { return };
        self.filled -= usize::from(gone.emptied);
        if gone.was_shown {
            self.shown -= 1;
            self.touch(key, tick);
        }
        // Never told of, so there is nothing to take back.
        if gone.emptied && self.blocks.get(&key).is_some_and(|block| block.changed == 0) {
            self.blocks.remove(&key);
        }
        self.is_full &= !gone.emptied;
    }
}
