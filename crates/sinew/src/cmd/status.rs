//! `sinew status`.

use std::io::Write;

use anyhow::bail;
use sinew_api::RobotReport;

use crate::{
    DONE,
    client::Daemon,
    output::{YELLOW, printable, printable_json},
    report::{headline, rows},
    terminal,
    text::{Line, wrap},
};

/// Show what the robots are doing, or one of them.
///
/// With --json it prints the robot as an object where --robot names one or there is just one, and
/// otherwise all of them as a list.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    daemon: Daemon,
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let answer = args.daemon.connect()?.robots()?;
    let robots = chosen(answer.robots, args.daemon.robot())?;
    let mut out = anstream::stdout().lock();
    if json {
        let told = match &robots[..] {
            [robot] => serde_json::to_value(robot)?,
            robots => serde_json::to_value(robots)?,
        };
        writeln!(out, "{}", printable_json(&told))?;
        return Ok(DONE);
    }
    let width = terminal::width();
    for (index, robot) in robots.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", headline(robot, width))?;
        for line in rows(robot).iter().flat_map(|row| row.lines(width)) {
            writeln!(out, "{line}")?;
        }
    }
    for warning in answer.warnings {
        for text in wrap(&format!("warning: {}", printable(&warning)), width) {
            writeln!(out, "{}", Line::new(YELLOW, text))?;
        }
    }
    Ok(DONE)
}

/// The robot of this name, or all.
pub(super) fn chosen(
    mut robots: Vec<RobotReport>,
    name: Option<&str>,
) -> anyhow::Result<Vec<RobotReport>> {
    let names: Vec<_> = robots.iter().map(|robot| printable(&robot.name)).collect();
    if robots.is_empty() {
        bail!("the daemon has no robots");
    }
    if let Some(name) = name {
        robots.retain(|robot| robot.name == name);
        if robots.is_empty() {
            bail!("no robot {name:?}; there is {}", names.join(", "));
        }
    }
    Ok(robots)
}
