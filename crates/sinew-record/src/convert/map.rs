//! A map that comes in blocks, put together.

use std::collections::BTreeMap;

use foxglove::messages::{Grid, PointCloud, Timestamp, Vector2, packed_element_field::NumericType};
use sinew_api::frame::Frame;

use super::{fields, pose};

/// An age that says that a block is empty.
const EMPTY: u16 = u16::MAX;
/// Cells of a grid, at most: what a flat map covers, with the free space around it.
const MOST_CELLS: usize = 64 << 20;
/// Values of a grid's cells.
const UNKNOWN: u8 = 0;
const FREE: u8 = 1;
const OCCUPIED: u8 = 2;

/// A map, by blocks of 8 cells a side.
#[derive(Debug, Default)]
pub(super) struct Map {
    epoch: Option<u32>,
    blocks: BTreeMap<[u16; 3], Vec<[u16; 4]>>,
    origin: [f64; 3],
    unit: f64,
    is_flat: bool,
    seen_ns: Option<u64>,
}

impl Map {
    /// Takes a frame by the rule of docs/api.md; gives whether anything has changed.
    pub(super) fn take(&mut self, frame: &Frame<'_>) -> bool {
        let header = &frame.header;
        let mut changed = false;
        if self.epoch != Some(header.epoch) {
            changed = !self.blocks.is_empty();
            self.epoch = Some(header.epoch);
            self.blocks.clear();
        }
        (self.origin, self.unit) = (header.origin, header.unit);
        self.is_flat = header.is_flat;
        self.seen_ns = Some(header.time_us.saturating_mul(1000));
        let mut new: BTreeMap<[u16; 3], Vec<[u16; 4]>> = BTreeMap::new();
        for mut point in frame.points() {
            let mut next = || point.next().unwrap_or_default();
            let cell = [next(), next(), next(), next()];
            let [x, y, z, age] = cell;
            let block = new.entry([x >> 3, y >> 3, z >> 3]).or_default();
            if age != EMPTY {
                block.push(cell);
            }
        }
        changed |= !new.is_empty();
        for (place, cells) in new {
            match cells.is_empty() {
                true => drop(self.blocks.remove(&place)),
                false => drop(self.blocks.insert(place, cells)),
            }
        }
        changed
    }

    pub(super) fn is_flat(&self) -> bool {
        self.is_flat
    }

    pub(super) fn seen_ns(&self) -> Option<u64> {
        self.seen_ns
    }

    fn cells(&self) -> impl Iterator<Item = &[u16; 4]> {
        self.blocks.values().flatten()
    }

    /// All cells' centres, each with its age in seconds.
    pub(super) fn cloud(&self, frame: &str, timestamp: Timestamp) -> PointCloud {
        let mut data = Vec::new();
        for [x, y, z, age] in self.cells() {
            for (cell, origin) in [x, y, z].into_iter().zip(self.origin) {
                let centre = origin + (f64::from(*cell) + 0.5) * self.unit;
                data.extend((centre as f32).to_le_bytes());
            }
            data.extend((f32::from(*age) / 10.0).to_le_bytes());
        }
        PointCloud {
            timestamp: Some(timestamp),
            frame_id: frame.into(),
            pose: Some(pose::at([0.0; 3], 0.0)),
            point_stride: 16,
            fields: fields(&[("x", 0), ("y", 4), ("z", 8), ("age", 12)], NumericType::Float32),
            data: data.into(),
        }
    }

    /// A map of the ground, as far as it is known; none of one that is larger than any house.
    pub(super) fn grid(&self, frame: &str, timestamp: Timestamp) -> Option<Grid> {
        let (mut low, mut high) = ([u16::MAX; 2], [0; 2]);
        for [x, y, ..] in self.cells() {
            for ((low, high), cell) in low.iter_mut().zip(&mut high).zip([*x, *y]) {
                (*low, *high) = ((*low).min(cell), (*high).max(cell));
            }
        }
        if self.blocks.is_empty() {
            (low, high) = ([0; 2], [0; 2]);
        }
        let columns = usize::from(high[0] - low[0]) + 1;
        let rows = usize::from(high[1] - low[1]) + 1;
        if columns * rows > MOST_CELLS {
            return None;
        }
        let mut data = vec![UNKNOWN; columns * rows];
        for [x, y, z, _] in self.cells() {
            let place = usize::from(y - low[1]) * columns + usize::from(x - low[0]);
            // Where something stands, that counts.
            data[place] = data[place].max(if *z == 0 { FREE } else { OCCUPIED });
        }
        let corner = |axis: usize| self.origin[axis] + f64::from(low[axis]) * self.unit;
        Some(Grid {
            timestamp: Some(timestamp),
            frame_id: frame.into(),
            pose: Some(pose::at([corner(0), corner(1), 0.0], 0.0)),
            column_count: columns as u32,
            cell_size: Some(Vector2 { x: self.unit, y: self.unit }),
            row_stride: columns as u32,
            cell_stride: 1,
            fields: fields(&[("occupancy", 0)], NumericType::Uint8),
            data: data.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use sinew_api::frame::{Header, map};

    use super::*;

    fn frame(epoch: u32, points: &[[u16; 4]]) -> Vec<u8> {
        let header = Header {
            epoch,
            origin: [-1.0, -2.0, 0.0],
            unit: 0.5,
            is_flat: true,
            ..Header::default()
        };
        map(&header, points)
    }

    #[test]
    fn blocks_take_the_place_of_what_was_there_and_an_epoch_of_everything() {
        let mut map = Map::default();
        let mut take = |epoch, points: &[[u16; 4]]| {
            let bytes = frame(epoch, points);
            let changed = map.take(&Frame::read(&bytes).expect("is a frame"));
            (changed, map.cells().count(), map.grid("m", Timestamp::new(0, 0)).expect("is small"))
        };
        let (changed, count, grid) = take(1, &[[2, 3, 1, 0], [4, 3, 0, 9], [9, 3, 0, 9]]);
        assert!(changed);
        assert_eq!(count, 3);
        assert_eq!(grid.column_count, 8);
        assert_eq!(&grid.data[..], [OCCUPIED, UNKNOWN, FREE, 0, 0, 0, 0, FREE]);
        let corner = grid.pose.and_then(|pose| pose.position).expect("has one");
        assert_eq!((corner.x, corner.y), (0.0, -0.5));
        let (_, count, grid) = take(1, &[[2, 3, 0, 1], [9, 3, 0, EMPTY]]);
        assert_eq!((count, &grid.data[..]), (1, &[FREE][..]));
        assert!(!take(1, &[]).0);
        let (changed, count, _) = take(2, &[]);
        assert_eq!((changed, count), (true, 0));
    }
}
