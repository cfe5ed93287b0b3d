//! Captures that are played again: to a robot, and in a robot's place.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read, Write},
    os::unix::net::UnixStream,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_wire::gd32::{Deframer, What};

use crate::{
    support::{Dir, FORWARD, Process, STILL, frame, run, serve, simulator, sinew, until},
    through,
};

/// The peer's end of a line, and what it was sent.
struct Peer {
    _port: sinew_io::Pty,
    device: File,
    deframer: Deframer,
    frames: Vec<(Instant, String)>,
}

impl Peer {
    fn new(dir: &Dir) -> Self {
        let (port, device) = through::device(&dir.join("port")).unwrap();
        Peer { _port: port, device, deframer: Deframer::new(), frames: Vec::new() }
    }

    fn read(&mut self) -> &[(Instant, String)] {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = self.device.read(&mut buffer) {
            let now = Instant::now();
            let frames = &mut self.frames;
            self.deframer.push(&buffer[..count], |piece| {
                if let What::Frame(frame) = piece.what {
                    let hex: Vec<_> =
                        frame.bytes().iter().map(|byte| format!("{byte:02X}")).collect();
                    frames.push((now, hex.join(" ")));
                }
            });
        }
        &self.frames
    }

    fn contents(&mut self) -> Vec<String> {
        self.read().iter().map(|(_, frame)| frame.clone()).collect()
    }
}

/// A log of the host's side: milliseconds and frames.
fn log(rows: &[(u64, &str)]) -> String {
    let rows = rows.iter().map(|(ms, content)| format!("{},TX,{}\n", ms * 1000, frame(content)));
    rows.collect()
}

/// Drives for as long as it is let.
fn driving(seconds: u64) -> String {
    let beats = (0..seconds * 50).map(|beat| (100 + beat * 20, FORWARD));
    log(&[vec![(0, "65 02")], beats.collect()].concat())
}

const MODE_0: &str = "65 00";

fn ends_with_a_stop(frames: &[String]) -> bool {
    let wanted = [STILL, MODE_0].map(frame);
    frames.len() >= 2 && frames[frames.len() - 2..] == wanted
}

#[test]
fn nothing_moves_without_confirm_and_the_rest_is_played() {
    let dir = Dir::new();
    let mut peer = Peer::new(&dir);
    dir.file(
        "log.csv",
        &log(&[(0, "06"), (20, FORWARD), (40, "67 64 00 64 00"), (60, STILL), (80, "07")]),
    );
    let ended = run(&dir, &["replay", "log.csv", "--to", "serial:port", "--json"]).ok().json();
    assert_eq!(ended["sent"], 3);
    assert_eq!(ended["left_out"], json!({ "moves the robot": 2 }));
    assert_eq!(peer.contents(), ["06", STILL, "07"].map(frame));
}

