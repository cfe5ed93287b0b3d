//! The server's half of RFC 6455, as far as JSON messages need it.
//!
//! Written here rather than taken from a crate for three reasons: a message that is not UTF-8 must
//! get an answer and not cost the connection, shared telemetry goes straight into a client's output,
//! and a client that waits has no buffers of its own.

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::{Buf, BytesMut};

use super::{Incoming, MAX_MESSAGE};

pub(super) const TEXT: u8 = 0x1;
pub(super) const BINARY: u8 = 0x2;
pub(super) const PONG: u8 = 0xA;
const CONTINUATION: u8 = 0x0;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;

const NORMAL: u16 = 1000;
const PROTOCOL_ERROR: u16 = 1002;
pub(super) const TOO_BIG: u16 = 1009;

/// The answer to a client's `Sec-WebSocket-Key`.
pub(crate) fn accept_key(key: &str) -> String {
    let mut hash = sha1_smol::Sha1::from(key);
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    BASE64_STANDARD.encode(hash.digest().bytes())
}

/// Puts fragments together.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// What has come of a message whose last fragment has not.
    begun: Option<BytesMut>,
    skipping: Option<Skipping>,
}

/// A message that is thrown away as it comes.
#[derive(Debug, Default)]
struct Skipping {
    /// Bytes left of the frame that has begun.
    left: u64,
    /// Bytes of the message that are gone.
    gone: u64,
    /// The frame that has begun is its last.
    is_last: bool,
}

/// The first bytes of a frame, decoded.
struct Header {
    last: bool,
    opcode: u8,
    mask: [u8; 4],
    /// Bytes of the header itself.
    length: usize,
    payload: u64,
}

impl Assembly {
    pub(super) fn next(&mut self, buffer: &mut BytesMut, limit: usize) -> Option<Incoming> {
        loop {
            if let Some(skipping) = &mut self.skipping
                && skipping.left > 0
            {
                skipping.swallow(buffer);
                if skipping.left > 0 {
                    return None;
                }
            }
            if self.skipping.as_ref().is_some_and(|skipping| skipping.is_last) {
                self.skipping = None;
                return Some(Incoming::Skipped);
            }
            let header = match Header::parse(buffer)? {
                Ok(header) => header,
                Err(BrokenProtocol) => return Some(Incoming::Close(close(PROTOCOL_ERROR))),
            };
            let is_control = header.opcode & 0x8 != 0;
            let begun = match (&self.begun, &self.skipping) {
                (_, Some(skipping)) => skipping.gone,
                (Some(begun), None) => begun.len() as u64,
                (None, None) => 0,
            };
            if !is_control && header.payload + begun > MAX_MESSAGE as u64 {
                return Some(Incoming::TooLarge);
            }
            match &mut self.skipping {
                Some(skipping) if !is_control => {
                    buffer.advance(header.length);
                    skipping.left = header.payload;
                    skipping.gone += header.payload;
                    skipping.is_last = header.last;
                    continue;
                }
                None if !is_control && header.payload + begun > limit as u64 => {
                    return Some(Incoming::Over);
                }
                _ => {}
            }
            let length = header.payload as usize;
            if buffer.len() < header.length + length {
                return None;
            }
            buffer.advance(header.length);
            let mut payload = buffer.split_to(length);
            unmask(&mut payload, header.mask);
            if let Some(incoming) = self.take(&header, payload) {
                return Some(incoming);
            }
        }
    }

    /// Throws away the message that has begun, or the next one.
    pub(super) fn skip(&mut self) {
        let gone = self.begun.take().map_or(0, |begun| begun.len() as u64);
        self.skipping = Some(Skipping { gone, ..Skipping::default() });
    }

    fn take(&mut self, header: &Header, payload: BytesMut) -> Option<Incoming> {
        match (header.opcode, self.begun.take()) {
            (PING, begun) => {
                self.begun = begun;
                Some(Incoming::Ping(payload))
            }
            (PONG, begun) => {
                self.begun = begun;
                None
            }
            (CLOSE, _) => Some(Incoming::Close(close(NORMAL))),
            (TEXT | BINARY, None) if header.last => Some(Incoming::Message(payload)),
            (TEXT | BINARY, None) => {
                self.begun = Some(payload);
                None
            }
            (CONTINUATION, Some(mut begun)) => {
                begun.unsplit(payload);
                if header.last {
                    return Some(Incoming::Message(begun));
                }
                self.begun = Some(begun);
                None
            }
            _ => Some(Incoming::Close(close(PROTOCOL_ERROR))),
        }
    }
}

impl Skipping {
    fn swallow(&mut self, buffer: &mut BytesMut) {
        let count = self.left.min(buffer.len() as u64);
        buffer.advance(count as usize);
        self.left -= count;
    }
}

/// Takes a client's mask off, word by word.
fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    let mut words = payload.chunks_exact_mut(4);
    for word in &mut words {
        for (byte, mask) in word.iter_mut().zip(mask) {
            *byte ^= mask;
        }
    }
    for (byte, mask) in words.into_remainder().iter_mut().zip(mask) {
        *byte ^= mask;
    }
}

struct BrokenProtocol;

