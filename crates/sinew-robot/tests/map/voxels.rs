//! The map of a robot's clouds: what it shows, forgets and streams.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use sinew_robot::{
    map::{
        Cursor, GONE, VoxelMap, VoxelSettings,
        file::{Ground, messages},
    },
    mapping::Cloud,
};

use crate::support::{cloud, message, seconds, start, wall};

#[test]
fn a_wall_becomes_cells_with_hits_and_ages() {
    let start = start();
    let mut map = VoxelMap::new(VoxelSettings::default());
    let taken = map.insert(start, &cloud(&wall(2.02, 0.05), None)).unwrap();
    assert_eq!((taken.points, taken.outside, taken.refused), (1600, 0, 0));
    assert_eq!(map.len(), 1600);
    map.insert(start + seconds(3.0), &cloud(&wall(2.02, 0.05)[..800], None)).unwrap();
    assert_eq!(map.len(), 1600, "the same cells");
    let points = map.points(start + seconds(5.0)).unwrap();
    let (hits, age) = (points.field("hits").unwrap().1, points.field("age").unwrap().1);
    let mut seen = HashMap::new();
    for row in points.rows() {
        let hits = u16::from_le_bytes(row[hits..hits + 2].try_into().unwrap());
        let age = f32::from_le_bytes(row[age..age + 4].try_into().unwrap());
        *seen.entry((hits, age.to_bits())).or_insert(0) += 1;
    }
    assert_eq!(seen, HashMap::from([((2, 2.0_f32.to_bits()), 800), ((1, 5.0_f32.to_bits()), 800)]));
    let bounds = map.bounds().unwrap();
    for (got, wanted) in bounds.min.iter().zip([2.0, 0.0, 0.0]) {
        assert!((got - wanted).abs() < 1e-6, "{bounds:?}");
    }
    for (got, wanted) in bounds.max.iter().zip([2.05, 2.0, 2.0]) {
        assert!((got - wanted).abs() < 1e-6, "{bounds:?}");
    }
}

#[test]
fn heights_are_kept_finer_than_cells() {
    let start = start();
    let mut map = VoxelMap::new(VoxelSettings::default());
    let floor: Vec<_> = wall(0.0, 0.05).iter().map(|point| [point[1], point[2], 0.031]).collect();
    map.insert(start, &cloud(&floor, None)).unwrap();
    for [_, _, z] in map.points(start).unwrap().xyz().unwrap() {
        assert!((z - 0.031).abs() < 3e-4, "{z}");
    }
}

/// A room as the sensor in its middle sees it, each time from other directions.
fn room(random: &mut fastrand::Rng, count: usize, noise: f64) -> Vec<[f64; 3]> {
    let mut points = Vec::new();
    while points.len() < count {
        let (turn, tilt) = (random.f64() * std::f64::consts::TAU, random.f64() * 1.2 - 0.6);
        let ray = [turn.cos() * tilt.cos(), turn.sin() * tilt.cos(), tilt.sin()];
        // Walls at 2.5 m and 2 m, floor 1.2 m below, ceiling 1.3 m above.
        let reach = [(2.5, ray[0].abs()), (2.0, ray[1].abs())]
            .into_iter()
            .chain([(if ray[2] < 0.0 { 1.2 } else { 1.3 }, ray[2].abs())])
            .map(|(far, part)| far / part)
            .fold(f64::INFINITY, f64::min);
        let gauss: f64 = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        points.push(ray.map(|axis| axis * (reach + gauss * noise)));
    }
    points
}

#[test]
fn a_robot_that_stands_still_gives_a_map_that_stands_still() {
    let start = start();
    let mut random = fastrand::Rng::with_seed(11);
    let mut map = VoxelMap::new(VoxelSettings::default());
    // The same directions each turn, as a lidar that turns has them, with noise on every echo.
    let steady = room(&mut random, 4000, 0.0);
    let mut sizes = Vec::new();
    for turn in 0..600 {
        let noisy: Vec<_> = steady
            .iter()
            .map(|point| {
                let gauss: f64 = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
                let length = point.iter().map(|axis| axis * axis).sum::<f64>().sqrt();
                point.map(|axis| axis * (1.0 + 0.01 * gauss / length))
            })
            .collect();
        let at = start + Duration::from_millis(100 * turn);
        map.insert(at, &cloud(&noisy, Some([0.0; 3]))).unwrap();
        sizes.push(map.len());
    }
    let (early, late) = (sizes[99] as f64, sizes[599] as f64);
    assert!((late / early - 1.0).abs() < 0.02, "{early} cells after 10 s, {late} after 60 s");
    let bounds = map.bounds().unwrap();
    assert!(bounds.min[0] >= -2.56 && bounds.max[0] <= 2.56, "{bounds:?}");
}

