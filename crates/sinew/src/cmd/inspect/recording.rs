//! MCAP recordings: their topics, with counts, rates, sizes and schemas.

use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    path::Path,
};

use anyhow::Context;
use serde_json::{Value, json};
use sinew_record::{
    read::{Ending, is_mcap},
    stored::{self, Summary, TopicStats},
};

use crate::output::{printable, printable_json};

/// Whether a file begins as a recording does. What cannot be opened is not one; why, is said elsewhere.
pub(super) fn is_one(file: &Path) -> bool {
    let mut front = Vec::new();
    let read = File::open(file).and_then(|file| match file.metadata()?.is_file() {
        true => file.take(8).read_to_end(&mut front),
        false => Ok(0),
    });
    read.is_ok() && is_mcap(&front)
}

/// Prints what a recording holds.
pub(super) fn show(path: &Path, json: bool) -> anyhow::Result<()> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("cannot open {shown}"))?;
    let bytes = file.metadata().map(|about| about.len()).unwrap_or(0);
    let summary = stored::summary(BufReader::new(file));
    let summary = summary.with_context(|| format!("cannot read {shown}"))?;
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{}", printable_json(&described(path, bytes, &summary)))?;
        return Ok(());
    }
    for line in lines(&shown.to_string(), bytes, &summary) {
        writeln!(out, "{}", printable(&line))?;
    }
    Ok(())
}

fn described(path: &Path, bytes: u64, summary: &Summary) -> Value {
    let topics: Vec<_> = summary
        .topics
        .iter()
        .map(|(topic, stats)| {
            json!({
                "topic": topic,
                "messages": stats.messages,
                "bytes": stats.bytes,
                "longest": stats.longest,
                "hz": stats.rate(),
                "schema": stats.schema,
                "schema_encoding": stats.schema_encoding,
                "encoding": stats.encoding,
                "first_ns": stats.times.map(|(first, _)| first),
                "last_ns": stats.times.map(|(_, last)| last),
            })
        })
        .collect();
    let about: serde_json::Map<_, _> =
        summary.about.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    json!({
        "file": path,
        "format": "mcap",
        "bytes": bytes,
        "whole": summary.ending == Ending::Whole,
        "damaged_chunks": summary.damaged,
        "about": about,
        "topics": topics,
    })
}

fn lines(name: &str, bytes: u64, summary: &Summary) -> Vec<String> {
    let times = || summary.topics.values().filter_map(|stats| stats.times);
    let span = times().map(|(_, last)| last).max().zip(times().map(|(first, _)| first).min());
    let seconds = span.map_or(0.0, |(last, first)| last.saturating_sub(first) as f64 / 1e9);
    let messages: u64 = summary.topics.values().map(|stats| stats.messages).sum();
    let mut lines = vec![format!(
        "{name}: MCAP recording, {messages} messages of {} topics in {seconds:.1} s, {:.1} MB",
        summary.topics.len(),
        bytes as f64 / 1e6
    )];
    if summary.ending == Ending::Unfinished {
        lines.push(
            "  it was not finished by its writer: what is there is whole up to its end".into(),
        );
    }
    if summary.damaged > 0 {
        lines
            .push(format!("  {} chunks do not fit their check, and are left out", summary.damaged));
    }
    for (key, value) in
        summary.about.iter().filter(|(key, value)| key.starts_with("lost") && value != "0")
    {
        lines.push(format!("  {}: {value} messages", key.replace('_', " ")));
    }
    let width = summary.topics.keys().map(|topic| topic.chars().count()).max().unwrap_or(0);
    let row = |(topic, stats): (&String, &TopicStats)| {
        let rate = stats.rate().map_or("-".into(), |rate| format!("{rate:.1} Hz"));
        let schema = match stats.schema.is_empty() {
            true => format!("no schema ({})", stats.encoding),
            false => format!("{} ({})", stats.schema, stats.encoding),
        };
        let mean = stats.bytes / stats.messages.max(1);
        format!(
            "  {topic:<width$}  {:>8} x {mean:>7} B  {rate:>9}  {:>9.3} MB  {schema}",
            stats.messages,
            stats.bytes as f64 / 1e6
        )
    };
    lines.extend(summary.topics.iter().map(row));
    lines
}
