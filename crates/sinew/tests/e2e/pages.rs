//! The commands that README and docs show work, as they stand there, in their order.
//!
//! Each page has a network namespace to itself, so that default ports are free and discovery stays
//! on loopback, and a home directory of its own. What is shown as `console` is for another build than the default one, or
//! for two robots at a time, and has tests of its own.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    namespace::inside,
    support::{Dir, Process, sinew, until},
};

/// What a command of a page is tried with instead: hardware that is not here, and a place of ours.
const INSTEAD: &[(&str, &str)] = &[
    ("serial:/dev/ttyS3", "serial:port"),
    (" --lidar serial:/dev/ttyS1", ""),
    ("/tmp/vacuum", "vacuum"),
    ("webrtc:192.168.86.3", "webrtc:127.0.0.1"),
    // No broker: the robots are served all the same.
    ("mqtt://192.168.1.2", "mqtt://127.0.0.1"),
];
/// Commands that are shown and not run, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("sudo ", "changes the system; the service's own tests write it elsewhere"),
    ("alias ", "names the binary"),
    ("cargo ", "is the developer's"),
    ("sinew demo", "runs already where a page needs it"),
];
/// Commands that last until they are interrupted.
const LASTING: &[&str] = &["serve", "sim", "watch", "take"];
/// Commands of which a page may show one that tells of something wrong.
const MAY_FAIL: &[&str] = &["doctor"];

struct Page {
    dir: Dir,
    /// The vacuum of pages that have a port in them, and the G1 of those that have its address.
    _robots: [Process; 2],
    /// A daemon with simulated robots, unless the page starts its own.
    demo: Option<Process>,
    /// What the page started and did not end, by its verb.
    running: Vec<(String, Process)>,
}

impl Page {
    fn open() -> Self {
        let dir = Dir::new();
        let bin = dir.join("bin");
        fs::create_dir(&bin).unwrap();
        symlink(sinew(&dir).get_program(), bin.join("sinew")).unwrap();
        fs::write(dir.join("serial.bin"), vector("gd32.json", "frame")).unwrap();
        fs::write(dir.join("cloud.bin"), vector("slam.json", "message")).unwrap();
        fs::write(dir.join("motion.seq"), motion()).unwrap();
        fs::write(dir.join("broker.password"), "secret\n").unwrap();
        let vacuum = ["sim", "vacuum", "--symlink", "port", "--json"];
        // A real one's port, which is free in a namespace.
        let g1 = ["sim", "g1", "--teach", "127.0.0.1:0", "--webrtc", "127.0.0.1:9991", "--json"];
        let robots = [Process::sinew(&dir, &vacuum), Process::sinew(&dir, &g1)];
        robots.iter().for_each(|robot| drop(robot.ready()));
        Page { dir, _robots: robots, demo: None, running: Vec::new() }
    }

    /// Has a shell run a line of the page.
    fn spawn(&self, line: &str) -> Process {
        let path = format!("{}:{}", self.dir.join("bin").display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        let home = self.dir.join("");
        shell.args(["-c", &format!("exec {line}")]).current_dir(&home);
        shell.env("PATH", path).env("HOME", &home).env("XDG_DATA_HOME", &home);
        Process::spawn(&mut shell)
    }

    /// Starts robots and a daemon, unless there are some.
    fn begin_demo(&mut self) {
        if self.demo.is_none() && !self.running.iter_mut().any(|(_, process)| process.is_running())
        {
            // The library of `serve`, so that what a page taught before is there.
            let demo = self.spawn("sinew demo --json --library sinew/motions");
            demo.ready();
            self.demo = Some(demo);
            self.await_robots();
        }
    }

    fn await_robots(&self) {
        until("robots that are ready", || {
            let robots = self.spawn("sinew robots --json").wait();
            let robots: Value = serde_json::from_str(robots.stdout.trim()).ok()?;
            let is_ready = |robot: &Value| {
                ["ready", "ended"].map(Value::from).contains(&robot["link"]["state"])
            };
            robots.as_array()?.iter().all(is_ready).then_some(())
        });
    }

    fn run(&mut self, shown: &str) {
        let line = INSTEAD.iter().fold(shown.to_owned(), |line, (a, b)| line.replace(a, b));
        let verb = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
        let is_daemon = ["serve", "sim"].contains(&verb.as_str());
        if is_daemon {
            self.demo = None;
            // Shown in place of the one before.
            self.end(|other| other == verb);
        } else {
            self.begin_demo();
        }
        let mut process = self.spawn(&line);
        if !LASTING.contains(&verb.as_str()) {
            let ended = process.wait();
            let may_fail = MAY_FAIL.contains(&verb.as_str());
            assert!(ended.code == Some(0) || may_fail, "{shown}: {ended:?}");
        } else if is_daemon {
            let _ = process.line();
            let serves = verb == "serve";
            self.running.push((verb, process));
            if serves {
                self.await_robots();
            }
        } else {
            until("a word", || (process.has_said()).then_some(()));
            process.signal("INT");
            process.wait().ok();
        }
    }

    /// Ends what the page has started by this verb, the latest first.
    fn end(&mut self, is_meant: impl Fn(&str) -> bool) {
        for (_, process) in self
            .running
            .extract_if(.., |(verb, _)| is_meant(verb))
            .collect::<Vec<_>>()
            .iter_mut()
            .rev()
        {
            process.signal("TERM");
            process.wait().ok();
        }
    }
}

/// Runs what a page shows.
fn walk(path: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(path)).unwrap();
    let mut page = Page::open();
    let mut count = 0;
    for block in blocks(&text) {
        for line in commands(&block) {
            eprintln!("{path}: {line}");
            page.run(&line);
            count += 1;
        }
        page.end(|_| true);
    }
    assert!(count > 0, "{path} shows no command");
}

