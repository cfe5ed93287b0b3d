//! Clients of SangamIO's later states: protobuf with sensors by datagrams, and JSON with its later
//! names. Their viewer sends a velocity once, when a button is pressed; their navigation twenty a
//! second.

use std::{
    io::Write,
    net::TcpStream,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    cable::Cable,
    clients::{Lines, request},
    foreign::is_there,
    line::Line,
    namespace::{HERE, inside},
    support::{Dir, Process, Rig, run, serve, sinew, until},
    track::{PROMPT, Track, is_motion, moves},
};

const LISTEN: [&str; 2] = ["--sangam", "127.0.0.1:0"];
/// What a velocity holds for at most.
const HOLD: Duration = Duration::from_secs(1);
/// The robot stands when it did so for so many beats of 20 ms.
const STANDS: usize = 25;

/// Messages with their lengths, as the project's own Python classes write them.
const ENABLE: &str = "00000016 0a07636f6d6d616e64 1a0b0a09 0a056472697665 1200";
const FORWARD: &str = "0000003b 0a07636f6d6d616e64 1a300a2e 0a056472697665 12250803 1210 \
                       0a07616e67756c6172 1205 3500000000 120f 0a066c696e656172 1205 35cdcc4c3e";
const SHUTDOWN: &str = "0000000d 0a07636f6d6d616e64 1a02 1a00";
const RESET: &str = "00000018 0a07636f6d6d616e64 1a0d0a0b 0a056472697665 1202 0802";

fn send(mut client: &TcpStream, message: &str) {
    let digits: String = message.split_whitespace().collect();
    let bytes = (0..digits.len()).step_by(2);
    let bytes: Vec<_> =
        bytes.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect();
    client.write_all(&bytes).unwrap();
}

/// A client that may drive.
fn connect(track: &Track) -> TcpStream {
    let client = TcpStream::connect(track.address("sangam")).unwrap();
    client.set_nodelay(true).unwrap();
    send(&client, ENABLE);
    client
}

fn start(more: &[&str]) -> Track {
    Track::on(Line::start(110).unwrap(), &[&LISTEN, more].concat())
}

/// Runs the Python clients' script.
fn python(mut command: Command, arguments: &[&str]) -> Process {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/sangam.py");
    Process::spawn(command.arg(script).args(arguments))
}

fn here() -> Command {
    Command::new("python3")
}

/// Until when the wheels are told to turn, from now on until they stand.
fn moved_until(track: &Track) -> Instant {
    let (mut last, mut standing) = (Instant::now(), 0);
    while standing < STANDS {
        let frame = track.line.frames.recv_timeout(Duration::from_secs(5)).unwrap();
        if moves(&frame) && frame.at > last {
            (last, standing) = (frame.at, 0);
        }
        let is_beat = is_motion(&frame) || frame.bytes().get(3) == Some(&0x06);
        standing += usize::from(is_beat && !moves(&frame) && frame.at > last);
    }
    last
}

fn is_latched(track: &Track) -> bool {
    track.robot()["stopped_by"].is_string()
}

/// A daemon with a simulated robot and its lidar, and where it listens.
fn simulated(dir: &Dir, more: &[&str]) -> (Process, Value) {
    let (daemon, ready) = serve(sinew(dir), "sim:", &[&LISTEN, more].concat());
    let lines = ready["lines"].as_str().unwrap().to_owned();
    until("boot", || {
        let status = run(dir, &["status", "--json", "--server", &lines]).ok().json();
        (status["link"]["state"] == "ready").then_some(())
    });
    (daemon, ready)
}

/// The survey of a client at this address that listens to this port; 0 is that of the daemon.
fn survey(ready: &Value, source: &str, port: &str) -> Value {
    let [sangam, tcp] = ["sangam", "tcp"].map(|name| ready[name].as_str().unwrap());
    python(here(), &["survey", sangam, tcp, source, port]).wait().ok().json()
}

/// It saw every value as the robot's bytes have it, drove, and scanned.
#[track_caller]
fn assert_seen(report: &Value) {
    assert_eq!(report["wrong"], json!([]), "{report}");
    assert!(report["compared"].as_u64() > Some(50), "{report}");
    assert!(report["ticks"].as_u64() >= Some(400), "{report}");
    assert!(report["turned"].as_i64() > Some(0), "to the left: {report}");
    assert_eq!(report["answered"], Value::Null, "nothing is written to its connection");
    let version = &report["version"];
    assert_eq!(
        (&version["version_string"][0], &version["version_code"][0]),
        (&json!("string"), &json!("i32"))
    );
    let lidar = &report["lidar"];
    assert!(lidar["points"].as_u64() > Some(250), "{report}");
    assert_eq!((&lidar["within"], &lidar["quality"]), (&json!(true), &json!(true)));
    assert!(lidar["nearest"].as_f64() > Some(0.1), "{report}");
}

