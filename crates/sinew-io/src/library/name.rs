use std::{ffi::OsStr, fmt::Write, path::Path};

use sinew_wire::teach::Name;

/// A motion's name as a file's: ASCII letters, digits, `-` and `_` stay, every other byte becomes
/// `%XX`. No two names become the same, and none a path.
pub(super) fn escape(name: &str) -> String {
    let mut escaped = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            escaped.push(char::from(byte));
        } else {
            let _infallible = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// The motion's name that a file's stands for, or else why it stands for none.
pub(super) fn name_of(file: &OsStr) -> Result<String, String> {
    let stem = Path::new(file).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let name = unescape(stem).filter(|name| Name::new(name).is_ok() && escape(name) == stem);
    name.ok_or_else(|| match Name::new(stem) {
        Ok(_) => format!("not a motion's file name: wanted {}.json", escape(stem)),
        Err(error) => format!("not a motion's file name: {error}"),
    })
}

fn unescape(stem: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = stem.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' { hex(rest.next()?, rest.next()?)? } else { byte });
    }
    String::from_utf8(bytes).ok()
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}
