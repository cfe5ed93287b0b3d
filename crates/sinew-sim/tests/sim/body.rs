//! The robot as a thing that rolls, senses and drains its battery.

use std::f64::consts::FRAC_PI_2;

use sinew_sim::vacuum::{
    ACCEL_PER_G, BATTERY_EMPTY, BATTERY_FULL, GYRO_PER_RAD_S, Options, Pose, TICKS_PER_METRE, World,
};
use sinew_wire::gd32::{Flag, Profile};

use crate::support::{Bench, assert_near, ms};

#[test]
fn a_metre_at_a_fifth_of_a_metre_a_second_takes_five_seconds() {
    let mut bench = Bench::in_the_open();
    bench.drive(ms(5000), 0.2, 0.0);
    bench.halt();
    assert_near(bench.pose().x, 1.0, 0.02);
    assert_eq!((bench.pose().y, bench.pose().heading), (0.0, 0.0));
    let (left, right) = Profile::DOCUMENT.encoders(&bench.status());
    assert_eq!(left, right);
    assert_near(left as f64, bench.pose().x * TICKS_PER_METRE, 1.0);
}

#[test]
fn it_turns_on_the_spot_counter_clockwise() {
    let mut bench = Bench::in_the_open();
    bench.drive(ms(3142), 0.0, 0.5);
    bench.halt();
    assert_near(bench.pose().heading, FRAC_PI_2, 0.03);
    assert_near(bench.pose().x.hypot(bench.pose().y), 0.0, 1e-6);
    let (left, right) = Profile::DOCUMENT.encoders(&bench.status());
    assert!((left as i64) < 0 && (right as i64) > 0, "the left wheel went back");
}

#[test]
fn a_circle_closes() {
    let mut bench = Bench::in_the_open();
    bench.drive(ms(12_566), 0.2, 0.5);
    bench.halt();
    assert_near(bench.pose().x.hypot(bench.pose().y), 0.0, 0.03);
    assert_near(bench.pose().heading, 0.0, 0.03);
}

#[test]
fn wheel_speeds_drive_each_wheel() {
    let mut bench = Bench::in_the_open();
    bench.send(0x67, &[100i16.to_le_bytes(), 200i16.to_le_bytes()].concat());
    bench.beat(ms(1000));
    let (left, right) = bench.robot.wheels();
    assert_near(left.into(), 0.1, 1e-3);
    assert_near(right.into(), 0.2, 1e-3);
    assert!(bench.pose().heading > 0.0);
}

#[test]
fn wheels_take_their_time() {
    let mut bench = Bench::in_the_open();
    bench.drive(ms(60), 0.2, 0.0);
    assert_near(bench.robot.wheels().0.into(), 0.2 * 0.63, 0.01);
}

#[test]
fn encoders_stand_and_wrap_as_the_profile_says() {
    let mut bench = Bench::ready(Options {
        profile: Profile::LATER,
        world: World::empty(),
        ..Options::default()
    });
    let before = Profile::LATER.encoders(&bench.status());
    bench.send(0x67, &[(-100i16).to_le_bytes(), 50i16.to_le_bytes()].concat());
    bench.beat(ms(1000));
    let status = bench.status();
    assert!(status.encoders.iter().all(|count| *count <= 0xFFFF));
    assert!(status.encoders[0] > 0x8000, "left first, wrapped below zero");
    let (left, right) = Profile::LATER.encoders(&status);
    assert_near(Profile::LATER.encoder_delta(before.0, left) as f64, -419.0, 10.0);
    assert_near(Profile::LATER.encoder_delta(before.1, right) as f64, 209.0, 10.0);
}

#[test]
fn the_gyroscope_counts_clockwise_and_is_zeroed_by_initialize() {
    let mut bench = Bench::in_the_open();
    let mean_yaw = |bench: &mut Bench| {
        bench.heard.clear();
        bench.beat(ms(1000));
        let yaws: Vec<f64> = bench
            .heard(0x15)
            .iter()
            .map(|(_, raw)| sinew_wire::gd32::Status::parse(raw).unwrap().gyro()[0].into())
            .collect();
        yaws.iter().sum::<f64>() / yaws.len() as f64
    };
    let bias = mean_yaw(&mut bench);
    assert!(bias.abs() > 3.0, "this seed has a bias: {bias}");
    for _ in 0..4 {
        bench.send(0x08, &[]);
    }
    assert_near(mean_yaw(&mut bench), 0.0, 2.0);
    bench.drive(ms(1000), 0.0, 0.5);
    assert_near(mean_yaw(&mut bench), -0.5 * GYRO_PER_RAD_S, 10.0);
    assert_near(bench.status().gyro_ros()[2].into(), 0.5 * GYRO_PER_RAD_S, 30.0);
}

