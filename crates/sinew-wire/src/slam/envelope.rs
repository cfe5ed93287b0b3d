use crate::{Error, Result, Wanted, bytes::Reader};

/// What stands before a message on a WebRTC data channel.
pub const TYPE_WORD: [u8; 4] = [0x02, 0x00, 0x00, 0x00];

/// A message taken apart: JSON metadata and binary body, both borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Whether the type word stood before it.
    pub type_word: bool,
    /// The metadata, not yet parsed.
    pub json: &'a [u8],
    /// The points.
    pub body: &'a [u8],
}

impl<'a> Message<'a> {
    /// Checks that `bytes` is one message, no more and no less.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self> {
        let (message, rest) = Self::split(bytes)?;
        if rest.is_empty() {
            return Ok(message);
        }
        let wanted = Wanted::Exactly((message.body.len() + rest.len()) as u64);
        Err(Error::count("binary_len", wanted, message.body.len()))
    }

    /// Reads the message at the front of `bytes`; returns it and what follows.
    pub fn split(bytes: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let type_word = has_type_word(bytes);
        let mut reader = Reader::new(bytes);
        if type_word {
            reader.take("type word", TYPE_WORD.len())?;
        }
        let json_len = reader.u32_le("json_len")?;
        let binary_len = reader.u32_le("binary_len")?;
        let json = take(&mut reader, "json_len", json_len)?;
        let (body, rest) = match binary_len {
            0 => (reader.rest(), &[][..]),
            len => (take(&mut reader, "binary_len", len)?, reader.rest()),
        };
        Ok((Message { type_word, json, body }, rest))
    }

    /// Bytes before the JSON.
    pub const fn header_len(&self) -> usize {
        if self.type_word { 12 } else { 8 }
    }

    /// Bytes of JSON and body.
    pub const fn len(&self) -> usize {
        self.json.len() + self.body.len()
    }

    /// Whether there is neither JSON nor body.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether `bytes` looks like the front of a message: two lengths, then a JSON object.
    pub fn looks_like(bytes: &[u8]) -> bool {
        let json = if has_type_word(bytes) { bytes.get(12..) } else { bytes.get(8..) };
        let mut text = json.unwrap_or_default().iter().filter(|byte| !byte.is_ascii_whitespace());
        text.next() == Some(&b'{') && matches!(text.next(), Some(b'"' | b'}'))
    }
}

/// The type word is also the length of the smallest JSON object, `{}`. Where that stands behind
/// it, only lengths that fit make it a type word.
fn has_type_word(bytes: &[u8]) -> bool {
    let Some(message) = bytes.strip_prefix(&TYPE_WORD) else { return false };
    if !matches!(message.get(4..6), Some(b"{}")) {
        return true;
    }
    let mut reader = Reader::new(message);
    let (json_len, binary_len) = (reader.u32_le("json_len"), reader.u32_le("binary_len"));
    let lengths = u64::from(json_len.unwrap_or(0)) + u64::from(binary_len.unwrap_or(u32::MAX));
    reader.rest().first() == Some(&b'{') && lengths <= reader.rest().len() as u64
}

/// Takes what a length field declares; if there is less, the field is at fault.
fn take<'a>(reader: &mut Reader<'a>, field: &'static str, len: u32) -> Result<&'a [u8]> {
    let available = reader.rest().len();
    usize::try_from(len).ok().and_then(|len| reader.take(field, len).ok()).ok_or(Error::count(
        field,
        Wanted::AtMost(available as u64),
        len as usize,
    ))
}
