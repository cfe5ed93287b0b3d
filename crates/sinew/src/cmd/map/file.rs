//! What is in a file of points or messages.

#[cfg(feature = "mcap")]
mod recording;

use std::{
    fs::File,
    io::{Read, Write},
    path::Path,
};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use sinew_robot::map::file::{self, Content, Format, messages::Summary};

use crate::{
    DONE,
    output::{printable, printable_json},
    progress::Progress,
};

/// Most input that is taken.
const MAX_INPUT: u64 = 512 << 20;
/// What is read between two looks at how far it is.
const PIECE: u64 = 4 << 20;

/// Reads a file of any format.
pub(super) fn read(path: &Path) -> anyhow::Result<Content> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("cannot open {shown}"))?;
    let whole = file.metadata().map(|about| about.len()).ok().filter(|length| *length > 0);
    let mut progress = Progress::new();
    let mut bytes = Vec::new();
    let mut rest = file.take(MAX_INPUT + 1);
    loop {
        let mut piece = rest.by_ref().take(PIECE);
        let count = piece.read_to_end(&mut bytes);
        if count.with_context(|| format!("cannot read {shown}"))? == 0 {
            break;
        }
        let part = whole.map(|whole| bytes.len() as f64 / whole as f64);
        progress.show(&format!("reading {shown}"), part);
    }
    if bytes.len() as u64 > MAX_INPUT {
        bail!("{shown} is over {} MiB", MAX_INPUT >> 20);
    }
    #[cfg(feature = "mcap")]
    if sinew_record::read::is_mcap(&bytes) {
        let read = progress.during(&format!("understanding {shown}"), || recording::read(&bytes));
        return read.with_context(|| format!("cannot read {shown}"));
    }
    let read = progress.during(&format!("understanding {shown}"), || file::read(&bytes));
    read.with_context(|| format!("cannot read {shown}"))
}

/// Prints what a file holds.
pub(super) fn show(path: &Path, json: bool) -> anyhow::Result<u8> {
    let content = read(path)?;
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", printable_json(&described(&content)))?;
        return Ok(DONE);
    }
    for (label, text) in rows(&content) {
        writeln!(out, "{label:<8} {}", printable(&text))?;
    }
    Ok(DONE)
}

fn described(content: &Content) -> Value {
    let fields: Vec<_> = content.points.fields().iter().map(|field| field.name.as_str()).collect();
    let bounds = content
        .points
        .bounds()
        .map(|bounds| json!({ "min": bounds.min.map(rounded), "max": bounds.max.map(rounded) }));
    let mut said = json!({
        "format": if content.encoding == "mcap" { "mcap" } else { content.format.name() },
        "points": content.points.len(),
        "fields": fields,
        "bounds": bounds,
    });
    let Some(summary) = &content.messages else { return said };
    said["frames"] = json!(summary.frames);
    if let Some((reading, reason)) = reading(summary) {
        said["reading"] = json!(reading);
        said["reason"] = json!(reason);
    }
    if let Some(channels) = summary.channels {
        let channels = channels.map(|channel| {
            let ((low, high), (from, to)) = (channel.signed, channel.unsigned);
            json!({ "signed": [low, high], "unsigned": [from, to] })
        });
        said["channels"] = json!(channels);
    }
    said
}

fn rows(content: &Content) -> Vec<(&'static str, String)> {
    let format = match content.format {
        Format::Pcd => format!("PCD, {}", content.encoding),
        Format::Ply => format!("PLY, {}", content.encoding),
        // Clouds that are no messages any more.
        Format::Messages if content.encoding == "mcap" => "clouds of a recording (MCAP)".into(),
        Format::Messages => match &content.messages {
            Some(Summary { timed: true, .. }) => "recording of messages".into(),
            _ => "SLAM messages".into(),
        },
    };
    let fields: Vec<_> = content.points.fields().iter().map(|field| &*field.name).collect();
    let mut rows = vec![
        ("format", format),
        ("points", content.points.len().to_string()),
        ("fields", fields.join(" ")),
    ];
    let bounds = content.points.bounds().map_or("no point has a place".into(), |bounds| {
        let axis = |name: &str, axis: usize| {
            format!("{name} {:.3} to {:.3}", bounds.min[axis], bounds.max[axis])
        };
        format!("{}, {}, {} m", axis("x", 0), axis("y", 1), axis("z", 2))
    });
    rows.push(("bounds", bounds));
    rows.extend(content.messages.as_ref().map(message_rows).unwrap_or_default());
    rows
}

fn message_rows(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut frames = summary.frames.to_string();
    if let Some(duration) = summary.duration {
        frames += &format!(" in {:.1} s", duration.as_secs_f64());
    }
    if summary.others > 0 {
        frames += &format!(", and {} other messages", summary.others);
    }
    if summary.is_cut {
        frames += "; the last message is not whole";
    }
    let mut rows = vec![("frames", frames)];
    if let Some((name, reason)) = reading(summary) {
        rows.push(("reading", format!("{name}: {reason}")));
    }
    for (channel, index) in summary.channels.iter().flatten().zip(0..) {
        let ((low, high), (from, to)) = (channel.signed, channel.unsigned);
        let label = if index == 0 { "channels" } else { "" };
        rows.push((label, format!("{index}  {low} to {high}, unsigned {from} to {to}")));
    }
    rows
}

/// How points were read, and why.
fn reading(summary: &Summary) -> Option<(String, String)> {
    let (reading, reason) = summary.reading?;
    match summary.is_mixed {
        false => Some((reading.to_string(), reason.to_string())),
        true => Some(("mixed".into(), "each message was read as it fits its box".into())),
    }
}

/// A coordinate to the micrometre: points have 32 bits, and more digits say nothing.
fn rounded(metres: f64) -> f64 {
    let rounded = (metres * 1e6).round() / 1e6;
    if rounded.is_finite() { rounded } else { metres }
}
