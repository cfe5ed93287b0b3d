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
    client.request(Command::Subscribe { topics: vec![Topic::Events], max_hz: None })?;
    let Taken { robot, from } = &taken;
    print(json, &json!({ "event": "took", "robot": robot, "from": from }))?;
    let whose = from.as_ref().map_or("which no client had".into(), |from| format!("from {from}"));
    say(&format!("took the controls of {robot}, {whose}; holding them until Ctrl-C"));
    // Another client may have taken them before its doing so would have been told. What a robot of a fleet tells comes a
    // moment later, and has the hub's name behind the client's.
    let (begin, own) = (Instant::now(), client.name().to_owned());
    loop {
        let holder = holder(&mut client, robot)?;
        let holder = holder.as_deref().unwrap_or("no client");
        if holder
            .strip_prefix(own.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(" via "))
        {
            break;
        }
        if begin.elapsed() > SETTLING {
            bail!("{holder} has the controls of {robot} now");
        }
        client.set_patience(Duration::from_millis(50))?;
        let event = client.next_event()?;
        event.as_ref().map_or(Ok(()), |event| check_taken(event, robot, &own, begin.elapsed()))?;
    }
    client.set_patience(Duration::from_millis(100))?;
    let (begin, mut progress) = (Instant::now(), Progress::new());
    while !interrupted.is_set() {
        let seconds = begin.elapsed().as_secs();
        progress.show(&format!("holding the controls of {robot}, {seconds} s"), None);
        let Some(event) = client.next_event()? else { continue };
        check_taken(&event, robot, &own, begin.elapsed())?;
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

/// Whether another client has taken the controls, so long after this one did. What a robot of a fleet tells of that
/// comes late.
fn check_taken(event: &Event, robot: &str, own: &str, since: Duration) -> anyhow::Result<()> {
    if event.data["event"] == "taken" {
        let by = event.data["by"].as_str().unwrap_or("another client");
        let is_echo = by.strip_prefix(own).is_some_and(|rest| rest.starts_with(" via "));
        if !is_echo || since > SETTLING {
            bail!("{by} took the controls of {robot}");
        }
    }
    Ok(())
}

fn take_control(client: &mut Client) -> anyhow::Result<Taken> {
    read(client.request(Command::TakeControl { name: None })?)
}

fn holder(client: &mut Client, robot: &str) -> anyhow::Result<Option<String>> {
    let robots = client.robots()?.robots;
    Ok(robots.into_iter().find(|one| one.name == robot).and_then(|one| one.holder))
}

/// A line for programs.
fn print(json: bool, value: &Value) -> anyhow::Result<()> {
    if json {
        writeln!(std::io::stdout().lock(), "{}", printable_json(value))?;
    }
    Ok(())
}
