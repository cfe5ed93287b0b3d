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
    hint::black_box,
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
        ("cloud of 20,000 points into the map", large_cloud),
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

/// The median of what several turns take of the processor.
fn median(turns: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..turns)
        .map(|_| {
            let start = flat::spent();
            run();
            flat::spent() - start
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

/// A robot that stands in a room and sees it ten times a second, each time from other directions.
fn large_cloud(name: &str) {
    let mut random = fastrand::Rng::with_seed(3);
    let mut map = VoxelMap::new(VoxelSettings::default());
    let start = Instant::now();
    let mut clouds = (1..=101_u32).map(|step| {
        let points = (0..20_000).map(|_| {
            let way: [f64; 3] = std::array::from_fn(|_| random.f64() - 0.5);
            // Walls at 6 m and 4 m, floor and ceiling at 1.25 m, and noise.
            let room = way.iter().zip([6.0, 4.0, 1.25]).map(|(way, wall)| wall / way.abs());
            let noise = (0..3).map(|_| random.f64() - 0.5).sum::<f64>() * 0.04;
            let length = way.iter().map(|axis| axis * axis).sum::<f64>().sqrt();
            let reach = room.fold(f64::INFINITY, f64::min) + noise / length;
            way.map(|axis| ((axis * reach + 10.0) * 1000.0) as u16)
        });
        Cloud {
            sequence: step.into(),
            origin: [-10.0; 3],
            unit: 0.001,
            points: points.collect(),
            pose: Some(Pose::default()),
            frame: Arc::from("map"),
        }
    });
    let (mut first, mut copied) = (Duration::ZERO, Vec::new());
    let mut times: Vec<_> = (0..101)
        .map(|step| {
            let cloud = clouds.next().unwrap();
            copied.push(median(9, || drop(black_box(cloud.points.clone()))));
            let asked = flat::spent();
            map.insert(start + Duration::from_millis(100) * step, &cloud).unwrap();
            let took = flat::spent() - asked;
            if step == 0 {
                first = took;
            }
            took
        })
        .collect();
    times.sort_unstable();
    copied.sort_unstable();
    let (time, copy) = (times[50], copied[50]);
    println!(
        "{name:<40} {time:>10.2?}   {:.0} times a copy of it, the first one {first:.2?}, {} cells",
        time.as_secs_f64() / copy.as_secs_f64(),
        map.len()
    );
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
    let (mut metres, mut times) = (Vec::new(), Vec::new());
    for seed in 1..=seeds {
        let mut run = flat::Run::new(seed);
        run.stand(2);
        run.drive(600);
        let figures = run.figures();
        let slowest = run.times.iter().max().unwrap();
        println!("seed {seed}: {figures:.3?}, slowest turn {slowest:.2?}");
        metres.push(figures.end);
        times.append(&mut run.times);
    }
    let worst = |pick: fn(&(f64, f64)) -> f64| metres.iter().map(pick).fold(0.0, f64::max);
    println!(
        "worst of {seeds}: {:.3} m, {:.2} degrees",
        worst(|end| end.0),
        worst(|end| end.1).to_degrees()
    );
    times.sort_unstable();
    let megabyte = vec![1_u8; 1 << 20];
    let mut copy = megabyte.clone();
    let yardstick = median(201, || black_box(&mut copy).copy_from_slice(black_box(&megabyte)));
    let last = times.len() - 1;
    for (name, time) in
        [("median", times[last / 2]), ("99 of 100", times[last * 99 / 100]), ("worst", times[last])]
    {
        let ratio = time.as_secs_f64() / yardstick.as_secs_f64();
        println!("a turn, {name:<10} {time:>10.2?}   {ratio:.1} times a copy of a mebibyte");
    }
}
