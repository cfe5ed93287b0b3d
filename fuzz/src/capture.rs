//! Captures of every format, and payloads inside of one.

use std::io::{self, Read};

use serde_json::Value;
use sinew_capture::{Analysis, Capture, Diff, Filter, Format, Profile, Report, Sight};

use crate::{take_byte, take_bytes, vectors};

/// A small file of each format, with payloads of each protocol that there are vectors of.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut payloads = vectors::hex_members("teach.json", &["documented", "compact"]);
    payloads.extend(vectors::hex_members("gd32.json", &["frame"]));
    payloads.truncate(24);
    let mut record = vec![0x17, 0xFE, 0xFD, 0, 1, 0, 0, 0, 0, 1, 9, 0, 20];
    record.extend([0x5A; 20]);
    payloads.push(record);
    payloads.push([&[0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42][..], &[7; 12]].concat());
    let packets: Vec<_> = payloads.iter().map(|payload| datagram(payload)).collect();
    let serial = vectors::hex_members("gd32.json", &["frame"]).concat();
    let hex: String = serial.iter().take(200).map(|byte| format!("{byte:02X} ")).collect();
    let log = format!("# a log\n0,GPIO_INIT,1\n10,TX,{hex}\n20,RX,{hex}\n");
    vec![pcap(101, &packets), pcapng(&packets), log.into_bytes(), serial]
}

/// The input as a file, and as payloads in one. How a file comes in pieces does not show, and what is
/// counted adds up.
pub fn exercise(data: &[u8]) {
    let mut script = data;
    let mut packets = Vec::new();
    let mut segments = Vec::new();
    while !script.is_empty() && packets.len() < 32 {
        let length = usize::from(take_byte(&mut script));
        let payload = take_bytes(&mut script, length);
        packets.push(datagram(payload));
        segments.push(segment(take_byte(&mut script), payload));
    }
    let link =
        data.first().map_or(1, |byte| [0, 1, 12, 101, 108, 113, 228, 276][*byte as usize % 8]);
    let bare: Vec<_> = data.chunks(97).take(16).map(<[u8]>::to_vec).collect();
    let streams = pcap(101, &segments);
    for file in [data, &pcap(101, &packets), &pcapng(&packets), &pcap(link, &bare), &streams] {
        let whole = inspect(file, usize::MAX);
        assert_eq!(whole, inspect(file, 7), "how the file came shows");
        inspect(&file[..file.len() / 2], usize::MAX);
    }
}

/// The report for programs, whose figures agree with each other; none where nothing can be read.
fn inspect(file: &[u8], step: usize) -> Option<Value> {
    let source = Steps { bytes: file.to_vec(), at: 0, step };
    let mut capture = Capture::open(source).map_err(|error| error.to_string()).ok()?;
    let mut analysis = Analysis::new(Filter::default());
    let mut shown = 0;
    let mut profile = Profile::new();
    let mut look = |sight: &Sight<'_>| {
        shown += sight.to_string().len();
        profile.take(sight);
    };
    while let Some(record) = capture.next_record() {
        analysis.take(&record, &mut look);
    }
    let report = analysis.finish(&capture, &mut look);
    assert!(capture.end().is_some(), "it did not end");
    check(&report);
    let json = report.to_json("x");
    (step == usize::MAX).then(|| compare(file, (report, profile)));
    Some(Value::Object(json))
}

/// A file differs from its beginning in something or in nothing, and from itself in nothing.
fn compare(file: &[u8], one: (Report, Profile)) {
    let read = |file: &[u8]| {
        let source = Steps { bytes: file.to_vec(), at: 0, step: usize::MAX };
        let mut capture = Capture::open(source).ok()?;
        let (mut analysis, mut profile) = (Analysis::new(Filter::default()), Profile::new());
        while let Some(record) = capture.next_record() {
            analysis.take(&record, |sight| profile.take(sight));
        }
        let report = analysis.finish(&capture, |sight| profile.take(sight));
        Some(("b".to_owned(), report, profile))
    };
    if let Some(same) = read(file) {
        let diff = Diff::new(("a".into(), one.0, one.1), same);
        assert!(diff.is_same(), "{diff:?}");
    }
    if let (Some(whole), Some(half)) = (read(file), read(&file[..file.len() / 2])) {
        let text: String = Diff::new(half, whole).json_parts().collect();
        serde_json::from_str::<Value>(&text).expect("is JSON");
    }
}

