//! How good and how fast maps are: a flat after ten minutes of driving against the truth, a turn of
//! the lidar, a cloud into the voxel map, a snapshot of a million cells, files of a million points.
//!
//! `cargo xtask bench` runs it. An argument keeps only the cases whose name contains it; a number
//! after it is how many seeds of the flat are driven.

#![allow(clippy::print_stdout, reason = "a bench prints")]
#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[path = "../tests/map/flat.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod flat;

use std::{
    env,
    time::{Duration, Instant},
};

fn main() {
    let words: Vec<_> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let filter = words.first().map_or("", |word| word.as_str());
    let seeds = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(50);
    if "flat".contains(filter) {
        flats(seeds);
    }
}

/// Ten minutes in a flat, many times.
fn flats(seeds: u64) {
    let mut metres = Vec::new();
    for seed in 1..=seeds {
        let mut run = flat::Run::new(seed);
        let start = Instant::now();
        run.stand(2);
        run.drive(600);
        let took = start.elapsed();
        let figures = run.figures();
        let each: Duration = took / figures.matched.1 as u32;
        println!("seed {seed}: {figures:.3?}, {each:.2?} a turn, simulation included");
        metres.push(figures.end);
    }
    let worst = |pick: fn(&(f64, f64)) -> f64| metres.iter().map(pick).fold(0.0, f64::max);
    println!("worst of {seeds}: {:.3} m, {:.2} degrees", worst(|end| end.0), worst(|end| end.1).to_degrees());
}
