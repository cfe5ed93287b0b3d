//! `sinew demo`: everything, without hardware.

#[cfg(feature = "fleet")]
mod fleet;

use std::{
    net::SocketAddr,
    process::{Command, Stdio},
    thread,
};

use sinew_io::{
    Address,
    kind::{Entry, KINDS},
};

use crate::say::{note, program, say};

/// Run the daemon with simulated robots, until Ctrl-C.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    settings: super::serve::Settings,
    /// Open the dashboard in a browser
    #[arg(long)]
    browser: bool,
    /// Show a fleet: two daemons with two robots each, and this one as their hub.
    #[cfg(feature = "fleet")]
    #[arg(long)]
    as_fleet: bool,
}

/// What to try, without the name of the program.
const HINTS: &[&str] = &[
    "robots",
    "status",
    "vacuum drive --linear 0.2 --for 3s",
    "vacuum dock",
    "teach enter",
    "teach record wave --for 5s",
    "teach exit",
    "teach play wave",
    "teach show wave",
    "watch",
    "control    # all components and what they take",
];

fn hints(hints: &[&str]) -> String {
    let program = program();
    let lines = hints.iter().map(|hint| format!("  {program} {hint}"));
    let lines = lines.collect::<Vec<_>>().join("\n");
    format!("\nTry, in another terminal:\n{lines}\nCtrl-C stops the robots, then the daemon.")
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let simulated = |kind| Entry::new(kind, Address::Sim { seed: 1, rate: None });
    let simulated =
        KINDS.iter().copied().filter(|kind| kind.schemes().contains(&"sim")).map(simulated);
    let simulated = simulated.collect::<Result<_, _>>()?;
    #[cfg(feature = "fleet")]
    if args.as_fleet {
        return fleet::run(args, json);
    }
    #[cfg_attr(not(feature = "g1"), expect(unused_mut, reason = "there is no library"))]
    let mut config = args.settings.effective_or(simulated)?;
    // What is taught to a robot that is gone afterwards goes with it.
    #[cfg(feature = "g1")]
    let library = tempfile::tempdir()?;
    #[cfg(feature = "g1")]
    if !args.settings.has_library() {
        config.server.library = library.path().into();
    }
    super::serve::serve(
        &config,
        || Ok(Vec::new()),
        json,
        |http| {
            hints(HINTS).lines().for_each(say);
            if let Some(http) = http.filter(|_| args.browser) {
                open(http);
            }
        },
    )
}

/// Opens the dashboard with what the desktop has for addresses.
fn open(http: SocketAddr) {
    let host = if http.ip().is_unspecified() { "localhost".into() } else { http.ip().to_string() };
    let host = if http.is_ipv6() && host != "localhost" { format!("[{host}]") } else { host };
    let address = format!("http://{host}:{}/", http.port());
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(&address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // It is waited for, so that nothing is left of it.
        Ok(mut child) => drop(thread::spawn(move || child.wait())),
        Err(error) => note(&format!("note: {opener} cannot be run ({error}): open {address}")),
    }
}
