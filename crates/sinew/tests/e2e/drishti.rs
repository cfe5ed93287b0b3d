//! Clients as document 003's viewer is one: a press of a button sends 0.5 m/s once, its release sends
//! zeros, and what is streamed is read.

use std::{
    env,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    cable::Cable,
    clients::{Lines, Prefixed, configure, control, stop},
    line::Line,
    namespace::{HERE, inside},
    support::{Dir, Process, run, until},
    track::{PROMPT, Track, is_motion, moves},
};

/// Makes a process that runs one of these tests a client of this address.
const ADDRESS: &str = "SINEW_E2E_DRISHTI";
/// Less than any of these take that are to be told from the dead-man.
const DEADMAN: Duration = Duration::from_millis(300);
/// The robot stands when it did so for so many beats of 20 ms.
const STANDS: usize = 25;

/// A velocity in the envelope that such clients use.
fn velocity(linear: f64, angular: f64) -> Value {
    let config = json!({ "linear": { "F32": linear }, "angular": { "F32": angular } });
    envelope(&configure("drive", config))
}

fn envelope(command: &Value) -> Value {
    json!({ "topic": "command", "payload": { "type": "Command", "command": command } })
}

/// The viewer's connection.
struct Viewer(Prefixed);

impl Viewer {
    fn connect(address: &str) -> Self {
        let mut viewer = Viewer(Prefixed::connect(address));
        viewer.send(&envelope(&control("drive", "Enable")));
        viewer
    }

    fn send(&mut self, message: &Value) {
        self.0.send(message.to_string().as_bytes());
    }

    fn press(&mut self) {
        self.send(&velocity(0.5, 0.0));
    }

    fn release(&mut self) {
        self.send(&velocity(0.0, 0.0));
    }
}

/// Runs a test; in a process that the test started, the viewer.
fn test_or_viewer(test: impl FnOnce()) {
    let Ok(address) = env::var(ADDRESS) else { return test() };
    let mut viewer = Viewer::connect(&address);
    viewer.press();
    while viewer.0.try_next_of("sensors/gd32_status").is_some() {}
}

/// Starts the viewer in a process of its own, to be frozen, killed and cut off: this program again,
/// as the command runs it, with the test of this name.
fn viewer(command: &mut Command, test: &str, track: &Track) -> Process {
    let address = track.address("tcp");
    Process::spawn(command.args(["--exact", test]).env(ADDRESS, address))
}

fn this_program() -> Command {
    Command::new(env::current_exe().unwrap())
}

fn start(more: &[&str]) -> Track {
    Track::on(Line::start(110).unwrap(), more)
}

/// For how long the wheels are told to turn after this moment, until they stand.
fn moved_for(track: &Track, since: Instant) -> Duration {
    let (mut last, mut standing) = (since, 0);
    while standing < STANDS {
        let frame = track.line.frames.recv_timeout(Duration::from_secs(5)).unwrap();
        if moves(&frame) && frame.at >= since {
            (last, standing) = (frame.at, 0);
        }
        let is_beat = is_motion(&frame) || frame.bytes().get(3) == Some(&0x06);
        standing += usize::from(is_beat && !moves(&frame) && frame.at > last);
    }
    last - since
}

#[track_caller]
fn assert_took(took: Duration, wanted: Duration) {
    // The last of the beats comes before the end of the time.
    let range = wanted.saturating_sub(Duration::from_millis(60))..wanted + PROMPT;
    assert!(range.contains(&took), "{took:?}, wanted {wanted:?}");
}

#[track_caller]
fn assert_latched(track: &Track, is_latched: bool) {
    let stopped_by = track.robot()["stopped_by"].clone();
    assert_eq!(stopped_by.is_string(), is_latched, "{stopped_by}");
}

/// A client that is told what happens.
fn listener(track: &Track) -> Lines {
    let mut client = track.lines();
    client.ok(json!({ "type": "Subscribe", "topics": ["events"] }));
    client
}

