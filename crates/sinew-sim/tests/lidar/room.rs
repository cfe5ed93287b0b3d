//! What the lidar shows is the room.

use sinew_robot::vacuum::Command;
use sinew_sim::vacuum::{Dock, LidarOptions, Options, Pose};

use crate::harness::{Flat, ms};

#[test]
fn without_noise_every_echo_lies_on_a_wall() {
    for start in [Pose::default(), Pose::new(1.5, 0.4, 1.0), Pose::new(4.0, 0.5, -2.5)] {
        let flat = Flat::exact(Options { start, ..Options::default() }).turning();
        let (scan, _) = &flat.scans[0];
        assert_eq!(scan.turn.points.len(), 360);
        let errors = flat.errors(&flat.scans[0]);
        let worst = errors.into_iter().fold(0.0, f64::max);
        assert!(worst < 0.001, "{start:?}: {worst}");
    }
}

#[test]
fn a_turn_sees_the_walls_on_all_sides_and_the_furniture() {
    let start = Pose::new(1.5, 0.5, 0.0);
    let flat = Flat::exact(Options { start, ..Options::default() }).turning();
    let (scan, pose) = &flat.scans[0];
    let mounting = sinew_robot::lidar::Mounting::default();
    let places: Vec<_> = scan.turn.points.iter().map(|point| mounting.place(point)).collect();
    let world = flat.robot.world();
    let near = |x: f64, y: f64| {
        places.iter().any(|at| (at.0 + pose.x - x).hypot(at.1 + pose.y - y) < 0.05)
    };
    assert!(near(world.room.left, 0.5) && near(world.room.right, 0.5));
    assert!(near(1.5, world.room.bottom) && near(1.5, world.room.top));
    assert!(near(2.0, 1.5), "the box ahead to the left");
    assert!(!near(2.6, 1.7), "not what is behind it");
}

#[test]
fn noise_is_a_centimetre_and_one_echo_in_twenty_is_missing() {
    let options = LidarOptions { seed: 5, ..LidarOptions::default() };
    let mut flat = Flat::new(Options::default(), options, Default::default()).turning();
    flat.run_for(ms(10_000));
    let errors: Vec<f64> = flat.scans.iter().flat_map(|scan| flat.errors(scan)).collect();
    let missing: usize =
        flat.scans.iter().map(|(scan, _)| usize::from(scan.turn.without_echo)).sum();
    let share = missing as f64 / (missing + errors.len()) as f64;
    assert!((0.04..0.06).contains(&share), "{share} are missing");
    let worst = errors.iter().copied().fold(0.0, f64::max);
    assert!(worst < 0.031, "{worst}");
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    assert!((0.004..0.010).contains(&mean), "{mean}");
}

#[test]
fn it_moves_and_turns_with_the_robot() {
    let start = Pose::new(0.8, 0.0, 0.0);
    let mut flat = Flat::exact(Options { start, ..Options::default() }).turning();
    flat.execute(Command::DriveEnable { mode: 2 });
    let before = flat.scans.len();
    flat.drive(ms(4000), 0.2, 0.0);
    assert!(flat.robot.pose().distance(&start) > 0.6);
    // A turn takes 0.2 s, in which the robot comes 4 cm far.
    for scan in &flat.scans[before..] {
        let worst = flat.errors(scan).into_iter().fold(0.0, f64::max);
        assert!(worst < 0.05, "{worst}");
    }
    let before = flat.scans.len();
    flat.drive(ms(2000), 0.0, 0.8);
    assert!(flat.robot.pose().heading.abs() > 1.0);
    flat.run_for(ms(1200));
    let last = flat.scans.last().unwrap();
    assert!(flat.scans.len() > before);
    assert!(flat.errors(last).into_iter().fold(0.0, f64::max) < 0.001, "at rest again");
    assert!((last.1.heading - flat.robot.pose().heading).abs() < 1e-9);
}

#[test]
fn a_robot_that_is_carried_off_sees_another_place_and_no_dock() {
    let mut flat = Flat::exact(Options::default()).turning();
    flat.robot.move_dock(Some(Dock::at(Pose::new(2.0, 0.0, 3.0))));
    flat.robot.place(Pose::new(1.0, 1.5, 2.0));
    let before = flat.scans.len();
    flat.run_for(ms(1000));
    assert!(flat.scans.len() > before + 2);
    let worst = flat.errors(flat.scans.last().unwrap()).into_iter().fold(0.0, f64::max);
    assert!(worst < 0.001, "{worst}");
}

#[test]
fn an_open_field_has_no_echo() {
    let world = sinew_sim::vacuum::World::empty();
    let mut flat = Flat::exact(Options { world, ..Options::default() }).turning();
    flat.run_for(ms(500));
    for (scan, _) in &flat.scans {
        assert_eq!((scan.turn.points.len(), scan.turn.without_echo), (0, 360));
    }
}
