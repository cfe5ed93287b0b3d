//! `sinew demo`: everything, without hardware.

use sinew_io::{
    Address,
    kind::{Entry, KINDS},
};

use crate::say::program;

/// Run the daemon with simulated robots, until Ctrl-C.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    settings: super::serve::Settings,
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

fn hints() -> String {
    let program = program();
    let lines = HINTS.iter().map(|hint| format!("  {program} {hint}"));
    let lines = lines.collect::<Vec<_>>().join("\n");
    format!("\nTry, in another terminal:\n{lines}\nCtrl-C stops the robots, then the daemon.")
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let simulated = |kind| Entry::new(kind, Address::Sim { seed: 1 });
    let simulated = KINDS.iter().copied().map(simulated).collect::<Result<_, _>>()?;
    #[cfg_attr(not(feature = "g1"), expect(unused_mut, reason = "there is no library"))]
    let mut config = args.settings.effective_or(simulated)?;
    // What is taught to a robot that is gone afterwards goes with it.
    #[cfg(feature = "g1")]
    let library = tempfile::tempdir()?;
    #[cfg(feature = "g1")]
    if !args.settings.has_library() {
        config.server.library = library.path().into();
    }
    super::serve::serve(&config, || Ok(Vec::new()), json, &hints())
}
