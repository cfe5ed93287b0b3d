//! `sinew serve`: the daemon.

use std::{io::Write, path::PathBuf};

use anyhow::Context;
use serde_json::json;
use sinew_faults::DatagramFaults;
use sinew_io::{Address, tap::Tap};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    DONE,
    cmd::Usage,
    config::{Config, Kind, Port, Robot},
    daemon::Daemon,
    output::{BOLD, PLAIN, YELLOW},
};

/// Run the daemon: connect to robots and offer them to clients until Ctrl-C or SIGTERM.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) settings: Settings,
    /// Damage what goes between robots and daemon, a vacuum's bytes and a G1's datagrams, as in
    /// `drop=0.01,corrupt=0.001,duplicate=0.01,delay=5ms,jitter=2ms,seed=7`; datagrams also with
    /// `reorder=0.05`.
    #[arg(long, value_name = "FAULTS")]
    fault: Option<DatagramFaults>,
    /// Print all bytes and datagrams to and from robots to standard error.
    #[arg(long)]
    trace: bool,
    /// Write all bytes or datagrams to and from the only robot to a file, in the format of the
    /// serial tap.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Settings that the configuration file has too; these win.
#[derive(clap::Args)]
pub(crate) struct Settings {
    /// The configuration; sinew.toml, if it is there.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A vacuum, as `serial:/dev/ttyS3` or `sim:`.
    #[arg(long, value_name = "LINK")]
    vacuum: Option<Address>,
    /// A G1's teaching service, as `udp:192.168.86.3` or `sim:`.
    #[cfg(feature = "g1")]
    #[arg(long, value_name = "LINK")]
    g1: Option<Address>,
    /// Document 003's interface: ADDRESS:PORT, port 0 for any, or off.
    #[arg(long, value_name = "ADDR")]
    tcp: Option<Port>,
    /// JSON lines: ADDRESS:PORT, port 0 for any, or off.
    #[arg(long, value_name = "ADDR")]
    lines: Option<Port>,
    /// HTTP: ADDRESS:PORT, port 0 for any, or off.
    #[arg(long, value_name = "ADDR")]
    http: Option<Port>,
    /// Secrets of clients, one a line: `control SECRET` or `read SECRET`.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Where motions are kept, a file each.
    #[cfg(feature = "g1")]
    #[arg(long, value_name = "DIR")]
    library: Option<PathBuf>,
    /// Let --tcp listen further than loopback without a token.
    #[arg(long)]
    legacy_open: bool,
    /// A name by which browsers may know this machine; may be given several times.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// How long a velocity counts without a new one, in milliseconds.
    #[arg(long, value_name = "MS")]
    deadman_ms: Option<u64>,
    /// Fastest allowed, m/s.
    #[arg(long, value_name = "M/S")]
    max_linear: Option<f32>,
    /// Fastest allowed turn, rad/s.
    #[arg(long, value_name = "RAD/S")]
    max_angular: Option<f32>,
}

impl Settings {
    /// Whether a library was asked for.
    #[cfg(feature = "g1")]
    pub(super) fn has_library(&self) -> bool {
        self.library.is_some()
    }

    /// The configuration in force: the file's, with the flags over it.
    pub(super) fn effective(&self) -> anyhow::Result<Config> {
        let mut config = Config::load(self.config.as_deref())?;
        let server = &mut config.server;
        server.tcp = self.tcp.unwrap_or(server.tcp);
        server.lines = self.lines.unwrap_or(server.lines);
        server.http = self.http.unwrap_or(server.http);
        server.token_file = self.token_file.clone().or(server.token_file.take());
        server.legacy_open |= self.legacy_open;
        server.hosts.extend(self.hosts.iter().cloned());
        #[cfg(feature = "g1")]
        if let Some(library) = &self.library {
            server.library.clone_from(library);
        }
        let given = [
            self.vacuum.as_ref().map(|address| Robot::vacuum(address.to_string())),
            #[cfg(feature = "g1")]
            self.g1.as_ref().map(|address| Robot::g1(address.to_string())),
        ];
        for given in given.into_iter().flatten() {
            match config.robot.iter_mut().find(|robot| robot.name == given.name) {
                Some(robot) => robot.link = given.link,
                None => config.robot.push(given),
            }
        }
        for robot in &mut config.robot {
            robot.deadman_ms = self.deadman_ms.unwrap_or(robot.deadman_ms);
            robot.max_linear = self.max_linear.unwrap_or(robot.max_linear);
            robot.max_angular = self.max_angular.unwrap_or(robot.max_angular);
            robot.check()?;
        }
        Ok(config)
    }
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let config = args.settings.effective()?;
    args.check(&config.robot)?;
    serve(&config, || args.tap(), json, "")
}

