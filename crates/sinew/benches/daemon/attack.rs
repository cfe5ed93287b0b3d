//! How long a stop takes while clients do what they can against it: from the send to zero velocity
//! at the end of a line of 115200 baud.
//!
//! Attackers are processes of their own at the lowest priority; this one starts itself as such. A
//! stop that does not come counts as the longest time that is waited for it.

use std::{
    env,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use sinew_sim::vacuum::Received;
use sinew_wire::gd32;

use crate::{
    Bench, Distribution, Round, Row,
    attackers::{Attack, Target},
    client::Client,
    driver::Driver,
    heartbeat::Serve,
    line::Line,
    millis,
    priority::{lower_priority, raise_priority},
    process::{Meter, Process},
    raise_file_limit,
    stopper::{Stopper, Way},
    wait_for,
};

/// Says which attack this process is to run, and on which ports.
const ROLE: &str = "SINEW_BENCH_ATTACK";
/// Another build to be measured.
const BINARY: &str = "SINEW_BENCH_BINARY";

const TARGET: Duration = Duration::from_millis(50);
/// Stops by each port, by old connections and by new ones; under all attacks at once they are 200.
const STOPS: usize = 10;
const STOPS_AT_ONCE: usize = 25;
/// A stop that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// What an attack may take, so that the bench ends where nothing can be stopped any more.
const MOST: Duration = Duration::from_secs(40);
/// Below that of the thread at the line's end.
const PRIORITY: u8 = 50;
/// What an attacker does before it says that it is ready.
const WARM_UP: Duration = Duration::from_secs(5);
const READ_TOKEN: &str = "read-0123456789abcdef";

/// What attackers do, how many they are, and how often they do it before the first stop.
const BOMBS: Kind = Kind { name: "bombs", count: 3, strokes: 3 };
const FLOODS: Kind = Kind { name: "floods", count: 64, strokes: 64 };
const STRANGERS: Kind = Kind { name: "strangers", count: 4_200, strokes: 4_200 };
const DEAF: Kind = Kind { name: "deaf", count: 1_000, strokes: 1_000 };

#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    count: usize,
    strokes: u64,
}

/// Cases of the bench: attackers, and how fast the driver is.
const ATTACKS: [(&str, &[Kind], u32); 7] = [
    ("no attack", &[], 50),
    ("3 subscribe bombs", &[BOMBS], 50),
    ("64 floods of 1 MiB", &[FLOODS], 50),
    ("4,200 strangers", &[STRANGERS], 50),
    ("a driver at 2,000 Hz", &[], 2_000),
    ("1,000 that never read", &[DEAF], 50),
    ("all at once", &[BOMBS, FLOODS, STRANGERS, DEAF], 2_000),
];

pub(crate) fn bench(bench: &Bench) -> anyhow::Result<()> {
    let unprivileged: Serve = Process::serve_unprivileged;
    for (priority, serve) in [("", Process::serve as Serve), (", ordinary priority", unprivileged)]
    {
        for (attack, kinds, hz) in ATTACKS {
            let name = format!("stop under attack: {attack}{priority}");
            bench.once(&name, || {
                // On a thread of its own, which gets another priority.
                let measured = thread::spawn(move || under(serve, kinds, hz)).join();
                round(&measured.unwrap_or_else(|_| anyhow::bail!("the stopper panicked"))?)
            })?;
        }
    }
    Ok(())
}

fn round(Measured { stops, wanted, note }: &Measured) -> anyhow::Result<Round> {
    let times = Distribution::new(stops.iter().map(|stop| stop.took).collect())?;
    let largest = times.max();
    let figure = format!("{} / {}", millis(times.at(0.99)), millis(largest));
    let most = |is_one: &dyn Fn(&Stop) -> bool| {
        let most = stops.iter().filter(|stop| is_one(stop)).map(|stop| stop.took).max();
        most.map_or("none".into(), |most| format!("{:.1}", most.as_secs_f64() * 1e3))
    };
    let ports = Way::ALL.map(|way| most(&|stop| stop.way == way)).join(" / ");
    let ages = [true, false].map(|is_old| most(&|stop| stop.is_old == is_old)).join(" / ");
    Ok(Round {
        rows: vec![
            // What could not be tried was not reached.
            Row::new("p99 / max", figure)
                .with_target("max < 50 ms", largest < TARGET && times.len() == *wanted),
            Row::new("stops made", format!("{} of {wanted}", times.len())),
            Row::new("max on 5555 / 5556 / ws / by POST", format!("{ports} ms")),
            Row::new("max by old / by new connections", format!("{ages} ms")),
        ],
        note: note.clone(),
        rank: largest.as_secs_f64(),
    })
}

