use std::time::Instant;

use super::{super::stream::GONE, Cursor, VoxelMap, block, tick};

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
        let now = tick(now.saturating_duration_since(self.start.unwrap_or(now)));
        self.changes.read(cursor, most, out, |key, out| {
            let Some(block) = self.blocks.get(&key) else { return };
            out.extend(block.seen().map(|cell| {
                let [x, y, z] = block::join(key, cell.index);
                let age = now.saturating_sub(cell.seen).min(u32::from(GONE) - 1);
                [x, y, z, age as u16]
            }));
        })
    }

    /// Whether a reader has all there is.
    pub fn is_current(&self, cursor: &Cursor) -> bool {
        self.changes.is_current(cursor)
    }
}
