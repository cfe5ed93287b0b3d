//! What two captures differ in, as a part of a page.

use std::fmt::Write;

use sinew_wire::text::grouped;

use super::{FLOWS, Text, Written, head};
use crate::{
    Diff,
    diff::{Change, FlowDiff, FlowSide, MessageDiff},
};

pub(super) fn compared(out: &mut String, diff: &Diff) -> Written {
    let [a, b] = &diff.heads;
    writeln!(out, "<main>\n<h1>{} and {}</h1>", Text(&a.0), Text(&b.0))?;
    for (letter, (name, report)) in ["A", "B"].iter().zip(&diff.heads) {
        writeln!(
            out,
            "<p>{letter}: {}, {}: {} packets, {} bytes in {:.3} s</p>",
            Text(name),
            report.format,
            grouped(report.packets),
            grouped(report.bytes),
            report.duration as f64 / 1e9
        )?;
        for note in &report.notes {
            writeln!(out, "<p class=\"note\">{}</p>", Text(note))?;
        }
    }
    for note in &diff.notes {
        writeln!(out, "<p class=\"note\">{}</p>", Text(note))?;
    }
    if diff.is_same() {
        writeln!(
            out,
            "<section class=\"verdict right\"><h2>No difference</h2><p>Both have the same flows and \
             commands, at the same rates, of the same sizes and with the same values.</p></section>"
        )?;
    }
    let shown = || diff.flows.iter().filter(|flow| flow.change != Change::Same);
    if shown().next().is_some() {
        flows(out, diff)?;
    }
    for flow in shown().take(FLOWS) {
        let has_any = |message: &&MessageDiff| message.change != Change::Same;
        if flow.change != Change::Changed || !flow.messages.iter().any(|m| has_any(&m)) {
            continue;
        }
        writeln!(out, "<h2>{}</h2>", Text(&title(flow)))?;
        for message in flow.messages.iter().filter(has_any) {
            self::message(out, flow, message)?;
        }
    }
    writeln!(out, "</main>")
}

fn title(flow: &FlowDiff) -> String {
    let [near, far] = &flow.ends;
    format!("{} {} {near} – {far}", flow.protocol, flow.transport)
}

fn flows(out: &mut String, diff: &Diff) -> Written {
    writeln!(out, "<h2>Flows</h2>\n<div class=\"wide\"><table>")?;
    head(out, &["", "flow", "packets A", "packets B", "rate/s A", "rate/s B", "what changed"])?;
    let different = diff.flows.iter().filter(|flow| flow.change != Change::Same);
    for flow in different.clone().take(FLOWS) {
        let [a, b] = &flow.sides;
        let packets = |side: &Option<FlowSide>| {
            side.as_ref().map_or("–".into(), |side| grouped(side.packets))
        };
        let rate = |side: &Option<FlowSide>| {
            let rate = side.as_ref().and_then(FlowSide::rate_hz);
            rate.map_or(String::new(), |rate| format!("{rate:.2}"))
        };
        writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
            flow.change.name(),
            Text(&title(flow)),
            packets(a),
            packets(b),
            rate(a),
            rate(b),
            Text(&flow.changes.join(", ")),
        )?;
    }
    writeln!(out, "</table></div>")?;
    let more = different.count().saturating_sub(FLOWS);
    if more > 0 {
        writeln!(out, "<p class=\"note\">And {} more: JSON has all.</p>", grouped(more as u64))?;
    }
    Ok(())
}

fn message(out: &mut String, flow: &FlowDiff, message: &MessageDiff) -> Written {
    let title = message.title(flow);
    writeln!(out, "<h3>{}</h3><p>{}</p>", Text(&title), Text(&message.summary()))?;
    if message.bytes.is_empty() {
        return Ok(());
    }
    writeln!(out, "<div class=\"wide\"><table>")?;
    head(out, &["byte", "field", "A", "B"])?;
    for change in &message.bytes {
        let [a, b] = &change.sides;
        writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td>{}</td><td>{a}</td><td>{b}</td></tr>",
            change.at,
            Text(change.field.unwrap_or("")),
        )?;
    }
    writeln!(out, "</table></div>")
}
