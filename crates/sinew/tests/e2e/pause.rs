//! A daemon that did not run for a while: what waited meanwhile is old, and must not move the robot.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{
    clients::{Lines, control, stop, turn},
    support::until,
    track::Track,
};

/// Sends a burst again and again, whether or not anything reads it.
fn send_for(client: &mut Lines, burst: &str, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        client.send_bytes(burst.as_bytes());
        thread::sleep(Duration::from_millis(20));
    }
}

/// Pauses the daemon while a client goes on driving, then lets it run: a stop is latched.
fn assert_pause_latches(pause: Duration, burst: &str) {
    let track = Track::start();
    let mut client = track.lines();
    client.ok(control("drive", "Enable"));
    client.ok(turn());
    track.await_motion();
    send_for(&mut client, burst, Duration::from_millis(200));
    track.daemon.signal("STOP");
    send_for(&mut client, burst, pause);
    let begin = Instant::now();
    track.daemon.signal("CONT");
    track.assert_stands_since(begin, 40);
    let stopped_by = track.robot()["stopped_by"].to_string();
    assert!(stopped_by.contains("pause"), "stopped by {stopped_by}");
    client.fails(turn(), "not_ready");
    drives_again(&track, &mut client);
}

/// The controller may have been taken for lost meanwhile, and then boots first.
fn drives_again(track: &Track, client: &mut Lines) {
    until("the controls to work", || {
        let enabled = client.ask(control("drive", "Enable"))["ok"] == true;
        (enabled && client.ask(turn())["ok"] == true).then_some(())
    });
    track.await_motion();
}

#[test]
fn velocities_that_waited_for_a_second_are_not_carried_out() {
    assert_pause_latches(Duration::from_secs(1), &format!("{}\n", turn()));
}

#[test]
fn velocities_that_waited_for_four_seconds_are_not_carried_out() {
    assert_pause_latches(Duration::from_secs(4), &format!("{}\n", turn()));
}

#[test]
fn an_enable_that_waited_does_not_clear_the_stop_of_its_pause() {
    let burst = format!("{}\n{}\n", control("drive", "Enable"), turn());
    assert_pause_latches(Duration::from_secs(2), &burst);
}

/// Nothing was moving, so nothing is to be stopped; and what stopped it before is still named.
#[test]
fn a_pause_of_a_robot_that_stands_does_no_harm() {
    let track = Track::start();
    let mut client = track.lines();
    client.ok(control("drive", "Enable"));
    client.ok(stop());
    track.daemon.signal("STOP");
    thread::sleep(Duration::from_secs(1));
    let begin = Instant::now();
    track.daemon.signal("CONT");
    track.assert_stands_since(begin, 20);
    assert!(track.robot()["stopped_by"].is_string());
    drives_again(&track, &mut client);
}
