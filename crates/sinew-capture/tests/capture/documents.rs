//! A capture like the one that documents 000 to 002 analyse, by the figures that are known of it.

use sinew_capture::{Kind, Report};
use sinew_wire::teach::{Layout, Message, Sequence};

use crate::{
    inspect,
    write::{self, ENDS, Stamped},
};

/// 5,004 records in 94.9 s, numbers 265 to 5268. Most have 57 bytes; those whose number's low byte is in
/// the documents' table have one of the table's largest size among them.
fn like_the_documents(ports: (u16, u16), numbers: std::ops::RangeInclusive<u64>) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(26);
    let ends = ((10, ports.0), (3, ports.1));
    let first = *numbers.start();
    let packets: Vec<Stamped> = numbers
        .map(|number| {
            let size = match (number & 0xFF, number >> 8) {
                (0x0B, 5) => 125,
                (0x0D, 7) => 161,
                (0x1A, 6) => 125,
                (0x1A | 0x2B, 9) => 233,
                (0x41, 11) => 197,
                _ => 57,
            };
            let time = 1_769_419_704_000_000 + (number - first) * 18_969;
            (time, write::udp(ends, &write::record(&mut random, number, size - 13)))
        })
        .collect();
    write::pcap(101, &packets)
}

fn row(report: &Report, id: u8) -> &sinew_capture::report::Command {
    report.commands.iter().find(|row| row.id == id).unwrap()
}

