//! The loops of `points` and `ranges` in explicit vectors, so that the machine code does not depend
//! on what the compiler makes of a loop. Points are made in vectors of 512 bits, which a narrower
//! level holds as two or four of its own. Blocks are spelled out rather than looped over: whether a short loop is
//! unrolled, and its tables become constants, would be the compiler's choice again.

use fearless_simd::{f32x16, i16x16, i32x16, prelude::*, u8x16, u8x32, u8x64, u16x16, u16x32};

use super::{
    points::{self, METRES_PER_UNIT},
    ranges::{BLOCK, ChannelRange, LaneRanges},
};

/// Numbers of a vector, of output as of ranges.
const LANES: usize = 16;

/// Points of a packed block: six vectors of output from three of input.
const PACKED_POINTS: usize = 32;
const PACKED_BYTES: usize = PACKED_POINTS * 6;

/// Points of a documented block: three vectors of output.
const DOCUMENTED_POINTS: usize = 16;
const DOCUMENTED_BYTES: usize = DOCUMENTED_POINTS * 12;

#[inline(always)]
pub(super) fn packed<S: Simd>(simd: S, body: &[u8], origin: [f32; 3], out: &mut [[f32; 3]]) {
    // The axes come round again after three vectors.
    let origins: [f32x16<S>; 3] = core::array::from_fn(|vector| {
        f32x16::from_fn(simd, |lane| origin[(vector * LANES + lane) % 3])
    });
    let (blocks, _) = body.as_chunks::<PACKED_BYTES>();
    let (out_blocks, _) = out.as_chunks_mut::<PACKED_POINTS>();
    for (block, out) in blocks.iter().zip(out_blocks) {
        packed_block(simd, block, origins, out);
    }
    // The last block reaches back over points that are done already: quicker than one by one.
    match (body.last_chunk(), out.last_chunk_mut()) {
        (Some(block), Some(out)) => packed_block(simd, block, origins, out),
        _ => points::packed(body, origin, out),
    }
}

#[inline(always)]
fn packed_block<S: Simd>(
    simd: S,
    block: &[u8; PACKED_BYTES],
    [first, second, third]: [f32x16<S>; 3],
    out: &mut [[f32; 3]; PACKED_POINTS],
) {
    let out = out.as_flattened_mut();
    packed_pair(simd, &block[..64], [first, second], &mut out[..32]);
    packed_pair(simd, &block[64..128], [third, first], &mut out[32..64]);
    packed_pair(simd, &block[128..], [second, third], &mut out[64..]);
}

/// One vector of input, which makes two of output.
#[inline(always)]
fn packed_pair<S: Simd>(simd: S, bytes: &[u8], origins: [f32x16<S>; 2], out: &mut [f32]) {
    let numbers: u16x32<S> = u8x64::from_slice(simd, bytes).bitcast();
    let (low, high) = numbers.widen();
    let (low_out, high_out) = out.split_at_mut(LANES);
    // As i32, which every level converts in one instruction, and which 16 bits fit.
    (metres(low.bitcast()) + origins[0]).store_slice(low_out);
    (metres(high.bitcast()) + origins[1]).store_slice(high_out);
}

#[inline(always)]
pub(super) fn documented<S: Simd>(simd: S, body: &[u8], out: &mut [[f32; 3]]) {
    let picks = PICKS.map(|pick| u8x64::load_array(simd, pick));
    let (blocks, _) = body.as_chunks::<DOCUMENTED_BYTES>();
    let (out_blocks, _) = out.as_chunks_mut::<DOCUMENTED_POINTS>();
    for (block, out) in blocks.iter().zip(out_blocks) {
        documented_block(simd, block, picks, out);
    }
    match (body.last_chunk(), out.last_chunk_mut()) {
        (Some(block), Some(out)) => documented_block(simd, block, picks, out),
        _ => points::documented(body, out),
    }
}

/// Of the twelve numbers that four records yield, each run of four: where the 16 bytes begin that
/// hold it, and which of the eight words there it consists of.
const QUARTETS: [(usize, [u8; 4]); 3] = [(0, [0, 1, 2, 6]), (14, [0, 1, 5, 6]), (26, [1, 5, 6, 7])];

/// For each vector of a block, the bytes to pick from its four quartets: every word twice.
const PICKS: [[u8; 64]; 3] = {
    let mut picks = [[0; 64]; 3];
    let mut at = 0;
    while at < 3 * 64 {
        let (_, words) = QUARTETS[at / 16 % 3];
        picks[at / 64][at % 64] = 2 * words[at / 4 % 4] + (at % 2) as u8;
        at += 1;
    }
    picks
};

