//! A vacuum's map of the ground, made of odometry and turns of the lidar.
//!
//! A turn may take a second to be laid into the map, where a wheel slipped. So the map is made on a
//! thread of its own; what is asked about it is answered from a board that the thread copies to.

mod board;
mod mapping;

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_api::frame;
use sinew_robot::{
    capability::{Audience, Figure, Frames, Robot},
    lidar::{Mounting, Scan},
    map::{Echo, Mapper, MapperSettings, Outcome},
    vacuum::Pose,
};
use sinew_wire::delta2d::Point;

use self::board::Board;
pub(crate) use self::mapping::Asked;
use crate::{
    follow::{Follower, Odometry},
    lock,
    report::timestamp_us,
};

/// The topics of the map's blocks, and of turns.
pub const MAP: &str = "map";
/// Where turns are in the map.
pub const CLOUD: &str = "cloud";
/// The frame of both.
const FRAME: &str = "map";

/// Poses that may wait: eight seconds at 500 Hz.
const POSES: usize = 4096;
/// How long a turn waits for odometry of its end.
const ODOMETRY: Duration = Duration::from_millis(50);
/// How often the pose is told while no turns come.
const PERIOD: Duration = Duration::from_millis(100);
/// A step of a cloud, metres.
const STEP: f64 = 0.005;
/// It is counted from this far below the robot, along each axis.
const HALF: f64 = STEP * 32768.0;

/// A map that is made, or was.
pub struct Ground {
    audience: Arc<dyn Audience>,
    mounting: Mounting,
    intake: Mutex<Intake>,
    come: Condvar,
    /// Whether odometry and turns are wanted: asked by threads that must not wait.
    is_on: AtomicBool,
    board: Mutex<Board>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

/// What has come and is not in the map yet.
#[derive(Default)]
struct Intake {
    /// The map that it is for; none while none is made.
    epoch: Option<u32>,
    poses: VecDeque<Odometry>,
    /// The newest turn.
    scan: Option<Scan>,
    /// Turns that a newer one took the place of.
    dropped: u64,
    is_over: bool,
}

/// What is to be done next.
struct Work {
    epoch: u32,
    poses: VecDeque<Odometry>,
    scan: Option<Scan>,
}

impl Ground {
    /// Starts the thread, which waits for a map to be begun.
    pub(crate) fn spawn(mounting: Mounting, audience: Arc<dyn Audience>) -> io::Result<Arc<Self>> {
        let ground = Arc::new(Ground {
            audience,
            mounting,
            intake: Mutex::default(),
            come: Condvar::new(),
            is_on: AtomicBool::new(false),
            board: Mutex::new(Board::new(MapperSettings::default().resolution)),
            thread: Mutex::new(None),
        });
        let maker = Arc::clone(&ground);
        let thread = thread::Builder::new().name("map".into()).spawn(move || maker.run())?;
        *lock(&ground.thread) = Some(thread);
        Ok(ground)
    }

    /// Gives a robot its topics.
    pub(crate) fn publish(self: &Arc<Self>, robot: &mut Robot) {
        robot.frames.push((MAP, Frames::Blocks(Arc::clone(self) as _)));
        robot.frames.push((CLOUD, Frames::Newest));
    }

    /// Begins a new map.
    fn start(&self, switched_on: bool) {
        let epoch = lock(&self.board).start(switched_on);
        self.set(Some(epoch));
    }

    /// Ends it. Whether the lidar was switched on for it; none if none was made.
    fn stop(&self) -> Option<bool> {
        self.set(None);
        let switched_on = lock(&self.board).stop();
        self.audience.changed();
        switched_on
    }

    /// Forgets it. One that is being made goes on from where the robot is now.
    fn clear(&self) {
        let (is_mapping, epoch) = {
            let mut board = lock(&self.board);
            board.clear();
            (board.is_mapping, board.map.epoch())
        };
        self.set(is_mapping.then_some(epoch));
    }

    /// What comes from now on is for this map.
    fn set(&self, epoch: Option<u32>) {
        {
            let mut intake = lock(&self.intake);
            *intake = Intake { epoch, is_over: intake.is_over, ..Intake::default() };
        }
        self.is_on.store(epoch.is_some(), Ordering::Relaxed);
        self.come.notify_all();
        self.audience.blocks_changed(MAP);
        self.audience.changed();
    }

    fn run(&self) {
        let settings = self.settings();
        let mut made: Option<(u32, Maker)> = None;
        while let Some(Work { epoch, poses, scan }) = self.next() {
            let maker = match &mut made {
                Some((of, maker)) if *of == epoch => maker,
                _ => &mut made.insert((epoch, Maker::new(settings))).1,
            };
            for odometry in poses {
                maker.odometry(odometry);
            }
            let outcome = scan.map(|scan| (self.take(maker, &scan), scan));
            self.tell(epoch, maker, outcome);
        }
    }

    fn settings(&self) -> MapperSettings {
        let Mounting { x, y, .. } = self.mounting;
        MapperSettings { lidar: Pose { x, y, heading: 0.0 }, ..MapperSettings::default() }
    }

