//! `sinew teach`: motions that a robot is shown, keeps and repeats.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::{
    DONE,
    client::{Client, Daemon},
    interrupt, output,
};

/// Teach a robot motions and play them.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    daemon: Daemon,
}

#[derive(Clone, Copy, ValueEnum)]
enum Interpolation {
    Linear,
    Cubic,
    Smooth,
}

#[derive(Subcommand)]
enum Verb {
    /// The actions that the robot keeps.
    List,
    /// Make the arms soft, so that they can be moved by hand.
    Enter,
    /// Make the arms stiff again.
    Exit,
    /// Record what the arms do, and save it under this name.
    Record {
        name: String,
        /// How long, as in 5s; until Ctrl-C if not given.
        #[arg(long = "for", value_parser = super::duration)]
        duration: Option<Duration>,
    },
    /// Save the last recording under another name.
    Save {
        name: String,
        /// Play it over and over.
        #[arg(long = "loop")]
        looped: bool,
    },
    /// Play an action, by name or by number.
    Play {
        action: String,
        /// Only the first so many frames.
        #[arg(long, default_value_t = 0)]
        frames: u32,
        /// How long to take, in milliseconds; as recorded if not given.
        #[arg(long, default_value_t = 0)]
        duration_ms: u32,
        #[arg(long, default_value = "linear")]
        interpolation: Interpolation,
    },
    /// End playback, and teaching with it.
    Stop,
    /// Give an action another name.
    Rename { name: String, new_name: String },
    /// Delete an action, by name or by number.
    Delete { action: String },
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let mut client = args.daemon.connect()?;
    let command = match &args.verb {
        Verb::Record { name, duration } => {
            return record(&mut client, name, *duration, json);
        }
        Verb::List => {
            let data = client.request(teach("list"))?;
            return list(&data, json);
        }
        Verb::Enter => teach("enter"),
        Verb::Exit => teach("exit"),
        Verb::Stop => teach("stop"),
        Verb::Save { name, looped } => {
            json!({ "type": "Teach", "op": "save", "name": name, "loop": looped })
        }
        Verb::Play { action, frames, duration_ms, interpolation } => {
            let mut command = target("play", action);
            command["frames"] = (*frames).into();
            command["duration_ms"] = (*duration_ms).into();
            command["interpolation"] = match interpolation {
                Interpolation::Linear => "linear",
                Interpolation::Cubic => "cubic",
                Interpolation::Smooth => "smooth",
            }
            .into();
            command
        }
        Verb::Rename { name, new_name } => {
            json!({ "type": "Teach", "op": "rename", "name": name, "new_name": new_name })
        }
        Verb::Delete { action } => target("delete", action),
    };
    let data = client.request(command)?;
    told(&data, json)
}

fn teach(op: &str) -> Value {
    json!({ "type": "Teach", "op": op })
}

/// A command about an action: by its number if it looks like one, else by its name.
fn target(op: &str, action: &str) -> Value {
    let mut command = teach(op);
    match action.parse::<u32>() {
        Ok(id) => command["id"] = id.into(),
        Err(_) => command["name"] = action.into(),
    }
    command
}

/// Starts, waits with a clock, stops, saves.
fn record(
    client: &mut Client,
    name: &str,
    duration: Option<Duration>,
    json: bool,
) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    client.request(json!({ "type": "Teach", "op": "record_start", "name": name }))?;
    let start = Instant::now();
    let progress = std::io::stderr().is_terminal() && !json;
    while !interrupted.is_set() && duration.is_none_or(|most| start.elapsed() < most) {
        if progress {
            eprint!("\rrecording {:.1} s ", start.elapsed().as_secs_f64());
        }
        let left = duration.map_or(Duration::MAX, |most| most.saturating_sub(start.elapsed()));
        interrupted.wait(left.min(Duration::from_millis(100)));
    }
    if progress {
        eprintln!();
    }
    client.request(teach("record_stop"))?;
    let data = client.request(json!({ "type": "Teach", "op": "save", "name": name }))?;
    told(&data, json)
}

fn list(data: &Value, json: bool) -> anyhow::Result<u8> {
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{data}")?;
        return Ok(DONE);
    }
    let actions = data["actions"].as_array().cloned().unwrap_or_default();
    if actions.is_empty() {
        writeln!(out, "no actions yet: sinew teach enter, then sinew teach record NAME --for 5s")?;
    }
    for action in actions {
        let duration = action["duration_ms"]
            .as_u64()
            .map_or("-".into(), |ms| format!("{:.1} s", ms as f64 / 1000.0));
        let text = |name: &str| action[name].as_str().unwrap_or("?").to_owned();
        let id = action["id"].to_string();
        writeln!(out, "{id:>3}  {:<32} {:<7} {duration}", text("name"), text("kind"))?;
    }
    Ok(DONE)
}

/// Says what the robot answered that is worth knowing.
fn told(data: &Value, json: bool) -> anyhow::Result<u8> {
    if json {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{data}")?;
        return Ok(DONE);
    }
    if let Some(frames) = data["frames"].as_u64() {
        let error = data["error_rad"].as_f64();
        let error = error.map_or(String::new(), |rad| format!(", off by at most {rad:.4} rad"));
        println!("{frames} frames in {} keyframes{error}", data["keyframes"]);
    }
    if let Some(note) = data["note"].as_str() {
        println!("{note}");
    }
    output::done(json)
}
