//! Rules that refuse everything would be safe, too: whoever asks on is heard, and soon.

use fastrand::Rng;

use crate::{
    client::Manner,
    judge::Record,
    net::{Cut, Faults, MS, Net, SECOND},
    world::{Event, World, seeds},
};

const SEEDS: u64 = 300;
/// Within this time a client drives that could not, on a network of up to 100 ms each way.
const SOON: u64 = 3 * SECOND;

#[test]
fn on_a_good_network_a_client_drives_soon_and_nearly_all_its_velocities_count() {
    for seed in seeds(SEEDS) {
        let mut world = alone(seed, Vec::new(), good);
        world.run(10 * SECOND);
        let Record { came, moved, .. } = &world.judge.records[0];
        let first = moved.first().copied();
        assert!(first.is_some_and(|first| first < SOON), "seed {seed}: drives at {first:?}");
        let (came, counted) = (*came, moved.len() as u64);
        assert!(counted * 100 >= came * 95, "seed {seed}: {counted} of {came} counted");
    }
}

#[test]
fn on_a_bad_network_a_client_gets_through_too() {
    for seed in seeds(SEEDS) {
        let mut world = alone(seed, Vec::new(), bad);
        world.run(20 * SECOND);
        let moved = &world.judge.records[0].moved;
        let first = moved.first().copied();
        assert!(first.is_some_and(|first| first < 8 * SECOND), "seed {seed}: drives at {first:?}");
        let longest = moved.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert!(longest.is_some_and(|gap| gap < 5 * SECOND), "seed {seed}: paused {longest:?}");
    }
}

#[test]
fn after_a_cut_a_client_drives_again_by_itself() {
    for seed in seeds(SEEDS) {
        let mut random = Rng::with_seed(!seed);
        let begin = 5 * SECOND + random.u64(..SECOND);
        let end = begin + random.u64(10 * MS..10 * SECOND);
        let cut = Cut { begin, end, holds: random.bool() };
        let mut world = alone(seed, vec![cut], good);
        world.run(begin);
        let before = world.name(0);
        drives_again(&mut world, end, seed);
        let has_gone = end - begin > 2 * SECOND;
        assert_eq!(world.name(0) != before, has_gone, "seed {seed}: {cut:?}");
    }
}

#[test]
fn after_the_daemon_was_started_anew_a_client_drives_again_by_itself() {
    for seed in seeds(SEEDS) {
        let mut world = alone(seed, Vec::new(), good);
        world.plan(6 * SECOND, Event::Restart);
        world.run(6 * SECOND - 1);
        let before = world.name(0);
        drives_again(&mut world, 6 * SECOND, seed);
        assert_ne!(world.name(0), before, "seed {seed}");
    }
}

#[test]
fn after_it_was_frozen_a_client_drives_again_by_itself() {
    for seed in seeds(SEEDS) {
        let time = Rng::with_seed(!seed).u64(10 * MS..10 * SECOND);
        let mut world = alone(seed, Vec::new(), good);
        world.plan(6 * SECOND, Event::Freeze(0, time));
        drives_again(&mut world, 6 * SECOND + time, seed);
    }
}

/// It drove before, and soon after this moment it does again.
fn drives_again(world: &mut World, from: u64, seed: u64) {
    world.run(from + SOON);
    let moved = &world.judge.records[0].moved;
    assert!(moved.iter().any(|at| *at < 6 * SECOND), "seed {seed}: never drove");
    // What was on its way, or held, may count for a moment after; that is not what is meant.
    let again = moved.iter().find(|at| **at > from + 400 * MS);
    assert!(again.is_some(), "seed {seed}: does not drive again after {from}");
}

/// One client that drives whenever it can.
fn alone(seed: u64, cuts: Vec<Cut>, faults: fn(&mut Rng) -> Faults) -> World {
    let mut random = Rng::with_seed(seed);
    let net = Net::new(faults(&mut random), faults(&mut random), cuts);
    World::new(seed, random, vec![(net, Manner::Steady)])
}

fn good(random: &mut Rng) -> Faults {
    let (base, jitter) = (random.u64(..=100 * MS), random.u64(..=10 * MS));
    Faults { base, jitter, ..Faults::default() }
}

fn bad(random: &mut Rng) -> Faults {
    let base = random.u64(..=100 * MS);
    Faults { base, jitter: 40 * MS, loss: 0.2, double: 0.1, reorder: 0.2 }
}
