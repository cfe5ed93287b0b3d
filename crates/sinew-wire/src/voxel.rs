//! The GO2's compressed voxel map (topic `rt/utlidar/voxel_map_compressed`).
//!
//! It travels in the [envelope of the SLAM clouds](crate::slam). The JSON gives
//! `resolution`, `origin`, `src_size` and usually `width`; the body is one raw
//! LZ4 block of `src_size` bytes of occupancy bits:
//!
//! ```text
//! byte i:   z = i / 2048   y = i % 2048 / 16   x = 8 * (i % 16) + bit, most significant first
//! point:    (x, y, z) * resolution + origin
//! ```

use alloc::vec::Vec;

use serde_json::Value;

use crate::{
    Error, Got, Result, Wanted,
    slam::{BoundingBox, Fields, Format, Message},
};

/// Cells along x and along y.
pub const SIDE: usize = 128;
/// Most layers along z that are accepted; real maps have 38.
pub const MAX_LAYERS: usize = 256;

const ROW_BYTES: usize = SIDE / 8;
const LAYER_BYTES: usize = ROW_BYTES * SIDE;
/// Most bytes that LZ4 makes of one: what is declared beyond that need not be allocated to be
/// found wrong.
const MOST_EXPANSION: usize = 255;

/// Points that are written at a time.
const AT_ONCE: usize = 4;

/// A voxel map, decompressed.
#[derive(Debug, Clone, PartialEq)]
pub struct VoxelMap {
    /// Edge of a cell in metres.
    pub resolution: f64,
    /// Where cell (0, 0, 0) lies, in metres.
    pub origin: [f64; 3],
    /// The message's whole JSON.
    pub json: Value,
    bits: Vec<u8>,
}

impl VoxelMap {
    /// Parses the metadata and decompresses the body.
    pub fn new(message: &Message<'_>) -> Result<Self> {
        let fields = Fields::parse(message.json)?;
        fields.expect(Format::Voxel)?;
        let data = fields.data();
        let resolution = number("resolution", &data["resolution"])?;
        if resolution <= 0.0 {
            let wanted = Wanted::What("a number above 0");
            return Err(Error::new("resolution", wanted, Got::Float(resolution)));
        }
        let origin = numbers("origin", &data["origin"])?;
        let layers = layers(data)?;
        let bad_block = || {
            let got = Got::What("bytes that do not decompress to it");
            Error::new("body", Wanted::What("an LZ4 block of src_size bytes"), got)
        };
        if layers * LAYER_BYTES > message.body.len().saturating_mul(MOST_EXPANSION) {
            return Err(bad_block());
        }
        let mut bits = alloc::vec![0; layers * LAYER_BYTES];
        let len =
            lz4_flex::block::decompress_into(message.body, &mut bits).map_err(|_| bad_block())?;
        if len != bits.len() {
            return Err(Error::count("src_size", Wanted::Exactly(len as u64), bits.len()));
        }
        Ok(VoxelMap { resolution, origin, json: fields.into_json(), bits })
    }

    /// Cells along z.
    pub fn layers(&self) -> usize {
        self.bits.len() / LAYER_BYTES
    }

    /// How many cells are occupied.
    pub fn len(&self) -> usize {
        at_full_width!(self.words().map(|(_, word)| word.count_ones() as usize).sum())
    }

