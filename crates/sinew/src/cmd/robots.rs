//! `sinew robots`, `status` and `watch`.

use std::{
    io::{IsTerminal, Write},
    time::Duration,
};

use anyhow::bail;
use serde_json::Value;
use sinew_api::{Command, DaemonMessage, LinkReport, RobotReport, Topic};
use sinew_robot::capability::Capability;

use crate::{
    DONE,
    client::{Client, Daemon},
    interrupt,
    output::{BOLD, DIM, GREEN, PLAIN, RED, YELLOW, printable, printable_json},
};

/// List the robots of the daemon.
#[derive(clap::Args)]
pub(crate) struct RobotsArgs {
    #[command(flatten)]
    daemon: Daemon,
}

/// Show what a robot is doing.
#[derive(clap::Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    daemon: Daemon,
}

/// Show what a robot is doing, live, until Ctrl-C.
#[derive(clap::Args)]
pub(crate) struct WatchArgs {
    /// Updates a second.
    #[arg(long, default_value_t = 5.0)]
    max_hz: f64,
    /// End after so long, as in 10s.
    #[arg(long = "for", value_parser = super::duration)]
    duration: Option<Duration>,
    #[command(flatten)]
    daemon: Daemon,
}

pub(crate) fn robots(args: &RobotsArgs, json: bool) -> anyhow::Result<u8> {
    let robots = args.daemon.connect()?.robots()?.robots;
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{}", printable_json(&serde_json::to_value(robots)?))?;
        return Ok(DONE);
    }
    let links: Vec<_> = robots.iter().map(|robot| link(&robot.link)).collect();
    // As wide as it has to be: a reason may be long.
    let width = links.iter().map(|link| link.chars().count()).max().unwrap_or_default().max(26);
    let bold = BOLD.render();
    writeln!(out, "{bold}{:<12} {:<9} {:<width$} HOLDER{PLAIN}", "NAME", "KIND", "LINK")?;
    for (robot, link) in robots.iter().zip(links) {
        let (name, kind) = (printable(&robot.name), printable(&robot.kind));
        writeln!(out, "{name:<12} {kind:<9} {link:<width$} {}", client_name(&robot.holder))?;
    }
    Ok(DONE)
}

pub(crate) fn status(args: &StatusArgs, json: bool) -> anyhow::Result<u8> {
    let robot = one_robot(&mut args.daemon.connect()?, args.daemon.robot())?;
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{}", printable_json(&serde_json::to_value(robot)?))?;
    } else {
        for line in describe(&robot) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(DONE)
}

pub(crate) fn watch(args: &WatchArgs, json: bool) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    let mut client = args.daemon.connect()?;
    let topics = vec![Topic::State, Topic::Events];
    client.request(Command::Subscribe { topics, max_hz: Some(args.max_hz) })?;
    client.set_patience(Duration::from_millis(200))?;
    let in_place = std::io::stdout().is_terminal() && !json;
    let start = std::time::Instant::now();
    let mut shown = 0;
    while !interrupted.is_set() && args.duration.is_none_or(|most| start.elapsed() < most) {
        let Some(message) = client.next()? else { continue };
        let mut out = anstream::stdout().lock();
        if json {
            writeln!(out, "{}", printable_json(&message))?;
        } else if let Ok(DaemonMessage::Event(event)) = serde_json::from_value(message) {
            if let Some(robot) = event.state() {
                if in_place && shown > 0 {
                    // Back to the first line of the last picture.
                    write!(out, "\x1b[{shown}A")?;
                }
                let lines = describe(&robot);
                for line in &lines {
                    writeln!(out, "{line}{}", if in_place { "\x1b[K" } else { "" })?;
                }
                shown = lines.len();
            } else {
                writeln!(out, "{}", printable_json(&event.data))?;
                shown = 0;
            }
        }
        out.flush()?;
    }
    Ok(DONE)
}

/// The robot that was asked for, or the only one.
fn one_robot(client: &mut Client, name: Option<&str>) -> anyhow::Result<RobotReport> {
    let mut robots = client.robots()?.robots;
    let names: Vec<_> = robots.iter().map(|robot| printable(&robot.name)).collect();
    let found = match name {
        None if robots.is_empty() => bail!("the daemon has no robots"),
        None if robots.len() > 1 => bail!("say which with --robot: {}", names.join(", ")),
        None => Some(0),
        Some(name) => robots.iter().position(|robot| robot.name == name),
    };
    match found {
        Some(index) => Ok(robots.swap_remove(index)),
        None => bail!("no robot {:?}; there is {}", name.unwrap_or_default(), names.join(", ")),
    }
}

/// A robot's state in aligned lines.
fn describe(robot: &RobotReport) -> Vec<String> {
    let (name, kind) = (printable(&robot.name), printable(&robot.kind));
    let link = coloured_link(&robot.link);
    let mut lines = vec![format!("{}{name}{PLAIN} ({kind})  {link}", BOLD.render())];
    let mut row = |name: &str, value: String| {
        lines.push(format!("  {}{name:<10}{PLAIN} {}", DIM.render(), printable(&value)));
    };
    for (name, link) in &robot.links {
        row(name, self::link(link));
    }
    row(
        "seen",
        match robot.last_seen_ms {
            Some(ms) => format!("{:.1} s ago", ms as f64 / 1000.0),
            None => "never".into(),
        },
    );
    row("holder", client_name(&robot.holder));
    row("stopped by", client_name(&robot.stopped_by));
    let has = |capability| robot.capabilities.contains(&capability);
    let state = &Value::Object(robot.state.clone());
    if let Some(percent) = state["battery_percent"].as_u64() {
        row("battery", format!("{percent} %, {} V", number(&state["battery_volts"], 1)));
    }
    if has(Capability::Drive) {
        drive_rows(state, &mut row);
    }
    if has(Capability::Components) {
        component_rows(state, &mut row);
    }
    if has(Capability::Teach) {
        teaching_rows(state, &mut row);
    }
    lines
}

