//! The DTLS 1.2 record header.
//!
//! ```text
//!  0      1   2      3   4    5  …  10       11  12    13 …
//! +------+----------+--------+-------------+---------+----------
//! | type | FE FD    | epoch  | sequence    | length  | fragment
//! |      | (version)| u16 BE | u48 BE      | u16 BE  | (encrypted from epoch 1)
//! +------+----------+--------+-------------+---------+----------
//! ```
//!
//! A G1's real traffic is a DTLS tunnel. Read with the teaching documents in
//! hand, an application-data record of epoch 1 looks like a compact teaching
//! datagram: `17 FE FD 00 01 00` are the record's type, version, epoch and the
//! top of its sequence number, and the "command" is the low byte of that
//! number. Only the CRC tells the two apart.

use core::fmt;

use crate::{Error, Got, Result, Wanted, bytes::Reader};

/// Bytes in a record header.
pub const HEADER_LEN: usize = 13;

/// A record: header and fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// What the fragment carries.
    pub content: Content,
    /// Protocol version: `0xFEFD` is DTLS 1.2, `0xFEFF` is DTLS 1.0.
    pub version: u16,
    /// Key generation; 0 is clear text.
    pub epoch: u16,
    /// 48-bit record number within the epoch.
    pub sequence: u64,
    /// The record's body.
    pub fragment: &'a [u8],
}

/// Content type of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are RFC 6347's")]
pub enum Content {
    ChangeCipherSpec = 20,
    Alert = 21,
    Handshake = 22,
    ApplicationData = 23,
}

impl<'a> Record<'a> {
    /// Reads the record at the front of `bytes`; returns it and what follows.
    pub fn split(bytes: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let mut reader = Reader::new(bytes);
        let content = Content::try_from(reader.array::<1>("content type")?)?;
        let version = reader.u16_be("version")?;
        if !matches!(version, 0xFEFD | 0xFEFF) {
            return Err(Error::hex("version", 4, 0xFEFD, version.into()));
        }
        let epoch = reader.u16_be("epoch")?;
        let [a, b, c, d, e, f] = reader.array("sequence")?;
        let sequence = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        let length = reader.u16_be("length")?;
        let fragment = reader.take("fragment", length.into())?;
        Ok((Record { content, version, epoch, sequence, fragment }, reader.rest()))
    }

    /// Bytes of the whole record.
    pub const fn len(&self) -> usize {
        HEADER_LEN + self.fragment.len()
    }

    /// Whether the fragment is empty.
    pub const fn is_empty(&self) -> bool {
        self.fragment.is_empty()
    }
}

impl TryFrom<[u8; 1]> for Content {
    type Error = Error;

    fn try_from([value]: [u8; 1]) -> Result<Self> {
        Ok(match value {
            20 => Content::ChangeCipherSpec,
            21 => Content::Alert,
            22 => Content::Handshake,
            23 => Content::ApplicationData,
            _ => {
                let got = Got::Number(value.into());
                return Err(Error::new("content type", Wanted::Between(20, 23), got));
            }
        })
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Content::ChangeCipherSpec => "change cipher spec",
            Content::Alert => "alert",
            Content::Handshake => "handshake",
            Content::ApplicationData => "application data",
        })
    }
}
