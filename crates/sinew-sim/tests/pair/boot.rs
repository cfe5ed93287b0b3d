//! Booting on a link without faults, as the robot hears it.

use std::time::Duration;

use sinew_faults::Faults;
use sinew_robot::vacuum::{Command, Event, LinkState as Link};
use sinew_sim::vacuum::Options;

use crate::{
    harness::{Pair, Setup, ms},
    wire::Wire,
};

/// Phases 1 to 3 of document 003, byte for byte.
const FRAMES: [&[u8]; 18] = [
    &[0xFA, 0xFB, 0x04, 0x0C, 0x01, 0x0C, 0x01],
    &[0xFA, 0xFB, 0x03, 0x07, 0x00, 0x07],
    &[0xFA, 0xFB, 0x04, 0x8D, 0x01, 0x8D, 0x01],
    &[0xFA, 0xFB, 0x03, 0x0A, 0x00, 0x0A],
    &[0xFA, 0xFB, 0x03, 0x07, 0x00, 0x07],
    &[0xFA, 0xFB, 0x07, 0x17, 0x01, 0xF0, 0xDF, 0xFA, 0x07, 0x1A],
    &[0xFA, 0xFB, 0x03, 0x18, 0x00, 0x18],
    &[0xFA, 0xFB, 0x04, 0x97, 0x00, 0x97, 0x00],
    &[0xFA, 0xFB, 0x04, 0x9D, 0x01, 0x9D, 0x01],
    &[0xFA, 0xFB, 0x07, 0x71, 0x00, 0x00, 0x00, 0x00, 0x71, 0x00],
    &[0xFA, 0xFB, 0x04, 0x65, 0x00, 0x65, 0x00],
    &[0xFA, 0xFB, 0x05, 0x68, 0x00, 0x00, 0x68, 0x00],
    &[0xFA, 0xFB, 0x04, 0x69, 0x00, 0x69, 0x00],
    &[0xFA, 0xFB, 0x04, 0x6A, 0x00, 0x6A, 0x00],
    &[0xFA, 0xFB, 0x04, 0x6B, 0x00, 0x6B, 0x00],
    &[0xFA, 0xFB, 0x03, 0x08, 0x00, 0x08],
    &[0xFA, 0xFB, 0x04, 0x19, 0x01, 0x19, 0x01],
    &[0xFA, 0xFB, 0x06, 0x7C, 0x00, 0xFF, 0xFF, 0x7B, 0xFF],
];

/// Everything the robot heard but beats, without the repetitions of 0x08, of which the controller
/// may ignore some.
fn listed(pair: &Pair) -> Vec<Vec<u8>> {
    let mut frames: Vec<Vec<u8>> = pair
        .heard
        .iter()
        .filter(|frame| !Wire::parse(frame.bytes()).is_beat())
        .map(|frame| frame.bytes().to_vec())
        .collect();
    frames.dedup_by(|frame, before| frame == before && frame.get(3) == Some(&0x08));
    frames
}

fn boot(setup: Setup) -> Pair {
    let mut pair = Pair::new(setup);
    pair.connect();
    pair.run_until(ms(10_000), |pair| pair.host.state().link == Link::Ready);
    assert!(pair.elapsed() < ms(10_000));
    pair.run_for(ms(100));
    pair
}

fn assert_documented(pair: &Pair) {
    let frames = listed(pair);
    assert_eq!(frames[..18], FRAMES.map(<[u8]>::to_vec));
    assert_eq!(frames[18], [0xFA, 0xFB, 0x04, 0x8D, 0x01, 0x8D, 0x01], "the LED once more");
    let pulse = [0xFA, 0xFB, 0x04, 0x6B, 0x64, 0x6B, 0x64];
    let (pulses, rest) = frames[19..].split_at(frames.len() - 20);
    assert!(pulses.iter().all(|frame| *frame == pulse), "{pulses:02X?}");
    assert!((90..=105).contains(&pulses.len()), "{} pulses", pulses.len());
    assert_eq!(rest, [[0xFA, 0xFB, 0x03, 0x0D, 0x00, 0x0D]], "the first poll");
}

