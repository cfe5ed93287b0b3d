//! The report for people.

use std::io::{self, BufWriter, Write};

use sinew_capture::{
    Format, Kind, Report, Verdict,
    report::{Command, Flow},
};
use sinew_wire::text::grouped;

use crate::{
    output::{BOLD, DIM, GREEN, PLAIN, RED, YELLOW, printable},
    say::{columns, width, wrapped},
};

/// Flows and commands that are shown; the JSON has all.
const FLOWS: usize = 40;
const COMMANDS: usize = 48;
/// Columns of the largest bar.
const BAR: u64 = 24;

pub(super) fn print(name: &str, report: &Report, is_further: bool) -> io::Result<()> {
    let room = columns(io::stdout());
    let out = &mut BufWriter::new(anstream::stdout().lock());
    if is_further {
        writeln!(out)?;
    }
    head(name, report, room, out)?;
    let shown = shown(report);
    flows(report, &shown, room, out)?;
    for (index, flow) in report.flows.iter().enumerate() {
        let rows: Vec<_> = report.commands.iter().filter(|row| row.flow == index).collect();
        if !rows.is_empty() {
            let verdict = report.verdicts.iter().find(|verdict| verdict.flow == index);
            commands(index, flow, &rows, verdict, room, out)?;
        }
    }
    for verdict in &report.verdicts {
        self::verdict(verdict, room, out)?;
    }
    out.flush()
}

fn head(name: &str, report: &Report, room: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let what = if report.format == Format::Csv { "rows" } else { "packets" };
    let counts = match report.format {
        Format::Serial => format!("{} bytes", grouped(report.bytes)),
        _ => format!(
            "{} {what}, {} bytes in {}",
            grouped(report.packets),
            grouped(report.bytes),
            time(report.duration as f64 / 1e9)
        ),
    };
    writeln!(out, "{}{name}{PLAIN}: {}, {counts}", BOLD.render(), report.format)?;
    for note in &report.notes {
        let style = if report.is_truncated() { YELLOW } else { DIM };
        let note = wrapped(&printable(note), room, 2, 2);
        writeln!(out, "  {}{note}{PLAIN}", style.render())?;
    }
    Ok(())
}

/// Which flows are shown: all, or those that matter and the largest.
fn shown(report: &Report) -> Vec<usize> {
    let mut order: Vec<usize> = (0..report.flows.len()).collect();
    if order.len() > FLOWS {
        let weight = |index: &usize| {
            let is_judged = report.verdicts.iter().any(|verdict| verdict.flow == *index);
            (!is_judged, std::cmp::Reverse(report.flows.get(*index).map_or(0, |flow| flow.bytes)))
        };
        order.sort_by_key(weight);
        order.truncate(FLOWS);
        order.sort_unstable();
    }
    order
}

fn flows(
    report: &Report,
    shown: &[usize],
    room: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if shown.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}Flows{PLAIN}", BOLD.render())?;
    let mut table = Table::new(&[
        ("", false),
        ("protocol", true),
        ("between", true),
        ("packets", false),
        ("bytes", false),
        ("from s", false),
        ("to s", false),
    ]);
    for index in shown {
        let Some(flow) = report.flows.get(*index) else { continue };
        let seconds = |time: i64| format!("{:.3}", time as f64 / 1e9);
        table.row([
            index.to_string(),
            flow.protocol.name().into(),
            format!("{} {} - {}", flow.transport, flow.a, flow.b),
            grouped(flow.packets),
            grouped(flow.bytes),
            seconds(flow.first),
            seconds(flow.last),
        ]);
        table.below(&flow.why);
    }
    table.print(room, out)?;
    let rest = report.flows.len() - shown.len();
    if rest > 0 {
        writeln!(out, "  and {} smaller ones (--json has all)", grouped(rest as u64))?;
    }
    Ok(())
}

fn commands(
    index: usize,
    flow: &Flow,
    rows: &[&Command],
    verdict: Option<&Verdict>,
    room: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let is_mistaken = verdict.is_some_and(|verdict| verdict.kind == Kind::DtlsTakenForCommands);
    let title = if is_mistaken { "\"Commands\"" } else { "Commands" };
    let note = if is_mistaken { ", which are none: see below" } else { "" };
    writeln!(out, "\n{}{title} of flow {index}{PLAIN} ({}{note})", BOLD.render(), flow.protocol)?;
    let known: Vec<_> = rows.iter().filter(|row| row.name != "Unknown").collect();
    let is_long = rows.len() > COMMANDS;
    let has_answers = rows.iter().any(|row| row.answers.is_some());
    let mut table = Table::new(&[
        ("id", true),
        ("name", true),
        ("count", false),
        ("average", false),
        ("range", false),
        ("spread", false),
        ("rate/s", false),
        ("share", false),
        ("every", false),
        (if has_answers { "answered" } else { "" }, false),
        (if has_answers { "after" } else { "" }, false),
    ]);
    let is_shown = |row: &&&Command| !is_long || row.name != "Unknown" || known.is_empty();
    for row in rows.iter().filter(is_shown).take(COMMANDS) {
        table.row(cells(row));
    }
    table.print(room, out)?;
    let left = rows.len() - rows.iter().filter(is_shown).take(COMMANDS).count();
    if left > 0 {
        let others = rows.iter().filter(|row| row.name == "Unknown").map(|row| row.count);
        let (least, most) = (others.clone().min().unwrap_or(0), others.max().unwrap_or(0));
        writeln!(out, "  and {left} other values, {least} to {most} times each (--json has all)")?;
    }
    if let Some(cycle) = &flow.cycle {
        let ids: Vec<_> = cycle.commands.iter().take(12).map(|id| format!("0x{id:02X}")).collect();
        let more = if cycle.commands.len() > 12 { ", …" } else { "" };
        let line = format!("cycle of {}: {}{more}", time(cycle.period), ids.join(", "));
        writeln!(out, "  {}", wrapped(&line, room, 2, 4))?;
    }
    if let Some(sequence) = &flow.sequence {
        writeln!(
            out,
            "  sequence numbers: {} missing, {} repeated, {} out of order",
            grouped(sequence.missing),
            grouped(sequence.repeats),
            grouped(sequence.late)
        )?;
    }
    sizes(flow, out)
}

