//! `sinew map`: maps that a robot makes, and walking in them.

mod convert;
mod download;
mod file;
mod http;
mod info;
mod record;
mod save;
mod socket;
mod walk;
mod watch;
mod write;

use std::{io::Write, path::PathBuf, time::Duration};

use clap::Subcommand;
use serde_json::Value;
use sinew_api::Command;
use sinew_robot::{
    capability::Capability,
    mapping::{Pose, Request},
};

use crate::{
    DONE,
    client::{Client, Daemon},
    output::printable_json,
    progress::Progress,
    say::say,
};

const MAPPING: Option<Capability> = Some(Capability::Mapping);
/// A robot that stores, loads or gives out a map may take its time.
const PATIENCE: Duration = Duration::from_secs(600);

/// Have a robot make maps, and walk in them.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    daemon: Daemon,
}

#[derive(Subcommand)]
enum Verb {
    /// Begin a map.
    Start,
    /// End the map. A robot that stores maps does so.
    Stop {
        /// What to call it; the date if not given.
        name: Option<String>,
    },
    /// Forget the map that the daemon makes.
    Clear,
    Watch(watch::Args),
    Save(save::Args),
    Record(record::Args),
    /// How mapping goes, and where the robot is; or what is in a file.
    Info {
        /// A PCD or PLY file, or SLAM messages: no robot is asked.
        file: Option<PathBuf>,
    },
    /// Turn a file of points into one of another format.
    Convert(convert::Args),
    /// Load a map that the robot stores.
    #[command(allow_negative_numbers = true)]
    Relocate {
        /// Which.
        map: String,
        /// Where the robot is in it.
        #[command(flatten)]
        place: Place,
    },
    /// Walk to a place of the map that is loaded. Ctrl-C pauses the robot.
    #[command(allow_negative_numbers = true)]
    GoTo {
        /// Where to.
        #[command(flatten)]
        place: Place,
        /// The robot may walk by itself: there is room, and it is watched.
        #[arg(long, visible_alias = "yes")]
        confirm: bool,
    },
    /// Stand still on the way.
    Pause,
    /// Walk on. Ctrl-C pauses the robot.
    Resume,
    /// End mapping, or the way, without storing.
    Close,
    /// Fetch a map that the robot stores.
    Download {
        /// Which.
        name: String,
        /// Where to write it here, or - for standard output; it stays with the daemon if not given.
        file: Option<PathBuf>,
        /// Write over a file that is there.
        #[arg(long)]
        force: bool,
    },
}

/// A place of a map.
#[derive(clap::Args, Clone, Copy)]
struct Place {
    /// Metres forward from where the map began.
    #[arg(value_parser = finite)]
    x: f64,
    /// Metres to the left.
    #[arg(value_parser = finite)]
    y: f64,
    /// Which way to face, radians to the left.
    #[arg(value_parser = finite, default_value_t = 0.0)]
    yaw: f64,
}

fn finite(text: &str) -> Result<f64, String> {
    // JSON has no others.
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("wanted a number, got {text:?}"))
}

impl From<Place> for Pose {
    fn from(Place { x, y, yaw }: Place) -> Self {
        Pose { x, y, z: 0.0, yaw }
    }
}

impl Args {
    /// Whether it may fill the screen.
    pub(crate) fn is_watch(&self) -> bool {
        matches!(self.verb, Verb::Watch(_))
    }
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    match &args.verb {
        Verb::Info { file: Some(path) } => return file::show(path, json),
        Verb::Convert(convert) => return convert::run(convert, json),
        Verb::Watch(watch) => return watch::run(watch, &args.daemon, json),
        Verb::Save(save) => return save::run(save, &args.daemon, json),
        Verb::Record(record) => return record::run(record, &args.daemon, json),
        _ => {}
    }
    let request = match args.verb {
        Verb::Start => Request::Start,
        Verb::Stop { ref name } => Request::Stop { name: name.clone() },
        Verb::Clear => Request::Clear,
        // Of a file it is answered above, and so are those that ask otherwise.
        Verb::Info { .. } | Verb::Convert(_) | Verb::Watch(_) | Verb::Save(_) | Verb::Record(_) => {
            Request::Info
        }
        Verb::Relocate { ref map, place } => {
            Request::Relocate { map: map.clone(), pose: place.into() }
        }
        Verb::GoTo { place, .. } => Request::GoTo { pose: place.into() },
        Verb::Pause => Request::Pause,
        Verb::Resume => Request::Resume,
        Verb::Close => Request::Close,
        Verb::Download { ref name, .. } => Request::Download { name: name.clone() },
    };
    // A file that cannot be written needs no daemon.
    if let Verb::Download { file: Some(file), force: false, .. } = &args.verb {
        write::check_free(file)?;
    }
    let mut client = args.daemon.connect_for(MAPPING)?;
    let client = &mut client;
    if let Verb::GoTo { confirm, .. } = args.verb {
        return walk::run(client, request, confirm, json);
    }
    if let Request::Resume = request {
        return walk::run(client, request, false, json);
    }
    if let Verb::Download { name, file, force } = &args.verb {
        let wanted = download::Wanted { name, file: file.as_deref(), force: *force };
        return download::run(client, &args.daemon, &wanted, json);
    }
    let data = ask(client, &request)?;
    if json {
        writeln!(std::io::stdout().lock(), "{}", printable_json(&data))?;
        return Ok(DONE);
    }
    let text = |name: &str| data[name].as_str().unwrap_or("?");
    match request {
        Request::Start => {
            say("the map begins; `sinew map watch` shows it, `sinew map stop` ends it")
        }
        Request::Stop { .. } => match data["name"].as_str() {
            Some(name) => say(&format!("the map has ended; the robot has stored it as {name}")),
            None => say("the map has ended; `sinew map save OUT` writes it to a file"),
        },
        Request::Clear => say("the map that was made here is gone"),
        Request::Info => info::show(&data)?,
        Request::Relocate { .. } => say(&format!("the robot has loaded {}", text("map"))),
        Request::Pause => {
            say("the robot stands; `sinew map resume` goes on where it was on its way")
        }
        Request::Close => say("the robot neither maps nor walks"),
        Request::Save { .. }
        | Request::GoTo { .. }
        | Request::Resume
        | Request::Download { .. } => {}
    }
    note(&data);
    Ok(DONE)
}

/// Asks, and shows that it takes a while.
fn ask(client: &mut Client, request: &Request) -> anyhow::Result<Value> {
    let mut progress = Progress::new();
    match request {
        Request::Stop { .. } => progress.show("the map is ended and stored", None),
        Request::Relocate { map, .. } => progress.show(&format!("the robot loads {map}"), None),
        Request::Download { name } => progress.show(&format!("the robot sends {name}"), None),
        _ => {}
    }
    client.request_within(Command::Mapping(request.clone()), PATIENCE)
}

/// Says what the robot or the daemon adds.
fn note(data: &Value) {
    if let Some(note) = data["note"].as_str() {
        say(&format!("note: {note}"));
    }
}
