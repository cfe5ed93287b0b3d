//! What a robot has a map of, and a client's side of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use sinew_api::frame::{self, Frame, Header, Kind, MAP_POINTS};
use sinew_robot::{
    capability::Blocks,
    map::{Cursor, VoxelMap, VoxelSettings},
    mapping::{Cloud, Pose},
};

/// A place that changes: a wall around the robot, and something that moves before it.
pub(crate) struct Surroundings {
    start: Instant,
    seen: Mutex<(VoxelMap, u32)>,
}

/// How far the wall is, and what moves, metres.
const WALL: f64 = 3.0;
const NEAR: f64 = 1.5;

impl Default for Surroundings {
    fn default() -> Self {
        let settings = VoxelSettings { max_bytes: 256 << 20, ..VoxelSettings::default() };
        Surroundings { start: Instant::now(), seen: Mutex::new((VoxelMap::new(settings), 0)) }
    }
}

impl Surroundings {
    /// Sees a floor that takes a number of frames, and nothing that changes.
    pub(crate) fn see_floor(&self, cells: u16) {
        let (map, _) = &mut *self.seen.lock().expect("nobody panicked");
        let points = (0..cells).flat_map(|x| (0..cells).map(move |y| [x, y, 0]));
        let cloud = Cloud {
            sequence: 0,
            origin: [5.0, -f64::from(cells) / 40.0, -1.0],
            unit: 0.05,
            points: points.collect(),
            pose: None,
            frame: Arc::from("map"),
        };
        map.insert(self.start, &cloud).expect("is taken");
    }

    /// A tenth of a second later.
    pub(crate) fn go_on(&self) {
        let (map, step) = &mut *self.seen.lock().expect("nobody panicked");
        *step += 1;
        let angle = |index: u32, of: u32| f64::from(index) / f64::from(of) - 0.5;
        let moving = angle(*step % 20, 20);
        // What moves is as high as the sensor, so that rays to the wall pass where it was.
        let wall = (0..200).map(|index| angle(index, 200)).flat_map(|angle| {
            let near = (angle - moving).abs() < 0.05;
            let (way, up) = if near { (NEAR, 8..13) } else { (WALL, 0..20) };
            up.map(move |up| [way * angle.cos(), way * angle.sin(), f64::from(up) * 0.04])
        });
        let step_of = |axis: f64, low: f64| ((axis - low) * 1000.0).round() as u16;
        let cloud = Cloud {
            sequence: u64::from(*step),
            origin: [0.0, -4.0, 0.0],
            unit: 0.001,
            points: wall
                .map(|[x, y, z]| [step_of(x, 0.0), step_of(y, -4.0), step_of(z, 0.0)])
                .collect(),
            pose: Some(Pose { z: 0.4, ..Pose::default() }),
            frame: Arc::from("map"),
        };
        map.insert(self.start + Duration::from_millis(100) * *step, &cloud).expect("is taken");
    }

    pub(crate) fn clear(&self) {
        self.seen.lock().expect("nobody panicked").0.clear();
    }

    /// All cells of the map.
    pub(crate) fn cells(&self) -> BTreeSet<[u16; 3]> {
        let (map, _) = &*self.seen.lock().expect("nobody panicked");
        let mut points = Vec::new();
        assert!(!map.changes(self.start, &mut Cursor::default(), usize::MAX, &mut points));
        let cells: BTreeSet<_> = points.into_iter().map(|[x, y, z, _]| [x, y, z]).collect();
        assert_eq!(cells.len() as u64, map.len());
        cells
    }
}

impl Blocks for Surroundings {
    fn next(&self, place: &mut Cursor) -> Option<Vec<u8>> {
        let (map, step) = &*self.seen.lock().expect("nobody panicked");
        if map.is_current(place) {
            return None;
        }
        let now = self.start + Duration::from_millis(100) * *step;
        let mut points = Vec::new();
        map.changes(now, place, MAP_POINTS, &mut points);
        let (epoch, origin, unit) = (map.epoch(), map.origin(), map.unit());
        let header = Header { epoch, origin, unit, name: "map", ..Header::default() };
        Some(frame::map(&header, &points))
    }
}

/// A map as a client has it, by the rule of the interface.
#[derive(Debug, Default)]
pub(crate) struct Known {
    epoch: u32,
    blocks: BTreeMap<[u16; 3], BTreeMap<[u16; 3], u16>>,
    /// Blocks of which it was told that they are empty.
    pub(crate) emptied: usize,
}

impl Known {
    pub(crate) fn take(&mut self, frame: &Frame<'_>) {
        assert_eq!(frame.kind, Kind::Map);
        if frame.header.epoch != self.epoch {
            *self = Known { epoch: frame.header.epoch, ..Known::default() };
        }
        let mut replaced = BTreeSet::new();
        for point in frame.points() {
            let point: Vec<u16> = point.collect();
            let (cell, age) = ([point[0], point[1], point[2]], point[3]);
            let key = cell.map(|axis| axis >> 3);
            if replaced.insert(key) {
                self.blocks.remove(&key);
            }
            if age == u16::MAX {
                self.emptied += 1;
            } else {
                self.blocks.entry(key).or_default().insert(cell, age);
            }
        }
    }

    /// Whether it is this, all of it.
    pub(crate) fn is(&self, cells: &BTreeSet<[u16; 3]>) -> bool {
        let count: usize = self.blocks.values().map(BTreeMap::len).sum();
        count == cells.len() && self.cells() == *cells
    }

    pub(crate) fn cells(&self) -> BTreeSet<[u16; 3]> {
        self.blocks.values().flat_map(|block| block.keys()).copied().collect()
    }
}
