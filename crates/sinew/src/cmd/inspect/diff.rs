//! `--diff`: what two captures differ in.

use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

use sinew_capture::{
    Diff, Filter, Page, Profile, Report,
    diff::{Change, FlowDiff, MessageDiff},
};
use sinew_wire::text::grouped;

use super::{Args, Opened, analyse, write_page};
use crate::{
    DONE,
    output::{BOLD, DIM, GREEN, PLAIN, RED, YELLOW, printable, printable_json},
    say::{columns, wrapped},
};

/// Flows, and bytes of a message, that are shown; the JSON has all.
const FLOWS: usize = 40;
const BYTES: usize = 48;

pub(super) fn run(
    args: &Args,
    [a, b]: [&Path; 2],
    filter: &Filter,
    json: bool,
) -> anyhow::Result<u8> {
    let diff = Diff::new(read(a, filter)?, read(b, filter)?);
    if json {
        let mut out = BufWriter::new(io::stdout().lock());
        for part in diff.json_parts() {
            out.write_all(printable_json(&part).as_bytes())?;
        }
        writeln!(out)?;
        out.flush()?;
    } else {
        print(&diff)?;
    }
    let mut page = Page::new();
    page.add_diff(&diff);
    write_page(args, page)?;
    Ok(DONE)
}

fn read(file: &Path, filter: &Filter) -> anyhow::Result<(String, Report, Profile)> {
    let Opened { name, capture, progress } = Opened::new(file)?;
    let mut profile = Profile::new();
    let report = analyse(capture, filter, progress, |sight| profile.take(sight));
    Ok((name, report, profile))
}

fn print(diff: &Diff) -> io::Result<()> {
    let room = columns(io::stdout());
    let out = &mut BufWriter::new(anstream::stdout().lock());
    for (letter, (name, report)) in ["A", "B"].iter().zip(&diff.heads) {
        let name = printable(name);
        writeln!(
            out,
            "{letter} {}{name}{PLAIN}: {}, {} packets, {} bytes in {:.3} s",
            BOLD.render(),
            report.format,
            grouped(report.packets),
            grouped(report.bytes),
            report.duration as f64 / 1e9
        )?;
        for note in &report.notes {
            writeln!(out, "    {}{}{PLAIN}", DIM.render(), wrapped(&printable(note), room, 4, 4))?;
        }
    }
    for note in &diff.notes {
        writeln!(out, "  {}{}{PLAIN}", YELLOW.render(), wrapped(&printable(note), room, 2, 2))?;
    }
    if diff.is_same() {
        let text = "no difference: the same flows and commands, at the same rates, of the same sizes \
                    and with the same values";
        writeln!(out, "{}{}{PLAIN}", GREEN.render(), wrapped(text, room, 0, 2))?;
        return out.flush();
    }
    let different = || diff.flows.iter().filter(|flow| flow.change != Change::Same);
    for flow in different().take(FLOWS) {
        self::flow(flow, room, out)?;
    }
    let more = different().count().saturating_sub(FLOWS);
    if more > 0 {
        writeln!(out, "and {} more flows that differ (--json has all)", grouped(more as u64))?;
    }
    let same = diff.flows.iter().filter(|flow| flow.change == Change::Same).count();
    if same > 0 {
        writeln!(out, "\n{}{} in both are the same{PLAIN}", DIM.render(), flows(same))?;
    }
    out.flush()
}

fn flows(count: usize) -> String {
    match count {
        1 => "1 flow".into(),
        count => format!("{} flows", grouped(count as u64)),
    }
}

fn flow(flow: &FlowDiff, room: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let (style, word) = match flow.change {
        Change::New => (GREEN, "new"),
        Change::Gone => (RED, "gone"),
        Change::Changed | Change::Same => (YELLOW, "changed"),
    };
    let [near, far] = &flow.ends;
    let (protocol, transport) = (flow.protocol, flow.transport);
    writeln!(
        out,
        "\n{}{word}{PLAIN} {}{protocol}{PLAIN} {transport} {near} - {far}",
        style.render(),
        BOLD.render()
    )?;
    for (letter, side) in ["A", "B"].iter().zip(&flow.sides) {
        let Some(side) = side else { continue };
        let rate = side.rate_hz().map_or(String::new(), |rate| format!(", {rate:.2}/s"));
        let (packets, bytes) = (grouped(side.packets), grouped(side.bytes));
        let count = flows(side.flows as usize);
        writeln!(out, "  {letter}: {packets} packets, {bytes} bytes in {count}{rate}")?;
    }
    for change in &flow.changes {
        writeln!(out, "  {change}")?;
    }
    let is_whole = flow.change != Change::Changed;
    for message in flow.messages.iter().filter(|message| message.change != Change::Same) {
        if !is_whole || message.id.is_some() {
            self::message(flow, message, room, out)?;
        }
    }
    Ok(())
}

fn message(
    flow: &FlowDiff,
    message: &MessageDiff,
    room: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let line = format!("{}: {}", message.title(flow), message.summary());
    writeln!(out, "  {}", wrapped(&line, room, 2, 4))?;
    let wide = message.bytes.iter().map(|change| change.sides[0].to_string().len()).max();
    for change in message.bytes.iter().take(BYTES) {
        let [a, b] = &change.sides;
        let (at, field, wide) = (change.at, change.field.unwrap_or(""), wide.unwrap_or(0).min(32));
        let a = a.to_string();
        writeln!(out, "    byte {at:>3} {field:<16} {a:<wide$} -> {b}")?;
    }
    let more = message.bytes.len().saturating_sub(BYTES);
    if more > 0 {
        writeln!(out, "    and {more} more bytes (--json has all)")?;
    }
    Ok(())
}