fn check(report: &Report) {
    let of_flows: u64 = report.flows.iter().map(|flow| flow.packets).sum();
    if matches!(report.format, Format::Pcap | Format::Pcapng) {
        assert!(of_flows <= report.packets, "{of_flows} of {}", report.packets);
    } else {
        let bytes: u64 = report.flows.iter().map(|flow| flow.bytes).sum();
        assert_eq!(bytes, report.bytes, "bytes of a line were lost");
    }
    for (index, flow) in report.flows.iter().enumerate() {
        assert!(flow.packets > 0 && !flow.why.is_empty());
        let shares = report.commands.iter().filter(|row| row.flow == index).map(|row| row.share);
        let (count, sum) = shares.fold((0, 0.0), |(count, sum), share| (count + 1, sum + share));
        assert!(count == 0 || (sum - 1.0_f64).abs() < 1e-6, "shares are {sum}");
    }
    for row in &report.commands {
        assert!(row.count > 0 && row.min_size <= row.max_size);
        assert!((f64::from(row.min_size)..=f64::from(row.max_size)).contains(&row.average_size));
    }
    for verdict in &report.verdicts {
        assert!(verdict.records > 0 && verdict.flow < report.flows.len());
        assert!(verdict.lengths_fit <= verdict.records);
        assert!((0.0..=8.000_001).contains(&verdict.entropy_bits));
    }
}

/// Gives at most so many bytes at a time.
struct Steps {
    bytes: Vec<u8>,
    at: usize,
    step: usize,
}

impl Read for Steps {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let count = rest.len().min(self.step).min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

fn datagram(payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend(((28 + payload.len()) as u16).to_be_bytes());
    bytes.extend([0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x20, 1, 0x20, 2]);
    bytes.extend(((8 + payload.len()) as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

/// A segment of one direction or the other, somewhere in its stream.
fn segment(place: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend(((40 + payload.len()) as u16).to_be_bytes());
    bytes.extend([0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let ports = if place & 1 == 0 { [0x20, 1, 0x20, 2] } else { [0x20, 2, 0x20, 1] };
    bytes.extend(ports);
    bytes.extend((u32::from(place >> 2) * 16).to_be_bytes());
    let flags = if place & 2 == 0 { 0x18 } else { 0x02 };
    bytes.extend([0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
    bytes.extend(payload);
    bytes
}

fn pcap(link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut file = words(&[0xA1B2_C3D4, 0x0004_0002, 0, 0, 65_535, link]);
    for (packet, time) in packets.iter().zip(1..) {
        let length = packet.len() as u32;
        file.extend(words(&[time, time * 1000, length, length]));
        file.extend(packet);
    }
    file
}

fn pcapng(packets: &[Vec<u8>]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let padded = body.len().next_multiple_of(4);
        let length = (12 + padded as u32).to_be_bytes();
        let mut block = [&kind.to_be_bytes()[..], &length, body].concat();
        block.resize(8 + padded, 0);
        block.extend(length);
        block
    };
    let section = [&[0x1A, 0x2B, 0x3C, 0x4D, 0, 1, 0, 0][..], &[0xFF; 8]].concat();
    let mut file = block(0x0A0D_0D0A, &section);
    file.extend(block(1, &[0, 101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 9, 0, 0, 0]));
    for (packet, time) in packets.iter().zip(1_u32..) {
        let length = (packet.len() as u32).to_be_bytes();
        let head = [[0; 4], [0; 4], time.to_be_bytes(), length, length].concat();
        file.extend(block(6, &[head, packet.clone()].concat()));
    }
    file
}
