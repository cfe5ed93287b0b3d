//! From a link's packet to what a program sent: link, VLAN, IP, fragments, UDP and TCP.
//!
//! Check sums are not looked at: what was captured on its way out has wrong ones (they are made by the
//! network card), and wrong ones must hide nothing.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

use crate::{
    fragment::{Fragments, Part},
    identify::Protocol,
    read::Packet,
    stream::Order,
};

/// Tags of virtual networks, and headers that IPv6 has before the one that counts.
const MAX_HEADERS: usize = 8;

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// IPv4 addresses are kept mapped into IPv6's.
    address: u128,
    /// None where the transport has no ports.
    pub port: Option<u16>,
}

/// What carries a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// A stream.
    Tcp,
    /// Another protocol of IP, by its number.
    Ip(u8),
    /// A serial line.
    Serial,
}

/// What a program sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Who sent it.
    pub from: Endpoint,
    /// To whom.
    pub to: Endpoint,
    /// By what.
    pub transport: Transport,
    /// What was captured of it.
    pub payload: &'a [u8],
    /// How long it was.
    pub length: usize,
    /// Packets that it came in, and their bytes on the wire.
    pub frames: (u32, u64),
    /// Where in its stream it belongs.
    pub order: Option<Order>,
}

/// What a packet turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// A payload, or the last piece of one.
    Segment(Segment<'a>),
    /// A piece of one whose others are yet to come.
    Held,
    /// Not IP: the number of what it is (ARP is 0x0806).
    NotIp(u16),
    /// Of a link that is not known.
    UnknownLink,
    /// Too short for what it says it is.
    Short,
}

impl Endpoint {
    /// An address and its port.
    pub fn new(address: IpAddr, port: Option<u16>) -> Self {
        let address = match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().into(),
            IpAddr::V6(address) => address.into(),
        };
        Endpoint { address, port }
    }

    /// The address.
    pub fn ip(&self) -> IpAddr {
        let address = Ipv6Addr::from(self.address);
        address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4)
    }
}

/// Takes a packet apart.
#[inline]
pub fn parse<'a>(packet: &Packet<'a>, fragments: &'a mut Fragments) -> Parsed<'a> {
    let bytes = packet.bytes;
    let Some((kind, ip)) = link(packet.link, bytes) else {
        let known = matches!(packet.link, 0 | 1 | 12 | 14 | 101 | 108 | 113 | 228 | 229 | 276);
        return if known { Parsed::Short } else { Parsed::UnknownLink };
    };
    let header = match (kind, ip.first().map(|byte| byte >> 4)) {
        (0x0800, _) => ipv4(ip),
        (0x86DD, _) => ipv6(ip),
        // Raw IP: the version says which.
        (0, Some(4)) => ipv4(ip),
        (0, Some(6)) => ipv6(ip),
        (0, _) => return Parsed::Short,
        (other, _) => return Parsed::NotIp(other),
    };
    let Some(header) = header else { return Parsed::Short };
    let frames = (1, u64::from(packet.length));
    let Some(part) = header.part else {
        return Parsed::Segment(header.segment(header.payload, header.length, frames));
    };
    match fragments.join(packet.time, header.key(part.id), &part, header.payload, frames) {
        Some((payload, frames)) => Parsed::Segment(header.segment(payload, payload.len(), frames)),
        None => Parsed::Held,
    }
}

/// What of a packet is IP, and the number of its kind; 0 where only its version tells.
#[inline]
fn link(link: u16, bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (kind, mut rest) = match link {
        // Ethernet
        1 => (u16_at(bytes, 12)?, bytes.get(14..)?),
        // Raw IP
        12 | 14 | 101 => (0, bytes),
        228 => (0x0800, bytes),
        229 => (0x86DD, bytes),
        // Linux, cooked
        113 => (u16_at(bytes, 14)?, bytes.get(16..)?),
        276 => (u16_at(bytes, 0)?, bytes.get(20..)?),
        // A family of addresses in the order of the machine that captured; 24, 28 and 30 are IPv6 on
        // one system or another. What follows IP says its version.
        0 | 108 => (0, bytes.get(4..)?),
        _ => return None,
    };
    let mut kind = kind;
    for _ in 0..MAX_HEADERS {
        if !matches!(kind, 0x8100 | 0x88A8 | 0x9100) {
            break;
        }
        (kind, rest) = (u16_at(rest, 2)?, rest.get(4..)?);
    }
    Some((kind, rest))
}

/// What IP says of its payload.
struct Header<'a> {
    from: u128,
    to: u128,
    protocol: u8,
    payload: &'a [u8],
    /// How long the payload was on the wire.
    length: usize,
    part: Option<Part>,
}

impl<'a> Header<'a> {
    fn key(&self, id: u32) -> (u128, u128, u8, u32) {
        (self.from, self.to, self.protocol, id)
    }

