//! `sinew teach`: motions that a robot is shown, keeps and repeats.

mod library;
mod play;
mod plot;
mod screen;

use std::{
    io::Write,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};
use sinew_robot::capability::Capability;

use crate::{
    DONE,
    client::{Client, Daemon},
    interrupt,
    output::{BOLD, PLAIN, printable, printable_json},
};

use self::screen::Progress;

const TEACH: Option<Capability> = Some(Capability::Teach);

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
    /// The actions that the robot keeps, and the motions in the library.
    List,
    /// Make the arms soft, so that they can be moved by hand.
    Enter,
    /// Make the arms stiff again.
    Exit,
    /// Record what the arms do, and save it under this name, in the robot and in the library.
    Record {
        name: String,
        /// How long, as in 5s; until Ctrl-C if not given.
        #[arg(long = "for", value_parser = super::duration)]
        duration: Option<Duration>,
        /// Save it in the library only: it may be longer, and the robot's store may be full.
        #[arg(long)]
        library: bool,
    },
    /// Save the last recording under another name.
    Save {
        name: String,
        /// Play it over and over.
        #[arg(long = "loop", conflicts_with = "library")]
        looped: bool,
        /// In the library, and not in the robot.
        #[arg(long)]
        library: bool,
    },
    /// Play an action of the robot, by name or by number, or a motion of the library.
    Play(play::Args),
    /// End playback, and teaching with it.
    Stop,
    /// Give an action another name.
    Rename {
        name: String,
        new_name: String,
        /// In the library, whatever the robot has.
        #[arg(long)]
        library: bool,
    },
    /// Delete an action, by name or by number.
    Delete {
        action: String,
        /// From the library, whatever the robot has.
        #[arg(long)]
        library: bool,
    },
    /// Show how the joints move in a motion of the library.
    Show {
        name: String,
        /// Write a picture to this file instead; - for standard output.
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
        /// Write over a file that is there.
        #[arg(long)]
        force: bool,
    },
    /// Write a motion of the library to a file.
    Export {
        name: String,
        /// The file, or - for standard output.
        #[arg(default_value = "-")]
        file: PathBuf,
        /// What to write; by the file's ending if not given, or JSON.
        #[arg(long)]
        format: Option<library::Format>,
        /// Write over a file that is there.
        #[arg(long)]
        force: bool,
    },
    /// Put a motion from a file into the library: JSON, CSV, or Unitree's motion.seq.
    Import {
        file: PathBuf,
        /// What to call it; what the file says, or its name, if not given.
        #[arg(long)]
        name: Option<String>,
        /// What the file is; by its ending if not given.
        #[arg(long)]
        format: Option<library::Source>,
    },
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    // A file that cannot be read needs no daemon.
    if let Verb::Import { file, name, format } = &args.verb {
        let read = library::read(file, name.as_deref(), *format)?;
        return library::import(&mut args.daemon.connect_for(TEACH)?, read, json);
    }
    let mut client = args.daemon.connect_for(TEACH)?;
    let client = &mut client;
    let command = match &args.verb {
        Verb::Record { name, duration, library } => {
            return record(client, name, *duration, *library, json);
        }
        Verb::Play(args) => return play::run(client, args, json),
        Verb::List => return list(client, json),
        Verb::Show { name, svg: None, .. } => return library::show(client, name, json),
        Verb::Show { name, svg: Some(file), force } => {
            let format = Some(library::Format::Svg);
            return library::export(client, name, file, format, *force, json);
        }
        Verb::Export { name, file, format, force } => {
            return library::export(client, name, file, *format, *force, json);
        }
        Verb::Enter => teach("enter"),
        Verb::Exit => teach("exit"),
        Verb::Stop => teach("stop"),
        Verb::Save { name, looped, library } => json!({
            "type": "Teach", "op": "save", "name": name, "loop": looped, "library": library,
        }),
        Verb::Rename { name, new_name, library } => json!({
            "type": "Teach", "op": "rename", "name": name, "new_name": new_name,
            "library": library,
        }),
        Verb::Delete { action, library: true } => {
            json!({ "type": "Teach", "op": "delete", "name": action, "library": true })
        }
        Verb::Delete { action, .. } => target("delete", action),
        Verb::Import { .. } => return Ok(DONE),
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
    library: bool,
    json: bool,
) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    client.request(json!({ "type": "Teach", "op": "record_start", "name": name }))?;
    let start = Instant::now();
    let mut progress = Progress::new(json);
    while !interrupted.is_set() && duration.is_none_or(|most| start.elapsed() < most) {
        progress.show("recording", start.elapsed(), duration);
        let left = duration.map_or(Duration::MAX, |most| most.saturating_sub(start.elapsed()));
        interrupted.wait(left.min(Duration::from_millis(100)));
    }
    progress.end();
    client.request(teach("record_stop"))?;
    let save = json!({ "type": "Teach", "op": "save", "name": name, "library": library });
    let data = client.request(save)?;
    told(&data, json)
}

