//! The map of a simulated vacuum: what is asked about it, and a lidar's line that goes and comes.

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_io::{
    Pty,
    kind::{Entry, KINDS, Services, Settings},
    sim::Simulator,
};
use sinew_robot::{
    Code, Epoch, Origin, Refusal,
    capability::{Audience, Capability, Frames, Reading, Robot},
    map::{Cursor, file},
    mapping::{Format, Pose, Request},
};

/// Counts what it is told.
#[derive(Default)]
struct Told {
    events: Mutex<Vec<Value>>,
    blocks: AtomicUsize,
    clouds: Mutex<Vec<Vec<u8>>>,
}

impl Audience for Told {
    /// The map is made for none that reads.
    fn wants_sensors(&self) -> bool {
        false
    }

    fn sensors(&self, _: &Reading) {}

    fn frame(&self, topic: &str, frame: Vec<u8>) {
        assert_eq!(topic, "cloud");
        self.clouds.lock().unwrap().push(frame);
    }

    fn blocks_changed(&self, topic: &str) {
        assert_eq!(topic, "map");
        self.blocks.fetch_add(1, Ordering::SeqCst);
    }

    fn wants_frames(&self, topic: &str) -> bool {
        topic == "cloud"
    }

    fn event(&self, event: Value) {
        self.events.lock().unwrap().push(event);
    }

    fn changed(&self) {}

    fn missed(&self, _: u64) {}
}

/// A simulated vacuum whose lidar's line can be cut.
struct Rig {
    robot: Robot,
    told: Arc<Told>,
    simulator: Arc<Simulator>,
    line: PathBuf,
    cable: Option<Cable>,
}

/// Carries a simulated lidar's bytes to a line of another name, until it is dropped.
struct Cable {
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Cable {
    fn new(from: &Path, line: &Path) -> Self {
        let pty = Pty::open(Some(line)).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut from = fs::File::options().read(true).custom_flags(nonblocking).open(from).unwrap();
        let thread = thread::spawn(move || {
            let mut to = fs::File::from(pty.master().unwrap());
            let mut buffer = [0; 4096];
            while !over.load(Ordering::SeqCst) {
                match from.read(&mut buffer) {
                    // What finds no room is lost, as on a wire.
                    Ok(count) => drop(to.write(&buffer[..count])),
                    Err(_) => thread::sleep(Duration::from_millis(1)),
                }
            }
        });
        Cable { is_over, thread: Some(thread) }
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = self.thread.take().unwrap().join();
    }
}

impl Rig {
    fn start(test: &str) -> Self {
        let options = sinew_sim::vacuum::Options { seed: 4, ..Default::default() };
        let simulator = Arc::new(Simulator::spawn(options, None).unwrap());
        let line = std::env::temp_dir().join(format!("sinew-{test}-{}", std::process::id()));
        let cable = Some(Cable::new(simulator.lidar_path(), &line));
        let text = |path: &Path| json!(format!("serial:{}", path.display()));
        let table = Settings::from_iter([
            ("link".to_owned(), text(simulator.path())),
            ("lidar".to_owned(), text(&line)),
        ]);
        let told = Arc::new(Told::default());
        let robot = start(&table, told.clone());
        Rig { robot, told, simulator, line, cable }
    }

    fn ask(&self, request: Request) -> Result<Value, Refusal> {
        let task = self.robot.mapping.as_ref().unwrap().map(request)?;
        let origin = Origin {
            by: "test".into(),
            client: 1,
            robot: "vacuum".into(),
            epoch: 0,
            received: Instant::now(),
            presence: Default::default(),
        };
        crate::vacuum::runtime().block_on(task.run(origin))
    }

    fn info(&self) -> Value {
        self.ask(Request::Info).unwrap()
    }

    fn trouble(&self) -> String {
        self.info()["trouble"].as_str().unwrap_or_default().to_owned()
    }

    /// A machine so busy that the simulator is late loses the controller's link, rightly, and then
    /// the lidar is off.
    fn begin(&self) {
        until("turns", || {
            self.ask(Request::Start).ok()?;
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_secs(8) {
                if self.info()["clouds"].as_u64() > Some(5) {
                    return Some(());
                }
                thread::sleep(Duration::from_millis(5));
            }
            None
        });
    }

    fn export(&self, format: Format) -> Result<Vec<u8>, Refusal> {
        crate::vacuum::runtime().block_on(self.robot.mapping.as_ref().unwrap().export(format))
    }

    fn shut_down(self) {
        self.robot.drivers.iter().for_each(|(_, driver)| driver.shut_down());
    }
}

fn start(table: &Settings, told: Arc<Told>) -> Robot {
    let services = Services {
        around: Vec::new(),
        epoch: Epoch::default(),
        audience: told,
        #[cfg(feature = "g1")]
        library: Arc::new(sinew_io::library::Library::new("nowhere".into())),
        #[cfg(feature = "g1")]
        maps: sinew_io::maps::Maps::new("nowhere".into()),
    };
    Entry::read(KINDS, table).unwrap().start(services).unwrap()
}

#[track_caller]
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "waited too long: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_vacuum_without_a_lidar_does_not_map() {
    let options = sinew_sim::vacuum::Options::default();
    let simulator = Simulator::spawn(options, None).unwrap();
    let link = json!(format!("serial:{}", simulator.path().display()));
    let robot = start(&Settings::from_iter([("link".to_owned(), link)]), Arc::default());
    assert!(!robot.capabilities().contains(&Capability::Mapping));
    assert!(!robot.frames.iter().any(|(topic, _)| ["cloud", "map"].contains(topic)));
    robot.drivers.iter().for_each(|(_, driver)| driver.shut_down());
}

