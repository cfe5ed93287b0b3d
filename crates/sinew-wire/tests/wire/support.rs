//! Vectors, hex, and what more than one topic needs.

use std::{fs, path::Path};

use proptest::{collection::vec, prelude::*};
use serde_json::Value;
use sinew_wire::{Result, slam::TYPE_WORD};

/// The entries of a file in the project's `vectors/`.
pub(crate) fn vectors(file: &str) -> Vec<Value> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let text = fs::read_to_string(directory.join(file)).unwrap();
    let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(!entries.is_empty(), "{file} is empty");
    entries
}

pub(crate) fn text<'v>(vector: &'v Value, key: &str) -> &'v str {
    vector[key].as_str().unwrap()
}

/// A member of a vector that holds bytes in hex.
pub(crate) fn bytes(vector: &Value, key: &str) -> Vec<u8> {
    let digits = text(vector, key);
    assert!(digits.len().is_multiple_of(2), "odd hex: {digits}");
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// A member of a vector that holds points.
pub(crate) fn points(vector: &Value, key: &str) -> Vec<[f64; 3]> {
    let points = vector[key].as_array().unwrap();
    points.iter().map(|point| core::array::from_fn(|axis| point[axis].as_f64().unwrap())).collect()
}

#[track_caller]
pub(crate) fn assert_points(got: &[[f32; 3]], wanted: &[[f64; 3]], tolerance: f64) {
    assert_eq!(got.len(), wanted.len(), "number of points");
    for (index, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        for axis in 0..3 {
            let off = (f64::from(got[axis]) - wanted[axis]).abs();
            assert!(off <= tolerance, "point {index}: {got:?} is not {wanted:?}");
        }
    }
}

/// Every proper beginning of `bytes`.
pub(crate) fn truncations(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..bytes.len()).map(|len| &bytes[..len])
}

/// `bytes` with each of its bits flipped in turn.
pub(crate) fn bit_flips(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..bytes.len() * 8).map(|bit| {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        flipped
    })
}

/// The field that a refusal names.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
    result.unwrap_err().field
}

/// The envelope that SLAM clouds and voxel maps share.
pub(crate) fn envelope(type_word: bool, json: &[u8], body: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    if type_word {
        message.extend(TYPE_WORD);
    }
    for part in [json, body] {
        message.extend(u32::try_from(part.len()).unwrap().to_le_bytes());
    }
    message.extend(json);
    message.extend(body);
    message
}

/// The check of a GD32 frame, word by word.
pub(crate) fn slow_checksum(covered: &[u8]) -> u16 {
    let mut sum = 0u16;
    for word in covered.chunks(2) {
        match *word {
            [high, low] => sum = sum.wrapping_add(u16::from(high) << 8 | u16::from(low)),
            [odd] => sum ^= u16::from(odd),
            _ => unreachable!("chunks of two"),
        }
    }
    sum
}

/// Bytes among which the beginnings of GD32 frames are common.
pub(crate) fn salted_noise(len: usize) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => Just(0xFA),
        4 => Just(0xFB),
        2 => Just(0xFF),
        3 => 0u8..=9,
        2 => any::<u8>(),
    ];
    vec(byte, 0..len)
}