/// The shell's blocks of a page.
fn blocks(text: &str) -> Vec<String> {
    text.split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .map(Into::into)
        .collect()
}

/// The commands of a block that can be run here, without their comments.
fn commands(block: &str) -> Vec<String> {
    let bare = |line: &str| line.split(" #").next().unwrap_or_default().trim().to_owned();
    let is_run = |line: &String| {
        line.contains("sinew ") && LEFT_OUT.iter().all(|(start, _)| !line.starts_with(start))
    };
    let lines = block.lines().map(bare).filter(|line| !line.starts_with('#'));
    lines
        .flat_map(|line| line.split("; ").map(str::to_owned).collect::<Vec<_>>())
        .filter(is_run)
        .collect()
}

/// The first bytes of a vector file.
fn vector(file: &str, member: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(file);
    let vectors: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let hex = vectors[0][member].as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// A motion in Unitree's format: fourteen joints, 500 frames a second.
fn motion() -> String {
    let head = "type: CompositeSeq\ncontent: BodyMotion\nformat_version: 4\nframe_rate: 500\n\
                num_frames: 250\ncomponents:\n  -\n    type: MultiValueSeq\n    \
                content: JointDisplacement\n    frame_rate: 500\n    num_frames: 250\n    \
                num_parts: 14\n    frames:\n";
    let frame = |number: i32| {
        let joints = vec![format!("{:.4}", f64::from(number) / 1000.0); 14];
        format!("      - [ {} ]\n", joints.join(", "))
    };
    head.to_owned() + &(0..250).map(frame).collect::<String>()
}

#[test]
fn the_readme() {
    inside("pages::the_readme", || walk("README.md"));
}

#[test]
fn a_vacuum() {
    inside("pages::a_vacuum", || walk("docs/vacuum.md"));
}

#[test]
fn teaching() {
    inside("pages::teaching", || walk("docs/teach.md"));
}

#[test]
fn a_real_g1() {
    inside("pages::a_real_g1", || walk("docs/g1.md"));
}

#[test]
fn maps() {
    inside("pages::maps", || walk("docs/maps.md"));
}

#[test]
fn clients_of_sangamio() {
    inside("pages::clients_of_sangamio", || walk("docs/sangamio.md"));
}

#[test]
fn home_assistant() {
    inside("pages::home_assistant", || walk("docs/mqtt.md"));
}

#[test]
fn clients_in_python() {
    inside("pages::clients_in_python", || walk("docs/python.md"));
}

#[test]
fn no_other_page_shows_commands() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let walked =
        ["vacuum.md", "teach.md", "g1.md", "maps.md", "sangamio.md", "mqtt.md", "python.md"];
    let mut pages: Vec<_> =
        fs::read_dir(&docs).unwrap().chain(fs::read_dir(docs.join("protocols")).unwrap()).collect();
    pages.retain(|page| page.as_ref().unwrap().path().extension().is_some_and(|ext| ext == "md"));
    for page in pages {
        let path = page.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let shown = blocks(&text).iter().map(|block| commands(block).len()).sum::<usize>();
        let is_walked = walked.iter().any(|walked| path.ends_with(walked));
        assert!(is_walked || shown == 0, "{} shows commands that no test runs", path.display());
    }
}
