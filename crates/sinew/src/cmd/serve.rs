//! `sinew serve`: the daemon.

#[cfg(feature = "fleet")]
mod fleet;
#[cfg(feature = "foxglove")]
mod foxglove;
#[cfg(feature = "mqtt")]
mod mqtt;
mod ports;

use std::{
    env,
    ffi::OsString,
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::value_parser;
use serde_json::{Value, json};
use sinew_faults::DatagramFaults;
use sinew_io::{Address, Around, kind::Entry};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    DONE,
    cmd::Usage,
    config::{Config, LinkArg, MAX_HOLD_MS, Port},
    daemon::Daemon,
    output::{BOLD, PLAIN},
    say::{note, warn},
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
    /// serial tap. Of --fault, --trace and --record the first given is next to the robot.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// End with the program that started this one.
    #[cfg(feature = "fleet")]
    #[arg(long, hide = true)]
    with_parent: bool,
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
    /// The vacuum's lidar, as `serial:/dev/ttyS1`; a simulated vacuum has one by itself, off leaves
    /// it out.
    #[arg(long, value_name = "LINK")]
    lidar: Option<String>,
    /// A G1, as `webrtc:192.168.86.3`, `udp:192.168.86.3` or `sim:`.
    #[cfg(feature = "g1")]
    #[arg(long, value_name = "LINK")]
    g1: Option<Address>,
    /// A robot of any kind, as `serial:/dev/ttyS3` or `g1=sim:`; may be given several times.
    #[arg(long = "link", value_name = "[KIND=]LINK")]
    links: Vec<LinkArg>,
    /// Document 003's interface: ADDRESS:PORT, port 0 for any, or off.
    #[arg(long, value_name = "ADDR")]
    tcp: Option<Port>,
    /// JSON lines: ADDRESS:PORT, port 0 for any, or off.
    #[arg(long, value_name = "ADDR")]
    lines: Option<Port>,
    /// HTTP: ADDRESS:PORT, port 0 for any, or off.
    #[arg(long, value_name = "ADDR")]
    http: Option<Port>,
    /// SangamIO's later interface (protobuf, sensors by UDP): ADDRESS:PORT, port 0 for any; off if it
    /// is not given.
    #[arg(long, value_name = "ADDR")]
    sangam: Option<Port>,
    /// What robots tell, live for Foxglove, read only: ADDRESS:PORT, as 127.0.0.1:8765, port 0 for any;
    /// off if it is not given.
    #[cfg(feature = "foxglove")]
    #[arg(long, value_name = "ADDR")]
    foxglove: Option<Port>,
    /// Secrets of clients, one a line: `control SECRET` or `read SECRET`.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[cfg(feature = "mqtt")]
    #[command(flatten)]
    mqtt: mqtt::Flags,
    #[cfg(feature = "fleet")]
    #[command(flatten)]
    fleet: fleet::Flags,
    /// Where motions are kept, a file each.
    #[cfg(feature = "g1")]
    #[arg(long, value_name = "DIR")]
    library: Option<PathBuf>,
    /// Let --tcp and --sangam listen further than loopback without a token.
    #[arg(long)]
    legacy_open: bool,
    /// How long a velocity is held for clients of document 003's interface, which send it once, in
    /// milliseconds: 2000 by default, at most 10000; 0 holds none. Clients of --sangam: at most 1000.
    #[arg(long, value_name = "MS", value_parser = value_parser!(u64).range(0..=MAX_HOLD_MS))]
    legacy_hold_ms: Option<u64>,
    /// A component that such clients may do everything with, though they cannot confirm it; may be
    /// given several times.
    #[arg(long = "legacy-confirm", value_name = "ID")]
    legacy_confirm: Vec<String>,
    /// A name by which browsers may know this machine; may be given several times.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// A setting of a robot, as `deadman_ms=200` for all that have it, or `g1.idle_exit_ms=60000`
    /// for one; may be given several times.
    #[arg(long = "set", value_name = "[ROBOT.]KEY=VALUE", value_parser = setting)]
    set: Vec<Setting>,
    /// How long a velocity counts without a new one, in milliseconds.
    #[arg(long, value_name = "MS")]
    deadman_ms: Option<u64>,
    /// Fastest allowed, m/s.
    #[arg(long, value_name = "M/S")]
    max_linear: Option<f64>,
    /// Fastest allowed turn, rad/s.
    #[arg(long, value_name = "RAD/S")]
    max_angular: Option<f64>,
}

/// A setting that was given as a flag.
#[derive(Debug, Clone)]
struct Setting {
    robot: Option<String>,
    key: String,
    value: Value,
}

