//! The report as a page that needs nothing from elsewhere: no scripts, no fonts, no pictures.

mod charts;
mod diff;

use std::fmt::Write;

use sinew_wire::text::grouped;

use crate::{Diff, Kind, Report, Timeline, report::Command};

const STYLE: &str = include_str!("html/style.css");
/// SHA-256 of the style, by which the page's policy lets it pass.
const STYLE_HASH: &str = "pTfQYmkF3pdlUof7Spz9ykxk9oMik9y8gwdxVbx0jZI=";
/// What is shown; JSON has all.
const FLOWS: usize = 200;
const TABLES: usize = 32;

/// A page with reports.
#[derive(Debug, Default)]
pub struct Page {
    body: String,
}

impl Page {
    /// An empty one.
    pub const fn new() -> Self {
        Page { body: String::new() }
    }

    /// Adds the report about a file.
    pub fn add(&mut self, name: &str, report: &Report, timeline: &Timeline) {
        // Writing to a string does not fail.
        let _ = file(&mut self.body, name, report, timeline);
    }

    /// Adds what two captures differ in.
    pub fn add_diff(&mut self, diff: &Diff) {
        let _ = diff::compared(&mut self.body, diff);
    }

    /// The page.
    pub fn finish(self) -> String {
        let body = self.body;
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <title>What is in the traffic</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             {body}</body>\n</html>\n"
        )
    }
}

type Written = std::fmt::Result;

fn file(out: &mut String, name: &str, report: &Report, timeline: &Timeline) -> Written {
    writeln!(out, "<main>\n<h1>{}</h1>", Text(name))?;
    writeln!(
        out,
        "<p>{}: {} packets, {} bytes in {:.3} s</p>",
        report.format,
        grouped(report.packets),
        grouped(report.bytes),
        report.duration as f64 / 1e9
    )?;
    for note in &report.notes {
        writeln!(out, "<p class=\"note\">{}</p>", Text(note))?;
    }
    for verdict in report.verdicts.iter().take(FLOWS) {
        let (class, title) = match verdict.kind {
            Kind::DtlsTakenForCommands => ("wrong", "These are no commands"),
            Kind::TeachingDatagrams => ("right", "These are commands"),
        };
        writeln!(
            out,
            "<section class=\"verdict {class}\"><h2>{title} (flow {})</h2>",
            verdict.flow
        )?;
        words(out, &verdict.text)?;
        writeln!(out, "</section>")?;
    }
    charts::timeline(out, timeline)?;
    charts::sizes(out, report)?;
    flows(out, report)?;
    for rows in report.commands.chunk_by(|one, next| one.flow == next.flow).take(TABLES) {
        let rows: Vec<&Command> = rows.iter().collect();
        let index = rows.first().map_or(0, |row| row.flow);
        let Some(flow) = report.flows.get(index) else { continue };
        let is_mistaken = report
            .verdicts
            .iter()
            .any(|verdict| verdict.flow == index && verdict.kind == Kind::DtlsTakenForCommands);
        let title = if is_mistaken { "“Commands” (which are none)" } else { "Commands" };
        writeln!(out, "<h2>{title} of flow {index}: {}</h2>", flow.protocol.name())?;
        charts::commands(out, &rows)?;
        charts::cycle(out, flow, &rows)?;
        commands(out, &rows)?;
    }
    writeln!(out, "</main>")
}

/// Paragraphs, and lists of lines that begin with a dash.
fn words(out: &mut String, text: &str) -> Written {
    let mut is_list = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let item = line.strip_prefix("- ");
        if item.is_some() != is_list {
            out.push_str(if is_list { "</ul>\n" } else { "<ul>\n" });
            is_list = !is_list;
        }
        match item {
            Some(item) => writeln!(out, "<li>{}</li>", Text(item))?,
            None => writeln!(out, "<p>{}</p>", Text(line))?,
        }
    }
    out.push_str(if is_list { "</ul>\n" } else { "" });
    Ok(())
}

fn flows(out: &mut String, report: &Report) -> Written {
    writeln!(out, "<h2>Flows</h2>\n<div class=\"wide\"><table>")?;
    head(
        out,
        &["", "protocol", "between", "packets", "bytes", "from s", "to s", "how that is known"],
    )?;
    for (index, flow) in report.flows.iter().enumerate().take(FLOWS) {
        writeln!(
            out,
            "<tr><td class=\"n\">{index}</td><td>{}</td><td>{} {} – {}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{:.3}</td><td class=\"n\">{:.3}</td><td>{}</td></tr>",
            Text(flow.protocol.name()),
            Text(&flow.transport),
            Text(&flow.a),
            Text(&flow.b),
            grouped(flow.packets),
            grouped(flow.bytes),
            flow.first as f64 / 1e9,
            flow.last as f64 / 1e9,
            Text(&flow.why),
        )?;
    }
    writeln!(out, "</table></div>")?;
    let more = report.flows.len().saturating_sub(FLOWS);
    if more > 0 {
        writeln!(out, "<p class=\"note\">And {} more: JSON has all.</p>", grouped(more as u64))?;
    }
    Ok(())
}

fn commands(out: &mut String, rows: &[&Command]) -> Written {
    writeln!(out, "<details><summary>All figures</summary><div class=\"wide\"><table>")?;
    head(out, &["id", "name", "count", "average size", "range", "rate/s", "share", "every"])?;
    for row in rows {
        writeln!(
            out,
            "<tr><td>0x{:02X}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1}</td>\
             <td class=\"n\">{}–{}</td><td class=\"n\">{:.2}</td><td class=\"n\">{:.1} %</td><td class=\"n\">{}</td></tr>",
            row.id,
            Text(row.name),
            grouped(row.count),
            row.average_size,
            row.min_size,
            row.max_size,
            row.rate_hz,
            row.share * 100.0,
            row.interval.map_or(String::new(), |(mean, _)| format!("{:.1} ms", mean * 1e3)),
        )?;
    }
    writeln!(out, "</table></div></details>")
}

fn head(out: &mut String, names: &[&str]) -> Written {
    out.push_str("<tr>");
    names.iter().try_for_each(|name| write!(out, "<th>{name}</th>"))?;
    writeln!(out, "</tr>")
}

/// Text in which nothing is markup.
struct Text<'a>(&'a str);

impl std::fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            // Also those that turn the direction of what follows.
            c if c.is_control()
                || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}') =>
            {
                f.write_char('\u{FFFD}')
            }
            c => f.write_char(c),
        })
    }
}
