use core::fmt;

use crate::{
    Error, Got, Result, Wanted,
    bytes::Writer,
    stream::{Fault, Probe},
};

/// The two bytes every frame begins with.
pub const SYNC: [u8; 2] = [0xFA, 0xFB];
/// Longest frame: sync, LEN, and the 255 bytes LEN can count.
pub const MAX_FRAME: usize = 3 + 255;
/// Shortest frame: `FA FB 01 08`, the one command that may come without a check.
pub const MIN_FRAME: usize = 4;
/// Longest payload.
pub const MAX_PAYLOAD: usize = 255 - 3;

/// Document 003 lists 0x08 as having no check, but its capture shows one: both are accepted.
const INITIALIZE: u8 = 0x08;

/// The check of a frame: command and payload summed as big-endian words, an odd last byte XORed.
///
/// Document 003 says only "word sum". Its frame `FA FB 07 17 01 F0 DF FA 07 1A`
/// proves the XOR: adding the odd byte would give `08 DA`.
// Always inlined, for out of line it would not have the deframer's vectors but the baseline's.
#[inline(always)]
pub fn checksum(covered: &[u8]) -> u16 {
    // Sixteen lanes of 16 bits, so that the compiler keeps them in vectors.
    let (blocks, rest) = covered.as_chunks::<32>();
    let mut lanes = [0u16; 16];
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<2>().0) {
            *lane = lane.wrapping_add(u16::from_be_bytes(*word));
        }
    }
    let sum = lanes.iter().fold(0u16, |sum, lane| sum.wrapping_add(*lane));
    let (words, odd) = rest.as_chunks::<2>();
    let sum = words.iter().fold(sum, |sum, word| sum.wrapping_add(u16::from_be_bytes(*word)));
    odd.iter().fold(sum, |sum, &byte| sum ^ u16::from(byte))
}

/// A frame whose length and check are right, borrowed from the bytes it came in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    bytes: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Checks that `bytes` is one frame, no more and no less.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self> {
        match Frame::probe(bytes) {
            Probe::Frame(frame) if frame.bytes.len() == bytes.len() => Ok(frame),
            Probe::Frame(frame) => {
                let wanted = Wanted::Exactly(frame.bytes.len() as u64);
                Err(Error::count("frame length", wanted, bytes.len()))
            }
            Probe::Incomplete(needed) => {
                Err(Error::count("frame length", Wanted::AtLeast(needed as u64), bytes.len()))
            }
            Probe::Bad(fault) => Err(error(fault, bytes)),
        }
    }

    /// Judges the front of `bytes`, which must not be empty for any verdict but `Incomplete`.
    #[inline(always)]
    pub(crate) fn probe(bytes: &'a [u8]) -> Probe<Frame<'a>> {
        let [0xFA, 0xFB, len, command, ..] = *bytes else { return Frame::probe_short(bytes) };
        let total = 3 + usize::from(len);
        let Some(bytes) = bytes.get(..total) else {
            return if len < 3 { Probe::Bad(Fault::Length) } else { Probe::Incomplete(total) };
        };
        match *bytes {
            [_, _, _, ref covered @ .., high, low] if len >= 3 => {
                if checksum(covered) != u16::from_be_bytes([high, low]) {
                    return Probe::Bad(Fault::Check);
                }
                Probe::Frame(Frame { bytes, payload: covered.get(1..).unwrap_or_default() })
            }
            _ if len == 1 && command == INITIALIZE => Probe::Frame(Frame { bytes, payload: &[] }),
            _ => Probe::Bad(Fault::Length),
        }
    }

    /// Judges bytes that do not begin with a whole header.
    fn probe_short(bytes: &[u8]) -> Probe<Frame<'a>> {
        match *bytes {
            [0xFA, 0xFB, 0 | 2, ..] => Probe::Bad(Fault::Length),
            [] | [0xFA] | [0xFA, 0xFB] | [0xFA, 0xFB, _] => Probe::Incomplete(MIN_FRAME),
            _ => Probe::Bad(Fault::Sync),
        }
    }

    /// The command byte.
    pub fn command(&self) -> u8 {
        self.bytes.get(3).copied().unwrap_or_default()
    }

    /// What stands between the command and the check.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The whole frame.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The check as sent; none in the four-byte form of 0x08.
    pub fn check(&self) -> Option<u16> {
        match *self.bytes {
            [_, _, len, .., high, low] if len >= 3 => Some(u16::from_be_bytes([high, low])),
            _ => None,
        }
    }
}

/// The fault with what was wanted and what `bytes` have instead.
pub(super) fn error(fault: Fault, bytes: &[u8]) -> Error {
    let len = bytes.get(2).copied().unwrap_or_default();
    match fault {
        Fault::Sync => {
            let got = bytes.iter().take(2).fold(0, |got, &byte| got << 8 | u64::from(byte));
            Error::hex("sync", 4, 0xFAFB, got)
        }
        Fault::Length => Error::new("LEN", Wanted::Between(3, 255), Got::Number(len.into())),
        Fault::Check => {
            let covered = bytes.get(3..1 + usize::from(len)).unwrap_or_default();
            let got = bytes.get(1 + usize::from(len)..).and_then(<[u8]>::first_chunk);
            let got = got.copied().map_or(0, u16::from_be_bytes);
            Error::hex("check", 4, checksum(covered).into(), got.into())
        }
    }
}

impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame(0x{:02x} {:02x?})", self.command(), self.payload)
    }
}

/// A frame to send, in a buffer of its own.
#[derive(Clone, Copy)]
pub struct FrameBuf {
    bytes: [u8; MAX_FRAME],
    len: usize,
}

impl FrameBuf {
    /// Frames a command; the payload may have at most [`MAX_PAYLOAD`] bytes.
    pub fn new(command: u8, payload: &[u8]) -> Result<Self> {
        let len = match u8::try_from(payload.len() + 3) {
            Ok(len) => len,
            Err(_) => {
                let wanted = Wanted::AtMost(MAX_PAYLOAD as u64);
                return Err(Error::count("payload length", wanted, payload.len()));
            }
        };
        let mut bytes = [0; MAX_FRAME];
        let mut writer = Writer::new(&mut bytes);
        writer.put("header", &[SYNC[0], SYNC[1], len, command])?;
        writer.put("payload", payload)?;
        let covered = writer.written().get(3..).unwrap_or_default();
        let check = checksum(covered);
        writer.put("check", &check.to_be_bytes())?;
        let len = writer.written().len();
        Ok(FrameBuf { bytes, len })
    }

    /// The frame's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl fmt::Debug for FrameBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrameBuf({:02x?})", self.as_bytes())
    }
}

impl PartialEq for FrameBuf {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}
