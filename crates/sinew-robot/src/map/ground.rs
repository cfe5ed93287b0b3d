//! A map of the ground as its readers get it: apart from the [`Mapper`](super::Mapper) that makes
//! it, which may be busy with a turn.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{
    file::{Error, Ground, Points, Raster},
    grid::{self, Patch},
    stream::{BITS, Changes, Cursor, GONE, Key, SPAN},
    voxels::tick,
};
use crate::mapping::Bounds;

/// A block that is seen again, and does not change, is streamed this often.
const REFRESH: Duration = Duration::from_secs(5);
/// Squares along a block's side.
const SIDE: usize = 1 << BITS;
/// The height at which squares that are occupied are given out as points, metres: a lidar's.
const HEIGHT: f32 = 0.1;

/// Squares that are free or occupied, in blocks of 8 x 8.
#[derive(Debug, Clone)]
pub struct GroundMap {
    resolution: f64,
    /// When the first patch came; ages count from it.
    start: Option<Instant>,
    blocks: HashMap<Key, Block>,
    changes: Changes,
    /// Squares that are known.
    known: u64,
}

#[derive(Debug, Clone)]
struct Block {
    squares: [Ground; SIDE * SIDE],
    /// When it was seen and when it was streamed last, tenths of a second.
    seen: u32,
    told: u32,
    /// The number of its last change.
    changed: u64,
}

impl GroundMap {
    /// An empty map of squares with this side, metres.
    pub fn new(resolution: f64) -> Self {
        let (blocks, changes) = Default::default();
        GroundMap { resolution, start: None, blocks, changes, known: 0 }
    }

    /// Forgets everything: a new epoch begins.
    pub fn clear(&mut self) {
        self.changes.clear();
        (self.start, self.blocks, self.known) = (None, HashMap::new(), 0);
    }

    /// Changes when what was there before is gone.
    pub fn epoch(&self) -> u32 {
        self.changes.epoch()
    }

    /// Squares that are known.
    pub fn len(&self) -> u64 {
        self.known
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.known == 0
    }

    /// Where the first square's lower corner is, metres: the same for the map's life.
    pub fn origin(&self) -> [f64; 3] {
        let corner = -f64::from(SPAN / 2) * self.resolution;
        [corner, corner, 0.0]
    }

    /// The side of a square, metres.
    pub fn unit(&self) -> f64 {
        self.resolution
    }

    /// Takes in what [`Mapper::take_seen`](super::Mapper::take_seen) gave. Whether there is
    /// something new for readers.
    pub fn take(&mut self, now: Instant, patches: &[Patch]) -> bool {
        let tick = tick(now.saturating_duration_since(*self.start.get_or_insert(now)));
        let mut changed = false;
        for patch in patches {
            changed |= self.take_patch(tick, patch);
        }
        changed
    }

    fn take_patch(&mut self, tick: u32, patch: &Patch) -> bool {
        // Further away than 16 bits count is nothing of a flat.
        let [Some(x), Some(y)] = patch.place.map(|axis| {
            let axis = axis + (SPAN >> (BITS + 1));
            u16::try_from(axis).ok().filter(|axis| i32::from(*axis) < SPAN >> BITS)
        }) else {
            return false;
        };
        let key = [x, y, 0];
        let known = |squares: &[Ground]| {
            squares.iter().filter(|square| **square != Ground::Unknown).count() as u64
        };
        let squares = [Ground::Unknown; SIDE * SIDE];
        let empty = Block { squares, seen: tick, told: tick, changed: 0 };
        let (is_new, after) = (!self.blocks.contains_key(&key), known(&patch.squares));
        if is_new && after == 0 {
            return false;
        }
        let block = self.blocks.entry(key).or_insert(empty);
        if patch.is_seen {
            block.seen = tick;
        }
        let is_same = block.squares == patch.squares;
        let is_due = patch.is_seen && after > 0 && tick - block.told >= self::tick(REFRESH);
        if is_same && !is_due {
            return false;
        }
        self.known = self.known + after - known(&block.squares);
        (block.squares, block.told) = (patch.squares, tick);
        block.changed = self.changes.note(key, block.changed);
        true
    }

