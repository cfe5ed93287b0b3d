//! What flows are.

use sinew_wire::discovery::{Answer, Question};

use crate::{
    inspect, protocols,
    write::{self, ENDS, Stamped, back},
};

fn of(payloads: &[&[u8]]) -> sinew_capture::Report {
    let stamp = |(n, payload): (usize, &&[u8])| (n as u64 * 1000, write::udp(ENDS, payload));
    inspect(&write::pcap(101, &payloads.iter().enumerate().map(stamp).collect::<Vec<_>>()))
}

fn stun(kind: u16) -> Vec<u8> {
    let mut bytes = kind.to_be_bytes().to_vec();
    bytes.extend([0, 8, 0x21, 0x12, 0xA4, 0x42]);
    bytes.extend([9; 12]);
    bytes.extend([0x80, 0x22, 0, 4, b'a', b'b', b'c', b'd']);
    bytes
}

fn handshake(kind: u8, body: &[u8], sequence: u64) -> Vec<u8> {
    let length = &(body.len() as u32).to_be_bytes()[1..];
    let message = [&[kind][..], length, &[0, 0, 0, 0, 0], length, body].concat();
    let mut bytes = vec![22, 0xFE, 0xFD, 0, 0];
    bytes.extend(&sequence.to_be_bytes()[2..]);
    bytes.extend((message.len() as u16).to_be_bytes());
    bytes.extend(message);
    bytes
}

fn rtp(random: &mut fastrand::Rng, sequence: u16, source: u32) -> Vec<u8> {
    let mut bytes = vec![0x80, 0x60];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0, 0, 0, 1]);
    bytes.extend(source.to_be_bytes());
    bytes.extend((0..100).map(|_| random.u8(..)));
    bytes
}

#[test]
fn a_webrtc_connection_is_one_flow_with_an_entry_for_each_protocol() {
    let mut random = fastrand::Rng::with_seed(8);
    let hello = [&[0xFE, 0xFD][..], &[7; 32], &[0], &[0xC0, 0x2B], &[0]].concat();
    let report_of_media = [&[0x81, 0xC9, 0, 7, 1, 2, 3, 4][..], &[0xA7; 24]].concat();
    let mut packets: Vec<Stamped> = Vec::new();
    let mut push = |ends, payload: &[u8]| {
        let time = packets.len() as u64 * 500;
        packets.push((time, write::udp(ends, payload)));
    };
    push(ENDS, &stun(0x0001));
    push(back(ENDS), &stun(0x0101));
    push(ENDS, &handshake(1, &[1; 60], 0));
    push(back(ENDS), &handshake(2, &hello, 0));
    for number in 0..20_u16 {
        push(ENDS, &write::record(&mut random, number.into(), 44));
        push(back(ENDS), &write::record(&mut random, number.into(), 80));
        push(back(ENDS), &rtp(&mut random, 65_530_u16.wrapping_add(number), 0xABCD));
        push(ENDS, &report_of_media);
    }
    let report = inspect(&write::pcap(101, &packets));
    assert_eq!(protocols(&report), [("stun", 2), ("dtls", 42), ("srtp", 20), ("srtcp", 20)]);
    let dtls = &report.flows[1];
    assert!(dtls.why.contains("handshake 2, application data 40"), "{}", dtls.why);
    assert!(dtls.why.contains("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"), "{}", dtls.why);
    let [verdict] = &report.verdicts[..] else { panic!("{:?}", report.verdicts) };
    assert_eq!((verdict.flow, verdict.records, verdict.sequence_gaps), (1, 40, 0));
    assert_eq!((verdict.first_sequence, verdict.last_sequence), (0, 19));
}

#[test]
fn media_alone_are_known_by_their_following_each_other() {
    let mut random = fastrand::Rng::with_seed(8);
    let stream: Vec<_> = (0..30).map(|number| rtp(&mut random, number, 77)).collect();
    let stream: Vec<_> = stream.iter().map(Vec::as_slice).collect();
    assert_eq!(protocols(&of(&stream)), [("srtp", 30)]);
}

#[test]
fn noise_is_not_media() {
    let mut random = fastrand::Rng::with_seed(8);
    let noise: Vec<Vec<u8>> = (0..400).map(|_| (0..200).map(|_| random.u8(..)).collect()).collect();
    let noise: Vec<_> = noise.iter().map(Vec::as_slice).collect();
    let report = of(&noise);
    assert_eq!(protocols(&report), [("unknown", 400)]);
    let why = &report.flows[0].why;
    assert!(why.contains("entropy 8.00") || why.contains("entropy 7.9"), "{why}");
    assert!(why.contains("encrypted") && why.contains("first bytes"), "{why}");
    assert!(report.verdicts.is_empty() && report.commands.is_empty());
}

