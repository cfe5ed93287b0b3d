//! LZF, by which PCD files are compressed.
//!
//! ```text
//!  000lllll                      lllll + 1 bytes follow as they are
//!  lllooooo oooooooo             copy lll + 2 bytes from ooooo oooooooo + 1 bytes before
//!  111ooooo llllllll oooooooo    copy llllllll + 9 bytes
//! ```

use super::Error;

const MAX_LITERALS: usize = 32;
const MAX_COPY: usize = 264;
const MAX_OFFSET: usize = 1 << 13;
const TABLE_BITS: u32 = 14;

/// Unpacks exactly `len` bytes. Memory grows with what the data unfolds to, not with `len`.
pub(super) fn decompress(data: &[u8], len: usize) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let mut rest = data.iter();
    let short = || Error::new("compressed data", format!("{len} bytes in it"), "an early end");
    while let Some(&control) = rest.next() {
        if control < 32 {
            let count = usize::from(control) + 1;
            let literals = rest.as_slice().get(..count).ok_or_else(short)?;
            out.extend_from_slice(literals);
            rest = rest.as_slice()[count..].iter();
        } else {
            let mut count = usize::from(control >> 5);
            if count == 7 {
                count += usize::from(*rest.next().ok_or_else(short)?);
            }
            let low = usize::from(*rest.next().ok_or_else(short)?);
            let back = (usize::from(control & 0x1f) << 8 | low) + 1;
            let from = out.len().checked_sub(back).ok_or_else(|| {
                Error::new("compressed data", "copies of what came before", "one from before it")
            })?;
            // One by one where a copy reaches into itself.
            for index in from..from + count + 2 {
                out.push(out[index]);
            }
        }
        if out.len() > len {
            return Err(Error::new("compressed data", format!("{len} bytes in it"), "more"));
        }
    }
    if out.len() < len { Err(short()) } else { Ok(out) }
}

/// Packs bytes; what does not shrink grows by a thirtieth at most.
pub(super) fn compress(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() / 2);
    // Where three bytes stood last, by their hash; one more than the place, 0 for none.
    let mut table = vec![0_usize; 1 << TABLE_BITS];
    let (mut at, mut literals) = (0, 0);
    while at < data.len() {
        let found = candidate(data, at, &mut table);
        let Some((back, len)) = found else {
            at += 1;
            continue;
        };
        write_literals(&data[literals..at], &mut out);
        let (offset, count) = (back - 1, len - 2);
        let high = (offset >> 8) as u8;
        if count < 7 {
            out.push((count as u8) << 5 | high);
        } else {
            out.extend([7 << 5 | high, (count - 7) as u8]);
        }
        out.push(offset as u8);
        at += len;
        literals = at;
    }
    write_literals(&data[literals..], &mut out);
    out
}

/// How far back, and how long, what stands at `at` has stood before.
fn candidate(data: &[u8], at: usize, table: &mut [usize]) -> Option<(usize, usize)> {
    let [a, b, c] = *data.get(at..)?.first_chunk()?;
    let key = u32::from_le_bytes([a, b, c, 0]).wrapping_mul(0x9e37_79b1) >> (32 - TABLE_BITS);
    let before = std::mem::replace(&mut table[key as usize], at + 1).checked_sub(1)?;
    let back = at - before;
    let matched = data[at..].iter().zip(&data[before..]).take(MAX_COPY);
    let len = matched.take_while(|(new, old)| new == old).count();
    (back <= MAX_OFFSET && len >= 3).then_some((back, len))
}

fn write_literals(literals: &[u8], out: &mut Vec<u8>) {
    for run in literals.chunks(MAX_LITERALS) {
        out.push((run.len() - 1) as u8);
        out.extend_from_slice(run);
    }
}
