//! `sinew demo`: everything, without hardware.

use sinew_io::{
    Address,
    kind::{Entry, KINDS},
};

/// Run the daemon with simulated robots, until Ctrl-C.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    settings: super::serve::Settings,
}

const HINTS: &str = "
Try, in another terminal (the binary is target/release/sinew):
  sinew robots
  sinew status --robot vacuum
  sinew vacuum drive --linear 0.2 --for 3s
  sinew vacuum dock
  sinew teach enter; sinew teach record wave --for 5s; sinew teach exit
  sinew teach show wave; sinew teach play wave
  sinew watch --robot g1
  sinew control                      # all components and what they take
Ctrl-C stops the robot, then the daemon.";

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let mut config = args.settings.effective()?;
    if config.robot.is_empty() {
        let simulated = |kind| Entry::new(kind, Address::Sim { seed: 1 });
        config.robot = KINDS.iter().copied().map(simulated).collect::<Result<_, _>>()?;
    }
    // What is taught to a robot that is gone afterwards goes with it.
    #[cfg(feature = "g1")]
    let library = tempfile::tempdir()?;
    #[cfg(feature = "g1")]
    if !args.settings.has_library() {
        config.server.library = library.path().into();
    }
    super::serve::serve(&config, || Ok(Vec::new()), json, HINTS)
}
