//! Seeds from the vector files.

use std::{fs, path::Path};

use serde_json::Value;

/// The bytes that the named members of a vector file's entries spell in hex.
pub(crate) fn hex_members(file: &str, members: &[&str]) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors").join(file);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let entries: Vec<Value> =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    entries
        .iter()
        .flat_map(|entry| members.iter().filter_map(|member| entry[member].as_str()))
        .map(|hex| decode(hex).unwrap_or_else(|| panic!("{}: not hex: {hex}", path.display())))
        .collect()
}

fn decode(hex: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let (pairs, odd) = hex.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|&[high, low]| u8::try_from(digit(high)? << 4 | digit(low)?).ok());
    odd.is_empty().then(|| bytes.collect()).flatten()
}