    #[inline]
    fn segment<'s>(&self, bytes: &'s [u8], length: usize, frames: (u32, u64)) -> Segment<'s> {
        let ends = |ports: Option<(u16, u16)>| {
            let end = |address, port| Endpoint { address, port };
            (end(self.from, ports.map(|ports| ports.0)), end(self.to, ports.map(|ports| ports.1)))
        };
        let ports = u16_at(bytes, 0).zip(u16_at(bytes, 2));
        let other = || {
            let (from, to) = ends(None);
            let transport = Transport::Ip(self.protocol);
            Segment { from, to, transport, payload: bytes, length, frames, order: None }
        };
        match (self.protocol, ports) {
            (17, Some(_)) => {
                let Some(payload) = bytes.get(8..) else { return other() };
                let (from, to) = ends(ports);
                let declared = u16_at(bytes, 4).map_or(0, usize::from);
                // 0 in a jumbogram, and anything in a damaged one: then all of IP's payload counts.
                let length = match declared.checked_sub(8) {
                    Some(declared) if declared <= length.saturating_sub(8) => declared,
                    _ => length.saturating_sub(8),
                };
                let payload = payload.get(..length).unwrap_or(payload);
                let transport = Transport::Udp;
                Segment { from, to, transport, payload, length, frames, order: None }
            }
            (6, Some(_)) => {
                let Some(offset) = bytes.get(12).map(|byte| usize::from(byte >> 4) * 4) else {
                    return other();
                };
                let (from, to) = ends(ports);
                let offset = offset.max(20);
                let payload = bytes.get(offset..).unwrap_or_default();
                let length = length.saturating_sub(offset);
                let number = bytes.get(4..8).and_then(<[u8]>::first_chunk).copied();
                let order = Some(Order {
                    sequence: number.map_or(0, u32::from_be_bytes),
                    begins: bytes.get(13).is_some_and(|flags| flags & 2 != 0),
                });
                let transport = Transport::Tcp;
                Segment { from, to, transport, payload, length, frames, order }
            }
            _ => other(),
        }
    }
}

#[inline]
fn ipv4(bytes: &[u8]) -> Option<Header<'_>> {
    let fixed: &[u8; 20] = bytes.first_chunk()?;
    let size = usize::from(fixed[0] & 0x0F) * 4;
    if size < 20 {
        return None;
    }
    let captured = bytes.get(size..)?;
    // 0 where a network card was left to cut the packet.
    let length = match usize::from(u16::from_be_bytes([fixed[2], fixed[3]])) {
        0 => captured.len(),
        total => total.checked_sub(size)?,
    };
    let place = u16::from_be_bytes([fixed[6], fixed[7]]);
    let (more, offset) = (place & 0x2000 != 0, usize::from(place & 0x1FFF) * 8);
    let part = (more || offset > 0).then(|| Part {
        id: u16::from_be_bytes([fixed[4], fixed[5]]).into(),
        offset,
        more,
    });
    let address = |at: usize| {
        let [a, b, c, d] = *fixed.get(at..).and_then(<[u8]>::first_chunk).unwrap_or(&[0; 4]);
        0xFFFF_0000_0000 | u128::from(u32::from_be_bytes([a, b, c, d]))
    };
    let payload = captured.get(..length).unwrap_or(captured);
    let (from, to) = (address(12), address(16));
    Some(Header { from, to, protocol: fixed[9], payload, length, part })
}

fn ipv6(bytes: &[u8]) -> Option<Header<'_>> {
    let fixed: &[u8; 40] = bytes.first_chunk()?;
    let captured = bytes.get(40..)?;
    let mut length = match u16::from_be_bytes([fixed[4], fixed[5]]) {
        // A jumbogram, whose length is an option; or left to a network card.
        0 => captured.len(),
        length => length.into(),
    };
    let mut payload = captured.get(..length).unwrap_or(captured);
    let mut protocol = fixed[6];
    let mut part = None;
    for _ in 0..MAX_HEADERS {
        let &[next, size, ..] = payload else { break };
        let size = match protocol {
            // Hop by hop, routing, destination, mobility
            0 | 43 | 60 | 135 => usize::from(size) * 8 + 8,
            // Authentication
            51 => usize::from(size) * 4 + 8,
            44 => {
                let place = u16_at(payload, 2)?;
                let id = payload.get(4..8).and_then(<[u8]>::first_chunk)?;
                let (offset, more) = (usize::from(place & 0xFFF8), place & 1 != 0);
                // One that is alone is whole.
                part = (more || offset > 0).then(|| Part {
                    id: u32::from_be_bytes(*id),
                    offset,
                    more,
                });
                8
            }
            _ => break,
        };
        protocol = next;
        payload = payload.get(size..)?;
        length = length.saturating_sub(size);
        if part.is_some() {
            break;
        }
    }
    let address = |at: usize| {
        let bytes = fixed.get(at..).and_then(<[u8]>::first_chunk).unwrap_or(&[0; 16]);
        u128::from_be_bytes(*bytes)
    };
    let (from, to) = (address(8), address(24));
    Some(Header { from, to, protocol, payload, length, part })
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ip(), self.port) {
            (ip, None) => write!(f, "{ip}"),
            (IpAddr::V4(ip), Some(port)) => write!(f, "{ip}:{port}"),
            (IpAddr::V6(ip), Some(port)) => write!(f, "[{ip}]:{port}"),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
            Transport::Serial => "serial",
            Transport::Ip(number) => match Protocol::Ip(*number).name() {
                "unknown" => return write!(f, "ip-{number}"),
                name => name,
            },
        })
    }
}

/// The two ends of a serial line.
pub(crate) const LINE: [Endpoint; 2] =
    [Endpoint { address: 0, port: None }, Endpoint { address: 1, port: None }];
