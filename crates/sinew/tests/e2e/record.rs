//! `sinew record`, what reads its files, and Foxglove live.

#[cfg(feature = "foxglove")]
mod live;
mod python;

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use sinew_record::{
    read::Ending,
    stored::{self, LinkMessages, LinkTopic, Part, Summary},
};

use self::python::Python;
use crate::{
    clients::Lines,
    support::{Dir, Process, await_robots, run, serve, sinew, until},
};

/// Says what the daemon logged, if the test fails.
impl Drop for Rig {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the daemon's log:\n{}", self.daemon.errors());
        }
    }
}

/// A daemon with a simulated vacuum and G1.
pub(crate) struct Rig {
    pub(crate) dir: Dir,
    pub(crate) daemon: Process,
    pub(crate) ready: Value,
}

impl Rig {
    pub(crate) fn start(more: &[&str]) -> Self {
        let dir = Dir::new();
        let mut command = sinew(&dir);
        command.args(["serve", "--json", "--vacuum", "sim:", "--g1", "sim:", "--tcp", "off"]);
        command.args(["--lines", "127.0.0.1:0", "--http", "127.0.0.1:0"]).args(more);
        let daemon = Process::spawn(&mut command);
        let ready = daemon.ready();
        let rig = Rig { dir, daemon, ready };
        await_robots(&rig.dir, rig.server());
        rig
    }

    pub(crate) fn server(&self) -> &str {
        self.ready["lines"].as_str().unwrap()
    }

    /// Has both robots map, so that there are clouds, scans and maps.
    pub(crate) fn map(&self) -> Lines {
        let mut client = Lines::connect(self.server());
        let lidar = json!({ "type": "ComponentControl", "robot": "vacuum", "id": "lidar",
                            "action": { "type": "Enable" } });
        client.ok(lidar);
        for robot in ["vacuum", "g1"] {
            client.ok(json!({ "type": "Mapping", "op": "start", "robot": robot }));
        }
        client
    }

    fn record(&self, args: &[&str]) -> Process {
        let all = [&["record", "--server", self.server()], args].concat();
        Process::sinew(&self.dir, &all)
    }

    fn summary(&self, file: &str) -> Summary {
        summary(&self.dir.join(file))
    }
}

fn summary(path: &Path) -> Summary {
    stored::summary(&fs::read(path).unwrap()[..]).unwrap()
}

fn count(summary: &Summary, topic: &str) -> u64 {
    summary.topics.get(topic).map_or(0, |stats| stats.messages)
}

const ALL: &str = "state,events,sensors,cloud,map,messages";

#[test]
fn a_recording_of_two_robots_is_read_by_python_and_by_all_of_ours() {
    let rig = Rig::start(&[]);
    let mut recorder = rig.record(&["run.mcap", "--topics", ALL, "--json"]);
    let _client = rig.map();
    let path = rig.dir.join("run.mcap");
    let wanted = [
        "/vacuum/scan",
        "/vacuum/map",
        "/vacuum/cloud",
        "/vacuum/pose",
        "/vacuum/log",
        "/g1/cloud",
        "/g1/map",
        "/g1/joints",
        "/g1/messages/text",
        "/g1/messages/binary",
        "/tf",
    ];
    until("all topics", || {
        let bytes = fs::read(&path).ok()?;
        let there = stored::summary(&bytes[..]).ok()?;
        wanted.iter().all(|topic| count(&there, topic) > 0).then_some(())
    });
    recorder.signal("INT");
    let said = recorder.wait().ok().json();
    assert_eq!(said["lost"], json!({ "before": 0, "here": 0, "on_disk": 0 }), "{said}");
    let whole = rig.summary("run.mcap");
    assert_eq!((whole.ending, whole.damaged), (Ending::Whole, 0));
    let all: u64 = whole.topics.values().map(|stats| stats.messages).sum();
    assert_eq!(said["messages"], all);

    let inspected = run(&rig.dir, &["inspect", "run.mcap", "--json"]).ok().json();
    assert_eq!((&inspected["format"], &inspected["whole"]), (&json!("mcap"), &json!(true)));
    let text = run(&rig.dir, &["inspect", "run.mcap"]).ok().stdout;
    assert!(text.contains("/vacuum/scan") && text.contains("foxglove.LaserScan"), "{text}");

    let info = run(&rig.dir, &["map", "info", "run.mcap", "--json"]).ok().json();
    assert!(info["points"].as_u64().unwrap() > 1000, "{info}");
    run(&rig.dir, &["map", "convert", "run.mcap", "out.ply"]).ok();

    // Teaching needs a robot that teaches: the motion goes to the library.
    let imported = ["teach", "import", "run.mcap", "--name", "seen", "--json", "--robot", "g1"];
    let imported =
        run(&rig.dir, &[&imported[..], &["--server", rig.server()]].concat()).ok().json();
    assert!(imported["frames"].as_u64().unwrap() > 10, "{imported}");

    let replayed = ["map", "info", "--json", "--link", "replay:run.mcap?speed=20"];
    let replayed = run(&rig.dir, &replayed).ok().json();
    assert_eq!(replayed["mapping"], true, "{replayed}");

    let Some(python) = Python::set_up() else { return };
    let checked = python.check(&path);
    assert_eq!(checked["messages"], all, "{checked}");
    assert_eq!(checked["finished"], true);
    for topic in wanted {
        assert_eq!(checked["topics"][topic], count(&whole, topic), "{topic}");
    }
}