/// The next event of this name.
fn event(client: &mut Lines, name: &str) -> Value {
    loop {
        let message = client.next();
        if message["data"]["event"] == name {
            return message["data"].clone();
        }
    }
}

#[test]
fn the_robot_moves_while_the_button_is_held_and_stops_when_it_is_released() {
    let track = start(&["--legacy-hold-ms", "10000"]);
    let mut listener = listener(&track);
    let mut viewer = Viewer::connect(track.address("tcp"));
    for _ in 0..2 {
        viewer.press();
        track.await_motion();
        // As long as a button is held: a good while longer than the dead-man.
        let begin = Instant::now();
        while begin.elapsed() < 4 * DEADMAN {
            track.await_motion();
        }
        let stood = track.time_to_stand(|| viewer.release());
        assert!(stood < PROMPT, "{stood:?}");
        track.assert_stands(STANDS);
        assert_latched(&track, false);
        let held = event(&mut listener, "held");
        assert_eq!(held["hold_ms"], 10_000);
        assert!(held["by"].as_str().unwrap().starts_with("tcp 127.0.0.1:"), "{held}");
    }
}

#[test]
fn a_press_lasts_no_longer_than_it_may_and_the_next_one_drives_again() {
    let track = start(&["--legacy-hold-ms", "1000"]);
    let mut listener = listener(&track);
    let mut viewer = Viewer::connect(track.address("tcp"));
    for _ in 0..2 {
        let begin = Instant::now();
        viewer.press();
        assert_took(moved_for(&track, begin), Duration::from_millis(1000));
        assert_eq!(event(&mut listener, "hold_ended")["reason"], "expired");
        assert_latched(&track, false);
    }
    let log = track.daemon.errors();
    assert!(log.contains("may hold its velocity for 1000 ms"), "{log}");
    assert!(log.contains("both of its speeds are scaled by 0.600"), "{log}");
    assert!(log.contains("held for as long as it may be"), "{log}");
}

#[test]
fn two_seconds_are_the_default() {
    let track = start(&[]);
    let begin = Instant::now();
    let mut viewer = Viewer::connect(track.address("tcp"));
    viewer.press();
    let took = moved_for(&track, begin);
    // The press came a little after.
    assert!(took > Duration::from_millis(1900) && took < Duration::from_millis(2300), "{took:?}");
}

#[test]
fn speeds_over_the_limit_keep_their_curve() {
    let track = start(&[]);
    let mut viewer = Viewer::connect(track.address("tcp"));
    for (asked, sent) in [
        ((0.5, 0.5), (300, 300)),
        ((0.25, 2.0), (125, 1000)),
        ((-0.5, -1.0), (-300, -600)),
        ((0.2, 0.4), (200, 400)),
    ] {
        viewer.send(&velocity(asked.0, asked.1));
        let sent: Vec<u8> = [i32::to_le_bytes(sent.0), i32::to_le_bytes(sent.1)].concat();
        until(&format!("{asked:?}"), || {
            track.line.frames.try_iter().any(|frame| frame.payload() == sent).then_some(())
        });
    }
}

/// On loopback its system goes on acknowledging, so that only the hold is left.
#[test]
fn a_frozen_client_drives_no_longer_than_it_may() {
    test_or_viewer(|| {
        let track = start(&["--legacy-hold-ms", "1500"]);
        let test = "drishti::a_frozen_client_drives_no_longer_than_it_may";
        let mut viewer = viewer(&mut this_program(), test, &track);
        track.await_motion();
        viewer.signal("STOP");
        let moved = moved_for(&track, Instant::now());
        assert!(moved > 2 * DEADMAN, "{moved:?}");
        assert!(moved < Duration::from_millis(1500) + PROMPT, "{moved:?}");
        assert_latched(&track, false);
        viewer.signal("CONT");
        track.assert_stands(STANDS);
        viewer.kill();
        until("its end to be noticed", || track.robot()["stopped_by"].is_string().then_some(()));
    });
}