/// What the robot has, then what only the library has.
fn list(client: &mut Client, json: bool) -> anyhow::Result<u8> {
    let robot = client.request(teach("list"));
    let library = client.request(teach("library"))?;
    let motions = library["motions"].as_array().cloned().unwrap_or_default();
    let mut out = anstream::stdout().lock();
    if json {
        let mut data = robot?;
        data["library"] = motions.into();
        data["problems"] = library["problems"].clone();
        writeln!(out, "{}", printable_json(&data))?;
        return Ok(DONE);
    }
    let none = Vec::new();
    let actions = match &robot {
        Ok(data) => data["actions"].as_array().unwrap_or(&none),
        Err(_) => &none,
    };
    let named =
        |list: &[Value], name: &Value| list.iter().find(|one| one["name"] == *name).cloned();
    for action in actions {
        let kept = named(&motions, &action["name"]);
        let duration = match &kept {
            Some(kept) if action["duration_ms"].is_null() => &kept["duration_ms"],
            _ => &action["duration_ms"],
        };
        let place = if kept.is_some() { "robot, library" } else { "robot" };
        row(&mut out, &printable_json(&action["id"]), action, duration, place)?;
    }
    for motion in motions.iter().filter(|motion| named(actions, &motion["name"]).is_none()) {
        row(&mut out, "-", motion, &motion["duration_ms"], "library")?;
    }
    if let Err(error) = robot {
        out.flush()?;
        return Err(error.context("only the library was listed"));
    }
    if actions.is_empty() && motions.is_empty() {
        writeln!(out, "no actions yet: sinew teach enter, then sinew teach record NAME --for 5s")?;
    }
    for problem in library["problems"].as_array().into_iter().flatten() {
        let text = |name: &str| printable(problem[name].as_str().unwrap_or("?"));
        writeln!(out, "not a motion: {}: {}", text("file"), text("message"))?;
    }
    Ok(DONE)
}

fn row(
    out: &mut impl Write,
    id: &str,
    action: &Value,
    duration: &Value,
    place: &str,
) -> std::io::Result<()> {
    let duration =
        duration.as_u64().map_or("-".into(), |ms| format!("{:.1} s", ms as f64 / 1000.0));
    let name = printable(action["name"].as_str().unwrap_or("?"));
    writeln!(out, "{id:>3}  {}{name:<31}{PLAIN} {duration:>8}  {place}", BOLD.render())
}

/// Says what the robot answered that is worth knowing.
fn told(data: &Value, json: bool) -> anyhow::Result<u8> {
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", printable_json(data))?;
        return Ok(DONE);
    }
    if let (Some(frames), Some(keyframes)) = (data["frames"].as_u64(), data["keyframes"].as_u64()) {
        let error = data["error_rad"].as_f64();
        let error = error.map_or(String::new(), |rad| format!(", off by at most {rad:.4} rad"));
        let place = if keyframes == 0 && data["library"] == true { " in the library" } else { "" };
        match keyframes {
            0 => writeln!(out, "{frames} frames{place}")?,
            _ => writeln!(out, "{frames} frames in {keyframes} keyframes{error}")?,
        }
    }
    if let Some(note) = data["note"].as_str() {
        writeln!(out, "{}", printable(note))?;
    }
    Ok(DONE)
}
