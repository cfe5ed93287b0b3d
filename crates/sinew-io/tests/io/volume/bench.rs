//! A robot that maps, and what its clients see of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use sinew_api::frame::{Frame, Kind};
use sinew_io::{
    Address, Around, WebRtcOptions, WebRtcServerOptions,
    kind::{self, Entry, KINDS, Services},
    library::Library,
    maps::Maps,
    sim::{G1Options, G1Simulator},
    unitree::Unitree,
};
use sinew_robot::{
    Epoch, Origin, Refusal,
    capability::{Audience, Blocks, Frames, Reading, Robot},
    map::{
        Cursor, GONE,
        file::{self, messages},
    },
    mapping::{Format, Request},
};
use sinew_sim::g1::UnitreeOptions;
use sinew_wire::{slam, unitree::Form};
use tempfile::TempDir;

use crate::vacuum::runtime;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Hears everything.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) wants: AtomicBool,
    messages: Mutex<Vec<Vec<u8>>>,
    events: Mutex<Vec<Value>>,
}

impl Audience for Heard {
    fn wants_sensors(&self) -> bool {
        false
    }

    fn sensors(&self, _: &Reading) {}

    fn frame(&self, topic: &str, frame: Vec<u8>) {
        assert_eq!(topic, "messages");
        self.messages.lock().unwrap().push(frame);
    }

    fn blocks_changed(&self, topic: &str) {
        assert_eq!(topic, "map");
    }

    fn wants_frames(&self, topic: &str) -> bool {
        topic == "messages" && self.wants.load(Ordering::Relaxed)
    }

    fn event(&self, event: Value) {
        self.events.lock().unwrap().push(event);
    }

    fn changed(&self) {}

    fn missed(&self, _: u64) {}
}

/// A robot, or a recording in its place.
pub(crate) struct Mapped {
    pub(crate) robot: Robot,
    pub(crate) heard: Arc<Heard>,
    _simulator: Option<G1Simulator>,
    _dir: TempDir,
}

fn services(dir: &TempDir, heard: &Arc<Heard>) -> Services {
    Services {
        around: Vec::new(),
        epoch: Epoch::default(),
        audience: heard.clone(),
        library: Arc::new(Library::new(dir.path().join("library"))),
        maps: Maps::new(dir.path().join("maps")),
    }
}

/// A robot that stands, with as many points in a cloud as fit a message.
pub(crate) fn standing(layout: slam::Reading) -> UnitreeOptions {
    UnitreeOptions { layout, patrol: false, points_per_cloud: 20_000, ..Default::default() }
}

impl Mapped {
    pub(crate) fn simulated(unitree: UnitreeOptions, around: Vec<Around>) -> Self {
        let robot = sinew_sim::g1::Options { unitree, ..Default::default() };
        let webrtc = Some(WebRtcServerOptions::default());
        let options = G1Options { robot, webrtc, ..Default::default() };
        let simulator = G1Simulator::spawn_with(options, around).unwrap();
        let at = simulator.webrtc().unwrap();
        let host = at.ip().to_string();
        let options = WebRtcOptions {
            host: host.clone(),
            port: Some(at.port()),
            key: None,
            interface: Some(host),
        };
        let (dir, heard) = (tempfile::tempdir().unwrap(), Arc::<Heard>::default());
        heard.wants.store(true, Ordering::Relaxed);
        let robot = Unitree::compose("g1", options, None, services(&dir, &heard)).unwrap();
        let mapped = Mapped { robot, heard, _simulator: Some(simulator), _dir: dir };
        mapped.until("ready", |mapped| mapped.link()["state"] == "ready");
        mapped
    }

    /// A recording, by its link.
    pub(crate) fn replay(file: &Path, options: &str) -> Result<Self, kind::Error> {
        let link: Address = format!("replay:{}{options}", file.display()).parse().unwrap();
        let entry = Entry::new(kind::by_name(KINDS, "g1").unwrap(), link).unwrap();
        let (dir, heard) = (tempfile::tempdir().unwrap(), Arc::<Heard>::default());
        let robot = entry.start(services(&dir, &heard))?;
        Ok(Mapped { robot, heard, _simulator: None, _dir: dir })
    }

    /// The same to its end, and the reason for that.
    pub(crate) fn replayed(file: &Path, options: &str) -> (Self, String) {
        let mapped = Self::replay(file, options).unwrap();
        mapped.until("ended", |mapped| mapped.link()["state"] == "ended");
        let reason = mapped.link()["reason"].as_str().unwrap().to_owned();
        let all = mapped.state("/mapping/clouds");
        mapped.until("all clouds", |mapped| mapped.state("/map/clouds") == all);
        (mapped, reason)
    }

