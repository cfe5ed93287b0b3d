//! `sinew demo`: everything, without hardware.

use sinew_io::tap::Tap;

use crate::config::Robot;

/// Run the daemon with simulated robots, until Ctrl-C.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    settings: super::serve::Settings,
}

const HINTS: &str = "
Try, in another terminal (the binary is target/release/sinew):
  sinew status
  sinew vacuum drive --linear 0.2 --for 3s
  sinew vacuum dock
  sinew watch
  sinew control                      # all components and what they take
Ctrl-C stops the robot, then the daemon.";

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let mut config = args.settings.effective()?;
    if config.robot.is_empty() {
        config.robot.push(Robot::new("sim:".into()));
    }
    super::serve::serve(&config, || Ok(Tap::default()), json, HINTS)
}