#[test]
fn the_documents_table_comes_out_and_then_the_verdict_against_it() {
    let report = inspect(&like_the_documents((41_000, 49_504), 265..=5268));
    assert_eq!(report.commands.len(), 256);
    // Count, average, size range and spread as in document 000, whose rate is 0.22 a second; only for 0x0B
    // it has 62.3, which no 20 records between 57 and 125 bytes with one of 125 among 57 can have.
    for (id, average, range) in [
        (0x09, 57.0, (57, 57)),
        (0x0A, 57.0, (57, 57)),
        (0x0B, 60.4, (57, 125)),
        (0x0C, 57.0, (57, 57)),
        (0x0D, 62.2, (57, 161)),
        (0x0E, 57.0, (57, 57)),
        (0x0F, 57.0, (57, 57)),
        (0x1A, 69.2, (57, 233)),
        (0x2B, 65.8, (57, 233)),
        (0x41, 64.0, (57, 197)),
    ] {
        let row = row(&report, id);
        assert!((row.average_size - average).abs() < 0.05, "{row:?}");
        assert_eq!((row.count, (row.min_size, row.max_size)), (20, range), "0x{id:02X}");
        assert!((row.rate_hz - 0.21).abs() < 0.01, "{row:?}");
        assert!((row.share - 20.0 / 5004.0).abs() < 1e-9);
        assert!(row.name != "Unknown");
    }
    let cycle = report.flows[0].cycle.as_ref().unwrap();
    assert!((4.5..5.0).contains(&cycle.period), "{cycle:?}");

    let [verdict] = &report.verdicts[..] else { panic!("{:?}", report.verdicts) };
    assert_eq!(verdict.kind, Kind::DtlsTakenForCommands);
    assert_eq!((verdict.records, verdict.lengths_fit, verdict.crc_valid), (5004, 5004, 0));
    assert_eq!((verdict.first_sequence, verdict.last_sequence), (265, 5268));
    assert_eq!(verdict.sequence_gaps, 0);
    assert!(verdict.entropy_bits > 7.99);
    let text = &verdict.text;
    for words in
        ["not commands", "5,004 of 5,004", "265 to 5,268", "none is missing", "19 to 20 times"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(report.flows[0].protocol.name(), "dtls");
}

#[test]
fn neither_port_nor_count_decides() {
    for ports in [(1, 2), (53, 5353), (49_504, 49_504)] {
        for numbers in [0..=0, 300..=310, 65_530..=66_000, 1 << 24..=(1 << 24) + 3] {
            let count = numbers.end() - numbers.start() + 1;
            let report = inspect(&like_the_documents(ports, numbers.clone()));
            let [verdict] = &report.verdicts[..] else {
                panic!("{ports:?} {numbers:?}: {report:?}")
            };
            assert_eq!(verdict.kind, Kind::DtlsTakenForCommands);
            assert_eq!((verdict.records, verdict.lengths_fit), (count, count));
        }
    }
}

#[test]
fn records_that_are_missing_are_told_and_change_nothing() {
    let mut random = fastrand::Rng::with_seed(1);
    let numbers = (1..2000_u64).filter(|number| number % 100 != 0);
    let packets: Vec<Stamped> = numbers
        .map(|number| (number * 1000, write::udp(ENDS, &write::record(&mut random, number, 60))))
        .collect();
    let report = inspect(&write::pcap(101, &packets));
    let [verdict] = &report.verdicts[..] else { panic!("{:?}", report.verdicts) };
    assert_eq!(verdict.kind, Kind::DtlsTakenForCommands);
    assert_eq!(verdict.sequence_gaps, 19);
    assert!(verdict.text.contains("19 are missing"), "{}", verdict.text);
}

fn taught(layout: Layout, count: u16) -> Vec<Vec<u8>> {
    let ready = Message::Ready { ready: 1, rest: &[] };
    (0..count).map(|number| ready.to_vec(layout, Sequence(number)).unwrap()).collect()
}

fn captured(datagrams: &[Vec<u8>]) -> Report {
    let stamp = |(index, bytes): (usize, &Vec<u8>)| (index as u64 * 1000, write::udp(ENDS, bytes));
    inspect(&write::pcap(101, &datagrams.iter().enumerate().map(stamp).collect::<Vec<_>>()))
}

#[test]
fn real_teaching_datagrams_get_the_opposite_verdict() {
    for layout in [Layout::Documented, Layout::Compact] {
        for count in [1, 2, 600] {
            let report = captured(&taught(layout, count));
            let [verdict] = &report.verdicts[..] else { panic!("{:?}", report.verdicts) };
            assert_eq!(verdict.kind, Kind::TeachingDatagrams, "{layout}");
            let all = u64::from(count);
            assert_eq!((verdict.records, verdict.lengths_fit, verdict.crc_valid), (all, all, all));
            assert_eq!((verdict.first_sequence, verdict.last_sequence), (0, all - 1));
            assert!(report.flows[0].why.contains(&layout.to_string()));
            assert_eq!(row(&report, 0x0C).name, "Ready Signal");
        }
    }
}

#[test]
fn damaged_teaching_datagrams_stay_teaching_datagrams() {
    for layout in [Layout::Documented, Layout::Compact] {
        let mut datagrams = taught(layout, 500);
        for datagram in datagrams.iter_mut().step_by(3) {
            *datagram.last_mut().unwrap() ^= 0x55;
        }
        let report = captured(&datagrams);
        let [verdict] = &report.verdicts[..] else { panic!("{layout}: {:?}", report.verdicts) };
        assert_eq!(verdict.kind, Kind::TeachingDatagrams, "{layout}");
        assert_eq!((verdict.records, verdict.crc_valid), (500, 333));
        assert_eq!(row(&report, 0x0C).count, 333, "what is damaged may be any command");
        assert!(verdict.text.contains("in 167 datagrams the CRC-32 is wrong"), "{}", verdict.text);
        assert!(report.flows[0].why.contains("167 damaged"), "{}", report.flows[0].why);
        assert_eq!(crate::protocols(&report), [("teach", 500)]);
    }
}

#[test]
fn records_beside_right_datagrams_stay_records() {
    for (numbers, right) in
        [(256..300, 1), (256..258, 1), (300..301, 1), (256..300, 40), (250..500, 2)]
    {
        let mut random = fastrand::Rng::with_seed(7);
        let count = numbers.end - numbers.start;
        let mut datagrams: Vec<_> =
            numbers.clone().map(|number| write::record(&mut random, number, 60)).collect();
        datagrams.extend(taught(Layout::Compact, right));
        let report = captured(&datagrams);
        let right = u64::from(right);
        let mut found = crate::protocols(&report);
        found.sort_unstable();
        assert_eq!(found, [("dtls", count), ("teach", right)], "{numbers:?}");
        let verdict = |kind| report.verdicts.iter().find(|verdict| verdict.kind == kind).unwrap();
        let records = verdict(Kind::DtlsTakenForCommands);
        assert_eq!((records.records, records.crc_valid, records.sequence_gaps), (count, 0, 0));
        assert!(records.text.contains(&format!("right in 0 of {count}")), "{}", records.text);
        let real = verdict(Kind::TeachingDatagrams);
        assert_eq!((real.records, real.crc_valid), (right, right));
    }
}

#[test]
fn several_records_in_a_datagram_are_told_as_such() {
    let mut random = fastrand::Rng::with_seed(8);
    let mut pair = |number| {
        [write::record(&mut random, number, 60), write::record(&mut random, number + 1, 50)]
            .concat()
    };
    let report = captured(&[pair(10), pair(12), pair(14)]);
    let [verdict] = &report.verdicts[..] else { panic!("{:?}", report.verdicts) };
    assert_eq!((verdict.records, verdict.lengths_fit, verdict.sequence_gaps), (6, 6, 0));
    for words in ["in these 3 datagrams", "6 DTLS records", "where the next one begins"] {
        assert!(verdict.text.contains(words), "{words}: {}", verdict.text);
    }
}

#[test]
fn a_command_without_a_right_check_proves_nothing() {
    let mut datagrams = taught(Layout::Compact, 500);
    datagrams.iter_mut().for_each(|datagram| *datagram.last_mut().unwrap() ^= 1);
    let report = captured(&datagrams);
    assert!(report.verdicts.is_empty(), "{:?}", report.verdicts);
    assert_eq!(crate::protocols(&report), [("teach", 500)]);
    assert!(report.flows[0].why.contains("right in 0 of 500"), "{}", report.flows[0].why);
    assert!(report.commands.is_empty(), "{:?}", report.commands);
}

#[test]
fn what_cannot_be_decoded_is_counted_all_the_same() {
    use sinew_wire::teach::Datagram;
    let datagrams: Vec<_> = (0..10_u16)
        .map(|number| {
            let mut out = [0; 64];
            let payload = [0xEE; 7];
            let length =
                Datagram::emit(Layout::Documented, Sequence(number), 0x77, &payload, &mut out);
            out[..length.unwrap()].to_vec()
        })
        .collect();
    let report = captured(&datagrams);
    let row = row(&report, 0x77);
    assert_eq!((row.count, row.name, row.max_size), (10, "Unknown", 26));
    assert_eq!(report.verdicts[0].crc_valid, 10);
}
