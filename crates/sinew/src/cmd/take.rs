//! `sinew take` and `sinew release`: who may control a robot.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use anyhow::bail;
use serde_json::{Value, json};
use sinew_api::{Command, Event, Taken, Topic};

use crate::{
    DONE,
    client::{Client, Daemon, read},
    interrupt,
    output::printable_json,
    progress::Progress,
    say::say,
};

/// Take a robot's controls, from whichever client has them, and hold them until Ctrl-C.
///
/// While they are held no other client can control the robot, but any may stop it, and any may take
/// them in turn, which ends this. What the former holder set moving ends: velocity, return to the
/// dock, walking and playback, not teaching. Wheels that were stopped so, here and by the end of this
/// command, stay stopped until they are enabled: `sinew vacuum drive` does that.
#[derive(clap::Args)]
pub(crate) struct TakeArgs {
    #[command(flatten)]
    daemon: Daemon,
}

/// How long it may take until a robot tells who has its controls.
const SETTLING: Duration = Duration::from_secs(1);

/// Take the controls from whichever client has them, and let go.
///
/// Of all robots, unless one is named. What the former holder set moving ends: velocity, return to
/// the dock, walking and playback, not teaching. Its wheels stay stopped until they are enabled:
/// `sinew vacuum drive` does that.
#[derive(clap::Args)]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    daemon: Daemon,
}

pub(crate) fn take(args: &TakeArgs, json: bool) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    let mut client = args.daemon.connect()?;
    let taken = take_control(&mut client)?;
    client.set_robot(&taken.robot);
    let topics = vec![Topic::Events, Topic::State];
    client.request(Command::Subscribe { topics, max_hz: Some(5.0) })?;
    let Taken { robot, from } = &taken;
    print(json, &json!({ "event": "took", "robot": robot, "from": from }))?;
    let whose = from.as_ref().map_or("which no client had".into(), |from| format!("from {from}"));
    say(&format!("took the controls of {robot}, {whose}; holding them until Ctrl-C"));
    client.set_patience(Duration::from_millis(100))?;
    let (begin, mut progress) = (Instant::now(), Progress::new());
    let mut hold = Hold { robot, own: client.name().to_owned(), begin, elsewhere: None };
    while !interrupted.is_set() {
        let seconds = begin.elapsed().as_secs();
        progress.show(&format!("holding the controls of {robot}, {seconds} s"), None);
        if let Some(event) = client.next_event()? {
            hold.note(&event)?;
        }
        hold.check()?;
    }
    drop(client);
    progress.end();
    print(json, &json!({ "event": "let_go", "robot": robot }))?;
    say(&format!("let go of the controls of {robot}"));
    Ok(DONE)
}

pub(crate) fn release(args: &ReleaseArgs, json: bool) -> anyhow::Result<u8> {
    let mut client = args.daemon.connect()?;
    let robots = client.robots()?.robots;
    let wanted = args.daemon.robot();
    let known = |name: &str| robots.iter().any(|robot| robot.name == name);
    if let Some(name) = wanted.filter(|name| !known(name)) {
        let names: Vec<_> = robots.iter().map(|robot| robot.name.as_str()).collect();
        bail!("no robot is called {name:?}; there are: {}", crate::phrases::listed(&names));
    }
    let mut freed = Vec::new();
    for robot in robots.iter().filter(|robot| wanted.is_none_or(|name| robot.name == name)) {
        if robot.holder.is_some() {
            client.set_robot(&robot.name);
            freed.push(take_control(&mut client)?);
        }
    }
    // Its end is what lets go.
    drop(client);
    let list: Vec<_> =
        freed.iter().map(|Taken { robot, from }| json!({ "robot": robot, "from": from })).collect();
    print(json, &json!({ "ok": true, "released": list }))?;
    if freed.is_empty() {
        say(&format!("no client held the controls of {}", wanted.unwrap_or("any robot")));
    }
    for Taken { robot, from } in &freed {
        let from = from.as_deref().unwrap_or("a client that has just left");
        say(&format!("took the controls of {robot} from {from}, and let go"));
    }
    Ok(DONE)
}

/// The controls as this client holds them, by what it is told.
struct Hold<'a> {
    robot: &'a str,
    own: String,
    begin: Instant,
    /// Since when they are not seen here any more, and what to say of that.
    elsewhere: Option<(Instant, String)>,
}

impl Hold<'_> {
    fn note(&mut self, event: &Event) -> anyhow::Result<()> {
        if event.data["event"] == "taken" {
            let by = event.data["by"].as_str().unwrap_or("another client");
            // A robot of a fleet tells of our own taking, too, a moment later.
            let is_echo = by != self.own && self.is_own(by);
            if !is_echo || self.begin.elapsed() > SETTLING {
                bail!("{by} took the controls of {}", self.robot);
            }
        }
        let Some(report) = event.state().filter(|report| report.name == self.robot) else {
            return Ok(());
        };
        self.elsewhere = match report.holder {
            Some(holder) if self.is_own(&holder) => None,
            holder => {
                let since = self.elsewhere.take().map_or_else(Instant::now, |(since, _)| since);
                let robot = self.robot;
                let text = match (holder, report.link.state.as_str()) {
                    (Some(holder), _) => format!("{holder} took the controls of {robot}"),
                    (None, "ready") => format!("no client has the controls of {robot} any more"),
                    (None, _) => {
                        format!(
                            "{robot} cannot be reached, and no client has its controls any more"
                        )
                    }
                };
                Some((since, text))
            }
        };
        Ok(())
    }

    /// Whether they are still held. A robot of a fleet tells so a moment later than it is.
    fn check(&self) -> anyhow::Result<()> {
        match &self.elsewhere {
            Some((since, text)) if since.elapsed() > SETTLING => bail!("{text}"),
            _ => Ok(()),
        }
    }

    /// Whether this is what the robot calls this client; a fleet's robots have the hub's name behind it.
    fn is_own(&self, name: &str) -> bool {
        let rest = name.strip_prefix(self.own.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" via "))
    }
}

fn take_control(client: &mut Client) -> anyhow::Result<Taken> {
    read(client.request(Command::TakeControl { name: None })?)
}

/// A line for programs.
fn print(json: bool, value: &Value) -> anyhow::Result<()> {
    if json {
        writeln!(std::io::stdout().lock(), "{}", printable_json(value))?;
    }
    Ok(())
}