fn drive_rows(state: &Value, row: &mut impl FnMut(&str, String)) {
    let velocity = &state["velocity"];
    row(
        "velocity",
        format!(
            "{} m/s, {} rad/s, mode {}",
            number(&velocity["linear"], 2),
            number(&velocity["angular"], 2),
            state["mode"]
        ),
    );
    let pose = &state["pose"];
    row(
        "pose",
        format!(
            "x {} m, y {} m, {} rad",
            number(&pose["x"], 3),
            number(&pose["y"], 3),
            number(&pose["heading"], 3)
        ),
    );
}

fn component_rows(state: &Value, row: &mut impl FnMut(&str, String)) {
    row(
        "outputs",
        format!(
            "vacuum {} %, main brush {} %, side brush {} %, lidar {}, LED {}",
            state["vacuum"],
            state["main_brush"],
            state["side_brush"],
            state["lidar"].as_u64().map_or("off".into(), |pwm| format!("{pwm} %")),
            state["led"]
        ),
    );
    let counters = &state["counters"];
    row(
        "line",
        format!(
            "{} frames in, {} out, {} bad checks, {} bytes dropped",
            counters["frames"], counters["sent"], counters["bad_checks"], counters["dropped"]
        ),
    );
}

fn teaching_rows(state: &Value, row: &mut impl FnMut(&str, String)) {
    let on = |name: &str| if state[name] == true { "on" } else { "off" };
    row("teaching", on("teaching").into());
    row(
        "recording",
        format!(
            "{}, {} frames, {} ms",
            on("recording"),
            state["recorded_frames"],
            state["recorded_ms"]
        ),
    );
    row(
        "playing",
        match &state["playing"] {
            Value::Null => "-".into(),
            playing => format!("{} {}", playing["id"], text(&playing["name"])),
        },
    );
    let positions = state["positions"].as_array().cloned().unwrap_or_default();
    let positions: Vec<_> = positions.iter().map(|position| number(position, 2)).collect();
    row("joints", positions.join(" "));
    let counters = &state["counters"];
    row(
        "link",
        format!(
            "{} datagrams in, {} out, {} retries",
            counters["received"], counters["sent"], counters["retries"]
        ),
    );
}

/// How a robot can be reached, and why not.
fn link(link: &LinkReport) -> String {
    let state = printable(&link.state);
    let reason = link.reason.as_deref().map(printable);
    match (link.details.get("step"), reason) {
        (Some(step), Some(reason)) => format!("{state} at step {step}: {reason}"),
        (Some(step), None) => format!("{state} (step {step} of 19)"),
        (None, Some(reason)) => format!("{state}: {reason}"),
        (None, None) => state,
    }
}

fn coloured_link(report: &LinkReport) -> String {
    let colour = match report.state.as_str() {
        "ready" => GREEN,
        "booting" => YELLOW,
        _ => RED,
    };
    format!("{}{}{PLAIN}", colour.render(), link(report))
}

fn client_name(name: &Option<String>) -> String {
    name.as_deref().map_or("-".into(), printable)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => printable(text),
        Value::Null => "-".into(),
        other => printable_json(other),
    }
}

fn number(value: &Value, digits: usize) -> String {
    value.as_f64().map_or("-".into(), |number| format!("{number:.digits$}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_link_that_is_down_says_why() {
        for (report, wanted) in [
            (json!({ "state": "ready" }), "ready"),
            (json!({ "state": "booting", "step": 7 }), "booting (step 7 of 19)"),
            (
                json!({ "state": "failed", "step": 3, "reason": "no answer" }),
                "failed at step 3: no answer",
            ),
            (
                json!({ "state": "disconnected", "reason": "No such file (os error 2)\u{1b}" }),
                "disconnected: No such file (os error 2)\\u{1b}",
            ),
        ] {
            assert_eq!(link(&LinkReport::new(report)), wanted);
        }
    }

    #[test]
    fn rows_follow_what_a_robot_can_do() {
        let robot = |capabilities: Value| -> RobotReport {
            serde_json::from_value(json!({
                "name": "a", "kind": "b", "link": { "state": "ready" }, "holder": null,
                "links": { "lidar": { "state": "lost", "reason": "it went" } },
                "capabilities": capabilities, "sensors": [], "stopped_by": null,
                "last_seen_ms": null, "fresh": true, "state": { "battery_percent": 3 },
            }))
            .expect("is a report")
        };
        let shown = |capabilities| describe(&robot(capabilities)).join("\n");
        let all = shown(json!(["drive", "components", "sensors", "teach"]));
        for wanted in ["battery", "pose", "outputs", "joints", "lost: it went"] {
            assert!(all.contains(wanted), "{wanted} in {all}");
        }
        let drives = shown(json!(["drive"]));
        assert!(drives.contains("pose") && !drives.contains("outputs"), "{drives}");
        assert!(!shown(json!([])).contains("pose"));
    }
}