#[inline(always)]
fn documented_block<S: Simd>(
    simd: S,
    block: &[u8; DOCUMENTED_BYTES],
    picks: [u8x64<S>; 3],
    out: &mut [[f32; 3]; DOCUMENTED_POINTS],
) {
    let out = out.as_flattened_mut();
    documented_vector(simd, block, 0, picks[0], &mut out[..16]);
    documented_vector(simd, block, 4, picks[1], &mut out[16..32]);
    documented_vector(simd, block, 8, picks[2], &mut out[32..]);
}

/// Four quartets, from the given one on.
#[inline(always)]
fn documented_vector<S: Simd>(
    simd: S,
    block: &[u8; DOCUMENTED_BYTES],
    quartet: usize,
    pick: u8x64<S>,
    out: &mut [f32],
) {
    let low = load_quartet(simd, block, quartet).combine(load_quartet(simd, block, quartet + 1));
    let high =
        load_quartet(simd, block, quartet + 2).combine(load_quartet(simd, block, quartet + 3));
    let doubled: i32x16<S> = low.combine(high).swizzle_dyn_within_blocks(pick).bitcast();
    // The shift leaves of two equal halves the upper one, with its sign.
    metres(doubled >> 16).store_slice(out);
}

#[inline(always)]
fn load_quartet<S: Simd>(simd: S, block: &[u8; DOCUMENTED_BYTES], quartet: usize) -> u8x16<S> {
    let at = quartet / 3 * 48 + QUARTETS[quartet % 3].0;
    u8x16::from_slice(simd, &block[at..at + 16])
}

#[inline(always)]
fn metres<S: Simd>(numbers: i32x16<S>) -> f32x16<S> {
    numbers.to_float::<f32x16<S>>() * METRES_PER_UNIT
}

/// Ranges of a block's lanes, in vectors of 256 bits: three times four of them fit the registers.
#[inline(always)]
pub(super) fn lane_ranges<S: Simd>(simd: S, blocks: &[[u8; BLOCK]]) -> LaneRanges {
    let mut first = VectorRanges::none(simd);
    let (mut second, mut third) = (first, first);
    for block in blocks {
        first = first.join(simd, &block[..32]);
        second = second.join(simd, &block[32..64]);
        third = third.join(simd, &block[64..]);
    }
    let mut lanes = LaneRanges { signed: ([0; _], [0; _]), unsigned: ([0; _], [0; _]) };
    first.store(&mut lanes, 0);
    second.store(&mut lanes, 16);
    third.store(&mut lanes, 32);
    lanes
}

/// [`ChannelRange`]s of a vector's lanes.
#[derive(Clone, Copy)]
struct VectorRanges<S: Simd> {
    signed: (i16x16<S>, i16x16<S>),
    unsigned: (u16x16<S>, u16x16<S>),
}

impl<S: Simd> VectorRanges<S> {
    #[inline(always)]
    fn none(simd: S) -> Self {
        let ChannelRange { signed, unsigned } = ChannelRange::NONE;
        VectorRanges {
            signed: (i16x16::splat(simd, signed.0), i16x16::splat(simd, signed.1)),
            unsigned: (u16x16::splat(simd, unsigned.0), u16x16::splat(simd, unsigned.1)),
        }
    }

    #[inline(always)]
    fn join(self, simd: S, bytes: &[u8]) -> Self {
        let bytes = u8x32::from_slice(simd, bytes);
        let (signed, unsigned): (i16x16<S>, u16x16<S>) = (bytes.bitcast(), bytes.bitcast());
        VectorRanges {
            signed: (self.signed.0.min(signed), self.signed.1.max(signed)),
            unsigned: (self.unsigned.0.min(unsigned), self.unsigned.1.max(unsigned)),
        }
    }

    #[inline(always)]
    fn store(self, lanes: &mut LaneRanges, at: usize) {
        let to = at..at + LANES;
        self.signed.0.store_slice(&mut lanes.signed.0[to.clone()]);
        self.signed.1.store_slice(&mut lanes.signed.1[to.clone()]);
        self.unsigned.0.store_slice(&mut lanes.unsigned.0[to.clone()]);
        self.unsigned.1.store_slice(&mut lanes.unsigned.1[to]);
    }
}