fn setting(text: &str) -> Result<Setting, String> {
    let wrong = || format!("wanted [ROBOT.]KEY=VALUE, got {text:?}");
    let (key, value) = text.split_once('=').ok_or_else(wrong)?;
    let (robot, key) = match key.rsplit_once('.') {
        Some((robot, key)) => (Some(robot.into()), key),
        None => (None, key),
    };
    if key.is_empty() {
        return Err(wrong());
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok(Setting { robot, key: key.into(), value })
}

impl Settings {
    /// Whether a library was asked for.
    #[cfg(all(feature = "g1", feature = "sim"))]
    pub(super) fn has_library(&self) -> bool {
        self.library.is_some()
    }

    /// The configuration's file, if there is one.
    pub(super) fn file(&self) -> Option<&Path> {
        Config::file(self.config.as_deref())
    }

    /// The configuration in force: the file's, with the flags over it.
    pub(super) fn effective(&self) -> anyhow::Result<Config> {
        self.effective_or(Vec::new())
    }

    /// The same with these robots where there are no others.
    pub(super) fn effective_or(&self, others: Vec<Entry>) -> anyhow::Result<Config> {
        let mut config = Config::load(self.config.as_deref())?;
        let server = &mut config.server;
        server.tcp = self.tcp.unwrap_or(server.tcp);
        server.lines = self.lines.unwrap_or(server.lines);
        server.http = self.http.unwrap_or(server.http);
        server.sangam = self.sangam.unwrap_or(server.sangam);
        #[cfg(feature = "foxglove")]
        {
            server.foxglove = self.foxglove.unwrap_or(server.foxglove);
        }
        server.token_file = self.token_file.clone().or(server.token_file.take());
        server.legacy_open |= self.legacy_open;
        server.legacy_hold_ms = self.legacy_hold_ms.unwrap_or(server.legacy_hold_ms);
        server.legacy_confirm.extend(self.legacy_confirm.iter().cloned());
        server.hosts.extend(self.hosts.iter().cloned());
        #[cfg(feature = "mqtt")]
        self.mqtt.apply(&mut config.mqtt);
        #[cfg(feature = "fleet")]
        self.fleet.apply(&mut config.fleet);
        #[cfg(feature = "g1")]
        if let Some(library) = &self.library {
            server.library.clone_from(library);
        }
        let given = [
            self.vacuum.as_ref().map(|link| LinkArg::of_kind("crl200s", link)),
            #[cfg(feature = "g1")]
            self.g1.as_ref().map(|link| LinkArg::of_kind("g1", link)),
        ];
        let links = self.links.iter().map(|link| link.entry(None));
        let mut named = Vec::new();
        for given in given.into_iter().flatten().chain(links) {
            let mut given = given?;
            // A flag gives the file's robot of that name another link; two flags are two robots.
            given.name = numbered(&given.name, &named);
            named.push(given.name.clone());
            config.put(given)?;
        }
        if config.robot.is_empty() {
            config.robot = others;
        }
        for setting in self.all_set() {
            apply(&setting, &mut config.robot)?;
        }
        config.check_components()?;
        Ok(config)
    }

    fn all_set(&self) -> impl Iterator<Item = Setting> {
        let flag = |key: &str, value: Option<Value>| {
            value.map(|value| Setting { robot: None, key: key.into(), value })
        };
        let flags = [
            flag("lidar", self.lidar.clone().map(Value::from)),
            flag("deadman_ms", self.deadman_ms.map(Value::from)),
            flag("max_linear", self.max_linear.map(Value::from)),
            flag("max_angular", self.max_angular.map(Value::from)),
        ];
        flags.into_iter().flatten().chain(self.set.iter().cloned())
    }
}

/// The name, or the first of `NAME2`, `NAME3`, … that is not taken.
fn numbered(name: &str, taken: &[String]) -> String {
    let mut names =
        std::iter::once(name.into()).chain((2..).map(|number| format!("{name}{number}")));
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

/// Sets something for the robot that is named, or for all that have it.
fn apply(setting: &Setting, robots: &mut [Entry]) -> anyhow::Result<()> {
    let Setting { robot, key, value } = setting;
    let named = |entry: &&mut Entry| robot.as_ref().is_none_or(|robot| entry.name == *robot);
    let mut found = false;
    for entry in robots.iter_mut().filter(named) {
        if robot.is_some() || entry.settings.contains_key(key) {
            entry.set(key, value.clone())?;
            found = true;
        }
    }
    if !found {
        let whose = robot.as_deref().unwrap_or("any robot");
        return Err(Usage(format!("{key} is no setting of {whose} here")).into());
    }
    Ok(())
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let config = args.settings.effective()?;
    args.check(&config.robot)?;
    #[cfg(feature = "fleet")]
    if args.with_parent {
        fleet::end_with_parent();
    }
    serve(&config, || args.around(), json, |_| ())
}

/// Runs a daemon until SIGINT or SIGTERM; once it listens it says so, and tells where HTTP does.
pub(super) fn serve(
    config: &Config,
    around: impl Fn() -> anyhow::Result<Vec<Around>>,
    json: bool,
    listens: impl FnOnce(Option<SocketAddr>),
) -> anyhow::Result<u8> {
    let daemon = Daemon::start(config, around)?;
    // It ends after the daemon has.
    #[cfg(feature = "foxglove")]
    let live = foxglove::start(config, &daemon)?;
    #[cfg(feature = "foxglove")]
    let foxglove = live.as_ref().map(sinew_record::live::Live::address);
    #[cfg(not(feature = "foxglove"))]
    let foxglove = None;
    ready(config, &daemon, foxglove, json)?;
    listens(daemon.server.addresses().http);
    ports::explain(config, &daemon.server);
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
    #[cfg(feature = "foxglove")]
    drop(live);
    Ok(DONE)
}

impl Args {
    /// Refuses what makes no sense with these robots.
    fn check(&self, robots: &[Entry]) -> Result<(), Usage> {
        let reorders = self.fault.is_some_and(|faults| faults.reorder > 0.0);
        if reorders && robots.iter().all(|robot| robot.is_stream()) {
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

    /// What is put around each link, in the order of the flags.
    fn around(&self) -> anyhow::Result<Vec<Around>> {
        let mut all = Vec::new();
        if let Some(faults) = self.fault {
            all.push((self.order("fault"), Around::Faults(faults, 1)));
        }
        if self.trace {
            all.push((self.order("trace"), Around::Trace));
        }
        if let Some(path) = &self.record {
            let failed = || format!("cannot record to {}", path.display());
            all.push((self.order("record"), Around::record(path).with_context(failed)?));
        }
        all.sort_by_key(|(place, _)| *place);
        Ok(all.into_iter().map(|(_, around)| around).collect())
    }

    /// Where a flag stands among the arguments.
    fn order(&self, flag: &str) -> usize {
        let long = format!("--{flag}");
        let is_it = |argument: OsString| {
            let text = argument.to_string_lossy();
            *text == *long || text.starts_with(&format!("{long}="))
        };
        env::args_os().position(is_it).unwrap_or_default()
    }
}

/// Says where clients find what.
fn ready(
    config: &Config,
    daemon: &Daemon,
    foxglove: Option<SocketAddr>,
    json: bool,
) -> anyhow::Result<()> {
    let addresses = daemon.server.addresses();
    let mut out = anstream::stdout().lock();
    if json {
        let robots: Vec<_> = config
            .robot
            .iter()
            .map(|robot| json!({ "name": robot.name, "kind": robot.kind.name() }))
            .collect();
        let mut ready = json!({
            "type": "ready",
            "tcp": addresses.tcp,
            "lines": addresses.lines,
            "http": addresses.http,
            "sangam": addresses.sangam,
            "robots": robots,
        });
        if let Some(address) = foxglove {
            ready["foxglove"] = address.to_string().into();
        }
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
        if let Some(address) = addresses.sangam {
            writeln!(out, "  {:<6} {address}", "sangam")?;
        }
        if let Some(address) = foxglove {
            writeln!(out, "  foxglove ws://{address}/")?;
        }
    }
    out.flush()?;
    drop(out);
    #[cfg(feature = "fleet")]
    let others = config.fleet.is_on();
    #[cfg(not(feature = "fleet"))]
    let others = false;
    if config.robot.is_empty() && !others {
        warn(&no_robots());
    }
    daemon.warnings().iter().for_each(|warning| warn(warning));
    if !daemon.server.has_real_time_priority() {
        note(
            "note: no real-time priority, so the heartbeat depends on the machine's load \
             (CAP_SYS_NICE allows it)",
        );
    }
    Ok(())
}

/// What to do about a daemon without robots.
fn no_robots() -> String {
    let g1 = if cfg!(feature = "g1") { ", --g1 udp:192.168.86.3" } else { "" };
    let demo = if cfg!(feature = "sim") { "; `sinew demo` has simulated ones" } else { "" };
    format!("no robots: give --vacuum serial:/dev/ttyS3{g1}, or list them in sinew.toml{demo}")
}
