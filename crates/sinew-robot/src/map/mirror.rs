use std::collections::HashMap;

use super::stream::{BITS, Changes, Cursor, GONE, Key};

/// Points that a mirror holds at most: as many as a map of the largest kind has.
const MOST: usize = 8 << 20;
/// Microseconds of a tenth of a second, in which ages are told.
const TENTH_US: u64 = 100_000;

/// A map that is made elsewhere, as far as its frames have told of it: for readers of its own.
#[derive(Debug, Default)]
pub struct Mirror {
    changes: Changes,
    blocks: HashMap<Key, Block>,
    /// Points of all blocks.
    count: usize,
    /// The epoch of the map that is mirrored.
    epoch: Option<u32>,
    /// When it was last seen, microseconds since 1970.
    time_us: u64,
}

#[derive(Debug, Default)]
struct Block {
    points: Vec<[u16; 4]>,
    /// The time that their ages count from.
    time_us: u64,
    /// The number of its last change.
    changed: u64,
}

impl Mirror {
    /// Takes the points of a frame, whole blocks of them. False if there was no room for some.
    pub fn take(
        &mut self,
        epoch: u32,
        time_us: u64,
        points: impl IntoIterator<Item = [u16; 4]>,
    ) -> bool {
        if self.epoch.is_some_and(|known| known != epoch) {
            self.changes.clear();
            self.blocks = HashMap::new();
            self.count = 0;
        }
        self.epoch = Some(epoch);
        self.time_us = self.time_us.max(time_us);
        let mut fits = true;
        let mut points = points.into_iter().peekable();
        while let Some(first) = points.next() {
            let key = key(first);
            let mut all = vec![first];
            while let Some(point) = points.next_if(|point| self::key(*point) == key) {
                all.push(point);
            }
            all.retain(|[.., age]| *age != GONE);
            fits &= self.put(key, all, time_us);
        }
        fits
    }

    fn put(&mut self, key: Key, points: Vec<[u16; 4]>, time_us: u64) -> bool {
        let before = self.blocks.get(&key).map_or(0, |block| block.points.len());
        let count = self.count - before + points.len();
        if count > MOST {
            return false;
        }
        self.count = count;
        let block = self.blocks.entry(key).or_default();
        block.changed = self.changes.note(key, block.changed);
        (block.points, block.time_us) = (points, time_us);
        true
    }

    /// Appends what has changed since a reader was here last; as [`GroundMap::changes`](super::GroundMap::changes).
    pub fn changes(&self, cursor: &mut Cursor, most: usize, out: &mut Vec<[u16; 4]>) -> bool {
        self.changes.read(cursor, most, out, |key, out| {
            let Some(block) = self.blocks.get(&key) else { return };
            let older = self.time_us.saturating_sub(block.time_us) / TENTH_US;
            let older = u16::try_from(older).unwrap_or(u16::MAX);
            out.extend(
                block
                    .points
                    .iter()
                    .map(|[x, y, z, age]| [*x, *y, *z, age.saturating_add(older).min(GONE - 1)]),
            );
        })
    }

    /// Whether a reader has all there is; also while nothing is known.
    pub fn is_current(&self, cursor: &Cursor) -> bool {
        self.epoch.is_none() || self.changes.is_current(cursor)
    }

    /// Which map it is, for its readers.
    pub fn epoch(&self) -> u32 {
        self.changes.epoch()
    }

    /// When it was last seen, microseconds since 1970.
    pub fn time_us(&self) -> u64 {
        self.time_us
    }
}

fn key([x, y, z, _]: [u16; 4]) -> Key {
    [x, y, z].map(|axis| axis >> BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mirror: &Mirror, cursor: &mut Cursor) -> Vec<[u16; 4]> {
        let mut points = Vec::new();
        loop {
            // A block is begun only where there is room.
            let mut part = Vec::new();
            let has_more = mirror.changes(cursor, 1, &mut part);
            points.append(&mut part);
            if !has_more {
                break;
            }
        }
        points.sort_unstable();
        points
    }

    #[test]
    fn readers_get_all_of_it_and_then_the_blocks_that_changed() {
        let mut mirror = Mirror::default();
        let mut cursor = Cursor::default();
        assert!(mirror.is_current(&cursor), "nothing is known");
        assert!(mirror.take(7, 1_000_000, [[0, 0, 0, 3], [7, 0, 0, 4], [8, 0, 0, 5]]));
        assert_eq!(read(&mirror, &mut cursor), [[0, 0, 0, 3], [7, 0, 0, 4], [8, 0, 0, 5]]);
        assert!(mirror.is_current(&cursor));
        // A block that comes again is replaced whole; another is told to be empty.
        mirror.take(7, 2_000_000, [[1, 1, 1, 0], [8, 0, 0, GONE]]);
        assert_eq!(read(&mirror, &mut cursor), [[1, 1, 1, 0], [8, 0, 0, GONE]]);
        let mut whole = Vec::new();
        assert!(!mirror.changes(&mut Cursor::default(), 64, &mut whole));
        assert_eq!(whole, [[1, 1, 1, 0]], "a new reader has nothing of it");
    }

    #[test]
    fn ages_go_on_while_a_block_is_not_seen() {
        let mut mirror = Mirror::default();
        mirror.take(1, 1_000_000, [[0, 0, 0, 3]]);
        mirror.take(1, 6_000_000, [[8, 0, 0, 0]]);
        assert_eq!(read(&mirror, &mut Cursor::default()), [[0, 0, 0, 53], [8, 0, 0, 0]]);
    }

    #[test]
    fn another_epoch_is_another_map() {
        let mut mirror = Mirror::default();
        mirror.take(1, 0, [[0, 0, 0, 0]]);
        let (mut cursor, before) = (Cursor::default(), mirror.epoch());
        read(&mirror, &mut cursor);
        assert!(mirror.take(2, 0, []));
        assert!(!mirror.is_current(&cursor));
        assert_ne!(mirror.epoch(), before);
        assert_eq!(read(&mirror, &mut cursor), [[0; 4]; 0]);
    }
}
