use std::time::Instant;

use super::{VoxelMap, block, tick};

/// The age of a point that says: nothing is left in its block.
pub const GONE: u16 = u16::MAX;

/// How far a reader has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    epoch: u32,
    sequence: u64,
}

impl VoxelMap {
    /// Appends what has changed since the reader was here last, whole blocks of it, and moves its
    /// cursor; all of the map at first and after a new epoch. Whether there is more.
    ///
    /// A point is a cell along x, y, z and its age in tenths of a second. The points of a block
    /// (8 x 8 x 8 cells) take the place of all that the reader has of it; an age of [`GONE`] says
    /// that there are none. A block is begun only while fewer than `most` points are there, and has
    /// up to 512.
    pub fn changes(
        &self,
        now: Instant,
        cursor: &mut Cursor,
        most: usize,
        out: &mut Vec<[u16; 4]>,
    ) -> bool {
        if cursor.epoch != self.epoch {
            *cursor = Cursor { epoch: self.epoch, sequence: 0 };
        }
        let now = tick(now.saturating_duration_since(self.start.unwrap_or(now)));
        let first = cursor.sequence == 0;
        for (sequence, key) in self.changes.range(cursor.sequence + 1..) {
            if out.len() >= most {
                return true;
            }
            cursor.sequence = *sequence;
            let Some(block) = self.blocks.get(key) else { continue };
            if block.shown == 0 && !first {
                let [x, y, z] = block::join(*key, 0);
                out.push([x, y, z, GONE]);
            }
            out.extend(block.seen().map(|cell| {
                let [x, y, z] = block::join(*key, cell.index);
                let age = now.saturating_sub(cell.seen).min(u32::from(GONE) - 1);
                [x, y, z, age as u16]
            }));
        }
        // A map that was cleared has no change to reach it by.
        cursor.sequence = self.sequence;
        false
    }

    /// Whether a reader has all there is.
    pub fn is_current(&self, cursor: &Cursor) -> bool {
        cursor.epoch == self.epoch && cursor.sequence == self.sequence
    }
}
