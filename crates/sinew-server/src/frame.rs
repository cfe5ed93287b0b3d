//! Messages on a byte stream: JSON lines, length-prefixed JSON or protobuf, WebSocket frames.
//!
//! All are read from and written to plain buffers, so that one connection loop serves them.

mod websocket;

use bytes::{Buf, BytesMut};
use sinew_api::Dialect;

pub(crate) use websocket::{Assembly, accept_key};

/// The longest message a client may send.
pub(crate) const MAX_MESSAGE: usize = 1 << 20;
/// The longest that every client may send.
pub(crate) const SMALL_MESSAGE: usize = 64 << 10;

/// How messages stand in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One per line.
    Lines,
    /// A length, u32 big endian, before each.
    Prefixed,
    /// The same, with protobuf for JSON; and what is said goes in datagrams, one message in each.
    Sangam,
    /// WebSocket frames.
    WebSocket,
}

/// What a client sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    Message(BytesMut),
    /// The next message is longer than the limit that was given. It is not taken: ask again with a
    /// higher limit, or [`skip`](Decoder::skip) it.
    Over,
    /// A message was skipped; it ended here.
    Skipped,
    /// A message over every limit; what follows in the stream cannot be made sense of.
    TooLarge,
    /// To be sent back as it is.
    Ping(BytesMut),
    /// The client says goodbye, or broke the WebSocket protocol; the bytes to close with.
    Close(Vec<u8>),
}

/// Takes messages out of a stream.
#[derive(Debug)]
pub(crate) enum Decoder {
    Lines(Lines),
    Prefixed {
        /// Bytes still to be skipped.
        skipping: Option<usize>,
    },
    /// Boxed: most clients have none.
    WebSocket(Box<Assembly>),
}

#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// How much of the buffer was searched, so that a line that comes one byte at a time is
    /// searched once.
    searched: usize,
    /// Bytes skipped of a line whose end has not come.
    skipping: Option<usize>,
}

impl Framing {
    /// Appends a message.
    pub(crate) fn put(self, message: &[&[u8]], out: &mut Vec<u8>) {
        let length: usize = message.iter().map(|part| part.len()).sum();
        match self {
            Framing::Lines => {}
            // Nothing Sinew sends comes near 4 GiB.
            Framing::Prefixed | Framing::Sangam => {
                out.extend_from_slice(&(length as u32).to_be_bytes());
            }
            Framing::WebSocket => websocket::put_header(websocket::TEXT, length, out),
        }
        for part in message {
            out.extend_from_slice(part);
        }
        if self == Framing::Lines {
            out.push(b'\n');
        }
    }

    /// How messages are written.
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Framing::Lines | Framing::WebSocket => Dialect::Own,
            Framing::Prefixed => Dialect::Legacy,
            Framing::Sangam => Dialect::Sangam,
        }
    }

    /// Whether its clients are those of SangamIO, who get sensors without asking.
    pub(crate) fn is_legacy(self) -> bool {
        matches!(self, Framing::Prefixed | Framing::Sangam)
    }

    /// Whether it carries bytes that are no text.
    pub(crate) fn carries_frames(self) -> bool {
        self == Framing::WebSocket
    }

    /// Appends bytes that are no text, where that can be.
    pub(crate) fn put_frame(self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.carries_frames() {
            websocket::put_header(websocket::BINARY, bytes.len(), out);
            out.extend_from_slice(bytes);
        }
    }

    /// Appends the answer to a ping.
    pub(crate) fn put_pong(self, payload: &[u8], out: &mut Vec<u8>) {
        websocket::put_header(websocket::PONG, payload.len(), out);
        out.extend_from_slice(payload);
    }

    /// What ends the stream in good order after a message that was too large.
    pub(crate) fn put_farewell(self, out: &mut Vec<u8>) {
        if self == Framing::WebSocket {
            out.extend_from_slice(&websocket::close(websocket::TOO_BIG));
        }
    }
}

