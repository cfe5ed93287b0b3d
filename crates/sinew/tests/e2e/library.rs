//! Motions in the library of a daemon, as files and from the command line.

use std::{
    fs,
    io::Write,
    net::Shutdown,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    clients::Lines,
    support::{DEADLINE, Dir, Ended, Process, run, until},
};

const ANY: &str = "127.0.0.1:0";

const JOINTS: [&str; 12] = [
    "left_shoulder_pitch",
    "left_shoulder_roll",
    "left_shoulder_yaw",
    "left_elbow",
    "left_wrist_roll",
    "left_wrist_pitch",
    "right_shoulder_pitch",
    "right_shoulder_roll",
    "right_shoulder_yaw",
    "right_elbow",
    "right_wrist_roll",
    "right_wrist_pitch",
];

/// A simulated robot, and a daemon with a library.
struct School {
    daemon: Process,
    lines: String,
    link: String,
    _robot: Process,
    dir: Dir,
}

impl School {
    fn open() -> Self {
        Self::with(&[])
    }

    /// The same, with more arguments for `sinew serve`.
    fn with(more: &[&str]) -> Self {
        let dir = Dir::new();
        let robot = Process::sinew(&dir, &["sim", "g1", "--json", "--teach", ANY]);
        let link = robot.ready()["link"].as_str().unwrap().to_owned();
        let (daemon, lines) = serve(&dir, &link, more);
        School { daemon, lines, link, _robot: robot, dir }
    }

    /// Another daemon on the same library, where the first was killed.
    fn restart(&mut self) {
        self.daemon.kill();
        (self.daemon, self.lines) = serve(&self.dir, &self.link, &[]);
    }

    fn library(&self) -> PathBuf {
        self.dir.join("library")
    }

    fn args<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        [&["teach"], args, &["--server", &self.lines]].concat()
    }

    fn teach(&self, args: &[&str]) -> Ended {
        self.wait_free();
        run(&self.dir, &self.args(args))
    }

    fn start(&self, args: &[&str]) -> Process {
        self.wait_free();
        Process::sinew(&self.dir, &self.args(args))
    }

    /// Plays and waits for the end, and tells how long that took.
    #[track_caller]
    fn play(&self, args: &[&str]) -> (Ended, Duration) {
        let start = Instant::now();
        loop {
            let begin = Instant::now();
            let ended = self.teach(&[&["play"], args, &["--wait"]].concat());
            let said = format!("{}{}", ended.stdout, ended.stderr);
            if !is_cut(&said) {
                return (ended.ok(), begin.elapsed());
            }
            assert!(start.elapsed() < DEADLINE, "it is cut short again and again: {ended:?}");
            wait_robots(&self.lines);
        }
    }

    #[track_caller]
    fn fails(&self, args: &[&str], code: i32, what: &str) {
        let ended = self.teach(&[args, &["--json"]].concat());
        assert_eq!(ended.code, Some(code), "{args:?}: {ended:?}");
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(said.contains(what), "{args:?}: {said}");
    }

    /// Whoever held the controls has been seen to go, which takes a moment after its end.
    fn wait_free(&self) {
        let mut observer = self.client();
        until("the controls", || {
            let robots = observer.ok(json!({ "type": "Robots" }));
            let robots = robots["robots"].as_array().unwrap();
            robots.iter().all(|robot| robot["holder"].is_null()).then_some(())
        });
    }

    fn client(&self) -> Lines {
        Lines::connect(&self.lines)
    }

    /// The robot's state as `sinew status` has it.
    fn state(&self) -> Value {
        let args = ["status", "--json", "--robot", "g1", "--server", &self.lines];
        run(&self.dir, &args).ok().json()["state"].clone()
    }

    /// As the daemon knows it, or as the robot's last status says.
    fn is_playing(&self) -> bool {
        let state = self.state();
        !state["playing"].is_null() || state["mode"] == 3
    }

    /// A command line that plays, when the arms have begun to move.
    fn player(&self, args: &[&str]) -> Process {
        let before = pose(&self.state());
        let mut player = self.start(args);
        until("a motion", || {
            let state = self.state();
            if is_cut(&player.errors()) {
                wait_robots(&self.lines);
                player = self.start(args);
            }
            let moved = state["positions"].is_object() && distance(&before, &pose(&state)) > 0.02;
            (moved && !state["playing"].is_null()).then_some(())
        });
        player
    }

    /// The arms hold within so long, and go on holding.
    #[track_caller]
    fn holds_within(&self, patience: Duration) {
        let begin = Instant::now();
        while self.is_playing() {
            assert!(begin.elapsed() < patience, "plays on: {}", self.state());
            thread::sleep(Duration::from_millis(10));
        }
        let held = pose(&self.state());
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(500) {
            let state = self.state();
            assert!(state["playing"].is_null(), "{state}");
            assert!(distance(&held, &pose(&state)) < 1e-6, "moves: {held:?} {state}");
        }
    }

    fn motions(&self) -> Vec<String> {
        let list = self.teach(&["list", "--json"]).ok().json();
        assert_eq!(list["problems"], json!([]), "{list}");
        names(&list["library"])
    }

    /// Imports a motion of one joint that swings, as a file of the test's.
    fn import(&self, name: &str, frames: usize, step_ms: usize) {
        let file = self.dir.file("made.json", &swinging(name, frames, step_ms).to_string());
        self.teach(&["import", &file]).ok();
    }
}

