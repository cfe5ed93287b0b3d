//! What a lidar that lies level has seen of the ground: squares, in chunks that are there only
//! where it looked.

use std::collections::{BTreeMap, HashMap, hash_map::Entry};

use super::{
    file::{Ground, Raster},
    stream::BITS,
};

/// Squares along a chunk's side.
const SIDE: i32 = 64;
const SQUARES: usize = (SIDE * SIDE) as usize;
/// Squares along a patch's side: a chunk has as many patches as a number has bits.
const PATCH: i32 = 1 << BITS;
const PATCHES: i32 = SIDE / PATCH;
/// Odds are counted in steps: what an echo adds, what a ray that passes takes, and their bounds.
const HIT: i8 = 24;
const MISS: i8 = 4;
const BOUNDS: (i8, i8) = (-60, 100);
/// More than this is occupied, which takes two echoes; less than the other is free.
const OCCUPIED: i8 = 30;
const FREE: i8 = -8;
/// More than this, which one echo is, is something to match with: the first turn is all there is for
/// the second.
const MATCHED: i8 = 20;
/// This much of a ray, before what it hits, is not taken for free, in squares: a ray along a wall
/// would carve it away.
const END: f64 = 2.0;
/// A mean of echoes takes new ones in with at least this share.
const MEMORY: u16 = 24;
/// A square with less than this share of a neighbour's echoes holds that neighbour's noise.
const NOISE: u32 = 8;

/// Nothing is kept further than this from the origin, metres.
const FURTHEST: f64 = 1000.0;
/// Longest side of a raster, squares.
const MAX_SIDE: usize = 8192;

/// Squares that are free, occupied or unknown.
#[derive(Debug)]
pub struct Grid {
    resolution: f64,
    max_chunks: usize,
    chunks: HashMap<[i32; 2], Box<Chunk>>,
    is_full: bool,
}

#[derive(Debug)]
struct Chunk {
    squares: [Square; SQUARES],
    /// Patches that were seen since they were taken.
    seen: u64,
}

/// Squares that may have changed: as many along each side as a block of a map has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Which, counted from the grid's origin.
    pub(super) place: [i32; 2],
    /// Its squares in rows.
    pub(super) squares: [Ground; (PATCH * PATCH) as usize],
    /// Whether it was seen, and is not only beside what was.
    pub(super) is_seen: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Square {
    odds: i8,
    /// Echoes that there were; 0 for none.
    count: u16,
    /// Where in the square they are on average, in 256ths of it.
    mean: [u8; 2],
}

impl Grid {
    /// An empty grid of squares with this side, in metres, that holds so many bytes at most.
    pub(super) fn new(resolution: f64, max_bytes: usize) -> Self {
        let max_chunks = (max_bytes / size_of::<Chunk>()).max(1);
        Grid { resolution, max_chunks, chunks: HashMap::new(), is_full: false }
    }

    /// The side of a square, metres.
    pub fn resolution(&self) -> f64 {
        self.resolution
    }

    /// Bytes that it takes: they go by the area that was seen.
    pub fn bytes(&self) -> usize {
        self.chunks.len() * size_of::<Chunk>()
    }

    /// Whether there was no memory for all that was seen.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// What is known about a place.
    pub fn at(&self, place: [f64; 2]) -> Ground {
        self.square(self.index(place)).map_or(Ground::Unknown, |square| square.ground())
    }

    /// All that was seen, as a picture of squares; none when nothing was, or when it is too large
    /// for a picture.
    pub fn raster(&self) -> Option<Raster> {
        raster(self.resolution, || self.known())
    }

    /// What was seen since this was asked before, and what is beside it: noise there is what it is
    /// by its neighbours.
    pub(super) fn take_seen(&mut self) -> Vec<Patch> {
        let mut places: BTreeMap<[i32; 2], bool> = BTreeMap::new();
        for (chunk, content) in &mut self.chunks {
            let seen = std::mem::take(&mut content.seen);
            for bit in (0..PATCHES * PATCHES).filter(|bit| seen >> bit & 1 == 1) {
                let [x, y] =
                    [chunk[0] * PATCHES + bit % PATCHES, chunk[1] * PATCHES + bit / PATCHES];
                for beside in [[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]] {
                    places.entry(beside).or_insert(false);
                }
                places.insert([x, y], true);
            }
        }
        let patch = |(place, is_seen): ([i32; 2], bool)| {
            let squares = std::array::from_fn(|at| {
                let at = at as i32;
                let index = [place[0] * PATCH + at % PATCH, place[1] * PATCH + at / PATCH];
                self.square(index).map_or(Ground::Unknown, |square| self.shown(index, square))
            });
            Patch { place, squares, is_seen }
        };
        places.into_iter().map(patch).collect()
    }