struct Measured {
    stops: Vec<Stop>,
    /// How many there should be.
    wanted: usize,
    note: String,
}

struct Stop {
    way: Way,
    is_old: bool,
    took: Duration,
}

/// Stops a robot again and again under an attack.
fn under(serve: Serve, kinds: &[Kind], hz: u32) -> anyhow::Result<Measured> {
    let tokens = tempfile::NamedTempFile::new()?;
    std::fs::write(&tokens, format!("control control-0123456789abcdef\nread {READ_TOKEN}\n"))?;
    let line = Line::start_serial(110)?;
    let binary = env::var_os(BINARY).unwrap_or(env!("CARGO_BIN_EXE_sinew").into());
    let path = tokens.path().to_string_lossy().into_owned();
    // A dead-man that is late cannot be taken for a stop.
    let options = ["--token-file", &path, "--deadman-ms", "2000"];
    let daemon = serve(&PathBuf::from(binary), &line.link(), &options)?;
    let target = Target {
        tcp: daemon.address("tcp")?,
        lines: daemon.address("lines")?,
        http: daemon.address("http")?,
        token: None,
    };
    Client::connect(target.lines)?.wait_until_ready()?;
    let driver = Driver::start(target.lines, None, hz)?;
    let mut track = Track { line, driver, target, old: Vec::new() };
    track.await_motion()?;
    for way in Way::ALL {
        track.old.push(Stopper::connect_old(way, &track.target)?);
    }
    let meter = Meter::start([&daemon])?;
    let attackers: Vec<_> =
        kinds.iter().map(|kind| Attackers::start(kind, &track.target)).collect::<Result<_, _>>()?;
    raise_priority(PRIORITY);
    let each = if kinds.len() > 1 { STOPS_AT_ONCE } else { STOPS };
    let wanted = each * Way::ALL.len() * 2;
    let stops = track.stops(wanted);
    let usage = meter.read()?;
    let resident = daemon.resident()? as f64 / 1e6;
    let real_time = if daemon.has_real_time_priority()? { "" } else { "no " };
    let strokes: Vec<_> = attackers.into_iter().map(Attackers::end).collect();
    let note = format!(
        "{real_time}real-time priority, {resident:.0} MB, attackers did: {}, {}",
        if strokes.is_empty() { "nothing".into() } else { strokes.join(" ") },
        usage.note()
    );
    Ok(Measured { stops, wanted, note })
}

/// A robot on its line, and those who drive and stop it.
struct Track {
    line: Line,
    driver: Driver,
    target: Target,
    old: Vec<Stopper>,
}

impl Track {
    fn stops(&mut self, count: usize) -> Vec<Stop> {
        let begin = Instant::now();
        let mut stops = Vec::new();
        for number in 0..count {
            if begin.elapsed() > MOST && !stops.is_empty() {
                break;
            }
            let place = number % Way::ALL.len();
            let is_old = (number / Way::ALL.len()).is_multiple_of(2);
            // Where the driver is not heard any more, no stop can be timed: it counts as the longest.
            if self.driver.enable().is_err() || self.await_motion().is_err() {
                stops.push(Stop { way: Way::ALL[place], is_old, took: PATIENCE });
                break;
            }
            // Each meets the beat at another time.
            thread::sleep(Duration::from_micros(1_000 * (number as u64 * 7 % 20)));
            let took = self.stop(place, is_old);
            stops.push(Stop { way: Way::ALL[place], is_old, took });
        }
        stops
    }

