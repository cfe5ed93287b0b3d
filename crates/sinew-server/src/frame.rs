//! Messages on a byte stream: JSON lines, length-prefixed JSON, WebSocket frames.
//!
//! All three are read from and written to plain buffers, so that one connection loop serves them.

mod websocket;

use bytes::{Buf, BytesMut};

pub(crate) use websocket::{Assembly, accept_key};

/// The longest message a client may send.
pub(crate) const MAX_MESSAGE: usize = 1 << 20;

/// How messages stand in a stream.
#[derive(Debug)]
pub(crate) enum Framing {
    /// One per line. Holds how much of the buffer was searched, so that a line that comes one byte
    /// at a time is searched once.
    Lines(usize),
    /// A length, u32 big endian, before each.
    Prefixed,
    /// WebSocket frames. Boxed: most clients have none.
    WebSocket(Box<Assembly>),
}

/// What a client sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    Message(BytesMut),
    /// A message over the limit; what follows in the stream cannot be made sense of.
    TooLarge,
    /// To be sent back as it is.
    Pong(BytesMut),
    /// The client says goodbye, or broke the WebSocket protocol; the bytes to close with.
    Close(Vec<u8>),
}

impl Framing {
    /// Takes the next message out of the buffer, if it is all there.
    pub(crate) fn next(&mut self, buffer: &mut BytesMut) -> Option<Incoming> {
        match self {
            Framing::Lines(searched) => next_line(searched, buffer),
            Framing::Prefixed => next_prefixed(buffer),
            Framing::WebSocket(assembly) => assembly.next(buffer),
        }
    }

    /// Appends a message.
    pub(crate) fn put(&self, message: &[&[u8]], out: &mut Vec<u8>) {
        let length: usize = message.iter().map(|part| part.len()).sum();
        match self {
            Framing::Lines(_) => {}
            // Nothing Sinew sends comes near 4 GiB.
            Framing::Prefixed => out.extend_from_slice(&(length as u32).to_be_bytes()),
            Framing::WebSocket(_) => websocket::put_header(websocket::TEXT, length, out),
        }
        for part in message {
            out.extend_from_slice(part);
        }
        if let Framing::Lines(_) = self {
            out.push(b'\n');
        }
    }

    /// Appends the answer to a ping.
    pub(crate) fn put_pong(&self, payload: &[u8], out: &mut Vec<u8>) {
        websocket::put_header(websocket::PONG, payload.len(), out);
        out.extend_from_slice(payload);
    }

    /// What ends the stream in good order after a message that was too large.
    pub(crate) fn put_farewell(&self, out: &mut Vec<u8>) {
        if let Framing::WebSocket(_) = self {
            out.extend_from_slice(&websocket::close(websocket::TOO_BIG));
        }
    }
}

fn next_line(searched: &mut usize, buffer: &mut BytesMut) -> Option<Incoming> {
    loop {
        let found = buffer.get(*searched..)?.iter().position(|&byte| byte == b'\n');
        let Some(found) = found else {
            *searched = buffer.len();
            return (buffer.len() > MAX_MESSAGE).then_some(Incoming::TooLarge);
        };
        let end = *searched + found;
        *searched = 0;
        let mut line = buffer.split_to(end);
        buffer.advance(1);
        if line.len() > MAX_MESSAGE {
            return Some(Incoming::TooLarge);
        }
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        // An empty line is what a person at a terminal sends.
        if !line.iter().all(u8::is_ascii_whitespace) {
            return Some(Incoming::Message(line));
        }
    }
}

fn next_prefixed(buffer: &mut BytesMut) -> Option<Incoming> {
    let length = u32::from_be_bytes(*buffer.first_chunk()?) as usize;
    if length > MAX_MESSAGE {
        return Some(Incoming::TooLarge);
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

    fn one_byte_at_a_time(mut framing: Framing, stream: &[u8]) -> Vec<Incoming> {
        let mut buffer = BytesMut::new();
        let mut all = Vec::new();
        for &byte in stream {
            buffer.extend_from_slice(&[byte]);
            all.extend(std::iter::from_fn(|| framing.next(&mut buffer)));
        }
        all
    }

    fn message(text: &str) -> Incoming {
        Incoming::Message(text.as_bytes().into())
    }

    #[test]
    fn lines_come_in_any_split() {
        let all = one_byte_at_a_time(Framing::Lines(0), b"{}\r\n\n  \n[1]\nrest");
        assert_eq!(all, [message("{}"), message("[1]")]);
    }

    #[test]
    fn prefixed_messages_come_in_any_split() {
        let all = one_byte_at_a_time(Framing::Prefixed, b"\0\0\0\x02{}\0\0\0\0\0\0\0\x03[1]\0");
        assert_eq!(all, [message("{}"), message(""), message("[1]")]);
    }

    #[test]
    fn a_length_over_the_limit_is_known_at_once() {
        let mut buffer = BytesMut::from(&b"\0\x10\0\x01"[..]);
        assert_eq!(Framing::Prefixed.next(&mut buffer), Some(Incoming::TooLarge));
        let mut buffer = BytesMut::from(&b"\0\x10\0\0"[..]);
        assert_eq!(Framing::Prefixed.next(&mut buffer), None);
    }

    #[test]
    fn a_line_of_the_limit_passes_and_one_more_byte_does_not() {
        let mut line = vec![b'x'; MAX_MESSAGE];
        let mut framing = Framing::Lines(0);
        let mut buffer = BytesMut::from(&line[..]);
        assert_eq!(framing.next(&mut buffer), None);
        buffer.extend_from_slice(b"\n");
        assert_eq!(framing.next(&mut buffer), Some(Incoming::Message(line[..].into())));
        line.push(b'x');
        assert_eq!(framing.next(&mut BytesMut::from(&line[..])), Some(Incoming::TooLarge));
    }
}