    /// What is known about a square, without noise.
    fn shown(&self, index: [i32; 2], square: &Square) -> Ground {
        match square.ground() {
            Ground::Occupied if self.is_noise(index, square.count) => Ground::Unknown,
            ground => ground,
        }
    }

    /// Squares that are free or occupied, without noise.
    pub(super) fn known(&self) -> impl Iterator<Item = ([i32; 2], Ground)> {
        let squares = self.chunks.iter().flat_map(|(chunk, content)| {
            content.squares.iter().zip(0..).map(|(square, at)| {
                ([chunk[0] * SIDE + at % SIDE, chunk[1] * SIDE + at / SIDE], square)
            })
        });
        squares
            .map(|(index, square)| (index, self.shown(index, square)))
            .filter(|(_, ground)| *ground != Ground::Unknown)
    }

    /// Where echoes were on average, in all squares to match with within a rectangle.
    pub(super) fn echoes(&self, low: [f64; 2], high: [f64; 2], mut each: impl FnMut([f64; 2])) {
        let chunk = |place: [f64; 2]| self.index(place).map(|index| index.div_euclid(SIDE));
        let (low, high) = (chunk(low), chunk(high));
        for y in low[1]..=high[1] {
            for x in low[0]..=high[0] {
                let Some(chunk) = self.chunks.get(&[x, y]) else { continue };
                for (square, at) in chunk.squares.iter().zip(0..) {
                    if square.odds <= MATCHED || square.count == 0 {
                        continue;
                    }
                    let index = [x * SIDE + at % SIDE, y * SIDE + at / SIDE];
                    if !self.is_noise(index, square.count) {
                        each(std::array::from_fn(|axis| {
                            let within = (f64::from(square.mean[axis]) + 0.5) / 256.0;
                            (f64::from(index[axis]) + within) * self.resolution
                        }));
                    }
                }
            }
        }
    }

    /// Whether a square holds what another one's noise leaves: it lies behind a wall, where no ray
    /// clears it away, and would pull the wall there.
    fn is_noise(&self, [x, y]: [i32; 2], count: u16) -> bool {
        let beside = [[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]];
        // One with an eighth of what can be counted cannot be another's noise.
        u32::from(count) * NOISE < u32::from(u16::MAX)
            && beside.into_iter().any(|index| {
                let beside = self.square(index).map_or(0, |square| square.count);
                u32::from(count) * NOISE < u32::from(beside)
            })
    }

    /// Takes in what a turn of the lidar shows: echoes at these places, seen from there.
    pub(super) fn insert(&mut self, sensor: [f64; 2], echoes: &[[f64; 2]]) {
        let near = |place: &&[f64; 2]| place.iter().all(|axis| axis.abs() <= FURTHEST);
        if !near(&&sensor) {
            return;
        }
        for echo in echoes.iter().filter(near) {
            self.clear_way(sensor, *echo);
        }
        for echo in echoes.iter().filter(near) {
            let index = self.index(*echo);
            let within: [u8; 2] = std::array::from_fn(|axis| {
                let within = echo[axis] / self.resolution - f64::from(index[axis]);
                (within * 256.0).clamp(0.0, 255.0) as u8
            });
            if let Some(square) = self.see(index) {
                square.hit(within);
            }
        }
    }

    fn clear_way(&mut self, sensor: [f64; 2], echo: [f64; 2]) {
        let way = [echo[0] - sensor[0], echo[1] - sensor[1]];
        let squares = way[0].hypot(way[1]) / self.resolution;
        // Half a square a step: a ray through a corner may pass a square by, another will not.
        let steps = ((squares - END) * 2.0).max(0.0) as usize;
        let mut last = None;
        let mut step = 0;
        while step < steps {
            let at = |step: usize| {
                let share = step as f64 / (squares * 2.0);
                [sensor[0] + way[0] * share, sensor[1] + way[1] * share]
            };
            // A chunk is looked up once for all of the ray that lies in it.
            let resolution = self.resolution;
            let index = index_of(at(step), resolution);
            let key = index.map(|axis| axis.div_euclid(SIDE));
            let mut chunk = self.chunk_mut(key);
            while step < steps {
                let index = index_of(at(step), resolution);
                if index.map(|axis| axis.div_euclid(SIDE)) != key {
                    break;
                }
                step += 1;
                if last.replace(index) != Some(index)
                    && let Some(square) = chunk.as_mut().and_then(|c| c.see(index))
                {
                    square.odds = square.odds.saturating_sub(MISS).max(BOUNDS.0);
                }
            }
        }
    }

