//! A map of a robot's clouds: cubes that something was seen in.
//!
//! Space is cut into blocks of 8 x 8 x 8 cells. A block takes the same memory however often it is
//! seen, and is there only where something was; blocks are also what is streamed, whole, when
//! something in them changes.
//!
//! What is shown is less than what was hit. A sensor's noise reaches into the cells beside a
//! surface: those with less than an eighth of a neighbour's hits are not shown, so that the map of
//! a robot that stands still stands still. A block with hardly anything in it and around it holds
//! outliers. A cell that rays pass through to what lies behind it fades.

mod block;
mod export;
mod fade;
mod hash;
mod stream;

use std::{
    collections::HashMap,
    fmt,
    time::{Duration, Instant},
};

use super::stream::{Changes, Cursor, Key, SPAN};
use crate::mapping::Cloud;
use block::{Block as Store, CELLS};
use hash::Hashing;

/// Added before a place becomes a cell: whole millimetres that lie on a border fall to the same
/// side of it, whatever corner their cloud counts from.
const ROUNDING: f64 = 1e-5;
/// A cell with less than this share of a neighbour's hits is that neighbour's noise.
const NOISE: u32 = 8;
/// Cells in a block and around it that make it more than outliers.
const SUPPORT: usize = 3;

/// How a map is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The side of a cell, metres: 0.01 to 1.
    pub cell: f64,
    /// Most memory for blocks, bytes.
    pub max_bytes: usize,
    /// Points further from the robot, or from the map's beginning while it is not known where the
    /// robot is, are not taken, metres.
    pub reach: f64,
    /// A block in which cells are seen again, and nothing else changes, is streamed this often.
    pub refresh: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { cell: 0.05, max_bytes: 32 << 20, reach: 100.0, refresh: Duration::from_secs(5) }
    }
}

/// Cubes that something was seen in.
#[derive(Debug)]
pub struct VoxelMap {
    settings: Settings,
    /// When the first cloud came; ages count from it.
    start: Option<Instant>,
    blocks: HashMap<Key, Store, Hashing>,
    changes: Changes,
    /// Cells that are shown.
    shown: u64,
    /// Blocks that hold memory.
    filled: usize,
    is_full: bool,
    /// Cells of a cloud that may be shown or told of, kept for their memory.
    scratch: Vec<[u16; 3]>,
}

/// What became of a cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// Points that hit a cell.
    pub points: usize,
    /// Points too far away.
    pub outside: usize,
    /// Points that found no memory.
    pub refused: usize,
}

/// Why a cloud was not taken; the map is as it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unusable {
    /// What is wrong with it.
    pub field: &'static str,
    /// What it is.
    pub got: f64,
}

/// A map that has no room for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// What it may take, bytes.
    pub max_bytes: usize,
}

impl VoxelMap {
    /// An empty map.
    pub fn new(settings: Settings) -> Self {
        let fallback = Settings::default();
        let cell = settings.cell.clamp(0.01, 1.0);
        let cell = if cell.is_nan() { fallback.cell } else { cell };
        let reach = if settings.reach > 0.0 { settings.reach } else { fallback.reach };
        VoxelMap {
            settings: Settings { cell, reach, ..settings },
            start: None,
            blocks: HashMap::default(),
            changes: Changes::default(),
            shown: 0,
            filled: 0,
            is_full: false,
            scratch: Vec::new(),
        }
    }

    /// Forgets everything: a new epoch begins.
    pub fn clear(&mut self) {
        self.start = None;
        self.blocks = HashMap::default();
        self.changes.clear();
        (self.shown, self.filled, self.is_full) = (0, 0, false);
    }

    /// Changes when what was there before is gone.
    pub fn epoch(&self) -> u32 {
        self.changes.epoch()
    }

    /// Cells that are shown.
    pub fn len(&self) -> u64 {
        self.shown
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.shown == 0
    }

    /// Where the first cell's lower corner is, metres: the same for the map's life.
    pub fn origin(&self) -> [f64; 3] {
        [-f64::from(SPAN / 2) * self.settings.cell; 3]
    }

    /// The side of a cell, metres.
    pub fn unit(&self) -> f64 {
        self.settings.cell
    }

    /// Bytes that the map takes, as its limit counts them.
    pub fn bytes(&self) -> usize {
        self.filled * Store::FILLED_BYTES + self.blocks.len() * Store::INDEX_BYTES
    }

    /// Says so when points found no room.
    pub fn full(&self) -> Option<Full> {
        self.is_full.then_some(Full { max_bytes: self.settings.max_bytes })
    }

    /// Takes a cloud in.
    pub fn insert(&mut self, now: Instant, cloud: &Cloud) -> Result<Taken, Unusable> {
        check(cloud)?;
        let start = *self.start.get_or_insert(now);
        let tick = tick(now.saturating_duration_since(start));
        let mut taken = Taken::default();
        let mut cells = std::mem::take(&mut self.scratch);
        cells.clear();
        let centre = cloud.pose.map_or([0.0; 3], |pose| [pose.x, pose.y, pose.z]);
        for point in &cloud.points {
            let place = place(cloud, point);
            let way: f64 = place.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum();
            let near = way <= self.settings.reach * self.settings.reach;
            let Some(cell) = self.cell_at(place).filter(|_| near) else {
                taken.outside += 1;
                continue;
            };
            let height = (place[2] - self.origin()[2]) / self.settings.cell - f64::from(cell[2]);
            let Some(is_settled) = self.hit(cell, (height.clamp(0.0, 1.0) * 255.0) as u8, tick)
            else {
                taken.refused += 1;
                continue;
            };
            taken.points += 1;
            if !is_settled {
                cells.push(cell);
            }
        }
        self.show(&cells, tick);
        if cloud.pose.is_some() {
            self.fade(centre, cloud, tick);
        }
        self.scratch = cells;
        Ok(taken)
    }

