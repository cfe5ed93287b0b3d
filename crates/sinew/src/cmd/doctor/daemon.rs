//! The daemon, and the robots that it has. It is asked what it is and what they do, nothing else.

use std::{
    net::{TcpStream, ToSocketAddrs},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, anyhow, bail};
use serde::de::DeserializeOwned;
use sinew_api::{Command, LinkReport, Pong, Robots};
use sinew_robot::{Code, Refusal};

use super::{Context, Finding, addresses::daemon_socket};
use crate::{
    client::{Client, Daemon},
    phrases::Refused,
    system::shell_word,
};

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Clocks that differ by less are taken for the same.
const SAME_TIME: i128 = 5_000;
/// No clock that is right is before this: the year 2025.
const PAST: Duration = Duration::from_secs(1_735_689_600);

/// What a daemon said.
pub(super) struct Reached {
    pong: Pong,
    robots: Robots,
}

/// Why there is none.
pub(super) enum Unreached {
    /// Nothing listens there.
    Nothing(anyhow::Error),
    /// What listens there says no, or is something else.
    Other(anyhow::Error),
}

pub(super) fn reach(server: &str, token: Option<&str>) -> Result<Reached, Unreached> {
    connect(server).map_err(Unreached::Nothing)?;
    let talk = || {
        let mut client = Daemon::at(server, token)?.connect()?;
        let pong = ask(&mut client, Command::Ping)?;
        Ok(Reached { pong, robots: ask(&mut client, Command::Robots)? })
    };
    talk().map_err(Unreached::Other)
}

/// Whether anything listens there.
fn connect(server: &str) -> anyhow::Result<()> {
    let mut result = Err(anyhow!("no address"));
    for address in server.to_socket_addrs()? {
        result = TcpStream::connect_timeout(&address, PATIENCE).map(drop).map_err(Into::into);
        if result.is_ok() {
            break;
        }
    }
    result
}

/// What else listens there may never answer.
fn ask<T: DeserializeOwned>(client: &mut Client, command: Command) -> anyhow::Result<T> {
    let begin = Instant::now();
    client.set_patience(PATIENCE)?;
    let req = client.send(command)?;
    while begin.elapsed() < PATIENCE {
        let Some(message) = client.next()? else { break };
        if message["req"] != req {
            continue;
        }
        if let Ok(refusal) = serde_json::from_value::<Refusal>(message["error"].clone()) {
            return Err(refusal.into());
        }
        return serde_json::from_value(message["data"].clone()).context("no reply of a daemon");
    }
    bail!("no answer within {} s", PATIENCE.as_secs())
}

pub(super) fn check(context: &Context) -> Vec<Finding> {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    let server = &context.server;
    let reached = match &context.daemon {
        Ok(reached) => reached,
        Err(error) => return vec![unreached(context, error)],
    };
    let build = &reached.pong.build;
    let finding = match build == VERSION {
        true => Finding::ok(format!("version {build} answers at {server}")),
        false => {
            let message = format!("it is version {build} at {server}, and this is {VERSION}");
            Finding::warning(message).mend(restart(context))
        }
    };
    let warnings = reached.robots.warnings.iter().map(Finding::warning);
    [finding].into_iter().chain(warnings).collect()
}

/// What ends the daemon that runs and starts another one.
fn restart(context: &Context) -> String {
    let start = context.serve_command();
    let process = daemon_socket(context).and_then(|socket| context.system.opener_of(&socket));
    match process {
        _ if context.is_service() => "sudo systemctl restart sinew".into(),
        Some(process) => format!("kill {}; {start}", process.pid),
        None => start,
    }
}

fn unreached(context: &Context, unreached: &Unreached) -> Finding {
    let server = &context.server;
    match unreached {
        Unreached::Nothing(error) => {
            let message = format!("none listens at {server}: {error:#}");
            // One that was asked for should be there.
            let finding = match context.server_given {
                true => Finding::problem(message),
                false => Finding::warning(message),
            };
            finding.mend(context.serve_command())
        }
        Unreached::Other(error) if is_unauthorized(error) => {
            Finding::problem(format!("{server} wants a token: {error:#}"))
                .mend("export SINEW_TOKEN=SECRET")
        }
        Unreached::Other(error) => {
            Finding::problem(format!("what listens at {server} is none: {error:#}"))
                .mend("sudo ss -ltnp")
        }
    }
}

fn is_unauthorized(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refused>().is_some_and(|refused| refused.0.code == Code::Unauthorized)
}

pub(super) fn clock(context: &Context) -> Vec<Finding> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if now < PAST {
        return vec![Finding::warning("it is wrong").mend("sudo timedatectl set-ntp true")];
    }
    let Ok(reached) = &context.daemon else { return vec![Finding::ok("it is set")] };
    let ahead = i128::from(reached.pong.time_ms) - now.as_millis() as i128;
    let finding = match ahead.abs() > SAME_TIME {
        false => Finding::ok("the daemon's and this machine's agree"),
        true => {
            let way = if ahead > 0 { "ahead of" } else { "behind" };
            let seconds = ahead.abs() / 1000;
            Finding::warning(format!("the daemon's is {seconds} s {way} this machine's"))
                .mend("sudo timedatectl set-ntp true")
        }
    };
    vec![finding]
}

pub(super) fn robots(context: &Context) -> Vec<Finding> {
    let Ok(Reached { robots, .. }) = &context.daemon else { return Vec::new() };
    if robots.robots.is_empty() {
        return vec![Finding::warning("the daemon has none").mend(context.serve_command())];
    }
    robots.robots.iter().map(|robot| link(&robot.name, &robot.link).about(&robot.name)).collect()
}

fn link(name: &str, link: &LinkReport) -> Finding {
    let message = match &link.reason {
        Some(reason) => format!("{}: {reason}", link.state),
        None => link.state.clone(),
    };
    let finding = match link.state.as_str() {
        "ready" | "ended" => return Finding::ok(message),
        "booting" => Finding::warning(message),
        _ => Finding::problem(message),
    };
    finding.mend(format!("sinew status --robot {}", shell_word(name)))
}

/// Whether the daemon has a thread of real-time priority, and its process; none where it cannot be
/// seen, or has no robot that needs one.
pub(super) fn has_real_time(context: &Context) -> Option<(u32, bool)> {
    use sinew_robot::capability::Capability;

    let reached = context.daemon.as_ref().ok()?;
    let mut robots = reached.robots.robots.iter();
    let drives = robots.any(|robot| robot.capabilities.contains(&Capability::Drive));
    let socket = daemon_socket(context).filter(|_| drives)?;
    let process = context.system.process_of(&socket, "sinew")?;
    Some((process.pid, context.system.has_real_time_thread(process.pid)?))
}