    fn index(&self, place: [f64; 2]) -> [i32; 2] {
        index_of(place, self.resolution)
    }

    fn square(&self, index: [i32; 2]) -> Option<&Square> {
        let chunk = self.chunks.get(&index.map(|axis| axis.div_euclid(SIDE)))?;
        chunk.squares.get(within(index))
    }

    fn see(&mut self, index: [i32; 2]) -> Option<&mut Square> {
        self.chunk_mut(index.map(|axis| axis.div_euclid(SIDE)))?.see(index)
    }

    /// A chunk, which is made if there is room for it.
    fn chunk_mut(&mut self, key: [i32; 2]) -> Option<&mut Chunk> {
        let is_room = self.chunks.len() < self.max_chunks;
        match self.chunks.entry(key) {
            Entry::Occupied(entry) => Some(entry.into_mut()),
            Entry::Vacant(entry) if is_room => {
                let empty = Chunk { squares: [Square::default(); SQUARES], seen: 0 };
                Some(entry.insert(Box::new(empty)))
            }
            Entry::Vacant(_) => {
                self.is_full = true;
                None
            }
        }
    }
}

impl Chunk {
    /// The square, which something is seen of.
    fn see(&mut self, index: [i32; 2]) -> Option<&mut Square> {
        let [x, y] = index.map(|axis| axis.rem_euclid(SIDE) / PATCH);
        self.seen |= 1 << (y * PATCHES + x);
        self.squares.get_mut(within(index))
    }
}

/// A picture of squares; none when there are none, or when they are too far apart for a picture.
pub(super) fn raster<I>(resolution: f64, known: impl Fn() -> I) -> Option<Raster>
where
    I: Iterator<Item = ([i32; 2], Ground)>,
{
    let mut reach: Option<([i32; 2], [i32; 2])> = None;
    for (index, _) in known() {
        let (low, high) = reach.get_or_insert((index, index));
        for axis in 0..2 {
            low[axis] = low[axis].min(index[axis]);
            high[axis] = high[axis].max(index[axis]);
        }
    }
    let (low, high) = reach?;
    let [width, height] = [0, 1].map(|axis| high[axis].abs_diff(low[axis]) as usize + 1);
    if width.max(height) > MAX_SIDE {
        return None;
    }
    let origin = low.map(|index| f64::from(index) * resolution);
    let mut raster = Raster::unknown(width, height, origin, resolution);
    for (index, ground) in known() {
        let [column, row] = [0, 1].map(|axis| (index[axis] - low[axis]) as usize);
        raster.set(column, row, ground);
    }
    Some(raster)
}

fn index_of(place: [f64; 2], resolution: f64) -> [i32; 2] {
    // What is too large for a number of 32 bits stays at its end.
    place.map(|axis| {
        let squares = axis / resolution;
        // Without `floor`, which is a call where the processor need not have it.
        let whole = squares as i32;
        whole.saturating_sub(i32::from(squares < f64::from(whole)))
    })
}

fn within(index: [i32; 2]) -> usize {
    let [x, y] = index.map(|axis| axis.rem_euclid(SIDE));
    (y * SIDE + x) as usize
}

impl Square {
    fn ground(self) -> Ground {
        match self.odds {
            odds if odds > OCCUPIED => Ground::Occupied,
            odds if odds < FREE => Ground::Free,
            _ => Ground::Unknown,
        }
    }

    fn hit(&mut self, within: [u8; 2]) {
        // What was here has gone, and something else has come.
        if self.odds < FREE {
            self.count = 0;
        }
        self.odds = self.odds.saturating_add(HIT).min(BOUNDS.1);
        self.count = self.count.saturating_add(1);
        for (mean, new) in self.mean.iter_mut().zip(within) {
            let by = (f64::from(new) - f64::from(*mean)) / f64::from(self.count.min(MEMORY));
            *mean = (f64::from(*mean) + by).round().clamp(0.0, 255.0) as u8;
        }
    }
}
