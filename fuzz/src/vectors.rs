//! Seeds from the vector files.

use std::{fs, path::Path};

use serde_json::Value;

/// The bytes that the named members of a vector file's entries spell in hex.
pub(crate) fn hex_members(file: &str, members: &[&str]) -> Vec<Vec<u8>> {
    let texts = text_members(file, members).into_iter();
    texts.map(|hex| decode(&hex).unwrap_or_else(|| panic!("{file}: not hex: {hex:?}"))).collect()
}

/// Of each entry the bytes that a list of hex texts spells, as one run.
pub(crate) fn hex_lists(file: &str, member: &str) -> Vec<Vec<u8>> {
    let bytes = |text: &Value| text.as_str().and_then(|text| decode(text.as_bytes()));
    let run = |list: &Value| {
        let parts = list.as_array().into_iter().flatten().map(bytes);
        let parts: Option<Vec<_>> = parts.collect();
        parts.unwrap_or_else(|| panic!("{file}: not hex: {list}")).concat()
    };
    entries(file).iter().map(|entry| run(&entry[member])).collect()
}

/// The texts that the named members of a vector file's entries are.
pub(crate) fn text_members(file: &str, members: &[&str]) -> Vec<Vec<u8>> {
    entries(file)
        .iter()
        .flat_map(|entry| members.iter().filter_map(|member| entry[member].as_str()))
        .map(|text| text.as_bytes().to_vec())
        .collect()
}

fn entries(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors").join(file);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn decode(hex: &[u8]) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let (pairs, odd) = hex.as_chunks::<2>();
    let bytes = pairs.iter().map(|&[high, low]| u8::try_from(digit(high)? << 4 | digit(low)?).ok());
    odd.is_empty().then(|| bytes.collect()).flatten()
}