    /// Appends what has changed since the reader was here last, whole blocks of it, and moves its
    /// cursor; all of the map at first and after a new epoch. Whether there is more.
    ///
    /// A point is a square along x and y, 0 where it is free and 1 where something stands, and the
    /// age of what is known about its block in tenths of a second. The points of a block take the
    /// place of all that the reader has of it; an age of [`GONE`] says that there are none. A block
    /// is begun only while fewer than `most` points are there, and has up to 64.
    pub fn changes(
        &self,
        now: Instant,
        cursor: &mut Cursor,
        most: usize,
        out: &mut Vec<[u16; 4]>,
    ) -> bool {
        let now = tick(now.saturating_duration_since(self.start.unwrap_or(now)));
        self.changes.read(cursor, most, out, |key, out| {
            let Some(block) = self.blocks.get(&key) else { return };
            let age = now.saturating_sub(block.seen).min(u32::from(GONE) - 1) as u16;
            out.extend(block.known().map(|(within, ground)| {
                let [x, y] = square(key, within);
                [x, y, u16::from(ground == Ground::Occupied), age]
            }));
        })
    }

    /// Whether a reader has all there is.
    pub fn is_current(&self, cursor: &Cursor) -> bool {
        self.changes.is_current(cursor)
    }

    /// The box around what is known, metres; none when nothing is.
    pub fn bounds(&self) -> Option<Bounds> {
        let mut reach: Option<([i32; 2], [i32; 2])> = None;
        for (index, _) in self.squares() {
            let (low, high) = reach.get_or_insert((index, index));
            *low = [low[0].min(index[0]), low[1].min(index[1])];
            *high = [high[0].max(index[0]), high[1].max(index[1])];
        }
        let (low, high) = reach?;
        let metres = |index: i32| f64::from(index) * self.resolution;
        Some(Bounds {
            min: [metres(low[0]), metres(low[1]), 0.0],
            max: [metres(high[0] + 1), metres(high[1] + 1), 0.0],
        })
    }

    /// All of it, as a picture of squares; none when nothing is known, or when it is too large for a
    /// picture.
    pub fn raster(&self) -> Option<Raster> {
        grid::raster(self.resolution, || self.squares())
    }

    /// The middles of the squares that are occupied, at a lidar's height; in an order that depends
    /// on the map only.
    pub fn points(&self) -> Result<Points, Error> {
        let occupied = self.squares().filter(|(_, ground)| *ground == Ground::Occupied);
        let mut occupied: Vec<_> = occupied.map(|(index, _)| index).collect();
        occupied.sort_unstable();
        let middle = |index: [i32; 2]| {
            let [x, y] = index.map(|axis| ((f64::from(axis) + 0.5) * self.resolution) as f32);
            [x, y, HEIGHT]
        };
        Points::from_xyz(&occupied.into_iter().map(middle).collect::<Vec<_>>())
    }

    /// Squares that are known, counted from the map's middle.
    fn squares(&self) -> impl Iterator<Item = ([i32; 2], Ground)> {
        self.blocks.iter().flat_map(|(key, block)| {
            block.known().map(|(within, ground)| {
                (square(*key, within).map(|axis| i32::from(axis) - SPAN / 2), ground)
            })
        })
    }
}

impl Block {
    fn known(&self) -> impl Iterator<Item = (usize, Ground)> {
        let squares = self.squares.iter().copied().enumerate();
        squares.filter(|(_, ground)| *ground != Ground::Unknown)
    }
}

