//! `sinew map` and a daemon whose robot does what the test says.

mod fake;
mod record;
mod save;
mod watch;

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock},
    thread,
};

use serde_json::{Value, json};
use sinew_io::maps::Maps;
use sinew_robot::{
    Code, Order, Refusal,
    capability::{Audience, Boxed, Driver, Frames, Mapping, Report, Robot, Task},
    mapping::{Event, Format, Info, Pose, Request},
};
use sinew_server::{Addresses, Config, Server, Tokens};
use tokio::sync::oneshot;

use self::watch::Made;
use crate::support::{CONTROL_TOKEN, Dir, Process, READ_TOKEN, run, until};

/// A robot that walks until it is told that it is there.
struct Walker {
    audience: Arc<dyn Audience>,
    maps: Maps,
    made: Arc<Made>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    asked: Vec<Request>,
    walking: bool,
    is_down: bool,
}

/// What the robot stores.
const MAP: &[u8] = b"# .PCD v0.7\nnot a short one\n";
const REPEATED: usize = 20_000;

impl Walker {
    fn is_walking(&self) -> bool {
        self.inner.lock().unwrap().walking
    }

    fn asked(&self) -> Vec<Request> {
        self.inner.lock().unwrap().asked.clone()
    }

    fn has_ended(&self, arrived: bool, why: Option<&str>) {
        if std::mem::take(&mut self.inner.lock().unwrap().walking) {
            let why = why.map(Into::into);
            self.audience.event(json!(Event::WalkEnded { arrived, why }));
            self.audience.changed();
        }
    }

    fn lose_link(&self) {
        self.inner.lock().unwrap().is_down = true;
        self.audience.changed();
    }

    fn carry_out(&self, request: &Request) -> Result<Value, Refusal> {
        self.inner.lock().unwrap().asked.push(request.clone());
        Ok(match request {
            Request::GoTo { .. } | Request::Resume => {
                self.inner.lock().unwrap().walking = true;
                self.audience.changed();
                json!({ "note": "it looks out for obstacles itself" })
            }
            Request::Pause => {
                self.inner.lock().unwrap().walking = false;
                json!({})
            }
            Request::Info => {
                let begun = Pose { x: 1.0, y: -2.0, z: 0.0, yaw: 0.0 };
                let pose = Some(self.made.pose().unwrap_or(begun));
                json!(Info { mapping: true, clouds: 7, pose, ..Info::default() })
            }
            Request::Stop { name } if name.as_deref() == Some("here") => {
                json!({ "note": "the daemon has it until the next one begins" })
            }
            Request::Stop { name } => json!({ "name": name.as_deref().unwrap_or("2026-11-17") }),
            Request::Relocate { map, .. } => json!({ "map": map }),
            Request::Download { name } if name == "none" => {
                return Err(Refusal::new(Code::NotFound, "the robot has no such map"));
            }
            Request::Download { name } => {
                let map = MAP.repeat(REPEATED);
                let file = self.maps.keep(name, &map).unwrap();
                json!({ "name": name, "file": file, "bytes": map.len() })
            }
            Request::Save { format } => json!({ "format": format }),
            Request::Clear => {
                self.made.clear();
                self.audience.blocks_changed("map");
                json!({})
            }
            Request::Start | Request::Close => json!({}),
        })
    }
}

impl Driver for Walker {
    fn order(&self, _: &Order) {
        self.has_ended(false, Some("an order came"));
    }

    fn report(&self) -> Report {
        let inner = self.inner.lock().unwrap();
        let state = json!({ "walking": inner.walking });
        Report {
            link: json!({ "state": if inner.is_down { "lost" } else { "ready" } }),
            fresh: true,
            stopped_by: None,
            since_seen: None,
            state: state.as_object().unwrap().clone(),
            figures: Vec::new(),
        }
    }

    fn shut_down(&self) {}
}

/// What the server asks is asked of the one behind it.
struct Asks(Arc<Walker>);

impl Mapping for Asks {
    fn map(&self, request: Request) -> Result<Task, Refusal> {
        let walker = Arc::clone(&self.0);
        Ok(Task::new(request.nature(), |_| async move { walker.carry_out(&request) }))
    }

    fn downloaded(&self, name: &str) -> Option<PathBuf> {
        self.0.maps.file(name)
    }

    fn export(&self, format: Format) -> Boxed<'static, Result<Vec<u8>, Refusal>> {
        Box::pin(async move { Ok(format.name().into()) })
    }
}

/// A daemon with such a robot, until the test ends.
struct Rig {
    dir: Dir,
    robot: Arc<Walker>,
    at: Addresses,
    _end: oneshot::Sender<()>,
}

impl Rig {
    fn start() -> Self {
        let any = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        Self::with(Config { tcp: None, lines: any, http: any, ..Config::default() })
    }

