//! Streams of TCP whose messages do not care where segments end.

use sinew_capture::Report;
use sinew_wire::gd32;

use crate::{
    inspect, protocols,
    write::{self, ENDS, Stamped, back},
};

/// A stream in segments of these sizes, over and over, with the number of its first byte.
fn cut(stream: &[u8], first: u32, sizes: &[usize]) -> Vec<(u32, Vec<u8>)> {
    let (mut at, mut segments) = (0, Vec::new());
    for size in sizes.iter().cycle() {
        let end = (at + size).min(stream.len());
        segments.push((first.wrapping_add(at as u32), stream[at..end].to_vec()));
        at = end;
        if at == stream.len() {
            break;
        }
    }
    segments
}

fn captured(segments: &[(u32, Vec<u8>)]) -> Report {
    let stamp = |(n, (number, bytes)): (usize, &(u32, Vec<u8>))| {
        (n as u64 * 1000, write::tcp_at(ENDS, *number, bytes))
    };
    inspect(&write::pcap(101, &segments.iter().enumerate().map(stamp).collect::<Vec<Stamped>>()))
}

fn spoken(count: usize) -> Vec<u8> {
    let message = |n: usize| {
        let topic = ["sensors/sensor_status", "command"][n % 2];
        let json = format!(
            r#"{{"topic":"{topic}","payload":{{"n":{n},"x":"{}"}}}}"#,
            "y".repeat(n * 7 % 600)
        );
        [&(json.len() as u32).to_be_bytes()[..], json.as_bytes()].concat()
    };
    (0..count).flat_map(message).collect()
}

fn frames(count: u8) -> Vec<u8> {
    let frame = |n: u8| gd32::FrameBuf::new(0x66, &[n, 0, 0, 0, 1, 0, 0, 0]).unwrap();
    (0..count).flat_map(|n| frame(n).as_bytes().to_vec()).collect()
}

#[test]
fn messages_are_counted_wherever_segments_end() {
    let stream = spoken(100);
    // The length alone in a segment, as clients write it; single bytes; large pieces; beyond the last number.
    for (first, sizes) in
        [(0, &[4, 300][..]), (77, &[1]), (5, &[1460]), (u32::MAX - 3000, &[3, 1, 900])]
    {
        let report = captured(&cut(&stream, first, sizes));
        let flow = &report.flows[0];
        assert_eq!(protocols(&report).len(), 1, "{sizes:?}");
        assert_eq!(flow.protocol.name(), "sangamio", "{sizes:?}: {}", flow.why);
        assert_eq!(flow.messages, Some(100), "{sizes:?}: {}", flow.why);
        let topics = [("sensors/sensor_status".into(), 50), ("command".into(), 50)];
        assert_eq!(flow.topics, topics, "{sizes:?}");
        assert_eq!(flow.stream.unwrap(), sinew_capture::Facts::default());
    }
}

#[test]
fn segments_that_come_late_or_again_change_nothing() {
    let mut random = fastrand::Rng::with_seed(4);
    for (stream, is_gd32) in [(frames(200), true), (spoken(200), false)] {
        for round in 0..50 {
            let mut segments = cut(&stream, 1000, &[200, 40, 7]);
            let again = segments[random.usize(2..segments.len())].clone();
            segments.insert(random.usize(2..segments.len()), again);
            for _ in 0..5 {
                let at = random.usize(2..segments.len() - 3);
                segments[at..at + 3].reverse();
            }
            let report = captured(&segments);
            match is_gd32 {
                true => assert_eq!(report.commands[0].count, 200, "round {round}"),
                false => assert_eq!(report.flows[0].messages, Some(200), "round {round}"),
            }
            assert_eq!(report.flows[0].stream.unwrap().missing, 0);
        }
    }
}

#[test]
fn what_was_not_captured_is_said_and_the_rest_is_found() {
    let frame = frames(1).len();
    let mut segments = cut(&frames(100), 0, &[frame + 5]);
    segments.remove(20);
    let report = captured(&segments);
    let stream = report.flows[0].stream.unwrap();
    assert_eq!((stream.gaps, stream.missing), (1, frame as u64 + 5));
    // The segment's own frame, and those of which it has a part.
    let count = report.commands[0].count;
    assert!((97..=98).contains(&count), "{count}");
    let mut segments = cut(&spoken(100), 0, &[90]);
    let all = segments.len();
    segments.remove(all / 2);
    let report = captured(&segments);
    assert_eq!(report.flows[0].stream.unwrap().gaps, 1);
    assert!(report.flows[0].messages.unwrap() >= 90, "{}", report.flows[0].why);
    assert_eq!(report.to_json("x")["flows"][0]["stream"]["missing_bytes"], 90);
}

#[test]
fn a_frame_that_begins_with_a_lone_byte_is_found() {
    let stream = frames(3);
    let mut packets: Vec<Stamped> = Vec::new();
    for (n, (number, bytes)) in cut(&stream, 9, &[1, 2, 40]).iter().enumerate() {
        packets.push((n as u64, write::tcp_at(ENDS, *number, bytes)));
        packets.push((n as u64, write::tcp_at(back(ENDS), 0, b"")));
    }
    let report = inspect(&write::pcap(101, &packets));
    assert_eq!(protocols(&report), [("gd32", packets.len() as u64)]);
    assert_eq!(report.commands[0].count, 3);
}

#[test]
fn clouds_in_a_stream_are_counted() {
    let json = br#"{"topic":"rt/utlidar/cloud","data":{"x":1}}"#;
    let body = [7; 5000];
    let cloud = [&(json.len() as u32).to_le_bytes()[..], &5000_u32.to_le_bytes(), json, &body];
    let report = captured(&cut(&cloud.concat().repeat(20), 0, &[1448]));
    let flow = &report.flows[0];
    assert_eq!((flow.protocol.name(), flow.messages), ("slam", Some(20)), "{}", flow.why);
    assert_eq!(flow.topics, [("rt/utlidar/cloud".into(), 20)]);
}

#[test]
fn a_port_that_is_used_again_begins_a_new_stream() {
    let mut packets: Vec<Stamped> = Vec::new();
    for (round, first) in [(0, 5_u32), (1, 4_000_000_000)] {
        let mut open = write::tcp_at(ENDS, first - 1, b"");
        open[33] = 2;
        packets.push((round, open));
        let stream = cut(&spoken(10), first, &[100]);
        packets.extend(stream.iter().map(|(n, bytes)| (round, write::tcp_at(ENDS, *n, bytes))));
    }
    let report = inspect(&write::pcap(101, &packets));
    assert_eq!(report.flows[0].messages, Some(20));
    assert_eq!(report.flows[0].stream.unwrap().gaps, 0);
}