impl Decoder {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Lines => Decoder::Lines(Lines::default()),
            Framing::Prefixed | Framing::Sangam => Decoder::Prefixed { skipping: None },
            Framing::WebSocket => Decoder::WebSocket(Box::default()),
        }
    }

    /// Takes the next message out of the buffer, if it is all there and within the limit.
    pub(crate) fn next(&mut self, buffer: &mut BytesMut, limit: usize) -> Option<Incoming> {
        match self {
            Decoder::Lines(lines) => lines.next(buffer, limit),
            Decoder::Prefixed { skipping } => next_prefixed(skipping, buffer, limit),
            Decoder::WebSocket(assembly) => assembly.next(buffer, limit),
        }
    }

    /// Throws the next message away as it comes.
    pub(crate) fn skip(&mut self, buffer: &mut BytesMut) {
        match self {
            Decoder::Lines(lines) => lines.skipping = Some(0),
            Decoder::Prefixed { skipping } => {
                if let Some(length) = buffer.first_chunk().copied().map(u32::from_be_bytes) {
                    buffer.advance(4);
                    *skipping = Some(length as usize);
                }
            }
            Decoder::WebSocket(assembly) => assembly.skip(),
        }
    }
}

impl Lines {
    fn next(&mut self, buffer: &mut BytesMut, limit: usize) -> Option<Incoming> {
        loop {
            if self.skipping.is_some() {
                return self.skip(buffer);
            }
            let found = memchr::memchr(b'\n', buffer.get(self.searched..)?);
            let length = found.map_or(buffer.len(), |found| self.searched + found);
            if length > MAX_MESSAGE {
                return Some(Incoming::TooLarge);
            }
            if length > limit {
                return Some(Incoming::Over);
            }
            if found.is_none() {
                self.searched = length;
                return None;
            }
            self.searched = 0;
            let mut line = buffer.split_to(length);
            buffer.advance(1);
            if line.last() == Some(&b'\r') {
                line.truncate(line.len() - 1);
            }
            // An empty line is what a person at a terminal sends.
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Some(Incoming::Message(line));
            }
        }
    }

    fn skip(&mut self, buffer: &mut BytesMut) -> Option<Incoming> {
        self.searched = 0;
        let found = memchr::memchr(b'\n', buffer);
        let skipped = self.skipping.unwrap_or_default() + found.unwrap_or(buffer.len());
        buffer.advance(found.map_or(buffer.len(), |found| found + 1));
        self.skipping = found.is_none().then_some(skipped);
        if skipped > MAX_MESSAGE {
            return Some(Incoming::TooLarge);
        }
        found.map(|_| Incoming::Skipped)
    }
}

