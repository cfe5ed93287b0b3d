//! STUN (RFC 8489): how the two ends of a WebRTC connection find each other.

/// What every message has in its bytes 4 to 7.
const COOKIE: [u8; 4] = [0x21, 0x12, 0xA4, 0x42];

/// A message's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stun {
    /// What is asked; 1 is Binding.
    pub(crate) method: u16,
    pub(crate) class: Class,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Request,
    Indication,
    Success,
    Error,
}

impl Stun {
    /// Reads the header of a message that is `length` long.
    #[inline]
    pub(crate) fn parse(bytes: &[u8], length: usize) -> Option<Self> {
        let &[a, b, c, d, ..] = bytes else { return None };
        let declared = usize::from(u16::from_be_bytes([c, d]));
        let fits = bytes.get(4..8) == Some(&COOKIE) && a < 0x40;
        if !fits || declared + 20 != length {
            return None;
        }
        let kind = u16::from_be_bytes([a, b]);
        let class = match (kind >> 7 & 2) | (kind >> 4 & 1) {
            0 => Class::Request,
            1 => Class::Indication,
            2 => Class::Success,
            _ => Class::Error,
        };
        let method = (kind & 0x000F) | (kind >> 1 & 0x0070) | (kind >> 2 & 0x0F80);
        Some(Stun { method, class })
    }
}
