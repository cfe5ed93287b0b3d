//! Serial lines: a tap's log, a dump, and frames inside of datagrams.

use std::fmt::Write;

use sinew_capture::{End, Format};
use sinew_wire::{delta2d, gd32};

use crate::{
    inspect, protocols, try_inspect,
    write::{self, ENDS},
};

fn frame(command: u8, payload: &[u8]) -> Vec<u8> {
    gd32::FrameBuf::new(command, payload).unwrap().as_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X} ")).collect::<String>().trim_end().into()
}

/// A log of heartbeats that are answered 2 ms later, and of status frames in two halves.
fn log() -> String {
    let mut log = String::from("# a tap's log\n0,GPIO_INIT,1\n");
    for number in 0..50_u64 {
        let time = 1_000_000 + number * 20_000;
        writeln!(log, "{time},TX,{}", hex(&frame(0x06, &[]))).unwrap();
        writeln!(log, "{},RX,{}", time + 2000, hex(&frame(0x06, &[]))).unwrap();
        let status = frame(0x15, &[3; 96]);
        let (front, rest) = status.split_at(40);
        writeln!(log, "{},RX,{}", time + 5000, hex(front)).unwrap();
        writeln!(log, "{},GPIO,0->1", time + 5500).unwrap();
        writeln!(log, "{},RX,{}\r", time + 6000, hex(rest)).unwrap();
    }
    log
}

#[test]
fn a_taps_log_is_read_with_its_times_and_directions() {
    let report = inspect(log().as_bytes());
    assert_eq!((report.format, report.end, report.packets), (Format::Csv, End::Whole, 200));
    assert_eq!(protocols(&report), [("gd32", 150)]);
    let flow = &report.flows[0];
    assert_eq!(
        (flow.a.as_str(), flow.b.as_str(), flow.transport.as_str()),
        ("host", "device", "serial")
    );
    let [beat, status] = &report.commands[..] else { panic!("{:?}", report.commands) };
    assert_eq!((beat.id, beat.name, beat.count), (0x06, "Heartbeat", 100));
    assert_eq!((status.id, status.count, status.max_size), (0x15, 50, 102));
    let answers = beat.answers.unwrap();
    assert_eq!((answers.answered, answers.unanswered), (50, 0));
    assert!((answers.latency.1 - 0.002).abs() < 1e-9, "{answers:?}");
    assert!((status.interval.unwrap().0 - 0.02).abs() < 1e-9);
    assert!(status.answers.is_none());
}

#[test]
fn a_log_may_end_anywhere_and_hold_strange_lines() {
    let log = log();
    let bytes = log.as_bytes();
    let mut before = 0;
    for length in (30..bytes.len()).step_by(7) {
        let report = inspect(&bytes[..length]);
        // A row whose last digit is missing is none.
        assert!(report.packets + 1 >= before);
        before = report.packets;
    }
    let strange = format!("timestamp_us,direction,data\n{log}nonsense\n1,TX,XY\n2,QX,00\n3,TX,1\n");
    let report = inspect(strange.as_bytes());
    assert_eq!(report.packets, 200);
    assert!(report.notes.iter().any(|note| note.contains("5 lines")), "{:?}", report.notes);
    let long = format!("{log}4,TX,{}\n5,TX,{}\n", "00".repeat(1 << 20), hex(&frame(0x06, &[])));
    assert_eq!(inspect(long.as_bytes()).commands[0].count, 101);
}

#[test]
fn a_dump_of_a_line_is_read_with_rubbish_between() {
    let mut random = fastrand::Rng::with_seed(5);
    let lidar = delta2d::FrameBuf::new(0xAE, &[60]).unwrap();
    let mut dump = vec![0xFA, 0xFB, 0xFF];
    for _ in 0..500 {
        dump.extend(frame(0x15, &[9; 96]));
        dump.extend(lidar.as_bytes());
        dump.extend((0..random.usize(..4)).map(|_| random.u8(..)));
    }
    let report = inspect(&dump);
    assert_eq!(report.format, Format::Serial);
    let counts = protocols(&report);
    assert!(counts.contains(&("gd32", 500)) && counts.contains(&("delta2d", 500)), "{counts:?}");
    let bytes: u64 = report.flows.iter().map(|flow| flow.bytes).sum();
    assert_eq!((bytes, report.bytes), (dump.len() as u64, dump.len() as u64));
    assert_eq!(report.commands[0].rate_hz, 0.0);
    assert!(try_inspect(&[0xFA, 0xFB, 0x03]).is_err());
}

#[test]
fn frames_inside_of_datagrams_and_streams_are_counted() {
    let velocity = frame(0x66, &[1, 0, 0, 0, 0, 0, 0, 0]);
    let two = [velocity.clone(), velocity.clone()].concat();
    let report = inspect(&write::pcap(101, &[(0, write::udp(ENDS, &velocity))]));
    assert_eq!(protocols(&report), [("gd32", 1)]);
    assert_eq!((report.commands[0].id, report.commands[0].count), (0x66, 1));
    // A stream that is cut anywhere.
    let (front, rest) = two.split_at(17);
    let segments = [(0, write::tcp(ENDS, front)), (1, write::tcp(ENDS, rest))];
    let report = inspect(&write::pcap(101, &segments));
    assert_eq!(protocols(&report), [("gd32", 2)]);
    assert_eq!((report.commands[0].id, report.commands[0].count), (0x66, 2));
}