    /// Waits for something to do; none when it is over.
    fn next(&self) -> Option<Work> {
        let woken = Instant::now();
        let mut intake = lock(&self.intake);
        loop {
            if intake.is_over {
                return None;
            }
            let now = Instant::now();
            let Some(epoch) = intake.epoch else {
                intake = self.come.wait(intake).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            // Odometry up to the turn's end comes on another way than the turn.
            let due = intake.scan.as_ref().map_or(woken + PERIOD, |scan| {
                let last = intake.poses.back().map(|odometry| odometry.at);
                if last >= Some(scan.ended) { now } else { scan.ended + ODOMETRY }
            });
            if due <= now {
                let poses = std::mem::take(&mut intake.poses);
                return Some(Work { epoch, poses, scan: intake.scan.take() });
            }
            let wait = self.come.wait_timeout(intake, due - now);
            intake = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lays a turn into the map.
    fn take(&self, maker: &mut Maker, scan: &Scan) -> Outcome {
        let echo = |point: &Point| Echo {
            angle: self.mounting.direction(point.degrees.into()),
            distance: self.mounting.optics + f64::from(point.metres()),
        };
        let echoes: Vec<_> = scan.turn.points.iter().map(echo).collect();
        let turn = sinew_robot::map::Scan { began: scan.began, ended: scan.ended, echoes: &echoes };
        maker.mapper.scan(&turn)
    }

    /// Shows what has become of it, unless it is about a map that is gone.
    fn tell(&self, epoch: u32, maker: &mut Maker, outcome: Option<(Outcome, Scan)>) {
        let now = Instant::now();
        let patches = maker.mapper.take_seen();
        let (outcome, scan) = outcome.unzip();
        let pose = maker.mapper.pose();
        let turn = scan.map(|scan| {
            let place = |point| {
                let (ahead, left) = self.mounting.place(point);
                pose.place([ahead, left])
            };
            scan.turn.points.iter().map(place).collect::<Vec<_>>()
        });
        let (changed, event) = {
            let mut board = lock(&self.board);
            if board.map.epoch() != epoch || !board.is_mapping {
                return;
            }
            let event = outcome.and_then(|outcome| board.note(now, outcome));
            board.show(now, &maker.mapper, turn.as_deref());
            if maker.is_docked {
                board.dock = Some([pose.x, pose.y]);
            }
            (board.map.take(now, &patches), event)
        };
        if let Some(turn) = turn.filter(|_| self.audience.wants_frames(CLOUD)) {
            self.audience.frame(CLOUD, self.cloud(pose, &turn));
        }
        if let Some(event) = event {
            self.audience.event(json!(event));
        }
        if changed {
            self.audience.blocks_changed(MAP);
        }
        self.audience.changed();
    }

    /// A turn as a frame: where its echoes are in the map.
    fn cloud(&self, pose: Pose, places: &[[f64; 2]]) -> Vec<u8> {
        let (sequence, epoch) = {
            let mut board = lock(&self.board);
            (board.next_frame(), board.map.epoch())
        };
        let origin = [pose.x - HALF, pose.y - HALF, 0.0];
        let header = frame::Header {
            sequence,
            time_us: timestamp_us(),
            epoch,
            name: FRAME,
            pose: Some(board::pose(pose)),
            origin,
            unit: STEP,
            ..frame::Header::default()
        };
        let steps = |place: f64, axis: usize| ((place - origin[axis]) / STEP).round() as u16;
        let points: Vec<_> =
            places.iter().map(|place| [steps(place[0], 0), steps(place[1], 1), 0]).collect();
        frame::cloud(&header, &points)
    }
}

impl Follower for Ground {
    fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    fn odometry(&self, odometry: Odometry) {
        let mut intake = lock(&self.intake);
        if intake.epoch.is_none() {
            return;
        }
        if intake.poses.len() >= POSES {
            intake.poses.pop_front();
        }
        intake.poses.push_back(odometry);
        let is_awaited = intake.scan.as_ref().is_some_and(|scan| scan.ended <= odometry.at);
        drop(intake);
        if is_awaited {
            self.come.notify_one();
        }
    }

    /// Takes a turn, instead of one that still waits.
    fn scan(&self, scan: Scan) {
        let mut intake = lock(&self.intake);
        if intake.epoch.is_some() && intake.scan.replace(scan).is_some() {
            intake.dropped += 1;
        }
        drop(intake);
        self.come.notify_one();
    }

    fn state(&self) -> (&'static str, Value) {
        ("map", lock(&self.board).state())
    }

    fn figures(&self) -> Vec<Figure> {
        let (voxels, turns) = {
            let board = lock(&self.board);
            (board.map.len(), board.turns)
        };
        let dropped = lock(&self.intake).dropped;
        vec![
            Figure::gauge("map_squares", "Squares of the map that are known.", voxels as f64),
            Figure::gauge("map_turns", "Turns that the map is made of.", turns as f64),
            Figure::gauge("map_dropped_turns", "Those that there was no time for.", dropped as f64),
        ]
    }

    fn shut_down(&self) {
        self.is_on.store(false, Ordering::Relaxed);
        lock(&self.intake).is_over = true;
        self.come.notify_all();
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

/// A map that is being made, and whether the robot stands on its dock.
struct Maker {
    mapper: Mapper,
    last: Option<Pose>,
    is_docked: bool,
}

impl Maker {
    fn new(settings: MapperSettings) -> Self {
        Maker { mapper: Mapper::new(settings), last: None, is_docked: false }
    }

    fn odometry(&mut self, Odometry { at, pose, on_dock }: Odometry) {
        self.mapper.odometry(at, pose);
        // On the way off the dock the contacts still meet for a while.
        self.is_docked = on_dock && self.last.replace(pose) == Some(pose);
    }
}
