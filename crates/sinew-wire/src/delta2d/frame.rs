use core::fmt;

use super::{Command, MAX_SAMPLES};
use crate::{
    Error, Got, Result, Wanted,
    bytes::Writer,
    stream::{Fault, Probe},
};

/// The byte that every frame begins with.
pub const SYNC: u8 = 0xAA;
/// The version in every frame that was seen.
pub const VERSION: u8 = 0x01;
/// The type in every frame that was seen.
pub const TYPE: u8 = 0x61;
/// Bytes before the payload.
pub const HEADER: usize = 8;
/// Longest payload that is taken: a measurement of a whole turn. Those that were seen have 77 bytes.
pub const MAX_PAYLOAD: usize = 5 + 3 * MAX_SAMPLES;
/// Longest frame that is taken.
pub const MAX_FRAME: usize = HEADER + MAX_PAYLOAD + 2;

/// The check of a frame: all bytes before it, summed.
// Always inlined, for out of line it would not have the deframer's vectors but the baseline's.
#[inline(always)]
pub fn checksum(covered: &[u8]) -> u16 {
    covered.iter().fold(0u32, |sum, byte| sum.wrapping_add(u32::from(*byte))) as u16
}

/// A frame whose lengths are right, borrowed from the bytes it came in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    bytes: &'a [u8],
    payload: &'a [u8],
    fits: bool,
}

impl<'a> Frame<'a> {
    /// Checks that `bytes` is one frame with a right check, no more and no less.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self> {
        match Frame::probe(bytes, false) {
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

    /// Whether `bytes` begin as frames do that were seen.
    pub fn looks_like(bytes: &[u8]) -> bool {
        matches!(*bytes, [SYNC, a, b, VERSION, TYPE, _, c, d, ..]
            if usize::from(u16::from_be_bytes([a, b])) == HEADER + usize::from(u16::from_be_bytes([c, d])))
    }

    /// Judges the front of `bytes`. A `lenient` judge takes a frame whose check is wrong if nothing
    /// else about it is.
    #[inline(always)]
    pub(super) fn probe(bytes: &'a [u8], lenient: bool) -> Probe<Frame<'a>> {
        let Some(header) = bytes.first_chunk::<HEADER>() else {
            return match bytes.first() {
                None | Some(&SYNC) => Probe::Incomplete(HEADER),
                Some(_) => Probe::Bad(Fault::Sync),
            };
        };
        let [SYNC, len_high, len_low, version, kind, command, n_high, n_low] = *header else {
            return Probe::Bad(Fault::Sync);
        };
        let length = usize::from(u16::from_be_bytes([len_high, len_low]));
        let count = usize::from(u16::from_be_bytes([n_high, n_low]));
        if length != HEADER + count || count > MAX_PAYLOAD {
            return Probe::Bad(Fault::Length);
        }
        let Some(bytes) = bytes.get(..length + 2) else { return Probe::Incomplete(length + 2) };
        let [covered @ .., high, low] = bytes else { return Probe::Bad(Fault::Length) };
        let fits = checksum(covered) == u16::from_be_bytes([*high, *low]);
        let usual = || {
            let shape = match Command::from(command) {
                Command::Measurement => count >= 5 && (count - 5).is_multiple_of(3),
                Command::Speed => count == 1,
                Command::Other(_) => false,
            };
            [version, kind] == [VERSION, TYPE] && shape
        };
        if !(fits || lenient && usual()) {
            return Probe::Bad(Fault::Check);
        }
        Probe::Frame(Frame { bytes, payload: covered.get(HEADER..).unwrap_or_default(), fits })
    }

    /// The version byte; [`VERSION`] as a rule.
    pub fn version(&self) -> u8 {
        self.bytes.get(3).copied().unwrap_or_default()
    }

    /// The type byte; [`TYPE`] as a rule.
    pub fn kind(&self) -> u8 {
        self.bytes.get(4).copied().unwrap_or_default()
    }

    /// The command byte.
    pub fn command(&self) -> u8 {
        self.bytes.get(5).copied().unwrap_or_default()
    }

    /// What stands between header and check.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The whole frame.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The check as sent.
    pub fn check(&self) -> u16 {
        self.bytes.last_chunk().copied().map_or(0, u16::from_be_bytes)
    }

    /// Whether that is the sum of the bytes before it.
    pub const fn fits(&self) -> bool {
        self.fits
    }
}

/// The fault with what was wanted and what `bytes` have instead.
pub(super) fn error(fault: Fault, bytes: &[u8]) -> Error {
    let word = |at: usize| {
        let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
        bytes.copied().map_or(0, u16::from_be_bytes)
    };
    match fault {
        Fault::Sync => {
            let got = bytes.first().copied().unwrap_or_default();
            Error::hex("sync", 2, SYNC.into(), got.into())
        }
        Fault::Length if usize::from(word(6)) > MAX_PAYLOAD => {
            let wanted = Wanted::AtMost(MAX_PAYLOAD as u64);
            Error::count("payload length", wanted, word(6).into())
        }
        Fault::Length => {
            let wanted = HEADER as u64 + u64::from(word(6));
            Error::new("LEN", Wanted::Exactly(wanted), Got::Number(word(1).into()))
        }
        Fault::Check => {
            let length = usize::from(word(1));
            let covered = bytes.get(..length).unwrap_or_default();
            Error::hex("check", 4, checksum(covered).into(), word(length).into())
        }
    }
}

impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = if self.fits { "" } else { ", check does not fit" };
        write!(f, "Frame(0x{:02x} {:02x?}{fits})", self.command(), self.payload)
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
        FrameBuf::join([VERSION, TYPE, command], &[payload])
    }

    /// The same with another version and type, and a payload in parts.
    pub(super) fn join(head: [u8; 3], payload: &[&[u8]]) -> Result<Self> {
        let count: usize = payload.iter().map(|part| part.len()).sum();
        if count > MAX_PAYLOAD {
            return Err(Error::count("payload length", Wanted::AtMost(MAX_PAYLOAD as u64), count));
        }
        let mut bytes = [0; MAX_FRAME];
        let mut writer = Writer::new(&mut bytes);
        writer.put("sync", &[SYNC])?;
        writer.put("LEN", &((HEADER + count) as u16).to_be_bytes())?;
        writer.put("header", &head)?;
        writer.put("payload length", &(count as u16).to_be_bytes())?;
        payload.iter().try_for_each(|part| writer.put("payload", part))?;
        let check = checksum(writer.written());
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
