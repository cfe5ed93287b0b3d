//! `sinew teach`: motions that a robot is shown, keeps and repeats.

mod arms;
mod library;
mod list;
mod play;
mod plot;
mod record;
#[cfg(feature = "mcap")]
mod recording;

use std::{io::Write, path::PathBuf, time::Duration};

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};
use sinew_robot::capability::Capability;

use crate::{DONE, client::Daemon, output::printable_json, phrases::span, say::say};

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
        /// What to call it.
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
        /// What to call it.
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
        /// Its name.
        name: String,
        /// The one it gets.
        new_name: String,
        /// In the library, whatever the robot has.
        #[arg(long)]
        library: bool,
    },
    /// Delete an action, by name or by number.
    Delete {
        /// Name or number.
        action: String,
        /// From the library, whatever the robot has.
        #[arg(long)]
        library: bool,
    },
    /// Show how the joints move in a motion of the library.
    Show {
        /// Which.
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
        /// Which.
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
    /// Put a motion from a file into the library: JSON, CSV, Unitree's motion.seq, or a recording (MCAP, where this build reads it).
    Import {
        /// The file.
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
            return record::run(client, name, *duration, *library, json);
        }
        Verb::Play(args) => return play::run(client, args, json),
        Verb::List => return list::run(client, json),
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
    if json {
        writeln!(std::io::stdout().lock(), "{}", printable_json(&data))?;
        return Ok(DONE);
    }
    let text = |name: &str| data[name].as_str().unwrap_or("?");
    let place = if data["library"] == true { "the library" } else { "the robot" };
    match &args.verb {
        // There is something to be known where nothing was sent, and that is all there is to say.
        Verb::Enter | Verb::Exit if data["note"].is_string() => return Ok(told(text("note"))),
        Verb::Enter => entered(&data),
        Verb::Exit => say("the arms are stiff again"),
        Verb::Stop => say("stopped: playback has ended, and teaching with it"),
        Verb::Save { library, .. } => record::saved(client, &data, *library),
        Verb::Rename { .. } => {
            say(&format!("renamed {} to {} in {place}", text("name"), text("new_name")));
        }
        Verb::Delete { .. } => say(&format!("deleted {} from {place}", text("name"))),
        _ => {}
    }
    note(&data);
    Ok(DONE)
}

fn told(text: &str) -> u8 {
    say(text);
    DONE
}

/// Says that the arms are soft, and for how long.
fn entered(data: &Value) {
    let idle = data["idle_exit_ms"].as_u64().map(|ms| span(Duration::from_millis(ms)));
    let idle = idle.map_or(String::new(), |idle| {
        format!(", or by themselves {idle} after the last teaching command")
    });
    say(&format!(
        "the arms are soft and can be moved by hand; `sinew teach exit` makes them stiff again{idle}"
    ));
    if data["pose_known"] == false {
        say("the robot does not tell its pose: it has to record by itself");
    }
}

/// Says what the robot or the daemon adds.
fn note(data: &Value) {
    if let Some(note) = data["note"].as_str() {
        say(&format!("note: {note}"));
    }
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
