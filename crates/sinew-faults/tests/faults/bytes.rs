//! The byte link.

use std::time::{Duration, Instant};

use proptest::{collection::vec, prelude::*};
use sinew_faults::{FaultError, Faults, FaultyBytes, MAX_IN_FLIGHT};

use crate::ms;

fn link(faults: &str) -> FaultyBytes {
    FaultyBytes::new(faults.parse().unwrap(), 1)
}

/// Takes everything out, at the times the link gives.
fn drain(link: &mut FaultyBytes, mut now: Instant) -> Vec<(Instant, Vec<u8>)> {
    let mut out = Vec::new();
    while let Some(next) = link.poll_timeout() {
        now = now.max(next);
        out.push((now, link.receive(now)));
        assert!(!out.last().unwrap().1.is_empty(), "something is due when it says so");
    }
    out
}

fn joined(runs: &[(Instant, Vec<u8>)]) -> Vec<u8> {
    runs.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
}

#[test]
fn a_link_without_faults_is_a_wire() {
    let now = Instant::now();
    let mut link = link("");
    link.send(now, b"hello ");
    link.send(now, b"world");
    assert_eq!(link.poll_timeout(), Some(now));
    assert_eq!(link.receive(now), b"hello world");
    assert_eq!(link.poll_timeout(), None);
}

#[test]
fn delay_holds_bytes_back() {
    let now = Instant::now();
    let mut link = link("delay=5ms");
    link.send(now, b"a");
    assert_eq!(link.receive(now + ms(4)), b"");
    assert_eq!(link.poll_timeout(), Some(now + ms(5)));
    assert_eq!(link.receive(now + ms(5)), b"a");
}

#[test]
fn a_line_passes_bytes_on_at_its_rate_and_nothing_overtakes() {
    let now = Instant::now();
    let mut link = link("").with_baud(9600);
    link.send(now, &[1; 48]);
    link.send(now, &[2; 48]);
    link.send(now + ms(200), &[3; 96]);
    let runs = drain(&mut link, now);
    let at = |at: &Instant| *at - now;
    let out: Vec<_> = runs.iter().map(|(time, bytes)| (at(time), bytes[0], bytes.len())).collect();
    assert_eq!(out, [(ms(50), 1, 48), (ms(100), 2, 48), (ms(300), 3, 96)]);
}

#[test]
fn a_line_that_was_cut_begins_with_an_empty_queue() {
    let now = Instant::now();
    let mut link = link("").with_baud(9600);
    link.send(now, &[1; 960]);
    link.cut();
    link.restore();
    link.send(now, &[2; 48]);
    assert_eq!(drain(&mut link, now), [(now + ms(50), vec![2; 48])]);
}

#[test]
fn jitter_spreads_bytes_and_keeps_their_order() {
    let now = Instant::now();
    let mut link = link("delay=5ms,jitter=2ms");
    let bytes: Vec<u8> = (0..=255).cycle().take(2000).collect();
    link.send(now, &bytes);
    let runs = drain(&mut link, now);
    assert_eq!(joined(&runs), bytes);
    assert!(runs.len() > 1, "not all at once");
    assert!(runs.iter().all(|(at, _)| (now + ms(5)..=now + ms(7)).contains(at)));
}

#[test]
fn a_stall_delivers_late_but_all() {
    let now = Instant::now();
    let mut link = link("");
    link.send(now, b"a");
    link.stall(now + ms(500));
    link.send(now + ms(100), b"b");
    assert_eq!(link.receive(now + ms(499)), b"");
    assert_eq!(link.poll_timeout(), Some(now + ms(500)));
    assert_eq!(link.receive(now + ms(500)), b"ab");
    link.send(now + ms(501), b"c");
    assert_eq!(link.receive(now + ms(501)), b"c");
}

#[test]
fn a_cut_loses_what_is_under_way_and_what_follows() {
    let now = Instant::now();
    let mut link = link("delay=10ms");
    link.send(now, b"lost");
    link.cut();
    assert!(link.is_cut());
    link.send(now, b"lost too");
    assert_eq!(link.poll_timeout(), None);
    assert_eq!(link.receive(now + ms(100)), b"");
    link.restore();
    assert!(!link.is_cut());
    link.send(now + ms(100), b"back");
    assert_eq!(link.receive(now + ms(110)), b"back");
    assert_eq!((link.counts().lost, link.counts().delivered), (12, 4));
}

#[test]
fn faults_happen_as_often_as_asked() {
    let now = Instant::now();
    let mut link = link("drop=0.1,corrupt=0.05,duplicate=0.2");
    link.send(now, &vec![0; 100_000]);
    let out = link.receive(now);
    let counts = link.counts();
    let near = |got: u64, wanted: u64| got.abs_diff(wanted) < wanted / 10;
    assert!(near(counts.dropped, 10_000), "{counts:?}");
    assert!(near(counts.corrupted, 4_500), "{counts:?}");
    assert!(near(counts.duplicated, 18_000), "{counts:?}");
    assert_eq!(counts.delivered, out.len() as u64);
}