#[test]
fn the_robot_hears_the_documented_boot() {
    for seed in 0..16 {
        let pair = boot(Setup {
            seed,
            options: Options { seed, ..Options::default() },
            ..Setup::default()
        });
        assert_documented(&pair);
        let outputs = pair.robot.outputs();
        assert!(outputs.synced && outputs.initialized && outputs.handshake_done);
    }
}

#[test]
fn a_slow_link_and_a_late_caller_change_nothing() {
    for seed in 0..16 {
        let slow = Faults { delay: ms(3 * seed), jitter: ms(seed), ..Faults::default() };
        let options = Options { seed, boot_delay: ms(40 * seed), ..Options::default() };
        let late = ms(15);
        let pair = boot(Setup { seed, options, up: slow, down: slow, late, ..Setup::default() });
        assert!(pair.robot.outputs().handshake_done);
    }
}

#[test]
fn velocity_is_zero_while_hands_are_shaken() {
    let mut pair = boot(Setup::default());
    let zero = Wire::new(0x66, &[0; 8]);
    let first = pair.heard.iter().position(|frame| frame.payload() == [0x64]).unwrap();
    let beats = pair.heard[first..].iter().map(|frame| Wire::parse(frame.bytes()));
    let zeros = beats.filter(|frame| *frame == zero).count();
    assert!(zeros >= 95, "{zeros}");
    assert_eq!(pair.robot.pose(), Default::default());

    pair.execute(Command::DriveEnable { mode: 2 }).unwrap();
    pair.drive(ms(1000), &Command::Velocity { linear: 0.2, angular: 0.0 });
    assert!(pair.robot.pose().x > 0.1, "what was booted drives");
}

#[test]
fn a_controller_that_restarts_is_booted_again_and_stays_stopped() {
    let mut pair = boot(Setup::default());
    pair.execute(Command::DriveEnable { mode: 2 }).unwrap();
    let velocity = Command::Velocity { linear: 0.2, angular: 0.0 };
    pair.drive(ms(500), &velocity);
    pair.reboot();
    pair.run_until(ms(300), |pair| pair.host.state().link == Link::Lost);
    let from = pair.heard.len();
    pair.run_until(ms(10_000), |pair| pair.host.state().link == Link::Ready);
    assert!(pair.execute(velocity.clone()).is_err(), "until somebody enables it");
    assert!(pair.heard[from..].iter().all(|frame| !Wire::parse(frame.bytes()).moves()));
    pair.execute(Command::DriveEnable { mode: 2 }).unwrap();
    let before = pair.robot.pose().x;
    pair.drive(ms(500), &velocity);
    assert!(pair.robot.pose().x > before + 0.05);
}

#[test]
fn a_port_that_was_closed_for_a_moment_finds_the_wheels_stopped() {
    for closed in [Duration::ZERO, ms(10), ms(30), ms(45), ms(60), ms(200)] {
        let mut pair = boot(Setup::default());
        pair.execute(Command::DriveEnable { mode: 2 }).unwrap();
        pair.drive(ms(1000), &Command::Velocity { linear: 0.2, angular: 0.0 });
        pair.disconnect();
        pair.run_for(closed);
        pair.connect();
        // Nothing of the boot but the wake-up and beats has been sent by then.
        pair.run_for(ms(60));
        assert_eq!(pair.robot.wheel_targets(), (0.0, 0.0), "closed for {closed:?}");
        pair.run_until(ms(10_000), |pair| pair.host.state().link == Link::Ready);
        assert!(pair.host.state().stopped_by.is_some());
    }
}

#[test]
fn a_controller_that_never_answers_is_named_and_tried_again() {
    let mut pair = Pair::new(Setup::default());
    pair.connect();
    pair.cut();
    pair.run_until(ms(10_000), |pair| matches!(pair.host.state().link, Link::Failed { .. }));
    let failed = pair.events.iter().any(|(_, event)| matches!(event, Event::BootFailed { .. }));
    assert!(failed);
    pair.restore();
    pair.run_until(ms(15_000), |pair| pair.host.state().link == Link::Ready);
}
