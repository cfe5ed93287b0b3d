//! Charts, drawn here.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

use sinew_wire::text::grouped;

use super::Text;
use crate::{
    Report, Timeline,
    report::{Command, Flow},
};

/// Units across, and where bars begin.
const WIDTH: f64 = 960.0;
const LEFT: f64 = 210.0;
/// What stands behind the longest bar.
const RIGHT: f64 = 125.0;
const ROW: f64 = 20.0;
const LANE: f64 = 44.0;
/// Bars of a chart at most.
const BARS: usize = 24;

/// What came when, a lane for each protocol.
pub(super) fn timeline(out: &mut String, timeline: &Timeline) -> fmt::Result {
    let lanes: Vec<_> = timeline.lanes().collect();
    let pieces = lanes.first().map_or(0, |lane| lane.1.len());
    if pieces == 0 {
        return Ok(());
    }
    let piece = timeline.piece() as f64 / 1e9;
    begin(out, "Timeline", "payloads over time, by protocol", lanes.len() as f64 * LANE + ROW)?;
    let wide = (WIDTH - LEFT) / pieces as f64;
    for (index, (name, lane)) in lanes.iter().enumerate() {
        let floor = (index + 1) as f64 * LANE;
        let most = lane.iter().copied().max().unwrap_or(0).max(1);
        let total: u64 = lane.iter().sum();
        writeln!(out, "<text x=\"0\" y=\"{:.1}\">{}</text>", floor - 16.0, Text(name))?;
        writeln!(
            out,
            "<text class=\"soft\" x=\"0\" y=\"{:.1}\">{}, at most {:.0}/s</text>",
            floor - 2.0,
            grouped(total),
            most as f64 / piece
        )?;
        writeln!(out, "<line x1=\"{LEFT}\" y1=\"{floor}\" x2=\"{WIDTH}\" y2=\"{floor}\"/>")?;
        for (place, count) in lane.iter().enumerate().filter(|(_, count)| **count > 0) {
            let high = (*count as f64 / most as f64 * (LANE - 8.0)).max(1.0);
            let (x, y) = (LEFT + place as f64 * wide, floor - high);
            let thick = (wide - 0.4).max(0.6);
            writeln!(
                out,
                "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{thick:.2}\" height=\"{high:.2}\"/>"
            )?;
        }
    }
    axis(out, lanes.len() as f64 * LANE + 14.0, WIDTH - LEFT, piece * pieces as f64, 1.0, "s")?;
    end(out)
}

/// How long payloads are, all flows together.
pub(super) fn sizes(out: &mut String, report: &Report) -> fmt::Result {
    let mut groups = BTreeMap::new();
    for (least, largest, count) in report.flows.iter().flat_map(|flow| &flow.sizes) {
        *groups.entry((*least, *largest)).or_insert(0) += u64::from(*count);
    }
    let bars = groups.into_iter().map(|((least, largest), count)| {
        let label = match largest {
            usize::MAX => format!("{least} bytes and more"),
            largest if largest == least => format!("{least} bytes"),
            largest => format!("{least} to {largest} bytes"),
        };
        (label, count)
    });
    self::bars(out, "Sizes", "payloads by length", bars.collect())
}

/// How often each command came.
pub(super) fn commands(out: &mut String, rows: &[&Command]) -> fmt::Result {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    let label = |row: &&Command| (format!("0x{:02X} {}", row.id, row.name), row.count);
    let bars: Vec<_> = rows.iter().take(BARS).map(label).collect();
    let about = if rows.len() > BARS { "how often, the most frequent" } else { "how often" };
    self::bars(out, "Commands", about, bars)
}

