//! How evenly the heartbeat comes while every core is busy.
//!
//! Beside it beats a thread that does nothing else: what it misses, the machine takes, as a virtual
//! one does whose host is busy.

use std::{
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
    process::{Meter, Process, Usage},
    raise_priority,
};

const TIME: Duration = Duration::from_secs(20);
const BEAT: Duration = Duration::from_millis(20);
/// That of the daemon's thread.
const PRIORITY: u8 = 20;
const SUBSCRIBERS: usize = 50;
/// Busy threads for each core.
const CROWD: usize = 2;

pub(crate) fn bench(bench: &Bench) -> anyhow::Result<()> {
    bench.case("heartbeat under full load", || round(Process::serve, true))?;
    let unprivileged = Process::serve_unprivileged;
    bench.case("heartbeat under full load, ordinary priority", || round(unprivileged, false))
}

fn round(
    serve: fn(&Path, &str) -> anyhow::Result<Process>,
    has_target: bool,
) -> anyhow::Result<Round> {
    let line = Line::start(110)?;
    let daemon = serve(Path::new(env!("CARGO_BIN_EXE_sinew")), &line.link())?;
    let mut client = Client::connect(daemon.address("lines")?)?;
    client.wait_until_ready()?;
    let mut subscribers = Subscribers::connect(daemon.address("lines")?, SUBSCRIBERS)?;
    let given = daemon.has_real_time_priority()?;

    line.frames.try_iter().for_each(drop);
    let (usage, bare) = under_load(&daemon, &mut subscribers, given)?;
    let is_beat = |command| matches!(command, Command::Heartbeat | Command::MotorVelocity);
    let (written, arrived): (Vec<_>, Vec<_>) = line
        .frames
        .try_iter()
        .filter(|arrival| is_beat(arrival.frame.command()))
        .map(|arrival| (arrival.written, arrival.frame.at))
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
fn spacing(beats: &[Instant]) -> anyhow::Result<(Duration, Distribution)> {
    let spacings: Vec<_> = beats.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let off = spacings.iter().map(|time| time.abs_diff(BEAT)).collect();
    Ok((Distribution::new(spacings)?.max(), Distribution::new(off)?))
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

fn bare_beats(end: Instant, real_time: bool) -> Vec<Instant> {
    if real_time {
        raise_priority(PRIORITY);
    }
    let mut beats = vec![Instant::now()];
    let mut due = Instant::now();
    while due < end {
        due += BEAT;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        beats.push(Instant::now());
    }
    beats
}
