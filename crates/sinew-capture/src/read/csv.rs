//! The log of a serial tap: `timestamp_us,TX|RX,AA BB CC …`, TX being the host's side.
//!
//! A tap of datagrams adds their ends, `,FROM,TO`: such a row is handed out as the packet it was.
//!
//! Rows of pins (`GPIO`, `GPIO_INIT`) and comments (`#`) stand between.

use std::net::SocketAddr;

use super::{Chunk, End, Packet, Record, window::Window};
use crate::write::{IP_LINK, udp_packet};

/// A longer line is stepped over.
const LONGEST_LINE: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct Reader {
    bytes: Vec<u8>,
    /// Lines that are none of the log's.
    pub(super) strange: u64,
}

/// What a line is.
enum Line {
    Data { time: i64, from_host: bool, ends: Option<(SocketAddr, SocketAddr)> },
    Other,
    Strange,
}

impl Reader {
    /// Whether a file is such a log: its first line that is no comment is a row, or a heading above one.
    pub(super) fn is_log(front: &[u8]) -> bool {
        let lines = front.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        let is_row = |line: Option<&[u8]>| {
            let Some(line) = line else { return false };
            let mut fields = line.splitn(3, |byte| *byte == b',');
            let is_number = fields.next().is_some_and(|time| number(time).is_some());
            let side = fields.next().map(<[u8]>::trim_ascii);
            is_number && matches!(side, Some(b"TX" | b"RX" | b"GPIO" | b"GPIO_INIT"))
        };
        let first = lines.next();
        is_row(first)
            || first.is_some_and(|line| line.starts_with(b"timestamp")) && is_row(lines.next())
    }

    pub(super) fn next<'r>(&'r mut self, window: &mut Window) -> Result<Record<'r>, End> {
        loop {
            let (length, is_whole) = line(window)?;
            let text = window.bytes().get(..length).unwrap_or_default();
            let line = read(text, &mut self.bytes);
            window.advance(length + usize::from(is_whole));
            match line {
                Line::Data { time, ends: Some((from, to)), .. } => {
                    match udp_packet(from, to, &self.bytes) {
                        Some(packet) => {
                            self.bytes = packet;
                            let length = self.bytes.len() as u32;
                            let (link, bytes) = (IP_LINK, &self.bytes[..]);
                            return Ok(Record::Packet(Packet { time, link, length, bytes }));
                        }
                        // Ends of two versions of IP, or more than fits into a packet.
                        None => self.strange += 1,
                    }
                }
                Line::Data { time, from_host, ends: None } => {
                    let (from_host, bytes) = (Some(from_host), &self.bytes[..]);
                    return Ok(Record::Chunk(Chunk { time, from_host, bytes }));
                }
                Line::Strange if !is_whole => return Err(End::CutOff),
                Line::Strange => self.strange += 1,
                Line::Other => {}
            }
        }
    }
}

/// The length of the next line, and whether its end is there.
fn line(window: &mut Window) -> Result<(usize, bool), End> {
    let mut wanted = 4096;
    loop {
        let is_there = window.fill(wanted);
        if let Some(length) = window.bytes().iter().position(|byte| *byte == b'\n') {
            return Ok((length, true));
        }
        if !is_there {
            let length = window.bytes().len();
            return if length == 0 { Err(End::Whole) } else { Ok((length, false)) };
        }
        if wanted >= LONGEST_LINE {
            let available = window.bytes().len();
            window.advance(available);
        } else {
            wanted *= 4;
        }
    }
}

fn read(line: &[u8], bytes: &mut Vec<u8>) -> Line {
    let line = line.trim_ascii();
    if line.is_empty() || line.starts_with(b"#") {
        return Line::Other;
    }
    let mut fields = line.splitn(5, |byte| *byte == b',');
    let time = fields.next().and_then(number);
    let side = fields.next().map(<[u8]>::trim_ascii);
    let (Some(time), Some(side)) = (time, side) else { return Line::Strange };
    let from_host = match side {
        b"TX" => true,
        b"RX" => false,
        b"GPIO" | b"GPIO_INIT" => return Line::Other,
        _ => return Line::Strange,
    };
    if !hex(fields.next().unwrap_or_default(), bytes) {
        return Line::Strange;
    }
    let ends = match (fields.next(), fields.next()) {
        (None, _) => None,
        (Some(from), to) => match (address(from), to.and_then(address)) {
            (Some(from), Some(to)) => Some((from, to)),
            _ => return Line::Strange,
        },
    };
    Line::Data { time: time.saturating_mul(1000), from_host, ends }
}

fn address(text: &[u8]) -> Option<SocketAddr> {
    str::from_utf8(text).ok()?.trim().parse().ok()
}

fn number(text: &[u8]) -> Option<i64> {
    str::from_utf8(text).ok()?.trim().parse().ok().filter(|number| *number >= 0)
}

/// Reads pairs of digits; what stands between them is spaces. Says whether there is nothing else.
fn hex(text: &[u8], bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    let digits = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let mut words = text.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    words.all(|word| {
        let (pairs, odd) = word.as_chunks::<2>();
        odd.is_empty()
            && pairs.iter().all(|pair| {
                let byte = digits(pair).filter(|_| pair.iter().all(u8::is_ascii_hexdigit));
                bytes.extend(byte);
                byte.is_some()
            })
    })
}
