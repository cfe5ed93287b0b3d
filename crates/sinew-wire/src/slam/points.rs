//! Points to metres: the plain loops, which say what is meant and run where there are no vectors,
//! and the choice between them and those of `kernel`.

use super::Reading;
#[cfg(feature = "std")]
use super::kernel;
use crate::{Error, Result, Vectors, Wanted};

pub(super) const METRES_PER_UNIT: f32 = 0.001;

/// Turns a body into metres. `origin` is added to every point of the packed reading: the box's
/// minimum for the map frame, zero for raw values. Returns how many points were written.
pub fn decode(
    reading: Reading,
    body: &[u8],
    origin: [f32; 3],
    out: &mut [[f32; 3]],
) -> Result<usize> {
    decode_with(Vectors::best(), reading, body, origin, out)
}

/// [`decode`] with given vector instructions instead of the best. The points are the same to the
/// last bit.
pub fn decode_with(
    vectors: Vectors,
    reading: Reading,
    body: &[u8],
    origin: [f32; 3],
    out: &mut [[f32; 3]],
) -> Result<usize> {
    let count = reading.count(body)?;
    let Some(out) = out.get_mut(..count) else {
        let wanted = Wanted::AtLeast(count as u64);
        return Err(Error::count("output buffer in points", wanted, out.len()));
    };
    match reading {
        Reading::Documented => with_vectors!(
            vectors,
            simd => kernel::documented(simd, body, out),
            documented(body, out)
        ),
        Reading::Packed => with_vectors!(
            vectors,
            simd => kernel::packed(simd, body, origin, out),
            packed(body, origin, out)
        ),
    }
    Ok(count)
}

#[inline(always)]
pub(super) fn documented(body: &[u8], out: &mut [[f32; 3]]) {
    for (record, point) in body.as_chunks::<12>().0.iter().zip(out) {
        let [x0, x1, y0, y1, z0, z1, ..] = *record;
        *point = [[x0, x1], [y0, y1], [z0, z1]]
            .map(|bytes| f32::from(i16::from_le_bytes(bytes)) * METRES_PER_UNIT);
    }
}

#[inline(always)]
pub(super) fn packed(body: &[u8], origin: [f32; 3], out: &mut [[f32; 3]]) {
    for (record, point) in body.as_chunks::<6>().0.iter().zip(out) {
        let [x0, x1, y0, y1, z0, z1] = *record;
        let numbers = [[x0, x1], [y0, y1], [z0, z1]].map(u16::from_le_bytes);
        *point =
            core::array::from_fn(|axis| f32::from(numbers[axis]) * METRES_PER_UNIT + origin[axis]);
    }
}
