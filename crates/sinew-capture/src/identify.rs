//! What a payload is, by its bytes.
//!
//! Ports are a hint, and only where the bytes say nothing.

mod handshake;
mod media;
mod stun;
mod words;

use std::fmt;

use sinew_wire::{
    delta2d, discovery, dtls, explain, gd32, slam,
    teach::{self, Layout},
};

pub(crate) use media::{Rtcp, Rtp};
pub(crate) use stun::{Class, Stun};

/// What a flow's payloads are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "their names are their documentation")]
pub enum Protocol {
    Stun,
    Dtls,
    Srtp,
    Srtcp,
    Teach,
    Slam,
    Voxel,
    Unitree,
    Gd32,
    Delta2d,
    Discovery,
    Sangamio,
    /// One that is told by its first words.
    Http,
    Tls,
    Ssh,
    /// Named by a port, with the port.
    Hint(&'static str, u16),
    /// Another protocol of IP, by its number.
    Ip(u8),
    Unknown,
}

impl Protocol {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Stun => "stun",
            Protocol::Dtls => "dtls",
            Protocol::Srtp => "srtp",
            Protocol::Srtcp => "srtcp",
            Protocol::Teach => "teach",
            Protocol::Slam => "slam",
            Protocol::Voxel => "voxel",
            Protocol::Unitree => "unitree",
            Protocol::Gd32 => "gd32",
            Protocol::Delta2d => "delta2d",
            Protocol::Discovery => "discovery",
            Protocol::Sangamio => "sangamio",
            Protocol::Http => "http",
            Protocol::Tls => "tls",
            Protocol::Ssh => "ssh",
            Protocol::Hint(name, _) => name,
            Protocol::Ip(1) => "icmp",
            Protocol::Ip(2) => "igmp",
            Protocol::Ip(47) => "gre",
            Protocol::Ip(50) => "esp",
            Protocol::Ip(58) => "icmpv6",
            Protocol::Ip(132) => "sctp",
            Protocol::Ip(_) => "unknown",
            Protocol::Unknown => "unknown",
        }
    }

    /// All names that there are.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        let own = [
            Protocol::Stun,
            Protocol::Dtls,
            Protocol::Srtp,
            Protocol::Srtcp,
            Protocol::Teach,
            Protocol::Slam,
            Protocol::Voxel,
            Protocol::Unitree,
            Protocol::Gd32,
            Protocol::Delta2d,
            Protocol::Discovery,
            Protocol::Sangamio,
            Protocol::Http,
            Protocol::Tls,
            Protocol::Ssh,
            Protocol::Unknown,
        ];
        let of_ip = [1, 2, 47, 50, 58, 132].map(Protocol::Ip);
        let named = own.into_iter().chain(of_ip).map(Protocol::name);
        named.chain(HINTS.iter().map(|hint| hint.1)).chain(["quic"])
    }

    /// Whether more is kept of it than counts, where there is room.
    pub(crate) const fn has_details(self) -> bool {
        matches!(
            self,
            Protocol::Stun
                | Protocol::Dtls
                | Protocol::Teach
                | Protocol::Srtp
                | Protocol::Srtcp
                | Protocol::Discovery
        )
    }

    /// What a command's byte is called; a record that passes for a teaching datagram has its names.
    pub(crate) fn command(self, id: u8) -> &'static str {
        match self {
            Protocol::Teach | Protocol::Dtls => teach::Command::from(id).name(),
            Protocol::Gd32 => gd32::Command::from(id).name(),
            Protocol::Delta2d => delta2d::Command::from(id).name(),
            _ => "Unknown",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a datagram is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Seen<'a> {
    Stun(Stun),
    Dtls(Records<'a>),
    Teach(Teach<'a>),
    Rtp(Rtp),
    Rtcp(Rtcp),
    /// A question, or an answer.
    Discovery {
        is_question: bool,
    },
    /// Another that is told by its bytes.
    Other(Protocol),
    /// None of them.
    Unknown,
}

/// A teaching datagram by its header and length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Teach<'a> {
    pub(crate) layout: Layout,
    pub(crate) sequence: u16,
    pub(crate) command: u8,
    /// Whether the CRC is right; none where it was not captured.
    pub(crate) fits: Option<bool>,
    /// Between header and CRC, as far as it was captured.
    pub(crate) payload: &'a [u8],
}

/// The DTLS records that a datagram consists of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Records<'a> {
    pub(crate) bytes: &'a [u8],
    /// How long the datagram was.
    pub(crate) length: usize,
}

impl Seen<'_> {
    pub(crate) fn protocol(&self) -> Protocol {
        match self {
            Seen::Stun(_) => Protocol::Stun,
            Seen::Dtls(_) => Protocol::Dtls,
            Seen::Teach(_) => Protocol::Teach,
            Seen::Rtp(_) => Protocol::Srtp,
            Seen::Rtcp(_) => Protocol::Srtcp,
            Seen::Discovery { .. } => Protocol::Discovery,
            Seen::Other(protocol) => *protocol,
            Seen::Unknown => Protocol::Unknown,
        }
    }
}

