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

use super::{info, note};
use crate::{
    DONE, FAILED,
    client::Client,
    interrupt,
    output::printable_json,
    progress::Progress,
    say::{fail, say},
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
            Some(robot) if robot.link.state == "lost" => {
                progress.end();
                anyhow::bail!("the link to the robot was lost");
            }
            Some(robot) => {
                match robot.state.get("walking").and_then(Value::as_bool) {
                    Some(true) => (walked, stands) = (true, None),
                    // It may not have begun yet.
                    Some(false) if walked => stands = stands.or_else(|| Some(Instant::now())),
                    _ => {}
                }
                progress.show(&on_its_way(&robot, goal.as_ref()), None);
            }
            None if event.data["event"] == "walk_ended" => {
                progress.end();
                return ended(&event.data, json);
            }
            None => {}
        }
    }
}

/// Where it is, and how far it has to go.
fn on_its_way(robot: &RobotReport, goal: Option<&Pose>) -> String {
    let Some(pose) = robot.state.get("pose") else { return "walking".into() };
    let Some(at) = info::pose(pose) else { return "walking".into() };
    let left = goal.and_then(|goal| {
        let (x, y) = (pose["x"].as_f64()?, pose["y"].as_f64()?);
        Some(format!(", {:.1} m to go", (goal.x - x).hypot(goal.y - y)))
    });
    format!("walking: {at}{}", left.unwrap_or_default())
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
