//! Files of every kind, whole and in part.

use std::io::Write;

use sinew_capture::{End, Error, Format};

use crate::{
    inspect, protocols, try_inspect,
    write::{self, ENDS, Order, Stamped},
};

const MAGICS: [u32; 3] = [0xA1B2_C3D4, 0xA1B2_3C4D, 0xA1B2_CD34];

fn packets(count: u64) -> Vec<Stamped> {
    (0..count).map(|number| (5_000_000 + number * 250_000, write::udp(ENDS, b"hello"))).collect()
}

#[test]
fn both_orders_and_all_units_of_time_are_read() {
    for order in [Order::Big, Order::Little] {
        for magic in MAGICS {
            let unit = if magic == 0xA1B2_3C4D { 1000 } else { 1 };
            let packets: Vec<_> =
                packets(5).into_iter().map(|(time, packet)| (time * unit, packet)).collect();
            let report = inspect(&write::pcap_as(order, magic, 101, &packets));
            assert_eq!((report.format, report.packets), (Format::Pcap, 5), "{order:?} {magic:x}");
            assert_eq!((report.duration, report.end), (1_000_000_000, End::Whole));
            assert_eq!(report.bytes, 5 * 33);
        }
    }
}

/// Every kind of block that the format has, and some that it does not.
fn blocks(order: Order) -> Vec<u8> {
    let packet = write::udp(ENDS, b"hello");
    let length = order.u32(packet.len() as u32);
    let mut file = write::section(order);
    file.extend(write::interface(order, 101, &[(2, b"lo"), (0, &[])]));
    // Nanoseconds, and seconds that are added.
    let offset = match order {
        Order::Big => 7_i64.to_be_bytes(),
        Order::Little => 7_i64.to_le_bytes(),
    };
    file.extend(write::interface(order, 101, &[(9, &[9]), (14, &offset), (0, &[])]));
    // Parts of 2^10 seconds.
    file.extend(write::interface(order, 1, &[(9, &[0x8A])]));
    file.extend(write::enhanced(order, 0, 8_000_000, &packet));
    file.extend(write::enhanced(order, 1, 1_250_000_000, &packet));
    file.extend(write::enhanced(order, 2, 8704, &write::ethernet(0x0800, &packet)));
    // The obsolete packet block, and the simple one.
    let mut body = [order.u16(0), order.u16(0), order.u16(0), order.u16(0)].concat();
    body.extend(order.u32(8_750_000));
    body.extend([length, length].concat());
    body.extend(&packet);
    file.extend(write::block(order, 2, &body));
    file.extend(write::block(order, 3, &[&length[..], &packet].concat()));
    // Names, statistics, secrets, a journal's entry, custom ones, and what no document knows.
    for kind in [4, 5, 9, 10, 0x0BAD, 0x4000_0BAD, 0x8000_0001] {
        file.extend(write::block(order, kind, &[0xAB; 40]));
    }
    // An interface that was not described.
    file.extend(write::enhanced(order, 99, 9_000_000, &packet));
    file
}

#[test]
fn every_kind_of_block_is_read_or_stepped_over() {
    for order in [Order::Big, Order::Little] {
        let report = inspect(&blocks(order));
        assert_eq!((report.format, report.packets), (Format::Pcapng, 6), "{order:?}");
        assert_eq!(protocols(&report), [("unknown", 5)]);
        // 8 s, 7 + 1.25 s, 8704 / 1024 s, 8.75 s, the same for the one without a time, and the last too.
        assert_eq!((report.flows[0].first, report.flows[0].last), (0, 750_000_000));
        assert!(report.notes[0].contains("link type 65535"), "{:?}", report.notes);
    }
}

