//! What a vacuum's controller answers by itself, some time later.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use anyhow::bail;
use serde_json::{Value, json};
use sinew_api::{Command, Topic};
use sinew_robot::capability::Capability;

use super::control;
use crate::{
    DONE,
    client::{Client, Daemon},
    interrupt, output,
    output::{printable, printable_json},
    progress::Progress,
    say::say,
};

/// How long the controller may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Wakes the controller's protocol.
pub(super) fn sync(daemon: &Daemon, json: bool) -> anyhow::Result<u8> {
    let (mut client, robot) = listen(daemon)?;
    client.request(Command::Sync)?;
    match answer(&mut client, "synced")? {
        Some(_) => say(&format!("{robot}: the controller answered")),
        None => say(&format!("{robot}: sent; the controller did not answer")),
    }
    output::done(json)
}

/// Asks for the state of the inertial sensor.
pub(super) fn imu(daemon: &Daemon, json: bool) -> anyhow::Result<u8> {
    state(daemon, "imu", "imu_state", "value", json)
}

/// Asks for the state of the compass.
pub(super) fn compass(daemon: &Daemon, json: bool) -> anyhow::Result<u8> {
    state(daemon, "compass", "compass_state", "payload", json)
}

fn state(daemon: &Daemon, id: &str, event: &str, member: &str, json: bool) -> anyhow::Result<u8> {
    let (mut client, robot) = listen(daemon)?;
    client.request(control(id, "Enable", &[]))?;
    let Some(answer) = answer(&mut client, event)? else {
        bail!("{robot}: asked, and the controller did not answer");
    };
    let value = &answer[member];
    let mut out = std::io::stdout().lock();
    match json {
        true => writeln!(out, "{}", printable_json(&json!({ "ok": true, "state": value })))?,
        false => writeln!(out, "{id} calibration state {}", printable(&value.to_string()))?,
    }
    Ok(DONE)
}

/// Runs the boot sequence, and waits for its end.
pub(super) fn boot(daemon: &Daemon, json: bool) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    let (mut client, robot) = listen(daemon)?;
    let begin = Instant::now();
    client.request(Command::Boot)?;
    let mut progress = Progress::new();
    progress.begin(&format!("{robot}: booting"));
    client.set_patience(Duration::from_millis(100))?;
    while !interrupted.is_set() {
        let Some(event) = client.next_event()? else { continue };
        let data = &event.data;
        match data["event"].as_str() {
            Some("boot_step") => {
                let what = data["what"].as_str().unwrap_or_default();
                let step = data["step"].as_u64().unwrap_or_default();
                let text = format!("{robot}: booting, step {step} of 19, {what}");
                progress.show(&text, Some(step as f64 / 19.0));
            }
            Some("boot_done") => {
                progress.end();
                say(&format!("{robot}: booted in {:.1} s", begin.elapsed().as_secs_f64()));
                return output::done(json);
            }
            Some("boot_failed") => {
                let reason = data["reason"].as_str().unwrap_or("?");
                bail!("{robot}: the boot failed, and is tried again: {reason}");
            }
            _ => {}
        }
    }
    progress.end();
    say(&format!("{robot}: not waited for; the boot goes on"));
    output::done(json)
}

/// A client that hears what happens to the robot, and the robot's name.
fn listen(daemon: &Daemon) -> anyhow::Result<(Client, String)> {
    let mut client = daemon.connect()?;
    let robot = client.choose(Capability::Components)?;
    client.request(Command::Subscribe { topics: vec![Topic::Events], max_hz: None })?;
    Ok((client, robot.map_or_else(|| "the robot".into(), |robot| robot.name)))
}

/// The event that answers, if it comes.
fn answer(client: &mut Client, name: &str) -> anyhow::Result<Option<Value>> {
    let begin = Instant::now();
    client.set_patience(Duration::from_millis(100))?;
    while begin.elapsed() < PATIENCE {
        let event = client.next_event()?.filter(|event| event.data["event"] == name);
        if let Some(event) = event {
            return Ok(Some(event.data));
        }
    }
    Ok(None)
}
