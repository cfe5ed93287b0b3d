//! Walls, furniture and the step.

use std::f64::consts::{FRAC_PI_2, PI};

use sinew_sim::vacuum::{Options, Pose, ROBOT_RADIUS, Rect, World};
use sinew_wire::gd32::{Flag, Profile};

use crate::support::{Bench, assert_near, ms};

fn at(x: f64, y: f64, heading: f64) -> Bench {
    let mut bench = Bench::ready(Options::default());
    bench.robot.place(Pose::new(x, y, heading));
    bench.run(ms(20));
    bench
}

#[test]
fn a_wall_stops_the_robot_but_not_its_wheels() {
    let mut bench = at(4.0, 0.0, 0.0);
    bench.drive(ms(4000), 0.2, 0.0);
    let stopped = bench.pose();
    assert_near(stopped.x, 4.78 - ROBOT_RADIUS, 1e-9);
    assert!(bench.status().is(Flag::BumperLeft) && bench.status().is(Flag::BumperRight));
    let (before, _) = Profile::DOCUMENT.encoders(&bench.status());
    bench.drive(ms(1000), 0.2, 0.0);
    assert_eq!(bench.pose(), stopped);
    assert!(bench.robot.is_moving());
    let (after, _) = Profile::DOCUMENT.encoders(&bench.status());
    assert_near((after - before) as f64, 0.2 * 4464.0, 20.0);

    bench.drive(ms(500), -0.2, 0.0);
    assert!(!bench.status().is(Flag::BumperLeft) && !bench.status().is(Flag::BumperRight));
}

#[test]
fn bumpers_tell_the_side() {
    for (heading, left, right) in [
        (FRAC_PI_2 - 0.6, true, false),
        (FRAC_PI_2 + 0.6, false, true),
        (FRAC_PI_2 + 0.1, true, true),
        (-FRAC_PI_2, false, false),
    ] {
        let mut bench = at(1.0, 2.5 - ROBOT_RADIUS, heading);
        bench.run(ms(20));
        let status = bench.status();
        let got = (status.is(Flag::BumperLeft), status.is(Flag::BumperRight));
        assert_eq!(got, (left, right), "heading {heading}");
    }
}

#[test]
fn a_robot_slides_along_a_wall() {
    let mut bench = at(1.0, 2.0, 1.0);
    bench.drive(ms(5000), 0.2, 0.0);
    assert_near(bench.pose().y, 2.5 - ROBOT_RADIUS, 1e-9);
    assert_near(bench.pose().x, 1.0 + 1.0f64.cos(), 0.05);
}

#[test]
fn furniture_is_in_the_way() {
    let mut bench = at(1.0, 1.5, 0.0);
    bench.drive(ms(6000), 0.2, 0.0);
    assert_near(bench.pose().x, 2.0 - ROBOT_RADIUS, 1e-9);
    assert!(bench.status().is(Flag::BumperLeft) && bench.status().is(Flag::BumperRight));
}

#[test]
fn the_floor_ahead_of_the_dock_is_free() {
    let mut bench = Bench::ready(Options::default());
    bench.drive(ms(22_000), 0.2, 0.0);
    bench.halt();
    assert_near(bench.pose().x, 4.4, 0.02);
    assert_eq!(bench.flags(), [Flag::DustboxAttached]);
}

#[test]
fn no_drive_leads_into_walls_or_furniture() {
    let world = World::default();
    for seed in 0..20 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut bench = Bench::ready(Options { seed, ..Options::default() });
        for _ in 0..40 {
            let (linear, angular) = (rng.f32() * 0.6 - 0.3, rng.f32() * 2.0 - 1.0);
            bench.drive(ms(rng.u64(100..2000)), linear, angular);
            assert_free(&world, bench.pose());
        }
    }
}

fn assert_free(world: &World, Pose { x, y, .. }: Pose) {
    let Rect { left, bottom, right, top } = world.room;
    let gap = (x - left).min(right - x).min(y - bottom).min(top - y);
    let boxes = world.furniture.iter().map(|piece| {
        let dx = (piece.left - x).max(x - piece.right).max(0.0);
        let dy = (piece.bottom - y).max(y - piece.top).max(0.0);
        dx.hypot(dy)
    });
    let gap = boxes.fold(gap, f64::min);
    assert!(gap > ROBOT_RADIUS - 1e-6, "{gap} m from an obstacle");
}

#[test]
fn cliff_sensors_see_the_step_before_the_robot_is_over_it() {
    let mut bench = at(3.5, 2.1, 0.0);
    assert_eq!(bench.flags(), [Flag::DustboxAttached]);
    let cliffs = |bench: &Bench| {
        let all = [
            Flag::CliffLeftSide,
            Flag::CliffLeftFront,
            Flag::CliffRightFront,
            Flag::CliffRightSide,
        ];
        all.map(|flag| bench.status().is(flag))
    };
    bench.robot.place(Pose::new(3.76, 2.1, 0.0));
    bench.run(ms(20));
    assert_eq!(cliffs(&bench), [false, true, true, false]);
    bench.robot.place(Pose::new(3.79, 2.1, 0.0));
    bench.run(ms(20));
    assert_eq!(cliffs(&bench), [true; 4]);
    bench.robot.place(Pose::new(3.79, 1.62, 0.0));
    bench.run(ms(20));
    assert_eq!(cliffs(&bench), [true, false, false, false]);

    bench.robot.place(Pose::new(3.79, 2.1, 0.0));
    bench.send(0x78, &[0]);
    bench.run(ms(20));
    assert_eq!(cliffs(&bench), [false; 4], "switched off");
}

#[test]
fn a_robot_put_into_things_ends_up_beside_them() {
    let world = World::default();
    for (x, y) in [(2.3, 1.5), (2.1, 1.5), (-50.0, 70.0), (4.7, -1.4), (2.6, 1.8), (2.0, 1.2)] {
        let bench = at(x, y, 7.0);
        assert_free(&world, bench.pose());
        assert!(bench.pose().heading.abs() <= PI);
    }
}

#[test]
fn a_pose_that_is_no_number_is_refused() {
    let mut bench = at(1.0, 0.5, 0.0);
    bench.robot.place(Pose { x: f64::NAN, y: 0.0, heading: 0.0 });
    bench.robot.place(Pose { x: 0.0, y: 0.0, heading: f64::INFINITY });
    assert_eq!(bench.pose(), Pose::new(1.0, 0.5, 0.0));
}

#[test]
fn a_world_too_small_for_the_robot_does_no_harm() {
    let nook = Rect::new((0.0, 0.0), (0.1, 0.1));
    let world = World { room: nook, furniture: vec![nook], steps: vec![nook], dock: None };
    let mut bench = Bench::ready(Options { world, ..Options::default() });
    bench.drive(ms(1000), 0.3, 1.0);
    assert!(bench.pose().x.is_finite());
}
