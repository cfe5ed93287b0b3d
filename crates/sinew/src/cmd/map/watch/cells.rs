//! The map as the daemon's frames tell it.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use sinew_api::frame::{Frame, Kind, MAP_POINTS};
use sinew_robot::{
    map::GONE,
    mapping::{Bounds, Pose},
};

/// Most cells that are kept, whatever the daemon sends; a map of the daemon's has fewer.
const MOST: usize = 8_000_000;
/// Most blocks, which may be empty but for a cell.
const MOST_BLOCKS: usize = 1_000_000;
/// Places of the robot's way that are kept.
const PATH: usize = 4096;
/// They are so far apart, metres.
const STEP: f64 = 0.05;
/// Frames count as many a second over such a time.
const RATE: Duration = Duration::from_secs(2);

/// Cells that something is in, and what else frames say.
#[derive(Default)]
pub(in super::super) struct Cells {
    blocks: HashMap<[u16; 3], Block>,
    count: usize,
    epoch: Option<u32>,
    /// The last frame's.
    pub(super) origin: [f64; 3],
    pub(super) unit: f64,
    pub(super) is_flat: bool,
    pub(super) time_us: u64,
    pub(super) pose: Option<Pose>,
    /// Where the robot was.
    pub(super) path: Vec<[f64; 2]>,
    frames: u64,
    times: VecDeque<u64>,
    /// Whether the last frame was the last of what there was to tell.
    is_whole: bool,
    /// Whether there was more than is kept.
    pub(super) is_over: bool,
}

/// Cells of a block, each by its place in it.
#[derive(Default)]
struct Block {
    /// The frame that told of it.
    frame: u64,
    cells: Vec<[u8; 3]>,
}

impl Cells {
    /// Takes a frame of a map; gives whether it was one.
    pub(super) fn take(&mut self, frame: &Frame<'_>) -> bool {
        let header = &frame.header;
        if frame.kind != Kind::Map {
            return false;
        }
        if self.epoch != Some(header.epoch) {
            *self = Cells { epoch: Some(header.epoch), ..Cells::default() };
        }
        (self.origin, self.unit, self.is_flat) = (header.origin, header.unit, header.is_flat);
        self.time_us = header.time_us;
        self.frames += 1;
        self.times.push_back(header.time_us);
        let oldest = header.time_us.saturating_sub(RATE.as_micros() as u64);
        while self.times.front().is_some_and(|time| *time < oldest || self.times.len() > 1000) {
            self.times.pop_front();
        }
        self.set_pose(header.pose);
        self.is_whole = frame.points().len() < MAP_POINTS;
        for mut point in frame.points() {
            if let (Some(x), Some(y), Some(z), Some(age)) =
                (point.next(), point.next(), point.next(), point.next())
            {
                self.put([x, y, z], age);
            }
        }
        true
    }

    /// A point replaces what was known of its block before this frame.
    fn put(&mut self, cell: [u16; 3], age: u16) {
        let key = cell.map(|axis| axis >> 3);
        let is_full = self.count >= MOST || self.blocks.len() >= MOST_BLOCKS;
        if is_full && !self.blocks.contains_key(&key) {
            self.is_over = true;
            return;
        }
        let block = self.blocks.entry(key).or_default();
        if block.frame != self.frames {
            self.count -= block.cells.len();
            block.cells.clear();
            block.frame = self.frames;
        }
        if age == GONE {
            if block.cells.is_empty() {
                self.blocks.remove(&key);
            }
        } else if block.cells.len() < 512 {
            block.cells.push(cell.map(|axis| (axis & 7) as u8));
            self.count += 1;
        }
    }

    /// Where the robot is now.
    pub(super) fn set_pose(&mut self, pose: Option<Pose>) {
        let Some(pose) = pose.filter(Pose::is_finite) else { return };
        self.pose = Some(pose);
        let is_new = |last: &[f64; 2]| (pose.x - last[0]).hypot(pose.y - last[1]) >= STEP;
        if self.path.last().is_none_or(is_new) {
            self.path.push([pose.x, pose.y]);
        }
        if self.path.len() > PATH {
            // Every second one shows the way as well.
            let mut index = 0;
            self.path.retain(|_| {
                index += 1;
                index % 2 == 1
            });
        }
    }

    /// How many cells there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The epoch, once a frame has come.
    pub(super) fn epoch(&self) -> Option<u32> {
        self.epoch
    }

    /// Whether all was told that there was to tell.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Frames a second, by the times of those that came within the last one's.
    pub(super) fn rate(&self, age: Duration) -> f64 {
        let since = (age.as_micros() as u64).saturating_add(self.time_us);
        let oldest = since.saturating_sub(RATE.as_micros() as u64);
        let recent = self.times.iter().filter(|time| **time >= oldest).count();
        recent as f64 / RATE.as_secs_f64()
    }