    fn with(config: Config) -> Self {
        let dir = Dir::new();
        let mut server = Server::bind(config).unwrap();
        let robot = OnceLock::new();
        let add = |audience: Arc<dyn Audience>, _| {
            let maps = Maps::new(dir.join("maps"));
            let (made, inner) = (Arc::default(), Mutex::default());
            let walker = Arc::new(Walker { audience, maps, made, inner });
            let mut made = Robot::new("walker");
            made.drivers.push(("walker", walker.clone()));
            made.frames.push(("map", Frames::Blocks(walker.made.clone())));
            made.frames.push(("messages", Frames::All));
            made.mapping = Some(Arc::new(Asks(walker.clone())));
            robot.get_or_init(|| walker);
            Ok::<_, std::io::Error>(made)
        };
        server.add("walker", add).unwrap();
        let mut at = server.addresses();
        for port in [&mut at.lines, &mut at.http].into_iter().flatten() {
            port.set_ip([127, 0, 0, 1].into());
        }
        let (end, ended) = oneshot::channel::<()>();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
            runtime.unwrap().block_on(server.run(async { drop(ended.await) })).unwrap();
        });
        Rig { dir, robot: robot.into_inner().unwrap(), at, _end: end }
    }

    /// The arguments for a command to this daemon.
    fn command<'a>(&self, args: &[&'a str], server: &'a str) -> Vec<&'a str> {
        [&["map"], args, &["--server", server]].concat()
    }

    fn start_map(&self, args: &[&str]) -> Process {
        let server = self.at.lines.unwrap().to_string();
        Process::sinew(&self.dir, &self.command(args, &server))
    }

    fn map(&self, args: &[&str]) -> crate::support::Ended {
        self.start_map(args).wait()
    }

    fn until_it_walks(&self) {
        until("it walks", || self.robot.is_walking().then_some(()));
    }
}

const GOAL: Pose = Pose { x: 1.5, y: -2.0, z: 0.0, yaw: -0.5 };

#[test]
fn a_walk_lasts_until_the_robot_is_there() {
    let rig = Rig::start();
    let mut walk = rig.start_map(&["go-to", "1.5", "-2", "-0.5", "--yes"]);
    rig.until_it_walks();
    rig.robot.has_ended(true, None);
    let ended = walk.wait().ok();
    assert!(ended.stderr.contains("note: it looks out for obstacles itself"), "{ended:?}");
    assert!(ended.stderr.ends_with("the robot is there\n"), "{ended:?}");
    assert_eq!(rig.robot.asked(), [Request::GoTo { pose: GOAL }]);
}

#[test]
fn a_walk_that_ends_early_fails_and_says_why() {
    let rig = Rig::start();
    let mut walk = rig.start_map(&["resume", "--json"]);
    rig.until_it_walks();
    rig.robot.has_ended(false, Some("a wall"));
    let ended = walk.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(ended.stderr, "error: the robot is not there: a wall\n");
    let lines: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let event = json!({ "event": "walk_ended", "arrived": false, "why": "a wall" });
    assert_eq!(lines, [json!({ "note": "it looks out for obstacles itself" }), event]);
    let mut walk = rig.start_map(&["resume"]);
    rig.until_it_walks();
    rig.robot.lose_link();
    let ended = walk.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("no contact to "), "{ended:?}");
}

#[test]
fn a_signal_pauses_the_robot_first() {
    for signal in ["INT", "TERM"] {
        let rig = Rig::start();
        let mut walk = rig.start_map(&["go-to", "1.5", "-2", "-0.5", "--confirm"]);
        rig.until_it_walks();
        walk.signal(signal);
        let ended = walk.wait();
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("`sinew map resume` walks on"), "{ended:?}");
        assert_eq!(rig.robot.asked(), [Request::GoTo { pose: GOAL }, Request::Pause]);
        assert!(!rig.robot.is_walking());
    }
}

#[test]
fn a_walk_ends_with_its_command() {
    let rig = Rig::start();
    let mut walk = rig.start_map(&["resume"]);
    rig.until_it_walks();
    walk.kill();
    until("it stands", || (!rig.robot.is_walking()).then_some(()));
    assert_eq!(rig.robot.asked(), [Request::Resume]);
}

