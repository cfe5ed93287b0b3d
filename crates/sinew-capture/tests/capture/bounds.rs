//! Nothing that a file says makes memory grow, and nothing breaks it.

use proptest::prelude::*;
use sinew_capture::MAX_FLOWS;

use crate::{
    inspect, try_inspect,
    write::{self, ENDS},
};

#[test]
fn flows_beyond_the_limit_are_counted() {
    let packets: Vec<_> = (0..MAX_FLOWS as u32 + 500)
        .map(|n| {
            let mut packet = write::udp(((10, 1), (3, 2)), b"x");
            packet[12..16].copy_from_slice(&n.to_be_bytes());
            (u64::from(n), packet)
        })
        .collect();
    let report = inspect(&write::pcap(101, &packets));
    assert_eq!(report.flows.len(), MAX_FLOWS);
    assert_eq!(report.packets, packets.len() as u64);
    assert!(report.notes[0].contains("500 packets belong to flows beyond"), "{:?}", report.notes);
}

#[test]
fn flows_without_room_for_details_are_said() {
    let mut random = fastrand::Rng::with_seed(6);
    let packets: Vec<_> = (0..3000_u16)
        .map(|n| {
            let mut packet = write::udp(ENDS, &write::record(&mut random, 7, 20));
            packet[12..14].copy_from_slice(&n.to_be_bytes());
            (u64::from(n), packet)
        })
        .collect();
    let report = inspect(&write::pcap(101, &packets));
    assert_eq!((report.flows.len(), report.verdicts.len()), (3000, 2048));
    assert!(report.flows.iter().all(|flow| flow.protocol.name() == "dtls"));
    assert!(report.notes[0].contains("952 flows are only counted"), "{:?}", report.notes);
}

#[test]
fn rows_of_commands_beyond_the_limit_are_counted() {
    let mut random = fastrand::Rng::with_seed(6);
    let packets: Vec<_> = (0..40_000_u64)
        .map(|n| {
            let mut packet = write::udp(ENDS, &write::record(&mut random, n % 256, 20));
            packet[12..14].copy_from_slice(&((n / 256) as u16).to_be_bytes());
            (n, packet)
        })
        .collect();
    let report = inspect(&write::pcap(101, &packets));
    let counted: u64 = report.commands.iter().map(|row| row.count).sum();
    assert_eq!(counted, 32_768);
    assert!(report.notes[0].contains("7,232 commands are not"), "{:?}", report.notes);
    assert_eq!(report.packets, 40_000);
}

#[test]
fn pieces_of_many_datagrams_are_bounded() {
    let packets: Vec<_> = (0..5000_u16)
        .map(|n| {
            let mut packet = write::ipv4(ENDS, 17, 0x2000, &[0; 64]);
            packet[4..6].copy_from_slice(&n.to_be_bytes());
            (0, packet)
        })
        .collect();
    let report = inspect(&write::pcap(101, &packets));
    assert!(report.notes[0].contains("5,000 packets are pieces"), "{:?}", report.notes);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, kind in 0..4_usize, link in 0..300_u32) {
        let file = match kind {
            0 => bytes,
            1 => write::pcap(link, &[(0, bytes.clone()), (1, bytes)]),
            2 => [write::section(write::Order::Big), bytes].concat(),
            _ => write::pcap(101, &[(0, write::udp(ENDS, &bytes)), (1, write::tcp(ENDS, &bytes))]),
        };
        if let Ok(report) = try_inspect(&file) {
            let _ = report.to_json("x");
        }
    }

    #[test]
    fn a_flipped_bit_is_survived(at: prop::sample::Index, bit in 0..8_u8) {
        let mut random = fastrand::Rng::with_seed(1);
        let packets: Vec<_> = (0..5)
            .map(|n| (n, write::udp(ENDS, &write::record(&mut random, n, 50))))
            .collect();
        for mut file in [write::pcap(101, &packets), write::pcapng(101, &packets)] {
            let at = at.index(file.len());
            file[at] ^= 1 << bit;
            let _ = try_inspect(&file);
        }
    }
}
