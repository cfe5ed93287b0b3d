//! What a tap writes is what is read.

use std::{io::Cursor, net::SocketAddr};

use proptest::prelude::*;
use sinew_capture::{
    Capture, End, Fragments,
    net::{self, Parsed, Transport},
    read::{Chunk, Record},
    write::{
        CSV_HEAD, CSV_UDP_HEAD, IP_LINK, SERIAL_LINK, csv_row, pcapng_head, pcapng_packet,
        udp_packet,
    },
};

use crate::{inspect, protocols};

type Row = (u64, bool, Vec<u8>);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let bytes = prop::collection::vec(any::<u8>(), 1..300);
    prop::collection::vec((0..2_000_000_000_000_000_u64, any::<bool>(), bytes), 1..20)
}

fn read(file: Vec<u8>, unit: u64) -> Vec<Row> {
    let mut capture = Capture::open(Cursor::new(file)).unwrap();
    let mut rows = Vec::new();
    while let Some(record) = capture.next_record() {
        let Record::Chunk(Chunk { time, from_host, bytes }) = record else {
            panic!("{record:?} is of no serial line");
        };
        rows.push((time as u64 / unit, from_host.unwrap(), bytes.to_vec()));
    }
    assert_eq!(capture.end(), Some(End::Whole));
    rows
}

fn pcapng(rows: &[Row]) -> Vec<u8> {
    let mut file = Vec::new();
    pcapng_head(&mut file, "a test", "a line", SERIAL_LINK);
    rows.iter().for_each(|(time, from_host, bytes)| {
        pcapng_packet(&mut file, *time, *from_host, bytes);
    });
    file
}

#[test]
fn rows_of_a_tap_of_datagrams_are_the_packets_they_were() {
    use sinew_wire::teach::{Layout, Message, Sequence};
    let mut file = CSV_UDP_HEAD.as_bytes().to_vec();
    let ends = [("10.0.0.1:5000", "10.0.0.2:49504"), ("[::1]:5000", "[fe80::2]:49504")];
    for (index, (from, to)) in (0..).zip(ends) {
        let ready = Message::Ready { ready: 1, rest: &[] };
        let bytes = ready.to_vec(Layout::Compact, Sequence(index)).unwrap();
        let ends = (from.parse().unwrap(), to.parse().unwrap());
        csv_row(&mut file, 1000 + u64::from(index), true, &bytes, Some(ends));
    }
    for strange in ["1,TX,00,10.0.0.1:5000", "1,TX,00,x,y", "1,TX,00,10.0.0.1:1,[::1]:2"] {
        file.extend(strange.bytes().chain(*b"\n"));
    }
    let report = crate::inspect(&file);
    assert_eq!((report.packets, report.end), (2, End::Whole));
    assert_eq!(crate::protocols(&report), [("teach", 1), ("teach", 1)]);
    let both = report.flows.iter().map(|flow| (flow.a.as_str(), flow.b.as_str()));
    assert_eq!(both.collect::<Vec<_>>(), ends);
    assert!(report.notes.join(" ").contains("3 lines"), "{:?}", report.notes);
}

proptest! {
    #[test]
    fn rows_are_read_as_they_were_written(rows in rows()) {
        let mut file = CSV_HEAD.as_bytes().to_vec();
        rows.iter().for_each(|(time, from_host, bytes)| csv_row(&mut file, *time, *from_host, bytes, None));
        prop_assert_eq!(read(file, 1000), rows);
    }

    #[test]
    fn packets_of_a_line_keep_their_times_and_directions(rows in rows()) {
        prop_assert_eq!(read(pcapng(&rows), 1), rows);
    }

    #[test]
    fn a_file_that_is_cut_off_is_read_up_to_the_last_whole_packet(rows in rows(), cut in 0..100_usize) {
        let mut file = pcapng(&rows);
        let whole = file.len();
        file.truncate((whole - cut).max(200));
        let mut capture = Capture::open(Cursor::new(file)).unwrap();
        let mut count = 0;
        while capture.next_record().is_some() {
            count += 1;
        }
        prop_assert!(count + 1 + cut / 45 >= rows.len(), "{count} of {}", rows.len());
    }

    #[test]
    fn datagrams_are_packets_that_can_be_taken_apart(
        ends in prop_oneof![
            Just(("10.0.0.1:5000", "10.0.0.2:49504")),
            Just(("[::1]:5000", "[fe80::2]:49504")),
        ],
        payload in prop::collection::vec(any::<u8>(), 0..1500),
    ) {
        let (from, to): (SocketAddr, SocketAddr) = (ends.0.parse().unwrap(), ends.1.parse().unwrap());
        let packet = udp_packet(from, to, &payload).unwrap();
        let mut file = Vec::new();
        pcapng_head(&mut file, "a test", "udp", IP_LINK);
        pcapng_packet(&mut file, 1, true, &packet);
        let mut capture = Capture::open(Cursor::new(file)).unwrap();
        let Some(Record::Packet(packet)) = capture.next_record() else { panic!("no packet") };
        let mut fragments = Fragments::default();
        let Parsed::Segment(segment) = net::parse(&packet, &mut fragments) else { panic!("no payload") };
        prop_assert_eq!(segment.transport, Transport::Udp);
        prop_assert_eq!(segment.payload, &payload[..]);
        prop_assert_eq!(segment.from.to_string(), from.to_string());
        prop_assert_eq!(segment.to.to_string(), to.to_string());
    }
}

#[test]
fn two_versions_of_ip_make_no_packet() {
    let (v4, v6) = ("10.0.0.1:1".parse().unwrap(), "[::1]:1".parse().unwrap());
    assert_eq!(udp_packet(v4, v6, b"a"), None);
    assert_eq!(udp_packet(v4, v4, &vec![0; 65_600]), None);
}

#[test]
fn a_serial_line_in_packets_is_one_flow_of_frames() {
    let beat = [0xFA, 0xFB, 0x03, 0x06, 0x00, 0x06].to_vec();
    let report = inspect(&pcapng(&[(1, true, beat.clone()), (2, false, beat)]));
    assert_eq!(protocols(&report), [("gd32", 2)]);
}