#[test]
fn a_cell_alone_is_an_outlier_until_it_has_company() {
    let start = start();
    let mut map = VoxelMap::new(VoxelSettings::default());
    let mut points = wall(2.02, 0.05);
    points.push([2.02, 9.0, 1.0]);
    map.insert(start, &cloud(&points, None)).unwrap();
    assert_eq!(map.len(), 1600);
    map.insert(start, &cloud(&[[2.02, 9.1, 1.0], [2.02, 9.2, 1.0]], None)).unwrap();
    assert_eq!(map.len(), 1603, "with two beside it all three are shown");
}

#[test]
fn what_moved_away_fades_and_what_is_hidden_stays() {
    let start = start();
    let mut map = VoxelMap::new(VoxelSettings::default());
    let sensor = Some([0.0, 1.0, 1.0]);
    let behind = wall(4.02, 0.02);
    let near: Vec<_> = wall(2.02, 0.05)
        .into_iter()
        .filter(|[_, y, z]| (0.7..1.3).contains(y) && (0.7..1.3).contains(z))
        .collect();
    // The wall behind is seen first, then a box stands before it.
    let insert = |map: &mut VoxelMap, at: f64, points: &[[f64; 3]]| {
        let mut cloud = cloud(points, sensor);
        cloud.sequence = (at * 10.0) as u64;
        map.insert(start + seconds(at), &cloud).unwrap();
    };
    insert(&mut map, 0.0, &behind);
    let all = map.len();
    let around: Vec<_> = behind
        .iter()
        .filter(|[_, y, z]| !(0.4..1.6).contains(y) || !(0.4..1.6).contains(z))
        .copied()
        .collect();
    for turn in 1..30 {
        insert(&mut map, f64::from(turn) * 0.1, &[near.clone(), around.clone()].concat());
    }
    assert_eq!(map.len(), all + 144, "the box is there, and the wall that it hides");
    let mut cursor = Cursor::default();
    map.changes(start + seconds(3.0), &mut cursor, usize::MAX, &mut Vec::new());
    for turn in 30..200 {
        insert(&mut map, f64::from(turn) * 0.1, &behind);
    }
    let left = map.len() - all;
    assert!(left <= 7, "{left} of 144 cells of a box that is gone are still there");
    let mut told = Vec::new();
    map.changes(start + seconds(20.0), &mut cursor, usize::MAX, &mut told);
    assert!(told.iter().any(|[.., age]| *age == GONE), "readers are told of empty blocks");
}

#[test]
fn the_same_room_from_packed_and_documented_messages() {
    let mut random = fastrand::Rng::with_seed(2);
    let points: Vec<[i16; 3]> = room(&mut random, 900, 0.0)
        .iter()
        .map(|point| point.map(|axis| (axis * 1000.0).round() as i16))
        .collect();
    let maps = [true, false].map(|packed| {
        let (points, _) = messages::read(&message(&points, packed), None).unwrap();
        assert_eq!(points.len(), 900);
        let start = start();
        let mut map = VoxelMap::new(VoxelSettings::default());
        let places: Vec<_> = points.xyz().unwrap().collect();
        map.insert(start, &cloud(&places, None)).unwrap();
        map.points(start).unwrap()
    });
    assert!(maps[0].len() > 700);
    assert_eq!(maps[0], maps[1]);
}

/// What a reader makes of frames: the points of each block, replaced whole.
#[derive(Default)]
struct Reader {
    cursor: Cursor,
    blocks: HashMap<[u16; 3], Vec<[u16; 3]>>,
}

impl Reader {
    fn catch_up(&mut self, map: &VoxelMap, now: Instant, most: usize) -> usize {
        let mut frames = 0;
        loop {
            let mut frame = Vec::new();
            let more = map.changes(now, &mut self.cursor, most, &mut frame);
            assert!(frame.len() < most.saturating_add(512));
            let mut fresh: HashMap<[u16; 3], Vec<[u16; 3]>> = HashMap::new();
            for [x, y, z, age] in frame {
                let block = fresh.entry([x >> 3, y >> 3, z >> 3]).or_default();
                if age != GONE {
                    block.push([x, y, z]);
                }
            }
            self.blocks.extend(fresh);
            frames += 1;
            if !more {
                return frames;
            }
        }
    }

    fn cells(&self) -> Vec<[u16; 3]> {
        let mut cells: Vec<_> = self.blocks.values().flatten().copied().collect();
        cells.sort_unstable();
        cells
    }
}

