//! Walking, for as long as this process is there.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use serde_json::Value;
use sinew_api::{Command, RobotReport, Topic};
use sinew_robot::{
    capability::Capability,
    mapping::{Pose, Request},
};

use super::note;
use crate::{
    DONE, FAILED,
    client::Client,
    interrupt,
    output::printable_json,
    progress::Progress,
    say::{fail, say},
    words,
};

/// How long the reason for the end may be behind the end.
const BEHIND: Duration = Duration::from_secs(1);

/// Has the robot walk, and stays until it is there: without this connection it would stop.
pub(super) fn run(
    client: &mut Client,
    request: Request,
    confirmed: bool,
    json: bool,
) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    // What is asked from now on is for one robot, and so is what it tells.
    client.choose(Capability::Mapping)?;
    let goal = match request {
        Request::GoTo { pose } => Some(pose),
        _ => None,
    };
    let mut command = Command::Mapping(request).to_value();
    if confirmed {
        command["confirm"] = true.into();
    }
    let topics = vec![Topic::State, Topic::Events];
    client.request(Command::Subscribe { topics, max_hz: Some(10.0) })?;
    let data = client.request(command)?;
    if json {
        writeln!(std::io::stdout().lock(), "{}", printable_json(&data))?;
    }
    say("the robot walks, and does so only while this command runs; Ctrl-C pauses it");
    note(&data);
    client.set_patience(Duration::from_millis(100))?;
    let mut progress = Progress::new();
    let (mut walked, mut stands) = (false, None::<Instant>);
    loop {
        if interrupted.is_set() {
            progress.end();
            client.request(Command::Mapping(Request::Pause))?;
            fail("paused before it was there; `sinew map resume` walks on");
            return Ok(FAILED);
        }
        if stands.is_some_and(|since| since.elapsed() > BEHIND) {
            progress.end();
            fail("the robot stands, and did not say why");
            return Ok(FAILED);
        }
        let Some(event) = client.next_event()? else { continue };
        match event.state() {
            Some(robot) if robot.link.state != "ready" => {
                progress.end();
                let (name, link) = (&robot.name, words::link(&robot.link));
                anyhow::bail!("there is no contact to {name} any more: {link}");
            }
            Some(robot) => {
                let mapping = robot.state.get("mapping");
                match mapping.and_then(|mapping| mapping["walking"].as_bool()) {
                    Some(true) => (walked, stands) = (true, None),
                    // It may not have begun yet.
                    Some(false) if walked => stands = stands.or_else(|| Some(Instant::now())),
                    _ => {}
                }
                let (text, part) = on_its_way(&robot, goal.as_ref());
                progress.show(&text, part);
            }
            None if event.data["event"] == "walk_ended" => {
                progress.end();
                return ended(&event.data, json);
            }
            None => {}
        }
    }
}

/// Where it is, how far it has to go, and how much of the way is behind it.
fn on_its_way(robot: &RobotReport, goal: Option<&Pose>) -> (String, Option<f64>) {
    let percent = robot.state.get("mapping").and_then(|mapping| mapping["percent"].as_f64());
    let part = percent.map(|percent| percent / 100.0);
    let pose = robot.state.get("pose");
    let Some((pose, at)) = pose.and_then(|pose| Some((pose, words::place(pose)?))) else {
        return ("walking".into(), part);
    };
    let left = goal.and_then(|goal| {
        let (x, y) = (pose["x"].as_f64()?, pose["y"].as_f64()?);
        Some(format!(", {:.1} m to go", (goal.x - x).hypot(goal.y - y)))
    });
    (format!("walking: {at}{}", left.unwrap_or_default()), part)
}

fn ended(event: &Value, json: bool) -> anyhow::Result<u8> {
    if json {
        writeln!(std::io::stdout().lock(), "{}", printable_json(event))?;
    }
    if event["arrived"] == true {
        say("the robot is there");
        return Ok(DONE);
    }
    let why = event["why"].as_str().unwrap_or("for no reason that is known");
    fail(&format!("the robot is not there: {why}"));
    Ok(FAILED)
}
