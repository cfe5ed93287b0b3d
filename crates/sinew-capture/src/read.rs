//! What is in a file: packets or bytes of a serial line, in order, out of a bounded buffer.

mod compressed;
mod csv;
mod pcap;
mod pcapng;
mod window;

use std::{
    fmt,
    io::{self, Read},
};

use sinew_wire::{delta2d, gd32};

use window::Window;

/// What is looked at of a longer packet.
pub const LONGEST: usize = 256 << 10;
/// What is looked at to tell a serial dump from anything else.
const FRONT: usize = 64 << 10;
/// A serial dump is handed out in pieces of this.
const PIECE: usize = 16 << 10;
/// The link type of a serial line's bytes in pcap and pcapng: the first of those that are free for use
/// (`DLT_USER0`). A packet's direction says who sent: outbound is the host.
pub const SERIAL_LINK: u16 = 147;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The classic format of packets.
    Pcap,
    /// The newer one.
    Pcapng,
    /// The log of a tap.
    Csv,
    /// Bytes as they came from a serial line.
    Serial,
}

/// Something that was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// Of a network.
    Packet(Packet<'a>),
    /// Of a serial line.
    Chunk(Chunk<'a>),
}

/// A packet of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Nanoseconds since 1970.
    pub time: i64,
    /// What it begins with, by the numbers of tcpdump.org.
    pub link: u16,
    /// How long it was on the wire.
    pub length: u32,
    /// What was captured of it, at most [`LONGEST`].
    pub bytes: &'a [u8],
}

/// Bytes of a serial line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Nanoseconds since some time; 0 where there are no times.
    pub time: i64,
    /// Which side sent them, where that is known.
    pub from_host: Option<bool>,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// How a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Behind its last record.
    Whole,
    /// In the middle of a record, or of what it is packed in.
    CutOff,
    /// What follows cannot be read.
    Damaged(&'static str),
}

/// Why nothing can be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system says so.
    Read(io::Error),
    /// There is nothing in it.
    Empty,
    /// It ends before its first record.
    CutOff,
    /// It is none of the formats.
    Unknown,
}

/// A file that is read.
pub struct Capture {
    window: Window,
    reader: Reader,
    /// Bytes of the last record, to be stepped over.
    held: u64,
    end: Option<End>,
}

enum Reader {
    Pcap(pcap::Reader),
    Pcapng(pcapng::Reader),
    Csv(csv::Reader),
    Serial,
}

impl Capture {
    /// Begins to read; what it is, the first bytes say.
    pub fn open(source: impl Read + 'static) -> Result<Self, Error> {
        let source = compressed::unpacked(Box::new(source)).map_err(Error::Read)?;
        let mut window = Window::new(source);
        window.fill(4);
        let front = window.bytes();
        let reader = if pcap::Reader::is_magic(front) {
            Reader::Pcap(pcap::Reader::new(&mut window).ok_or(Error::CutOff)?)
        } else if front.starts_with(&pcapng::SECTION) {
            if !window.fill(pcapng::SHORTEST) {
                return Err(Error::CutOff);
            }
            Reader::Pcapng(pcapng::Reader::new())
        } else {
            window.fill(FRONT);
            let front = window.bytes();
            if csv::Reader::is_log(front) {
                Reader::Csv(csv::Reader::default())
            } else if is_serial(front) {
                Reader::Serial
            } else if let Some(error) = window.trouble() {
                return Err(Error::Read(io::Error::new(error.kind(), error.to_string())));
            } else {
                return Err(if front.is_empty() { Error::Empty } else { Error::Unknown });
            }
        };
        Ok(Capture { window, reader, held: 0, end: None })
    }

    /// How the file is written.
    pub const fn format(&self) -> Format {
        match self.reader {
            Reader::Pcap(_) => Format::Pcap,
            Reader::Pcapng(_) => Format::Pcapng,
            Reader::Csv(_) => Format::Csv,
            Reader::Serial => Format::Serial,
        }
    }

