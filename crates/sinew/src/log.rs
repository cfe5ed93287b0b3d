//! What is written to standard error while a command runs.

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use clap::ValueEnum;
#[cfg(not(feature = "fleet"))]
use tracing::Dispatch;
use tracing_subscriber::{
    filter::LevelFilter,
    util::{SubscriberInitExt, TryInitError},
};

/// Lines that may wait to be written. Standard error may be a pipe that is not read, or a terminal
/// that is held: what logs does not wait for it, since it may be what stops a robot.
const WAITING: usize = 1024;
/// How long the last lines may take.
const FAREWELL: Duration = Duration::from_millis(300);

/// What to log, and how.
#[derive(clap::Args)]
pub(crate) struct Logging {
    /// What to log to standard error: refusals and links are `info`, links that are down `warn`.
    /// By default `info` for `serve` and `demo`, `warn` otherwise.
    #[arg(long, global = true, value_enum, value_name = "LEVEL", env = "SINEW_LOG")]
    #[arg(help_heading = crate::OUTPUT)]
    log: Option<Level>,
    /// How to write it.
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value = "text")]
    #[arg(help_heading = crate::OUTPUT)]
    log_format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// An object a line.
    Json,
}

impl Logging {
    /// Begins to log, until what this gives is dropped.
    pub(crate) fn begin(&self, default: Level) -> io::Result<Ending> {
        let level = match self.log.unwrap_or(default) {
            Level::Off => LevelFilter::OFF,
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
            Level::Trace => LevelFilter::TRACE,
        };
        let (lines, taken) = sync_channel(WAITING);
        let lost = Arc::<AtomicU64>::default();
        let missed = Arc::clone(&lost);
        thread::Builder::new().name("log".into()).spawn(move || write(&taken, &missed))?;
        let line = Line { lines: lines.clone(), lost };
        let log = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(move || line.clone())
            .with_target(false)
            .with_ansi(io::stderr().is_terminal());
        // It is begun once.
        let _ = match self.log_format {
            Format::Text => begin(log.finish(), level),
            Format::Json => begin(log.json().flatten_event(true).finish(), level),
        };
        Ok(Ending(lines))
    }
}

/// From now on this is the log.
#[cfg(not(feature = "fleet"))]
fn begin(log: impl Into<Dispatch>, _: LevelFilter) -> Result<(), TryInitError> {
    log.try_init()
}

/// From now on this is the log. Zenoh has much to say about itself that is of no use to others.
#[cfg(feature = "fleet")]
fn begin<L>(log: L, level: LevelFilter) -> Result<(), TryInitError>
where
    L: tracing::Subscriber + Send + Sync,
{
    use tracing_subscriber::{filter::filter_fn, layer::SubscriberExt};
    let of_zenoh = match level {
        LevelFilter::TRACE => LevelFilter::TRACE,
        LevelFilter::DEBUG => LevelFilter::WARN,
        // What matters of it is told by the fleet.
        _ => LevelFilter::OFF,
    };
    let is_told = move |about: &tracing::Metadata<'_>| {
        !about.target().starts_with("zenoh") || *about.level() <= of_zenoh
    };
    log.with(filter_fn(is_told)).try_init()
}

enum Item {
    Line(Vec<u8>),
    /// Answered when all before it is written.
    End(SyncSender<()>),
}

/// Sees that what was logged is written before the process ends, if it can be.
pub(crate) struct Ending(SyncSender<Item>);

impl Drop for Ending {
    fn drop(&mut self) {
        let (written, all) = sync_channel(1);
        if self.0.try_send(Item::End(written)).is_ok() {
            let _ = all.recv_timeout(FAREWELL);
        }
    }
}

/// Where a line is written to; each comes in one piece.
#[derive(Clone)]
struct Line {
    lines: SyncSender<Item>,
    /// Lines that found no room and are not told yet.
    lost: Arc<AtomicU64>,
}

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.lines.try_send(Item::Line(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(lines: &Receiver<Item>, lost: &AtomicU64) {
    // A reader of the log that has gone is no reason to end.
    for item in lines {
        let mut out = io::stderr().lock();
        match lost.swap(0, Ordering::Relaxed) {
            0 => {}
            count => drop(writeln!(out, "{count} lines of the log were lost: it was not read")),
        }
        match item {
            Item::Line(line) => drop(out.write_all(&line)),
            Item::End(written) => drop(written.send(())),
        }
    }
}
