//! Bad networks: what `--fault`, `--trace` and `--record` do to a G1's datagrams.

use serde_json::Value;

use crate::support::{Dir, Ended, Process, Record, run, until};

const OFF: [&str; 6] = ["--tcp", "off", "--http", "off", "--lines", "off"];

/// A simulated G1 with these faults, and the daemon that talks to it.
struct School {
    dir: Dir,
    _robot: Process,
    daemon: Process,
    lines: String,
}

impl School {
    fn open(faults: &str, more: &[&str]) -> Self {
        let dir = Dir::new();
        let args = ["sim", "g1", "--json", "--teach", "127.0.0.1:0", "--store", "store"];
        let robot = Process::sinew(&dir, &[&args[..], &["--fault", faults]].concat());
        let link = robot.ready()["link"].as_str().unwrap().to_owned();
        let args = ["serve", "--json", "--g1", &link, "--tcp", "off", "--http", "off"];
        let lines = ["--lines", "127.0.0.1:0"];
        let daemon = Process::sinew(&dir, &[&args[..], &lines, more].concat());
        let lines = daemon.ready()["lines"].as_str().unwrap().to_owned();
        let school = School { dir, _robot: robot, daemon, lines };
        until("the link", || {
            let status = school.ask(&["status", "--robot", "g1", "--json"]).ok().json();
            (status["link"]["state"] == "ready").then_some(())
        });
        school
    }

    fn ask(&self, args: &[&str]) -> Ended {
        run(&self.dir, &[args, &["--server", &self.lines]].concat())
    }

    /// A verb; none when nobody knows whether the robot did it.
    fn teach(&self, args: &[&str]) -> Option<Ended> {
        let ended = self.ask(&[&["teach"], args, &["--json"]].concat());
        if ended.code == Some(0) {
            return Some(ended);
        }
        let excused = ["unconfirmed", "link_lost"].iter().any(|code| ended.stdout.contains(code));
        assert!(excused, "{args:?}: {ended:?}");
        None
    }

    /// Repeats a verb until it is confirmed, as somebody would who reads what is printed.
    fn insist(&self, args: &[&str]) -> Ended {
        until(&args.join(" "), || self.teach(args))
    }

    fn names(&self) -> Vec<String> {
        let list = self.insist(&["list"]).json();
        let actions = list["actions"].as_array().unwrap().clone();
        actions.iter().map(|action| action["name"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_wave_is_taught_over_a_bad_network() {
    let school = School::open("drop=0.2,duplicate=0.1,reorder=0.1", &[]);
    school.insist(&["enter"]);
    until("a wave", || {
        let recorded = school.teach(&["record", "wave", "--for", "1s"]).is_some();
        // When only the answer was lost, the name is taken from now on.
        (recorded || !school.names().is_empty()).then_some(())
    });
    assert_eq!(school.names(), ["wave"]);
    school.insist(&["play", "wave"]);
    school.insist(&["exit"]);
    let stored = std::fs::read_to_string(school.dir.join("store").join("actions.json")).unwrap();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored.as_array().unwrap().len(), 1, "{stored}");
}

#[test]
fn a_daemon_damages_prints_and_records_datagrams() {
    let more = ["--fault", "drop=0.05,reorder=0.1,delay=5ms", "--trace", "--record", "record.csv"];
    let mut school = School::open("jitter=1ms", &more);
    school.insist(&["list"]);
    school.daemon.signal("TERM");
    let ended = school.daemon.wait().ok();
    let mut record = Record::open(&school.dir.join("record.csv"));
    let sent = record.read();
    let is_teaching = |bytes: &[u8]| bytes.starts_with(&[0x17, 0xFE, 0xFD, 0x00, 0x01, 0x00]);
    assert!(sent.len() >= 5 && sent.iter().all(|sent| is_teaching(&sent.bytes)));
    for (way, what) in [("TX", "63 bytes 17 FE FD 00"), ("RX", "131 bytes 17 FE FD 00")] {
        let row = |line: &&str| line.contains(&format!(" {way} 127.0.0.1:")) && line.contains(what);
        assert!(ended.stderr.lines().any(|line| row(&line)), "{way}: {}", ended.stderr);
    }
}

#[test]
fn what_is_for_datagrams_leaves_a_vacuum_beside_them_alone() {
    let school = School::open("", &["--vacuum", "sim:", "--fault", "reorder=0.2,delay=1ms"]);
    until("the vacuum", || {
        let status = school.ask(&["status", "--robot", "vacuum", "--json"]).ok().json();
        (status["link"]["state"] == "ready").then_some(())
    });
}

#[test]
fn wrong_faults_are_wrong_usage() {
    let dir = Dir::new();
    for (args, wanted) in [
        (&["sim", "g1", "--fault", "dorp=0.1"][..], "did you mean `drop`?"),
        (&["sim", "g1", "--fault", "reoder=0.1"], "did you mean `reorder`?"),
        (&["sim", "g1", "--fault", "drop=2"], "wanted a probability from 0 to 1, got `2`"),
        (&["sim", "g1", "--fault", "delay=20"], "such as 5ms, got `20`"),
        (&["sim", "g1", "--restart-every", "0s"], "wanted a second or more"),
        (&["sim", "g1", "--restart-every", "soon"], "wanted a duration"),
        (&["serve", "--g1", "sim:", "--fault", "reorder=x"], "got `x`"),
        (&["serve", "--vacuum", "sim:", "--fault", "reorder=0.1"], "serial line keeps its order"),
        (&["serve", "--vacuum", "sim:", "--g1", "sim:", "--record", "x"], "got vacuum, g1"),
    ] {
        let off = if args[0] == "serve" { &OFF[..] } else { &[] };
        let ended = run(&dir, &[args, off].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(wanted), "{args:?}: {ended:?}");
    }
    assert!(!dir.join("x").exists(), "nothing was begun");
}
