//! From links to payloads.

use sinew_capture::report::Flow;

use crate::{
    filtered, inspect, protocols,
    write::{self, ENDS},
};

fn flow(link: u32, packet: Vec<u8>) -> Flow {
    let report = inspect(&write::pcap(link, &[(0, packet)]));
    let mut flows = report.flows;
    assert_eq!(flows.len(), 1, "link {link}: {:?}", report.notes);
    flows.remove(0)
}

fn addresses(flow: &Flow) -> (&str, &str) {
    (&flow.a, &flow.b)
}

const IPV4: (&str, &str) = ("192.168.86.10:41000", "192.168.86.3:7000");
const IPV6: (&str, &str) = ("[fd00::a]:41000", "[fd00::3]:7000");

#[test]
fn every_link_is_taken_apart() {
    let (four, six) = (write::udp(ENDS, b"hello"), write::ipv6_udp(ENDS, b"hello"));
    let with = |front: &[u8], packet: &[u8]| [front, packet].concat();
    let tagged = |tags: &[&[u8]], packet: &[u8]| {
        write::ethernet(0x8100, &[tags.concat(), packet.to_vec()].concat())
    };
    for (link, packet, wanted) in [
        (1, write::ethernet(0x0800, &four), IPV4),
        (1, write::ethernet(0x86DD, &six), IPV6),
        (1, tagged(&[&[0, 5, 0x08, 0x00]], &four), IPV4),
        (1, tagged(&[&[0, 5, 0x88, 0xA8], &[0, 6, 0x86, 0xDD]], &six), IPV6),
        // Padding of short frames is none of IP's.
        (1, with(&write::ethernet(0x0800, &four), &[0; 9]), IPV4),
        (101, four.clone(), IPV4),
        (101, six.clone(), IPV6),
        (12, four.clone(), IPV4),
        (228, four.clone(), IPV4),
        (229, six.clone(), IPV6),
        (0, with(&[2, 0, 0, 0], &four), IPV4),
        (0, with(&[0, 0, 0, 30], &six), IPV6),
        (108, with(&[0, 0, 0, 2], &four), IPV4),
        (113, with(&[[0; 14].as_slice(), &[0x08, 0x00]].concat(), &four), IPV4),
        (276, with(&[[0x86, 0xDD].as_slice(), &[0; 18]].concat(), &six), IPV6),
    ] {
        let flow = flow(link, packet);
        assert_eq!(addresses(&flow), wanted, "link {link}");
        assert_eq!((flow.transport.as_str(), flow.packets), ("udp", 1));
        assert_eq!(flow.sizes, [(4, 7, 1)], "link {link}");
    }
}

#[test]
fn what_is_not_ip_is_counted() {
    let arp = write::ethernet(0x0806, &[0; 28]);
    let report = inspect(&write::pcap(1, &[(0, arp.clone()), (1, arp), (2, vec![1, 2])]));
    assert_eq!((report.packets, report.flows.len()), (3, 0));
    let notes = report.notes.join(" ");
    assert!(notes.contains("2 packets are not IP: ARP") && notes.contains("1 packet"), "{notes}");
    let report = inspect(&write::pcap(150, &[(0, vec![0; 40])]));
    assert!(report.notes[0].contains("link type 150"), "{:?}", report.notes);
}

#[test]
fn headers_of_ipv6_before_the_one_that_counts_are_passed() {
    let datagram = write::ipv6_udp(ENDS, b"hello")[40..].to_vec();
    let hop = [&[60, 0, 1, 4, 0, 0, 0, 0][..], &[17, 0, 1, 4, 0, 0, 0, 0], &datagram].concat();
    let flow = flow(101, write::ipv6(ENDS, 0, &hop));
    assert_eq!(addresses(&flow), IPV6);
    assert_eq!(flow.sizes, [(4, 7, 1)]);
}

/// A datagram of so many bytes in pieces of `size`, a multiple of 8.
fn pieces(length: usize, size: usize) -> Vec<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(9);
    let record = write::record(&mut random, 70, length - 13);
    let body = write::udp(ENDS, &record)[20..].to_vec();
    let count = body.chunks(size).count();
    let piece = |(index, chunk): (usize, &[u8])| {
        let more = if index + 1 < count { 0x2000 } else { 0 };
        write::ipv4(ENDS, 17, more | (index * size / 8) as u16, chunk)
    };
    body.chunks(size).enumerate().map(piece).collect()
}