#[test]
fn what_a_file_does_not_hold_is_refused_with_what_it_does() {
    let rig = Rig::start(&[]);
    let args = ["run.mcap", "--robot", "vacuum", "--topics", "state,events", "--seconds", "1"];
    rig.record(&args).wait().ok();
    let replayed = run(&rig.dir, &["map", "info", "--link", "replay:run.mcap"]);
    assert_eq!(replayed.code, Some(1), "{replayed:?}");
    assert!(replayed.stderr.contains("/vacuum/state"), "{replayed:?}");
    assert!(replayed.stderr.contains("--topics messages"), "{replayed:?}");
    let info = run(&rig.dir, &["map", "info", "run.mcap"]);
    assert_eq!(info.code, Some(1), "{info:?}");
    let taught = run(&rig.dir, &["teach", "import", "run.mcap"]);
    assert!(taught.code == Some(1) && taught.stderr.contains("joints"), "{taught:?}");
    // A robot that is not there, a topic that none has, a file that is there.
    let wrong = rig.record(&["b.mcap", "--robot", "nope"]).wait();
    assert!(wrong.code == Some(1) && wrong.stderr.contains("nope"), "{wrong:?}");
    let wrong = rig.record(&["b.mcap", "--robot", "vacuum", "--topics", "messages"]).wait();
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert_eq!(rig.record(&["b.mcap", "--topics", "nope"]).wait().code, Some(2));
    assert_eq!(rig.record(&["run.mcap"]).wait().code, Some(1));
    assert!(!rig.dir.join("b.mcap").exists());
}

/// The bytes of these rows of a daemon's own record, one behind another.
fn recorded(text: &str, way: &str) -> String {
    let rows = text.lines().filter_map(|line| line.split_once(',')?.1.strip_prefix(way));
    rows.flat_map(|bytes| bytes.chars().filter(char::is_ascii_hexdigit)).collect()
}

