//! Nothing that clients do to the daemon or the line keeps a robot from being stopped.

use std::time::Duration;

use serde_json::json;

use crate::{
    attackers::Attack,
    clients::{auth, stop},
    driver::Driver,
    line::Line,
    support::{READ_TOKEN, until},
    track::{PROMPT, Track},
};

/// What the daemon may have in memory, whatever others send.
const MEMORY: u64 = 80_000_000;

/// A robot whose dead-man is too late to be taken for a stop.
fn track() -> Track {
    Track::on(Line::start(110).unwrap(), &["--deadman-ms", "2000"])
}

/// Stops a driving robot again and again; it must stand at once and stay so.
#[track_caller]
fn assert_stops(track: &Track, driver: &Driver, rounds: usize) {
    let mut stopper = track.lines();
    stopper.ok(auth(READ_TOKEN));
    for round in 0..rounds {
        let took = track.time_to_stand(|| stopper.send(&stop().to_string()));
        assert!(took < PROMPT, "round {round}: stood after {took:?}");
        track.assert_stands(5);
        track.drive_on(driver);
    }
}

/// Control: without an attack the same is true at every commit.
#[test]
fn a_stop_is_prompt_when_nothing_happens() {
    let track = track();
    let driver = track.drive(50);
    assert_stops(&track, &driver, 10);
    let took = track.time_to_stand(|| track.daemon.signal("TERM"));
    assert!(took < PROMPT, "{took:?}");
}

#[test]
fn subscribe_bombs_of_readers_delay_neither_a_stop_nor_sigterm() {
    let track = track();
    let driver = track.drive(50);
    let mut stopper = track.lines();
    stopper.ok(auth(READ_TOKEN));
    let bombs = Attack::bombs(&track.target(Some(READ_TOKEN)), 3);
    until("bombs", || (bombs.strokes() >= 3).then_some(()));
    let took = track.time_to_stand(|| stopper.send(&stop().to_string()));
    assert!(took < PROMPT, "{took:?}");
    track.assert_stands(5);
    track.drive_on(&driver);
    assert_stops(&track, &driver, 10);
    let resident = track.daemon.resident();
    assert!(resident < MEMORY, "{resident} bytes");
    let took = track.time_to_stand(|| track.daemon.signal("TERM"));
    assert!(took < PROMPT, "{took:?}");
}

#[test]
fn floods_of_large_messages_do_not_delay_a_stop() {
    let track = track();
    let driver = track.drive(50);
    let floods = Attack::floods(&track.target(Some(READ_TOKEN)), 64);
    until("floods", || (floods.strokes() >= 64).then_some(()));
    assert_stops(&track, &driver, 10);
    let resident = track.daemon.resident();
    assert!(resident < MEMORY, "{resident} bytes");
}

#[test]
fn a_driver_faster_than_the_line_is_stopped_within_a_heartbeat() {
    for hz in [1_000, 2_000] {
        let line = Line::start_serial(110).unwrap();
        let track = Track::on(line, &["--deadman-ms", "2000"]);
        let driver = track.drive(hz);
        assert_backlog_and_stop(&track, &driver);
        assert_eq!(track.robot()["link"]["state"], "ready");
    }
}

/// Lets velocities pile up wherever they may, then stops.
fn assert_backlog_and_stop(track: &Track, driver: &Driver) {
    for _ in 0..5 {
        pile_up(track);
        let mut stopper = track.lines();
        let took = track.time_to_stand(|| stopper.send(&stop().to_string()));
        assert!(took < PROMPT, "stood after {took:?}");
        track.assert_stands(10);
        track.drive_on(driver);
    }
}

/// A second and a half of what is sent to the robot: on a line that a driver overruns, what waits
/// for it grows all the time.
fn pile_up(track: &Track) {
    let begin = std::time::Instant::now();
    while begin.elapsed() < Duration::from_millis(1_500) {
        track.await_motion();
    }
}

#[test]
fn the_dead_man_of_a_driver_faster_than_the_line_is_on_time() {
    let track = Track::on(Line::start_serial(110).unwrap(), &[]);
    let driver = track.drive(2_000);
    pile_up(&track);
    let took = track.time_to_stand(|| driver.fall_silent());
    assert!(took < Duration::from_millis(300) + PROMPT, "{took:?}");
    track.assert_stands(10);
    assert_eq!(track.robot()["link"]["state"], "ready");
    // It did not latch: the link was never lost.
    assert_eq!(track.robot()["stopped_by"], json!(null));
}
