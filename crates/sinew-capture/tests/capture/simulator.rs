//! Traffic of the simulated robot.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use sinew_capture::Kind;
use sinew_sim::g1::{Options, Output, Robot};
use sinew_wire::teach::{Layout, Message, Sequence};

use crate::{
    inspect, protocols,
    write::{self, Stamped, back},
};

/// A client that goes through the opening cycle every 4.7 s and lists actions, with what the robot says.
fn session(layout: Layout, ends: write::Ends) -> Vec<u8> {
    let begin = Instant::now();
    let client: SocketAddr = "192.168.86.10:41000".parse().unwrap();
    let mut robot = Robot::new(Options::default(), begin);
    let mut packets: Vec<Stamped> = Vec::new();
    let mut sequence = 0_u16;
    let stamp = |now: Instant| (now - begin).as_micros() as u64;
    for round in 0..10_u32 {
        let now = begin + Duration::from_millis(4700) * round;
        let rest = &[][..];
        let cycle = [
            Message::ControlMode { rest },
            Message::ParameterSync { rest },
            Message::Subscribe { rest },
            Message::Ready { ready: 1, rest },
            Message::ListRequest { rest },
        ];
        for (step, message) in cycle.iter().enumerate() {
            let now = now + Duration::from_millis(20) * step as u32;
            let request = message.to_vec(layout, Sequence(sequence)).unwrap();
            sequence += 1;
            packets.push((stamp(now), write::udp(ends, &request)));
            robot.handle_datagram(now, client, &request);
            let later = now + Duration::from_millis(3);
            while let Some(output) = robot.poll_output() {
                if let Output::Send { bytes, .. } = output {
                    packets.push((stamp(later), write::udp(back(ends), &bytes)));
                }
            }
        }
    }
    write::pcap(101, &packets)
}

#[test]
fn its_traffic_is_commands() {
    for layout in [Layout::Documented, Layout::Compact] {
        let report = inspect(&session(layout, ((10, 41_000), (3, 12_345))));
        assert_eq!(protocols(&report).iter().map(|flow| flow.0).collect::<Vec<_>>(), ["teach"]);
        let [verdict] = &report.verdicts[..] else { panic!("{:?}", report.verdicts) };
        assert_eq!(verdict.kind, Kind::TeachingDatagrams);
        assert_eq!((verdict.records, verdict.crc_valid), (report.packets, report.packets));
        assert_eq!(verdict.sequence_gaps, 0, "{:?}", report.flows[0].sequence);
        let list = report.commands.iter().find(|row| row.id == 0x1A).unwrap();
        assert_eq!((list.name, list.count), ("List Actions", 20));
        let answers = list.answers.unwrap();
        assert_eq!((answers.answered, answers.unanswered), (10, 0));
        assert!((answers.latency.1 - 0.003).abs() < 1e-6, "{answers:?}");
        assert!(verdict.text.contains("right in"), "{}", verdict.text);
    }
}
