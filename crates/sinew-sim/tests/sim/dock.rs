//! The charging station: what it catches, what it holds off, and when its contacts meet.

use std::f64::consts::{FRAC_PI_2, PI};

use sinew_sim::vacuum::{Dock, Options, Pose, World};
use sinew_wire::gd32::Flag;

use crate::support::{Bench, assert_near, ms};

const DEGREE: f64 = PI / 180.0;
const DOCKED: [Flag; 3] = [Flag::DustboxAttached, Flag::OnDock, Flag::Charging];

/// In front of the dock, so far ahead, aside and turned, then backwards for some seconds.
fn backed(ahead: f64, left: f64, heading: f64) -> Bench {
    let mut bench = Bench::ready(Options::default());
    bench.robot.place(Pose::new(ahead, left, heading));
    bench.drive(ms(4000), -0.1, 0.0);
    bench.halt();
    bench
}

#[test]
fn leaving_the_dock_and_backing_into_it_again() {
    let mut bench = Bench::ready(Options::default());
    bench.drive(ms(2000), 0.2, 0.0);
    bench.halt();
    assert_eq!(bench.flags(), [Flag::DustboxAttached]);
    bench.drive(ms(2300), -0.2, 0.0);
    bench.halt();
    assert_eq!(bench.flags(), DOCKED);
    assert_eq!(bench.pose(), Pose::default(), "the back stops it");
}

#[test]
fn contacts_meet_near_the_seat_only() {
    for (x, y, heading, docked) in [
        (0.0, 0.0, 0.0, true),
        (0.007, 0.0, 0.0, true),
        (0.009, 0.0, 0.0, false),
        (0.007, 0.0, 2.0 * DEGREE, true),
        (0.05, 0.0, 0.0, false),
        (0.05, 0.0, PI, false),
    ] {
        let mut bench =
            Bench::new(Options { start: Pose::new(x, y, heading), ..Options::default() });
        bench.sync();
        assert_eq!(bench.status().is(Flag::OnDock), docked, "{x} {y} {heading}");
        assert_eq!(bench.status().is(Flag::Charging), docked);
    }
}

#[test]
fn guides_centre_a_robot_that_comes_into_their_mouth() {
    for (left, heading) in
        [(0.025, 0.0), (-0.025, 0.0), (0.0, 8.0 * DEGREE), (0.01, -8.0 * DEGREE), (-0.01, 0.05)]
    {
        // So that it is that far aside where the guides begin.
        let ahead = 0.1;
        let bench = backed(ahead, left + heading.tan() * (ahead - 0.04), heading);
        let pose = bench.pose();
        assert_near(pose.x, 0.0, 1e-9);
        assert_near(pose.y, 0.0, 0.0021);
        assert_near(pose.heading, 0.0, 1.01 * DEGREE);
        assert_eq!(bench.flags(), DOCKED, "{left} {heading}");
    }
}

#[test]
fn guides_hold_off_a_robot_beside_or_slanted_and_its_wheels_slip() {
    for (left, heading) in [(0.035, 0.0), (-0.08, 0.0), (0.0, 12.0 * DEGREE), (0.0, -0.3)] {
        let mut bench = backed(0.1, left + f64::tan(heading) * 0.06, heading);
        assert_near(bench.pose().x, 0.04, 1e-9);
        assert_eq!(bench.flags(), [Flag::DustboxAttached], "{left} {heading}");
        let before = bench.status().encoders;
        bench.drive(ms(500), -0.05, 0.0);
        assert_ne!(bench.status().encoders, before);
    }
}

#[test]
fn a_robot_that_sits_cannot_turn_and_its_gyroscope_shows_it() {
    let mut bench = Bench::ready(Options::default());
    for _ in 0..4 {
        bench.send(0x08, &[]);
    }
    bench.drive(ms(2000), 0.0, 0.5);
    assert_near(bench.pose().heading, 1.0 * DEGREE, 1e-6);
    assert_near(bench.status().gyro()[0].into(), 0.0, 20.0);
    bench.drive(ms(1000), 0.2, 0.0);
    bench.drive(ms(2000), 0.0, 0.5);
    assert!(bench.pose().heading > 0.9, "free again");
}

#[test]
fn the_station_stands_in_the_way() {
    let mut bench = Bench::ready(Options::default());
    bench.robot.place(Pose::new(0.4, 0.0, PI));
    bench.drive(ms(3000), 0.2, 0.0);
    assert_near(bench.pose().x, 0.04, 1e-9);
    assert!(bench.status().is(Flag::BumperLeft) && bench.status().is(Flag::BumperRight));
    // Along the wall, from the side.
    bench.robot.place(Pose::new(-0.05, 0.8, -FRAC_PI_2));
    bench.drive(ms(2500), 0.2, 0.0);
    assert_eq!(bench.flags(), [Flag::DustboxAttached]);
    bench.drive(ms(300), 0.2, 0.0);
    assert_eq!(bench.flags(), [Flag::BumperRight, Flag::DustboxAttached]);
}

#[test]
fn a_dock_may_stand_anywhere_and_be_moved() {
    let seat = Pose::new(1.5, 1.0, 2.5);
    let world = World { dock: Some(Dock::at(seat)), ..World::default() };
    let mut bench = Bench::ready(Options { start: seat, world, ..Options::default() });
    assert_eq!(bench.flags(), DOCKED);
    bench.drive(ms(1500), 0.2, 0.0);
    bench.drive(ms(2000), -0.2, 0.0);
    bench.halt();
    assert_near(bench.pose().distance(&seat), 0.0, 0.0021);
    assert_eq!(bench.flags(), DOCKED);

    bench.robot.move_dock(None);
    bench.beat(ms(50));
    assert_eq!(bench.flags(), [Flag::DustboxAttached]);
    bench.robot.move_dock(Some(Dock::at(Pose::new(1.5, 1.0, 2.5 + PI))));
    bench.beat(ms(50));
    assert!(bench.pose().distance(&seat) > 0.03, "it is put beside it");
}

#[test]
fn a_station_without_measures_does_no_harm() {
    let odd = Dock { depth: 0.0, mouth: f64::NAN, slant: -1.0, ..Dock::at(Pose::default()) };
    let world = World { dock: Some(odd), ..World::default() };
    let mut bench = Bench::ready(Options { world, ..Options::default() });
    bench.drive(ms(500), -0.2, 0.3);
    assert!(bench.pose().x.is_finite());
}
