//! One module per command.

#[cfg(feature = "tools")]
mod completions;
#[cfg(feature = "daemon")]
mod config;
#[cfg(feature = "daemon")]
mod control;
#[cfg(feature = "tools")]
mod decode;
#[cfg(feature = "sim")]
mod demo;
#[cfg(feature = "g1")]
mod discover;
#[cfg(feature = "daemon")]
mod doctor;
#[cfg(feature = "tools")]
mod encode;
#[cfg(feature = "capture")]
pub(crate) mod inspect;
#[cfg(feature = "tools")]
mod man;
#[cfg(feature = "g1")]
mod map;
#[cfg(feature = "mcap")]
mod record;
#[cfg(all(feature = "capture", feature = "daemon"))]
mod replay;
#[cfg(feature = "daemon")]
mod robots;
#[cfg(feature = "daemon")]
mod serve;
#[cfg(feature = "daemon")]
mod service;
#[cfg(feature = "sim")]
mod sim;
#[cfg(feature = "daemon")]
mod status;
#[cfg(feature = "daemon")]
mod stop;
#[cfg(feature = "daemon")]
mod take;
#[cfg(all(feature = "capture", feature = "daemon"))]
mod tap;
#[cfg(feature = "g1")]
mod teach;
#[cfg(feature = "daemon")]
mod vacuum;
#[cfg(feature = "daemon")]
mod watch;

use std::fmt;

use clap::Subcommand;

#[cfg(feature = "daemon")]
use crate::log::Level;

#[derive(Subcommand)]
pub(crate) enum Command {
    #[cfg(feature = "tools")]
    Decode(decode::Args),
    #[cfg(feature = "tools")]
    Encode(encode::Args),
    #[cfg(feature = "capture")]
    Inspect(inspect::Args),
    #[cfg(all(feature = "capture", feature = "daemon"))]
    Tap(tap::Args),
    #[cfg(all(feature = "capture", feature = "daemon"))]
    Replay(replay::Args),
    #[cfg(feature = "sim")]
    Demo(demo::Args),
    #[cfg(feature = "daemon")]
    Serve(serve::Args),
    #[cfg(feature = "sim")]
    Sim(sim::Args),
    #[cfg(feature = "daemon")]
    Robots(robots::RobotsArgs),
    #[cfg(feature = "daemon")]
    Status(status::Args),
    #[cfg(feature = "daemon")]
    Watch(watch::Args),
    #[cfg(feature = "daemon")]
    Stop(stop::Args),
    #[cfg(feature = "daemon")]
    Take(take::TakeArgs),
    #[cfg(feature = "daemon")]
    Release(take::ReleaseArgs),
    #[cfg(feature = "daemon")]
    Control(control::Args),
    #[cfg(feature = "daemon")]
    Vacuum(vacuum::Args),
    #[cfg(feature = "g1")]
    Teach(teach::Args),
    #[cfg(feature = "g1")]
    Map(map::Args),
    #[cfg(feature = "mcap")]
    Record(record::Args),
    #[cfg(feature = "g1")]
    Discover(discover::Args),
    #[cfg(feature = "daemon")]
    Config(config::Args),
    #[cfg(feature = "daemon")]
    Doctor(doctor::Args),
    #[cfg(feature = "daemon")]
    Service(service::Args),
    #[cfg(feature = "tools")]
    Completions(completions::Args),
    #[cfg(feature = "tools")]
    Man(man::Args),
}

impl Command {
    /// What is logged when nothing else was asked for.
    #[cfg(feature = "daemon")]
    pub(crate) fn log_level(&self) -> Level {
        match self {
            #[cfg(feature = "sim")]
            Command::Demo(_) => Level::Info,
            Command::Serve(_) => Level::Info,
            // On its screen the events tell the same.
            Command::Watch(_) => Level::Error,
            #[cfg(feature = "g1")]
            Command::Map(map) if map.is_watch() => Level::Error,
            _ => Level::Warn,
        }
    }

