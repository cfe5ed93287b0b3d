//! What the daemon reaches: the release binary in a process of its own, on loopback.
//!
//! `cargo xtask bench` runs it. An argument keeps only the cases whose name contains it. Other
//! programs on the machine make the figures worse and never better, so a case that misses its
//! target is measured again, a few times at most, and the best round counts; how many it took is
//! printed, and so is the processor time that others used meanwhile. What must never take longer
//! than its target is measured once.

#![allow(clippy::print_stdout, reason = "a bench prints")]

mod attack;
mod attackers;
mod client;
mod command;
mod driver;
mod fanout;
#[cfg(feature = "fleet")]
mod fleet;
mod footprint;
mod heartbeat;
mod line;
#[cfg(feature = "webrtc")]
#[allow(clippy::unwrap_used, reason = "where it cannot be there is nothing to measure")]
mod namespace;
mod priority;
mod process;
#[cfg(feature = "webrtc")]
#[allow(clippy::unwrap_used, reason = "where it cannot be there is nothing to measure")]
#[path = "../../tests/e2e/unitree/python.rs"]
mod python;
mod stopper;
#[cfg(feature = "capture")]
mod tap;
mod teach;
#[cfg(feature = "capture")]
mod through;
#[cfg(feature = "webrtc")]
mod webrtc;

use std::{
    env,
    time::{Duration, Instant},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How often a case that misses its target is measured.
const ROUNDS: u32 = 3;

fn main() -> anyhow::Result<()> {
    if attack::run_as_attacker()? {
        return Ok(());
    }
    let filter = env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    let bench = Bench { filter };
    println!("{:<44} {:>34}  target", "case", "figure");
    command::bench(&bench)?;
    #[cfg(feature = "capture")]
    tap::bench(&bench)?;
    teach::bench(&bench)?;
    #[cfg(feature = "webrtc")]
    webrtc::bench(&bench)?;
    heartbeat::bench(&bench)?;
    attack::bench(&bench)?;
    fanout::bench(&bench)?;
    #[cfg(feature = "fleet")]
    fleet::bench(&bench)?;
    footprint::bench(&bench)
}

struct Bench {
    filter: String,
}

/// What a round measured.
struct Round {
    rows: Vec<Row>,
    /// What the machine did meanwhile.
    note: String,
    /// Rounds are compared by this; less is better.
    rank: f64,
}

struct Row {
    what: &'static str,
    figure: String,
    /// The target, and whether it was reached.
    target: Option<(&'static str, bool)>,
}

impl Bench {
    /// Measures a case until its targets are reached, and prints the best round.
    fn case(&self, name: &str, round: impl FnMut() -> anyhow::Result<Round>) -> anyhow::Result<()> {
        self.best_of(ROUNDS, name, round)
    }

    /// Measures a case once: where the longest time counts, a better round would hide it.
    fn once(&self, name: &str, round: impl FnMut() -> anyhow::Result<Round>) -> anyhow::Result<()> {
        self.best_of(1, name, round)
    }

    fn best_of(
        &self,
        most: u32,
        name: &str,
        mut round: impl FnMut() -> anyhow::Result<Round>,
    ) -> anyhow::Result<()> {
        if !name.contains(&self.filter) {
            return Ok(());
        }
        let mut best = round()?;
        let mut rounds = 1;
        while rounds < most && !best.is_reached() {
            let next = round()?;
            rounds += 1;
            if next.rank < best.rank {
                best = next;
            }
        }
        println!("{name}");
        for Row { what, figure, target } in &best.rows {
            let verdict = match target {
                Some((target, true)) => format!("{target}: reached"),
                Some((target, false)) => format!("{target}: MISSED"),
                None => "-".into(),
            };
            println!("  {what:<42} {figure:>34}  {verdict}");
        }
        println!("  ({}; best of {rounds})", best.note);
        Ok(())
    }
}

impl Round {
    fn is_reached(&self) -> bool {
        self.rows.iter().all(|row| row.target.is_none_or(|(_, reached)| reached))
    }
}

impl Row {
    fn new(what: &'static str, figure: impl Into<String>) -> Self {
        Row { what, figure: figure.into(), target: None }
    }

    fn with_target(mut self, target: &'static str, reached: bool) -> Self {
        self.target = Some((target, reached));
        self
    }
}

/// Times in order, to be asked for the one that a share of them stays below.
struct Distribution(Vec<Duration>);

impl Distribution {
    fn new(mut times: Vec<Duration>) -> anyhow::Result<Self> {
        anyhow::ensure!(!times.is_empty(), "nothing was measured");
        times.sort_unstable();
        Ok(Distribution(times))
    }

    fn at(&self, share: f64) -> Duration {
        let rank = (self.0.len() as f64 * share).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    fn max(&self) -> Duration {
        self.at(1.0)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// Lets this process, and those it starts, have as many sockets as may be.
fn raise_file_limit() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    Ok(())
}

/// Asks again and again until it is so.
fn wait_for(what: &str, mut is_so: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let patience = Instant::now() + Duration::from_secs(30);
    while !is_so()? {
        anyhow::ensure!(Instant::now() < patience, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn micros(time: Duration) -> String {
    format!("{:.0} us", time.as_secs_f64() * 1e6)
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
