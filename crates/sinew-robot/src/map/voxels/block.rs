use super::super::stream::{BITS, Key};

const SIDE: u16 = 1 << BITS;
/// Cells of a block.
pub(super) const CELLS: usize = 1 << (3 * BITS);
/// What a cell that was hit has at most, and how much of it a hit gives: as often as this a ray must
/// pass through before it is gone.
const SOLID: u8 = 20;
const SOLID_BY_HIT: u8 = 4;

/// A cube of cells, and what is known about all of them.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// None once everything in it has faded: that is still to be told.
    cells: Option<Box<[Cell; CELLS]>>,
    hit_cells: u16,
    pub(super) shown: u16,
    /// The number of its last change; 0 for none.
    pub(super) changed: u64,
    /// When that was, tenths of a second.
    pub(super) told: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// When it was hit last, tenths of a second.
    seen: u32,
    /// 0 for a cell that is empty.
    hits: u16,
    /// Where in the cell its points are on average, in 255ths of its height.
    height: u8,
    /// How often a ray must still pass through; with [`SHOWN`].
    solid: u8,
}

const SHOWN: u8 = 0x80;

/// What is told about a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    pub(super) index: usize,
    pub(super) seen: u32,
    pub(super) hits: u16,
    pub(super) height: f64,
}

impl Block {
    /// What the cells of a block take.
    pub(super) const FILLED_BYTES: usize = size_of::<[Cell; CELLS]>();
    /// What a block takes beside them, in the two indices that know it; half of them is room.
    pub(super) const INDEX_BYTES: usize = 2 * (size_of::<(Key, Block)>() + size_of::<(u64, Key)>());

    pub(super) fn is_filled(&self) -> bool {
        self.cells.is_some()
    }

    pub(super) fn hit_cells(&self) -> usize {
        self.hit_cells.into()
    }

    pub(super) fn hits(&self, index: usize) -> u16 {
        self.cell(index).map_or(0, |cell| cell.hits)
    }

    pub(super) fn is_shown(&self, index: usize) -> bool {
        self.cell(index).is_some_and(|cell| cell.solid & SHOWN != 0)
    }

    /// Whether a cell was hit and is not shown.
    pub(super) fn is_hidden(&self, index: usize) -> bool {
        self.cell(index).is_some_and(|cell| cell.hits > 0 && cell.solid & SHOWN == 0)
    }

    /// Whether its cells were seen again for so long that it is to be told of.
    pub(super) fn is_due(&self, tick: u32, refresh: u32) -> bool {
        tick.saturating_sub(self.told) >= refresh && self.shown > 0
    }

    fn cell(&self, index: usize) -> Option<&Cell> {
        self.cells.as_deref()?.get(index)
    }

    pub(super) fn hit(&mut self, index: usize, height: u8, tick: u32) {
        let cells = self.cells.get_or_insert_with(|| Box::new([Cell::default(); CELLS]));
        let Some(cell) = cells.get_mut(index) else { return };
        if cell.hits == 0 {
            self.hit_cells += 1;
            cell.height = height;
        } else {
            // A mean that gets steadier up to a sixteenth.
            let weight = i32::from(cell.hits.min(16));
            let by = (i32::from(height) - i32::from(cell.height)) / (weight + 1);
            cell.height = cell.height.saturating_add_signed(by.clamp(-127, 127) as i8);
        }
        cell.hits = cell.hits.saturating_add(1);
        cell.seen = tick;
        let solid = (cell.solid & !SHOWN).saturating_add(SOLID_BY_HIT).min(SOLID);
        cell.solid = cell.solid & SHOWN | solid;
    }

    pub(super) fn show(&mut self, index: usize) {
        if let Some(cell) = self.cells.as_deref_mut().and_then(|cells| cells.get_mut(index))
            && cell.solid & SHOWN == 0
        {
            cell.solid |= SHOWN;
            self.shown += 1;
        }
    }

    /// A ray passed through a cell that was not hit at `tick`. Whether it is gone, and whether it was
    /// shown.
    pub(super) fn miss(&mut self, index: usize, tick: u32) -> Option<Gone> {
        let cell = self.cells.as_deref_mut()?.get_mut(index)?;
        if cell.hits == 0 || cell.seen == tick {
            return None;
        }
        cell.solid = cell.solid & SHOWN | (cell.solid & !SHOWN).saturating_sub(1);
        if cell.solid & !SHOWN > 0 {
            return None;
        }
        let was_shown = cell.solid & SHOWN != 0;
        *cell = Cell::default();
        self.hit_cells -= 1;
        self.shown -= u16::from(was_shown);
        let emptied = self.hit_cells == 0;
        if emptied {
            self.cells = None;
        }
        Some(Gone { was_shown, emptied })
    }

    /// The cells that are shown.
    pub(super) fn seen(&self) -> impl Iterator<Item = Seen> {
        let cells = self.cells.as_deref().into_iter().flatten().enumerate();
        cells.filter(|(_, cell)| cell.solid & SHOWN != 0).map(|(index, cell)| Seen {
            index,
            seen: cell.seen,
            hits: cell.hits,
            height: f64::from(cell.height) / 255.0,
        })
    }
}

/// What went with a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gone {
    pub(super) was_shown: bool,
    /// Whether the block has no cell left.
    pub(super) emptied: bool,
}

/// The block of a cell, and the cell's place in it.
pub(super) fn split(cell: [u16; 3]) -> (Key, usize) {
    let [x, y, z] = cell.map(|axis| usize::from(axis % SIDE));
    let side = usize::from(SIDE);
    (cell.map(|axis| axis >> BITS), (z * side + y) * side + x)
}

/// The cell at a place of a block.
pub(super) fn join(key: Key, index: usize) -> [u16; 3] {
    let side = usize::from(SIDE);
    let within = [index % side, index / side % side, index / side / side];
    std::array::from_fn(|axis| (key[axis] << BITS) + within[axis] as u16)
}

/// The six cells that share a face with one; fewer at the map's border.
pub(super) fn beside(cell: [u16; 3]) -> impl Iterator<Item = [u16; 3]> {
    (0..3).flat_map(move |axis| {
        [cell[axis].checked_sub(1), cell[axis].checked_add(1)].into_iter().flatten().map(
            move |moved| {
                let mut neighbour = cell;
                neighbour[axis] = moved;
                neighbour
            },
        )
    })
}

/// The 26 blocks around one; fewer at the map's border.
pub(super) fn around(key: Key) -> impl Iterator<Item = Key> {
    (0..27_u16).filter(|step| *step != 13).filter_map(move |step| {
        let by = [step % 3, step / 3 % 3, step / 9];
        let mut moved = key;
        for axis in 0..3 {
            moved[axis] = (key[axis] + by[axis]).checked_sub(1)?;
        }
        Some(moved)
    })
}
