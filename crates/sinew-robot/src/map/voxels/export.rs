use std::{collections::HashMap, time::Instant};

use super::{
    super::file::{Error, Field, Ground, Kind, Points, Raster},
    VoxelMap, block, tick,
};
use crate::mapping::Bounds;

/// Above the lowest cell of a place, what is higher than this is in the way, metres.
const FLOOR: f64 = 0.10;
/// Longest side of a raster, squares.
const MAX_SIDE: usize = 8192;

impl VoxelMap {
    /// The middles of all cells, at the height of what was seen in them, with hits and age in
    /// seconds; in an order that depends on the map only.
    pub fn points(&self, now: Instant) -> Result<Points, Error> {
        let now = tick(now.saturating_duration_since(self.start.unwrap_or(now)));
        let mut fields: Vec<_> = ["x", "y", "z"].map(|name| Field::new(name, Kind::F32)).into();
        fields.extend([Field::new("hits", Kind::U16), Field::new("age", Kind::F32)]);
        let mut points = Points::new(fields)?;
        let mut keys: Vec<_> = self.blocks.keys().collect();
        keys.sort_unstable();
        for (key, block) in keys.into_iter().filter_map(|key| Some((key, self.blocks.get(key)?))) {
            for cell in block.seen() {
                let [x, y, z] = self.middle(block::join(*key, cell.index), cell.height);
                for axis in [x, y, z] {
                    points.push(&(axis as f32).to_le_bytes())?;
                }
                points.push(&cell.hits.to_le_bytes())?;
                let age = now.saturating_sub(cell.seen) as f32 / 10.0;
                points.push(&age.to_le_bytes())?;
            }
        }
        Ok(points)
    }

    /// The box around all cells; none when there are none.
    pub fn bounds(&self) -> Option<Bounds> {
        let mut reach: Option<([u16; 3], [u16; 3])> = None;
        for (key, block) in &self.blocks {
            for cell in block.seen().map(|cell| block::join(*key, cell.index)) {
                let (low, high) = reach.get_or_insert((cell, cell));
                for axis in 0..3 {
                    low[axis] = low[axis].min(cell[axis]);
                    high[axis] = high[axis].max(cell[axis]);
                }
            }
        }
        let (low, high) = reach?;
        let (origin, unit) = (self.origin(), self.unit());
        let metres = |axis: usize, cells: u32| origin[axis] + f64::from(cells) * unit;
        Some(Bounds {
            min: std::array::from_fn(|axis| metres(axis, low[axis].into())),
            max: std::array::from_fn(|axis| metres(axis, u32::from(high[axis]) + 1)),
        })
    }

    /// The map from above: where something stands on the lowest cell of the places around, a robot
    /// cannot be. None for an empty map, or one too large for a picture.
    pub fn raster(&self) -> Option<Raster> {
        let bounds = self.bounds()?;
        let (origin, unit) = (self.origin(), self.unit());
        let first: [usize; 2] =
            std::array::from_fn(|axis| ((bounds.min[axis] - origin[axis]) / unit).round() as usize);
        let size: [usize; 2] = std::array::from_fn(|axis| {
            ((bounds.max[axis] - bounds.min[axis]) / unit).round() as usize
        });
        if size[0].max(size[1]) > MAX_SIDE {
            return None;
        }
        // The lowest cell within some blocks: a floor is seldom level over a flat.
        let patch = |cell: &[u16; 3]| [cell[0] >> 5, cell[1] >> 5];
        let mut floors: HashMap<[u16; 2], u16> = HashMap::new();
        let cells = || {
            let blocks = self.blocks.iter();
            blocks.flat_map(|(key, block)| block.seen().map(|c| block::join(*key, c.index)))
        };
        for cell in cells() {
            let floor = floors.entry(patch(&cell)).or_insert(cell[2]);
            *floor = (*floor).min(cell[2]);
        }
        let step = (FLOOR / unit).ceil() as u16;
        let mut raster = Raster::unknown(size[0], size[1], [bounds.min[0], bounds.min[1]], unit);
        for cell in cells() {
            let floor = floors.get(&patch(&cell)).copied().unwrap_or(0);
            let [column, row] =
                [0, 1].map(|axis| usize::from(cell[axis]).saturating_sub(first[axis]));
            if cell[2] - floor >= step {
                raster.set(column, row, Ground::Occupied);
            } else if raster.at(column, row) == Ground::Unknown {
                raster.set(column, row, Ground::Free);
            }
        }
        Some(raster)
    }

    /// A place in a cell: its middle seen from above, at a share of its height.
    pub(super) fn middle(&self, cell: [u16; 3], height: f64) -> [f64; 3] {
        let within = [0.5, 0.5, height];
        let origin = self.origin();
        std::array::from_fn(|axis| {
            origin[axis] + (f64::from(cell[axis]) + within[axis]) * self.settings.cell
        })
    }
}