#[test]
fn a_reader_has_the_map_whenever_it_joined_and_however_slow_it_is() {
    let start = start();
    let mut random = fastrand::Rng::with_seed(4);
    let mut map = VoxelMap::new(VoxelSettings::default());
    let (mut steady, mut slow) = (Reader::default(), Reader::default());
    for turn in 0..40_u64 {
        let now = start + Duration::from_millis(100 * turn);
        let mut seen = cloud(&room(&mut random, 900, 0.003), Some([0.0; 3]));
        seen.sequence = turn;
        if turn == 20 {
            map.clear();
            (steady.blocks, slow.blocks) = (HashMap::new(), HashMap::new());
            assert_eq!((map.len(), map.epoch()), (0, 2));
        }
        map.insert(now, &seen).unwrap();
        steady.catch_up(&map, now, 1000);
        if turn % 7 == 0 {
            slow.catch_up(&map, now, usize::MAX);
        }
    }
    let now = start + seconds(4.0);
    let mut late = Reader::default();
    assert!(late.catch_up(&map, now, 1000) > 3, "a snapshot comes in several frames");
    slow.catch_up(&map, now, 500);
    assert_eq!(late.cells().len() as u64, map.len());
    assert_eq!(steady.cells(), late.cells());
    assert_eq!(slow.cells(), late.cells());
    assert!(map.is_current(&late.cursor));
}

#[test]
fn a_full_map_says_so_and_stays_within_its_bounds() {
    let start = start();
    let settings = VoxelSettings { max_bytes: 1 << 20, ..VoxelSettings::default() };
    let mut map = VoxelMap::new(settings);
    let mut refused = 0;
    for step in 0..200 {
        let points = wall(f64::from(step) * 0.4, 0.1);
        refused += map.insert(start, &cloud(&points, None)).unwrap().refused;
        assert!(map.bytes() <= 1 << 20);
    }
    assert!(refused > 0);
    let full = map.full().unwrap().to_string();
    assert!(full.contains("1 MiB") && full.contains("clear"), "{full}");
    let cells = map.len();
    map.insert(start, &cloud(&wall(0.0, 0.1), None)).unwrap();
    assert_eq!((map.len(), map.full().is_some()), (cells, true), "what is known is still counted");
    map.clear();
    assert_eq!((map.full(), map.bytes(), map.len()), (None, 0, 0));
}

#[test]
fn memory_goes_by_volume_not_by_time() {
    let start = start();
    let mut random = fastrand::Rng::with_seed(8);
    let mut map = VoxelMap::new(VoxelSettings::default());
    let insert = |map: &mut VoxelMap, turns: u64, random: &mut fastrand::Rng| {
        for turn in 0..turns {
            let at = start + Duration::from_millis(100 * turn);
            map.insert(at, &cloud(&room(random, 900, 0.005), Some([0.0; 3]))).unwrap();
        }
        map.bytes()
    };
    let first = insert(&mut map, 100, &mut random);
    assert!(insert(&mut map, 300, &mut random) < first * 11 / 10);
}

#[test]
fn points_out_of_reach_are_counted_not_kept() {
    let start = start();
    let settings = VoxelSettings { reach: 10.0, ..VoxelSettings::default() };
    let mut map = VoxelMap::new(settings);
    let far: Vec<_> = wall(9.0, 0.5).into_iter().chain(wall(12.0, 0.5)).collect();
    let taken = map.insert(start, &cloud(&far, None)).unwrap();
    assert_eq!((taken.points, taken.outside), (16, 16));
    let near: Cloud = cloud(&wall(12.0, 0.5), Some([5.0, 0.0, 0.0]));
    assert_eq!(map.insert(start, &near).unwrap().points, 16, "reach is the robot's");
    let empty = map.insert(start, &cloud(&[], None)).unwrap();
    assert_eq!(empty.points, 0);
}

#[test]
fn from_above_floor_is_free_and_walls_are_not() {
    let start = start();
    let mut map = VoxelMap::new(VoxelSettings::default());
    let floor: Vec<_> = wall(0.0, 0.05).iter().map(|[_, a, b]| [*a, *b, 0.01]).collect();
    map.insert(start, &cloud(&[floor, wall(1.0, 0.05)].concat(), None)).unwrap();
    let raster = map.raster().unwrap();
    assert_eq!((raster.width, raster.height), (40, 40));
    for row in 0..40 {
        for column in 0..40 {
            let wanted = if column == 20 { Ground::Occupied } else { Ground::Free };
            assert_eq!(raster.at(column, row), wanted, "{column}, {row}");
        }
    }
}