#[test]
fn a_new_section_may_have_the_other_order() {
    let file = [blocks(Order::Big), blocks(Order::Little), blocks(Order::Big)].concat();
    let report = inspect(&file);
    assert_eq!((report.packets, report.end), (18, End::Whole));
    assert_eq!(protocols(&report), [("unknown", 15)]);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn packed_files_are_unpacked_by_their_content() {
    let file = write::pcap(101, &packets(300));
    let plain = inspect(&file);
    let (front, rest) = file.split_at(1000);
    // One piece, two pieces, and of zstd one that is to be skipped between.
    let skipped = [&[0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3][..]].concat();
    for packed in [
        gzip(&file),
        [gzip(front), gzip(rest)].concat(),
        zstd(&file),
        [zstd(front), skipped, zstd(rest)].concat(),
    ] {
        let report = inspect(&packed);
        assert_eq!((report.format, report.end), (Format::Pcap, End::Whole));
        assert_eq!((report.packets, report.bytes), (plain.packets, plain.bytes));
    }
}

/// Every beginning of a file is read as far as it goes: packets only grow in number, and what is missing
/// is noticed.
fn every_beginning(file: &[u8], whole: u64) {
    let mut before = 0;
    for length in 0..=file.len() {
        match try_inspect(&file[..length]) {
            Ok(report) => {
                assert!(report.packets >= before && report.packets <= whole, "at {length}");
                before = report.packets;
                assert!(report.packets == whole || length < file.len());
                assert!(
                    !(report.end == End::Whole && length < file.len()) || report.packets < whole
                );
            }
            Err(error) => {
                assert!(before == 0, "at {length}: {error}");
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert_eq!(before, whole);
}

#[test]
fn a_file_may_end_anywhere() {
    every_beginning(&write::pcap(101, &packets(4)), 4);
    every_beginning(&write::pcap_as(Order::Big, MAGICS[1], 101, &packets(2)), 2);
    every_beginning(&blocks(Order::Little), 6);
    every_beginning(&gzip(&write::pcapng(101, &packets(3))), 3);
    every_beginning(&zstd(&write::pcapng(101, &packets(3))), 3);
}

#[test]
fn what_is_cut_off_is_said() {
    let file = write::pcap(101, &packets(4));
    let report = inspect(&file[..file.len() - 1]);
    assert_eq!((report.packets, report.end), (3, End::CutOff));
    assert!(report.is_truncated());
    assert_eq!(report.to_json("x")["truncated"], true);
    let packed = gzip(&file);
    assert!(inspect(&packed[..packed.len() - 12]).is_truncated());
}

#[test]
fn of_packed_data_that_is_cut_off_at_most_a_block_is_lost() {
    let mut random = fastrand::Rng::with_seed(12);
    let noise =
        |random: &mut fastrand::Rng| -> Vec<u8> { (0..1000).map(|_| random.u8(..)).collect() };
    let packets: Vec<write::Stamped> =
        (0..600).map(|index| (index, write::udp(write::ENDS, &noise(&mut random)))).collect();
    let packed = zstd(&write::pcap(101, &packets));
    // Noise does not become smaller, so that the place of the cut is that of the file; a block is 128 KiB.
    for length in [200_000, 300_000, 400_000, 599_000] {
        let report = inspect(&packed[..length]);
        assert_eq!(report.end, End::CutOff, "{length}");
        let whole = (length as u64 - (128 << 10)) / 1100;
        assert!(report.packets >= whole, "{length}: {} of {whole}", report.packets);
        let said = report.notes.join(" ");
        assert!(said.contains("the packed data is cut off"), "{said}");
    }
    let mut damaged = packed;
    damaged[300_000..].fill(0xFF);
    let report = inspect(&damaged);
    assert!(report.is_truncated() && report.packets > 100, "{}", report.packets);
}

#[test]
fn what_is_no_capture_is_refused() {
    assert!(matches!(try_inspect(b""), Err(Error::Empty)));
    assert!(matches!(try_inspect(b"hello world, this is a text\n"), Err(Error::Unknown)));
    assert!(matches!(try_inspect(&[0; 5000]), Err(Error::Unknown)));
    assert!(matches!(try_inspect(&0xA1B2_C3D4_u32.to_be_bytes()), Err(Error::CutOff)));
    let mut random = fastrand::Rng::with_seed(3);
    let noise: Vec<_> = (0..100_000).map(|_| random.u8(..)).collect();
    assert!(matches!(try_inspect(&noise), Err(Error::Unknown)));
}

#[test]
fn lengths_that_are_impossible_end_the_file() {
    let mut file = write::pcap(101, &packets(1));
    file.extend([0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]);
    let report = inspect(&file);
    assert!(matches!(report.end, End::Damaged(_)));
    assert_eq!(report.packets, 1);
    for length in [0_u32, 8, 13, 0xFFFF_FFFF] {
        let mut file = write::pcapng(101, &packets(1));
        file.extend([6_u32.to_le_bytes(), length.to_le_bytes(), [0; 4], [0; 4]].concat());
        let report = inspect(&file);
        assert_eq!((report.packets, report.is_truncated()), (1, true), "{length}");
    }
}

#[test]
fn a_packet_that_is_longer_than_any_is_looked_at_in_part() {
    let long = write::udp(ENDS, &vec![7; 60_000]);
    let mut huge = long.clone();
    huge.resize(3 << 20, 0);
    for file in [
        write::pcap(101, &[(1, huge.clone()), (2, long.clone())]),
        write::pcapng(101, &[(1, huge.clone()), (2, long.clone())]),
    ] {
        let report = inspect(&file);
        assert_eq!((report.packets, report.end), (2, End::Whole));
        assert_eq!(protocols(&report), [("unknown", 2)]);
        assert_eq!(report.bytes, (3 << 20) + 60_028);
    }
}