impl Header {
    /// None when more bytes are needed.
    fn parse(buffer: &[u8]) -> Option<Result<Self, BrokenProtocol>> {
        let &[first, second] = buffer.first_chunk()?;
        let rest = buffer.get(2..)?;
        let (length, payload) = match second & 0x7F {
            126 => (4, u16::from_be_bytes(*rest.first_chunk()?).into()),
            127 => (10, u64::from_be_bytes(*rest.first_chunk()?)),
            short => (2, short.into()),
        };
        let opcode = first & 0x0F;
        let last = first & 0x80 != 0;
        let is_control = opcode & 0x8 != 0;
        let reserved = first & 0x70 != 0;
        let masked = second & 0x80 != 0;
        if reserved || !masked || is_control && (!last || payload > 125) || payload >> 63 != 0 {
            return Some(Err(BrokenProtocol));
        }
        let mask = *buffer.get(length..)?.first_chunk()?;
        Some(Ok(Header { last, opcode, mask, length: length + 4, payload }))
    }
}

/// Appends the header of a frame that is whole and, as a server's must be, not masked.
pub(super) fn put_header(opcode: u8, length: usize, out: &mut Vec<u8>) {
    out.push(0x80 | opcode);
    if length < 126 {
        out.push(length as u8);
    } else if let Ok(length) = u16::try_from(length) {
        out.push(126);
        out.extend_from_slice(&length.to_be_bytes());
    } else {
        out.push(127);
        out.extend_from_slice(&(length as u64).to_be_bytes());
    }
}

/// A close frame.
pub(super) fn close(code: u16) -> Vec<u8> {
    let mut frame = Vec::new();
    put_header(CLOSE, 2, &mut frame);
    frame.extend_from_slice(&code.to_be_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        put_header(first & 0x0F, payload.len(), &mut frame);
        frame[0] = first;
        frame[1] |= 0x80;
        frame.extend_from_slice(&[1, 2, 3, 4]);
        frame.extend(
            payload.iter().zip([1, 2, 3, 4].iter().cycle()).map(|(byte, mask)| byte ^ mask),
        );
        frame
    }

    fn read(stream: &[u8]) -> Vec<Incoming> {
        let mut assembly = Assembly::default();
        let mut buffer = BytesMut::new();
        let mut all = Vec::new();
        for &byte in stream {
            buffer.extend_from_slice(&[byte]);
            while let Some(incoming) = assembly.next(&mut buffer, MAX_MESSAGE) {
                let closed = matches!(incoming, Incoming::Close(_));
                all.push(incoming);
                if closed {
                    return all;
                }
            }
        }
        all
    }

    #[test]
    fn the_example_of_the_rfc_has_the_right_answer() {
        assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn a_ping_may_stand_between_fragments() {
        let stream =
            [frame(0x01, b"{\"a\""), frame(0x89, b"hm"), frame(0x00, b":"), frame(0x80, b"1}")];
        assert_eq!(
            read(&stream.concat()),
            [Incoming::Ping(b"hm"[..].into()), Incoming::Message(b"{\"a\":1}"[..].into())]
        );
    }

    #[test]
    fn all_three_length_forms_are_read() {
        for length in [0, 125, 126, 65_535, 65_536] {
            let payload = vec![b'x'; length];
            assert_eq!(
                read(&frame(0x81, &payload)),
                [Incoming::Message(payload[..].into())],
                "{length}"
            );
        }
    }

    #[test]
    fn a_fragmented_message_over_the_limit_is_too_large() {
        let half = vec![b'x'; MAX_MESSAGE / 2 + 1];
        let mut assembly = Assembly::default();
        let mut buffer = BytesMut::from(&[frame(0x01, &half), frame(0x80, &half)].concat()[..]);
        assert_eq!(assembly.next(&mut buffer, MAX_MESSAGE), Some(Incoming::TooLarge));
    }

    #[test]
    fn a_long_message_is_skipped_unstored_in_any_split_also_in_fragments() {
        use crate::frame::{Framing, tests::read_skipping};
        let long = [b'x'; 300];
        let whole = frame(0x81, &long);
        let fragments =
            [frame(0x01, b"{"), frame(0x00, &long), frame(0x89, b"hm"), frame(0x80, b"}")];
        let stream = [&whole[..], &frame(0x81, b"[1]"), &fragments.concat(), &frame(0x81, b"[2]")];
        let wanted = [
            Incoming::Skipped,
            Incoming::Message(b"[1]"[..].into()),
            Incoming::Ping(b"hm"[..].into()),
            Incoming::Skipped,
            Incoming::Message(b"[2]"[..].into()),
        ];
        for piece in [1, 5, 64, 10_000] {
            let all = read_skipping(Framing::WebSocket, &stream.concat(), 200, piece);
            assert_eq!(all, wanted, "{piece}");
        }
    }

    #[test]
    fn broken_frames_end_the_connection() {
        let unmasked = vec![0x81, 0x01, b'x'];
        let reserved = frame(0xC1, b"x");
        let lone_continuation = frame(0x80, b"x");
        let fragmented_ping = frame(0x09, b"x");
        for stream in [unmasked, reserved, lone_continuation, fragmented_ping] {
            assert_eq!(read(&stream).first(), Some(&Incoming::Close(close(PROTOCOL_ERROR))));
        }
    }
}
