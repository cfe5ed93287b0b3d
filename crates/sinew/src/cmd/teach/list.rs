//! `sinew teach list`.

use std::io::Write;

use serde_json::Value;

use super::teach;
use crate::{
    DONE,
    client::Client,
    output::{BOLD, PLAIN, printable, printable_json},
    say::{beside, columns, say, warn, width},
};

/// An action or a motion, as it is shown.
struct Row {
    id: String,
    name: String,
    duration: String,
    place: &'static str,
}

/// What the robot has, then what only the library has.
pub(super) fn run(client: &mut Client, json: bool) -> anyhow::Result<u8> {
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
    let actions = robot.as_ref().ok().and_then(|data| data["actions"].as_array());
    let rows = rows(actions.map_or(&[], Vec::as_slice), &motions);
    let columns = columns(std::io::stdout());
    let longest = rows.iter().map(|row| width(&row.name)).max().unwrap_or_default();
    let digits = rows.iter().map(|row| width(&row.id)).max().unwrap_or_default().max(3);
    for Row { id, name, duration, place } in &rows {
        let space = " ".repeat(longest - width(name));
        write!(out, "{id:>digits$}  {}{name}{PLAIN}{space}", BOLD.render())?;
        let rest = format!("{duration:>9}  {place}");
        writeln!(out, "{}", beside(&rest, columns, digits + 2 + longest))?;
    }
    out.flush()?;
    drop(out);
    if let Err(error) = robot {
        return Err(error.context("only the library was listed"));
    }
    if rows.is_empty() {
        say("no actions yet: `sinew teach enter`, then `sinew teach record NAME --for 5s`");
    }
    for problem in library["problems"].as_array().into_iter().flatten() {
        let text = |name: &str| problem[name].as_str().unwrap_or("?");
        warn(&format!("not a motion: {}: {}", text("file"), text("message")));
    }
    Ok(DONE)
}

fn rows(actions: &[Value], motions: &[Value]) -> Vec<Row> {
    let named =
        |list: &[Value], name: &Value| list.iter().find(|one| one["name"] == *name).cloned();
    let stored = actions.iter().map(|action| {
        let kept = named(motions, &action["name"]);
        let duration = match &kept {
            Some(kept) if action["duration_ms"].is_null() => &kept["duration_ms"],
            _ => &action["duration_ms"],
        };
        let place = match (kept.is_some(), action["kind"] == "preset") {
            (true, _) => "robot, library",
            (false, true) => "robot, its own",
            (false, false) => "robot",
        };
        row(printable_json(&action["id"]), action, duration, place)
    });
    let only_here = motions.iter().filter(|motion| named(actions, &motion["name"]).is_none());
    let only_here = only_here.map(|one| row("-".into(), one, &one["duration_ms"], "library"));
    stored.chain(only_here).collect()
}

fn row(id: String, action: &Value, duration: &Value, place: &'static str) -> Row {
    let duration = duration.as_u64();
    let duration = duration.map_or("-".into(), |ms| format!("{:.1} s", ms as f64 / 1000.0));
    Row { id, name: printable(action["name"].as_str().unwrap_or("?")), duration, place }
}