#[test]
fn pieces_of_a_datagram_are_joined_in_any_order() {
    let mut random = fastrand::Rng::with_seed(2);
    for size in [8, 64, 1480] {
        let mut pieces = pieces(4000, size);
        for _ in 0..4 {
            let count = pieces.len() as u64;
            let stamp = |piece: &Vec<u8>| (0, piece.clone());
            let report = inspect(&write::pcap(101, &pieces.iter().map(stamp).collect::<Vec<_>>()));
            assert_eq!(protocols(&report), [("dtls", count)], "size {size}");
            assert_eq!(report.commands[0].max_size, 4000);
            assert_eq!(report.packets, count);
            random.shuffle(&mut pieces);
        }
    }
}

#[test]
fn pieces_whose_rest_is_missing_are_counted() {
    let mut pieces = pieces(4000, 1480);
    pieces.remove(1);
    let report =
        inspect(&write::pcap(101, &pieces.into_iter().map(|p| (0, p)).collect::<Vec<_>>()));
    assert!(report.flows.is_empty());
    assert!(report.notes[0].contains("2 packets are pieces"), "{:?}", report.notes);
}

#[test]
fn lengths_that_are_wrong_hide_nothing() {
    let mut random = fastrand::Rng::with_seed(4);
    let good = write::udp(ENDS, &write::record(&mut random, 5, 44));
    // IP's length 0, as of packets that the card cuts; UDP's 0, too long, and too short to be one.
    for (at, value) in [(2, [0, 0]), (24, [0, 0]), (24, [0xFF, 0xFF]), (24, [0, 3])] {
        let mut packet = good.clone();
        packet[at..at + 2].copy_from_slice(&value);
        let flow = flow(101, packet);
        assert_eq!(flow.protocol.name(), "dtls", "{at} {value:?}");
    }
}

#[test]
fn jumbo_and_empty_packets_are_taken() {
    let mut random = fastrand::Rng::with_seed(4);
    let jumbo = write::ethernet(0x0800, &write::udp(ENDS, &write::record(&mut random, 5, 8900)));
    assert_eq!(flow(1, jumbo).protocol.name(), "dtls");
    let empty = flow(101, write::udp(ENDS, b""));
    assert_eq!((empty.protocol.name(), empty.why.as_str()), ("unknown", "no payload"));
    let report = inspect(&write::pcap(1, &[(0, Vec::new())]));
    assert_eq!((report.packets, report.flows.len()), (1, 0));
}

#[test]
fn what_the_capture_cut_is_told_by_its_header() {
    let mut random = fastrand::Rng::with_seed(4);
    let packet = write::udp(ENDS, &write::record(&mut random, 77, 400));
    let mut file = write::pcap(101, &[]);
    file.extend([0_u32, 0, 68, packet.len() as u32].map(u32::to_le_bytes).concat());
    file.extend(&packet[..68]);
    let report = inspect(&file);
    assert_eq!(protocols(&report), [("dtls", 1)]);
    assert_eq!((report.commands[0].id, report.commands[0].max_size), (77, 413));
    assert_eq!(report.bytes, packet.len() as u64);
}

#[test]
fn a_filter_leaves_the_rest_out() {
    let other = ((20, 5), (3, 7000));
    let packets: Vec<_> = (0..10_u64)
        .flat_map(|n| {
            let mut random = fastrand::Rng::with_seed(n);
            let record = write::record(&mut random, n, 44);
            [(n * 1_000_000, write::udp(ENDS, &record)), (n * 1_000_000, write::udp(other, b"x"))]
        })
        .collect();
    let file = write::pcap(101, &packets);
    for (conditions, wanted) in [
        (&["flow=192.168.86.10"][..], 10),
        (&["flow=192.168.86.3:7000"], 20),
        (&["flow=:5"], 10),
        (&["flow=192.168.86.20,192.168.86.3:7000"], 10),
        (&["flow=192.168.86.20,192.168.86.10"], 0),
        (&["flow=:5", "flow=:41000"], 20),
        (&["time=2..4"], 6),
        (&["time=8.5.."], 2),
        (&["protocol=dtls"], 10),
        (&["protocol=dtls,unknown", "time=..0"], 2),
        (&["command=0x03"], 1),
        (&["command=3,4"], 2),
    ] {
        let report = filtered(&file, conditions).unwrap();
        assert_eq!(report.packets, wanted, "{conditions:?}");
    }
    let mut filter = sinew_capture::Filter::default();
    for wrong in [
        "",
        "x",
        "port=3",
        "time=3",
        "time=a..b",
        "time=3..2",
        "time=NaN..",
        "time=..nan",
        "flow=:x",
        "flow=host",
        "command=256",
        "protocol=dlts",
        "protocol=",
        "protocol=dtls,",
    ] {
        assert!(filter.add(wrong).is_err(), "{wrong}");
    }
    for right in ["time=..", "time=2..2", "protocol=quic", "protocol=TLS,mdns,icmpv6"] {
        assert!(filter.add(right).is_ok(), "{right}");
    }
}
