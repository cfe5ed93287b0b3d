//! `sinew robots`, `status`, `watch` and `stop`.

use std::{
    io::{IsTerminal, Write},
    time::Duration,
};

use anyhow::bail;
use serde_json::{Value, json};

use crate::{
    DONE,
    client::{Client, Daemon},
    interrupt,
    output::{self, BOLD, DIM, GREEN, PLAIN, RED, YELLOW, printable, printable_json},
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

/// Stop a robot at once; anybody may.
#[derive(clap::Args)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    daemon: Daemon,
}

pub(crate) fn robots(args: &RobotsArgs, json: bool) -> anyhow::Result<u8> {
    let data = args.daemon.connect()?.request(json!({ "type": "Robots" }))?;
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{}", printable_json(&data["robots"]))?;
        return Ok(DONE);
    }
    let robots = data["robots"].as_array().cloned().unwrap_or_default();
    writeln!(out, "{}{:<12} {:<9} {:<26} HOLDER{PLAIN}", BOLD.render(), "NAME", "KIND", "LINK")?;
    for robot in robots {
        writeln!(
            out,
            "{:<12} {:<9} {:<26} {}",
            text(&robot["name"]),
            text(&robot["kind"]),
            link(&robot["link"]),
            text(&robot["holder"])
        )?;
    }
    Ok(DONE)
}

pub(crate) fn status(args: &StatusArgs, json: bool) -> anyhow::Result<u8> {
    let robot = one_robot(&mut args.daemon.connect()?, args.daemon.robot())?;
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{}", printable_json(&robot))?;
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
    client.request(json!({
        "type": "Subscribe",
        "topics": ["state", "events"],
        "max_hz": args.max_hz,
    }))?;
    client.set_patience(Duration::from_millis(200))?;
    let in_place = std::io::stdout().is_terminal() && !json;
    let start = std::time::Instant::now();
    let mut shown = 0;
    while !interrupted.is_set() && args.duration.is_none_or(|most| start.elapsed() < most) {
        let Some(message) = client.next()? else { continue };
        let mut out = anstream::stdout().lock();
        if json {
            writeln!(out, "{}", printable_json(&message))?;
        } else if message["topic"] == "events" {
            writeln!(out, "{}", printable_json(&message["data"]))?;
            shown = 0;
        } else if message["topic"] == "state" {
            if in_place && shown > 0 {
                // Back to the first line of the last picture.
                write!(out, "\x1b[{shown}A")?;
            }
            let lines = describe(&message["data"]);
            for line in &lines {
                writeln!(out, "{line}{}", if in_place { "\x1b[K" } else { "" })?;
            }
            shown = lines.len();
        }
        out.flush()?;
    }
    Ok(DONE)
}

pub(crate) fn stop(args: &StopArgs, json: bool) -> anyhow::Result<u8> {
    args.daemon.connect()?.request(json!({ "type": "Stop" }))?;
    output::done(json)
}

/// The robot that was asked for, or the only one.
fn one_robot(client: &mut Client, name: Option<&str>) -> anyhow::Result<Value> {
    let data = client.request(json!({ "type": "Robots" }))?;
    let robots = data["robots"].as_array().cloned().unwrap_or_default();
    let names: Vec<_> = robots.iter().map(|robot| text(&robot["name"])).collect();
    match (name, robots.as_slice()) {
        (None, [robot]) => Ok(robot.clone()),
        (None, []) => bail!("the daemon has no robots"),
        (None, _) => bail!("say which with --robot: {}", names.join(", ")),
        (Some(name), all) => match all.iter().find(|robot| robot["name"] == name) {
            Some(robot) => Ok(robot.clone()),
            None => bail!("no robot {name:?}; there is {}", names.join(", ")),
        },
    }
}

/// A robot's state in aligned lines.
fn describe(robot: &Value) -> Vec<String> {
    let state = &robot["state"];
    let mut lines = vec![format!(
        "{}{}{PLAIN} ({})  {}",
        BOLD.render(),
        text(&robot["name"]),
        text(&robot["kind"]),
        coloured_link(&robot["link"])
    )];
    let mut row = |name: &str, value: String| {
        lines.push(format!("  {}{name:<10}{PLAIN} {}", DIM.render(), printable(&value)));
    };
    row(
        "seen",
        match robot["last_seen_ms"].as_u64() {
            Some(ms) => format!("{:.1} s ago", ms as f64 / 1000.0),
            None => "never".into(),
        },
    );
    row("holder", text(&robot["holder"]));
    row("stopped by", text(&robot["stopped_by"]));
    if state["teaching"].is_boolean() {
        teaching_rows(state, &mut row);
    } else {
        vacuum_rows(state, &mut row);
    }
    lines
}

fn vacuum_rows(state: &Value, row: &mut impl FnMut(&str, String)) {
    if let Some(percent) = state["battery_percent"].as_u64() {
        row("battery", format!("{percent} %, {} V", number(&state["battery_volts"], 1)));
    }
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

fn link(link: &Value) -> String {
    match (&link["state"], &link["step"], &link["reason"]) {
        (state @ Value::String(_), Value::Number(step), reason @ Value::String(_)) => {
            format!("{} at step {step}: {}", text(state), text(reason))
        }
        (state @ Value::String(_), Value::Number(step), _) => {
            format!("{} (step {step} of 19)", text(state))
        }
        (state @ Value::String(_), ..) => text(state),
        _ => text(link),
    }
}

fn coloured_link(value: &Value) -> String {
    let colour = match value["state"].as_str() {
        Some("ready") => GREEN,
        Some("booting") => YELLOW,
        _ => RED,
    };
    format!("{}{}{PLAIN}", colour.render(), link(value))
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