#[test]
fn a_python_client_sees_every_value_drives_scans_and_stops() {
    if !is_there("python3", "--version") {
        return;
    }
    // Its viewer listens to 5556, its navigation to the daemon's own number.
    for (source, port) in [("127.77.1.1", "5556"), ("127.77.1.2", "0")] {
        let dir = Dir::new();
        let (_daemon, ready) = simulated(&dir, &[]);
        let report = survey(&ready, source, port);
        assert_seen(&report);
        // The emergency stop was its last word.
        let lines = ready["lines"].as_str().unwrap();
        let mut client = Lines::connect(lines);
        until("the stop", || {
            let robots = client.ok(json!({ "type": "Robots" }));
            robots["robots"][0]["stopped_by"].is_string().then_some(())
        });
    }
}

#[test]
fn a_python_client_of_the_state_before_finds_its_names_and_values_on_5555() {
    if !is_there("python3", "--version") {
        return;
    }
    let dir = Dir::new();
    let (_daemon, ready) = simulated(&dir, &["--set", "profile=later"]);
    let report = python(here(), &["later", ready["tcp"].as_str().unwrap()]).wait().ok().json();
    let topics = report["topics"].as_object().unwrap();
    let names: Vec<_> = topics.keys().map(String::as_str).collect();
    assert_eq!(names, ["sensors/device_version", "sensors/sensor_status"], "{report}");
    assert_eq!(report["others"].as_array().unwrap().len(), 15, "{report}");
    // The client after it gets the same of this robot.
    assert_seen(&survey(&ready, "127.77.1.3", "0"));
}

#[test]
fn a_press_drives_for_a_second_at_most_and_the_next_one_again() {
    let track = start(&["--legacy-hold-ms", "10000"]);
    let client = connect(&track);
    for _ in 0..2 {
        let begin = Instant::now();
        send(&client, FORWARD);
        let took = moved_until(&track) - begin;
        let range = HOLD - Duration::from_millis(60)..HOLD + PROMPT;
        assert!(range.contains(&took), "{took:?}");
        assert!(!is_latched(&track));
    }
}

#[test]
fn the_emergency_stop_and_shutdown_stop_at_once_and_end_no_daemon() {
    let track = start(&[]);
    for stop in [RESET, SHUTDOWN] {
        let client = connect(&track);
        send(&client, FORWARD);
        track.await_motion();
        let stood = track.time_to_stand(|| send(&client, stop));
        assert!(stood < PROMPT, "{stood:?}");
        track.assert_stands(STANDS);
        assert!(is_latched(&track));
        // Its velocities need Enable from then on.
        send(&client, FORWARD);
        track.assert_stands(STANDS);
        send(&client, ENABLE);
        send(&client, FORWARD);
        track.await_motion();
    }
}

#[test]
fn a_killed_client_stops_the_robot_at_once_and_for_good() {
    if !is_there("python3", "--version") {
        return;
    }
    let track = start(&["--legacy-hold-ms", "10000"]);
    let mut client = python(here(), &["press", track.address("sangam")]);
    track.await_motion();
    let stood = track.time_to_stand(|| client.kill());
    assert!(stood < PROMPT, "{stood:?}");
    track.assert_stands(STANDS);
    assert!(is_latched(&track));
}

#[test]
fn a_frozen_client_drives_for_a_second_at_most() {
    if !is_there("python3", "--version") {
        return;
    }
    let track = start(&["--legacy-hold-ms", "10000"]);
    let client = python(here(), &["press", track.address("sangam")]);
    track.await_motion();
    client.signal("STOP");
    let frozen = Instant::now();
    let moved = moved_until(&track).saturating_duration_since(frozen);
    assert!(moved < HOLD + PROMPT, "{moved:?}");
    client.signal("CONT");
    track.await_motion();
}

