//! What is written to standard error while a command runs.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use tracing_subscriber::filter::LevelFilter;

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
    /// Begins to log.
    pub(crate) fn begin(&self, default: Level) {
        let level = match self.log.unwrap_or(default) {
            Level::Off => LevelFilter::OFF,
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
            Level::Trace => LevelFilter::TRACE,
        };
        let log = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(io::stderr)
            .with_target(false)
            .with_ansi(io::stderr().is_terminal());
        // It is begun once.
        let _ = match self.log_format {
            Format::Text => log.try_init(),
            Format::Json => log.json().flatten_event(true).try_init(),
        };
    }
}
