//! The rooms that a simulated robot walks through, and what its lidar sees of them.

use std::f64::consts::TAU;

use fastrand::Rng;

/// A block of a building: a wall or a piece of furniture, in metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// Its lowest corner.
    pub min: [f64; 3],
    /// Its highest corner.
    pub max: [f64; 3],
}

/// Height of the rooms; the floor is at 0.
pub const CEILING: f64 = 2.5;
/// How high the lidar is above the floor.
pub const LIDAR_HEIGHT: f64 = 1.2;
/// How far a point may be off: three deviations of 2 cm.
pub const MAX_NOISE: f64 = 3.0 * DEVIATION;

/// Deviation of a measured distance.
const DEVIATION: f64 = 0.02;
/// The lidar hangs upside down, so its -7° to 52° look down.
const ELEVATIONS: (f64, f64) = (-52.0, 7.0);
const RANGE: (f64, f64) = (0.1, 40.0);
/// Top of the doors.
const LINTEL: f64 = 2.05;

/// Four rooms on 12 m x 8 m, joined by doors 1 m wide, and furniture.
pub const BUILDING: [Block; 30] = [
    // Outer walls: west, east, south, north.
    wall([-0.2, -0.2], [0.0, 8.2]),
    wall([12.0, -0.2], [12.2, 8.2]),
    wall([0.0, -0.2], [12.0, 0.0]),
    wall([0.0, 8.0], [12.0, 8.2]),
    // The wall between south and north, with doors at x = 2 and x = 8.5.
    wall([0.0, 4.0], [2.0, 4.15]),
    lintel([2.0, 4.0], [3.0, 4.15]),
    wall([3.0, 4.0], [8.5, 4.15]),
    lintel([8.5, 4.0], [9.5, 4.15]),
    wall([9.5, 4.0], [12.0, 4.15]),
    // The wall in the south, with a door at y = 1.5.
    wall([5.5, 0.0], [5.65, 1.5]),
    lintel([5.5, 1.5], [5.65, 2.5]),
    wall([5.5, 2.5], [5.65, 4.0]),
    // The wall in the north, with a door at y = 5.5.
    wall([7.0, 4.15], [7.15, 5.5]),
    lintel([7.0, 5.5], [7.15, 6.5]),
    wall([7.0, 6.5], [7.15, 8.0]),
    // Furniture: shelf, table, sofa, cupboard, bed, counter, table.
    block([0.0, 0.5, 0.0], [0.4, 2.5, 1.8]),
    block([3.6, 3.0, 0.7], [4.8, 3.8, 0.75]),
    block([4.1, 3.3, 0.0], [4.3, 3.5, 0.7]),
    block([6.5, 0.0, 0.0], [8.3, 0.8, 0.45]),
    block([6.5, 0.0, 0.45], [8.3, 0.2, 0.9]),
    block([11.4, 0.5, 0.0], [12.0, 2.0, 2.0]),
    block([10.2, 6.0, 0.0], [12.0, 8.0, 0.5]),
    block([10.2, 7.9, 0.5], [12.0, 8.0, 1.1]),
    block([0.0, 5.0, 0.0], [0.6, 7.5, 0.9]),
    block([4.0, 7.0, 0.7], [5.2, 7.8, 0.75]),
    block([4.5, 7.3, 0.0], [4.7, 7.5, 0.7]),
    block([5.6, 7.2, 0.0], [6.0, 7.6, 0.45]),
    block([5.9, 7.2, 0.45], [6.0, 7.6, 0.9]),
    block([10.5, 3.2, 0.0], [11.8, 4.0, 0.75]),
    block([1.0, 7.6, 0.0], [2.6, 8.0, 2.0]),
];

/// The way that an operator leads the robot with the remote control: through all rooms and doors.
pub(super) const PATROL: [[f64; 2]; 4] = [[2.5, 2.0], [9.0, 2.0], [9.0, 6.0], [2.5, 6.0]];

const fn wall([x, y]: [f64; 2], [x2, y2]: [f64; 2]) -> Block {
    block([x, y, 0.0], [x2, y2, CEILING])
}

