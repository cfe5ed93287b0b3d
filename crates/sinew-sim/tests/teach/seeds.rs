//! Runs by seed, each with its own links, layout, robot, troubles and client.
//!
//! `SINEW_SEED=17 cargo test -p sinew-sim --test teach seeds -- --nocapture` runs that one alone
//! and prints every datagram and event.

use std::{env, ops::Range};

use fastrand::Rng;
use sinew_robot::teach::{LinkState as Link, Settings};
use sinew_sim::g1::{Mode, Options, TEACHING_TIMEOUT};

use crate::{
    chaos::{Chaos, faults},
    client::Client,
    harness::{LAYOUTS, Pair, Setup, ms},
    rules::Tally,
};

fn setup(seed: u64, trace: bool) -> Setup {
    let mut rng = Rng::with_seed(seed);
    let settings = Settings {
        layout: LAYOUTS[rng.usize(0..2)],
        unix_time: Some(1_700_000_000),
        tries: rng.u32(1..5),
        retry: ms([100, 400, 400, 700][rng.usize(0..4)]),
        idle_exit: ms([2000, 300_000, 300_000][rng.usize(0..3)]),
        ..Settings::default()
    };
    let options = Options {
        seed,
        status_hz: [2, 10, 20, 50][rng.usize(0..4)],
        needs_opening: rng.bool(),
        ..Options::default()
    };
    let (up, down) = match rng.u8(0..4) {
        0 => (Default::default(), Default::default()),
        _ => (faults(&mut rng), faults(&mut rng)),
    };
    // Half of them begin so that the numbers come round soon.
    let mut first = |most: u16| if rng.bool() { 0 } else { u16::MAX - rng.u16(0..most) };
    let (first_request, first_status) = (first(60), first(300));
    let thinking = ms([0, 5, 300][rng.usize(0..3)]);
    Setup { seed, settings, options, up, down, first_request, first_status, thinking, trace }
}

fn run(seed: u64, trace: bool) -> Tally {
    let _reproduce = Reproduce(seed);
    let setup = setup(seed, trace);
    if trace {
        eprintln!("{setup:#?}");
    }
    let mut rng = Rng::with_seed(seed ^ 0xE4D);
    let mut pair = Pair::new(setup);
    let mut chaos = Chaos::new(seed, pair.now);
    let mut client = Client::new(seed, pair.now);
    let end = pair.now + ms(rng.u64(5000..20_000));
    while pair.now < end {
        let next = chaos.next.min(client.next).min(end);
        while pair.now < next {
            pair.step(next);
        }
        if pair.now >= chaos.next {
            chaos.act(&mut pair);
        }
        if pair.now >= client.next {
            client.act(&mut pair);
        }
    }
    pair.rules.check_waiting(pair.now);
    finish(&mut pair, &mut rng);
    pair.rules.check_end(&pair.robot, &pair.disk);
    pair.rules.tally
}

/// The host goes, one way or the other.
fn finish(pair: &mut Pair, rng: &mut Rng) {
    let gone = TEACHING_TIMEOUT + ms(600);
    pair.up.stall(pair.now);
    pair.disk.restore();
    while pair.is_frozen() || pair.is_robot_frozen() {
        pair.run(ms(100));
    }
    match rng.u8(0..6) {
        // Its process died.
        0 => pair.freeze(pair.now + gone),
        // The network did.
        1 => pair.cut(),
        _ => pair.restore(),
    }
    if pair.is_frozen() || pair.up.is_cut() && pair.down.is_cut() {
        pair.run(gone);
        let mode = pair.robot.mode();
        assert!(matches!(mode, Mode::Idle | Mode::Playing), "{mode:?} for nobody");
    }
    pair.say("close", String::new);
    // What is fetched already was asked for before.
    pair.drain();
    pair.host.close(pair.now);
    pair.rules.closing = true;
    pair.run(ms(1000));
    assert_eq!(pair.host.state().link, Link::Closed, "closing takes no second");
    assert!(pair.rules.closed);
    assert_eq!(pair.host.poll_timeout(), None);
    assert!(!pair.host.state().teaching);
    pair.run(TEACHING_TIMEOUT + ms(600));
    let mode = pair.robot.mode();
    assert!(matches!(mode, Mode::Idle | Mode::Playing), "{mode:?} after the end");
}

/// Says how to run a seed again when it fails.
struct Reproduce(u64);

impl Drop for Reproduce {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = self.0;
            eprintln!(
                "reproduce: SINEW_SEED={seed} cargo test -p sinew-sim --test teach seeds -- --nocapture"
            );
        }
    }
}

/// Runs every seed of a range, or only the one that was asked for.
fn hold(seeds: Range<u64>) {
    if let Ok(seed) = env::var("SINEW_SEED") {
        let seed = seed.parse().unwrap();
        if seeds.contains(&seed) {
            eprintln!("{:?}", run(seed, true));
        }
        return;
    }
    let mut sum = Tally::default();
    for seed in seeds {
        let tally = run(seed, false);
        sum.done += tally.done;
        sum.refused += tally.refused;
        sum.unconfirmed += tally.unconfirmed;
        sum.stops += tally.stops;
        sum.saves += tally.saves;
        sum.plays += tally.plays;
        sum.pieces += tally.pieces;
        sum.taught += tally.taught;
        sum.lapsed += tally.lapsed;
        sum.lost += tally.lost;
        sum.restarts += tally.restarts;
        sum.hostile += tally.hostile;
        sum.full += tally.full;
        sum.takeovers += tally.takeovers;
        sum.cut_short += tally.cut_short;
        sum.pauses += tally.pauses;
    }
    println!("{sum:?}");
    let Tally { done, refused, unconfirmed, stops, saves, plays, pieces, .. } = sum;
    let Tally { taught, lapsed, lost, restarts, hostile, .. } = sum;
    let Tally { full, takeovers, cut_short, pauses, .. } = sum;
    let counts = [done, refused, unconfirmed, stops, saves, plays, pieces];
    let more = [taught, lapsed, lost, restarts, hostile, full, takeovers, cut_short, pauses];
    let happened = counts.iter().chain(&more).all(|&count| count > 0);
    assert!(happened, "too little happened: {sum:?}");
}

macro_rules! ranges {
    ($($name:ident $range:expr;)+) => {
        $(
            #[test]
            fn $name() {
                hold($range);
            }
        )+
    };
}

ranges! {
    the_rules_hold_in_seeds_0_to_599 0..600;
    the_rules_hold_in_seeds_600_to_1199 600..1200;
    the_rules_hold_in_seeds_1200_to_1799 1200..1800;
    the_rules_hold_in_seeds_1800_to_2399 1800..2400;
    the_rules_hold_in_seeds_2400_to_2999 2400..3000;
    the_rules_hold_in_seeds_3000_to_3599 3000..3600;
    the_rules_hold_in_seeds_3600_to_4199 3600..4200;
    the_rules_hold_in_seeds_4200_to_4799 4200..4800;
}
