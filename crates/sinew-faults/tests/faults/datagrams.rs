//! The datagram link.

use std::time::Instant;

use proptest::{collection::vec, prelude::*};
use sinew_faults::{
    DatagramFaults, Faults, FaultyDatagrams, HELD_BACK, MAX_DATAGRAMS, MAX_IN_FLIGHT,
};

use crate::ms;

fn link(faults: &str) -> FaultyDatagrams {
    FaultyDatagrams::new(faults.parse().unwrap(), 1)
}

/// Takes everything out, at the times the link gives.
fn drain(link: &mut FaultyDatagrams, mut now: Instant) -> Vec<(Instant, Vec<u8>)> {
    let mut out = Vec::new();
    while let Some(next) = link.poll_timeout() {
        now = now.max(next);
        out.push((now, link.receive(now).expect("something is due when it says so")));
    }
    out
}

#[test]
fn a_link_without_faults_is_a_wire() {
    let now = Instant::now();
    let mut link = link("");
    for bytes in [&b"hello"[..], b"", b"world"] {
        link.send(now, bytes);
    }
    assert_eq!(link.poll_timeout(), Some(now));
    let out: Vec<Vec<u8>> = std::iter::from_fn(|| link.receive(now)).collect();
    assert_eq!(out, [&b"hello"[..], b"", b"world"], "each by itself, in order");
    assert_eq!(link.poll_timeout(), None);
}

#[test]
fn delay_holds_datagrams_back_and_jitter_keeps_their_order() {
    let now = Instant::now();
    let mut link = link("delay=5ms,jitter=2ms");
    for number in 0..200 {
        link.send(now, &[number]);
    }
    assert_eq!(link.receive(now + ms(4)), None);
    let out = drain(&mut link, now);
    assert!(out.iter().map(|(_, bytes)| bytes[0]).eq(0..200));
    assert!(out.iter().all(|(at, _)| (now + ms(5)..=now + ms(7)).contains(at)));
    assert!(out.first().unwrap().0 < out.last().unwrap().0);
}

#[test]
fn some_are_overtaken() {
    let now = Instant::now();
    let mut link = link("reorder=0.2,delay=1ms");
    for number in 0..=250 {
        link.send(now + ms(20) * number, &[number as u8]);
    }
    let out = drain(&mut link, now);
    assert!(out.iter().all(|(at, bytes)| {
        let sent = now + ms(20) * u32::from(bytes[0]);
        (sent + ms(1)..=sent + ms(1) + HELD_BACK).contains(at)
    }));
    let overtaken = out.windows(2).filter(|two| two[0].1 > two[1].1).count();
    assert!((10..80).contains(&overtaken), "{overtaken} of 251");
    assert_eq!(out.len(), 251, "and none is lost");
    assert!((25..80).contains(&link.counts().held_back));
}

#[test]
fn faults_happen_as_often_as_asked() {
    let now = Instant::now();
    let mut link = link("drop=0.1,corrupt=0.05,duplicate=0.2");
    let mut out = 0;
    for _ in 0..10_000 {
        link.send(now, &[0; 8]);
        out += std::iter::from_fn(|| link.receive(now)).count();
    }
    let counts = link.counts();
    let near = |got: u64, wanted: u64| got.abs_diff(wanted) < wanted / 5;
    assert!(near(counts.dropped, 1_000), "{counts:?}");
    assert!(near(counts.corrupted, 450), "{counts:?}");
    assert!(near(counts.duplicated, 1_800), "{counts:?}");
    assert_eq!(counts.delivered, out as u64);
}

#[test]
fn a_corrupted_datagram_is_never_the_same_and_has_its_length() {
    let now = Instant::now();
    let mut link = link("corrupt=1");
    for length in [1, 2, 57, 239] {
        link.send(now, &vec![0xA5; length]);
        let out = link.receive(now).unwrap();
        assert_eq!(out.len(), length);
        let wrong = out.iter().filter(|byte| **byte != 0xA5).count();
        assert!((1..=3).contains(&wrong));
    }
    link.send(now, b"");
    assert_eq!(link.receive(now).unwrap(), b"");
}

#[test]
fn a_cut_loses_what_is_under_way_and_what_follows() {
    let now = Instant::now();
    let mut link = link("delay=10ms");
    link.send(now, b"lost");
    link.cut();
    link.send(now, b"lost too");
    assert!(link.is_cut());
    assert_eq!((link.poll_timeout(), link.receive(now + ms(99))), (None, None));
    link.restore();
    link.send(now + ms(100), b"back");
    assert_eq!(link.receive(now + ms(110)).unwrap(), b"back");
    assert_eq!((link.counts().lost, link.counts().delivered), (2, 1));
}

