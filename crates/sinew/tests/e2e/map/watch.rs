//! `sinew map watch`.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use serde_json::{Value, json};
use sinew_api::frame::{self, Header, MAP_POINTS};
use sinew_robot::{
    capability::Blocks,
    map::{Cursor, VoxelMap},
    mapping::{Cloud, Pose, Request},
};
use sinew_server::Config;
use tungstenite::Message;

use super::{
    Rig,
    fake::{Fake, await_subscription, send, wall},
};
use crate::{
    support::{DEADLINE, until},
    terminal::Terminal,
};

/// A map as the daemon makes it, of what the test puts in.
pub(super) struct Made {
    map: Mutex<VoxelMap>,
    sequence: Mutex<u64>,
    pose: Mutex<Option<Pose>>,
}

impl Default for Made {
    fn default() -> Self {
        let map = VoxelMap::new(sinew_robot::map::VoxelSettings::default());
        Made { map: Mutex::new(map), sequence: Mutex::default(), pose: Mutex::default() }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Made {
    pub(super) fn clear(&self) {
        lock(&self.map).clear();
    }

    pub(super) fn pose(&self) -> Option<Pose> {
        *lock(&self.pose)
    }
}

impl Blocks for Made {
    fn next(&self, place: &mut Cursor) -> Option<Vec<u8>> {
        let map = lock(&self.map);
        if map.is_current(place) {
            return None;
        }
        let mut points = Vec::new();
        map.changes(Instant::now(), place, MAP_POINTS, &mut points);
        let mut sequence = lock(&self.sequence);
        *sequence += 1;
        let since = std::time::UNIX_EPOCH.elapsed().unwrap();
        let header = Header {
            sequence: *sequence,
            time_us: since.as_micros().try_into().unwrap(),
            epoch: map.epoch(),
            pose: self.pose(),
            origin: map.origin(),
            unit: map.unit(),
            ..Header::default()
        };
        Some(frame::map(&header, &points))
    }
}

impl Rig {
    /// Puts walls of a room of this side around the beginning into the map.
    fn see_room(&self, metres: u16) {
        let steps = metres * 20;
        let wall = |at: u16| {
            let sides = [[at, 0], [at, steps], [0, at], [steps, at]];
            sides.into_iter().flat_map(|[x, y]| (0..10).map(move |z| [x, y, z]))
        };
        let corner = -f64::from(metres) / 2.0;
        let cloud = Cloud {
            sequence: 0,
            origin: [corner + 0.01, corner + 0.01, 0.01],
            unit: 0.05,
            points: (0..=steps).flat_map(wall).collect(),
            pose: None,
            frame: "map".into(),
        };
        lock(&self.robot.made.map).insert(Instant::now(), &cloud).unwrap();
        self.robot.audience.blocks_changed("map");
    }

    fn go(&self, pose: Pose) {
        *lock(&self.robot.made.pose) = Some(pose);
    }

    fn cells(&self) -> u64 {
        lock(&self.robot.made.map).len()
    }

    fn screen(&self, columns: u16, lines: u16, args: &[&str]) -> Terminal {
        let server = self.at.lines.unwrap().to_string();
        let args = [&["map", "watch"], args, &["--server", &server]].concat();
        Terminal::run(&self.dir, columns, lines, &args)
    }
}

fn contains(frame: &[String], text: &str) -> bool {
    frame.iter().any(|line| line.contains(text))
}

fn is_braille(c: char) -> bool {
    ('\u{2801}'..='\u{28ff}').contains(&c)
}

fn grouped(cells: u64) -> String {
    assert!((1000..1_000_000).contains(&cells), "{cells}");
    format!("map {},{:03} cells", cells / 1000, cells % 1000)
}

#[test]
fn where_there_is_no_screen_it_is_one_picture_of_the_whole_map() {
    let rig = Rig::start();
    rig.go(Pose { x: 0.5, y: 0.0, z: 0.0, yaw: std::f64::consts::FRAC_PI_2 });
    // More than one frame of it.
    rig.see_room(40);
    assert!(rig.cells() > MAP_POINTS as u64);
    let ended = rig.map(&["watch"]).ok();
    let lines: Vec<_> = ended.stdout.lines().collect();
    assert!(lines.last().unwrap().contains(&grouped(rig.cells())), "{}", ended.stdout);
    assert!(lines.last().unwrap().contains("┤ 20 m"), "{}", ended.stdout);
    assert!(ended.stdout.contains('↑') && ended.stdout.contains(is_braille), "{}", ended.stdout);
    assert!(!ended.stdout.contains('\x1b'), "no colours in a pipe");
    let half = rig.map(&["watch", "--once", "--half-blocks", "--side"]).ok();
    assert!(half.stdout.contains(['▀', '▄', '█']), "{}", half.stdout);
}

#[test]
fn a_robot_without_a_map_says_so_and_is_waited_for() {
    let rig = Rig::start();
    let ended = rig.map(&["watch", "--once", "--for", "300ms"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("there is no map yet"), "{ended:?}");
    let mut watch = rig.start_map(&["watch"]);
    until("it to wait", || watch.errors().contains("waiting").then_some(()));
    rig.see_room(4);
    assert!(watch.wait().ok().stdout.contains(&grouped(rig.cells())));
}

#[test]
fn each_frame_is_a_line_for_programs() {
    let rig = Rig::start();
    let watch = rig.start_map(&["watch", "--json"]);
    let next = || -> Value { serde_json::from_str(&watch.line()).unwrap() };
    let first = next();
    assert_eq!(
        (&first["cells"], &first["bounds"], &first["epoch"]),
        (&json!(0), &json!(null), &json!(1))
    );
    rig.go(Pose { x: 1.0, ..Pose::default() });
    rig.see_room(4);
    let second = next();
    assert_eq!(second["cells"], rig.cells());
    assert_eq!(second["pose"]["x"], 1.0);
    assert!(second["age_ms"].as_u64().is_some_and(|age| age < 5000), "{second}");
    let min = second["bounds"]["min"][0].as_f64().unwrap();
    assert!((min + 2.0).abs() < 0.06, "{second}");
    // It was acknowledged: more than two come.
    for _ in 0..4 {
        rig.map(&["clear"]).ok();
        let cleared = next();
        assert_eq!(cleared["cells"], 0, "{cleared}");
    }
    assert_eq!(rig.robot.asked().iter().filter(|asked| **asked == Request::Clear).count(), 4);
}

#[test]
fn a_screen_shows_the_map_grow_at_any_size_and_leaves_nothing_behind() {
    let rig = Rig::start();
    let mut screen = rig.screen(80, 24, &[]);
    screen.await_frame("words", |frame| contains(frame, "there is no map yet"));
    rig.go(Pose { x: 0.5, ..Pose::default() });
    rig.see_room(4);
    let words = grouped(rig.cells());
    let small = screen.await_frame("a room", |frame| contains(frame, &words));
    assert!(contains(&small, "→") && small[0].contains("walker  x →  y ↑"), "{small:#?}");
    assert!(small[1..22].iter().any(|line| line.contains(is_braille)), "{small:#?}");
    screen.press("+++");
    screen.await_frame("it nearer", |frame| frame[1..22] != small[1..22]);
    screen.press("\x1b[Cfc");
    screen.await_frame("all of it", |frame| frame[1..22] == small[1..22]);
    for (columns, lines) in [(20, 6), (3, 2), (1, 1), (200, 60), (40, 9)] {
        screen.resize(columns, lines);
        let fits = |frame: &[String]| frame.len() == usize::from(lines) && contains(frame, "");
        screen.await_frame("the new size", fits);
    }
    screen.resize(80, 24);
    rig.see_room(10);
    let words = grouped(rig.cells());
    screen.await_frame("more of it", |frame| contains(frame, &words));
    rig.robot.inner.lock().unwrap().walking = true;
    screen.press(" ");
    until("the robot to stop", || (!rig.robot.is_walking()).then_some(()));
    rig.map(&["clear"]).ok();
    screen.await_frame("nothing", |frame| contains(frame, "map 0 cells"));
    screen.press("q");
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn a_daemon_that_goes_is_shown_and_the_next_one_found() {
    let rig = Rig::start();
    rig.see_room(4);
    let screen = rig.screen(100, 24, &[]);
    screen.await_frame("a room", |frame| contains(frame, &grouped(rig.cells())));
    let (lines, any) = (rig.at.lines, Some(([127, 0, 0, 1], 0).into()));
    drop(rig);
    let begin = Instant::now();
    screen.await_frame("its end", |frame| contains(frame, "lost the daemon"));
    assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
    let next = Rig::with(Config { tcp: None, lines, http: any, ..Config::default() });
    next.see_room(8);
    screen.await_frame("its map", |frame| contains(frame, &grouped(next.cells())));
    screen.press("q");
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn a_daemon_that_falls_silent_is_shown_within_a_second_or_so() {
    let fake = Fake::with_frames(|socket| {
        await_subscription(socket);
        send(socket, wall(&Header { sequence: 1, epoch: 1, ..Header::default() }));
    });
    let args = ["map", "watch", "--server", &fake.server()];
    let screen = Terminal::run(&fake.dir, 100, 24, &args);
    screen.await_frame("a wall", |frame| contains(frame, "map 100 cells"));
    let begin = Instant::now();
    screen.await_frame("silence", |frame| contains(frame, "the daemon has not answered for"));
    assert!(begin.elapsed() < DEADLINE / 6, "{:?}", begin.elapsed());
    screen.press("\x03");
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn frames_of_a_hostile_daemon_are_left_out() {
    let fake = Fake::with_frames(|socket| {
        await_subscription(socket);
        let good = wall(&Header { sequence: 9, epoch: 1, ..Header::default() });
        let changed = |place: usize, bytes: &[u8]| {
            let mut frame = good.clone();
            frame[place..place + bytes.len()].copy_from_slice(bytes);
            frame
        };
        for rubbish in [
            Vec::new(),
            b"rubbish".to_vec(),
            vec![0xff; 4096],
            good[..good.len() - 1].to_vec(),
            changed(4, &u32::MAX.to_le_bytes()),
            changed(2, &u16::MAX.to_le_bytes()),
            changed(1, &[9]),
            changed(56, &f64::NAN.to_le_bytes()),
            frame::cloud(&Header { unit: 1.0, ..Header::default() }, &[[1, 2, 3]]),
            frame::message(&Header::default(), b"no map"),
        ] {
            send(socket, rubbish);
        }
        for text in ["", "{", "[]", "{\"type\":\"Event\"}", "{\"type\":\"Reply\",\"ok\":true}"] {
            let _ = socket.send(Message::text(text));
        }
        // Places as odd as numbers can be.
        let far = Pose { x: 1e300, y: -1e300, z: 0.0, yaw: 1e300 };
        let odd = Header { sequence: 1, epoch: 7, pose: Some(far), ..Header::default() };
        let odd = Header { origin: [1e300, -1e300, 0.0], unit: 1e-300, ..odd };
        send(socket, frame::map(&odd, &vec![[65_535; 4]; MAP_POINTS + 1]));
        send(socket, frame::map(&odd, &vec![[65_535, 0, 65_535, 0]; MAP_POINTS + 1]));
        send(socket, good.clone());
    });
    let ended = fake.map(&["watch", "--once"]).ok();
    assert!(ended.stdout.contains("map 100 cells"), "{ended:?}");
    let endless = Fake::with_frames(|socket| {
        await_subscription(socket);
        send(socket, vec![0; 20 << 20]);
    });
    let ended = endless.map(&["watch", "--once"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("lost the daemon"), "{ended:?}");
}