    /// The next record; none at the end, of which [`end`](Self::end) tells.
    #[inline]
    pub fn next_record(&mut self) -> Option<Record<'_>> {
        if self.end.is_some() {
            return None;
        }
        let held = std::mem::take(&mut self.held);
        if held > 0 && !self.window.skip(held) {
            self.end = Some(End::CutOff);
            return None;
        }
        let (window, held) = (&mut self.window, &mut self.held);
        let record = match &mut self.reader {
            Reader::Pcap(reader) => reader.next(window, held).map(|packet| of_link(packet, None)),
            Reader::Pcapng(reader) => {
                let packet = reader.next(window, held);
                packet.map(|packet| of_link(packet, reader.is_outbound()))
            }
            Reader::Csv(reader) => reader.next(window),
            Reader::Serial => serial(window, held).map(Record::Chunk),
        };
        record.map_err(|end| self.end = Some(end)).ok()
    }

    /// How the file ended; none as long as there may be more. A stream that failed in its middle, as
    /// one does that was packed and cut off, is cut off.
    pub fn end(&self) -> Option<End> {
        match self.end {
            Some(End::Whole) if self.window.trouble().is_some() => Some(End::CutOff),
            end => end,
        }
    }

    /// What the system said where the stream failed.
    pub fn trouble(&self) -> Option<&io::Error> {
        self.window.trouble()
    }

    /// Where in the unpacked file the next record is.
    pub const fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Lines of a log that are none of its rows.
    pub const fn strange_lines(&self) -> u64 {
        match &self.reader {
            Reader::Csv(reader) => reader.strange,
            _ => 0,
        }
    }
}

/// Whether a file that begins like this is a capture, or packed as one may be.
pub fn looks_like_capture(front: &[u8]) -> bool {
    pcap::Reader::is_magic(front)
        || front.starts_with(&pcapng::SECTION)
        || compressed::is_packed(front)
        || csv::Reader::is_log(front)
}

/// What a packet is, by its link: of a network, or of a serial line.
#[inline]
fn of_link(packet: Packet<'_>, from_host: Option<bool>) -> Record<'_> {
    match packet {
        Packet { link: SERIAL_LINK, time, bytes, .. } => {
            Record::Chunk(Chunk { time, from_host, bytes })
        }
        packet => Record::Packet(packet),
    }
}

fn serial<'w>(window: &'w mut Window, held: &mut u64) -> Result<Chunk<'w>, End> {
    window.fill(PIECE);
    let bytes = window.bytes();
    let bytes = bytes.get(..PIECE.min(bytes.len())).unwrap_or_default();
    *held = bytes.len() as u64;
    if bytes.is_empty() { Err(End::Whole) } else { Ok(Chunk { time: 0, from_host: None, bytes }) }
}

/// Whether there are so many good frames of a serial line that chance does not explain them: one in
/// each 4 kB, of which chance would find one in 4 GB.
fn is_serial(front: &[u8]) -> bool {
    let mut vacuum = gd32::Deframer::new();
    let mut lidar = delta2d::Deframer::with(delta2d::Delta2d::STRICT);
    vacuum.push(front, |_| {});
    vacuum.finish(|_| {});
    lidar.push(front, |_| {});
    lidar.finish(|_| {});
    let frames = vacuum.counters().frames + lidar.counters().frames;
    frames > (front.len() as u64) / 4096
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Pcap => "pcap",
            Format::Pcapng => "pcapng",
            Format::Csv => "csv",
            Format::Serial => "serial",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read(error) => write!(f, "it cannot be read: {error}"),
            Error::Empty => f.write_str("it is empty"),
            Error::CutOff => f.write_str("it ends within its first bytes"),
            Error::Unknown => f.write_str(
                "it is neither pcap nor pcapng, nor a serial tap's log, nor are there frames of a \
                 serial line in it; `sinew decode --raw @FILE` looks at bytes of other kinds",
            ),
        }
    }
}

impl std::error::Error for Error {}
