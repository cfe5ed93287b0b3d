//! What strangers can do to a daemon's memory: nothing.

use fastrand::Rng;
use sinew_fleet::{Answered, Asker, Need, Offset, Remotes, Stamp};

use crate::{
    daemon::Ask,
    net::{SECOND, pick},
};

#[test]
fn thousands_of_names_take_no_more_room_than_the_most_there_may_be() {
    let mut remotes = Remotes::new("life");
    let mut sizes = Vec::new();
    for round in 0..3_u64 {
        for n in 0..6000 {
            // All names are of one length, so that the text below tells how many there are.
            let name = format!("{round}-{n:05}");
            remotes.token_came(&name);
            let stamp = rubbish(&name, n + 1, [n, n, n]);
            let _ = remotes.ask(n, &stamp, Need::Client);
            if n % 2 == 0 {
                remotes.token_gone(&name);
            }
        }
        sizes.push(format!("{remotes:?}").len());
    }
    // Tokens that are there, and those that went, are 4096 each at most; clients are far fewer.
    let most = 2 * 4096 * 12 + 256 * 600;
    assert!(sizes.iter().all(|size| *size < most), "{sizes:?}");
    assert_eq!(sizes[1], sizes[2], "{sizes:?}");
}

#[test]
fn a_name_that_is_too_long_is_nobodys() {
    let mut remotes = Remotes::new("life");
    for n in 0..1000 {
        let name = format!("{n}{}", "x".repeat(10_000));
        remotes.token_came(&name);
        remotes.token_gone(&format!("{name}y"));
    }
    let size = format!("{remotes:?}").len();
    assert!(size < 1000, "{size}");
}

#[test]
fn no_stamp_makes_it_panic_or_grow() {
    for seed in 0..200 {
        let mut random = Rng::with_seed(seed);
        let mut remotes = Remotes::new("life");
        let mut asker = Asker::new("c0", "", None);
        let mut now_us = 0;
        for _ in 0..2000 {
            now_us += random.u64(..SECOND / 2);
            let client = format!("c{}", random.u8(..4));
            match random.u8(..40) {
                0 => drop(remotes.token_gone(&client)),
                1..4 => remotes.token_came(&client),
                _ => {}
            }
            let numbers = [0; 3].map(|_| number(&mut random, now_us));
            let stamp = rubbish(&client, number(&mut random, now_us), numbers);
            let ask = pick(&mut random, &[Ask::Ping, Ask::Enable, Ask::Go, Ask::Stop]);
            let known = remotes.ask(now_us, &stamp, ask.need()).is_ok();
            let daemon_us = number(&mut random, now_us);
            let answered =
                Answered { instance: "life".into(), daemon_us, known, in_step: random.bool() };
            asker.answered(number(&mut random, now_us), &answered);
            asker.stamp(number(&mut random, now_us), std::time::Duration::MAX);
        }
        let size = format!("{remotes:?}").len();
        assert!(size < 64_000, "seed {seed}: {size}");
    }
}

#[test]
fn what_is_known_of_a_clock_stays_small() {
    let mut offset = Offset::default();
    let mut random = Rng::with_seed(1);
    let mut largest = 0;
    for n in 0..100_000 {
        let now_us = n * 10_000;
        offset.learn(now_us, number(&mut random, now_us), number(&mut random, now_us), 0);
        if n % 10_000 == 0 {
            largest = largest.max(format!("{offset:?}").len());
        }
    }
    assert!(largest < 62 * 100, "{largest}: more than one sample a second for a minute");
}

/// What a broken or ill-meaning client may say.
fn rubbish(client: &str, seq: u64, [sent_us, echo_us, held_us]: [u64; 3]) -> Stamp {
    let (client, to) = (Some(client.to_owned()), Some("life".to_owned()));
    let (echo_us, since_us) = (Some(echo_us), held_us);
    Stamp { client, to, seq, sent_us, echo_us, held_us, since_us, ..Stamp::default() }
}

/// Numbers at all edges, and some that could be true.
fn number(random: &mut Rng, now_us: u64) -> u64 {
    let likely = [0, 1, now_us, now_us + 1, now_us.saturating_sub(SECOND), u64::MAX, u64::MAX - 1];
    if random.bool() { *pick(random, &likely) } else { random.u64(..) }
}