fn cells(row: &Command) -> [String; 11] {
    let range = match row.min_size == row.max_size {
        true => row.min_size.to_string(),
        false => format!("{}-{}", row.min_size, row.max_size),
    };
    let (answered, after) = row.answers.as_ref().map_or_else(Default::default, |answers| {
        let asked = answers.answered + answers.unanswered;
        let (_, mean, most) = answers.latency;
        let after = format!("{} (most {})", time(mean), time(most));
        (format!("{} of {}", grouped(answers.answered), grouped(asked)), after)
    });
    [
        format!("0x{:02X}", row.id),
        row.name.into(),
        grouped(row.count),
        format!("{:.1}", row.average_size),
        range,
        (row.max_size - row.min_size).to_string(),
        format!("{:.2}", row.rate_hz),
        format!("{:.1} %", row.share * 100.0),
        row.interval.map_or(String::new(), |(mean, _)| time(mean)),
        answered,
        after,
    ]
}

fn sizes(flow: &Flow, out: &mut dyn Write) -> io::Result<()> {
    let most = flow.sizes.iter().map(|size| u64::from(size.2)).max().unwrap_or(1).max(1);
    for (least, largest, count) in &flow.sizes {
        let range = match *largest {
            usize::MAX => format!("{least} and more"),
            largest if largest == *least => least.to_string(),
            largest => format!("{least}-{largest}"),
        };
        let bar = (u64::from(*count) * BAR).div_ceil(most) as usize;
        let bar = "█".repeat(bar);
        writeln!(out, "  {range:>11} bytes {:>10}  {bar}", grouped((*count).into()))?;
    }
    Ok(())
}

fn verdict(verdict: &Verdict, room: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let (style, title) = match verdict.kind {
        Kind::DtlsTakenForCommands => (RED, "These are no commands"),
        Kind::TeachingDatagrams => (GREEN, "These are commands"),
    };
    writeln!(out, "\n{}{title}{PLAIN} (flow {})", style.render(), verdict.flow)?;
    for line in verdict.text.lines() {
        let indent = if line.starts_with("- ") { 4 } else { 2 };
        writeln!(out, "  {}", wrapped(line, room, 2, indent))?;
    }
    Ok(())
}

/// Cells in columns as wide as they need to be.
struct Table {
    columns: Vec<(&'static str, bool)>,
    rows: Vec<Row>,
}

struct Row {
    cells: Vec<String>,
    below: String,
}

impl Table {
    /// With these heads; those that are true stand at the left.
    fn new(columns: &[(&'static str, bool)]) -> Self {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(Row { cells: cells.into_iter().collect(), below: String::new() });
    }

    /// Puts a text below the last row.
    fn below(&mut self, text: &str) {
        if let Some(row) = self.rows.last_mut() {
            row.below = printable(text);
        }
    }

    fn print(&self, room: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        let heads: Vec<String> = self.columns.iter().map(|column| column.0.into()).collect();
        let all = || std::iter::once(&heads).chain(self.rows.iter().map(|row| &row.cells));
        let widest = |column: usize| {
            all().filter_map(|cells| cells.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.columns.len()).map(widest).collect();
        let line = |cells: &[String]| {
            let mut line = String::from(" ");
            for ((cell, wide), (_, is_left)) in cells.iter().zip(&widths).zip(&self.columns) {
                let pad = " ".repeat(wide - width(cell));
                let (before, behind) = if *is_left { ("", &*pad) } else { (&*pad, "") };
                line.push(' ');
                line.push_str(&format!("{before}{cell}{behind}"));
            }
            line.truncate(line.trim_end().len());
            line
        };
        writeln!(out, "{}{}{PLAIN}", DIM.render(), line(&heads))?;
        for row in &self.rows {
            writeln!(out, "{}", line(&row.cells))?;
            if !row.below.is_empty() {
                let text = wrapped(&row.below, room, 6, 6);
                writeln!(out, "      {}{text}{PLAIN}", DIM.render())?;
            }
        }
        Ok(())
    }
}

/// Seconds in the unit that suits them.
fn time(seconds: f64) -> String {
    match seconds.abs() {
        s if s >= 100.0 => format!("{seconds:.0} s"),
        s if s >= 1.0 => format!("{seconds:.2} s"),
        s if s >= 0.001 => format!("{:.1} ms", seconds * 1e3),
        0.0 => "0 s".into(),
        _ => format!("{:.0} µs", seconds * 1e6),
    }
}