/// Nothing comes from it any more, and nothing says so: its velocity ends by its time, and its
/// connection when its system does not answer what asks for it every second.
#[test]
fn a_client_that_is_cut_off_stops_the_robot_within_a_second_and_is_noticed() {
    let test = "sangam::a_client_that_is_cut_off_stops_the_robot_within_a_second_and_is_noticed";
    if !is_there("python3", "--version") {
        return;
    }
    inside(test, || {
        let cable = Cable::plug();
        let sangam = format!("{HERE}:0");
        let more = ["--sangam", &sangam, "--legacy-open", "--legacy-hold-ms", "10000"];
        let track = Track::on(Line::start(110).unwrap(), &more);
        let _client = python(cable.there("python3"), &["press", track.address("sangam")]);
        track.await_motion();
        // It drives for as long as it is heard: a press that lasts, with its signs of life.
        let begin = Instant::now();
        while begin.elapsed() < 3 * HOLD {
            track.await_motion();
        }
        assert!(!is_latched(&track));
        cable.pull();
        let cut = Instant::now();
        let moved = moved_until(&track).saturating_duration_since(cut);
        assert!(moved < HOLD + PROMPT, "{moved:?}");
        until("its end to be noticed", || is_latched(&track).then_some(()));
        let noticed = cut.elapsed();
        assert!(noticed < Duration::from_secs(6), "{noticed:?}");
        assert_eq!(track.robot()["holder"], Value::Null);
    });
}

/// The same for one that never says anything: sensors are not sent to it for ever.
#[test]
fn a_listener_that_is_cut_off_is_noticed_too() {
    let test = "sangam::a_listener_that_is_cut_off_is_noticed_too";
    if !is_there("python3", "--version") {
        return;
    }
    inside(test, || {
        let cable = Cable::plug();
        let more = ["--sangam", &format!("{HERE}:0"), "--legacy-open"];
        let track = Track::on(Line::start(110).unwrap(), &more);
        let (host, port) = track.address("sangam").rsplit_once(':').unwrap();
        let mut there = cable.there("python3");
        let script = "import socket,sys,time\n\
                      c = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n\
                      time.sleep(60)";
        let _client = Process::spawn(there.args(["-c", script, host, port]));
        let clients = || {
            let (_, _, page) = request(track.address("http"), "GET /metrics", "", "");
            let line = page.lines().find(|line| line.contains("transport=\"sangam\"")).unwrap();
            line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
        };
        until("the client", || (clients() == 1).then_some(()));
        cable.pull();
        until("its end to be noticed", || (clients() == 0).then_some(()));
    });
}

#[test]
fn the_water_pump_is_switched_by_the_command_line() {
    let rig = Rig::start();
    let mark = rig.quiet();
    rig.cli(&["control", "water_pump", "Configure", "speed=40"]).wait().ok();
    // Nothing works in mode 0, so that is left first.
    let mode = rig.await_frame(mark, "65 02");
    rig.await_frame(mode, "6B 28");
    assert_eq!(rig.robot()["state"]["water_pump"], 40);
    let mark = rig.mark();
    rig.cli(&["control", "water_pump", "Disable"]).wait().ok();
    rig.await_frame(mark, "6B 00");
    let ended = rig.cli(&["control", "water_pump", "Configure", "speed=101"]).wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    // A stop of everything is one of the pump, too.
    rig.cli(&["control", "water_pump", "Enable"]).wait().ok();
    let mark = rig.mark();
    rig.cli(&["stop"]).wait().ok();
    rig.await_frame(mark, "6B 00");
    assert_eq!(rig.robot()["state"]["water_pump"], 0);
}

#[test]
fn it_is_a_setting_like_the_other_ports() {
    let dir = Dir::new();
    let config = run(&dir, &["config", "--json"]).ok().json();
    assert_eq!(config["server"]["sangam"], "off");
    let file = dir.file("sinew.toml", "[server]\nsangam = \"127.0.0.1:5558\"\n");
    let config = run(&dir, &["config", "--json", "--config", &file]).ok().json();
    assert_eq!(config["server"]["sangam"], "127.0.0.1:5558");

    let serve = ["serve", "--tcp", "off", "--lines", "off", "--http", "off", "--vacuum", "sim:"];
    let ended = run(&dir, &[&serve[..], &["--sangam", "0.0.0.0:0"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for word in ["sangam 0.0.0.0:0", "token", "loopback", "legacy_open"] {
        assert!(ended.stderr.contains(word), "{ended:?}");
    }
    let (_daemon, ready) = crate::support::serve(sinew(&dir), "sim:", &["--sangam", "off"]);
    assert_eq!(ready["sangam"], Value::Null);
}