#[test]
fn nothing_walks_that_was_not_confirmed() {
    let rig = Rig::start();
    let ended = rig.map(&["go-to", "1", "2"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("add --confirm if it is meant"), "{ended:?}");
    for args in [&["go-to", "1"][..], &["go-to", "1", "nan", "--yes"], &["go-to", "1", "2", "inf"]]
    {
        let ended = rig.map(args);
        assert_eq!(ended.code, Some(2), "{ended:?}");
    }
    assert_eq!(rig.robot.asked(), []);
}

#[test]
fn the_rest_is_asked_and_told() {
    let rig = Rig::start();
    let told = |args: &[&str]| rig.map(args).ok();
    assert!(told(&["start"]).stderr.contains("the map begins; `sinew map watch` shows it"));
    assert!(told(&["stop", "flat"]).stderr.contains("the robot has stored it as flat"));
    let kept = told(&["stop", "here"]).stderr;
    assert!(kept.contains("`sinew map save OUT` writes it to a file"), "{kept}");
    assert!(kept.contains("note: the daemon has it until"), "{kept}");
    assert!(told(&["clear"]).stderr.contains("the map that was made here is gone"));
    assert_eq!(told(&["stop", "--json"]).json(), json!({ "name": "2026-11-17" }));
    let info = told(&["info"]).stdout;
    assert_eq!(info, "robot    makes a map\npose     x 1.00 m, y -2.00 m, facing 0°\nclouds   7\n");
    assert_eq!(told(&["info", "--json"]).json()["clouds"], 7);
    assert!(told(&["relocate", "flat", "0", "-1"]).stderr.contains("has loaded flat"));
    assert!(told(&["pause"]).stderr.contains("the robot stands"));
    assert!(told(&["close"]).stderr.contains("neither maps nor walks"));
    let pose = Pose { y: -1.0, ..Pose::default() };
    let asked = [
        Request::Start,
        Request::Stop { name: Some("flat".into()) },
        Request::Stop { name: Some("here".into()) },
        Request::Clear,
        Request::Stop { name: None },
        Request::Info,
        Request::Info,
        Request::Relocate { map: "flat".into(), pose },
        Request::Pause,
        Request::Close,
    ];
    assert_eq!(rig.robot.asked(), asked);
    let wrong = rig.map(&["stop", "../flat"]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.stderr.contains("no slashes"), "{wrong:?}");
}

#[test]
fn a_map_is_fetched_whole_and_over_no_other_file() {
    let rig = Rig::start();
    let map = MAP.repeat(REPEATED);
    let kept = rig.map(&["download", "the flat", "--json"]).ok().json();
    assert_eq!(kept["bytes"], map.len());
    assert_eq!(fs::read(kept["file"].as_str().unwrap()).unwrap(), map);
    let ended = rig.map(&["download", "the flat", "flat.pcd"]).ok();
    assert!(ended.stderr.contains("wrote the flat to flat.pcd"), "{ended:?}");
    assert_eq!(fs::read(rig.dir.join("flat.pcd")).unwrap(), map);
    fs::write(rig.dir.join("flat.pcd"), "mine").unwrap();
    let asked = rig.robot.asked().len();
    let ended = rig.map(&["download", "the flat", "flat.pcd"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("--force writes over it"), "{ended:?}");
    assert_eq!(fs::read(rig.dir.join("flat.pcd")).unwrap(), b"mine");
    assert_eq!(rig.robot.asked().len(), asked);
    rig.map(&["download", "the flat", "flat.pcd", "--force"]).ok();
    assert_eq!(fs::read(rig.dir.join("flat.pcd")).unwrap(), map);
    let out = rig.map(&["download", "the flat", "-"]).ok();
    assert_eq!(out.stdout.as_bytes(), map);
    let ended = rig.map(&["download", "none", "none.pcd"]);
    assert!(ended.stderr.contains("the robot has no such map"), "{ended:?}");
    assert!(!rig.dir.join("none.pcd").exists());
}

#[test]
fn a_map_is_fetched_with_the_token_that_was_given() {
    let tokens = format!("control {CONTROL_TOKEN}\nread {READ_TOKEN}\n");
    let tokens = Tokens::parse(&tokens).unwrap();
    let all = Some(SocketAddr::from(([0, 0, 0, 0], 0)));
    let open = Config { tcp: None, lines: all, http: all, ..Config::default() };
    let rig = Rig::with(Config { tokens: tokens.clone(), ..open.clone() });
    let ended = rig.map(&["download", "flat", "flat.pcd", "--token", CONTROL_TOKEN]);
    assert_eq!(fs::read(rig.dir.join("flat.pcd")).unwrap(), MAP.repeat(REPEATED), "{ended:?}");
    assert!(!ended.stderr.contains(CONTROL_TOKEN));
    let ended = rig.map(&["download", "flat", "other.pcd", "--token", READ_TOKEN]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    // Without HTTP it stays where it is, and the answer says where.
    let rig = Rig::with(Config { http: None, tokens, ..open });
    let ended = rig.map(&["download", "flat", "flat.pcd", "--token", CONTROL_TOKEN]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("maps/flat.pcd"), "{ended:?}");
}

#[test]
fn a_robot_that_cannot_map_says_so() {
    // One without a lidar.
    let dir = Dir::new();
    let robot = Process::sinew(&dir, &["sim", "vacuum", "--symlink", "port", "--json"]);
    robot.ready();
    let link = format!("crl200s=serial:{}", dir.join("port").display());
    let ended = run(&dir, &["map", "info", "--link", &link]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("vacuum cannot map"), "{ended:?}");
}