    /// The cell that a place lies in.
    fn cell_at(&self, place: [f64; 3]) -> Option<[u16; 3]> {
        let [x, y, z] = place.map(|axis| {
            let cells = (axis + ROUNDING) / self.settings.cell;
            // Without `floor`, which is a call where the processor need not have it.
            let whole = cells as i32;
            let below = whole.saturating_sub(i32::from(cells < f64::from(whole)));
            u16::try_from(below.saturating_add(SPAN / 2)).ok()
        });
        Some([x?, y?, z?])
    }

    /// Counts a hit if there is room. Whether that leaves nothing to show and nothing to tell.
    fn hit(&mut self, cell: [u16; 3], height: u8, tick: u32) -> Option<bool> {
        let (key, index) = block::split(cell);
        let refresh = self.refresh();
        if let Some(block) = self.blocks.get_mut(&key).filter(|block| block.is_filled()) {
            block.hit(index, height, tick);
            return Some(block.is_shown(index) && !block.is_due(tick, refresh));
        }
        if self.bytes() + Store::FILLED_BYTES + Store::INDEX_BYTES > self.settings.max_bytes {
            self.is_full = true;
            return None;
        }
        self.filled += 1;
        self.blocks.entry(key).or_default().hit(index, height, tick);
        Some(false)
    }

    /// How often a block is told of, tenths of a second.
    fn refresh(&self) -> u32 {
        tick(self.settings.refresh)
    }

    /// Shows what has become worth it, and tells of blocks that changed.
    fn show(&mut self, cells: &[[u16; 3]], tick: u32) {
        let refresh = self.refresh();
        for cell in cells {
            let (key, index) = block::split(*cell);
            let Some(block) = self.blocks.get(&key) else { continue };
            let mut changed = block.is_due(tick, refresh);
            if !block.is_shown(index) && self.is_surface(*cell) && self.is_supported(key) {
                changed |= self.reveal(key, index);
            }
            if changed {
                self.touch(key, tick);
            }
        }
    }

    /// Shows a cell. Whether there was one to show.
    ///
    /// In a block that had nothing to show all cells are looked at: it was taken for outliers, and
    /// need not be hit there again.
    fn reveal(&mut self, key: Key, index: usize) -> bool {
        let Some(block) = self.blocks.get(&key) else { return false };
        let mut surface = vec![index];
        if block.shown == 0 {
            let hidden = (0..CELLS).filter(|index| block.is_hidden(*index));
            surface = hidden.filter(|index| self.is_surface(block::join(key, *index))).collect();
        }
        let Some(block) = self.blocks.get_mut(&key) else { return false };
        for index in &surface {
            block.show(*index);
        }
        self.shown += surface.len() as u64;
        !surface.is_empty()
    }

    /// Whether a block is more than outliers.
    fn is_supported(&self, key: Key) -> bool {
        let own = self.blocks.get(&key).map_or(0, |block| block.hit_cells());
        own >= SUPPORT || {
            let around = block::around(key).filter_map(|key| self.blocks.get(&key));
            own + around.map(Store::hit_cells).sum::<usize>() >= SUPPORT
        }
    }

    /// Whether a cell has hits of its own, not only what a neighbour's noise leaves.
    fn is_surface(&self, cell: [u16; 3]) -> bool {
        let (key, index) = block::split(cell);
        let Some(block) = self.blocks.get(&key) else { return false };
        let most = u32::from(block.hits(index)) * NOISE;
        most > 0
            && block::beside(cell).all(|cell| {
                let (beside, index) = block::split(cell);
                let block = if beside == key { Some(block) } else { self.blocks.get(&beside) };
                block.is_none_or(|block| u32::from(block.hits(index)) <= most)
            })
    }

    /// Notes that a block has changed.
    fn touch(&mut self, key: Key, tick: u32) {
        let Some(block) = self.blocks.get_mut(&key) else { return };
        block.changed = self.changes.note(key, block.changed);
        block.told = tick;
    }
}

/// A cloud's point in metres.
fn place(cloud: &Cloud, point: &[u16; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| cloud.origin[axis] + f64::from(point[axis]) * cloud.unit)
}

fn check(cloud: &Cloud) -> Result<(), Unusable> {
    let numbers = [
        ("origin x", cloud.origin[0]),
        ("origin y", cloud.origin[1]),
        ("origin z", cloud.origin[2]),
        ("pose x", cloud.pose.map_or(0.0, |pose| pose.x)),
        ("pose y", cloud.pose.map_or(0.0, |pose| pose.y)),
        ("pose z", cloud.pose.map_or(0.0, |pose| pose.z)),
    ];
    let wrong = numbers.into_iter().find(|(_, number)| !number.is_finite());
    if let Some((field, got)) = wrong {
        return Err(Unusable { field, got });
    }
    match cloud.unit > 0.0 && cloud.unit <= 1.0 {
        true => Ok(()),
        false => Err(Unusable { field: "unit", got: cloud.unit }),
    }
}

/// Tenths of a second.
pub(super) fn tick(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis() / 100).unwrap_or(u32::MAX)
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a cloud's {} is {}: it is left out of the map", self.field, self.got)
    }
}

impl std::error::Error for Unusable {}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = self.max_bytes >> 20;
        write!(
            f,
            "the map is full: it may take {mebibytes} MiB, and points in new places are left out; \
             save and clear it, or take larger cells"
        )
    }
}
