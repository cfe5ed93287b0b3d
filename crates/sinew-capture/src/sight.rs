//! One payload, for those who want to see each.

use std::fmt;

use sinew_wire::teach;

use crate::{
    identify::{Class, Protocol, Seen},
    line::Piece,
    net::{Endpoint, LINE, Transport},
};

/// A payload and what it was found to be.
#[derive(Debug)]
pub struct Sight<'a> {
    /// Which record of the file it came with, from 1 on.
    pub number: u64,
    /// Nanoseconds since the file's first record.
    pub since: i64,
    /// Who sent it.
    pub from: Endpoint,
    /// To whom.
    pub to: Endpoint,
    /// By what.
    pub transport: Transport,
    /// What it is.
    pub protocol: Protocol,
    /// How long it was.
    pub length: usize,
    /// What was captured of it.
    pub payload: &'a [u8],
    /// Its command, where there is one, or what would be taken for one.
    pub command: Option<u8>,
    pub(crate) what: What<'a>,
}

/// Where a payload comes from: what is known before it is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) number: u64,
    pub(crate) since: i64,
    pub(crate) from: Endpoint,
    pub(crate) to: Endpoint,
    pub(crate) transport: Transport,
}

impl Place {
    pub(crate) const fn sight<'a>(
        self,
        protocol: Protocol,
        (payload, length): (&'a [u8], usize),
        command: Option<u8>,
        what: What<'a>,
    ) -> Sight<'a> {
        let Place { number, since, from, to, transport } = self;
        Sight { number, since, from, to, transport, protocol, length, payload, command, what }
    }
}

#[derive(Debug)]
pub(crate) enum What<'a> {
    Payload(&'a Seen<'a>),
    Piece(Piece<'a>),
}

impl Sight<'_> {
    /// The name of who sent it, and of whom it was sent to.
    pub fn ends(&self) -> (String, String) {
        (named(self.from, self.transport), named(self.to, self.transport))
    }
}

/// What an end is called.
pub(crate) fn named(end: Endpoint, transport: Transport) -> String {
    match transport {
        Transport::Serial if end == LINE[0] => "host".into(),
        Transport::Serial => "device".into(),
        _ => end.to_string(),
    }
}

/// What it is, in a line.
impl fmt::Display for Sight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = |f: &mut fmt::Formatter<'_>, id: u8| {
            write!(f, "0x{id:02X} {}", self.protocol.command(id))
        };
        match &self.what {
            What::Piece(Piece::Rubbish(_)) => f.write_str("no frame"),
            What::Piece(Piece::Gd32(frame)) => {
                command(f, frame.command())?;
                frame.payload().iter().take(16).try_for_each(|byte| write!(f, " {byte:02X}"))
            }
            What::Piece(Piece::Delta2d(frame)) => command(f, frame.command()),
            What::Payload(seen) => match seen {
                Seen::Stun(stun) => {
                    let class = match stun.class {
                        Class::Request => "request",
                        Class::Indication => "indication",
                        Class::Success => "answer",
                        Class::Error => "error",
                    };
                    match stun.method {
                        1 => write!(f, "binding {class}"),
                        other => write!(f, "method {other} {class}"),
                    }
                }
                Seen::Dtls(records) => {
                    for (index, (_, record)) in records.iter().enumerate() {
                        let comma = if index == 0 { "" } else { "; " };
                        let content = record.content().map_or("record".into(), |c| c.to_string());
                        let (epoch, sequence) = (record.epoch(), record.sequence());
                        write!(f, "{comma}{content}, epoch {epoch}, sequence {sequence}")?;
                    }
                    Ok(())
                }
                Seen::Teach(taught) => {
                    let name = teach::Command::from(taught.command).name();
                    let crc = match taught.fits {
                        Some(true) => "CRC right",
                        Some(false) => "CRC wrong",
                        None => "cut off by the capture",
                    };
                    let (id, sequence, layout) = (taught.command, taught.sequence, taught.layout);
                    write!(f, "0x{id:02X} {name}, sequence {sequence}, {layout}, {crc}")
                }
                Seen::Rtp(rtp) => {
                    let (kind, sequence, source) = (rtp.kind, rtp.sequence, rtp.source);
                    write!(f, "payload type {kind}, sequence {sequence}, source {source:08x}")
                }
                Seen::Rtcp(rtcp) => {
                    write!(f, "report type {}, source {:08x}", rtcp.kind, rtcp.source)
                }
                Seen::Discovery { is_question: true } => f.write_str("question"),
                Seen::Discovery { is_question: false } => f.write_str("answer"),
                Seen::Other(_) | Seen::Unknown => {
                    self.payload.iter().take(16).try_for_each(|byte| write!(f, "{byte:02x} "))
                }
            },
        }
    }
}
