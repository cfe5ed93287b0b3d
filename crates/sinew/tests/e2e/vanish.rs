//! Clients that vanish without a word: a cable is pulled, a computer falls asleep.

use std::time::{Duration, Instant};

use crate::{
    cable::Cable,
    clients::Lines,
    line::Line,
    namespace::{HERE, inside},
    stops::drive_off_the_dock,
    support::{CONTROL_TOKEN, Process, sinew, until},
    track::{Track, moves},
};

/// A robot, and a client at the other end of a cable that lets it do this.
fn with_client(arguments: &[&str], then: impl FnOnce(&Track, &Cable)) {
    let cable = Cable::plug();
    let lines = format!("{HERE}:0");
    let track = Track::on(Line::start(110).unwrap(), &["--lines", &lines]);
    let mut client: Lines = track.lines();
    drive_off_the_dock(&track, &mut client);
    drop(client);
    until("the controls to be free", || track.robot()["holder"].is_null().then_some(()));
    let plain = sinew(&track.dir);
    let mut command = cable.there(plain.get_program());
    command.args(arguments).args(["--server", track.address("lines"), "--token", CONTROL_TOKEN]);
    let _far = Process::spawn(&mut command);
    track.await_motion();
    then(&track, &cable);
}

/// Longer than any of these may take to stop.
const LONG: Duration = Duration::from_secs(5);

/// How long the robot went on moving after this moment; no more than [`LONG`] is looked at.
fn moved_for(track: &Track, since: Instant) -> Duration {
    let mut last = since;
    let patience = since + LONG + Duration::from_secs(1);
    until("the robot to stand for a second", || {
        for frame in track.line.frames.try_iter().filter(moves) {
            last = frame.at;
        }
        (last.elapsed() > Duration::from_secs(1) || Instant::now() > patience).then_some(())
    });
    last - since
}

#[test]
fn a_dock_stops_when_its_client_has_vanished() {
    inside("vanish::a_dock_stops_when_its_client_has_vanished", || {
        with_client(&["vacuum", "dock"], |track, cable| {
            cable.pull();
            let moved = moved_for(track, Instant::now());
            assert!(moved < Duration::from_millis(3_500), "{moved:?}");
            assert!(moved > Duration::from_millis(500), "{moved:?}: not because of the silence");
            assert!(track.robot()["stopped_by"].is_string());
            assert!(track.robot()["state"]["docking"].is_null());
        });
    });
}

/// Control: the same dock goes on for longer than that while its client is there.
#[test]
fn a_dock_goes_on_while_its_client_is_there() {
    inside("vanish::a_dock_goes_on_while_its_client_is_there", || {
        with_client(&["vacuum", "dock"], |track, _| {
            let moved = moved_for(track, Instant::now());
            assert!(moved > LONG, "{moved:?}");
        });
    });
}

#[test]
fn the_dead_man_stops_what_a_vanished_client_drove() {
    inside("vanish::the_dead_man_stops_what_a_vanished_client_drove", || {
        let turning = ["vacuum", "drive", "--angular", "0.5", "--for", "60s"];
        with_client(&turning, |track, cable| {
            cable.pull();
            let moved = moved_for(track, Instant::now());
            assert!(moved < Duration::from_millis(500), "{moved:?}");
        });
    });
}
