//! The map of a flat, and where the robot is in it, against the truth.

use std::time::{Duration, Instant};

use sinew_robot::{
    map::{Echo, Mapper, MapperSettings, Outcome, Scan},
    vacuum::Pose,
};

use crate::flat::Run;

/// What must hold after ten minutes.
fn ten_minutes(seed: u64) {
    let mut run = Run::new(seed);
    run.stand(2);
    run.drive(600);
    let figures = run.figures();
    println!("seed {seed}: {figures:.3?}");
    let (metres, radians) = figures.end;
    assert!(metres <= 0.05 && radians.to_degrees() <= 2.0, "seed {seed}: {figures:?}");
    assert!(figures.right >= 0.95 && figures.complete >= 0.9, "seed {seed}: {figures:?}");
    let (alone, _) = figures.odometry;
    assert!(alone > 10.0 * metres, "seed {seed}: odometry alone is as good: {figures:?}");
}

macro_rules! seeds {
    ($($name:ident $seed:literal),*) => {
        $(#[test]
        fn $name() {
            ten_minutes($seed);
        })*
    };
}

// A test for each, so that they run side by side.
seeds! {
    ten_minutes_in_a_flat_1 1, ten_minutes_in_a_flat_2 2, ten_minutes_in_a_flat_3 3,
    ten_minutes_in_a_flat_4 4, ten_minutes_in_a_flat_5 5, ten_minutes_in_a_flat_6 6,
    ten_minutes_in_a_flat_7 7, ten_minutes_in_a_flat_8 8
}