/// The square at a place of a block.
fn square(key: Key, within: usize) -> [u16; 2] {
    [(key[0] << BITS) + (within % SIDE) as u16, (key[1] << BITS) + (within / SIDE) as u16]
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test has to begin at some time")]
mod tests {
    use super::*;

    fn patch(place: [i32; 2], squares: &[(usize, Ground)]) -> Patch {
        let mut patch = Patch { place, squares: [Ground::Unknown; SIDE * SIDE], is_seen: true };
        for (at, ground) in squares {
            patch.squares[*at] = *ground;
        }
        patch
    }

    fn read(map: &GroundMap, now: Instant, cursor: &mut Cursor) -> Vec<[u16; 4]> {
        let mut points = Vec::new();
        assert!(!map.changes(now, cursor, usize::MAX, &mut points));
        assert!(map.is_current(cursor));
        points
    }

    #[test]
    fn readers_get_whole_blocks_with_their_ages_and_are_told_what_is_gone() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut map = GroundMap::new(0.05);
        let squares = [(0, Ground::Free), (9, Ground::Occupied)];
        assert!(map.take(at(0), &[patch([0, -1], &squares), patch([3, 3], &[])]));
        let mut early = Cursor::default();
        // Square 9 of a block is the second of its second row.
        let whole = [[32768, 32760, 0, 20], [32769, 32761, 1, 20]];
        assert_eq!(read(&map, at(2), &mut early), whole);
        assert_eq!(map.len(), 2);
        assert!(!map.take(at(3), &[patch([0, -1], &squares)]), "nothing new");
        assert!(map.is_current(&early));
        assert!(map.take(at(6), &[patch([0, -1], &squares)]), "seen again, and told for its age");
        assert_eq!(read(&map, at(6), &mut early)[0][3], 0);
        assert!(map.take(at(7), &[patch([0, -1], &[]), patch([1, 0], &[(63, Ground::Free)])]));
        let news = read(&map, at(7), &mut early);
        assert_eq!(news, [[32768, 32760, 0, GONE], [32783, 32775, 0, 0]]);
        let late = read(&map, at(7), &mut Cursor::default());
        assert_eq!(late, [[32783, 32775, 0, 0]], "a new reader has nothing to forget");
        assert_eq!(map.len(), 1);
        let bounds = map.bounds().expect("something is known");
        assert!((bounds.min[0] - 0.75).abs() < 1e-9 && (bounds.max[1] - 0.4).abs() < 1e-9);
    }

    #[test]
    fn what_is_beside_something_seen_ages_and_what_is_too_far_is_left_out() {
        let begin = Instant::now();
        let mut map = GroundMap::new(0.05);
        map.take(begin, &[patch([0, 0], &[(0, Ground::Free)])]);
        let beside = Patch { is_seen: false, ..patch([0, 0], &[(1, Ground::Free)]) };
        let later = begin + Duration::from_secs(20);
        assert!(map.take(later, &[beside]));
        assert_eq!(read(&map, later, &mut Cursor::default()), [[32769, 32768, 0, 200]]);
        for place in [[4096, 0], [0, -4097], [i32::MAX / 2, i32::MIN / 2]] {
            assert!(!map.take(later, &[patch(place, &[(0, Ground::Free)])]));
        }
        assert!(map.take(later, &[patch([4095, -4096], &[(63, Ground::Free)])]));
        assert_eq!(map.len(), 2);
    }

    #[test]
    fn a_map_that_was_cleared_is_told_once() {
        let now = Instant::now();
        let mut map = GroundMap::new(0.05);
        let mut cursor = Cursor::default();
        map.take(now, &[patch([0, 0], &[(0, Ground::Free)])]);
        read(&map, now, &mut cursor);
        let epoch = map.epoch();
        map.clear();
        assert_ne!(map.epoch(), epoch);
        assert!(!map.is_current(&cursor));
        assert_eq!(read(&map, now, &mut cursor), [[0; 4]; 0]);
        assert!(map.is_empty() && map.bounds().is_none() && map.raster().is_none());
    }
}