#[test]
fn frames_keep_their_timing_scaled() {
    let dir = Dir::new();
    let mut peer = Peer::new(&dir);
    dir.file("log.csv", &log(&[(0, "06"), (1000, "07"), (2000, "0D")]));
    let mut replay =
        Process::sinew(&dir, &["replay", "log.csv", "--to", "serial:port", "--speed", "4"]);
    let times = until("three frames", || {
        let frames = peer.read();
        (frames.len() == 3).then(|| frames.iter().map(|(at, _)| *at).collect::<Vec<_>>())
    });
    for pair in times.windows(2) {
        let apart = (pair[1] - pair[0]).as_millis();
        assert!((150..600).contains(&apart), "{apart} ms");
    }
    replay.wait().ok();
    let begin = Instant::now();
    run(&dir, &["replay", "log.csv", "--to", "serial:port", "--speed", "max"]).ok();
    assert!(begin.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_signal_in_mid_drive_ends_with_zero_velocity_and_mode_0() {
    for signal in ["INT", "TERM"] {
        let dir = Dir::new();
        let mut peer = Peer::new(&dir);
        dir.file("log.csv", &driving(30));
        let args = ["replay", "log.csv", "--to", "serial:port", "--confirm"];
        let mut replay = Process::sinew(&dir, &args);
        until("motion", || (peer.contents().len() > 10).then_some(()));
        replay.signal(signal);
        let ended = replay.wait();
        assert_eq!(ended.code, Some(1), "{signal}: {ended:?}");
        let frames = peer.contents();
        assert!(frames.len() < 500 && ends_with_a_stop(&frames), "{signal}: {frames:?}");
    }
}

#[test]
fn the_end_of_the_file_is_a_stop_too() {
    let dir = Dir::new();
    let mut peer = Peer::new(&dir);
    dir.file("log.csv", &driving(1));
    run(&dir, &["replay", "log.csv", "--to", "serial:port", "--confirm"]).ok();
    let frames = peer.contents();
    assert_eq!(frames.len(), 53);
    assert!(ends_with_a_stop(&frames), "{frames:?}");
}

#[test]
fn a_long_pause_in_the_file_is_ended_by_the_dead_man() {
    let dir = Dir::new();
    let mut peer = Peer::new(&dir);
    dir.file("log.csv", &log(&[(0, "65 02"), (100, FORWARD), (2100, "06")]));
    let ended = run(&dir, &["replay", "log.csv", "--to", "serial:port", "--confirm", "--json"]);
    assert_eq!(ended.ok().json()["stood_still"], json!({ "no new velocity for 300 ms": 1 }));
    assert_eq!(peer.contents(), ["65 02", FORWARD, STILL, "06", STILL, MODE_0].map(frame));
}

#[test]
fn a_reader_that_stalls_is_a_stop() {
    let dir = Dir::new();
    let mut peer = Peer::new(&dir);
    let mut command = sinew(&dir);
    command.args(["replay", "-", "--to", "serial:port", "--confirm"]);
    let (mut writer, reader) = UnixStream::pair().unwrap();
    command.stdin(Stdio::from(std::os::fd::OwnedFd::from(reader)));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    drop(command);
    // A log is recognised by its beginning, and read in large pieces: its comments make it long enough.
    let comments = "# a comment\n".repeat(20_000);
    writer.write_all(format!("{}{comments}", driving(1)).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("was not read on"), "{said}");
    let frames = peer.contents();
    assert!(ends_with_a_stop(&frames), "{frames:?}");
    drop(writer);
}

#[test]
fn what_is_over_a_limit_is_refused() {
    let dir = Dir::new();
    let mut peer = Peer::new(&dir);
    let fast = "66 2D 01 00 00 00 00 00 00";
    dir.file(
        "log.csv",
        &log(&[(0, "65 02"), (100, FORWARD), (120, fast), (140, FORWARD), (160, "06")]),
    );
    let ended = run(&dir, &["replay", "log.csv", "--to", "serial:port", "--confirm", "--json"]);
    assert_eq!(ended.code, Some(1));
    let refused = ended.json()["refused"].clone();
    assert_eq!(refused.as_object().unwrap().len(), 1, "{refused}");
    assert!(refused.to_string().contains("wanted -0.3 to 0.3 m/s"), "{refused}");
    let frames = peer.contents();
    assert_eq!(frames, ["65 02", FORWARD, STILL, FORWARD, "06", STILL, MODE_0].map(frame));
}

#[test]
fn a_serial_port_that_is_no_pseudo_terminal_needs_confirm() {
    let dir = Dir::new();
    dir.file("log.csv", &log(&[(0, "06")]));
    // Any device that is there will do: it is not opened.
    let ended = run(&dir, &["replay", "log.csv", "--to", "serial:/dev/null"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("--confirm"), "{ended:?}");
    let ended = run(&dir, &["replay", "log.csv", "--to", "serial:nowhere"]);
    assert!(ended.stderr.contains("cannot open nowhere"), "{ended:?}");
}

/// A peer that answers each frame with bytes of its own.
fn answering(dir: &Dir, answer: &'static [u8]) -> sinew_io::Pty {
    let (port, mut device) = through::device(&dir.join("port")).unwrap();
    thread::spawn(move || {
        let mut deframer = Deframer::new();
        let mut buffer = [0; 256];
        loop {
            let mut asked = 0;
            match device.read(&mut buffer) {
                Ok(count) => deframer.push(&buffer[..count], |_| asked += 1),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    thread::sleep(Duration::from_millis(1));
                }
                // The line is gone.
                Err(_) => return,
            }
            (0..asked).for_each(|_| device.write_all(answer).unwrap());
        }
    });
    port
}

#[test]
fn answers_are_compared_with_those_of_the_capture() {
    let dir = Dir::new();
    let _port = answering(&dir, &[1, 2, 3]);
    let asked = frame("07");
    let compare = |second: &str| {
        let log =
            format!("0,TX,{asked}\n500,RX,01 02\n600,RX,03\n50000,TX,{asked}\n51000,RX,{second}\n");
        dir.file("log.csv", &log);
        let ended = run(&dir, &["replay", "log.csv", "--to", "serial:port", "--compare", "--json"]);
        (ended.code, ended.json()["compare"].clone())
    };
    let (code, same) = compare("01 02 03");
    assert_eq!(code, Some(0), "{same}");
    assert_eq!((&same["same_bytes"], &same["first_difference"]), (&json!(6), &Value::Null));
    let (code, other) = compare("01 07 03");
    assert_eq!(code, Some(1), "{other}");
    assert_eq!(other["first_difference"], json!({ "offset": 4, "expected": 7, "got": 2 }));
    let (code, more) = compare("01 02 03 04");
    assert_eq!((code, &more["missing_bytes"]), (Some(1), &json!(1)), "{more}");
}

#[test]
fn files_that_hold_nothing_to_play_are_told_apart() {
    let dir = Dir::new();
    let _peer = Peer::new(&dir);
    dir.file("empty.csv", "");
    dir.file("text.csv", "no capture\n");
    dir.file("robot.csv", &format!("0,RX,{}\n", frame("06")));
    for (name, wanted) in [
        ("empty.csv", "it is empty"),
        ("text.csv", "neither pcap nor pcapng"),
        ("robot.csv", "no frames of the host's side"),
        ("none.csv", "No such file"),
    ] {
        let ended = run(&dir, &["replay", name, "--to", "serial:port"]);
        assert_eq!(ended.code, Some(1), "{name}");
        assert!(ended.stderr.contains(wanted), "{name}: {ended:?}");
    }
    for wrong in [
        &["replay", "robot.csv"][..],
        &["replay", "robot.csv", "--to", "sim:"],
        &["replay", "robot.csv", "--to", "serial:port", "--speed", "0"],
    ] {
        assert_eq!(run(&dir, wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn a_dump_and_the_other_side_are_played_too() {
    let dir = Dir::new();
    let mut peer = Peer::new(&dir);
    let bytes = |content: &str| -> Vec<u8> {
        frame(content).split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    };
    let status = format!("15{}", " 00".repeat(96));
    let dump = [bytes("06"), bytes(&status), bytes(FORWARD), bytes("0D")].concat();
    fs::write(dir.join("line.bin"), dump).unwrap();
    let play = |side: &str| {
        run(&dir, &["replay", "line.bin", "--to", "serial:port", "--side", side]).ok();
    };
    play("host");
    assert_eq!(peer.contents(), ["06", "0D"].map(frame));
    play("controller");
    assert_eq!(peer.contents()[2..], [frame(&status)]);
}

#[cfg(feature = "g1")]
#[test]
fn teaching_datagrams_of_a_tap_are_played_to_a_robot_again() {
    let dir = Dir::new();
    let sim = Process::sinew(&dir, &["sim", "g1", "--teach", "127.0.0.1:0", "--json"]);
    let robot = sim.ready()["link"].as_str().unwrap().strip_prefix("udp:").unwrap().to_owned();
    let args = ["tap", "--udp", "127.0.0.1:0", &robot, "--pcapng", "tap.pcapng", "--json"];
    let mut tap = Process::sinew(&dir, &args);
    let link = tap.ready()["link"].as_str().unwrap().to_owned();
    let mut serving = sinew(&dir);
    let any = "127.0.0.1:0";
    serving.args(["serve", "--json", "--g1", &link, "--tcp", any, "--lines", any, "--http", any]);
    let mut daemon = Process::spawn(&mut serving);
    let ready = daemon.ready();
    let server = ready["lines"].as_str().unwrap();
    crate::support::await_robots(&dir, server);
    run(&dir, &["teach", "enter", "--server", server]).ok();
    run(&dir, &["teach", "exit", "--server", server]).ok();
    daemon.signal("TERM");
    daemon.wait().ok();
    tap.signal("TERM");
    tap.wait().ok();
    let report = run(&dir, &["inspect", "tap.pcapng", "--json"]).ok().json();
    assert_eq!(report["flows"][0]["protocol"], "teach", "{report}");
    assert_eq!(report["verdicts"][0]["kind"], "teaching_datagrams");
    let to = format!("udp:{robot}");
    let played = |more: &[&str]| {
        let args =
            [&["replay", "tap.pcapng", "--to", &to, "--speed", "max", "--json"], more].concat();
        run(&dir, &args).ok().json()
    };
    let shy = played(&[]);
    assert!(shy["left_out"]["moves the robot"].as_u64().unwrap() >= 1, "{shy}");
    assert!(shy["answered_bytes"].as_u64().unwrap() > 100, "{shy}");
    let bold = played(&["--confirm"]);
    assert_eq!(bold["left_out"], json!({}), "{bold}");
}

/// What of the interface moves a robot, or changes anything about it.
#[test]
fn a_log_in_a_vacuums_place_looks_alive_and_refuses_all_but_stops() {
    let dir = Dir::new();
    let sim = simulator(&dir);
    let mut tap = Process::sinew(
        &dir,
        &["tap", "port", "--symlink", "tapped", "-q", "--csv", "tap.csv", "--pcapng", "tap.pcapng"],
    );
    tap.line();
    let link = format!("serial:{}", dir.join("tapped").display());
    let (mut daemon, ready) = serve(sinew(&dir), &link, &[]);
    crate::support::await_robots(&dir, ready["lines"].as_str().unwrap());
    daemon.signal("TERM");
    daemon.wait().ok();
    tap.signal("TERM");
    tap.wait().ok();
    drop(sim);
    for name in ["tap.csv", "tap.pcapng"] {
        let link = format!("replay:{name}?speed=2&loop=1");
        let (_daemon, ready) = serve(sinew(&dir), &link, &["--record", &format!("{name}.record")]);
        let server = ready["lines"].as_str().unwrap();
        let cli = |args: &[&str]| run(&dir, &[args, &["--server", server, "--json"]].concat());
        until("a robot that is alive", || {
            let robot = cli(&["status"]).json();
            let state = &robot["state"];
            let alive = robot["link"]["state"] == "ready" && state["version"] == "SIM";
            (alive && state["battery_percent"].is_u64()).then_some(())
        });
        for command in [
            &["vacuum", "drive", "--linear", "0.1", "--for", "1s"][..],
            &["vacuum", "dock"],
            &["vacuum", "set", "vacuum", "60"],
            &["vacuum", "led", "1"],
            &["vacuum", "boot"],
            &["vacuum", "raw", "0x66", "c800000000000000", "--confirm"],
        ] {
            let ended = cli(command);
            assert_eq!(ended.code, Some(1), "{command:?}: {ended:?}");
            assert!(ended.stdout.contains("recording"), "{command:?}: {ended:?}");
        }
        cli(&["stop"]).ok();
        let robot = cli(&["status"]).json();
        assert!(robot["stopped_by"].is_string(), "{robot}");
        // It begins again at its end, and nothing was ever sent.
        let frames = || cli(&["status"]).json()["state"]["counters"]["frames"].as_u64().unwrap();
        let once = run(&dir, &["inspect", name, "--json"]).ok().json();
        let status =
            once["commands"].as_array().unwrap().iter().find(|row| row["id"] == 0x15).unwrap();
        let whole = status["count"].as_u64().unwrap();
        until("the second round", || (frames() > whole + 50).then_some(()));
        let record = fs::read_to_string(dir.join(&format!("{name}.record"))).unwrap();
        assert!(!record.contains(",TX,"), "something was sent");
    }
}

#[test]
fn a_log_that_plays_once_says_that_it_is_over() {
    let dir = Dir::new();
    let status = frame(&format!("15{}", " 00".repeat(96)));
    let rows: String = (0..50).map(|row| format!("{},RX,{status}\n", row * 9000)).collect();
    dir.file("tap.csv", &rows);
    let (_daemon, ready) = serve(sinew(&dir), "replay:tap.csv", &[]);
    let server = ready["lines"].as_str().unwrap();
    until("the end", || {
        let robot = run(&dir, &["status", "--server", server, "--json"]).json();
        robot["link"].to_string().contains("the recording is over").then_some(())
    });
    let ended = Process::sinew(&dir, &["serve", "--vacuum", "replay:none.csv"]).wait();
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("none.csv"), "{ended:?}");
    dir.file("host.csv", &log(&[(0, "06")]));
    let ended = Process::sinew(&dir, &["serve", "--vacuum", "replay:host.csv"]).wait();
    assert!(ended.stderr.contains("nothing of a controller is in it"), "{ended:?}");
}