    /// From the send, or the attempt to connect, to zero velocity.
    fn stop(&mut self, place: usize, is_old: bool) -> Duration {
        let way = Way::ALL[place];
        if is_old
            && self.old.get(place).is_none_or(Stopper::is_ended)
            && let (Some(old), Ok(again)) =
                (self.old.get_mut(place), Stopper::connect_old(way, &self.target))
        {
            *old = again;
        }
        while self.line.frames.try_recv().is_ok() {}
        let begin = Instant::now();
        let mut own = None;
        if is_old {
            let _ = self.old.get_mut(place).map(Stopper::stop);
        } else if let Ok(mut stopper) = Stopper::connect(way, &self.target) {
            let _ = stopper.stop();
            own = Some(stopper);
        }
        let stands = |frame: &Received| frame.at >= begin && is_motion(frame) && !moves(frame);
        let took = self.await_frame(begin + PATIENCE, stands).map(|frame| frame.at - begin);
        drop(own);
        took.unwrap_or(PATIENCE)
    }

    fn await_motion(&self) -> anyhow::Result<()> {
        let begin = Instant::now();
        // A stall may keep the driver from driving; that is what is measured.
        wait_for("the robot to move", || {
            if begin.elapsed() > PATIENCE {
                self.driver.enable()?;
            }
            let patience = Instant::now() + PATIENCE;
            Ok(self.await_frame(patience, |frame| frame.at >= begin && moves(frame)).is_some())
        })
    }

    fn await_frame(
        &self,
        patience: Instant,
        is_it: impl Fn(&Received) -> bool,
    ) -> Option<Received> {
        loop {
            let left = patience.saturating_duration_since(Instant::now());
            match self.line.frames.recv_timeout(left) {
                Ok(frame) if is_it(&frame) => return Some(frame),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }
}

fn is_motion(frame: &Received) -> bool {
    [gd32::Command::MotorVelocity, gd32::Command::MotorSpeed].contains(&frame.command())
}

fn moves(frame: &Received) -> bool {
    is_motion(frame) && frame.payload().iter().any(|&byte| byte != 0)
}

/// A process of attackers.
struct Attackers {
    child: Child,
    name: &'static str,
}

impl Attackers {
    fn start(kind: &Kind, target: &Target) -> anyhow::Result<Self> {
        let Target { tcp, lines, http, .. } = target;
        let role = format!("{} {tcp} {lines} {http}", kind.name);
        let mut child = Command::new(env::current_exe()?)
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.as_mut().context("no output")?;
        // It says one line when it has begun.
        let mut byte = [0];
        while stdout.read_exact(&mut byte).is_ok() && byte != *b"\n" {}
        Ok(Attackers { child, name: kind.name })
    }

    /// Ends it; what it did.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut strokes = String::new();
        if let Some(stdout) = self.child.stdout.take() {
            let _ = BufReader::new(stdout).read_line(&mut strokes);
        }
        format!("{} {}", self.name, strokes.trim())
    }
}

impl Drop for Attackers {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs an attack if this process was started for one, until its input ends; whether it was.
pub(crate) fn run_as_attacker() -> anyhow::Result<bool> {
    let Ok(role) = env::var(ROLE) else { return Ok(false) };
    let [name, tcp, lines, http] = *role.split(' ').collect::<Vec<_>>() else {
        anyhow::bail!("{ROLE}: wanted an attack and three addresses, got {role}");
    };
    let token = (name == BOMBS.name).then(|| READ_TOKEN.to_owned());
    let target = Target { tcp: tcp.parse()?, lines: lines.parse()?, http: http.parse()?, token };
    lower_priority()?;
    raise_file_limit()?;
    let (attack, kind) = match name {
        "bombs" => (Attack::bombs(&target, BOMBS.count), BOMBS),
        "floods" => (Attack::floods(&target, FLOODS.count), FLOODS),
        "strangers" => (Attack::strangers(&target, STRANGERS.count), STRANGERS),
        "deaf" => (Attack::deaf(&target, DEAF.count), DEAF),
        _ => anyhow::bail!("{ROLE}: no attack is named {name}"),
    };
    let begin = Instant::now();
    while attack.strokes() < kind.strokes && begin.elapsed() < WARM_UP {
        thread::sleep(Duration::from_millis(10));
    }
    println!("ready");
    let mut rest = String::new();
    std::io::stdin().read_to_string(&mut rest)?;
    println!("{}", attack.strokes());
    Ok(true)
}