/// Says what a datagram is that was `length` bytes long, of which `bytes` were captured.
#[inline]
pub(crate) fn datagram(bytes: &[u8], length: usize) -> Seen<'_> {
    let Some(first) = bytes.first() else { return Seen::Unknown };
    // WebRTC puts several protocols on one port, told apart by the first byte (RFC 7983).
    let seen = match first {
        0..=3 => Stun::parse(bytes, length).map(Seen::Stun),
        20..=63 => secured(bytes, length),
        128..=191 => media::parse(bytes),
        b'{' => discovered(bytes),
        _ => None,
    };
    seen.or_else(|| other(bytes, length)).unwrap_or(Seen::Unknown)
}

/// A teaching datagram, or the DTLS record that it is mistaken for: both may begin alike.
fn secured(bytes: &[u8], length: usize) -> Option<Seen<'_>> {
    let taught = bytes.starts_with(&teach::MAGIC).then(|| taught(bytes, length)).flatten();
    match taught {
        Some(taught) if taught.fits == Some(true) => return Some(Seen::Teach(taught)),
        _ => {}
    }
    let records = Records { bytes, length };
    if records.fit() {
        return Some(Seen::Dtls(records));
    }
    taught.map(Seen::Teach)
}

fn taught(bytes: &[u8], length: usize) -> Option<Teach<'_>> {
    if bytes.len() == length
        && let Ok(datagram) = teach::Datagram::new_checked(bytes)
    {
        let teach::Datagram { layout, sequence, command, payload, .. } = datagram;
        return Some(Teach { layout, sequence: sequence.0, command, fits: Some(true), payload });
    }
    let fits = |layout: &Layout| layout.declared_len(bytes) == Some(length);
    let layout = [Layout::Documented, Layout::Compact].into_iter().find(fits)?;
    let word = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).copied();
    let command = *bytes.get(layout.header_len() - 3)?;
    let payload = bytes.get(layout.header_len()..).unwrap_or_default();
    let payload = payload.get(..length.saturating_sub(layout.overhead())).unwrap_or(payload);
    let sequence = word(6).map_or(0, u16::from_be_bytes);
    let fits = (bytes.len() == length).then_some(false);
    Some(Teach { layout, sequence, command, fits, payload })
}

impl<'a> Records<'a> {
    /// Whether the first record ends with the datagram, or others follow it up to its end.
    fn fit(&self) -> bool {
        // Most are alone.
        if let &[20..=23, 0xFE, 0xFD | 0xFF, _, _, _, _, _, _, _, _, high, low, ..] = self.bytes
            && dtls::HEADER_LEN + usize::from(u16::from_be_bytes([high, low])) == self.length
        {
            return true;
        }
        let mut end = 0;
        for (at, record) in self.iter() {
            end = at + record.length();
        }
        end > 0 && end == self.length
    }

    /// The command that the teaching documents would find in it: the low byte of the first record's
    /// number.
    pub(crate) fn command(&self) -> Option<u8> {
        let is_alike = self.bytes.starts_with(&teach::MAGIC);
        is_alike.then(|| self.bytes.get(10).copied()).flatten()
    }

    /// The records with their places. The last may not have been captured whole.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, Record<'a>)> {
        let (bytes, length) = (self.bytes, self.length);
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = bytes.get(at..)?;
            let record = match dtls::Record::split(rest) {
                Ok((record, _)) => Record { whole: Some(record), front: rest },
                // Cut by the capture: the header says how long it was.
                Err(_) => {
                    let cut = Record { whole: None, front: rest };
                    let is_cut = bytes.len() < length
                        && at + cut.length() <= length
                        && matches!(rest, [20..=23, 0xFE, 0xFD | 0xFF, ..]);
                    (is_cut && rest.len() >= dtls::HEADER_LEN).then_some(cut)?
                }
            };
            let place = at;
            at += record.length();
            Some((place, record))
        })
    }
}

/// A record of a datagram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    whole: Option<dtls::Record<'a>>,
    /// From its header on.
    front: &'a [u8],
}

impl<'a> Record<'a> {
    pub(crate) fn length(&self) -> usize {
        let declared = self.front.get(11..13).and_then(<[u8]>::first_chunk).copied();
        dtls::HEADER_LEN + usize::from(declared.map_or(0, u16::from_be_bytes))
    }

    pub(crate) fn content(&self) -> Option<dtls::Content> {
        dtls::Content::try_from([*self.front.first()?]).ok()
    }

    pub(crate) fn version(&self) -> u16 {
        self.front.get(1..3).and_then(<[u8]>::first_chunk).copied().map_or(0, u16::from_be_bytes)
    }

    pub(crate) fn epoch(&self) -> u16 {
        self.front.get(3..5).and_then(<[u8]>::first_chunk).copied().map_or(0, u16::from_be_bytes)
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.front
            .get(5..11)
            .unwrap_or_default()
            .iter()
            .fold(0, |n, byte| n << 8 | u64::from(*byte))
    }