    /// All cells.
    pub(super) fn iter(&self) -> impl Iterator<Item = [u16; 3]> {
        self.blocks.iter().flat_map(|(key, block)| {
            block
                .cells
                .iter()
                .map(|cell| std::array::from_fn(|axis| (key[axis] << 3) | u16::from(cell[axis])))
        })
    }

    /// The middle of a cell, metres.
    pub(super) fn middle(&self, cell: [u16; 3]) -> [f64; 3] {
        std::array::from_fn(|axis| self.origin[axis] + (f64::from(cell[axis]) + 0.5) * self.unit)
    }

    /// The box around all cells.
    pub(super) fn bounds(&self) -> Option<Bounds> {
        let mut reach: Option<([u16; 3], [u16; 3])> = None;
        for cell in self.iter() {
            let (low, high) = reach.get_or_insert((cell, cell));
            for axis in 0..3 {
                low[axis] = low[axis].min(cell[axis]);
                high[axis] = high[axis].max(cell[axis]);
            }
        }
        let (low, high) = reach?;
        let (low, high) = (self.middle(low), self.middle(high));
        let half = self.unit / 2.0;
        Some(Bounds { min: low.map(|axis| axis - half), max: high.map(|axis| axis + half) })
    }
}

#[cfg(test)]
mod tests {
    use sinew_api::frame::{Header, map};

    use super::*;

    fn header(epoch: u32) -> Header<'static> {
        let pose = Some(Pose { x: f64::from(epoch), ..Pose::default() });
        let origin = [-1.0, -2.0, 0.0];
        Header { epoch, origin, unit: 0.5, time_us: 1_000_000, pose, ..Header::default() }
    }

    fn take(cells: &mut Cells, epoch: u32, points: &[[u16; 4]]) {
        let bytes = map(&header(epoch), points);
        assert!(cells.take(&Frame::read(&bytes).expect("is a frame")));
    }

    fn sorted(cells: &Cells) -> Vec<[u16; 3]> {
        let mut all: Vec<_> = cells.iter().collect();
        all.sort_unstable();
        assert_eq!(all.len(), cells.len());
        all
    }

    #[test]
    fn a_block_replaces_what_was_known_of_it_and_an_epoch_everything() {
        let mut cells = Cells::default();
        take(&mut cells, 1, &[[0, 0, 0, 3], [9, 0, 0, 3], [7, 7, 7, 3]]);
        assert_eq!(sorted(&cells), [[0, 0, 0], [7, 7, 7], [9, 0, 0]]);
        take(&mut cells, 1, &[[1, 0, 0, 0]]);
        assert_eq!(sorted(&cells), [[1, 0, 0], [9, 0, 0]]);
        let bounds = cells.bounds().expect("has cells");
        assert_eq!((bounds.min, bounds.max), ([-0.5, -2.0, 0.0], [4.0, -1.5, 0.5]));
        take(&mut cells, 1, &[[8, 0, 0, GONE]]);
        assert_eq!(sorted(&cells), [[1, 0, 0]]);
        take(&mut cells, 1, &[]);
        assert_eq!(cells.len(), 1);
        take(&mut cells, 2, &[]);
        assert_eq!((cells.len(), cells.epoch(), cells.bounds()), (0, Some(2), None));
        assert_eq!(cells.path, [[2.0, 0.0]]);
    }

    #[test]
    fn what_a_block_cannot_hold_is_left_out_and_other_frames_are_none() {
        let mut cells = Cells::default();
        take(&mut cells, 1, &vec![[1, 2, 3, 0]; 30_000]);
        assert_eq!(cells.len(), 512);
        let cloud = sinew_api::frame::cloud(&header(1), &[[0, 0, 0]]);
        assert!(!cells.take(&Frame::read(&cloud).expect("is a frame")));
        assert_eq!(cells.len(), 512);
        // Gone, and something after all.
        take(&mut cells, 1, &[[1, 2, 3, GONE], [1, 2, 4, 0]]);
        assert_eq!(sorted(&cells), [[1, 2, 4]]);
    }

    #[test]
    fn a_long_way_is_thinned() {
        let mut cells = Cells::default();
        for step in 0..3 * PATH {
            let pose = Pose { x: step as f64, ..Pose::default() };
            cells.set_pose(Some(pose));
            cells.set_pose(Some(pose));
        }
        assert!(cells.path.len() <= PATH, "{}", cells.path.len());
        assert_eq!(cells.path[0], [0.0, 0.0]);
        cells.set_pose(Some(Pose { x: f64::NAN, ..Pose::default() }));
        assert!(cells.pose.is_some_and(|pose| pose.is_finite()));
    }

    #[test]
    fn the_rate_is_that_of_the_frames_own_times() {
        let mut cells = Cells::default();
        for index in 0..40 {
            let header = Header { time_us: 10_000_000 + index * 100_000, ..header(1) };
            let bytes = map(&header, &[]);
            cells.take(&Frame::read(&bytes).expect("is a frame"));
        }
        assert!((cells.rate(Duration::ZERO) - 10.0).abs() < 1.0);
        assert_eq!(cells.rate(Duration::from_secs(60)), 0.0);
    }
}
