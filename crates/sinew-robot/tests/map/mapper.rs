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
    assert!(
        figures.worst.0 <= 0.2 && figures.worst.1.to_degrees() <= 12.0,
        "seed {seed}: {figures:?}"
    );
    let (taken, turns) = figures.matched;
    assert!(taken * 100 >= turns * 95 && figures.honest >= 0.9, "seed {seed}: {figures:?}");
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

#[test]
fn a_robot_that_was_carried_away_is_noticed_and_found() {
    let mut run = Run::new(31);
    run.stand(2);
    run.drive(220);
    assert!(run.error().0 < 0.05 && !run.mapper.is_lost());
    let (before, squares) = (run.outcomes.len(), run.mapper.grid().raster().unwrap());
    run.carry(Pose { x: 5.6, y: 2.0, heading: 2.0 });
    run.stand(20);
    let outcomes = &run.outcomes[before..];
    let lost = outcomes.iter().position(|outcome| *outcome == Outcome::Lost).unwrap();
    assert!(lost < 10, "noticed within two seconds: {lost} turns");
    let found = outcomes.iter().any(|outcome| matches!(outcome, Outcome::Found { .. }));
    assert!(found && !run.mapper.is_lost(), "found again");
    let (metres, radians) = run.error();
    assert!(metres < 0.06 && radians.to_degrees() < 2.0, "{metres} m, {radians} rad");
    let after = run.mapper.grid().raster().unwrap();
    let changed = after.squares.len().abs_diff(squares.squares.len());
    assert_eq!(changed, 0, "the map has not grown while the robot was lost");
}

#[test]
fn a_robot_that_is_pushed_is_noticed_and_followed() {
    let mut run = Run::new(32);
    run.stand(2);
    run.drive(60);
    run.stand(1);
    assert!(run.error().0 < 0.05, "{:?} {:?} {:?}", run.error(), run.truth, run.figures());
    let before = run.outcomes.len();
    let pushed = run.truth.then(Pose { x: -0.04, y: 0.06, heading: 0.2 });
    run.carry(pushed);
    run.stand(2);
    let bumped =
        run.outcomes[before..].iter().any(|outcome| matches!(outcome, Outcome::Bumped { .. }));
    assert!(bumped, "{:?}", &run.outcomes[before..]);
    let (metres, radians) = run.error();
    assert!(metres < 0.05 && radians.to_degrees() < 2.0, "{metres} m, {radians} rad");
}

#[test]
fn a_robot_that_stands_still_leaves_the_map_as_it_is() {
    let mut run = Run::new(33);
    run.stand(2);
    run.drive(20);
    run.stand(5);
    let before = (run.mapper.grid().raster(), run.mapper.grid().bytes());
    run.stand(60);
    assert_eq!(before, (run.mapper.grid().raster(), run.mapper.grid().bytes()));
    assert!(run.error().0 < 0.03);
    assert!(run.mapper.path().len() < 500);
}

#[test]
fn memory_goes_by_the_area_seen_and_ends_at_its_bound() {
    let mut run = Run::new(34);
    run.stand(2);
    run.drive(200);
    // 9.6 x 7.2 m, in chunks of 3.2 m that may be cut by any of its sides.
    let bytes = run.mapper.grid().bytes();
    assert!(bytes <= 6 * 5 * 64 * 64 * 6, "{bytes}");
    let settings = MapperSettings { max_bytes: 64 << 10, ..MapperSettings::default() };
    let mut mapper = Mapper::new(settings);
    let start = Instant::now();
    mapper.odometry(start, Pose::default());
    let echoes = circle(11.0);
    let ended = start + Duration::from_millis(200);
    mapper.scan(&Scan { began: start, ended, echoes: &echoes });
    assert!(mapper.grid().bytes() <= 64 << 10 && mapper.grid().is_full());
}

fn circle(distance: f64) -> Vec<Echo> {
    (0..360).map(|degree| Echo { angle: f64::from(degree).to_radians(), distance }).collect()
}

#[test]
fn turns_and_poses_that_make_no_sense_change_nothing() {
    let start = Instant::now();
    let later = |millis| start + Duration::from_millis(millis);
    let mut mapper = Mapper::new(MapperSettings { resolution: f64::NAN, ..Default::default() });
    let scan = |mapper: &mut Mapper, began, ended, echoes: &[Echo]| {
        mapper.scan(&Scan { began, ended, echoes })
    };
    let good = circle(2.0);
    assert_eq!(scan(&mut mapper, start, later(200), &good), Outcome::Unusable, "no odometry");
    for wrong in [f64::NAN, f64::INFINITY] {
        mapper.odometry(later(10), Pose { x: wrong, ..Pose::default() });
        mapper.odometry(later(10), Pose { heading: wrong, ..Pose::default() });
    }
    mapper.odometry(start, Pose::default());
    mapper.odometry(later(200), Pose::default());
    assert_eq!(scan(&mut mapper, start, later(200), &[]), Outcome::Unusable);
    for distance in [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e300] {
        assert_eq!(scan(&mut mapper, start, later(200), &circle(distance)), Outcome::Unusable);
    }
    let crooked: Vec<_> = good.iter().map(|echo| Echo { angle: f64::NAN, ..*echo }).collect();
    assert_eq!(scan(&mut mapper, start, later(200), &crooked), Outcome::Unusable);
    assert!(mapper.grid().is_empty());
    assert_eq!(scan(&mut mapper, start, later(200), &good), Outcome::Began);
    // Backwards in time, and long ago.
    assert!(matches!(scan(&mut mapper, later(200), start, &good), Outcome::Matched { .. }));
    mapper.odometry(later(100), Pose { x: 9.0, ..Pose::default() });
    assert_eq!(mapper.pose().x.round(), 0.0, "what comes late is not taken");
    mapper.odometry(later(300), Pose { x: 1e300, ..Pose::default() });
    let _ = scan(&mut mapper, later(200), later(400), &good);
    let _ = mapper.grid().raster();
}
