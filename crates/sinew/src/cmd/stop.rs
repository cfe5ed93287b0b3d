//! `sinew stop`.

use sinew_api::{Command, Halt, RobotReport};

use crate::{
    client::Daemon,
    output,
    phrases::listed,
    say::{say, warn},
    words,
};

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
    let is_meant = |robot: &RobotReport| daemon.robot().is_none_or(|name| robot.name == name);
    let robots: Vec<_> = all().into_iter().filter(is_meant).collect();
    let (reached, others): (Vec<_>, Vec<_>) =
        robots.into_iter().partition(|robot| robot.link.state == "ready");
    let names: Vec<_> = reached.into_iter().map(|robot| robot.name).collect();
    if !names.is_empty() || others.is_empty() {
        say(&format!("stopped {}", listed(&names)));
    }
    for robot in others {
        let link = words::link(&robot.link);
        warn(&format!("{} cannot be told: {link}; it stays stopped when it is back", robot.name));
    }
    output::done(json)
}
