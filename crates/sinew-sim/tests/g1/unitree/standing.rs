//! A map of the clouds of a robot that stands, against the building's true surfaces.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use sinew_robot::{
    map::{Cursor, VoxelMap, VoxelSettings},
    mapping::{self, Pose},
};
use sinew_sim::g1::{UnitreeOptions, building::MAX_NOISE};
use sinew_wire::slam::{Cloud, CloudFrame, Message};

use super::{
    clouds::{clouds, mapping, off, outside},
    support::options,
};
use crate::support::ms;

/// A message's points, seen from where mapping began.
fn cloud(sequence: u64, bytes: &[u8]) -> mapping::Cloud {
    let cloud = Cloud::new(&Message::new_checked(bytes).unwrap(), None).unwrap();
    let origin = [-20.0; 3];
    let points = cloud.points(CloudFrame::Map).unwrap().into_iter().map(|point| {
        let steps = |axis: usize| ((f64::from(point[axis]) - origin[axis]) * 1000.0).round() as u16;
        std::array::from_fn(steps)
    });
    mapping::Cloud {
        sequence,
        origin,
        unit: 0.001,
        points: points.collect(),
        pose: Some(Pose::default()),
        frame: Arc::from("map"),
    }
}

/// The cells of a map, and how far the middle of each is from any surface.
fn cells(map: &VoxelMap, now: Instant) -> BTreeMap<[u16; 3], f64> {
    let mut points = Vec::new();
    assert!(!map.changes(now, &mut Cursor::default(), usize::MAX, &mut points));
    let middle = |cell: [u16; 3]| {
        outside(std::array::from_fn(|axis| {
            (map.origin()[axis] + (f64::from(cell[axis]) + 0.5) * map.unit()) as f32
        }))
    };
    points.into_iter().map(|[x, y, z, _]| ([x, y, z], off(middle([x, y, z])))).collect()
}

/// The share of cells that a surface passes through or touches, of those where the building stands
/// square to them.
fn right(offs: &[f64], cell: f64) -> f64 {
    let touching = offs.iter().filter(|off| **off <= cell / 2.0 + 0.001).count();
    touching as f64 / offs.len() as f64
}

#[test]
fn what_a_map_gains_while_the_robot_stands_is_there() {
    let unitree = UnitreeOptions { patrol: false, points_per_cloud: 20_000, ..options().unitree };
    let mut line = mapping(unitree);
    line.run(ms(8050));
    let mut map = VoxelMap::new(VoxelSettings::default());
    let cell = map.unit();
    let (mut before, mut rates) = (BTreeMap::new(), Vec::new());
    let mut last = 0;
    for ((at, bytes), count) in clouds(&line).into_iter().zip(1..) {
        map.insert(at, &cloud(count, &bytes)).unwrap();
        if ![20, 40, 80].contains(&count) {
            continue;
        }
        let now = cells(&map, at);
        let all: Vec<_> = now.values().copied().collect();
        let is_new = |(cell, _): &(&[u16; 3], &f64)| !before.contains_key(*cell);
        let new: Vec<_> = now.iter().filter(is_new).map(|(_, off)| *off).collect();
        let shares = (right(&all, cell), right(&new, cell));
        println!(
            "{count} clouds: {} cells, {} new; on surfaces {shares:.3?}",
            all.len(),
            new.len()
        );
        // Far away, where shots are sparse, surfaces are still seen for the first time.
        assert!(shares.0 >= 0.99 && shares.1 >= 0.95, "{count}: {shares:?}");
        let furthest = all.iter().copied().fold(0.0, f64::max);
        assert!(furthest <= MAX_NOISE + cell * 3.0_f64.sqrt() / 2.0 + 0.002, "{furthest}");
        rates.push(new.len() as u64 / (count - last));
        (before, last) = (now, count);
    }
    assert!(rates.windows(2).all(|pair| pair[1] * 2 < pair[0]), "it dries up: {rates:?}");
}