/// Runs a daemon until SIGINT or SIGTERM; once it listens it says so, and `hints` to people.
pub(super) fn serve(
    config: &Config,
    tap: impl Fn() -> anyhow::Result<Tap>,
    json: bool,
    hints: &str,
) -> anyhow::Result<u8> {
    let daemon = Daemon::start(config, tap)?;
    ready(config, &daemon, json)?;
    if !json && !hints.is_empty() {
        anstream::println!("{hints}");
    }
    daemon.run(async {
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })?;
    Ok(DONE)
}

impl Args {
    /// Refuses what makes no sense with these robots.
    fn check(&self, robots: &[Robot]) -> Result<(), Usage> {
        let reorders = self.fault.is_some_and(|faults| faults.reorder > 0.0);
        if reorders && robots.iter().all(|robot| robot.kind != Kind::G1) {
            let message = "--fault: reorder is for the datagrams of a G1, and there is none; a \
                           serial line keeps its order";
            return Err(Usage(message.into()));
        }
        if self.record.is_some() && robots.len() > 1 {
            let names: Vec<_> = robots.iter().map(|robot| robot.name.as_str()).collect();
            let names = names.join(", ");
            return Err(Usage(format!("--record: wanted one robot only, got {names}")));
        }
        Ok(())
    }

    fn tap(&self) -> anyhow::Result<Tap> {
        let mut tap = Tap::default();
        if let Some(faults) = self.fault {
            tap = tap.with_faults(faults, 1);
        }
        if self.trace {
            tap = tap.with_trace();
        }
        if let Some(path) = &self.record {
            let failed = || format!("cannot record to {}", path.display());
            tap = tap.with_record(path).with_context(failed)?;
        }
        Ok(tap)
    }
}

/// Says where clients find what.
fn ready(config: &Config, daemon: &Daemon, json: bool) -> anyhow::Result<()> {
    let addresses = daemon.server.addresses();
    let mut out = anstream::stdout().lock();
    if json {
        let robots: Vec<_> = config
            .robot
            .iter()
            .map(|robot| json!({ "name": robot.name, "kind": robot.kind }))
            .collect();
        let ready = json!({
            "type": "ready",
            "tcp": addresses.tcp,
            "lines": addresses.lines,
            "http": addresses.http,
            "robots": robots,
        });
        writeln!(out, "{ready}")?;
    } else {
        for robot in &config.robot {
            writeln!(out, "{}{}{PLAIN} at {}", BOLD.render(), robot.name, robot.link)?;
        }
        let ports = [("tcp", addresses.tcp), ("lines", addresses.lines), ("http", addresses.http)];
        for (name, address) in ports {
            let shown = address.map_or("off".into(), |address| match name {
                "http" => format!("http://{address}/"),
                _ => address.to_string(),
            });
            writeln!(out, "  {name:<6} {shown}")?;
        }
        if config.robot.is_empty() {
            writeln!(out, "no robots: give --vacuum LINK, or list them in sinew.toml")?;
        }
    }
    out.flush()?;
    for warning in daemon.server.warnings() {
        anstream::eprintln!("{}warning:{PLAIN} {warning}", YELLOW.render());
    }
    if !daemon.has_real_time_priority() {
        anstream::eprintln!(
            "note: no real-time priority, so the heartbeat depends on the machine's load \
             (CAP_SYS_NICE allows it)"
        );
    }
    Ok(())
}
