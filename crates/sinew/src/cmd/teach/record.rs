//! `sinew teach record` and `save`.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use sinew_robot::capability::Capability;

use super::{arms, note, teach};
use crate::{
    DONE,
    client::Client,
    interrupt,
    output::printable_json,
    progress::{Progress, clock},
    say::say,
};

/// How soon Ctrl-C and the end are seen.
const LOOK: Duration = Duration::from_millis(50);

/// Starts, waits with a clock, stops, saves.
pub(super) fn run(
    client: &mut Client,
    name: &str,
    duration: Option<Duration>,
    library: bool,
    json: bool,
) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    client.choose(Capability::Teach)?;
    let start = json!({ "type": "Teach", "op": "record_start", "name": name });
    arms::ask(client, start, &interrupted)?;
    let start = Instant::now();
    let mut progress = Progress::new();
    let until = match duration {
        Some(duration) => format!("for {:.1} s", duration.as_secs_f64()),
        None => "until Ctrl-C".into(),
    };
    progress.begin(&format!("recording {name} {until}"));
    loop {
        let elapsed = start.elapsed();
        let (clock, part) = clock(elapsed, duration);
        progress.show(&format!("recording {name}, {clock}"), part);
        let left = duration.map_or(LOOK, |whole| whole.saturating_sub(elapsed));
        if interrupted.is_set() || left.is_zero() {
            break;
        }
        client.set_patience(left.clamp(Duration::from_millis(1), LOOK))?;
        let Some(event) = client.next_event()? else { continue };
        let data = &event.data;
        if data["event"] == "recording" && data["on"] == false {
            let by = data["by"].as_str().unwrap_or("?");
            bail!("the recording ended after {:.1} s: {by}", elapsed.as_secs_f64());
        }
    }
    progress.end();
    client.request(teach("record_stop"))?;
    let save = json!({ "type": "Teach", "op": "save", "name": name, "library": library });
    let again = || format!("recorded and not saved; `sinew teach save {name}` tries again");
    let data = client.request(save).with_context(again)?;
    if json {
        writeln!(std::io::stdout().lock(), "{}", printable_json(&data))?;
        return Ok(DONE);
    }
    saved(client, &data, library);
    note(&data);
    Ok(DONE)
}

/// Says what was saved, and where: in the library alone, or in the robot, too.
pub(super) fn saved(client: &mut Client, data: &Value, alone: bool) {
    let name = data["name"].as_str().unwrap_or("the recording");
    let number = |member: &str| data[member].as_u64().unwrap_or_default();
    let (frames, keyframes) = (number("frames"), number("keyframes"));
    let seconds = number("duration_ms") as f64 / 1000.0;
    let library = match (data["library"] == true, data["file"].as_str()) {
        (true, Some(file)) => Some(format!("in the library as {file}")),
        (true, None) => Some("in the library".into()),
        (false, _) => None,
    };
    let robot = match keyframes {
        _ if alone => None,
        0 => Some(format!("in the robot{}, as it recorded it", slot(client, name))),
        _ => {
            let error = data["error_rad"].as_f64();
            let error = error.map_or(String::new(), |rad| format!(", off by at most {rad:.4} rad"));
            let slot = slot(client, name);
            Some(format!("in the robot{slot}, in {keyframes} keyframes{error}"))
        }
    };
    let places: Vec<_> = [robot, library].into_iter().flatten().collect();
    // A robot that does not tell its joints keeps them for itself.
    let frames = if frames > 0 { format!(", {frames} frames") } else { String::new() };
    say(&format!("saved {name} ({seconds:.1} s{frames}): {}", places.join("; ")));
}

/// Under which number the robot keeps an action, if it tells.
fn slot(client: &mut Client, name: &str) -> String {
    let list = client.request(teach("list")).unwrap_or_default();
    let mut actions = list["actions"].as_array().into_iter().flatten();
    let id = actions.find(|action| action["name"] == name).and_then(|action| action["id"].as_u64());
    id.map_or(String::new(), |id| format!(" as number {id}"))
}