    /// Its body, as far as it was captured.
    pub(crate) fn fragment(&self) -> &'a [u8] {
        match &self.whole {
            Some(record) => record.fragment,
            None => self.front.get(dtls::HEADER_LEN..).unwrap_or_default(),
        }
    }

    /// Whether it would pass for a teaching datagram.
    pub(crate) fn looks_taught(&self) -> bool {
        self.front.starts_with(&teach::MAGIC)
    }

    /// What a server chose, if this is its hello.
    pub(crate) fn cipher_suite(&self) -> Option<u16> {
        (self.content()? == dtls::Content::Handshake && self.epoch() == 0)
            .then(|| handshake::cipher_suite(self.fragment()))
            .flatten()
    }
}

fn discovered(bytes: &[u8]) -> Option<Seen<'_>> {
    const MOST: usize = 2048;
    let name = discovery::NAME.as_bytes();
    let is_named = || bytes.windows(name.len()).any(|window| window == name);
    if bytes.len() > MOST || !is_named() {
        return None;
    }
    let is_question = discovery::Question::parse(bytes).is_some();
    let is_one = is_question || discovery::Answer::parse(bytes).is_some();
    is_one.then_some(Seen::Discovery { is_question })
}

fn other(bytes: &[u8], length: usize) -> Option<Seen<'_>> {
    let protocol = if gd32::Frame::new_checked(bytes).is_ok() {
        Protocol::Gd32
    } else if delta2d::Frame::new_checked(bytes).is_ok() {
        Protocol::Delta2d
    } else if slam::Message::looks_like(bytes) {
        enveloped(bytes)
    } else if words::is_sangamio(bytes, Some(length)) {
        Protocol::Sangamio
    } else {
        return None;
    };
    Some(Seen::Other(protocol))
}

fn enveloped(bytes: &[u8]) -> Protocol {
    match explain::recognise(bytes) {
        explain::Proto::Voxel => Protocol::Voxel,
        explain::Proto::Unitree => Protocol::Unitree,
        _ => Protocol::Slam,
    }
}

/// Says what a stream is by a segment of it, or what a datagram is that begins with nothing known; this
/// takes longer, so that only the first of a flow are asked about.
pub(crate) fn searched(bytes: &[u8], is_stream: bool) -> Option<Protocol> {
    if is_stream && let Some(protocol) = words::stream(bytes) {
        return Some(protocol);
    }
    match explain::recognise(bytes) {
        explain::Proto::Gd32 => {
            // The header alone is two bytes; a frame that is right is proof.
            let mut frames = gd32::Deframer::new();
            frames.push(bytes, |_| {});
            (frames.counters().frames > 0).then_some(Protocol::Gd32)
        }
        explain::Proto::Delta2d => {
            let mut frames = delta2d::Deframer::with(delta2d::Delta2d::STRICT);
            frames.push(bytes, |_| {});
            (frames.counters().frames > 0).then_some(Protocol::Delta2d)
        }
        explain::Proto::Slam => Some(Protocol::Slam),
        explain::Proto::Voxel => Some(Protocol::Voxel),
        explain::Proto::Unitree => Some(Protocol::Unitree),
        explain::Proto::Teach | explain::Proto::Dtls | explain::Proto::Unknown => None,
    }
}

/// Whether a stream of this consists of messages with a header that has their length.
pub(crate) const fn has_messages(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Sangamio | Protocol::Slam | Protocol::Voxel)
}

/// How long the header of such a message is.
pub(crate) const fn header(protocol: Protocol) -> usize {
    if matches!(protocol, Protocol::Sangamio) { 4 } else { 8 }
}

/// Whether such a message begins here.
pub(crate) fn begins(protocol: Protocol, bytes: &[u8]) -> bool {
    match protocol {
        Protocol::Sangamio => words::is_sangamio(bytes, None),
        _ => bytes.get(8) == Some(&b'{'),
    }
}

/// What a port is usually used for.
pub(crate) fn hint(is_stream: bool, ports: [Option<u16>; 2]) -> Option<Protocol> {
    let [a, b] = ports;
    let is_used = |port: u16| a == Some(port) || b == Some(port);
    let (port, name) = *HINTS.iter().find(|row| is_used(row.0))?;
    Some(Protocol::Hint(if port == 443 && !is_stream { "quic" } else { name }, port))
}

/// Ports and what is behind them; of 443 what a stream is.
const HINTS: [(u16, &str); 16] = [
    (53, "dns"),
    (67, "dhcp"),
    (68, "dhcp"),
    (80, "http"),
    (123, "ntp"),
    (137, "netbios"),
    (443, "tls"),
    (546, "dhcpv6"),
    (547, "dhcpv6"),
    (853, "dns"),
    (1883, "mqtt"),
    (1900, "ssdp"),
    (5353, "mdns"),
    (5355, "llmnr"),
    (8080, "http"),
    (8883, "mqtt"),
];

pub(crate) use handshake::suite_name;
