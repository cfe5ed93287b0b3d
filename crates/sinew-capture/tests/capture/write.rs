//! Writes captures, apart from all that reads them.

/// The order of bytes in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Big,
    Little,
}

impl Order {
    pub(crate) fn u16(self, number: u16) -> [u8; 2] {
        if self == Order::Big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    pub(crate) fn u32(self, number: u32) -> [u8; 4] {
        if self == Order::Big { number.to_be_bytes() } else { number.to_le_bytes() }
    }
}

/// A packet with its time in microseconds.
pub(crate) type Stamped = (u64, Vec<u8>);

/// A file of the classic format, of the little order and with microseconds.
pub(crate) fn pcap(link: u32, packets: &[Stamped]) -> Vec<u8> {
    pcap_as(Order::Little, 0xA1B2_C3D4, link, packets)
}

/// The same, as wanted. With the magic of nanoseconds times are those.
pub(crate) fn pcap_as(order: Order, magic: u32, link: u32, packets: &[Stamped]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(order.u32(magic));
    file.extend([order.u16(2), order.u16(4)].concat());
    file.extend([order.u32(0), order.u32(0), order.u32(65_535), order.u32(link)].concat());
    let unit = if magic == 0xA1B2_3C4D { 1_000_000_000 } else { 1_000_000 };
    for (time, packet) in packets {
        let length = order.u32(packet.len() as u32);
        file.extend(order.u32((time / unit) as u32));
        file.extend(order.u32((time % unit) as u32));
        file.extend([length, length].concat());
        if magic == 0xA1B2_CD34 {
            file.extend([0; 8]);
        }
        file.extend(packet);
    }
    file
}

/// A block of the newer format.
pub(crate) fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32(12 + padded as u32);
    let mut block = [order.u32(kind), length].concat();
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}

pub(crate) fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1A2B_3C4D).to_vec();
    body.extend([order.u16(1), order.u16(0)].concat());
    body.extend([0xFF; 8]);
    block(order, 0x0A0D_0D0A, &body)
}

/// An interface with options: code and value.
pub(crate) fn interface(order: Order, link: u16, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = [order.u16(link), order.u16(0)].concat();
    body.extend(order.u32(0));
    for (code, value) in options {
        body.extend([order.u16(*code), order.u16(value.len() as u16)].concat());
        body.extend(*value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(order, 1, &body)
}

/// A packet with the ticks of its time.
pub(crate) fn enhanced(order: Order, interface: u32, ticks: u64, packet: &[u8]) -> Vec<u8> {
    let mut body = order.u32(interface).to_vec();
    body.extend([order.u32((ticks >> 32) as u32), order.u32(ticks as u32)].concat());
    let length = order.u32(packet.len() as u32);
    body.extend([length, length].concat());
    body.extend(packet);
    block(order, 6, &body)
}

/// A file of the newer format with one interface.
pub(crate) fn pcapng(link: u16, packets: &[Stamped]) -> Vec<u8> {
    let order = Order::Little;
    let mut file = [section(order), interface(order, link, &[])].concat();
    packets.iter().for_each(|(time, packet)| file.extend(enhanced(order, 0, *time, packet)));
    file
}

/// Ends of a flow: the last byte of an IPv4 address, and a port.
pub(crate) type Ends = ((u8, u16), (u8, u16));

pub(crate) const ENDS: Ends = ((10, 41_000), (3, 7000));

pub(crate) fn back((from, to): Ends) -> Ends {
    (to, from)
}

fn udp_header(ends: Ends, payload: &[u8]) -> Vec<u8> {
    let mut bytes = [ends.0.1.to_be_bytes(), ends.1.1.to_be_bytes()].concat();
    bytes.extend(((8 + payload.len()) as u16).to_be_bytes());
    // No right check sum is all ones and all zeros at once for these payloads.
    bytes.extend([0xDE, 0xAD]);
    bytes
}

pub(crate) fn udp(ends: Ends, payload: &[u8]) -> Vec<u8> {
    let body = [udp_header(ends, payload), payload.to_vec()].concat();
    ipv4(ends, 17, 0, &body)
}

/// A segment without a number, as programs write it that make captures by hand.
pub(crate) fn tcp(ends: Ends, payload: &[u8]) -> Vec<u8> {
    tcp_at(ends, 0, payload)
}

/// A segment whose first byte has this number.
pub(crate) fn tcp_at(ends: Ends, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut body = [ends.0.1.to_be_bytes(), ends.1.1.to_be_bytes()].concat();
    body.extend(sequence.to_be_bytes());
    body.extend([0; 4]);
    body.extend([0x50, 0x18, 0xFF, 0xFF, 0, 0, 0, 0]);
    body.extend(payload);
    ipv4(ends, 6, 0, &body)
}

/// An IPv4 packet, `place` being flags and offset of a fragment.
pub(crate) fn ipv4(ends: Ends, protocol: u8, place: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend(((20 + body.len()) as u16).to_be_bytes());
    bytes.extend([0x12, 0x34]);
    bytes.extend(place.to_be_bytes());
    bytes.extend([64, protocol, 0xBE, 0xEF]);
    bytes.extend([192, 168, 86, ends.0.0, 192, 168, 86, ends.1.0]);
    bytes.extend(body);
    bytes
}

pub(crate) fn ipv6_udp(ends: Ends, payload: &[u8]) -> Vec<u8> {
    let body = [udp_header(ends, payload), payload.to_vec()].concat();
    ipv6(ends, 17, &body)
}

pub(crate) fn ipv6(ends: Ends, next: u8, body: &[u8]) -> Vec<u8> {
    let address = |last: u8| [&[0xFD, 0][..], &[0; 13], &[last]].concat();
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend((body.len() as u16).to_be_bytes());
    bytes.extend([next, 64]);
    bytes.extend([address(ends.0.0), address(ends.1.0)].concat());
    bytes.extend(body);
    bytes
}

pub(crate) fn ethernet(kind: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    bytes.extend(kind.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// A DTLS record of application data, with a body that is as good as encrypted.
pub(crate) fn record(random: &mut fastrand::Rng, sequence: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0x17, 0xFE, 0xFD, 0, 1];
    bytes.extend(&sequence.to_be_bytes()[2..]);
    bytes.extend((length as u16).to_be_bytes());
    bytes.extend((0..length).map(|_| random.u8(..)));
    bytes
}
