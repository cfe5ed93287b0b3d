//! A G1's map and messages by the daemon's topics, and a recording of them in the robot's place.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_api::frame::{Frame, Kind};
use sinew_robot::map::file::messages;
use sinew_wire::unitree::Form;

use crate::{
    clients::Socket,
    g1::Daemon,
    support::{DEADLINE, Dir, Process, run, until},
};

type Cells = BTreeSet<[u16; 3]>;

/// A client of topics of frames, and what it has of them.
struct Reader {
    socket: Socket,
    epoch: u32,
    map: BTreeMap<[u16; 3], Cells>,
    /// A recording, and when its first message came.
    recording: Vec<u8>,
    begin: Option<u64>,
    count: usize,
}

impl Reader {
    fn new(daemon: &Daemon, topics: &[&str]) -> Self {
        let mut socket = Socket::connect(daemon.http());
        socket.send(&json!({ "type": "Subscribe", "topics": topics }));
        let recording = messages::begin().to_vec();
        Reader { socket, epoch: 0, map: BTreeMap::new(), recording, begin: None, count: 0 }
    }

    /// Takes the next frame.
    fn step(&mut self) {
        let bytes = loop {
            let mut head = [0; 2];
            self.socket.0.read_exact(&mut head).unwrap();
            let mut length = match head[1] {
                126 => vec![0; 2],
                127 => vec![0; 8],
                short => vec![short],
            };
            if head[1] >= 126 {
                self.socket.0.read_exact(&mut length).unwrap();
            }
            let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            let mut bytes = vec![0; length];
            self.socket.0.read_exact(&mut bytes).unwrap();
            match head[0] {
                0x82 => break bytes,
                0x81 => {
                    let text: Value = serde_json::from_slice(&bytes).unwrap();
                    assert_ne!(text["ok"], false, "{text}");
                    assert!(text["type"] != "Lost", "{text}");
                }
                other => panic!("{other:#x}"),
            }
        };
        let frame = Frame::read(&bytes).unwrap();
        let topic = match frame.kind {
            Kind::Map => {
                self.take_blocks(&frame);
                "map"
            }
            Kind::Message => {
                self.take_message(&frame);
                "messages"
            }
            Kind::Cloud => "cloud",
            Kind::Raw => "raw",
        };
        let seq = frame.header.sequence;
        self.socket.send(&json!({ "type": "Ack", "topic": topic, "seq": seq }));
    }

    fn take_blocks(&mut self, frame: &Frame<'_>) {
        if frame.header.epoch != self.epoch {
            self.epoch = frame.header.epoch;
            self.map.clear();
        }
        let mut blocks: BTreeMap<_, Cells> = BTreeMap::new();
        for mut point in frame.points() {
            let [x, y, z, age] = std::array::from_fn(|_| point.next().unwrap());
            let block = blocks.entry([x >> 3, y >> 3, z >> 3]).or_default();
            if age != u16::MAX {
                block.insert([x, y, z]);
            }
        }
        self.map.extend(blocks);
    }

    fn take_message(&mut self, frame: &Frame<'_>) {
        let time = frame.header.time_us;
        let at = Duration::from_micros(time - *self.begin.get_or_insert(time));
        let form = if frame.header.name == "text" { Form::Text } else { Form::Binary };
        let recorded = messages::Recorded { at, form, bytes: frame.bytes() };
        messages::append(recorded, &mut self.recording);
        self.count += 1;
    }

    fn cells(&self) -> Cells {
        self.map.values().flatten().copied().collect()
    }

    /// Reads until the client has as many cells as the daemon, which has all clouds.
    fn until_all(&mut self, daemon: &Daemon) -> Cells {
        let begin = Instant::now();
        loop {
            let state = daemon.robot()["state"].clone();
            let done = state["map"]["clouds"] == state["mapping"]["clouds"];
            if done && state["map"]["voxels"] == self.cells().len() {
                return self.cells();
            }
            assert!(begin.elapsed() < DEADLINE, "{} of {state}", self.cells().len());
            // The state may be older than the map.
            self.socket.0.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let has_come = self.socket.0.peek(&mut [0]).is_ok();
            self.socket.0.set_read_timeout(Some(DEADLINE)).unwrap();
            if has_come {
                self.step();
            }
        }
    }
}

fn mapping(op: &str) -> Value {
    json!({ "type": "Mapping", "op": op })
}

