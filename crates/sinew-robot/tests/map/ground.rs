//! What readers of a map of the ground have is what its mapper has.

use std::collections::BTreeMap;

use sinew_robot::map::{
    Cursor, GONE, GroundMap, VoxelMap, VoxelSettings,
    file::{Ground, Raster},
};

use crate::{
    flat::Run,
    support::{cloud, seconds, start, wall},
};

/// A reader that goes by the rule of blocks.
#[derive(Default)]
struct Reader {
    cursor: Cursor,
    blocks: BTreeMap<[u16; 2], BTreeMap<[u16; 2], Ground>>,
    frames: usize,
}

impl Reader {
    fn read(&mut self, map: &GroundMap, now: std::time::Instant, most: usize) {
        while !map.is_current(&self.cursor) {
            let mut points = Vec::new();
            map.changes(now, &mut self.cursor, most, &mut points);
            self.frames += 1;
            for [x, y, ..] in &points {
                self.blocks.remove(&[x >> 3, y >> 3]);
            }
            for [x, y, z, age] in points {
                if age != GONE {
                    let ground = if z == 1 { Ground::Occupied } else { Ground::Free };
                    self.blocks.entry([x >> 3, y >> 3]).or_default().insert([x, y], ground);
                }
            }
        }
    }

    fn squares(&self) -> impl Iterator<Item = (&[u16; 2], &Ground)> {
        self.blocks.values().flatten()
    }

    fn differs_from(&self, map: &GroundMap, raster: &Raster) -> usize {
        let [left, bottom, _] = map.origin();
        let first = [raster.origin[0] - left, raster.origin[1] - bottom]
            .map(|way| (way / map.unit()).round() as u16);
        let known = raster.squares.iter().filter(|ground| **ground != Ground::Unknown).count();
        let same = self.squares().filter(|([x, y], ground)| {
            raster.at((x - first[0]).into(), (y - first[1]).into()) == **ground
        });
        let mine = self.squares().count();
        known.abs_diff(mine) + mine - same.count()
    }
}

#[test]
fn readers_at_any_pace_have_what_the_mapper_has() {
    let begin = start();
    let mut run = Run::new(41);
    let mut map = GroundMap::new(run.mapper.grid().resolution());
    let (mut quick, mut slow) = (Reader::default(), Reader::default());
    run.stand(2);
    for second in 0..60 {
        run.drive(1);
        let now = begin + seconds(f64::from(second));
        map.take(now, &run.mapper.take_seen());
        quick.read(&map, now, 1000);
        if second % 20 == 7 {
            slow.read(&map, now, 100);
        }
    }
    let end = begin + seconds(60.0);
    slow.read(&map, end, 100);
    let mut last = Reader::default();
    last.read(&map, end, usize::MAX);
    let raster = run.mapper.grid().raster().unwrap();
    assert_eq!(map.raster().as_ref(), Some(&raster));
    assert_eq!(map.len() as usize, last.squares().count());
    assert!(map.len() > 5000, "{} squares", map.len());
    for reader in [&quick, &slow, &last] {
        assert_eq!(reader.differs_from(&map, &raster), 0);
    }
    assert_eq!(last.frames, 1);
    assert!(quick.frames > 30 && slow.frames > 100, "{} {}", quick.frames, slow.frames);
    let occupied = raster.squares.iter().filter(|ground| **ground == Ground::Occupied).count();
    assert_eq!(map.points().unwrap().len(), occupied);
}

#[test]
fn a_robot_that_stands_still_has_nothing_to_tell_but_ages() {
    let begin = start();
    let mut run = Run::new(42);
    let mut map = GroundMap::new(run.mapper.grid().resolution());
    run.stand(3);
    map.take(begin, &run.mapper.take_seen());
    let mut reader = Reader::default();
    reader.read(&map, begin, usize::MAX);
    run.stand(10);
    map.take(begin + seconds(10.0), &run.mapper.take_seen());
    assert!(map.is_current(&reader.cursor));
}

#[test]
fn a_map_of_clouds_that_was_cleared_is_told_once() {
    let now = start();
    let mut map = VoxelMap::new(VoxelSettings::default());
    let mut cursor = Cursor::default();
    map.insert(now, &cloud(&wall(2.0, 0.05), None)).unwrap();
    let mut points = Vec::new();
    map.changes(now, &mut cursor, usize::MAX, &mut points);
    assert!(map.is_current(&cursor) && !points.is_empty());
    map.clear();
    points.clear();
    assert!(!map.is_current(&cursor));
    map.changes(now, &mut cursor, usize::MAX, &mut points);
    assert!(map.is_current(&cursor) && points.is_empty());
}