    /// Whether no cell is occupied.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|&byte| byte == 0)
    }

    /// The occupied cells (x, y, z), layer by layer, row by row.
    pub fn cells(&self) -> impl Iterator<Item = [u16; 3]> + '_ {
        self.words().flat_map(|([x, y, z], word)| Ones(word).map(move |bit| [x + bit, y, z]))
    }

    /// The occupied cells' corners in metres.
    pub fn points(&self) -> Vec<[f32; 3]> {
        let len = self.len();
        let mut points = alloc::vec![[0.0; 3]; len + AT_ONCE];
        at_full_width!(self.write_points(&mut points));
        points.truncate(len);
        points
    }

    /// Writes the points, and up to [`AT_ONCE`] less one of no meaning behind the last.
    #[inline(always)]
    fn write_points(&self, points: &mut [[f32; 3]]) {
        let xs: [f32; SIDE] = core::array::from_fn(|x| self.metres(x, 0));
        let ys: [f32; SIDE] = core::array::from_fn(|y| self.metres(y, 1));
        let mut written = 0;
        for (z, layer) in self.bits.as_chunks::<LAYER_BYTES>().0.iter().enumerate() {
            let z = self.metres(z, 2);
            for (row, y) in layer.as_chunks::<ROW_BYTES>().0.iter().zip(ys) {
                let halves = row.as_chunks::<8>().0.iter().zip(xs.as_chunks::<64>().0);
                for (word, xs) in halves {
                    let room = points.get_mut(written..).unwrap_or_default();
                    written += write_word(u64::from_be_bytes(*word), xs, [y, z], room);
                }
            }
        }
    }

    fn metres(&self, cell: usize, axis: usize) -> f32 {
        (cell as f64 * self.resolution + self.origin[axis]) as f32
    }

    /// The box the points fill; none when there are none.
    pub fn bounds(&self) -> Option<BoundingBox> {
        let first = self.cells().next()?;
        let (low, high) = self.cells().fold((first, first), |(low, high), cell| {
            let fold = |one: [u16; 3], pick: fn(u16, u16) -> u16| {
                core::array::from_fn(|axis| pick(one[axis], cell[axis]))
            };
            (fold(low, u16::min), fold(high, u16::max))
        });
        let metres = |cell: [u16; 3]| {
            core::array::from_fn(|axis| f64::from(cell[axis]) * self.resolution + self.origin[axis])
        };
        Some(BoundingBox { min: metres(low), max: metres(high) })
    }

    /// The grid in words of 64 cells along x, each with its first cell.
    fn words(&self) -> impl Iterator<Item = ([u16; 3], u64)> + '_ {
        self.bits.as_chunks::<8>().0.iter().enumerate().map(|(index, bytes)| {
            let (row, half) = (index / 2, index % 2);
            let cell = [half * 64, row % SIDE, row / SIDE].map(|cell| cell as u16);
            (cell, u64::from_be_bytes(*bytes))
        })
    }
}

/// Writes the points of a word's cells and returns how many; behind them may be others of no
/// meaning. [`AT_ONCE`] of them are written whether there are as many or not: most words that
/// are not empty have few cells, and how many cannot be predicted.
#[inline(always)]
fn write_word(word: u64, xs: &[f32; 64], [y, z]: [f32; 2], points: &mut [[f32; 3]]) -> usize {
    let mut left = word;
    for points in points.as_chunks_mut::<AT_ONCE>().0 {
        if left == 0 {
            break;
        }
        for point in points {
            let bit = left.leading_zeros();
            *point = [xs[bit as usize % 64], y, z];
            left &= (u64::MAX >> 1).wrapping_shr(bit);
        }
    }
    word.count_ones() as usize
}

/// Positions of a word's set bits, the most significant first as 0.
struct Ones(u64);

impl Iterator for Ones {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        let bit = self.0.leading_zeros();
        let mask = (1u64 << 63).checked_shr(bit)?;
        self.0 &= !mask;
        Some(bit as u16)
    }
}

/// Layers by `src_size`, which `width` must agree with.
fn layers(data: &Value) -> Result<usize> {
    let Some(src_size) = data["src_size"].as_u64() else {
        let got = if data["src_size"].is_null() { "nothing" } else { "another JSON value" };
        return Err(Error::new("src_size", Wanted::What("a whole number"), Got::What(got)));
    };
    let most = (MAX_LAYERS * LAYER_BYTES) as u64;
    if src_size > most {
        let got = Got::Float(src_size as f64);
        return Err(Error::new("src_size", Wanted::AtMost(most), got));
    }
    if !src_size.is_multiple_of(LAYER_BYTES as u64) {
        let wanted = Wanted::MultipleOf(LAYER_BYTES as u64);
        return Err(Error::count("src_size", wanted, src_size as usize));
    }
    let layers = src_size as usize / LAYER_BYTES;
    if !data["width"].is_null() {
        let width = numbers("width", &data["width"])?;
        for (width, wanted) in width.into_iter().zip([SIDE, SIDE, layers]) {
            if width != wanted as f64 {
                let wanted = Wanted::Exactly(wanted as u64);
                return Err(Error::new("width", wanted, Got::Float(width)));
            }
        }
    }
    Ok(layers)
}

fn number(field: &'static str, value: &Value) -> Result<f64> {
    value.as_f64().ok_or_else(|| {
        let got = if value.is_null() { "nothing" } else { "another JSON value" };
        Error::new(field, Wanted::What("a number"), Got::What(got))
    })
}

fn numbers(field: &'static str, value: &Value) -> Result<[f64; 3]> {
    let Some([x, y, z]) = value.as_array().map(Vec::as_slice) else {
        let got = if value.is_null() { "nothing" } else { "another JSON value" };
        return Err(Error::new(field, Wanted::What("three numbers"), Got::What(got)));
    };
    Ok([number(field, x)?, number(field, y)?, number(field, z)?])
}