const fn lintel([x, y]: [f64; 2], [x2, y2]: [f64; 2]) -> Block {
    block([x, y, LINTEL], [x2, y2, CEILING])
}

const fn block(min: [f64; 3], max: [f64; 3]) -> Block {
    Block { min, max }
}

impl Block {
    /// How far along a ray the block begins.
    fn cast(&self, from: [f64; 3], way: [f64; 3]) -> Option<f64> {
        let (mut near, mut far) = (0.0_f64, f64::INFINITY);
        for axis in 0..3 {
            let (min, max) = (self.min[axis] - from[axis], self.max[axis] - from[axis]);
            if way[axis].abs() < 1e-12 {
                if min > 0.0 || max < 0.0 {
                    return None;
                }
                continue;
            }
            let (one, two) = (min / way[axis], max / way[axis]);
            near = near.max(one.min(two));
            far = far.min(one.max(two));
        }
        (near <= far).then_some(near)
    }

    /// How far a point is from the block's surface.
    pub fn distance(&self, point: [f64; 3]) -> f64 {
        let outside: [f64; 3] = std::array::from_fn(|axis| {
            (self.min[axis] - point[axis]).max(point[axis] - self.max[axis])
        });
        let inside = outside.into_iter().fold(f64::NEG_INFINITY, f64::max);
        if inside < 0.0 {
            return -inside;
        }
        outside.map(|way| way.max(0.0).powi(2)).iter().sum::<f64>().sqrt()
    }
}

/// How far something is along a ray of length 1, of the building or its floor and ceiling.
pub(super) fn cast(from: [f64; 3], way: [f64; 3]) -> f64 {
    let level = match way[2] {
        up if up > 1e-12 => (CEILING - from[2]) / up,
        down if down < -1e-12 => -from[2] / down,
        _ => f64::INFINITY,
    };
    BUILDING.iter().filter_map(|block| block.cast(from, way)).fold(level, f64::min)
}

/// How far a body half a metre wide can go straight on, at the height of a shin, a hip and a chest.
pub(super) fn clearance([x, y]: [f64; 2], yaw: f64) -> f64 {
    let (sin, cos) = yaw.sin_cos();
    let mut free = f64::INFINITY;
    for aside in [-0.25, 0.0, 0.25] {
        for height in [0.2, 0.72, 1.1] {
            let from = [x - sin * aside, y + cos * aside, height];
            free = free.min(cast(from, [cos, sin, 0.0]));
        }
    }
    free
}

/// A Livox Mid-360: all around, and never twice the same way.
#[derive(Debug, Clone)]
pub(super) struct Lidar {
    shots: u64,
    noise: Rng,
}

impl Lidar {
    pub(super) fn new(seed: u64) -> Self {
        Lidar { shots: 0, noise: Rng::with_seed(seed) }
    }

    /// Points that are seen from a place, in the building.
    pub(super) fn scan(&mut self, [x, y]: [f64; 2], shots: usize) -> Vec<[f64; 3]> {
        let from = [x, y, LIDAR_HEIGHT];
        let points = (0..shots).filter_map(|_| {
            let way = self.next_way();
            let range = cast(from, way);
            let measured = range + self.deviation() * DEVIATION;
            (RANGE.0..RANGE.1)
                .contains(&range)
                .then(|| std::array::from_fn(|axis| from[axis] + way[axis] * measured))
        });
        points.collect()
    }

    /// The next direction. Two irrational steps never come back to where they were.
    fn next_way(&mut self) -> [f64; 3] {
        const STEPS: [f64; 2] = [0.754_877_666_246_693, 0.569_840_290_998_053];
        self.shots += 1;
        let [around, up] = STEPS.map(|step| (self.shots as f64 * step).fract());
        let elevation = (ELEVATIONS.0 + (ELEVATIONS.1 - ELEVATIONS.0) * up).to_radians();
        let (sin, cos) = (around * TAU).sin_cos();
        [cos * elevation.cos(), sin * elevation.cos(), elevation.sin()]
    }

    /// Of deviation 1, and never beyond 3.
    fn deviation(&mut self) -> f64 {
        (0..3).map(|_| 2.0 * self.noise.f64() - 1.0).sum()
    }
}
