//! How evenly the heartbeat is written while every core is busy.
//!
//! The daemon records when it writes: at the other end of a pseudo-terminal, where the kernel's own
//! delays are added, the times are shown for comparison. Beside it beats a thread that does nothing
//! else; what it misses, the machine takes, as a virtual one does whose host is busy.

use std::{
    env, fs,
    hint::spin_loop,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use sinew_wire::gd32::Command;

use crate::{
    Bench, Distribution, Round, Row,
    client::Client,
    fanout::Subscribers,
    line::Line,
    millis,
    priority::raise_priority,
    process::{Meter, Process, Usage},
};

const TIME: Duration = Duration::from_secs(20);
const BEAT: Duration = Duration::from_millis(20);
/// That of the daemon's thread.
const PRIORITY: u8 = 20;
const SUBSCRIBERS: usize = 50;
/// Busy threads for each core.
const CROWD: usize = 2;

/// How a daemon is started.
pub(crate) type Serve = fn(&Path, &str, &[&str]) -> anyhow::Result<Process>;

pub(crate) fn bench(bench: &Bench) -> anyhow::Result<()> {
    bench.case("heartbeat under full load", || round(Process::serve, true))?;
    let unprivileged: Serve = Process::serve_unprivileged;
    bench.case("heartbeat under full load, ordinary priority", || round(unprivileged, false))
}

fn round(serve: Serve, has_target: bool) -> anyhow::Result<Round> {
    let record = Record::new();
    let line = Line::start(110)?;
    let binary = Path::new(env!("CARGO_BIN_EXE_sinew"));
    let daemon = serve(binary, &line.link(), &["--record", &record.path])?;
    let mut client = Client::connect(daemon.address("lines")?)?;
    client.wait_until_ready()?;
    let mut subscribers = Subscribers::connect(daemon.address("lines")?, SUBSCRIBERS)?;
    let given = daemon.has_real_time_priority()?;
    let begin = Instant::now();
    let (usage, bare) = under_load(&daemon, &mut subscribers, given)?;
    daemon.end()?;

    // The same beats are in the record and at the other end; those under load count.
    let arrived = line.frames.try_iter().filter(|frame| is_beat(frame.bytes()));
    let (written, arrived): (Vec<_>, Vec<_>) = record
        .beats()?
        .into_iter()
        .zip(arrived)
        .filter_map(|(written, frame)| Some((written, frame.at.checked_duration_since(begin)?)))
        .filter(|(_, arrived)| *arrived < TIME)
        .unzip();
    let (longest, off) = spacing(&written)?;
    let off_by = off.at(0.999);
    let mut rows = vec![
        Row::new("longest spacing", millis(longest)),
        Row::new("p99.9 of the distance from 20 ms", millis(off_by)),
    ];
    if has_target {
        let even = off_by <= Duration::from_millis(2);
        let targets = [("<= 50 ms", longest <= Duration::from_millis(50)), ("<= 2 ms", even)];
        for (row, target) in rows.iter_mut().zip(targets) {
            row.target = Some(target);
        }
    }
    let (longest, _) = spacing(&arrived)?;
    rows.push(Row::new("longest spacing as the bytes come", millis(longest)));
    let (longest, off_by) = (bare.0, bare.1.at(0.999));
    let figure = format!("{} / {}", millis(longest), millis(off_by));
    rows.push(Row::new("both figures of a bare thread", figure));
    let was = |given| if given { "given" } else { "NOT given" };
    Ok(Round {
        rows,
        note: format!(
            "{} spacings, real-time priority {} to the daemon, {} to the bench, {}",
            off.len(),
            was(given),
            was(line.real_time),
            usage.note()
        ),
        rank: off_by.as_secs_f64(),
    })
}

/// The longest time between beats, and how far these times are from what they should be.
fn spacing(beats: &[Duration]) -> anyhow::Result<(Duration, Distribution)> {
    let spacings: Vec<_> = beats.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let off = spacings.iter().map(|time| time.abs_diff(BEAT)).collect();
    Ok((Distribution::new(spacings)?.max(), Distribution::new(off)?))
}

/// Whether a frame is what the controller waits for: a heartbeat, or a velocity in its place.
fn is_beat(frame: &[u8]) -> bool {
    let beats = [Command::Heartbeat.code(), Command::MotorVelocity.code()];
    frame.get(3).is_some_and(|command| beats.contains(command))
}

/// What a daemon writes with `--record`, in memory where there is such a place.
struct Record {
    path: String,
}

impl Record {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
        let name = format!("sinew-bench-{}.csv", std::process::id());
        Record { path: directory.join(name).to_string_lossy().into_owned() }
    }

    /// When heartbeats were written. The daemon writes frame by frame.
    fn beats(&self) -> anyhow::Result<Vec<Duration>> {
        let text = fs::read_to_string(&self.path)?;
        let mut beats = Vec::new();
        for line in text.lines() {
            let Some((micros, hex)) = line.split_once(",TX,") else { continue };
            let bytes: Result<Vec<_>, _> =
                hex.split(' ').map(|byte| u8::from_str_radix(byte, 16)).collect();
            if is_beat(&bytes?) {
                beats.push(Duration::from_micros(micros.parse()?));
            }
        }
        Ok(beats)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Keeps every core busy for a while, and subscribers reading. Also gives the spacing of a thread
/// that does nothing but beat, with the priority of the daemon's.
fn under_load(
    daemon: &Process,
    subscribers: &mut Subscribers,
    real_time: bool,
) -> anyhow::Result<(Usage, (Duration, Distribution))> {
    let meter = Meter::start([daemon])?;
    let end = Instant::now() + TIME;
    let cores = thread::available_parallelism()?.get();
    let beats = thread::scope(|scope| {
        for _ in 0..cores * CROWD {
            scope.spawn(|| {
                while Instant::now() < end {
                    spin_loop();
                }
            });
        }
        let bare = scope.spawn(|| bare_beats(end, real_time));
        subscribers.read_until(end)?;
        bare.join().map_err(|_| anyhow::anyhow!("the bare thread panicked"))
    })?;
    Ok((meter.read()?, spacing(&beats)?))
}

fn bare_beats(end: Instant, real_time: bool) -> Vec<Duration> {
    if real_time {
        raise_priority(PRIORITY);
    }
    let begin = Instant::now();
    let mut beats = vec![Duration::ZERO];
    let mut due = begin;
    while due < end {
        due += BEAT;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        beats.push(begin.elapsed());
    }
    beats
}
