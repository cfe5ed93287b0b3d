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
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_robot::{
    map::{
        Cursor, VoxelMap, VoxelSettings,
        file::{Points, pcd, ply},
    },
    mapping::{Cloud, Pose},
};

fn main() {
    let words: Vec<_> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let filter = words.first().map_or("", |word| word.as_str());
    let seeds = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(50);
    for (name, case) in [
        ("cloud of 900 points into the map", cloud as fn(&str)),
        ("snapshot of a million cells", snapshot),
        ("files of a million points", files),
    ] {
        if name.contains(filter) {
            case(name);
        }
    }
    if "flat".contains(filter) {
        flats(seeds);
    }
}

/// The median of several turns.
fn median(turns: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..turns)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[turns / 2]
}

/// A robot that walks along a corridor and sees its walls, ten times a second.
fn cloud(name: &str) {
    let mut random = fastrand::Rng::with_seed(1);
    let mut map = VoxelMap::new(VoxelSettings::default());
    let start = Instant::now();
    let mut step = 0_u32;
    let time = median(501, || {
        step += 1;
        let at = f64::from(step) * 0.05;
        let points = (0..900).map(|_| {
            let side = if random.bool() { 1200 } else { 0 };
            [random.u16(0..6000), side + random.u16(0..20), random.u16(0..2500)]
        });
        let cloud = Cloud {
            sequence: step.into(),
            origin: [at - 3.0, -0.6, 0.0],
            unit: 0.001,
            points: points.collect(),
            pose: Some(Pose { x: at, z: 1.2, ..Pose::default() }),
            frame: Arc::from("map"),
        };
        map.insert(start + Duration::from_millis(100) * step, &cloud).unwrap();
    });
    let (cells, bytes) = (map.len(), map.bytes());
    println!("{name:<40} {time:>10.2?}   {cells} cells in {} kB", bytes / 1000);
}

/// All frames of a map for a client that joins: 256 kB each.
fn snapshot(name: &str) {
    let settings = VoxelSettings { max_bytes: 1 << 30, ..VoxelSettings::default() };
    let mut map = VoxelMap::new(settings);
    let now = Instant::now();
    for slab in 0..16 {
        let points: Vec<_> = (0..65_536_u32)
            .map(|index| [(index % 256) as u16 * 5, (index / 256) as u16 * 5, 0])
            .collect();
        let origin = [0.0, 0.0, f64::from(slab) * 0.8];
        let frame = Arc::from("map");
        let cloud = Cloud { sequence: 1, origin, unit: 0.01, points, pose: None, frame };
        map.insert(now, &cloud).unwrap();
    }
    let (mut points, mut frames) = (0, 0);
    let time = median(5, || {
        (points, frames) = (0, 0);
        let (mut cursor, mut frame) = (Cursor::default(), Vec::new());
        loop {
            frame.clear();
            let more = map.changes(now, &mut cursor, 32_000, &mut frame);
            (points, frames) = (points + frame.len(), frames + 1);
            if !more {
                break;
            }
        }
    });
    println!("{name:<40} {time:>10.2?}   {points} points in {frames} frames");
}

/// Writing and reading.
fn files(name: &str) {
    let mut random = fastrand::Rng::with_seed(2);
    let places: Vec<_> =
        (0..1_000_000).map(|_| [random.f32() * 40.0, random.f32() * 40.0, random.f32()]).collect();
    let points = Points::from_xyz(&places).unwrap();
    for encoding in [pcd::Encoding::Ascii, pcd::Encoding::Binary, pcd::Encoding::Compressed] {
        let mut file = Vec::new();
        let wrote = median(3, || file = pcd::write(&points, encoding));
        let read = median(3, || assert_eq!(pcd::read(&file).unwrap().0.len(), points.len()));
        let label = format!("{name}, PCD {}", encoding.word());
        println!(
            "{label:<50} written in {wrote:>9.2?}, read in {read:>9.2?}, {} kB",
            file.len() / 1000
        );
    }
    let mut file = Vec::new();
    let wrote = median(3, || file = ply::write(&points).unwrap());
    let read = median(3, || assert_eq!(ply::read(&file).unwrap().0.len(), points.len()));
    let label = format!("{name}, PLY");
    println!(
        "{label:<50} written in {wrote:>9.2?}, read in {read:>9.2?}, {} kB",
        file.len() / 1000
    );
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
        let turn = run.slowest;
        println!(
            "seed {seed}: {figures:.3?}, {each:.2?} a turn with its simulation, slowest match {turn:.2?}"
        );
        metres.push(figures.end);
    }
    let worst = |pick: fn(&(f64, f64)) -> f64| metres.iter().map(pick).fold(0.0, f64::max);
    println!(
        "worst of {seeds}: {:.3} m, {:.2} degrees",
        worst(|end| end.0),
        worst(|end| end.1).to_degrees()
    );
}