#[test]
fn a_killed_client_stops_the_robot_at_once_and_for_good() {
    test_or_viewer(|| {
        let track = start(&["--legacy-hold-ms", "10000"]);
        let test = "drishti::a_killed_client_stops_the_robot_at_once_and_for_good";
        let mut viewer = viewer(&mut this_program(), test, &track);
        track.await_motion();
        let stood = track.time_to_stand(|| viewer.kill());
        assert!(stood < PROMPT, "{stood:?}");
        track.assert_stands(STANDS);
        assert_latched(&track, true);
    });
}

#[test]
fn a_client_that_closes_its_connection_does_too() {
    let track = start(&["--legacy-hold-ms", "10000"]);
    let mut viewer = Viewer::connect(track.address("tcp"));
    viewer.press();
    track.await_motion();
    let stood = track.time_to_stand(|| drop(viewer));
    assert!(stood < PROMPT, "{stood:?}");
    assert_latched(&track, true);
    let mut next = Viewer::connect(track.address("tcp"));
    next.press();
    track.await_motion();
}

/// Nothing comes back from it, and nothing says so.
#[test]
fn a_client_that_is_cut_off_stops_the_robot_by_its_silence() {
    let test = "drishti::a_client_that_is_cut_off_stops_the_robot_by_its_silence";
    test_or_viewer(|| {
        inside(test, || {
            let cable = Cable::plug();
            let tcp = format!("{HERE}:0");
            let hold = ["--tcp", &tcp, "--legacy-open", "--legacy-hold-ms", "10000"];
            let track = start(&hold);
            let mut listener = listener(&track);
            let mut there = cable.there(env::current_exe().unwrap());
            let _viewer = viewer(&mut there, test, &track);
            track.await_motion();
            // While it can be reached, its button is held.
            let begin = Instant::now();
            while begin.elapsed() < 4 * DEADMAN {
                track.await_motion();
            }
            cable.pull();
            let moved = moved_for(&track, Instant::now());
            assert!(moved > Duration::from_millis(200), "{moved:?}: not because of the silence");
            assert!(moved < Duration::from_millis(350) + PROMPT, "{moved:?}");
            assert_eq!(event(&mut listener, "hold_ended")["reason"], "unreachable");
            assert_latched(&track, false);
            let log = track.daemon.errors();
            assert!(log.contains("out of reach"), "{log}");
        })
    });
}

#[test]
fn a_client_that_repeats_by_itself_has_the_dead_man() {
    let track = start(&["--legacy-hold-ms", "10000"]);
    let mut listener = listener(&track);
    let mut viewer = Viewer::connect(track.address("tcp"));
    let mut last = Instant::now();
    for _ in 0..4 {
        last = Instant::now();
        viewer.press();
        track.await_motion();
    }
    assert_took(moved_for(&track, last), DEADMAN);
    assert_eq!(event(&mut listener, "repeats")["deadman_ms"], 300);
    event(&mut listener, "deadman_expired");
    assert_latched(&track, false);
    // From then on, however it presses.
    let begin = Instant::now();
    viewer.press();
    assert_took(moved_for(&track, begin), DEADMAN);
}

#[test]
fn a_client_that_used_req_has_no_exception() {
    let track = start(&[]);
    let mut viewer = Viewer::connect(track.address("tcp"));
    viewer.send(&json!({ "type": "Robots", "req": 1 }));
    viewer.0.next_of("reply");
    viewer.press();
    let error = viewer.0.next_of("reply");
    assert_eq!(error["error"]["code"], "invalid_argument", "{error}");
    track.assert_stands(STANDS);
    let begin = Instant::now();
    viewer.send(&velocity(0.2, 0.0));
    assert_took(moved_for(&track, begin), DEADMAN);
}

#[test]
fn a_hold_of_zero_turns_the_exception_off() {
    let track = start(&["--legacy-hold-ms", "0"]);
    let mut listener = listener(&track);
    let mut viewer = Viewer::connect(track.address("tcp"));
    viewer.press();
    let refused = event(&mut listener, "refused");
    assert_eq!(
        (&refused["command"], &refused["code"]),
        (&json!("drive Configure"), &json!("invalid_argument"))
    );
    track.assert_stands(STANDS);
    let begin = Instant::now();
    viewer.send(&velocity(0.2, 0.0));
    assert_took(moved_for(&track, begin), DEADMAN);
}