/// How long after the last one each command of a cycle comes.
pub(super) fn cycle(out: &mut String, flow: &Flow, rows: &[&Command]) -> fmt::Result {
    let Some(cycle) = &flow.cycle else { return Ok(()) };
    let of_cycle = rows.iter().filter(|row| cycle.commands.contains(&row.id));
    let beats: Vec<_> = of_cycle.filter_map(|row| Some((row, row.interval?))).take(BARS).collect();
    let longest =
        beats.iter().map(|(_, (mean, spread))| mean + spread).fold(cycle.period, f64::max);
    let about = format!(
        "{} commands come every {:.1} ms; each with its average and how far from it as a rule",
        cycle.commands.len(),
        cycle.period * 1e3
    );
    begin(out, "Cycle", &about, (beats.len() + 1) as f64 * ROW)?;
    let room = WIDTH - LEFT - RIGHT;
    let x = |seconds: f64| LEFT + (seconds / longest).clamp(0.0, 1.0) * room;
    for (index, (row, (mean, spread))) in beats.iter().enumerate() {
        let middle = index as f64 * ROW + 10.0;
        label(out, middle + 4.0, &format!("0x{:02X} {}", row.id, row.name))?;
        let (from, to, at) = (x(mean - spread), x(mean + spread), x(*mean));
        writeln!(
            out,
            "<line class=\"whisker\" x1=\"{from:.1}\" y1=\"{middle}\" x2=\"{to:.1}\" y2=\"{middle}\"/>"
        )?;
        writeln!(out, "<circle cx=\"{at:.1}\" cy=\"{middle}\" r=\"3.5\"/>")?;
        let text = format!("{:.1} ± {:.1} ms", mean * 1e3, spread * 1e3);
        writeln!(
            out,
            "<text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
            WIDTH - RIGHT + 10.0,
            middle + 4.0
        )?;
    }
    let (at, bottom) = (x(cycle.period), beats.len() as f64 * ROW);
    writeln!(out, "<line class=\"mark\" x1=\"{at:.1}\" y1=\"0\" x2=\"{at:.1}\" y2=\"{bottom}\"/>")?;
    axis(out, bottom + 14.0, room, longest, 1e3, "ms")?;
    end(out)
}

/// A bar for each label.
fn bars(out: &mut String, title: &str, about: &str, bars: Vec<(String, u64)>) -> fmt::Result {
    let most = bars.iter().map(|bar| bar.1).max().unwrap_or(0);
    if most == 0 {
        return Ok(());
    }
    begin(out, title, about, bars.len() as f64 * ROW)?;
    for (index, (text, count)) in bars.iter().enumerate() {
        let top = index as f64 * ROW;
        let long = (*count as f64 / most as f64 * (WIDTH - LEFT - RIGHT)).max(1.0);
        label(out, top + 14.0, text)?;
        writeln!(
            out,
            "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"{long:.1}\" height=\"13\"/>",
            top + 3.0
        )?;
        let (x, y) = (LEFT + long + 6.0, top + 14.0);
        writeln!(out, "<text class=\"soft\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", grouped(*count))?;
    }
    end(out)
}

fn label(out: &mut String, y: f64, text: &str) -> fmt::Result {
    let short: String = text.chars().take(32).collect();
    writeln!(out, "<text x=\"0\" y=\"{y:.1}\">{}</text>", Text(&short))
}

fn axis(out: &mut String, y: f64, room: f64, most: f64, scale: f64, unit: &str) -> fmt::Result {
    for quarter in 0..=4 {
        let part = f64::from(quarter) / 4.0;
        let anchor =
            ["start", "middle", "middle", "middle", "end"].get(quarter as usize).unwrap_or(&"end");
        writeln!(
            out,
            "<text class=\"soft\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{} {unit}</text>",
            LEFT + part * room,
            rounded(most * part * scale)
        )?;
    }
    Ok(())
}

fn rounded(value: f64) -> String {
    if value >= 100.0 || value == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn begin(out: &mut String, title: &str, about: &str, height: f64) -> fmt::Result {
    let (title, about) = (Text(title), Text(about));
    writeln!(out, "<h3>{title}</h3>\n<p class=\"note\">{about}</p>")?;
    let name = title.0.to_lowercase();
    writeln!(
        out,
        "<svg class=\"{name}\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\"><title>{title}: {about}</title>"
    )
}

fn end(out: &mut String) -> fmt::Result {
    writeln!(out, "</svg>")
}