#[test]
fn gravity_points_up_and_a_start_is_felt() {
    let mut bench = Bench::in_the_open();
    assert_near(bench.status().accel()[2].into(), ACCEL_PER_G, 40.0);
    assert_near(bench.status().gravity()[2].into(), ACCEL_PER_G, 10.0);
    bench.heard.clear();
    bench.drive(ms(20), 0.3, 0.0);
    assert!(bench.status().accel()[0] > 200, "0.3 m/s in 60 ms is half a g at first");
    bench.drive(ms(1000), 0.3, 0.0);
    assert_near(bench.status().accel()[0].into(), 0.0, 40.0);
}

#[test]
fn work_drains_the_battery_faster_than_rest() {
    let drained = |work: bool| {
        let mut bench = Bench::in_the_open();
        let before = bench.robot.battery_volts();
        for _ in 0..60 {
            if work {
                bench.send(0x68, &10_000u16.to_le_bytes());
            }
            bench.drive(ms(1000), if work { 0.2 } else { 0.0 }, 0.0);
        }
        before - bench.robot.battery_volts()
    };
    let (rest, work) = (drained(false), drained(true));
    assert!(rest > 0.0 && work > 5.0 * rest, "{rest} {work}");
}

#[test]
fn the_battery_stays_between_empty_and_full() {
    let mut bench = Bench::in_the_open();
    bench.robot.set_battery_volts(BATTERY_EMPTY as f32 + 0.001);
    bench.run(ms(3_600_000));
    assert_eq!(bench.robot.battery_volts(), BATTERY_EMPTY as f32);
    assert_eq!(bench.status().battery_percent(), 0);

    let mut docked = Bench::new(Options::default());
    docked.sync();
    docked.robot.set_battery_volts(BATTERY_FULL as f32 - 0.001);
    docked.run(ms(60_000));
    assert_eq!(docked.status().battery_percent(), 100);
}

#[test]
fn testers_may_set_any_voltage_a_status_can_say() {
    let mut bench = Bench::new(Options { battery_volts: 14.2, ..Options::default() });
    bench.sync();
    assert_eq!(bench.status().battery_decivolts, 142);
    for (volts, decivolts) in [(12.0, 120), (99.0, 255), (-3.0, 0)] {
        bench.robot.set_battery_volts(volts);
        bench.run(ms(20));
        assert_eq!(bench.status().battery_decivolts, decivolts);
    }
    bench.robot.set_battery_volts(f32::NAN);
    bench.run(ms(20));
    assert_eq!(bench.status().battery_decivolts, 0);
}

#[test]
fn it_starts_on_the_dock_and_charges() {
    let mut bench = Bench::new(Options::default());
    bench.sync();
    assert_eq!(bench.pose(), Pose::default());
    assert_eq!(bench.flags(), [Flag::DustboxAttached, Flag::OnDock, Flag::Charging]);
    let before = bench.robot.battery_volts();
    bench.run(ms(60_000));
    assert!(bench.robot.battery_volts() > before);

    bench.send(0x9B, &[0]);
    bench.run(ms(20));
    assert_eq!(bench.flags(), [Flag::DustboxAttached, Flag::OnDock]);
    let before = bench.robot.battery_volts();
    bench.run(ms(60_000));
    assert!(bench.robot.battery_volts() < before);
}

#[test]
fn encoders_that_count_wrongly_do_so_for_good_and_each_in_its_own_way() {
    let counted = |seed: u64, encoder_error: f64| {
        let world = World::empty();
        let mut bench = Bench::ready(Options { seed, encoder_error, world, ..Options::default() });
        bench.drive(ms(5000), 0.2, 0.0);
        bench.halt();
        let (left, right) = Profile::DOCUMENT.encoders(&bench.status());
        (left as f64, right as f64, bench.pose())
    };
    let (left, right, straight) = counted(3, 0.0);
    assert_eq!((left, straight.y), (right, 0.0));
    let mut most = 0.0f64;
    for seed in 0..20 {
        let (left, right, pose) = counted(seed, 0.01);
        // The controller believes them: they agree with what was asked, and it goes in a curve.
        assert_near(left, right, 2.0);
        let error = straight.x / pose.x.hypot(pose.y) - 1.0;
        assert!(error.abs() < 0.03, "{error}");
        most = most.max(pose.heading.abs());
        assert_eq!(counted(seed, 0.01).2, pose);
    }
    assert!((0.03..0.26).contains(&most), "{most} rad in a metre");
}

#[test]
fn the_gyroscopes_rates_may_be_wrong_too() {
    let turning = |gyro_error: f64| {
        let world = World::empty();
        let mut bench = Bench::ready(Options { seed: 5, gyro_error, world, ..Options::default() });
        bench.drive(ms(1000), 0.0, 0.5);
        f64::from(bench.status().gyro()[0])
    };
    let (right, wrong) = (turning(0.0), turning(0.05));
    assert!((right - wrong).abs() > 30.0, "{right} {wrong}");
    assert_near(wrong / right, 1.0, 0.16);
}
