//! Runs by seed, each with its own link, caller, robot, troubles and client.
//!
//! `SINEW_SEED=17 cargo test -p sinew-sim --test pair seeds -- --nocapture` runs that one alone and
//! prints every frame and event.

use std::{env, ops::Range, time::Duration};

use fastrand::Rng;
use sinew_robot::vacuum::Settings;
use sinew_sim::vacuum::{Options, Pose};
use sinew_wire::gd32::Profile;

use crate::{
    chaos::{Chaos, anywhere, faults},
    client::Client,
    harness::{Pair, Setup, ms},
    rules::Tally,
};

/// How late a caller may be, and how long a port full, such that two beats are never over 50 ms
/// apart: 20 + 11 + 11, and 8 for a line that is full.
const LATEST: Duration = ms(11);

fn setup(seed: u64, trace: bool) -> Setup {
    let mut rng = Rng::with_seed(seed);
    let profile = if rng.u8(..) < 200 { Profile::DOCUMENT } else { Profile::LATER };
    let settings = Settings {
        profile,
        deadman: ms([100, 300, 300, 600][rng.usize(0..4)]),
        dock_timeout: ms(rng.u64(2000..9000)),
        boot_retry: ms(rng.u64(100..1000)),
        baud: [115_200, 115_200, 57_600, 38_400, 19_200, 9600][rng.usize(0..6)],
        ..Settings::default()
    };
    let options = Options {
        seed,
        profile,
        start: if rng.u8(..) < 150 { Pose::default() } else { anywhere(&mut rng) },
        boot_delay: if rng.bool() { Duration::ZERO } else { ms(rng.u64(0..800)) },
        needs_companion: rng.u8(..) < 30,
        ..Options::default()
    };
    let (up, down) = match rng.u8(0..3) {
        0 => (Default::default(), Default::default()),
        _ => (faults(&mut rng), faults(&mut rng)),
    };
    let slow = settings.baud < 115_200 || rng.bool();
    let fast = settings.baud >= 57_600;
    let late = if rng.bool() || !fast { Duration::ZERO } else { LATEST };
    let blocked = if rng.u8(..) < 200 || !fast { Duration::ZERO } else { LATEST };
    let age = if rng.u8(..) < 200 { Duration::ZERO } else { ms(400) };
    Setup { seed, settings, options, up, down, late, blocked, slow, age, trace }
}

fn run(seed: u64, trace: bool) -> Tally {
    let _reproduce = Reproduce(seed);
    let setup = setup(seed, trace);
    if trace {
        eprintln!("{setup:#?}");
    }
    let blocked = setup.blocked;
    let mut pair = Pair::new(setup);
    let mut chaos = Chaos::new(seed, pair.now, blocked);
    let mut client = Client::new(seed, pair.now);
    let end = pair.now + ms(Rng::with_seed(seed).u64(10_000..20_000));
    pair.connect();
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
    pair.rules.tally
}

/// Says how to run a seed again when it fails.
struct Reproduce(u64);

impl Drop for Reproduce {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = self.0;
            eprintln!(
                "reproduce: SINEW_SEED={seed} cargo test -p sinew-sim --test pair seeds -- --nocapture"
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
        sum.accepted += tally.accepted;
        sum.refused += tally.refused;
        sum.moving_frames += tally.moving_frames;
        sum.rolled += tally.rolled;
        sum.stops += tally.stops;
        sum.boots += tally.boots;
        sum.lost += tally.lost;
        sum.expired += tally.expired;
        sum.reflexes += tally.reflexes;
        sum.docks += tally.docks;
        sum.hazards += tally.hazards;
        sum.pauses += tally.pauses;
        sum.held += tally.held;
        sum.let_go += tally.let_go;
    }
    println!("{sum:?}");
    let Tally { accepted, refused, moving_frames, rolled, stops, boots, .. } = sum;
    let Tally { lost, expired, reflexes, docks, hazards, pauses, held, let_go, .. } = sum;
    let counts =
        [accepted, refused, moving_frames, rolled, stops, boots, lost, expired, reflexes, docks];
    let more = [hazards, pauses, held, let_go];
    assert!(counts.iter().chain(&more).all(|&count| count > 0), "too little happened: {sum:?}");
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
    the_rules_hold_in_seeds_0_to_299 0..300;
    the_rules_hold_in_seeds_300_to_599 300..600;
    the_rules_hold_in_seeds_600_to_899 600..900;
    the_rules_hold_in_seeds_900_to_1199 900..1200;
    the_rules_hold_in_seeds_1200_to_1499 1200..1500;
    the_rules_hold_in_seeds_1500_to_1799 1500..1800;
    the_rules_hold_in_seeds_1800_to_2099 1800..2100;
    the_rules_hold_in_seeds_2100_to_2399 2100..2400;
}