#[test]
fn discovery_is_known_on_any_port() {
    let question = Question { sn: None }.emit();
    let answer = Answer { sn: "B42".into(), ip: Some("192.168.86.3".parse().unwrap()) }.emit();
    let report = of(&[question.as_bytes(), answer.as_bytes()]);
    assert_eq!(protocols(&report), [("discovery", 2)]);
    assert!(report.flows[0].why.contains("1 questions, 1 answers"));
}

#[test]
fn clouds_and_messages_are_known() {
    let json = br#"{"topic":"rt/utlidar","data":{"x":1}}"#;
    let cloud =
        [&(json.len() as u32).to_le_bytes()[..], &24_u32.to_le_bytes(), json, &[0; 24]].concat();
    assert_eq!(protocols(&of(&[&cloud])), [("slam", 1)]);
    let message = br#"{"topic":"sensors/lidar","payload":{}}"#;
    let framed = [&(message.len() as u32).to_be_bytes()[..], message].concat();
    assert_eq!(protocols(&of(&[&framed])), [("sangamio", 1)]);
    let later = [&13_u32.to_be_bytes()[..], &[0x0A, 7], b"command", &[0x1A, 2, 0x0A, 0]].concat();
    assert_eq!(protocols(&of(&[&later])), [("sangamio", 1)]);
}

#[test]
fn streams_are_known_by_one_of_their_segments() {
    let stream = |ends, segments: &[&[u8]]| {
        let stamp = |(n, bytes): (usize, &&[u8])| (n as u64, write::tcp(ends, bytes));
        inspect(&write::pcap(101, &segments.iter().enumerate().map(stamp).collect::<Vec<_>>()))
    };
    let message = [&60_u32.to_be_bytes()[..], br#"{"topic":"command","pay"#].concat();
    assert_eq!(
        protocols(&stream(ENDS, &[b"", b"", &message, b"load\":{}}", b""])),
        [("sangamio", 5)]
    );
    assert_eq!(protocols(&stream(ENDS, &[b"", b"GET / HTTP/1.1\r\n", b""])), [("http", 3)]);
    assert_eq!(protocols(&stream(ENDS, &[&[22, 3, 1, 0, 50, 1, 2]])), [("tls", 1)]);
    let odd = ((10, 41_000), (3, 80));
    let report = stream(odd, &[b"\x00\x01\x02"]);
    assert_eq!(protocols(&report), [("http", 1)]);
    assert!(report.flows[0].why.contains("hint"), "{}", report.flows[0].why);
}

#[test]
fn a_port_is_a_hint_and_only_where_bytes_say_nothing() {
    let dns = ((10, 41_000), (1, 53));
    let one = |payload: &[u8]| inspect(&write::pcap(101, &[(0, write::udp(dns, payload))]));
    let report = one(&[0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, b'a', 0, 0, 1, 0, 1]);
    assert_eq!(protocols(&report), [("dns", 1)]);
    assert!(report.flows[0].why.contains("hint"));
    let mut random = fastrand::Rng::with_seed(8);
    assert_eq!(protocols(&one(&write::record(&mut random, 4, 50))), [("dtls", 1)]);
}

#[test]
fn reports_for_programs_have_these_members_and_no_others() {
    let mut random = fastrand::Rng::with_seed(8);
    let report =
        of(&[&write::record(&mut random, 4, 50), b"x", &write::record(&mut random, 5, 50)]);
    let parts: String = report.json_parts("a.pcap").collect();
    let report = report.to_json("a.pcap");
    let members = |value: &serde_json::Value| {
        value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
    };
    let report = serde_json::Value::Object(report);
    assert_eq!(
        members(&report),
        "bytes commands duration_s file flows format notes packets truncated verdicts"
    );
    assert_eq!(
        members(&report["flows"][0]),
        "a b bytes cycle first_s last_s messages packets protocol sequence sizes stream topics transport why"
    );
    assert_eq!(
        members(&report["commands"][0]),
        "answers average_size count flow id interval max_size min_size name rate_hz share \
         size_deviation spread"
    );
    assert_eq!(
        members(&report["verdicts"][0]),
        "crc_valid entropy_bits first_sequence flow kind last_sequence lengths_fit records \
         sequence_gaps text"
    );
    assert_eq!(report["file"], "a.pcap");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&parts).unwrap(), report);
    assert_eq!(report["flows"].as_array().unwrap().len(), 2);
    assert_eq!(report["verdicts"][0]["kind"], "dtls_taken_for_commands");
}
