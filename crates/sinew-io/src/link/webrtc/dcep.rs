//! How a channel is opened on a stream (RFC 8832), where the robot need not answer.
//!
//! ```text
//! SCTP packet   source port u16 | destination port u16 | tag u32 | CRC-32C u32 LE | chunk …
//! DATA chunk    00 | flags | length u16 | TSN u32 | stream u16 | number u16 | PPID u32 | payload …
//! OPEN          03 | type | priority u16 | parameter u32 | label length u16 | protocol length u16 | label …
//! ACK           02
//! ```
//!
//! The stack of a G1 takes OPEN and sends no ACK, and str0m writes nothing on a channel whose OPEN
//! was not acknowledged. So the channel is one that was agreed on beforehand as far as str0m knows,
//! and OPEN and ACK are ordinary messages to it: their PPID is changed on the way between SCTP and
//! DTLS. That holds no state, so repeated chunks come out the same.

use crc::{CRC_32_ISCSI, Crc};

const HEADER: usize = 12;
const DATA: u8 = 0;
/// Of a DATA chunk, before its payload.
const DATA_HEADER: usize = 16;
const CONTROL: u32 = 50;
const BINARY: u32 = 53;
const CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// The channel of all robots: reliable, in order, called "data".
pub(super) const OPEN: &[u8] = b"\x03\x00\x00\x00\0\0\0\0\x00\x04\x00\x00data";
/// Where OPEN has its label's length.
#[cfg(feature = "sim")]
const OPEN_HEADER: usize = 12;
pub(super) const ACK: &[u8] = b"\x02";

/// Whether a message opens a channel.
#[cfg(feature = "sim")]
pub(super) fn is_open(message: &[u8]) -> bool {
    message.len() >= OPEN_HEADER && message.first() == OPEN.first()
}

/// What SCTP sends: OPEN and ACK become control messages.
pub(super) fn outgoing(packet: &mut [u8]) {
    rewrite(packet, |ppid, payload| {
        (ppid == BINARY && (payload == OPEN || payload == ACK)).then_some(CONTROL)
    });
}

/// What SCTP is given: control messages become binary ones.
pub(super) fn incoming(packet: &mut [u8]) {
    rewrite(packet, |ppid, _| (ppid == CONTROL).then_some(BINARY));
}

fn rewrite(packet: &mut [u8], changed: impl Fn(u32, &[u8]) -> Option<u32>) {
    let mut rest = packet.get_mut(HEADER..).unwrap_or_default();
    let mut any = false;
    while let Some([kind, _, high, low]) = rest.first_chunk().copied() {
        let length = usize::from(u16::from_be_bytes([high, low]));
        // Chunks begin at multiples of four; the last need not be filled up.
        let whole = length.next_multiple_of(4).min(rest.len());
        if length < 4 || length > rest.len() {
            break;
        }
        let (chunk, next) = rest.split_at_mut(whole);
        if kind == DATA
            && let Some((header, payload)) = chunk[..length].split_first_chunk_mut::<DATA_HEADER>()
            && let Some(ppid) = header.last_chunk_mut::<4>()
            && let Some(new) = changed(u32::from_be_bytes(*ppid), payload)
        {
            *ppid = new.to_be_bytes();
            any = true;
        }
        rest = next;
    }
    if any {
        packet[8..HEADER].fill(0);
        let sum = CRC32C.checksum(packet);
        packet[8..HEADER].copy_from_slice(&sum.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with these DATA chunks, each a PPID and a payload.
    fn packet(chunks: &[(u32, &[u8])]) -> Vec<u8> {
        let mut packet = vec![0x13, 0x88, 0x13, 0x88, 1, 2, 3, 4, 0, 0, 0, 0];
        // A SACK first: chunks of other kinds are passed over.
        packet.extend([3, 0, 0, 16, 0, 0, 0, 9, 0, 1, 0, 0, 0, 0, 0, 0]);
        for (ppid, payload) in chunks {
            packet.extend([DATA, 3]);
            packet.extend(((DATA_HEADER + payload.len()) as u16).to_be_bytes());
            packet.extend([0, 0, 0, 7, 0, 1, 0, 0]);
            packet.extend(ppid.to_be_bytes());
            packet.extend(*payload);
            packet.resize(packet.len().next_multiple_of(4), 0);
        }
        let sum = CRC32C.checksum(&packet);
        packet[8..12].copy_from_slice(&sum.to_le_bytes());
        packet
    }

    #[test]
    fn open_and_ack_are_control_messages_on_the_wire_and_nothing_else_is() {
        let others: [(u32, &[u8]); 3] = [(51, b"{}"), (53, b"\x02\x00"), (51, OPEN)];
        let inside = packet(&[(53, OPEN), others[0], (53, ACK), others[1], others[2]]);
        let wire = packet(&[(50, OPEN), others[0], (50, ACK), others[1], others[2]]);
        let mut bytes = inside.clone();
        outgoing(&mut bytes);
        assert_eq!(bytes, wire);
        // A chunk that is sent again comes out the same.
        let mut again = inside.clone();
        outgoing(&mut again);
        assert_eq!(again, wire);
        incoming(&mut bytes);
        assert_eq!(bytes, inside);
    }

    #[test]
    fn a_packet_that_is_cut_anywhere_is_left_in_peace() {
        let whole = packet(&[(50, OPEN), (51, b"text")]);
        for end in 0..whole.len() {
            let mut cut = whole[..end].to_vec();
            incoming(&mut cut);
            assert_eq!(cut.len(), end);
        }
        let mut endless = whole;
        endless[14..16].fill(0);
        let before = endless.clone();
        incoming(&mut endless);
        assert_eq!(endless, before, "a chunk without a length ends the packet");
    }
}