#[test]
fn what_passes_on_a_vacuums_line_is_kept_and_played_in_its_place() {
    let dir = Dir::new();
    let (mut daemon, ready) = serve(sinew(&dir), "sim:", &["--record", "line.csv"]);
    let server = ready["lines"].as_str().unwrap();
    await_robots(&dir, server);
    let args = ["record", "raw.mcap", "--topics", "raw", "--server", server, "--json"];
    let mut recorder = Process::sinew(&dir, &args);
    let path = dir.join("raw.mcap");
    until("bytes of both ways", || {
        let there = stored::summary(&fs::read(&path).ok()?[..]).ok()?;
        let enough = ["/vacuum/raw/rx", "/vacuum/raw/tx"].iter().all(|way| count(&there, way) > 50);
        enough.then_some(())
    });
    recorder.signal("INT");
    let said = recorder.wait().ok().json();
    assert_eq!(said["lost"], json!({ "before": 0, "here": 0, "on_disk": 0 }), "{said}");
    daemon.signal("TERM");
    daemon.wait().ok();

    let line = fs::read_to_string(dir.join("line.csv")).unwrap();
    for (part, way) in [(Part::Rx, "RX,"), (Part::Tx, "TX,")] {
        let bytes = fs::read(&path).unwrap();
        let mut messages = LinkMessages::new(&bytes[..], LinkTopic::Raw).unwrap();
        let mut kept = String::new();
        while let Some(message) = messages.message().unwrap() {
            if message.part == part {
                kept.extend(message.bytes.iter().map(|byte| format!("{byte:02X}")));
            }
        }
        assert!(kept.len() > 500, "{way} {} digits", kept.len());
        assert!(recorded(&line, way).contains(&kept), "{way} other bytes than on the line");
    }

    let (_daemon, ready) = serve(sinew(&dir), "replay:raw.mcap?loop=1", &[]);
    let server = ready["lines"].as_str().unwrap();
    until("a robot that is alive", || {
        let robot = run(&dir, &["status", "--json", "--server", server]).json();
        let alive = robot["link"]["state"] == "ready";
        (alive && robot["state"]["battery_percent"].is_u64()).then_some(())
    });
    // One without them is refused, with what it has.
    let args = ["record", "state.mcap", "--topics", "state", "--seconds", "1", "--server", server];
    run(&dir, &args).ok();
    let ended = run(&dir, &["status", "--link", "crl200s=replay:state.mcap"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("--topics raw"), "{ended:?}");
}

#[test]
fn a_recorder_that_is_killed_has_lost_a_second_at_most() {
    let rig = Rig::start(&[]);
    let mut recorder = rig.record(&["run.mcap"]);
    let path = rig.dir.join("run.mcap");
    let topic = "/vacuum/sensors/gd32_status";
    until("messages", || {
        let there = stored::summary(&fs::read(&path).ok()?[..]).ok()?;
        (count(&there, topic) > 200).then_some(())
    });
    recorder.kill();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let there = rig.summary("run.mcap");
    assert_eq!((there.ending, there.damaged), (Ending::Unfinished, 0));
    let (_, last) = there.topics[topic].times.unwrap();
    let lost = Duration::from_nanos(now.saturating_sub(last));
    assert!(lost < Duration::from_millis(1200), "{lost:?}");
    let Some(python) = Python::set_up() else { return };
    let checked = python.check(&path);
    assert_eq!(
        (&checked["finished"], &checked["topics"][topic]),
        (&json!(false), &json!(count(&there, topic)))
    );
}

#[test]
fn a_recorder_that_does_not_read_slows_no_client_and_its_file_is_whole() {
    let rig = Rig::start(&[]);
    let mut recorder = rig.record(&["run.mcap", "--json"]);
    until("a file", || rig.dir.join("run.mcap").exists().then_some(()));
    recorder.signal("STOP");
    let mut client = Lines::connect(rig.server());
    let begin = std::time::Instant::now();
    let mut slowest = Duration::ZERO;
    while begin.elapsed() < Duration::from_secs(3) {
        let asked = std::time::Instant::now();
        client.ok(json!({ "type": "Ping" }));
        slowest = slowest.max(asked.elapsed());
        thread::sleep(Duration::from_millis(10));
    }
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
    recorder.signal("CONT");
    recorder.signal("INT");
    let said = recorder.wait();
    assert!(said.code == Some(0) || said.stderr.contains("lost the daemon"), "{said:?}");
    assert_eq!(rig.summary("run.mcap").ending, Ending::Whole);
}

#[test]
fn a_daemon_that_ends_leaves_a_whole_file() {
    let mut rig = Rig::start(&[]);
    let mut recorder = rig.record(&["run.mcap"]);
    until("a file", || rig.dir.join("run.mcap").exists().then_some(()));
    rig.daemon.kill();
    let ended = recorder.wait();
    assert!(ended.code == Some(1) && ended.stderr.contains("lost the daemon"), "{ended:?}");
    assert_eq!(rig.summary("run.mcap").ending, Ending::Whole);
}

#[test]
fn a_robot_in_this_process_is_recorded_and_files_follow_each_other() {
    let dir = Dir::new();
    let args = ["record", "a.mcap", "--link", "sim:", "--rotate", "1s", "--seconds", "4", "--json"];
    let said = run(&dir, &args).ok().json();
    let files = said["files"].as_array().unwrap();
    assert!(files.len() >= 2, "{said}");
    for file in files {
        assert_eq!(summary(&dir.join(file.as_str().unwrap())).ending, Ending::Whole, "{file}");
    }
}