    pub(crate) fn until(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let begin = Instant::now();
        while !is_so(self) {
            let report = self.robot.drivers[0].1.report();
            assert!(begin.elapsed() < PATIENCE, "{what}: {report:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn link(&self) -> Value {
        self.robot.drivers[0].1.report().link
    }

    pub(crate) fn state(&self, pointer: &str) -> Value {
        let state = Value::Object(self.robot.drivers[0].1.report().state);
        state.pointer(pointer).cloned().unwrap_or_default()
    }

    pub(crate) fn clouds(&self) -> u64 {
        self.state("/map/clouds").as_u64().unwrap()
    }

    pub(crate) fn ask(&self, request: Request) -> Result<Value, Refusal> {
        let origin = Origin {
            by: "a test".into(),
            client: 1,
            robot: "g1".into(),
            epoch: 0,
            received: Instant::now(),
            presence: Default::default(),
        };
        let task = self.robot.mapping.as_ref().unwrap().map(request)?;
        runtime().block_on(task.run(origin))
    }

    pub(crate) fn export(&self, format: Format) -> Result<Vec<u8>, Refusal> {
        runtime().block_on(self.robot.mapping.as_ref().unwrap().export(format))
    }

    /// The map's cells, by its file.
    pub(crate) fn cells(&self) -> BTreeSet<[i64; 3]> {
        let content = file::read(&self.export(Format::Pcd).unwrap()).unwrap();
        let cell = |place: [f64; 3]| place.map(|axis| (axis / 0.05 - 1e-3).floor() as i64);
        content.points.xyz().unwrap().map(cell).collect()
    }

    pub(crate) fn reader(&self) -> Reader {
        let blocks = self.robot.frames.iter().find_map(|(topic, frames)| match frames {
            Frames::Blocks(blocks) if *topic == "map" => Some(Arc::clone(blocks)),
            _ => None,
        });
        let (place, seen, epoch) = (Cursor::default(), BTreeMap::new(), 0);
        Reader { blocks: blocks.unwrap(), place, epoch, seen, pose: None }
    }

    /// What the robot sent, as a client hears it: microseconds, form, bytes.
    pub(crate) fn messages(&self) -> Vec<(u64, Form, Vec<u8>)> {
        let frames = self.heard.messages.lock().unwrap();
        let read = |(index, bytes): (usize, &Vec<u8>)| {
            let frame = Frame::read(bytes).unwrap();
            assert_eq!((frame.kind, frame.header.sequence), (Kind::Message, index as u64 + 1));
            let form = match frame.header.name {
                "text" => Form::Text,
                "binary" => Form::Binary,
                other => panic!("{other}"),
            };
            (frame.header.time_us, form, frame.bytes().to_vec())
        };
        frames.iter().enumerate().map(read).collect()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        self.heard.events.lock().unwrap().clone()
    }

    pub(crate) fn shut_down(&self) {
        self.robot.drivers.iter().for_each(|(_, driver)| driver.shut_down());
    }
}

/// A client of the map, by the rule of blocks.
pub(crate) struct Reader {
    blocks: Arc<dyn Blocks>,
    place: Cursor,
    pub(crate) epoch: u32,
    seen: BTreeMap<[u16; 3], BTreeSet<[u16; 3]>>,
    pub(crate) pose: Option<[f64; 3]>,
}

impl Reader {
    /// Reads what there is. How many frames that were.
    pub(crate) fn read(&mut self) -> usize {
        let mut count = 0;
        while let Some(bytes) = self.blocks.next(&mut self.place) {
            let frame = Frame::read(&bytes).unwrap();
            assert_eq!(frame.kind, Kind::Map);
            assert!(bytes.len() <= sinew_api::frame::LONGEST);
            if frame.header.epoch != self.epoch {
                self.epoch = frame.header.epoch;
                self.seen.clear();
            }
            self.pose = frame.header.pose.map(|pose| [pose.x, pose.y, pose.z]);
            let mut blocks: BTreeMap<[u16; 3], BTreeSet<[u16; 3]>> = BTreeMap::new();
            for mut point in frame.points() {
                let [x, y, z, age] = std::array::from_fn(|_| point.next().unwrap());
                let block = blocks.entry([x >> 3, y >> 3, z >> 3]).or_default();
                if age != GONE {
                    block.insert([x, y, z]);
                }
            }
            self.seen.extend(blocks);
            count += 1;
        }
        count
    }

    pub(crate) fn len(&self) -> u64 {
        self.seen.values().map(|cells| cells.len() as u64).sum()
    }
}

/// A recording of these messages.
pub(crate) fn recording(messages: &[(u64, Form, Vec<u8>)]) -> Vec<u8> {
    let begin = messages.first().map_or(0, |message| message.0);
    let mut file = messages::begin().to_vec();
    for (time, form, bytes) in messages {
        let at = Duration::from_micros(time.saturating_sub(begin));
        messages::append(messages::Recorded { at, form: *form, bytes }, &mut file);
    }
    file
}

/// The share of cells that both have, or of which the other has a neighbour.
pub(crate) fn alike(a: &BTreeSet<[i64; 3]>, b: &BTreeSet<[i64; 3]>) -> f64 {
    let near = |cell: &[i64; 3], of: &BTreeSet<[i64; 3]>| {
        let steps = || -1..=1;
        steps().any(|x| {
            let beside = |y, z| of.contains(&[cell[0] + x, cell[1] + y, cell[2] + z]);
            steps().any(|y| steps().any(|z| beside(y, z)))
        })
    };
    let shared = |a: &BTreeSet<[i64; 3]>, b| a.iter().filter(|cell| near(cell, b)).count();
    (shared(a, b) + shared(b, a)) as f64 / (a.len() + b.len()) as f64
}
