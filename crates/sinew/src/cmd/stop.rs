//! `sinew stop`.

use sinew_api::{Command, Halt};

use crate::{client::Daemon, output, phrases::listed, say::say};

/// Stop a robot at once, or all of them; any client may.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    daemon: Daemon,
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    stop(&args.daemon, json)
}

/// Stops the robot that was named, or all.
pub(super) fn stop(daemon: &Daemon, json: bool) -> anyhow::Result<u8> {
    let mut client = daemon.connect()?;
    client.request(Command::Halt(Halt::Stop { note: None }))?;
    // Which they are is worth a question, but not the stop's success.
    let mut all = || client.robots().map(|robots| robots.robots).unwrap_or_default();
    let names = match daemon.robot() {
        Some(name) => vec![name.to_owned()],
        None => all().into_iter().map(|robot| robot.name).collect(),
    };
    say(&format!("stopped {}", listed(&names)));
    output::done(json)
}
