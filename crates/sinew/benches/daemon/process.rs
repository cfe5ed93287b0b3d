//! The binary in a process of its own, and what it costs.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context;
use rustix::{
    param::clock_ticks_per_second,
    process::{Pid, Signal, kill_process},
    thread::{CapabilitySet, remove_capability_from_bounding_set},
};
use serde_json::Value;

/// The scheduling policy of threads with real-time priority, as `/proc` has it.
const FIFO: &str = "1";

/// A running `sinew`; killed when dropped.
pub(crate) struct Process {
    child: Child,
    /// What it said when it was ready.
    ready: Value,
}

impl Process {
    /// Starts the default release build.
    pub(crate) fn sinew(args: &[&str]) -> anyhow::Result<Self> {
        Self::start(Path::new(env!("CARGO_BIN_EXE_sinew")), args)
    }

    /// Starts a build, and waits until it says that it is ready.
    pub(crate) fn start(binary: &Path, args: &[&str]) -> anyhow::Result<Self> {
        let mut child = Command::new(binary)
            .args(args)
            .arg("--json")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let stdout = child.stdout.take().context("no output")?;
        let mut process = Process { child, ready: Value::Null };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        process.ready = serde_json::from_str(&line).context("sinew did not become ready")?;
        Ok(process)
    }

    /// Starts a daemon for one vacuum, on ports that are free.
    pub(crate) fn serve(binary: &Path, link: &str, options: &[&str]) -> anyhow::Result<Self> {
        let any = "127.0.0.1:0";
        let args = ["serve", "--vacuum", link, "--tcp", any, "--lines", any, "--http", any];
        Self::start(binary, &[&args, options].concat())
    }

    /// The same without the privilege to have real-time priority.
    pub(crate) fn serve_unprivileged(
        binary: &Path,
        link: &str,
        options: &[&str],
    ) -> anyhow::Result<Self> {
        let start = || {
            // Of this thread and what it starts; who may not do it has no privilege to lose.
            let _ = remove_capability_from_bounding_set(CapabilitySet::SYS_NICE);
            Self::serve(binary, link, options)
        };
        thread::scope(|scope| scope.spawn(start).join())
            .unwrap_or_else(|_| anyhow::bail!("the thread that starts the daemon panicked"))
    }

    /// Ends it in good order.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        self.child.wait()?;
        Ok(())
    }

    /// A simulator's link.
    pub(crate) fn link(&self) -> anyhow::Result<&str> {
        self.ready.get("link").and_then(Value::as_str).context("no link")
    }

    /// Where a daemon listens; `port` is `tcp`, `lines` or `http`.
    pub(crate) fn address(&self, port: &str) -> anyhow::Result<SocketAddr> {
        let address = self.ready.get(port).and_then(Value::as_str).context("no such port")?;
        Ok(address.parse()?)
    }

    /// Whether the thread that keeps the heartbeat has real-time priority.
    pub(crate) fn has_real_time_priority(&self) -> anyhow::Result<bool> {
        for task in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let stat = fs::read_to_string(task?.path().join("stat"))?;
            if stat.contains("(vacuum)") {
                return Ok(field(&stat, 41)? == FIFO);
            }
        }
        anyhow::bail!("no thread is named vacuum")
    }

    /// Bytes in memory.
    pub(crate) fn resident(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes =
            line.and_then(|line| line.trim().strip_suffix(" kB")).context("no VmRSS")?;
        Ok(kilobytes.trim().parse::<u64>()? * 1024)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures who uses the processors for a while.
pub(crate) struct Meter<'a> {
    processes: Vec<&'a Process>,
    begin: Instant,
    before: Spent,
}

/// Processor time by user, as parts of a core.
pub(crate) struct Usage {
    /// The first process.
    pub(crate) daemon: f64,
    /// This process.
    pub(crate) bench: f64,
    /// Whoever has nothing to do with the bench.
    pub(crate) others: f64,
    /// What the host of a virtual machine gave to others.
    pub(crate) stolen: f64,
}

/// Processor time so far, in seconds.
struct Spent {
    processes: Vec<f64>,
    bench: f64,
    all: f64,
    stolen: f64,
}

impl<'a> Meter<'a> {
    pub(crate) fn start(processes: impl Into<Vec<&'a Process>>) -> anyhow::Result<Self> {
        let processes = processes.into();
        let before = Spent::now(&processes)?;
        Ok(Meter { processes, begin: Instant::now(), before })
    }

    pub(crate) fn read(&self) -> anyhow::Result<Usage> {
        let (now, before) = (Spent::now(&self.processes)?, &self.before);
        let elapsed = self.begin.elapsed().as_secs_f64();
        let since = |now: f64, before: f64| (now - before) / elapsed;
        let each: Vec<_> = now
            .processes
            .iter()
            .zip(&before.processes)
            .map(|(now, then)| since(*now, *then))
            .collect();
        let bench = since(now.bench, before.bench);
        let all = since(now.all, before.all);
        Ok(Usage {
            stolen: since(now.stolen, before.stolen),
            daemon: each.first().copied().unwrap_or_default(),
            bench,
            others: (all - bench - each.iter().sum::<f64>()).max(0.0),
        })
    }

    /// Measures for so long.
    pub(crate) fn run(self, time: Duration) -> anyhow::Result<Usage> {
        thread::sleep(time);
        self.read()
    }
}

impl Usage {
    pub(crate) fn note(&self) -> String {
        let Usage { daemon, bench, others, stolen } = self;
        format!(
            "cores used: daemon {daemon:.2}, bench {bench:.2}, other programs {others:.2}, \
             the machine's host {stolen:.3}"
        )
    }
}

impl Spent {
    fn now(processes: &[&Process]) -> anyhow::Result<Self> {
        let of = |process: &&Process| spent(process.child.id());
        let stat = fs::read_to_string("/proc/stat")?;
        let cpu = stat.lines().next().context("/proc/stat is empty")?;
        // user, nice, system, then idle and waiting, then interrupts, then stolen.
        let times = cpu.split_whitespace().skip(1).map(str::parse::<f64>);
        let times = times.collect::<Result<Vec<_>, _>>()?;
        let ticks = clock_ticks_per_second() as f64;
        // Of this process, also what threads used that have ended.
        let own = fs::read_to_string("/proc/self/stat")?;
        let bench = field(&own, 14)?.parse::<f64>()? + field(&own, 15)?.parse::<f64>()?;
        let time = |index: &usize| times.get(*index).copied().unwrap_or_default() / ticks;
        Ok(Spent {
            processes: processes.iter().map(of).collect::<anyhow::Result<_>>()?,
            bench: bench / ticks,
            all: [0, 1, 2, 5, 6].iter().map(time).sum(),
            stolen: time(&7),
        })
    }
}

/// Processor time of a process's threads, user and system, in seconds. The ticks of `stat` would be
/// too coarse for one that is idle.
fn spent(process: u32) -> anyhow::Result<f64> {
    let mut nanos = 0;
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread may end meanwhile.
        let stat = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        nanos += stat.split(' ').next().and_then(|time| time.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(nanos as f64 / 1e9)
}

/// A field of a `stat` file, by the number that proc(5) gives it.
fn field(stat: &str, number: usize) -> anyhow::Result<&str> {
    // The second field is a name in parentheses, which may have spaces.
    let (_, rest) = stat.rsplit_once(')').context("no name")?;
    rest.split_whitespace().nth(number - 3).context("too short")
}
