//! A binary message of the data channel: JSON and a body.
//!
//! ```text
//! short   json_len u16 LE | unused u16 | JSON … | body …            the rest of the message
//! cloud   02 00 00 00 | json_len u32 LE | binary_len u32 LE | JSON … | body …
//! ```
//!
//! The first four bytes decide: `02 00 00 00` is a cloud. The library ignores `binary_len`; in the
//! one captured header it is the body's length. As in [`slam`](crate::slam), 0 stands for the rest.

use alloc::vec::Vec;

use super::Message;
use crate::{
    Error, Result, Wanted,
    bytes::Reader,
    slam::{self, TYPE_WORD},
};

/// How a message travels: the channel keeps apart what the first bytes would not always tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// JSON, for [`Message`].
    Text,
    /// For [`Binary`].
    Binary,
}

/// A binary message taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binary<'a> {
    /// Which header it has.
    pub variant: Variant,
    /// The message, not yet read.
    pub json: &'a [u8],
    /// What came with it.
    pub body: &'a [u8],
}

/// The header of a binary message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Four bytes. The last two have no known meaning.
    Short {
        /// Those two.
        unused: u16,
    },
    /// Twelve bytes.
    Cloud,
}

impl Variant {
    /// Bytes before the JSON.
    pub const fn header_len(self) -> usize {
        match self {
            Variant::Short { .. } => 4,
            Variant::Cloud => 12,
        }
    }
}

impl<'a> Binary<'a> {
    /// Takes a message apart, of which `bytes` is all.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self> {
        match bytes.strip_prefix(&TYPE_WORD) {
            Some(bytes) => Self::cloud_variant(bytes),
            None => Self::short_variant(bytes),
        }
    }

    fn short_variant(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let json_len = u16::from_le_bytes(reader.array("json_len")?);
        let unused = u16::from_le_bytes(reader.array("unused")?);
        let json = take(&mut reader, "json_len", json_len.into())?;
        Ok(Binary { variant: Variant::Short { unused }, json, body: reader.rest() })
    }

    fn cloud_variant(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let json_len = reader.u32_le("json_len")?;
        let binary_len = reader.u32_le("binary_len")?;
        let json = take(&mut reader, "json_len", json_len)?;
        let body = reader.rest();
        if binary_len != 0 && binary_len as usize != body.len() {
            let wanted = Wanted::Exactly(body.len() as u64);
            return Err(Error::count("binary_len", wanted, binary_len as usize));
        }
        Ok(Binary { variant: Variant::Cloud, json, body })
    }

    /// The bytes to send.
    pub fn emit(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(12 + self.json.len() + self.body.len());
        match self.variant {
            Variant::Short { unused } => {
                let json_len = length::<u16>("json_len", self.json, u16::MAX.into())?;
                if (json_len, unused) == (2, 0) {
                    // It would be read as the type word of a cloud.
                    return Err(Error::count("json_len", Wanted::AtLeast(3), 2));
                }
                bytes.extend(json_len.to_le_bytes());
                bytes.extend(unused.to_le_bytes());
            }
            Variant::Cloud => {
                bytes.extend(TYPE_WORD);
                bytes.extend(length::<u32>("json_len", self.json, u32::MAX)?.to_le_bytes());
                bytes.extend(length::<u32>("binary_len", self.body, u32::MAX)?.to_le_bytes());
            }
        }
        bytes.extend(self.json);
        bytes.extend(self.body);
        Ok(bytes)
    }

    /// The message in the JSON.
    pub fn message(&self) -> Result<Message> {
        Message::parse(self.json)
    }

    /// The same for the decoders of clouds and voxel maps, which read either header's content.
    pub const fn cloud(&self) -> slam::Message<'a> {
        let type_word = matches!(self.variant, Variant::Cloud);
        slam::Message { type_word, json: self.json, body: self.body }
    }

    /// Whether `bytes` looks like the short form: a length that fits, then a JSON object.
    pub(crate) fn looks_short(bytes: &[u8]) -> bool {
        let binary = Binary::short_variant(bytes);
        !bytes.starts_with(&TYPE_WORD)
            && binary.is_ok_and(|binary| {
                binary.json.starts_with(b"{") && binary.json.trim_ascii_end().ends_with(b"}")
            })
    }
}

fn take<'a>(reader: &mut Reader<'a>, field: &'static str, len: u32) -> Result<&'a [u8]> {
    let wanted = Wanted::AtMost(reader.rest().len() as u64);
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    reader.take(field, len).map_err(|_| Error::count(field, wanted, len))
}

fn length<N: TryFrom<usize>>(field: &'static str, bytes: &[u8], most: u32) -> Result<N> {
    let most = Wanted::AtMost(most.into());
    N::try_from(bytes.len()).map_err(|_| Error::count(field, most, bytes.len()))
}