#[test]
fn a_stall_delivers_late_but_all() {
    let now = Instant::now();
    let mut link = link("");
    link.send(now, b"a");
    link.stall(now + ms(500));
    link.send(now + ms(100), b"b");
    assert_eq!(link.receive(now + ms(499)), None);
    assert_eq!(link.poll_timeout(), Some(now + ms(500)));
    assert_eq!(link.receive(now + ms(500)).unwrap(), b"a");
    assert_eq!(link.receive(now + ms(500)).unwrap(), b"b");
}

#[test]
fn both_directions_share_faults_but_not_luck() {
    let now = Instant::now();
    let faults: DatagramFaults = "drop=0.5,reorder=0.2,seed=7".parse().unwrap();
    let run = |faults, seed| {
        let mut link = FaultyDatagrams::new(faults, seed);
        (0..=255).for_each(|number| link.send(now, &[number]));
        drain(&mut link, now)
    };
    assert_eq!(run(faults, 0), run(faults, 0));
    assert_ne!(run(faults, 0), run(faults, 1));
}

#[test]
fn what_a_datagram_has_with_it_is_never_damaged() {
    let now = Instant::now();
    let faults = "drop=0.2,corrupt=0.5,duplicate=0.5,reorder=0.5,jitter=9ms".parse().unwrap();
    let mut link: FaultyDatagrams<u8> = FaultyDatagrams::new(faults, 1);
    (0..200).for_each(|number| link.send_with(now, number, &[number; 100]));
    let end = now + ms(1000);
    let out: Vec<(u8, Vec<u8>)> = std::iter::from_fn(|| link.receive_with(end)).collect();
    assert!(out.len() > 200);
    for (number, bytes) in out {
        assert!(bytes.iter().filter(|byte| **byte != number).count() <= 3);
    }
}

#[test]
fn datagrams_nobody_takes_are_bounded() {
    let now = Instant::now();
    let mut many = link("");
    (0..10_000).for_each(|_| many.send(now, b""));
    assert_eq!(std::iter::from_fn(|| many.receive(now)).count(), MAX_DATAGRAMS);
    assert_eq!(many.counts().lost, 10_000 - MAX_DATAGRAMS as u64);
    let mut large = link("");
    (0..100).for_each(|_| large.send(now, &[0; 60_000]));
    let bytes: usize = std::iter::from_fn(|| large.receive(now)).map(|bytes| bytes.len()).sum();
    assert!(bytes <= MAX_IN_FLIGHT && bytes > MAX_IN_FLIGHT - 60_000);
}

#[test]
fn faults_are_read_and_written() {
    let faults: DatagramFaults = "drop=0.01, reorder = 0.05 ,delay=5ms,seed=7".parse().unwrap();
    let link = Faults { drop: 0.01, delay: ms(5), seed: 7, ..Faults::default() };
    assert_eq!(faults, DatagramFaults { link, reorder: 0.05 });
    assert_eq!(faults.to_string().parse::<DatagramFaults>().unwrap(), faults);
    assert_eq!("".parse::<DatagramFaults>().unwrap(), DatagramFaults::default());
    for (text, message) in [
        ("dorp=0.1", "did you mean `drop`? Known: drop, corrupt, duplicate, reorder, delay,"),
        ("reorderd=0.1", "unknown fault `reorderd`: did you mean `reorder`?"),
        ("corrupt=-1", "corrupt: wanted a probability from 0 to 1, got `-1`"),
        ("jitter=1", "jitter: wanted a time up to an hour with its unit, such as 5ms, got `1`"),
        ("seed=-1", "seed: wanted a whole number from 0, got `-1`"),
        ("delay=1s,reorder=0,delay=1s", "delay is given twice"),
        ("reorder", "reorder: wanted a probability from 0 to 1, got ``"),
        ("reorder=NaN", "got `NaN`"),
        ("reorder=0,reorder=1", "reorder is given twice"),
    ] {
        let error = text.parse::<DatagramFaults>().unwrap_err();
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_datagram_is_lost_or_made_without_being_counted(
        sends in vec((0..20u64, vec(any::<u8>(), 0..50)), 0..60),
        drop in 0.0..0.5f64, corrupt in 0.0..0.5f64, duplicate in 0.0..0.5f64,
        reorder in 0.0..0.5f64, jitter in 0..5u64, seed: u64,
    ) {
        let faults = Faults { drop, corrupt, duplicate, delay: ms(3), jitter: ms(jitter), seed };
        let mut link = FaultyDatagrams::new(DatagramFaults { link: faults, reorder }, 0);
        let mut now = Instant::now();
        let mut out = 0;
        for (wait, bytes) in &sends {
            now += ms(*wait);
            link.send(now, bytes);
            out += std::iter::from_fn(|| link.receive(now)).count() as u64;
        }
        out += drain(&mut link, now).len() as u64;
        let counts = link.counts();
        prop_assert_eq!(counts.sent, sends.len() as u64);
        prop_assert_eq!(counts.delivered, out);
        prop_assert_eq!(counts.sent + counts.duplicated, counts.delivered + counts.dropped);
        prop_assert_eq!(counts.lost, 0);
    }
}
