//! Hex as people write it.

use crate::cmd::Usage;

/// Whether all of it is hex digits, separators and `0x`.
pub(crate) fn looks_like_hex(content: &[u8]) -> bool {
    content.iter().enumerate().all(|(at, &byte)| {
        let prefix = matches!(byte, b'x' | b'X') && at > 0 && content[at - 1] == b'0';
        byte.is_ascii_hexdigit() || is_separator(byte) || prefix
    })
}

/// Reads hex with or without spaces, commas and `0x`.
pub(crate) fn parse(text: &str) -> Result<Vec<u8>, Usage> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    for word in text.split(|c: char| u8::try_from(c).is_ok_and(is_separator)) {
        let digits = word.strip_prefix("0x").or(word.strip_prefix("0X")).unwrap_or(word);
        if let Some(wrong) = digits.chars().find(|c| !c.is_ascii_hexdigit()) {
            return Err(Usage(format!("{wrong:?} in {word:?} is not a hex digit")));
        }
        if !digits.len().is_multiple_of(2) {
            return Err(Usage(format!(
                "{word:?} has an odd number of hex digits: write two for each byte"
            )));
        }
        for pair in digits.as_bytes().as_chunks::<2>().0 {
            bytes.push(digit(pair[0]) << 4 | digit(pair[1]));
        }
    }
    Ok(bytes)
}

/// Lower-case hex without separators.
pub(crate) fn format(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digit(character: u8) -> u8 {
    char::from(character).to_digit(16).map_or(0, |digit| digit as u8)
}

fn is_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b',' | b';' | b':' | b'-' | b'_')
}
