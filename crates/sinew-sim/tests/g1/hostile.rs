//! Datagrams that mean no good, or nothing.

use proptest::{collection::vec, prelude::*};
use sinew_sim::g1::{Mode, Options, Robot};
use sinew_wire::teach::{Datagram, Layout, Sequence};

use crate::support::*;

/// A robot in the middle of things, and what there is to see of it.
fn busy() -> Bench {
    let mut bench = Bench::with(vec![stored("wave", &[(15, 0, 0.0), (15, 5000, 0.5)])]);
    bench.enter();
    bench.done(&START);
    bench
}

fn seen(robot: &Robot) -> impl PartialEq + std::fmt::Debug + use<> {
    let stored = robot.actions().to_vec();
    (robot.mode(), robot.joints(), robot.recorded_frames(), robot.clients(), stored)
}

#[track_caller]
fn assert_ignored(bench: &mut Bench, bytes: &[u8]) {
    let (before, heard) = (seen(&bench.robot), bench.heard.len());
    let answered = bench.robot.counters().answered;
    bench.bytes(client(9), bytes);
    assert_eq!(seen(&bench.robot), before);
    assert_eq!(bench.heard.len(), heard, "no answer");
    assert_eq!(bench.robot.counters().answered, answered);
}

#[test]
fn truncated_datagrams_are_counted_and_ignored() {
    for layout in LAYOUTS {
        let mut bench = busy();
        for (_, message) in one_of_each() {
            let whole = message.to_vec(layout, Sequence(100)).unwrap();
            for length in 0..whole.len() {
                assert_ignored(&mut bench, &whole[..length]);
            }
        }
        let counters = bench.robot.counters();
        assert!(counters.foreign > 0 && counters.malformed > 0);
        assert_eq!(counters.received - 2, counters.foreign + counters.malformed);
    }
}

#[test]
fn a_flipped_bit_is_noticed() {
    for layout in LAYOUTS {
        let mut bench = busy();
        let whole = EXIT.to_vec(layout, Sequence(100)).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ignored(&mut bench, &flipped);
        }
        assert_eq!(bench.robot.mode(), Mode::Recording);
    }
}

#[test]
fn trailing_bytes_and_strangers_are_ignored() {
    let mut bench = busy();
    let mut longer = EXIT.to_vec(Layout::Documented, Sequence(100)).unwrap();
    longer.push(0);
    assert_ignored(&mut bench, &longer);
    // A DTLS record of the capture's shape, a STUN request, RTP, a discovery query, a flood.
    let mut record = vec![0x17, 0xFE, 0xFD, 0, 1, 0, 0, 0, 0, 1, 0x0E, 0, 44];
    record.extend([0xA5; 44]);
    assert_ignored(&mut bench, &record);
    assert_ignored(&mut bench, b"\0\x01\0\0\x21\x12\xA4\x42 twelve bytes");
    assert_ignored(&mut bench, &[0x80; 40]);
    assert_ignored(&mut bench, br#"{"name":"unitree_dapengche"}"#);
    assert_ignored(&mut bench, &[0; 65_507]);
}

#[test]
fn unknown_commands_are_counted_and_ignored() {
    let mut bench = busy();
    let mut count = 0;
    for command in 0..=255u8 {
        if one_of_each().iter().any(|(known, _)| known.code() == command) {
            continue;
        }
        let mut out = [0; 128];
        let length =
            Datagram::emit(Layout::Documented, Sequence(9), command, &[0; 44], &mut out).unwrap();
        assert_ignored(&mut bench, &out[..length]);
        count += 1;
    }
    assert_eq!((count, bench.robot.counters().unknown), (246, 246));
}

#[test]
fn what_nobody_fetches_is_bounded() {
    let bench = Bench::still();
    let mut robot = bench.robot;
    for number in 0..3000 {
        let bytes = LIST.to_vec(Layout::Documented, Sequence(number)).unwrap();
        robot.handle_datagram(bench.now, client(0), &bytes);
    }
    let left = std::iter::from_fn(|| robot.poll_output()).count();
    assert_eq!((left as u64, robot.counters().overflowed), (1024, 1976));
}

/// Bytes that are a datagram more often than chance would have it.
fn datagram() -> impl Strategy<Value = Vec<u8>> {
    let command = prop_oneof![
        8 => prop::sample::select(vec![9u8, 10, 11, 12, 13, 14, 15, 0x1A, 0x2B, 0x41]),
        1 => any::<u8>(),
    ];
    let byte = prop_oneof![3 => Just(0u8), 1 => 0u8..4, 1 => any::<u8>()];
    let length = prop_oneof![
        prop::sample::select(vec![40usize, 44, 144, 148, 180, 184, 216, 220]),
        0usize..300
    ];
    let payload = length.prop_flat_map(move |length| vec(byte.clone(), length));
    let real = (any::<bool>(), any::<u16>(), command, payload).prop_map(
        |(compact, number, command, payload)| {
            let layout = if compact { Layout::Compact } else { Layout::Documented };
            let mut out = [0; 400];
            let length = Datagram::emit(layout, Sequence(number % 64), command, &payload, &mut out);
            out[..length.unwrap()].to_vec()
        },
    );
    prop_oneof![4 => real, 1 => vec(any::<u8>(), 0..300)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_datagrams_are_survived_and_accounted_for(
        seed: u64, hz in 0u32..600,
        datagrams in vec((0u16..4, 0u64..3000, datagram()), 1..60),
    ) {
        let mut bench = Bench::new(Options { seed, status_hz: hz, ..Options::default() });
        for (from, wait, bytes) in &datagrams {
            bench.run(ms(*wait));
            bench.bytes(client(*from), bytes);
            prop_assert!(bench.robot.poll_timeout() > bench.now);
        }
        let all = bench.robot.counters();
        prop_assert_eq!(all.received, datagrams.len() as u64);
        prop_assert_eq!(
            all.received,
            all.foreign + all.malformed + all.unknown + all.duplicates + all.old + all.answered
        );
        prop_assert_eq!(bench.heard.len() as u64, all.answered + all.statuses);
        prop_assert!(bench.robot.actions().iter().all(|action| action.check().is_ok()));
        // Whatever happened, a stop is a stop, and the robot comes to rest without one too.
        let mut other = Bench { robot: bench.robot.clone(), heard: Vec::new(), ..bench };
        other.sequence = Sequence(0);
        other.send(client(77), &EXIT);
        prop_assert_eq!(other.robot.mode(), Mode::Idle);
        let mut robot = bench.robot;
        robot.handle_timeout(bench.now + ms(700_000));
        prop_assert_eq!((robot.mode(), robot.clients()), (Mode::Idle, 0));
    }
}
