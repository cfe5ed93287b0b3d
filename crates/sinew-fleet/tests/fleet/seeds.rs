//! Thousands of runs with everything that can go wrong between clients and a daemon; the judge looks at each step.

use fastrand::Rng;

use crate::{
    client::Manner,
    judge::Tally,
    net::{Cut, Faults, MS, Net, SECOND, pick},
    world::{Event, World, seeds},
};

const SEEDS: u64 = 4000;
const LENGTH: u64 = 20 * SECOND;

#[test]
fn whatever_the_network_does_nothing_moves_that_must_not() {
    let seeds = seeds(SEEDS);
    let is_one = seeds.end - seeds.start == 1;
    let mut tally = Tally::default();
    for seed in seeds {
        tally += run(seed);
    }
    if is_one {
        return;
    }
    // Runs in which nothing is ever moved or refused would prove nothing.
    let Tally { moved, too_old, gone, overtaken, elsewhere, outrun, cut } = tally;
    assert!(moved > 50 * SEEDS, "{tally:?}");
    assert!([too_old, gone, overtaken, elsewhere].iter().all(|count| *count > SEEDS), "{tally:?}");
    assert!(outrun > 100 && cut > 100, "{tally:?}");
}

fn run(seed: u64) -> Tally {
    let mut random = Rng::with_seed(seed);
    let clients = random.usize(2..=3);
    let nets = (0..clients).map(|_| (any_net(&mut random), Manner::Fickle)).collect();
    let mut world = World::new(seed, random, nets);
    for who in 0..clients {
        for _ in 0..world.random.u8(..=2) {
            let at = world.random.u64(..LENGTH);
            // Most are about as long as the dead-man or the lease, where it matters.
            let longest = if world.random.bool() { 600 * MS } else { 5 * SECOND };
            let time = world.random.u64(10 * MS..longest);
            world.plan(at, Event::Freeze(who, time));
        }
    }
    for _ in 0..*pick(&mut world.random, &[0, 0, 1, 2]) {
        let at = world.random.u64(..LENGTH);
        world.plan(at, Event::Restart);
    }
    world.run(LENGTH);
    world.judge.tally
}

fn any_net(random: &mut Rng) -> Net {
    let (there, back) = (Faults::any(random), Faults::any(random));
    let mut cuts = Vec::new();
    let mut begin = 0;
    for _ in 0..random.u8(..=2) {
        begin += random.u64(..LENGTH / 2);
        let longest = if random.bool() { SECOND } else { 10 * SECOND };
        let end = begin + random.u64(10 * MS..longest);
        cuts.push(Cut { begin, end, holds: random.bool() });
        begin = end + 1;
    }
    Net::new(there, back, cuts)
}
