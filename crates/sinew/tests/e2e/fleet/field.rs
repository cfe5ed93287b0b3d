//! What the fleet's tests are made of: daemons on hosts of their own, a client that drives, and what
//! reached the wheels.

use std::{
    cell::RefCell,
    io::{BufRead, BufReader, Write},
    net::{Shutdown, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    clients::{Lines, Socket, auth, configure, control},
    net::Host,
    support::{CONTROL_TOKEN, Dir, Ended, Process, Record, sinew, until},
};

/// Where a fleet of one host is.
pub(super) const HERE: &str = "tcp/127.0.0.1:7447";
/// How long a velocity counts.
pub(super) const DEADMAN: Duration = Duration::from_millis(300);
/// What a busy machine may add to anything.
pub(super) const SLACK: Duration = Duration::from_millis(300);
/// After so long Zenoh takes what is silent for gone.
pub(super) const LEASE: Duration = Duration::from_secs(2);
/// How often a velocity is sent.
const PERIOD: Duration = Duration::from_millis(50);
/// What the first velocity of a driver is on the wire, in thousandths of a radian a second.
const FIRST: i32 = 100;
/// How many differ: after these the first comes again.
const VELOCITIES: i32 = 800;

/// A daemon on a host.
pub(super) struct Daemon {
    pub(super) process: Process,
    ready: Value,
    pub(super) host: Host,
    pub(super) dir: Dir,
    arguments: Vec<String>,
}

impl Daemon {
    /// A daemon with more arguments for `sinew serve`; it listens on loopback only.
    pub(super) fn start(host: &Host, arguments: &[&str]) -> Self {
        Self::within(Dir::new(), host, arguments)
    }

    /// The same in a directory that has files for it.
    pub(super) fn within(dir: Dir, host: &Host, arguments: &[&str]) -> Self {
        let arguments: Vec<_> = arguments.iter().map(|&text| text.to_owned()).collect();
        let (process, ready) = serve(&dir, host, &arguments);
        Daemon { process, ready, host: host.clone(), dir, arguments }
    }

    /// Starts it anew where it has ended.
    pub(super) fn restart(&mut self) {
        (self.process, self.ready) = serve(&self.dir, &self.host, &self.arguments);
    }

    pub(super) fn address(&self, port: &str) -> &str {
        self.ready[port].as_str().unwrap()
    }

    /// A client of its JSON lines.
    pub(super) fn lines(&self) -> Lines {
        let address = self.address("lines");
        let mut lines = self.host.inside(|| Lines::connect(address));
        if self.arguments.iter().any(|argument| argument == "--token-file") {
            lines.ok(auth(CONTROL_TOKEN));
        }
        lines
    }

    pub(super) fn socket(&self) -> Socket {
        let address = self.address("http");
        self.host.inside(|| Socket::connect(address))
    }

    /// A command line that asks it.
    pub(super) fn cli(&self, arguments: &[&str]) -> Ended {
        let server = ["--server", self.address("lines")];
        run_on(&self.host, &self.dir, &[arguments, &server].concat())
    }

    /// Waits until a robot that it offers is as it should be, and gives its report.
    #[track_caller]
    pub(super) fn until(&self, robot: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let mut client = self.lines();
        until(&format!("{robot} to be {what}"), || {
            try_robot(&mut client, robot).filter(|report| is(report))
        })
    }

    pub(super) fn until_ready(&self, robots: &[&str]) {
        for robot in robots {
            self.until(robot, "ready", |report| report["link"]["state"] == "ready");
        }
    }
}

fn serve(dir: &Dir, host: &Host, arguments: &[String]) -> (Process, Value) {
    let mut command = sinew(dir);
    command.args(["serve", "--json", "--tcp", "off"]);
    for port in ["--lines", "--http"] {
        command.args([port, "127.0.0.1:0"]);
    }
    let process = Process::spawn(host.within(command).args(arguments));
    let ready = process.ready();
    (process, ready)
}

/// Runs `sinew` on a host to its end.
pub(super) fn run_on(host: &Host, dir: &Dir, arguments: &[&str]) -> Ended {
    Process::spawn(host.within(sinew(dir)).args(arguments)).wait()
}

/// A robot as a daemon tells of it, if it has it.
pub(super) fn try_robot(client: &mut Lines, name: &str) -> Option<Value> {
    let robots = client.ok(json!({ "type": "Robots" }));
    robots["robots"].as_array().unwrap().iter().find(|robot| robot["name"] == name).cloned()
}

/// A message for a robot.
pub(super) fn to(robot: &str, mut message: Value) -> Value {
    message["robot"] = robot.into();
    message
}

pub(super) fn enable() -> Value {
    control("drive", "Enable")
}

/// The n-th velocity of a driver: a turn in place, which meets no wall.
pub(super) fn velocity(number: usize) -> Value {
    let turn = f64::from(turn_of(number)) / 1000.0;
    configure("drive", json!({ "linear": { "F32": 0.0 }, "angular": { "F32": turn } }))
}

/// What the n-th velocity is on the wire.
fn turn_of(number: usize) -> i32 {
    FIRST + i32::try_from(number).unwrap() % VELOCITIES
}

/// A client that sends velocities, each another one, until it is dropped.
pub(super) struct Driver {
    pub(super) socket: TcpStream,
    silent: Arc<AtomicBool>,
    log: Arc<Mutex<Log>>,
    threads: Vec<JoinHandle<()>>,
}

/// What became of a driver's velocities.
#[derive(Default)]
pub(super) struct Log {
    /// When each was sent.
    pub(super) sent: Vec<Instant>,
    pub(super) accepted: usize,
    /// Codes and messages.
    pub(super) refused: Vec<(String, String)>,
}

impl Driver {
    /// Enables the robot, then drives it.
    #[track_caller]
    pub(super) fn start(daemon: &Daemon, robot: &str) -> Self {
        let mut client = daemon.lines();
        until(&format!("{robot} to be enabled"), || {
            (client.ask(to(robot, enable()))["ok"] == true).then_some(())
        });
        Self::drive(client, robot)
    }

    /// Drives with a client that is there.
    pub(super) fn drive(client: Lines, robot: &str) -> Self {
        let socket = client.socket.try_clone().unwrap();
        let (silent, log) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Log>>::default());
        let answers = BufReader::new(socket.try_clone().unwrap());
        // It waits for as long as nothing comes.
        socket.set_read_timeout(None).unwrap();
        let heard = Arc::clone(&log);
        let reader = thread::spawn(move || {
            for line in answers.lines().map_while(Result::ok) {
                let answer: Value = serde_json::from_str(&line).unwrap();
                let mut log = heard.lock().unwrap();
                match &answer["error"] {
                    Value::Null if answer["type"] == "Reply" => log.accepted += 1,
                    Value::Null => {}
                    error => log.refused.push((text(&error["code"]), text(&error["message"]))),
                }
            }
        });
        let (mut writing, quiet, told) =
            (socket.try_clone().unwrap(), Arc::clone(&silent), Arc::clone(&log));
        let robot = robot.to_owned();
        let writer = thread::spawn(move || {
            // What it was asked before is none of this one's.
            let _client = client;
            let begin = Instant::now();
            for number in 0.. {
                let due = begin + PERIOD * u32::try_from(number).unwrap();
                thread::sleep(due.saturating_duration_since(Instant::now()));
                if quiet.load(Ordering::Acquire) {
                    return;
                }
                let mut message = to(&robot, velocity(number));
                message["req"] = number.into();
                told.lock().unwrap().sent.push(Instant::now());
                if writing.write_all(format!("{message}\n").as_bytes()).is_err() {
                    return;
                }
            }
        });
        Driver { socket, silent, log, threads: vec![reader, writer] }
    }

    /// Sends no more; the connection stays.
    pub(super) fn fall_silent(&self) {
        self.silent.store(true, Ordering::Release);
    }

    pub(super) fn log(&self) -> std::sync::MutexGuard<'_, Log> {
        self.log.lock().unwrap()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.fall_silent();
        let _ = self.socket.shutdown(Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What reached a vacuum's wheels, by the daemon's record of the line.
pub(super) struct Wheels {
    record: RefCell<Record>,
    /// When the record's clock began, or a little later.
    zero: Instant,
}

/// How long it is looked how the record's clock stands to ours.
const LOOK: Duration = Duration::from_millis(200);

impl Wheels {
    /// Those of the daemon's only robot; it has to be recording.
    pub(super) fn of(daemon: &Daemon) -> Self {
        Self::open(&daemon.dir.join("record.csv"))
    }

    fn open(path: &Path) -> Self {
        let mut record = Record::open(path);
        let newest = |record: &mut Record| record.read().last().map(|frame| frame.at);
        until("a frame", || newest(&mut record));
        let (begin, mut zero) = (Instant::now(), Instant::now());
        while begin.elapsed() < LOOK {
            // A frame is read after it was written: the earliest is the closest.
            let now = Instant::now();
            let at = Duration::from_micros(newest(&mut record).unwrap());
            zero = zero.min(now.checked_sub(at).unwrap());
            thread::sleep(Duration::from_millis(1));
        }
        Wheels { record: RefCell::new(record), zero }
    }

    /// All motion so far: when, and which turn.
    pub(super) fn motion(&self) -> Vec<(Instant, i32)> {
        let mut record = self.record.borrow_mut();
        let frames = record.read().iter().filter(|frame| matches!(frame.command(), 0x66 | 0x67));
        let moving = frames.filter(|frame| frame.bytes[4..12].iter().any(|byte| *byte != 0));
        let turn = |bytes: &[u8]| i32::from_le_bytes(bytes[8..12].try_into().unwrap());
        moving.map(|frame| (self.at(frame.at), turn(&frame.bytes))).collect()
    }

    fn at(&self, micros: u64) -> Instant {
        self.zero + Duration::from_micros(micros)
    }

    /// Waits until the wheels turn after a moment.
    #[track_caller]
    pub(super) fn await_motion(&self, after: Instant) {
        until("the wheels to turn", || {
            self.motion().last().is_some_and(|(at, _)| *at > after).then_some(())
        });
    }

    /// Waits until the record is past a moment, and asserts that the wheels stood still by `latest`, and ever
    /// since; how long after `begin` they turned last.
    #[track_caller]
    pub(super) fn assert_still(
        &self,
        begin: Instant,
        latest: Duration,
        observed: Duration,
    ) -> Duration {
        until("the record", || {
            let newest = self.record.borrow_mut().read().last().unwrap().at;
            (self.at(newest) > begin + latest + observed).then_some(())
        });
        let last = self.motion().last().expect("it moved before").0;
        let took = last.saturating_duration_since(begin);
        assert!(took <= latest, "the wheels turned until {took:?} after it");
        took
    }

    /// By how much each velocity of a driver was late when it first acted, and when it last did.
    pub(super) fn ages(&self, log: &Log) -> Vec<(Duration, Duration)> {
        let motion = self.motion();
        let mut ages = Vec::new();
        for (number, sent) in log.sent.iter().enumerate().take(VELOCITIES as usize) {
            let acts = motion.iter().filter(|(_, turn)| *turn == turn_of(number));
            let mut times = acts.map(|(at, _)| at.saturating_duration_since(*sent));
            if let Some(first) = times.next() {
                ages.push((first, times.next_back().unwrap_or(first)));
            }
        }
        ages
    }
}
