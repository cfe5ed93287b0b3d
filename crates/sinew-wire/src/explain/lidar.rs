//! What Delta-2D frames say.

use alloc::{format, string::String, vec::Vec};

use serde_json::Value;

use super::{Element, Options, Proto, Rows, float, hex, walk::Explained};
use crate::{
    Error, Wanted,
    delta2d::{
        Body, Command, DEGREE, Delta2d, Frame, HEADER, METRE, Measurement, Message, SYNC, Sample,
        TURNS_PER_SECOND, TYPE, VERSION,
    },
};

impl Explained for Delta2d {
    fn good(frame: &Frame<'_>, offset: usize, _options: &Options) -> Element {
        let command = Command::from(frame.command());
        let bytes = frame.bytes();
        let mut element =
            Element::new(Proto::Delta2d, offset, bytes.len(), format!("Delta-2D {command}"));
        facts(&mut element, command, frame.payload());
        let mut rows = header(bytes, offset);
        match Message::parse(frame) {
            Ok(message) => {
                match message.body {
                    Body::Measurement(measurement) => measured(&mut rows, &measurement),
                    Body::Speed(speed) => speed_row(&mut rows, speed),
                    Body::Other(_) => {}
                }
                rows.rest(message.rest);
            }
            Err(error) => {
                element.problem(error);
                rows.rest(frame.payload());
            }
        }
        rows.frame(2, "check", format!("0x{:04X}, right", frame.check()));
        element.rows = rows.rows;
        element
    }

    /// One whose lengths agree, or that is cut off by the end of the input.
    fn damaged_len(candidate: &[u8], is_last: bool, _nothing_else: bool) -> Option<usize> {
        let &[SYNC, len_high, len_low, VERSION, TYPE, _, n_high, n_low, ..] = candidate else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([len_high, len_low]));
        let count = usize::from(u16::from_be_bytes([n_high, n_low]));
        if length != HEADER + count {
            return None;
        }
        let whole = length + 2 <= candidate.len();
        (whole || is_last).then_some(candidate.len().min(length + 2))
    }

    fn bad(bytes: &[u8], offset: usize) -> Element {
        let error = match Frame::new_checked(bytes) {
            Err(error) => error,
            // Cannot be: a good frame would have been found.
            Ok(_) => Error::count("frame length", Wanted::AtLeast(HEADER as u64), bytes.len()),
        };
        let command = Command::from(bytes.get(5).copied().unwrap_or_default());
        let title = format!("Delta-2D {command}");
        let mut element = Element::new(Proto::Delta2d, offset, bytes.len(), title).invalid(error);
        let whole = error.field == "check";
        let payload_end = bytes.len() - if whole { 2 } else { 0 };
        let payload = bytes.get(HEADER..payload_end).unwrap_or_default();
        facts(&mut element, command, payload);
        let mut rows = header(bytes, offset);
        if !payload.is_empty() {
            rows.frame(payload.len(), "payload", "not decoded");
        }
        if whole {
            rows.frame(2, "check", format!("wrong: {} wanted", error.wanted));
        }
        element.rows = rows.rows;
        element
    }
}

fn facts(element: &mut Element, command: Command, payload: &[u8]) {
    element.has_fields = true;
    element.fact("command", command.code());
    element.fact("name", command.name());
    element.fact("payload", hex(payload));
}

/// The rows before the payload.
fn header(bytes: &[u8], offset: usize) -> Rows {
    let mut rows = Rows::new(offset, offset + bytes.len());
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let word = |at: usize| u16::from_be_bytes([byte(at), byte(at + 1)]);
    rows.frame(1, "sync", "");
    rows.frame(2, "length", format!("{}: all before the check", word(1)));
    rows.frame(1, "version", format!("0x{:02X}", byte(3)));
    rows.frame(1, "type", format!("0x{:02X}", byte(4)));
    rows.frame(1, "command", format!("{}", Command::from(byte(5))));
    rows.frame(2, "payload length", format!("{}", word(6)));
    rows
}

fn speed_row(rows: &mut Rows, speed: u8) {
    let turns = float(f32::from(speed) * TURNS_PER_SECOND);
    let text = format!("{turns} turns a second");
    rows.explained(1, "speed_hz", turns, text);
}

fn measured(rows: &mut Rows, measurement: &Measurement<'_>) {
    let degrees = |angle: f32| float(angle * DEGREE);
    speed_row(rows, measurement.speed);
    let offset = degrees(measurement.offset.into());
    let text = format!("{offset} degrees: zero offset, or the angle between samples");
    rows.explained(2, "offset_deg", offset, text);
    let start = degrees(measurement.start.into());
    let text = format!("{start} degrees");
    rows.explained(2, "start_deg", start, text);
    let samples: Vec<Sample> = measurement.samples().collect();
    let echoes = samples.iter().filter(|sample| sample.has_echo()).count();
    let list = samples.iter().map(|sample| {
        let metres = float(f32::from(sample.distance) * METRE);
        Value::Array([Value::from(sample.quality), metres].into())
    });
    let text: String = format!("{} of (quality, metres), {echoes} with an echo", samples.len());
    rows.explained(3 * samples.len(), "samples", Value::Array(list.collect()), text);
}
