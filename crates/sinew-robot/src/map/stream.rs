//! What changed when, for readers that each come at their own pace: the same for every map.

use std::collections::BTreeMap;

/// The age of a point that says: nothing is left in its block.
pub const GONE: u16 = u16::MAX;
/// Cells along a block's side, as a power of two.
pub(super) const BITS: u16 = 3;
/// Cells along an axis: what 16 bits count.
pub(super) const SPAN: i32 = 1 << 16;

/// Which block, counted from the map's origin. A map of the ground has one layer of them.
pub(super) type Key = [u16; 3];

/// How far a reader has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    epoch: u32,
    sequence: u64,
}

/// The blocks of a map, by the number of their last change.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    /// Changes when what was there before is gone.
    epoch: u32,
    /// Of the last change.
    sequence: u64,
    blocks: BTreeMap<u64, Key>,
}

impl Default for Changes {
    fn default() -> Self {
        Changes { epoch: 1, sequence: 0, blocks: BTreeMap::new() }
    }
}

impl Changes {
    /// All blocks are gone: a new epoch begins.
    pub(super) fn clear(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.blocks = BTreeMap::new();
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Notes that a block has changed, whose last change had the number `before`; 0 for none. The
    /// number of this one.
    pub(super) fn note(&mut self, key: Key, before: u64) -> u64 {
        self.sequence += 1;
        self.blocks.remove(&before);
        self.blocks.insert(self.sequence, key);
        self.sequence
    }

    /// Appends what has changed since the reader was here last, whole blocks of it, and moves its
    /// cursor; everything at first and after a new epoch. Whether there is more.
    ///
    /// `write` appends the points of a block. A block is begun only while fewer than `most` points
    /// are there.
    pub(super) fn read(
        &self,
        cursor: &mut Cursor,
        most: usize,
        out: &mut Vec<[u16; 4]>,
        mut write: impl FnMut(Key, &mut Vec<[u16; 4]>),
    ) -> bool {
        if cursor.epoch != self.epoch {
            *cursor = Cursor { epoch: self.epoch, sequence: 0 };
        }
        let first = cursor.sequence == 0;
        for (sequence, key) in self.blocks.range(cursor.sequence + 1..) {
            if out.len() >= most {
                return true;
            }
            cursor.sequence = *sequence;
            let before = out.len();
            write(*key, out);
            if out.len() == before && !first {
                let [x, y, z] = key.map(|axis| axis << BITS);
                out.push([x, y, z, GONE]);
            }
        }
        // Also where the last changes were of an epoch before this one.
        cursor.sequence = self.sequence;
        false
    }

    /// Whether a reader has all there is.
    pub(super) fn is_current(&self, cursor: &Cursor) -> bool {
        cursor.epoch == self.epoch && cursor.sequence == self.sequence
    }
}