fn serve(dir: &Dir, link: &str, more: &[&str]) -> (Process, String) {
    let args = ["serve", "--json", "--g1", link, "--tcp", "off", "--http", "off", "--lines", ANY];
    let library = dir.join("library").display().to_string();
    let daemon = Process::sinew(dir, &[&args[..], &["--library", &library], more].concat());
    let lines = daemon.ready()["lines"].as_str().unwrap().to_owned();
    wait_robots(&lines);
    (daemon, lines)
}

/// All robots are there, and the G1 has told its pose.
fn wait_robots(lines: &str) {
    let mut client = Lines::connect(lines);
    until("the robots", || {
        let robots = client.ok(json!({ "type": "Robots" }));
        let is_there = |robot: &Value| {
            let link = &robot["link"]["state"];
            link == "ready" && (robot["kind"] != "g1" || robot["state"]["positions"].is_object())
        };
        robots["robots"].as_array().unwrap().iter().all(is_there).then_some(())
    });
}

/// Whether a play ended for want of a robot: a machine that is busy elsewhere may silence it for
/// 200 ms, which counts as a link that is lost.
fn is_cut(said: &str) -> bool {
    let reasons = ["the link was lost", "link to the robot was lost", "link_lost", "tell its pose"];
    reasons.iter().any(|why| said.contains(why))
}

