//! Playing, with a look at how far it is.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_robot::capability::Capability;

use super::{Interpolation, arms, note, target};
use crate::{
    DONE, FAILED,
    client::Client,
    interrupt::{self, Interrupted},
    output::printable_json,
    phrases::listed,
    progress::{Progress, clock},
    say::{fail, say},
};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name or number.
    action: String,
    /// Only the first so many frames.
    #[arg(long, default_value_t = 0)]
    frames: u32,
    /// How long to take, in milliseconds; as recorded if not given.
    #[arg(long, default_value_t = 0)]
    duration_ms: u32,
    /// How much faster than recorded, 0.05 to 4; motions of the library only.
    #[arg(long, conflicts_with = "duration_ms", value_parser = speed)]
    speed: Option<f32>,
    /// Over and over until Ctrl-C; motions of the library only.
    #[arg(long = "loop")]
    looped: bool,
    /// How to go from keyframe to keyframe.
    #[arg(long, default_value = "linear")]
    interpolation: Interpolation,
    /// From the library, whatever the robot has.
    #[arg(long)]
    library: bool,
    /// Wait for its end, as on a terminal. Ctrl-C stops the robot.
    #[arg(long, overrides_with = "no_wait")]
    wait: bool,
    /// Do not wait for its end.
    #[arg(long)]
    no_wait: bool,
}

fn speed(text: &str) -> Result<f32, String> {
    // JSON has no others.
    let speed = text.parse().ok().filter(|speed: &f32| speed.is_finite());
    speed.ok_or_else(|| format!("wanted a number from 0.05 to 4, got {text:?}"))
}

pub(super) fn run(client: &mut Client, args: &Args, json: bool) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    let mut command = match args.library {
        true => json!({ "type": "Teach", "op": "play", "name": args.action, "library": true }),
        false => target("play", &args.action),
    };
    command["frames"] = args.frames.into();
    command["duration_ms"] = args.duration_ms.into();
    command["interpolation"] = match args.interpolation {
        Interpolation::Linear => "linear",
        Interpolation::Cubic => "cubic",
        Interpolation::Smooth => "smooth",
    }
    .into();
    if args.looped {
        command["loop"] = true.into();
    }
    if let Some(speed) = args.speed {
        command["speed"] = speed.into();
    }
    // What is followed is one robot.
    client.choose(Capability::Teach)?;
    let data = arms::ask(client, command, &interrupted)?;
    if json {
        writeln!(std::io::stdout().lock(), "{}", printable_json(&data))?;
    }
    say(&format!("playing {}", described(&data, &args.action)));
    let limited = data["limited"].as_array().into_iter().flatten();
    let limited: Vec<_> = limited.filter_map(Value::as_str).collect();
    if !limited.is_empty() {
        say(&format!("only as far as the limits allow: {}", listed(&limited)));
    }
    note(&data);
    // What repeats ends with the connection, so there is something to wait for.
    let waits = !args.no_wait && (args.wait || args.looped || std::io::stderr().is_terminal());
    if waits { wait(client, &interrupted, json) } else { Ok(DONE) }
}

/// What plays, from where, and for how long.
fn described(data: &Value, action: &str) -> String {
    let name = data["name"].as_str().unwrap_or(action);
    let Some(pieces) = data["pieces"].as_u64() else {
        let id = data["id"].as_u64().map_or(String::new(), |id| format!(" {id}"));
        return format!("{name}, the robot's action{id}");
    };
    let error = data["error_rad"].as_f64().unwrap_or_default();
    let seconds = data["duration_ms"].as_f64().unwrap_or_default() / 1000.0;
    let pieces = if pieces == 1 { "one piece".into() } else { format!("{pieces} pieces") };
    format!("{name} from the library: {seconds:.1} s in {pieces}, off by at most {error:.4} rad")
}

/// How long the reason for the end may be behind the end.
const BEHIND: Duration = Duration::from_secs(1);
/// A robot shows up to 1.5 s after its answer that it plays.
const BEGINS: Duration = Duration::from_secs(3);

/// Follows the robot's state until nothing plays any more; fails if that was not the motion's end.
fn wait(client: &mut Client, interrupted: &Interrupted, json: bool) -> anyhow::Result<u8> {
    client.set_patience(Duration::from_millis(100))?;
    let mut progress = Progress::new();
    let (mut stopped, mut begun, mut over) = (false, false, None::<Instant>);
    loop {
        if interrupted.is_set() && !stopped {
            stopped = true;
            client.send(super::teach("stop"))?;
        }
        if over.is_some_and(|since| since.elapsed() > if begun { BEHIND } else { BEGINS }) {
            // A robot that tells of no motion tells of no end either.
            progress.end();
            say("the robot does not show that it plays; when it ends is not known");
            return Ok(DONE);
        }
        let Some(event) = client.next_event()? else { continue };
        let data = &event.data;
        match event.state() {
            Some(robot) => {
                // Robots that cannot play are no news.
                if !robot.capabilities.contains(&Capability::Teach) {
                    continue;
                }
                if robot.link.state == "lost" {
                    progress.end();
                    anyhow::bail!("the link to the robot was lost");
                }
                let Some(playing) = robot.state.get("playing").filter(|playing| !playing.is_null())
                else {
                    over.get_or_insert_with(Instant::now);
                    continue;
                };
                (begun, over) = (true, None);
                let ms = |name: &str| playing[name].as_u64().map(Duration::from_millis);
                let name = playing["name"].as_str().unwrap_or("an action");
                let elapsed = ms("elapsed_ms").unwrap_or_default();
                let (clock, part) = clock(elapsed, ms("duration_ms"));
                progress.show(&format!("playing {name}, {clock}"), part);
            }
            None if data["event"] == "play_ended" => {
                progress.end();
                if json {
                    writeln!(std::io::stdout().lock(), "{}", printable_json(data))?;
                }
                let name = data["name"].as_str().unwrap_or("the action");
                if data["whole"] == true {
                    say(&format!("played {name} to its end"));
                    return Ok(DONE);
                }
                let why = data["why"].as_str().unwrap_or("for no reason that is known");
                fail(&format!("{name} ended early: {why}"));
                return Ok(FAILED);
            }
            None => {}
        }
    }
}
