//! What a fleet costs: a hub between a client and a robot's daemon, and robots by the hundred.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Command,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::Context;
use serde_json::{Value, json};

use crate::{
    Bench, Distribution, Round, Row, micros, millis,
    process::{Meter, Process},
};

/// Requests of each kind of connection.
const REQUESTS: usize = 500;
/// Readings a second, and for how long they are read.
const READINGS: (u32, Duration) = (100, Duration::from_secs(5));
/// Robots of a daemon.
const EACH: usize = 10;
/// How long a fleet is looked at.
const LOOK: Duration = Duration::from_secs(10);
/// How long robots are driven at most, and how many of them: what moves tells its state ten times a second, and all of
/// it runs on the cores of this machine.
const DRIVEN: (Duration, usize) = (Duration::from_secs(8), 50);
/// How long a fleet may take to be there.
const PATIENCE: Duration = Duration::from_secs(180);

pub(crate) fn bench(bench: &Bench) -> anyhow::Result<()> {
    bench.once("fleet: a hub beside a direct connection", overhead)?;
    for robots in [10, 50, 200] {
        bench.once(&format!("fleet: {robots} robots"), || scale(robots))?;
    }
    Ok(())
}

/// A hub that the others connect to.
struct Hub {
    process: Process,
    port: u16,
}

impl Hub {
    fn start() -> anyhow::Result<Self> {
        // Free a moment ago: the bench is alone on this machine.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let listen = format!("tcp/127.0.0.1:{port}");
        let any = "127.0.0.1:0";
        let process = Process::sinew(&[
            "serve",
            "--hub",
            "--fleet-name",
            "hub",
            "--fleet-listen",
            &listen,
            "--tcp",
            "off",
            "--lines",
            any,
            "--http",
            any,
        ])?;
        Ok(Hub { process, port })
    }

    /// A daemon with these robots.
    fn daemon(&self, name: &str, robots: &[String]) -> anyhow::Result<Process> {
        let endpoint = format!("tcp/127.0.0.1:{}", self.port);
        let mut args =
            vec!["serve", "--fleet", &endpoint, "--fleet-name", name, "--lines", "127.0.0.1:0"];
        args.extend(["--tcp", "off", "--http", "off"]);
        robots.iter().for_each(|robot| args.extend(["--link", robot]));
        Process::sinew(&args)
    }

    /// Bytes that came to it from the fleet, and that it sent there.
    fn bytes(&self) -> anyhow::Result<(u64, u64)> {
        let filter = format!("( sport = :{} )", self.port);
        let output =
            Command::new("ss").args(["-tinH", "state", "established"]).arg(filter).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let sum = |name: &str| {
            let numbers = text
                .split_whitespace()
                .filter_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
            numbers.filter_map(|number| number.parse::<u64>().ok()).sum()
        };
        Ok((sum("bytes_received"), sum("bytes_sent")))
    }
}