#[test]
fn a_corrupted_byte_is_never_the_same() {
    let now = Instant::now();
    let mut link = link("corrupt=1");
    link.send(now, &vec![0; 100_000]);
    assert!(link.receive(now).iter().all(|byte| *byte != 0));
}

#[test]
fn both_directions_share_faults_but_not_luck() {
    let now = Instant::now();
    let faults: Faults = "drop=0.5,seed=7".parse().unwrap();
    let run = |faults, seed| {
        let mut link = FaultyBytes::new(faults, seed);
        link.send(now, &(0..=255).collect::<Vec<u8>>());
        link.receive(now)
    };
    assert_eq!(run(faults, 0), run(faults, 0));
    assert_ne!(run(faults, 0), run(faults, 1));
    assert_ne!(run(faults, 0), run(Faults { seed: 8, ..faults }, 0));
}

#[test]
fn bytes_nobody_takes_are_bounded() {
    let now = Instant::now();
    let mut link = link("duplicate=1");
    link.send(now, &vec![1; MAX_IN_FLIGHT]);
    assert_eq!(link.receive(now).len(), MAX_IN_FLIGHT);
    assert_eq!(link.counts().lost, MAX_IN_FLIGHT as u64);
}

#[test]
fn faults_are_read_and_written() {
    let text = "drop=0.01, corrupt=0.001,duplicate=0.01,delay=5ms,jitter=1.5ms,seed=7";
    let faults: Faults = text.parse().unwrap();
    let wanted = Faults {
        drop: 0.01,
        corrupt: 0.001,
        duplicate: 0.01,
        delay: ms(5),
        jitter: Duration::from_micros(1500),
        seed: 7,
    };
    assert_eq!(faults, wanted);
    assert_eq!(faults.to_string().parse::<Faults>().unwrap(), faults);
    assert_eq!("".parse::<Faults>().unwrap(), Faults::default());
    assert_eq!("delay=2s".parse::<Faults>().unwrap().delay, ms(2000));
}

#[test]
fn wrong_faults_are_refused_with_a_hint() {
    for (text, message) in [
        ("dorp=0.1", "unknown fault `dorp`: did you mean `drop`?"),
        ("dup=0.1", "unknown fault `dup`: did you mean `drop`?"),
        ("duplicates=0.1", "did you mean `duplicate`?"),
        ("latency=5ms", "did you mean `delay`?"),
        ("reorder=0.1", "Known: drop, corrupt, duplicate, delay, jitter, seed"),
        ("drop", "drop: wanted a probability from 0 to 1, got ``"),
        ("drop=1.5", "drop: wanted a probability from 0 to 1, got `1.5`"),
        ("drop=NaN", "got `NaN`"),
        ("delay=5", "delay: wanted a time up to an hour with its unit, such as 5ms, got `5`"),
        ("delay=-1ms", "got `-1ms`"),
        ("delay=2h", "got `2h`"),
        ("jitter=1e9s", "got `1e9s`"),
        ("seed=x", "seed: wanted a whole number from 0, got `x`"),
        ("drop=0,drop=1", "drop is given twice: leave one out"),
    ] {
        let error: FaultError = text.parse::<Faults>().unwrap_err();
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_byte_is_lost_or_made_without_being_counted(
        sends in vec((0..20u64, vec(any::<u8>(), 0..200)), 0..30),
        drop in 0.0..0.5f64, corrupt in 0.0..0.5f64, duplicate in 0.0..0.5f64,
        jitter in 0..5u64, seed: u64,
    ) {
        let faults = Faults { drop, corrupt, duplicate, delay: ms(3), jitter: ms(jitter), seed };
        let mut link = FaultyBytes::new(faults, 0);
        let mut now = Instant::now();
        let mut out = 0;
        for (wait, bytes) in &sends {
            now += ms(*wait);
            link.send(now, bytes);
            out += link.receive(now).len() as u64;
        }
        out += joined(&drain(&mut link, now)).len() as u64;
        let counts = link.counts();
        prop_assert_eq!(counts.sent, sends.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>());
        prop_assert_eq!(counts.delivered, out);
        prop_assert_eq!(counts.sent + counts.duplicated, counts.delivered + counts.dropped);
        prop_assert_eq!(counts.lost, 0);
    }

    #[test]
    fn without_damage_the_stream_comes_out_as_it_went_in(
        sends in vec((0..20u64, vec(any::<u8>(), 0..200)), 0..30),
        delay in 0..50u64, jitter in 0..50u64, seed: u64,
    ) {
        let faults = Faults { delay: ms(delay), jitter: ms(jitter), seed, ..Faults::default() };
        let mut link = FaultyBytes::new(faults, 0);
        let mut now = Instant::now();
        let mut out = Vec::new();
        for (wait, bytes) in &sends {
            now += ms(*wait);
            link.send(now, bytes);
            out.extend(link.receive(now));
        }
        out.extend(joined(&drain(&mut link, now)));
        prop_assert_eq!(out, sends.into_iter().flat_map(|(_, bytes)| bytes).collect::<Vec<u8>>());
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}") {
        let _ = text.parse::<Faults>().map_err(|error| error.to_string());
    }
}