#[test]
fn any_client_stops_what_is_held_and_the_next_press_needs_enable() {
    let track = start(&["--legacy-hold-ms", "10000"]);
    let mut listener = listener(&track);
    let mut viewer = Viewer::connect(track.address("tcp"));
    viewer.press();
    track.await_motion();
    let mut other = track.lines();
    let stood = track.time_to_stand(|| drop(other.ok(stop())));
    assert!(stood < PROMPT, "{stood:?}");
    assert_latched(&track, true);
    viewer.release();
    viewer.press();
    let refused = event(&mut listener, "refused");
    assert_eq!(refused["code"], "not_ready", "{refused}");
    track.assert_stands(STANDS);
    viewer.send(&envelope(&control("drive", "Enable")));
    viewer.press();
    track.await_motion();
    // Taking the controls is a stop, too.
    let stood = track.time_to_stand(|| drop(other.ok(json!({ "type": "TakeControl" }))));
    assert!(stood < PROMPT, "{stood:?}");
    assert_latched(&track, true);
}

#[test]
fn the_daemons_end_stops_what_is_held_and_its_client_notices() {
    let mut track = start(&["--legacy-hold-ms", "10000"]);
    let mut viewer = Viewer::connect(track.address("tcp"));
    viewer.press();
    track.await_motion();
    let stood = track.time_to_stand(|| track.daemon.signal("TERM"));
    assert!(stood < PROMPT, "{stood:?}");
    assert_eq!(track.daemon.wait().code, Some(0));
    while viewer.0.try_next_of("sensors/gd32_status").is_some() {}
}

#[test]
fn a_button_that_needs_confirm_is_explained_and_can_be_allowed() {
    let track = start(&["--legacy-confirm", "imu"]);
    let mut viewer = Viewer::connect(track.address("tcp"));
    viewer.send(&envelope(&control("compass", "Reset")));
    viewer.send(&envelope(&control("imu", "Reset")));
    until("the calibration of the IMU", || {
        let frames = track.line.frames.try_iter();
        let sent = frames.filter_map(|frame| frame.bytes().get(3).copied());
        let mut sent = sent.inspect(|&command| assert_ne!(command, 0xA3, "of the compass"));
        sent.find(|&command| command == 0xA1)
    });
    let log = track.daemon.errors();
    assert!(log.contains("refused: compass: "), "{log}");
    assert!(log.contains(r#"legacy_confirm = ["compass"] in [server]"#), "{log}");
}

#[test]
fn a_component_that_no_robot_has_is_an_error_at_start() {
    let dir = Dir::new();
    let serve = ["serve", "--vacuum", "sim:", "--tcp", "off", "--lines", "off", "--http", "off"];
    let ended = run(&dir, &[&serve[..], &["--legacy-confirm", "toaster"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for word in ["legacy_confirm", "toaster", "imu", "main_board"] {
        assert!(ended.stderr.contains(word), "{ended:?}");
    }
    let ended = run(&dir, &[&serve[..], &["--legacy-hold-ms", "10001"]].concat());
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("10000"), "{ended:?}");

    dir.file("sinew.toml", "[server]\nlegacy_confirm = [\"imu\"]\n[[robot]]\nlink = \"sim:\"\n");
    let config = run(&dir, &["config", "--legacy-confirm", "mcu", "--json"]).ok().json();
    assert_eq!(config["server"]["legacy_confirm"], json!(["imu", "mcu"]));
    assert_eq!(config["server"]["legacy_hold_ms"], 2000);
    let config = run(&dir, &["config", "--legacy-hold-ms", "0", "--json"]).ok().json();
    assert_eq!(config["server"]["legacy_hold_ms"], 0);
}
