//! Captures written by hand, and what is found in them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod diff;
mod documents;
mod files;
mod packets;
mod protocols;
mod serial;
mod simulator;
mod streams;
mod tshark;
mod write;
mod written;

use std::io::Cursor;

use sinew_capture::{Analysis, Capture, Error, Filter, Report};

/// What is found in a file.
fn inspect(file: &[u8]) -> Report {
    try_inspect(file).unwrap()
}

fn try_inspect(file: &[u8]) -> Result<Report, Error> {
    filtered(file, &[])
}

fn filtered(file: &[u8], conditions: &[&str]) -> Result<Report, Error> {
    let mut filter = Filter::default();
    conditions.iter().for_each(|condition| filter.add(condition).unwrap());
    let mut capture = Capture::open(Cursor::new(file.to_vec()))?;
    let mut analysis = Analysis::new(filter);
    while let Some(record) = capture.next_record() {
        analysis.take(&record, |_| {});
    }
    Ok(analysis.finish(&capture, |_| {}))
}

/// The protocols of a report with their packets.
fn protocols(report: &Report) -> Vec<(&'static str, u64)> {
    report.flows.iter().map(|flow| (flow.protocol.name(), flow.packets)).collect()
}