fn names(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap();
    list.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

fn pose(state: &Value) -> Vec<f64> {
    let joints = sinew_robot::trajectory::G1_ARMS.joints.iter();
    joints.map(|joint| state["positions"][joint.name].as_f64().unwrap()).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn swinging(name: &str, frames: usize, step_ms: usize) -> Value {
    let frame = |index: usize| {
        let mut row = vec![json!(index * step_ms)];
        row.extend(JOINTS.map(|_| json!(0.125)));
        let swing = 0.5 * ((index * step_ms) as f64 / 1000.0).sin();
        row[4] = json!((swing * 1000.0).round() / 1000.0);
        Value::from(row)
    };
    let frames: Vec<_> = (0..frames).map(frame).collect();
    json!({ "version": 1, "name": name, "created": 1_700_000_000, "joints": JOINTS,
            "frames": frames, "keyframes": [] })
}

/// Numbers are the same however they are written.
fn rows(document: &Value) -> Vec<Vec<f64>> {
    let row =
        |row: &Value| row.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    document["frames"].as_array().unwrap().iter().map(row).collect()
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_recording_is_a_readable_file_and_survives_the_daemon() {
    let mut school = School::open();
    school.teach(&["enter"]).ok();
    let saved = school.teach(&["record", "wave", "--for", "1s", "--json"]).ok().json();
    assert_eq!(saved["library"], true, "{saved}");
    school.teach(&["save", "again", "--library"]).ok();
    let file = read(&school.library().join("wave.json"));
    assert_eq!((&file["version"], &file["name"]), (&json!(1), &json!("wave")));
    assert_eq!(file["joints"], json!(JOINTS));
    assert_eq!(rows(&file).len() as u64, saved["frames"].as_u64().unwrap());
    assert_eq!(file["keyframes"].as_array().unwrap().len() as u64, saved["keyframes"]);
    // Somebody may read it: a line per frame.
    let text = fs::read_to_string(school.library().join("wave.json")).unwrap();
    assert!(text.lines().count() > rows(&file).len());

    school.restart();
    assert_eq!(school.motions(), ["again", "wave"]);
    let shown = school.teach(&["show", "wave", "--json"]).ok().json();
    assert_eq!(rows(&shown), rows(&file));
    let listed = school.teach(&["list"]).ok().stdout;
    assert!(listed.contains("robot, library"), "{listed}");
}

/// What was acknowledged is there, and what is there is whole, wherever the daemon is killed.
#[test]
fn nothing_acknowledged_is_lost_when_the_daemon_is_killed() {
    let mut school = School::open();
    let mut kept: Vec<String> = Vec::new();
    for round in 0..4 {
        let mut client = school.client();
        let mut tell = move |message: Value| {
            let text = format!("{message}\n");
            client.socket.write_all(text.as_bytes()).ok()?;
            client.try_next_or_end()
        };
        let teach = |op: &str| json!({ "type": "Teach", "op": op, "req": 1 });
        for op in ["enter", "record_start"] {
            assert_eq!(tell(teach(op)).unwrap()["ok"], true);
        }
        until("frames", || (school.state()["recorded_frames"].as_u64()? > 10).then_some(()));
        assert_eq!(tell(teach("record_stop")).unwrap()["ok"], true);
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let writer = thread::spawn(move || {
            let mut acknowledged = Vec::new();
            for number in 0..200 {
                let name = format!("r{round}n{number}");
                let document = swinging(&name, 200, 20);
                let answer = tell(match number % 2 {
                    0 => json!({ "type": "Teach", "op": "import", "document": document, "req": 2 }),
                    _ => json!({ "type": "Teach", "op": "save", "name": name, "library": true,
                                 "req": 2 }),
                });
                match answer {
                    Some(answer) => assert_eq!(answer["ok"], true, "{answer}"),
                    None => break,
                }
                acknowledged.push(name);
                counted.fetch_add(1, Ordering::SeqCst);
            }
            acknowledged
        });
        // Somewhere in the middle of the next ones.
        until("some of them", || (count.load(Ordering::SeqCst) >= 5 + round).then_some(()));
        school.restart();
        let acknowledged = writer.join().unwrap();
        assert!(acknowledged.len() < 200, "it was killed too late");
        kept.extend(acknowledged);
        let there = school.motions();
        let lost: Vec<_> = kept.iter().filter(|name| !there.contains(name)).collect();
        assert!(lost.is_empty(), "{lost:?} of {kept:?}");
        for name in &there {
            let file = read(&school.library().join(format!("{name}.json")));
            assert!(rows(&file).len() > 10, "{name}");
        }
    }
    // One that was being written is the most that is left behind by each.
    let files = fs::read_dir(school.library()).unwrap().map(|entry| entry.unwrap().file_name());
    let others: Vec<_> = files.filter(|name| !name.to_str().unwrap().ends_with(".json")).collect();
    assert!(others.len() <= 4, "{others:?}");
}

impl Lines {
    /// The next message; none when the daemon was killed.
    fn try_next_or_end(&mut self) -> Option<Value> {
        use std::io::Read;
        self.socket.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut line = Vec::new();
        let mut byte = [0];
        while self.socket.read_exact(&mut byte).is_ok() {
            if byte[0] == b'\n' {
                return Some(serde_json::from_slice(&line).unwrap());
            }
            line.push(byte[0]);
        }
        None
    }
}

#[test]
fn an_import_that_the_daemons_end_cut_off_may_be_made_again() {
    let mut school = School::open();
    let mut client = school.client();
    let whole = swinging("long", 400, 20);
    let mut part = whole.clone();
    part["frames"].as_array_mut().unwrap().truncate(200);
    client.ok(json!({ "type": "Teach", "op": "import", "document": part, "more": true }));
    school.restart();
    assert_eq!(school.motions(), [""; 0]);
    let file = school.dir.file("long.json", &whole.to_string());
    school.teach(&["import", &file]).ok();
    let shown = school.teach(&["show", "long", "--json"]).ok().json();
    assert_eq!(rows(&shown), rows(&whole));
}

#[test]
fn motions_go_to_files_and_come_back_the_same() {
    let school = School::open();
    school.teach(&["enter"]).ok();
    school.teach(&["record", "wave", "--for", "500ms"]).ok();
    school.teach(&["exit"]).ok();
    let own = read(&school.library().join("wave.json"));
    for (file, keyframes) in [("wave.json", true), ("wave.csv", false)] {
        let path = school.dir.join(file).display().to_string();
        school.teach(&["export", "wave", &path]).ok();
        let name = format!("back from {file}");
        let said = school.teach(&["import", &path, "--name", &name, "--json"]).ok().json();
        assert_eq!(said["name"], name.as_str());
        assert_eq!(said["frames"], rows(&own).len());
        let shown = school.teach(&["show", &name, "--json"]).ok().json();
        assert_eq!(rows(&shown), rows(&own), "{file}");
        if keyframes {
            assert_eq!(shown["keyframes"], own["keyframes"]);
            assert_eq!(shown["created"], own["created"]);
        }
        // What is there is not written over, unless that is wanted.
        let before = fs::read_to_string(&path).unwrap();
        school.fails(&["export", "wave", &path], 1, "--force");
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        fs::write(&path, "x".repeat(2 * before.len())).unwrap();
        school.teach(&["export", "wave", &path, "--force"]).ok();
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
    }
    // Standard output has the same, and the format does not depend on the name alone.
    let printed = school.teach(&["export", "wave", "-"]).ok().json();
    assert_eq!(rows(&printed), rows(&own));
    let printed = school.teach(&["export", "wave", "--format", "csv"]).ok().stdout;
    assert_eq!(printed, fs::read_to_string(school.dir.join("wave.csv")).unwrap());
    let picture = school.dir.join("wave.svg").display().to_string();
    school.teach(&["export", "wave", &picture]).ok();
    assert!(fs::read_to_string(&picture).unwrap().starts_with("<svg"));
    let plot = school.teach(&["show", "wave"]).ok().stdout;
    assert!(JOINTS.iter().all(|joint| plot.contains(joint)), "{plot}");
}

/// A picture is a file like any other.
#[test]
fn a_picture_is_not_written_over_what_is_there() {
    let school = School::open();
    school.import("swing", 50, 20);
    let file = school.dir.file("precious.txt", "all my notes");
    school.fails(&["show", "swing", "--svg", &file], 1, "precious.txt");
    assert_eq!(fs::read_to_string(&file).unwrap(), "all my notes");
}

#[test]
fn a_motion_of_unitrees_is_imported() {
    let school = School::open();
    // Left arm 15 to 21, right arm 22 to 28; in fifteenths of a radian, to know them again.
    let frame = |index: usize| {
        let cells: Vec<_> =
            (0..14).map(|part| format!("{}", (part + index) as f64 / 16.0)).collect();
        format!("      - [{}]\n", cells.join(", "))
    };
    let text = format!(
        "name: test\nframe_rate: 50\ncomponents:\n\
         \x20 - content: Other\n    num_frames: 1\n    num_parts: 2\n    frames:\n      - [nan, nan]\n\
         \x20 - content: JointDisplacement\n    num_frames: 3\n    num_parts: 14\n    frames:\n{}{}{}",
        frame(0),
        frame(1),
        frame(2)
    );
    let file = school.dir.file("nod.seq", &text);
    let said = school.teach(&["import", &file, "--json"]).ok().json();
    assert_eq!((&said["name"], &said["frames"]), (&json!("nod"), &json!(3)));
    assert_eq!(said["duration_ms"], 40);
    let dropped = said["dropped"].as_array().unwrap();
    assert_eq!(dropped.len(), 2, "{said}");
    assert!(dropped.iter().all(|name| name.as_str().unwrap().contains("wrist_yaw")), "{said}");
    let shown = school.teach(&["show", "nod", "--json"]).ok().json();
    let wanted: Vec<Vec<f64>> = (0..3)
        .map(|index| {
            let parts = (0..14).filter(|part| ![6, 13].contains(part));
            let values = parts.map(|part| (part + index) as f64 / 16.0);
            [20.0 * index as f64].into_iter().chain(values).collect()
        })
        .collect();
    assert_eq!(rows(&shown), wanted);
    // By what it is, where its name does not say; cut off, it is none.
    let other = school.dir.file("nod.txt", &text);
    school.fails(&["import", &other, "--name", "other"], 1, "--format");
    school.teach(&["import", &other, "--name", "other", "--format", "seq"]).ok();
    let cut = school.dir.file("cut.seq", text.trim_end().rsplit_once('\n').unwrap().0);
    school.fails(&["import", &cut], 1, "num_frames");
    assert_eq!(school.motions(), ["nod", "other"]);
    let (arms, _) = school.play(&["nod"]);
    assert!(arms.stderr.contains("pieces"), "{arms:?}");
}

#[test]
fn a_motion_longer_than_any_action_is_played_in_pieces() {
    let school = School::open();
    // 72 seconds in 1,201 frames.
    school.import("long", 1201, 60);
    let shown = school.teach(&["show", "long", "--json"]).ok().json();
    assert_eq!(rows(&shown).len(), 1201);
    assert_eq!(shown["duration_ms"], 72_000);
    let played = school.teach(&["play", "long", "--no-wait", "--json"]).ok().json();
    assert!(played["duration_ms"].as_u64() >= Some(72_000), "{played}");
    assert!(played["pieces"].as_u64() >= Some(5), "{played}");
    assert!(played["error_rad"].as_f64() < Some(0.1), "{played}");
    until("playback", || school.is_playing().then_some(()));
    school.teach(&["stop"]).ok();
    school.holds_within(Duration::from_secs(2));
    // A part of it to the end, several pieces of it.
    let (ended, _) = school.play(&["long", "--frames", "100", "--speed", "4", "--json"]);
    let said: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[1]["event"], "play_ended");
    let wanted = 0.5 * (99.0_f64 * 0.06).sin();
    let elbow = pose(&school.state())[3];
    assert!((elbow - wanted).abs() < 0.1, "wanted {wanted}, got {elbow}");
}

#[test]
fn waiting_ends_with_the_motion() {
    let school = School::open();
    school.import("swing", 76, 20);
    let (ended, took) = school.play(&["swing"]);
    assert!(took >= Duration::from_millis(1500), "{took:?}: {ended:?}");
    let state = school.state();
    assert_eq!(state["playing"], Value::Null);
    let wanted = [&[0.125; 3][..], &[0.5 * 1.5_f64.sin()], &[0.125; 8]].concat();
    assert!(distance(&pose(&state), &wanted) < 0.05, "wanted {wanted:?}, got {state}");
    // Without it there is no waiting, where nobody looks on.
    let begin = Instant::now();
    school.teach(&["play", "swing"]).ok();
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert!(school.is_playing());
    school.teach(&["stop"]).ok();
}

/// It is the G1 that is waited for, not whatever else the daemon has.
#[test]
fn waiting_ends_with_the_motion_beside_a_vacuum() {
    let school = School::with(&["--vacuum", "sim:"]);
    school.import("swing", 76, 20);
    let (ended, took) = school.play(&["swing"]);
    assert!(took >= Duration::from_millis(1500), "{took:?}: {ended:?}");
    assert!(!school.is_playing());
}

#[test]
fn ctrl_c_stops_the_robot() {
    let school = School::open();
    school.import("swing", 1000, 20);
    for (args, signal) in [
        (&["play", "swing", "--wait"][..], "INT"),
        (&["play", "swing", "--wait"], "TERM"),
        (&["play", "swing", "--loop"], "INT"),
    ] {
        let mut player = school.player(args);
        player.signal(signal);
        let ended = player.wait();
        assert!(ended.code.is_some(), "{args:?}: {ended:?}");
        school.holds_within(Duration::from_millis(500));
    }
}

#[test]
fn a_loop_ends_with_the_client_that_is_killed() {
    let school = School::open();
    school.import("swing", 100, 20);
    let mut player = school.player(&["play", "swing", "--loop"]);
    player.kill();
    school.holds_within(Duration::from_secs(2));
    // Also when it is killed before it was answered.
    for _ in 0..5 {
        school.wait_free();
        let mut client = school.client();
        client.send(r#"{"type":"Teach","op":"play","name":"swing","loop":true}"#);
        client.socket.shutdown(Shutdown::Write).unwrap();
        while client.try_next().is_some() {}
        drop(client);
        school.holds_within(Duration::from_secs(2));
    }
    // What has an end goes on to it.
    let mut player = school.player(&["play", "swing", "--wait"]);
    player.kill();
    assert!(school.is_playing());
    school.teach(&["stop"]).ok();
    school.holds_within(Duration::from_secs(2));
}

#[test]
fn any_name_is_a_file_in_the_library_and_nowhere_else() {
    let school = School::open();
    let longest = "ж".repeat(15);
    let all = [
        "../x",
        "/etc/passwd",
        ".",
        "..",
        "a b",
        "Größe",
        "波",
        &longest,
        "-",
        "x.json",
        "%2E",
        "CON",
        "7",
    ];
    for name in all {
        let file = school.dir.file("made.json", &swinging("whatever", 10, 20).to_string());
        school.teach(&["import", &file, &format!("--name={name}")]).ok();
    }
    let mut sorted = all;
    sorted.sort_unstable();
    assert_eq!(school.motions(), sorted);
    assert_eq!(fs::read_dir(school.library()).unwrap().count(), all.len());
    assert!(school.library().join("%2E%2E%2Fx.json").exists());
    // Nothing came to be beside the library: it, the file that was imported.
    let mut beside: Vec<_> = fs::read_dir(school.library().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    beside.sort();
    assert_eq!(beside, ["library", "made.json"]);
    assert_eq!(school.teach(&["list"]).ok().stdout.lines().count(), all.len());
    for name in ["../x", "波", &longest] {
        school.teach(&["show", name]).ok();
        school.teach(&["delete", name]).ok();
        school.fails(&["show", name], 1, "not_found");
    }
    // A number is the robot's, and the library's where it is asked.
    school.fails(&["delete", "7"], 1, "unsupported");
    school.teach(&["delete", "7", "--library"]).ok();
    for name in ["ж".repeat(16), "n".repeat(32), String::new()] {
        let file = school.dir.file("made.json", &swinging("whatever", 10, 20).to_string());
        school.fails(&["import", &file, "--name", &name], 1, "invalid_argument");
    }
}

/// What moves a cursor, ends a line or turns the direction of writing.
const UNSHOWABLE: [char; 10] = [
    '\u{1b}', '\u{7}', '\u{85}', '\u{9b}', '\u{61c}', '\u{200f}', '\u{2028}', '\u{202e}',
    '\u{2066}', '\u{2069}',
];

#[track_caller]
fn is_shown(ended: &Ended) {
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!said.contains(UNSHOWABLE), "{said:?}");
}

#[test]
fn new_names_hold_nothing_that_cannot_be_shown() {
    let school = School::open();
    school.import("swing", 10, 20);
    let file = school.dir.file("made.json", &swinging("whatever", 10, 20).to_string());
    for c in UNSHOWABLE {
        let name = format!("ab{c}cd");
        for args in [
            &["import", &file, "--name", &name][..],
            &["rename", "swing", &name, "--library"],
            &["save", &name],
            &["save", &name, "--library"],
            &["record", &name],
        ] {
            let ended = school.teach(&[args, &["--json"]].concat());
            assert_eq!(ended.code, Some(1), "{args:?}: {ended:?}");
            assert_eq!(ended.json()["error"]["code"], "invalid_argument", "{args:?}");
            is_shown(&ended);
        }
    }
    assert_eq!(school.motions(), ["swing"]);
}

/// They came by other ways than ours: a terminal is told them, not moved by them.
#[test]
fn names_that_are_there_already_are_listed_played_and_deleted() {
    let dir = Dir::new();
    let kept: Vec<_> = UNSHOWABLE.iter().map(|c| format!("robot{c}cd")).collect();
    let keyframes = json!([{ "joint": 18, "time_ms": 300, "value": 0.1 }]);
    let actions: Vec<_> = kept
        .iter()
        .map(|name| {
            json!({ "name": name, "saved_at": 1, "duration_ms": 300, "frames": 2, "flags": 1,
                    "motion": { "keyframes": keyframes } })
        })
        .collect();
    let store = dir.join("store");
    fs::create_dir(&store).unwrap();
    fs::write(store.join("actions.json"), Value::from(actions).to_string()).unwrap();
    let store = store.display().to_string();
    let robot = Process::sinew(&dir, &["sim", "g1", "--json", "--teach", ANY, "--store", &store]);
    let link = robot.ready()["link"].as_str().unwrap().to_owned();
    let (daemon, lines) = serve(&dir, &link, &[]);
    let school = School { daemon, lines, link, _robot: robot, dir };
    fs::create_dir_all(school.library()).unwrap();
    let mut motions: Vec<_> = UNSHOWABLE.iter().map(|c| format!("file{c}cd")).collect();
    for name in &motions {
        let escape = |byte: u8| match byte {
            b'a'..=b'z' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        };
        let file: String = name.bytes().map(escape).collect();
        let path = school.library().join(format!("{file}.json"));
        fs::write(path, swinging(name, 10, 20).to_string()).unwrap();
    }
    motions.sort_unstable();
    let listed = school.teach(&["list"]).ok();
    is_shown(&listed);
    assert_eq!(listed.stdout.lines().count(), 2 * UNSHOWABLE.len(), "{}", listed.stdout);
    let listed = school.teach(&["list", "--json"]).ok();
    is_shown(&listed);
    assert_eq!(names(&listed.json()["actions"]), kept, "programs get them as they are");
    assert_eq!(names(&listed.json()["library"]), motions);
    for name in &kept {
        let (played, _) = school.play(&[name]);
        is_shown(&played);
        is_shown(&school.teach(&["delete", name]));
    }
    for name in motions.iter().take(3) {
        let (played, _) = school.play(&[name, "--json"]);
        is_shown(&played);
        is_shown(&school.teach(&["show", name]).ok());
        is_shown(&school.teach(&["show", name, "--json"]).ok());
        is_shown(&school.teach(&["export", name]).ok());
    }
    for name in &motions {
        is_shown(&school.teach(&["delete", name]).ok());
        let ended = school.teach(&["show", name]);
        assert!(ended.stderr.contains("no motion is called"), "{ended:?}");
        is_shown(&ended);
    }
    assert_eq!(school.motions(), [""; 0]);
}

/// Files come from anywhere, and what they say is shown to somebody.
#[test]
fn what_a_file_says_moves_no_cursor() {
    let school = School::open();
    let mut document = swinging("swing", 2, 20);
    document["joints"].as_array_mut().unwrap().push("\u{1b}]0;owned\u{7}".into());
    for frame in document["frames"].as_array_mut().unwrap() {
        frame.as_array_mut().unwrap().push(0.into());
    }
    let file = school.dir.file("evil.json", &document.to_string());
    let said = school.teach(&["import", &file]).ok().stderr;
    assert!(said.contains("owned"), "{said:?}");
    assert!(!said.contains(['\u{1b}', '\u{7}']), "{said:?}");
}

#[test]
fn what_cannot_be_done_is_said_and_told_by_the_exit_code() {
    let school = School::open();
    school.import("swing", 50, 20);
    let swing = read(&school.library().join("swing.json"));
    let garbage = school.dir.file("garbage.json", "{\"version\": 1, \"name\": ");
    let binary = school.dir.join("binary.json");
    fs::write(&binary, [0xFF, 0xFE, 0x00]).unwrap();
    let binary = binary.display().to_string();
    let table = school.dir.file("table.csv", "time_ms,left_elbow\n0,1\n");
    let words = school.dir.file("words.seq", "once upon a time\n");
    let empty = school.dir.file("empty.json", &swinging("empty", 0, 20).to_string());
    let taken = school.dir.file("taken.json", &swinging("swing", 9, 20).to_string());
    let out = school.dir.join("out.json").display().to_string();
    let nowhere = school.dir.join("no/such/out.json").display().to_string();
    for (args, code, what) in [
        (&["import", "nothing.json"][..], 1, "nothing.json"),
        (&["import", "nothing"], 1, "--format"),
        (&["import", &garbage], 1, "garbage.json"),
        (&["import", &binary], 1, "binary.json"),
        (&["import", &table], 1, "table.csv"),
        (&["import", &words], 1, "words.seq"),
        (&["import", &garbage, "--format", "seq"], 1, "garbage.json"),
        (&["import", &garbage, "--format", "png"], 2, "png"),
        (&["import"], 2, "FILE"),
        (&["import", &empty], 1, "invalid_argument"),
        (&["import", &taken], 1, "refused"),
        (&["export", "nobody", &out], 1, "not_found"),
        (&["export", "swing", &nowhere], 1, "out.json"),
        (&["export", "swing", &out, "--format", "seq"], 2, "seq"),
        (&["show", "nobody"], 1, "not_found"),
        (&["play", "nobody"], 1, "not_found"),
        (&["play", "nobody", "--library"], 1, "not_found"),
        (&["play", "nobody", "--loop"], 1, "not_found"),
        (&["play", "swing", "--speed", "9"], 1, "invalid_argument"),
        (&["play", "swing", "--speed", "0"], 1, "invalid_argument"),
        (&["play", "swing", "--speed", "fast"], 2, "fast"),
        (&["play", "swing", "--speed", "2", "--duration-ms", "500"], 2, "--duration-ms"),
        (&["rename", "nobody", "x", "--library"], 1, "not_found"),
        (&["rename", "swing", "swing", "--library"], 1, "refused"),
        (&["delete", "nobody", "--library"], 1, "not_found"),
        (&["save", "x", "--library"], 1, "not_ready"),
        (&["save", "x", "--library", "--loop"], 2, "--loop"),
    ] {
        school.fails(args, code, what);
    }
    assert!(!fs::exists(&out).unwrap(), "an export that failed left a file");
    assert_eq!(school.motions(), ["swing"]);
    assert_eq!(read(&school.library().join("swing.json")), swing);
    assert!(!school.is_playing());
    // Files that others put there are no motions, and said so.
    fs::write(school.library().join("broken.json"), "{").unwrap();
    fs::write(school.library().join("not a name.json"), "{}").unwrap();
    fs::create_dir(school.library().join("dir.json")).unwrap();
    let list = school.teach(&["list", "--json"]).ok().json();
    assert_eq!(names(&list["library"]), ["swing"]);
    assert_eq!(list["problems"].as_array().unwrap().len(), 3, "{list}");
    let listed = school.teach(&["list"]).ok();
    assert_eq!(listed.stdout.lines().count(), 1, "{listed:?}");
    for file in ["broken.json", "not a name.json"] {
        assert!(listed.stderr.contains(file), "{listed:?}");
    }
    school.fails(&["play", "broken"], 1, "not_found");
    school.fails(&["play", "broken", "--library"], 1, "broken.json");
}

/// A speed that is no number is not as good as none.
#[test]
fn a_speed_that_is_no_number_is_refused() {
    let school = School::open();
    school.import("swing", 50, 20);
    for speed in ["nan", "inf", "1e39"] {
        let ended = school.teach(&["play", "swing", "--speed", speed]);
        assert_ne!(ended.code, Some(0), "{speed}: {ended:?}");
        assert!(!school.is_playing(), "{speed}");
    }
}

#[test]
fn json_is_a_document_a_line() {
    let school = School::open();
    school.import("swing", 30, 20);
    let file = school.dir.file("other.json", &swinging("other", 30, 20).to_string());
    for args in [
        &["list"][..],
        &["enter"],
        &["record", "wave", "--for", "300ms"],
        &["save", "more", "--library"],
        &["exit"],
        &["show", "wave"],
        &["import", &file],
        &["import", &file],
        &["play", "other", "--wait"],
        &["play", "nobody"],
        &["rename", "other", "another"],
        &["delete", "another"],
        &["delete", "another"],
        &["stop"],
    ] {
        let ended = school.teach(&[args, &["--json"]].concat());
        assert!(ended.stdout.lines().count() > 0, "{args:?}: {ended:?}");
        for line in ended.stdout.lines() {
            let said: Result<Value, _> = serde_json::from_str(line);
            assert!(said.is_ok_and(|said| said.is_object()), "{args:?}: {ended:?}");
        }
        let failed = ended.stdout.contains("\"ok\":false");
        assert_eq!(failed, ended.code != Some(0), "{args:?}: {ended:?}");
    }
}

#[test]
fn an_exported_document_is_a_line_where_json_was_asked_for() {
    let school = School::open();
    school.import("swing", 30, 20);
    let ended = school.teach(&["export", "swing", "--json"]).ok();
    assert_eq!(ended.stdout.lines().count(), 1, "{:.80}", ended.stdout);
}

#[test]
fn two_daemons_may_share_a_library() {
    let school = School::open();
    let (other, lines) = serve(&school.dir, &school.link, &[]);
    let mut clients = [school.client(), Lines::connect(&lines)];
    // The same names at the same time: each of them is one's.
    let mut won = [0, 0];
    for number in 0..10 {
        let name = format!("n{number}");
        let answers = thread::scope(|scope| {
            let asked: Vec<_> = clients
                .iter_mut()
                .zip([100, 200])
                .map(|(client, frames)| {
                    let document = swinging(&name, frames, 20);
                    scope.spawn(move || {
                        client.ask(json!({ "type": "Teach", "op": "import",
                                           "document": document }))
                    })
                })
                .collect();
            asked.into_iter().map(|asked| asked.join().unwrap()).collect::<Vec<_>>()
        });
        let winner = answers.iter().position(|answer| answer["ok"] == true).unwrap();
        won[winner] += 1;
        let loser = &answers[1 - winner];
        assert_eq!(loser["error"]["code"], "refused", "{loser}");
        let file = read(&school.library().join(format!("{name}.json")));
        assert_eq!(rows(&file).len(), [100, 200][winner]);
    }
    assert_eq!(won[0] + won[1], 10);
    let list = clients.map(|mut client| client.ok(json!({ "type": "Teach", "op": "library" })));
    assert_eq!(names(&list[0]["motions"]).len(), 10);
    assert_eq!(list[0], list[1]);
    drop(other);
}