/// A client of JSON lines that reads whatever comes.
struct Lines {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Lines {
    fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let writer = TcpStream::connect(address)?;
        writer.set_nodelay(true)?;
        writer.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Lines { reader: BufReader::new(writer.try_clone()?), writer })
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        Ok(writeln!(self.writer, "{message}")?)
    }

    fn next(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        serde_json::from_str(&line).context("the daemon sent no JSON")
    }

    /// Asks, and gives the reply.
    fn ask(&mut self, mut message: Value) -> anyhow::Result<Value> {
        message["req"] = 1.into();
        self.send(&message)?;
        loop {
            let reply = self.next()?;
            if reply["type"] == "Reply" {
                return Ok(reply);
            }
        }
    }

    fn robots(&mut self) -> anyhow::Result<Vec<Value>> {
        let reply = self.ask(json!({ "type": "Robots" }))?;
        Ok(reply["data"]["robots"].as_array().cloned().unwrap_or_default())
    }

    fn wait_until_ready(&mut self, count: usize) -> anyhow::Result<Duration> {
        let begin = Instant::now();
        loop {
            let robots = self.robots()?;
            let ready = robots.iter().filter(|robot| robot["link"]["state"] == "ready").count();
            if ready >= count {
                return Ok(begin.elapsed());
            }
            anyhow::ensure!(begin.elapsed() < PATIENCE, "{ready} of {count} robots are ready");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn overhead() -> anyhow::Result<Round> {
    let hub = Hub::start()?;
    let link = format!("crl200s=sim:?rate={}", READINGS.0);
    let daemon = hub.daemon("one", &[link])?;
    let places = [daemon.address("lines")?, hub.process.address("lines")?];
    for place in places {
        Lines::connect(place)?.wait_until_ready(1)?;
    }
    let mut rows = Vec::new();
    for (place, what) in
        places.into_iter().zip(["request and reply, direct", "the same by the hub"])
    {
        let times = requests(place)?;
        let (median, most) = (times.at(0.5), times.at(0.99));
        rows.push(Row::new(what, format!("p50 {}, p99 {}", micros(median), micros(most))));
    }
    let meter = Meter::start([&hub.process, &daemon])?;
    let (direct, by_hub) = readings(places)?;
    let usage = meter.read()?;
    let seconds = READINGS.1.as_secs_f64();
    for (what, times) in [("age of a reading, direct", &direct), ("the same by the hub", &by_hub)] {
        let shown = format!("p50 {}, p99 {}", micros(times.at(0.5)), micros(times.at(0.99)));
        rows.push(Row::new(what, shown));
    }
    let count = by_hub.len() as f64;
    let lost = direct.len().saturating_sub(by_hub.len());
    rows.push(Row::new("readings by the hub, and fewer than direct", format!("{count}, {lost}")));
    let each = usage.daemon * seconds / count * 1e6;
    rows.push(Row::new("the hub's processor time a reading", format!("{each:.0} us")));
    Ok(Round { rows, note: usage.note(), rank: each })
}

/// How long it takes until a light is switched.
fn requests(place: SocketAddr) -> anyhow::Result<Distribution> {
    let mut client = Lines::connect(place)?;
    let mut times = Vec::new();
    for number in 0..REQUESTS {
        let config = json!({ "state": number % 19 });
        let action = json!({ "type": "Configure", "config": config });
        let begin = Instant::now();
        let reply =
            client.ask(json!({ "type": "ComponentControl", "id": "led", "action": action }))?;
        anyhow::ensure!(reply["ok"] == true, "refused: {reply}");
        times.push(begin.elapsed());
    }
    // The first has to be known there: that is paid once.
    Distribution::new(times.split_off(1))
}

/// How old readings are when they come, on both connections at once.
fn readings(places: [SocketAddr; 2]) -> anyhow::Result<(Distribution, Distribution)> {
    let read = |place| {
        let mut client = Lines::connect(place)?;
        client.send(&json!({ "type": "Subscribe", "topics": ["sensors/gd32_status"] }))?;
        let mut ages = Vec::new();
        let mut begin = None;
        loop {
            let message = client.next()?;
            let Some(made_us) = message["data"]["timestamp_us"].as_u64() else { continue };
            let now_us = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as u64;
            let begin = *begin.get_or_insert_with(Instant::now);
            if begin.elapsed() > READINGS.1 {
                return Distribution::new(ages);
            }
            ages.push(Duration::from_micros(now_us.saturating_sub(made_us)));
        }
    };
    thread::scope(|scope| {
        let direct = scope.spawn(|| read(places[0]));
        let by_hub = scope.spawn(|| read(places[1]));
        let failed = |_| anyhow::anyhow!("a reader panicked");
        anyhow::Ok((direct.join().map_err(failed)??, by_hub.join().map_err(failed)??))
    })
}

fn scale(count: usize) -> anyhow::Result<Round> {
    let hub = Hub::start()?;
    let before = hub.process.resident()?;
    let mut daemons = Vec::new();
    for daemon in 0..count.div_ceil(EACH) {
        let robot =
            |number: usize| format!("crl200s=sim:?rate=10&seed={}", daemon * EACH + number + 1);
        let robots: Vec<String> = (0..EACH.min(count)).map(robot).collect();
        daemons.push(hub.daemon(&format!("d{daemon}"), &robots)?);
    }
    let mut client = Lines::connect(hub.process.address("lines")?)?;
    client.wait_until_ready(count)?;
    // What booting cost is not looked at.
    thread::sleep(Duration::from_secs(3));
    let meter = Meter::start(std::iter::once(&hub.process).chain(&daemons).collect::<Vec<_>>())?;
    let (bytes, begin) = (hub.bytes()?, Instant::now());
    let mut watcher = Lines::connect(hub.process.address("lines")?)?;
    watcher.send(&json!({ "type": "Subscribe", "topics": ["state"] }))?;
    let mut states = 0;
    while begin.elapsed() < LOOK {
        states += usize::from(watcher.next()?["topic"] == "state");
    }
    drop(watcher);
    let (usage, bytes_now) = (meter.read()?, hub.bytes()?);
    let rate = |number: f64| number / LOOK.as_secs_f64() / count as f64;
    let memory = |bytes: u64| bytes as f64 / 1e6;
    let of_hub = hub.process.resident()?;
    let of_daemon = daemons.first().context("no daemon")?.resident()?;
    let mut rows = vec![
        Row::new("states a second and robot, resting", format!("{:.2}", rate(states as f64))),
        Row::new(
            "bytes a second and robot, to the hub, back",
            format!(
                "{:.0}, {:.0}",
                rate((bytes_now.0 - bytes.0) as f64),
                rate((bytes_now.1 - bytes.1) as f64)
            ),
        ),
        Row::new("the hub's processor", format!("{:.2} % of a core", usage.daemon * 100.0)),
        Row::new(
            "the hub's memory, and for each robot",
            format!(
                "{:.1} MB, {:.0} kB",
                memory(of_hub),
                (of_hub.saturating_sub(before)) as f64 / 1e3 / count as f64
            ),
        ),
        Row::new("a daemon's memory, ten simulated robots", format!("{:.1} MB", memory(of_daemon))),
    ];
    let Stopped { turned, confirmed, still } =
        stop(&mut client, hub.process.address("lines")?, count)?;
    rows.push(Row::new("robots that moved when all were stopped", format!("{turned} of {count}")));
    rows.push(Row::new("stop of all: confirmed by all", millis(confirmed)));
    rows.push(Row::new("until the hub sees the last one at rest", millis(still)));
    Ok(Round { rows, note: usage.note(), rank: 0.0 })
}

/// How long a stop took.
struct Stopped {
    /// Robots that moved.
    turned: usize,
    /// Until every daemon had confirmed it.
    confirmed: Duration,
    /// Until the state of every robot said so.
    still: Duration,
}

/// Drives robots of all daemons, and stops all.
fn stop(client: &mut Lines, place: SocketAddr, count: usize) -> anyhow::Result<Stopped> {
    let names: Vec<String> = client
        .robots()?
        .iter()
        .filter_map(|robot| Some(robot["name"].as_str()?.to_owned()))
        .collect();
    let control = |robot: &str, action: Value| json!({ "type": "ComponentControl", "robot": robot, "id": "drive", "action": action });
    let mut driver = Lines::connect(place)?;
    let mut driven = Vec::new();
    for name in names.iter().step_by(count.div_ceil(DRIVEN.1)) {
        let reply = driver.ask(control(name, json!({ "type": "Enable" })))?;
        anyhow::ensure!(reply["ok"] == true, "{name} cannot be driven: {reply}");
        driven.push(name);
    }
    let mut watcher = Lines::connect(place)?;
    watcher.send(&json!({ "type": "Subscribe", "topics": ["state"] }))?;
    let mut moving: HashMap<String, bool> = HashMap::new();
    let velocity = json!({ "type": "Configure", "config": { "linear": 0.0, "angular": 0.5 } });
    let begin = Instant::now();
    let mut due = begin;
    let turning = |moving: &HashMap<String, bool>| moving.values().filter(|moves| **moves).count();
    // Until all of them are seen to turn, or as many as will.
    while turning(&moving) < driven.len() && begin.elapsed() < DRIVEN.0 {
        if Instant::now() >= due {
            due += Duration::from_millis(150);
            driven.iter().try_for_each(|name| driver.send(&control(name, velocity.clone())))?;
        }
        watch(&mut watcher, &mut moving)?;
    }
    let turned = turning(&moving);
    let begin = Instant::now();
    let reply = client.ask(json!({ "type": "Stop" }))?;
    let confirmed = begin.elapsed();
    anyhow::ensure!(reply["ok"] == true, "not all have stopped: {reply}");
    while moving.values().any(|moves| *moves) {
        anyhow::ensure!(begin.elapsed() < PATIENCE, "not all robots stop");
        watch(&mut watcher, &mut moving)?;
    }
    Ok(Stopped { turned, confirmed, still: begin.elapsed() })
}

/// Notes whether a robot moves.
fn watch(watcher: &mut Lines, moving: &mut HashMap<String, bool>) -> anyhow::Result<()> {
    let message = watcher.next()?;
    if let Some(name) = message["robot"].as_str() {
        let velocity = message["data"]["state"]["velocity"]["angular"].as_f64().unwrap_or_default();
        moving.insert(name.into(), velocity != 0.0);
    }
    Ok(())
}