#[test]
fn a_map_is_begun_told_given_out_and_forgotten() {
    let rig = Rig::start("map");
    assert!(rig.robot.capabilities().contains(&Capability::Mapping));
    assert_eq!(rig.export(Format::Pgm).unwrap_err().code, Code::NotReady);
    assert_eq!(rig.ask(Request::Stop { name: None }).unwrap_err().code, Code::NotReady);
    rig.begin();
    until("the map", || (rig.info()["voxels"].as_u64() > Some(1000)).then_some(()));
    let info = rig.info();
    assert_eq!(info["pose"]["x"].as_f64().map(|x| x.abs() < 0.02), Some(true), "{info}");
    assert!(rig.told.blocks.load(Ordering::SeqCst) > 0);
    let cloud = until("a turn's frame", || rig.told.clouds.lock().unwrap().pop());
    let cloud = sinew_api::frame::Frame::read(&cloud).unwrap();
    assert!(cloud.points().len() > 200 && cloud.header.pose.is_some());

    let goal = Pose { x: 1.0, ..Pose::default() };
    for request in [
        Request::GoTo { pose: goal },
        Request::Resume,
        Request::Pause,
        Request::Relocate { map: "flat".into(), pose: goal },
        Request::Download { name: "flat".into() },
    ] {
        assert_eq!(rig.ask(request).unwrap_err().code, Code::Unsupported);
    }
    let stopped = rig.ask(Request::Stop { name: Some("flat".into()) }).unwrap();
    let note = stopped["note"].as_str().unwrap();
    assert!(note.contains("kept here") && note.contains("under no name"), "{note}");
    until("the lidar to be off", || {
        rig.robot.drivers[0].1.report().state["lidar"].is_null().then_some(())
    });
    assert!(rig.info()["pose"].is_null(), "where it is now is not known");

    let mut places = Vec::new();
    for format in [Format::Pcd, Format::PcdAscii, Format::PcdCompressed, Format::Ply] {
        let content = file::read(&rig.export(format).unwrap()).unwrap();
        places.push(content.points.xyz().unwrap().collect::<Vec<_>>());
    }
    assert!(places[0].len() > 100 && places.iter().all(|other| other.len() == places[0].len()));
    // The wall behind the docked robot, and the one to its right.
    let near =
        |x: f64, y: f64| places[0].iter().any(|place| (place[0] - x).hypot(place[1] - y) < 0.08);
    assert!(near(-0.22, 1.0) && near(1.0, -1.5));
    let pgm = rig.export(Format::Pgm).unwrap();
    assert!(pgm.starts_with(b"P5\n# resolution 0.05 origin "));
    assert!(rig.export(Format::Png).unwrap().starts_with(b"\x89PNG"));

    let Some((_, Frames::Blocks(blocks))) =
        rig.robot.frames.iter().find(|(topic, _)| *topic == "map")
    else {
        panic!("no topic of blocks");
    };
    let mut cursor = Cursor::default();
    let read = |cursor: &mut Cursor| {
        let frame = blocks.next(cursor)?;
        let frame = sinew_api::frame::Frame::read(&frame).unwrap();
        assert!(frame.header.is_flat);
        Some((frame.header.epoch, frame.points().len()))
    };
    let (epoch, count) = read(&mut cursor).unwrap();
    assert_eq!(count as u64, rig.info()["voxels"].as_u64().unwrap());
    assert_eq!(read(&mut cursor), None);
    rig.ask(Request::Clear).unwrap();
    assert_eq!(read(&mut cursor), Some((epoch + 1, 0)), "a new epoch, and nothing in it");
    assert_eq!(read(&mut cursor), None);
    assert_eq!(rig.export(Format::Ply).unwrap_err().code, Code::NotReady);
    rig.shut_down();
}

#[test]
fn a_lidars_line_that_is_gone_is_told_and_the_map_goes_on_when_it_is_back() {
    let mut rig = Rig::start("cut");
    rig.begin();
    drop(rig.cable.take());
    let trouble = until("trouble", || Some(rig.trouble()).filter(|said| !said.is_empty()));
    assert!(trouble.contains("waits for turns of the lidar"), "{trouble}");
    until("the port to be gone", || rig.trouble().contains("the port is not open").then_some(()));
    let (before, epoch) = (rig.info(), rig.info()["voxels"].clone());
    assert_eq!(before["mapping"], true);
    rig.cable = Some(Cable::new(rig.simulator.lidar_path(), &rig.line));
    until("turns again", || {
        // The busy machine once more: what is off is switched on by its user.
        if rig.trouble().contains("switched off") {
            let _ = rig.ask(Request::Start);
        }
        (rig.info()["clouds"].as_u64() > before["clouds"].as_u64()).then_some(())
    });
    until("no trouble", || rig.trouble().is_empty().then_some(()));
    assert!(rig.info()["voxels"].as_u64() >= epoch.as_u64(), "the map is still there");
    let events = rig.told.events.lock().unwrap().clone();
    assert!(events.iter().all(|event| event["event"] != "lost"), "{events:?}");
    rig.shut_down();
}