/// A simulated robot, and a daemon's link to it.
fn robot(dir: &Dir, more: &[&str]) -> (Process, String) {
    let at = ["--teach", "127.0.0.1:0", "--webrtc", "127.0.0.1:0"];
    let sim = Process::sinew(dir, &[&["sim", "g1", "--json"], &at[..], more].concat());
    let link = sim.ready()["webrtc"].as_str().unwrap().to_owned();
    (sim, format!("{link}?interface=127.0.0.1"))
}

#[test]
fn a_robot_that_maps_already_gets_its_clouds_taken_in() {
    let dir = Dir::new();
    let (_sim, link) = robot(&dir, &[]);
    let mut daemon = Daemon::start(&dir, &link);
    daemon.wait_link("ready");
    daemon.lines().ok(mapping("start"));
    daemon.process.kill();
    let daemon = Daemon::start(&dir, &link);
    until("clouds", || (daemon.state("/map/clouds").as_u64()? > 3).then_some(()));
    let info = daemon.lines().ok(mapping("info"));
    assert!(info["mapping"] == true && info["voxels"].as_u64().unwrap() > 0, "{info}");
}

/// Maps with a simulated robot; what a client had of the map, and a recording of the messages.
fn mapped(dir: &Dir, more: &[&str]) -> (Cells, Vec<u8>) {
    let (_sim, link) = robot(dir, more);
    let daemon = Daemon::start(dir, &link);
    daemon.wait_link("ready");
    let mut client = daemon.lines();
    let mut recorder = Reader::new(&daemon, &["messages"]);
    recorder.step();
    client.ok(mapping("start"));
    while daemon.state("/map/clouds").as_u64().unwrap() < 15 {
        recorder.step();
    }
    client.ok(mapping("stop"));
    let clouds = daemon.state("/mapping/clouds").as_u64().unwrap();
    // One that joins late gets all of it.
    let mut watcher = Reader::new(&daemon, &["map"]);
    let cells = watcher.until_all(&daemon);
    // What was on its way when it stopped is in the recording, too.
    let mut seen = 0;
    while seen < clouds {
        recorder.step();
        seen = binaries(&recorder.recording);
    }
    (cells, recorder.recording)
}

fn binaries(recording: &[u8]) -> u64 {
    let messages = messages::Recording::new(recording).unwrap();
    messages.filter(|message| message.as_ref().unwrap().form == Form::Binary).count() as u64
}

fn replayed(dir: &Dir, file: &Path) -> Cells {
    let daemon = Daemon::start(dir, &format!("replay:{}?speed=100", file.display()));
    let mut watcher = Reader::new(&daemon, &["map"]);
    daemon.wait_link("ended");
    watcher.until_all(&daemon)
}

#[test]
fn a_recording_by_topic_messages_gives_the_map_that_its_robot_gave() {
    for more in [&[][..], &["--documented-clouds"]] {
        let dir = Dir::new();
        let (live, recording) = mapped(&dir, more);
        fs::write(dir.join("a hall.messages"), &recording).unwrap();
        // By a relative path, too, with a space in it.
        let again = replayed(&dir, Path::new("a hall.messages"));
        let same = live.intersection(&again).count();
        eprintln!("{same} of {} and {} cells", live.len(), again.len());
        assert!(live.len() > 500, "{}", live.len());
        assert!(same * 100 >= live.len().max(again.len()) * 99, "{same}");
        let info = run(&dir, &["map", "info", "a hall.messages", "--json"]).ok().json();
        assert_eq!(info["frames"], binaries(&recording), "{info}");
    }
}

#[test]
fn a_recording_is_asked_without_a_daemon_and_one_that_is_none_is_refused() {
    let dir = Dir::new();
    let (_, recording) = mapped(&dir, &[]);
    fs::write(dir.join("hall"), &recording).unwrap();
    let info = run(&dir, &["map", "info", "--link", "g1=replay:hall?speed=1000", "--json"]);
    let info = info.ok().json();
    assert_eq!(info["mapping"], true, "{info}");
    fs::write(dir.join("list"), "# a list\n").unwrap();
    for (link, words) in [("replay:none", "No such file"), ("replay:list", "wanted a recording")] {
        let ended = run(&dir, &["serve", "--g1", link, "--lines", "127.0.0.1:0"]);
        assert_ne!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stderr.contains(words), "{ended:?}");
    }
}
