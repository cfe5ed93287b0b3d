//! What a tap writes: rows of its log, and pcapng that Wireshark opens.
//!
//! Everything is appended to a buffer: files, and when they are written, are the caller's.

use std::{
    io::Write as _,
    net::{IpAddr, SocketAddr},
};

pub use crate::read::SERIAL_LINK;

/// The link type of IP packets without anything before them.
pub const IP_LINK: u16 = 101;

/// What stands above a tap's rows.
pub const CSV_HEAD: &str = "# timestamp_us,TX|RX,bytes; TX is host to robot\n";

/// What stands above the rows of a tap of datagrams.
pub const CSV_UDP_HEAD: &str = "# timestamp_us,TX|RX,bytes,from,to; TX is client to target\n";

const UDP: u8 = 17;

/// Appends a row of a tap's log: microseconds, who sent, the bytes; of a datagram also its two ends.
pub fn csv_row(
    out: &mut Vec<u8>,
    micros: u64,
    from_host: bool,
    bytes: &[u8],
    ends: Option<(SocketAddr, SocketAddr)>,
) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let way = if from_host { "TX" } else { "RX" };
    // Writing to a buffer in memory does not fail.
    let _ = write!(out, "{micros},{way},");
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        let [high, low] = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
        out.extend([high, low]);
    }
    if let Some((from, to)) = ends {
        let _ = write!(out, ",{from},{to}");
    }
    out.push(b'\n');
}

/// Appends what a pcapng file begins with: a section by this program, and one interface whose times are
/// nanoseconds.
pub fn pcapng_head(out: &mut Vec<u8>, program: &str, interface: &str, link: u16) {
    let mut section = Vec::new();
    section.extend(0x1A2B_3C4D_u32.to_le_bytes());
    section.extend([1, 0, 0, 0]);
    section.extend(u64::MAX.to_le_bytes());
    option(&mut section, 4, program.as_bytes());
    option(&mut section, 0, &[]);
    block(out, 0x0A0D_0D0A, &section);
    let mut described = Vec::new();
    described.extend(link.to_le_bytes());
    described.extend([0; 2 + 4]);
    option(&mut described, 2, interface.as_bytes());
    option(&mut described, 9, &[9]);
    option(&mut described, 0, &[]);
    block(out, 1, &described);
}

/// Appends a packet, and who sent it.
pub fn pcapng_packet(out: &mut Vec<u8>, nanos: u64, from_host: bool, bytes: &[u8]) {
    let mut body = Vec::with_capacity(bytes.len() + 48);
    body.extend(0_u32.to_le_bytes());
    body.extend(((nanos >> 32) as u32).to_le_bytes());
    body.extend((nanos as u32).to_le_bytes());
    body.extend([bytes.len() as u32; 2].map(u32::to_le_bytes).concat());
    padded(&mut body, bytes);
    let direction: u32 = if from_host { 2 } else { 1 };
    option(&mut body, 2, &direction.to_le_bytes());
    option(&mut body, 0, &[]);
    block(out, 6, &body);
}

/// A datagram as the IP packet that would carry it; none where the two ends are of different versions of
/// IP, or no packet is as long.
pub fn udp_packet(from: SocketAddr, to: SocketAddr, payload: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(payload.len() + 8).ok()?;
    let mut pseudo = Vec::with_capacity(payload.len() + 48);
    let mut packet = Vec::with_capacity(payload.len() + 48);
    match (from.ip(), to.ip()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let total = length.checked_add(20)?;
            packet.extend([0x45, 0]);
            packet.extend(total.to_be_bytes());
            // Not to be cut into fragments.
            packet.extend([0, 0, 0x40, 0, 64, UDP, 0, 0]);
            packet.extend([a.octets(), b.octets()].concat());
            let check = checksum(&packet);
            packet.get_mut(10..12)?.copy_from_slice(&check.to_be_bytes());
            pseudo.extend([a.octets(), b.octets()].concat());
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            packet.extend([0x60, 0, 0, 0]);
            packet.extend(length.to_be_bytes());
            packet.extend([UDP, 64]);
            packet.extend([a.octets(), b.octets()].concat());
            pseudo.extend([a.octets(), b.octets()].concat());
        }
        _ => return None,
    }
    pseudo.extend(u32::from(length).to_be_bytes());
    pseudo.extend(u32::from(UDP).to_be_bytes());
    let mut header = [from.port(), to.port(), length, 0].map(u16::to_be_bytes);
    pseudo.extend(header.concat());
    pseudo.extend(payload);
    // Zero means that there is none, so a sum of zero is written in its other form.
    header[3] = match checksum(&pseudo) {
        0 => [0xFF; 2],
        sum => sum.to_be_bytes(),
    };
    packet.extend(header.concat());
    packet.extend(payload);
    Some(packet)
}

/// The Internet's sum of 16-bit words.
fn checksum(bytes: &[u8]) -> u16 {
    let (words, odd) = bytes.as_chunks::<2>();
    let sum: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    let mut sum = sum + odd.first().map_or(0, |byte| u64::from(*byte) << 8);
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

fn block(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = (body.len() + 12) as u32;
    out.extend([kind, length].map(u32::to_le_bytes).concat());
    out.extend(body);
    out.extend(length.to_le_bytes());
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = value.get(..value.len().min(1024)).unwrap_or_default();
    out.extend([code, value.len() as u16].map(u16::to_le_bytes).concat());
    padded(out, value);
}

/// Bytes, and zeros up to the next four.
fn padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes);
    out.extend(std::iter::repeat_n(0, bytes.len().next_multiple_of(4) - bytes.len()));
}
