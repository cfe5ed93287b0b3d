//! Changes that turn a good input into one that is nearly good.

use fastrand::Rng;

/// Longest input that mutation makes, unless a seed is longer.
const MAX_LEN: usize = 4096;

/// Bytes the formats give a meaning to, and the edges of integers.
const INTERESTING: &[u8] = &[
    0xFA, 0xFB, 0x17, 0xFE, 0xFD, 0x08, 0x15, 0x66, 0x1A, 0x2B, 0x41, b'{', b'}', b'"', b'-', b'.',
    b'0', b'9', b'e', b'[', b']', b',', 0x00, 0x01, 0x02, 0x03, 0x04, 0x7F, 0x80, 0xF0, 0xFF,
];

/// Sequences of them.
const TOKENS: &[&[u8]] = &[
    &[0xFA, 0xFB],
    &[0xFA, 0xFB, 0x01, 0x08],
    &[0xFA, 0xFB, 0x03, 0x06, 0x00, 0x06],
    &[0x17, 0xFE, 0xFD, 0x00, 0x01, 0x00],
    &[0x00, 0x00, 0x00, 0x01],
    &[0x02, 0x00, 0x00, 0x00],
    &[0x80, 0x00, 0x00, 0x00],
    &[0x7F, 0xC0, 0x00, 0x00],
    b"{}",
    b"null",
    b"1e300",
    b"-1e-300",
    b"\"xmin\":",
    b"\"src_size\":",
    b"voxel",
    b"slam",
];

/// Changes `input` once. `pool` lends material to splice in.
pub fn mutate(rng: &mut Rng, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
    match rng.u8(..10) {
        0 => flip_bit(rng, input),
        1 => set_byte(rng, input),
        2 => add_to_byte(rng, input),
        3 => edit_number(rng, input),
        4 => insert(rng, input),
        5 => overwrite_with_token(rng, input),
        6 => truncate(rng, input),
        7 => remove_range(rng, input),
        8 => duplicate_range(rng, input),
        _ => splice(rng, input, pool),
    }
    let longest_seed = pool.iter().map(Vec::len).max().unwrap_or(0);
    input.truncate(MAX_LEN.max(longest_seed));
}

fn flip_bit(rng: &mut Rng, input: &mut [u8]) {
    if let Some(byte) = rng.choice(input.iter_mut()) {
        *byte ^= 1 << rng.u8(..8);
    }
}

fn set_byte(rng: &mut Rng, input: &mut [u8]) {
    let value = if rng.bool() { interesting(rng) } else { rng.u8(..) };
    if let Some(byte) = rng.choice(input.iter_mut()) {
        *byte = value;
    }
}

fn add_to_byte(rng: &mut Rng, input: &mut [u8]) {
    let step = rng.i8(-4..=4);
    if let Some(byte) = rng.choice(input.iter_mut()) {
        *byte = byte.wrapping_add_signed(step);
    }
}

/// Writes over two or four bytes what a length field could hold: a small number, the input's own
/// length or what follows the field, give or take a few, or near a power of two.
fn edit_number(rng: &mut Rng, input: &mut [u8]) {
    let width = if rng.bool() { 2 } else { 4 };
    let Some(last) = input.len().checked_sub(width) else {
        return;
    };
    let at = rng.usize(..=last);
    let near = match rng.u8(..4) {
        0 => 20,
        1 => input.len() - at,
        2 => input.len(),
        _ => 1 << rng.u8(..32),
    };
    let number = (near as u32).wrapping_add_signed(rng.i32(-20..=4));
    let (big, little) = (number.to_be_bytes(), number.to_le_bytes());
    let bytes = if rng.bool() { &big[4 - width..] } else { &little[..width] };
    input[at..at + width].copy_from_slice(bytes);
}

fn insert(rng: &mut Rng, input: &mut Vec<u8>) {
    let at = rng.usize(..=input.len());
    let bytes: Vec<u8> = match rng.u8(..3) {
        0 => vec![interesting(rng); rng.usize(1..=16)],
        1 => (0..rng.usize(1..=16)).map(|_| rng.u8(..)).collect(),
        _ => token(rng).to_vec(),
    };
    input.splice(at..at, bytes);
}

fn overwrite_with_token(rng: &mut Rng, input: &mut [u8]) {
    let at = rng.usize(..=input.len());
    for (byte, new) in input.iter_mut().skip(at).zip(token(rng)) {
        *byte = *new;
    }
}

fn truncate(rng: &mut Rng, input: &mut Vec<u8>) {
    let len = rng.usize(..=input.len());
    if rng.bool() {
        input.truncate(len);
    } else {
        input.drain(..input.len() - len);
    }
}

fn remove_range(rng: &mut Rng, input: &mut Vec<u8>) {
    input.drain(range(rng, input.len(), 32));
}

fn duplicate_range(rng: &mut Rng, input: &mut Vec<u8>) {
    let copy = input[range(rng, input.len(), 128)].to_vec();
    let at = rng.usize(..=input.len());
    let times = rng.usize(1..=4);
    input.splice(at..at, copy.repeat(times));
}

fn splice(rng: &mut Rng, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
    let Some(other) = rng.choice(pool) else {
        return;
    };
    let keep = rng.usize(..=input.len());
    let from = rng.usize(..=other.len());
    input.truncate(keep);
    input.extend_from_slice(&other[from..]);
}

fn range(rng: &mut Rng, len: usize, longest: usize) -> std::ops::Range<usize> {
    let start = rng.usize(..=len);
    let count = rng.usize(..=longest.min(len - start));
    start..start + count
}

fn interesting(rng: &mut Rng) -> u8 {
    rng.choice(INTERESTING).copied().unwrap_or_default()
}

fn token(rng: &mut Rng) -> &'static [u8] {
    rng.choice(TOKENS).copied().unwrap_or_default()
}
