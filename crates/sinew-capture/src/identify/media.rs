//! RTP and RTCP (RFC 3550), which WebRTC encrypts but for their headers.

use super::Seen;

/// The header of a packet of sound or pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rtp {
    pub(crate) kind: u8,
    pub(crate) sequence: u16,
    pub(crate) source: u32,
}

/// The header of a report about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rtcp {
    pub(crate) kind: u8,
    pub(crate) source: u32,
}

/// Reads a header; the first byte says version 2. One alone proves little: any bytes begin so in one
/// of four cases.
#[inline]
pub(super) fn parse(bytes: &[u8]) -> Option<Seen<'_>> {
    let word = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).copied();
    let kind = *bytes.get(1)?;
    // Where both share a port, these kinds are reports (RFC 5761).
    if (192..=223).contains(&kind) {
        return Some(Seen::Rtcp(Rtcp { kind, source: word(4).map(u32::from_be_bytes)? }));
    }
    let sequence = bytes.get(2..4)?.first_chunk().copied().map(u16::from_be_bytes)?;
    let source = word(8).map(u32::from_be_bytes)?;
    Some(Seen::Rtp(Rtp { kind: kind & 0x7F, sequence, source }))
}
