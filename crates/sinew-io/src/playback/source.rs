//! What of a file is played.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use sinew_capture::{
    Capture, End, Fragments, Line, Piece,
    net::{self, Endpoint, Parsed, Transport},
    read::{Chunk, Packet, Record},
};
use sinew_wire::{
    gd32::{Command, Sender},
    teach,
};

use super::Played;

/// Frames of a dump without times are this far apart.
const PERIOD_NS: i64 = 10_000_000;

/// A side of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The computer's.
    Host,
    /// The robot's.
    Controller,
}

/// A part of a file.
pub(super) enum Item {
    /// A frame or a datagram of the side that is played, and its nanosecond.
    Piece(i64, Vec<u8>),
    /// Bytes of the other side.
    Other(Vec<u8>),
    /// Something of the side that is played that cannot be.
    LeftOut(&'static str),
}

/// A file that is played.
pub(super) struct Source {
    capture: Capture,
    side: Side,
    is_serial: bool,
    line: Line,
    /// The time of the last piece.
    time: i64,
    fragments: Fragments,
    /// The two ends of the flow that is played: the host's, and the robot's.
    flow: Option<(Endpoint, Endpoint)>,
    items: Vec<Item>,
    ended: bool,
    /// Records of the other kind: packets where a line is played, bytes of a line where datagrams are.
    strange: u64,
}

impl Source {
    pub(super) fn open(
        file: &Path,
        side: Side,
        is_serial: bool,
        read: Arc<AtomicU64>,
    ) -> Result<Self, String> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let source: Box<dyn Read> = match file.as_os_str() == "-" {
            true => Box::new(io::stdin()),
            false => Box::new(File::open(file).map_err(|error| named(&error))?),
        };
        let capture = Capture::open(Counted(source, read)).map_err(|error| named(&error))?;
        Ok(Source {
            capture,
            side,
            is_serial,
            line: Line::new(),
            time: 0,
            fragments: Fragments::default(),
            flow: None,
            items: Vec::new(),
            ended: false,
            strange: 0,
        })
    }

    /// What the next record holds; none at the end.
    pub(super) fn next_items(&mut self) -> Option<std::vec::Drain<'_, Item>> {
        let Source { capture, side, line, items, time, .. } = self;
        match capture.next_record() {
            Some(Record::Chunk(chunk)) if self.is_serial => {
                chunk_items(*side, line, items, time, &chunk);
            }
            Some(Record::Packet(packet)) if !self.is_serial => {
                packet_items(*side, &mut self.flow, &mut self.fragments, items, &packet);
            }
            Some(_) => self.strange += 1,
            None if self.ended => return None,
            None => {
                self.ended = true;
                line.finish(|piece| items.push(of_piece(*time, &piece)));
            }
        }
        Some(self.items.drain(..))
    }

    /// What is said when there is nothing to play.
    pub(super) fn nothing_found(&self) -> String {
        let side = match self.side {
            Side::Host => "the host's",
            Side::Controller => "the controller's",
        };
        match (self.strange > 0, self.is_serial) {
            (true, true) => {
                "it holds packets of a network, and no serial line: wanted --to udp:HOST".into()
            }
            (true, false) => {
                "it holds a serial line, and no datagrams: wanted --to serial:PORT".into()
            }
            (false, true) => format!("no frames of {side} side are in it"),
            (false, false) => format!(
                "no teaching datagrams of {side} side are in it; what is encrypted (DTLS) cannot be \
                 played again (`sinew inspect` tells)"
            ),
        }
    }

    /// How far it was read, and what was not understood.
    pub(super) fn played(&self) -> Played {
        // While there may be more, it is not known.
        let cut_off = self.capture.end().is_some_and(|end| end != End::Whole);
        Played { cut_off, strange_lines: self.capture.strange_lines(), stopped: false }
    }
}

fn of_piece(time: i64, piece: &Piece<'_>) -> Item {
    match piece {
        Piece::Rubbish(_) => Item::LeftOut("no frame"),
        frame => Item::Piece(time, frame.bytes().to_vec()),
    }
}

fn chunk_items(
    side: Side,
    line: &mut Line,
    items: &mut Vec<Item>,
    last: &mut i64,
    chunk: &Chunk<'_>,
) {
    let Chunk { time, from_host, bytes } = *chunk;
    let is_host = side == Side::Host;
    match from_host {
        Some(from_host) if from_host != is_host => items.push(Item::Other(bytes.to_vec())),
        Some(_) => {
            *last = time;
            line.push(time, bytes, |piece| items.push(of_piece(time, &piece)));
        }
        // Of a dump the frames say who sent them, as far as they do.
        None => line.push(0, bytes, |piece| {
            let by_host = match &piece {
                Piece::Gd32(frame) => {
                    let command = Command::from(frame.command());
                    Sender::guess(command, frame.payload().len()) == Sender::Host
                }
                Piece::Delta2d(_) => false,
                Piece::Rubbish(_) => is_host,
            };
            if by_host != is_host {
                return items.push(Item::Other(piece.bytes().to_vec()));
            }
            *last += PERIOD_NS;
            items.push(of_piece(*last, &piece));
        }),
    }
}

fn packet_items(
    side: Side,
    flow: &mut Option<(Endpoint, Endpoint)>,
    fragments: &mut Fragments,
    items: &mut Vec<Item>,
    packet: &Packet<'_>,
) {
    let Parsed::Segment(segment) = net::parse(packet, fragments) else { return };
    if segment.transport != Transport::Udp || teach::Datagram::new_checked(segment.payload).is_err()
    {
        return;
    }
    let (from, to) = (segment.from, segment.to);
    // The robot is where its service is; elsewhere the first to speak is the host.
    let (host, robot) = *flow.get_or_insert(match from.port == Some(teach::PORT) {
        true => (to, from),
        false => (from, to),
    });
    let from_host = match (from, to) {
        ends if ends == (host, robot) => true,
        ends if ends == (robot, host) => false,
        _ => return items.push(Item::LeftOut("of another flow")),
    };
    let bytes = segment.payload.to_vec();
    items.push(match from_host == (side == Side::Host) {
        true => Item::Piece(packet.time, bytes),
        false => Item::Other(bytes),
    });
}

/// Counts what is read.
struct Counted(Box<dyn Read>, Arc<AtomicU64>);

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
