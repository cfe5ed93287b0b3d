//! A fleet on one machine: two daemons as processes of their own, and their hub.

use std::{
    env,
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};

use super::{Args, hints, open};
use crate::say::say;

/// Where the hub listens for daemons, if that is free.
const PORT: u16 = 7447;
/// Daemons, with the robots of each.
const DAEMONS: [(&str, [&str; 4]); 2] = [
    ("kitchen", ["--link", "crl200s=sim:?seed=1", "--link", "g1=sim:?seed=1"]),
    ("lab", ["--link", "crl200s=sim:?seed=2", "--link", "g1=sim:?seed=2"]),
];

/// What to try, without the name of the program.
const HINTS: &[&str] = &[
    "robots",
    "vacuum drive --robot kitchen.vacuum --linear 0.2 --for 3s",
    "map --robot lab.vacuum start",
    "teach enter --robot lab.g1",
    "teach record wave --for 5s --robot lab.g1",
    "watch",
    "stop --all",
];

pub(super) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let endpoint = format!("tcp/127.0.0.1:{}", port()?);
    let mut config = args.settings.effective_or(Vec::new())?;
    config.fleet.hub = true;
    config.fleet.listen = vec![endpoint.clone()];
    let libraries = tempfile::tempdir()?;
    let mut daemons = Vec::new();
    for (name, robots) in DAEMONS {
        let library = libraries.path().join(name);
        let mut command = Command::new(env::current_exe()?);
        command.args(["serve", "--with-parent", "--tcp", "off", "--lines", "off", "--http", "off"]);
        command.args(["--fleet", &endpoint, "--fleet-name", name]).args(robots);
        // The hub tells what happens to their robots.
        command.args(["--log", "warn"]);
        command.arg("--library").arg(library).stdin(Stdio::null()).stdout(Stdio::null());
        let started = command.spawn().with_context(|| format!("cannot start {name}"))?;
        daemons.push(Daemon(started));
    }
    crate::cmd::serve::serve(
        &config,
        || Ok(Vec::new()),
        json,
        |http| {
            hints(HINTS).lines().for_each(say);
            say(&format!("Programs of the fleet connect to {endpoint}."));
            if let Some(http) = http.filter(|_| args.browser) {
                open(http);
            }
        },
    )
}

/// A port that is free now.
fn port() -> anyhow::Result<u16> {
    let usual = TcpListener::bind(("127.0.0.1", PORT));
    let listener = usual.or_else(|_| TcpListener::bind(("127.0.0.1", 0)))?;
    Ok(listener.local_addr()?.port())
}

/// A daemon that ends with this one.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(id) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            // Its robots are stopped before it ends.
            let _ = kill_process(id, Signal::TERM);
        }
        let _ = self.0.wait();
    }
}