    /// Runs the command and returns the process's exit code.
    pub(crate) fn run(self, json: bool) -> anyhow::Result<u8> {
        match self {
            #[cfg(feature = "tools")]
            Command::Decode(args) => decode::run(&args, json),
            #[cfg(feature = "tools")]
            Command::Encode(args) => encode::run(args, json),
            #[cfg(feature = "capture")]
            Command::Inspect(args) => inspect::run(&args, json),
            #[cfg(all(feature = "capture", feature = "daemon"))]
            Command::Tap(args) => tap::run(&args, json),
            #[cfg(all(feature = "capture", feature = "daemon"))]
            Command::Replay(args) => replay::run(&args, json),
            #[cfg(feature = "sim")]
            Command::Demo(args) => demo::run(&args, json),
            #[cfg(feature = "daemon")]
            Command::Serve(args) => serve::run(&args, json),
            #[cfg(feature = "sim")]
            Command::Sim(args) => sim::run(&args, json),
            #[cfg(feature = "daemon")]
            Command::Robots(args) => robots::robots(&args, json),
            #[cfg(feature = "daemon")]
            Command::Status(args) => status::run(&args, json),
            #[cfg(feature = "daemon")]
            Command::Watch(args) => watch::run(&args, json),
            #[cfg(feature = "daemon")]
            Command::Stop(args) => stop::run(&args, json),
            #[cfg(feature = "daemon")]
            Command::Take(args) => take::take(&args, json),
            #[cfg(feature = "daemon")]
            Command::Release(args) => take::release(&args, json),
            #[cfg(feature = "daemon")]
            Command::Control(args) => control::run(&args, json),
            #[cfg(feature = "daemon")]
            Command::Vacuum(args) => vacuum::run(&args, json),
            #[cfg(feature = "g1")]
            Command::Teach(args) => teach::run(&args, json),
            #[cfg(feature = "g1")]
            Command::Map(args) => map::run(&args, json),
            #[cfg(feature = "mcap")]
            Command::Record(args) => record::run(&args, json),
            #[cfg(feature = "g1")]
            Command::Discover(args) => discover::run(&args, json),
            #[cfg(feature = "daemon")]
            Command::Config(args) => config::run(&args, json),
            #[cfg(feature = "daemon")]
            Command::Doctor(args) => doctor::run(&args, json),
            #[cfg(feature = "daemon")]
            Command::Service(args) => service::run(&args, json),
            #[cfg(feature = "tools")]
            Command::Completions(args) => completions::run(&args, json),
            #[cfg(feature = "tools")]
            Command::Man(args) => man::run(&args, json),
        }
    }
}

/// The command was called wrongly.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The daemon's code for what went wrong, if it was the daemon that refused.
pub(crate) fn code(error: &anyhow::Error) -> Option<&str> {
    #[cfg(feature = "daemon")]
    return error.downcast_ref::<crate::phrases::Refused>().map(|refused| refused.0.code.as_str());
    #[cfg(not(feature = "daemon"))]
    return error.downcast_ref::<Usage>().map(|_| "usage");
}

/// A duration such as `3s`, `500ms` or `2m`.
#[cfg(feature = "daemon")]
fn duration(text: &str) -> Result<std::time::Duration, String> {
    use std::time::Duration;
    let wrong = || format!("wanted a duration such as 3s or 500ms, got {text:?}");
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" => 60.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * seconds)
        .ok()
        .filter(|duration| *duration <= Duration::from_secs(86_400))
        .ok_or_else(wrong)
}

/// A number, decimal or 0x.
#[cfg(any(feature = "daemon", feature = "tools"))]
fn number<T: TryFrom<u32>>(text: &str) -> Result<T, String> {
    let parsed = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let number = parsed.map_err(|_| format!("{text:?} is no number (decimal or 0x)"))?;
    T::try_from(number).map_err(|_| format!("{text} is too large"))
}