fn next_prefixed(
    skipping: &mut Option<usize>,
    buffer: &mut BytesMut,
    limit: usize,
) -> Option<Incoming> {
    if let Some(left) = skipping {
        let count = buffer.len().min(*left);
        buffer.advance(count);
        *left -= count;
        if *left > 0 {
            return None;
        }
        *skipping = None;
        return Some(Incoming::Skipped);
    }
    let length = u32::from_be_bytes(*buffer.first_chunk()?) as usize;
    if length > MAX_MESSAGE {
        return Some(Incoming::TooLarge);
    }
    if length > limit {
        return Some(Incoming::Over);
    }
    if buffer.len() < 4 + length {
        return None;
    }
    buffer.advance(4);
    Some(Incoming::Message(buffer.split_to(length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_byte_at_a_time(framing: Framing, stream: &[u8]) -> Vec<Incoming> {
        let mut decoder = Decoder::new(framing);
        let mut buffer = BytesMut::new();
        let mut all = Vec::new();
        for &byte in stream {
            buffer.extend_from_slice(&[byte]);
            all.extend(std::iter::from_fn(|| decoder.next(&mut buffer, MAX_MESSAGE)));
        }
        all
    }

    fn message(text: &str) -> Incoming {
        Incoming::Message(text.as_bytes().into())
    }

    #[test]
    fn lines_come_in_any_split() {
        let all = one_byte_at_a_time(Framing::Lines, b"{}\r\n\n  \n[1]\nrest");
        assert_eq!(all, [message("{}"), message("[1]")]);
    }

    #[test]
    fn prefixed_messages_come_in_any_split() {
        let all = one_byte_at_a_time(Framing::Prefixed, b"\0\0\0\x02{}\0\0\0\0\0\0\0\x03[1]\0");
        assert_eq!(all, [message("{}"), message(""), message("[1]")]);
    }

    #[test]
    fn a_length_over_the_limit_is_known_at_once() {
        let mut decoder = Decoder::new(Framing::Prefixed);
        let mut buffer = BytesMut::from(&b"\0\x10\0\x01"[..]);
        assert_eq!(decoder.next(&mut buffer, MAX_MESSAGE), Some(Incoming::TooLarge));
        let mut buffer = BytesMut::from(&b"\0\x10\0\0"[..]);
        assert_eq!(decoder.next(&mut buffer, MAX_MESSAGE), None);
        assert_eq!(decoder.next(&mut buffer, SMALL_MESSAGE), Some(Incoming::Over));
    }

    #[test]
    fn a_line_of_the_limit_passes_and_one_more_byte_does_not() {
        let mut line = vec![b'x'; MAX_MESSAGE];
        let mut decoder = Decoder::new(Framing::Lines);
        let mut buffer = BytesMut::from(&line[..]);
        assert_eq!(decoder.next(&mut buffer, MAX_MESSAGE), None);
        buffer.extend_from_slice(b"\n");
        let read = decoder.next(&mut buffer, MAX_MESSAGE);
        assert_eq!(read, Some(Incoming::Message(line[..].into())));
        line.push(b'x');
        let read = decoder.next(&mut BytesMut::from(&line[..]), MAX_MESSAGE);
        assert_eq!(read, Some(Incoming::TooLarge));
    }

    /// Everything in a stream, with what is over the limit skipped, in pieces of a size.
    pub(super) fn read_skipping(
        framing: Framing,
        stream: &[u8],
        limit: usize,
        piece: usize,
    ) -> Vec<Incoming> {
        let mut decoder = Decoder::new(framing);
        let mut buffer = BytesMut::new();
        let mut all = Vec::new();
        for bytes in stream.chunks(piece) {
            buffer.extend_from_slice(bytes);
            while let Some(incoming) = decoder.next(&mut buffer, limit) {
                match incoming {
                    Incoming::Over => decoder.skip(&mut buffer),
                    Incoming::TooLarge => {
                        all.push(Incoming::TooLarge);
                        return all;
                    }
                    other => all.push(other),
                }
            }
            assert!(buffer.len() <= limit + piece + 14, "what is skipped is not stored");
        }
        all
    }

    #[test]
    fn a_long_message_is_skipped_unstored_and_the_next_one_is_read() {
        let long = "x".repeat(50);
        let lines = format!("{long}\n[1]\n{long}{long}\n{{}}\n");
        let prefixed = [b"\0\0\0\x32", long.as_bytes(), b"\0\0\0\x03[1]"].concat();
        for piece in [1, 7, 1000] {
            let all = read_skipping(Framing::Lines, lines.as_bytes(), 20, piece);
            let wanted = [Incoming::Skipped, message("[1]"), Incoming::Skipped, message("{}")];
            assert_eq!(all, wanted, "{piece}");
            let all = read_skipping(Framing::Prefixed, &prefixed, 20, piece);
            assert_eq!(all, [Incoming::Skipped, message("[1]")], "{piece}");
        }
    }

    #[test]
    fn a_line_that_never_ends_is_not_skipped_for_ever() {
        let all = read_skipping(Framing::Lines, &vec![b'x'; MAX_MESSAGE + 100], 20, 8192);
        assert_eq!(all.first(), Some(&Incoming::TooLarge));
    }
}
