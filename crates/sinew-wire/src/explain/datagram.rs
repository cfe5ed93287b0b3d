//! A datagram: a teaching frame, or the DTLS record it is mistaken for.

use alloc::{format, vec::Vec};
use core::ops::ControlFlow;

use serde_json::{Map, Value, json};

use super::{Element, Options, Proto, Rows, float, floats};
use crate::{
    Error,
    dtls::{self, Record},
    teach::{Action, Command, Datagram, Keyframes, Layout, MAGIC, Message, Sender, State, Status},
};

pub(super) fn explain(
    bytes: &[u8],
    options: &Options,
    sink: &mut dyn FnMut(Element) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut offset = 0;
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        let element = element(rest, offset, options);
        offset += element.length;
        sink(element)?;
    }
    ControlFlow::Continue(())
}

/// Explains the front of `bytes`, which is not empty; the element covers at least a byte.
fn element(bytes: &[u8], offset: usize, options: &Options) -> Element {
    if let Some((datagram, length)) = front_datagram(bytes) {
        return good(&datagram, offset, length, options);
    }
    let forced = options.proto == Some(Proto::Teach);
    if let Some(record) = front_record(bytes)
        && !forced
    {
        return dtls_record(&record, offset);
    }
    match Datagram::new_checked(bytes) {
        Err(error) if forced || bytes.starts_with(&MAGIC) => bad(bytes, offset, error),
        _ => Element::rubbish(offset, bytes),
    }
}

/// A good datagram that is all of `bytes` or, in a dump of several, the front of it.
fn front_datagram(bytes: &[u8]) -> Option<(Datagram<'_>, usize)> {
    if let Ok(datagram) = Datagram::new_checked(bytes) {
        return Some((datagram, bytes.len()));
    }
    [Layout::Documented, Layout::Compact].into_iter().find_map(|layout| {
        let length = layout.declared_len(bytes)?;
        let datagram = Datagram::new_checked(bytes.get(..length)?).ok()?;
        Some((datagram, length))
    })
}

/// A record that is all of `bytes`, or is followed by another record or datagram.
fn front_record(bytes: &[u8]) -> Option<Record<'_>> {
    let (record, rest) = Record::split(bytes).ok()?;
    let ends_well =
        rest.is_empty() || Record::split(rest).is_ok() || front_datagram(rest).is_some();
    ends_well.then_some(record)
}

fn dtls_record(record: &Record<'_>, offset: usize) -> Element {
    let length = record.len();
    let title = format!("DTLS record, {}", record.content);
    let mut element = Element::new(Proto::Dtls, offset, length, title);
    element.has_fields = true;
    let mut rows = Rows::new(offset, offset + length);
    let content = format!("{}", record.content);
    rows.explained(
        1,
        "content_type",
        content.clone(),
        format!("{}: {content}", record.content as u8),
    );
    rows.explained(
        2,
        "version",
        record.version,
        if record.version == 0xFEFD { "1.2" } else { "1.0" },
    );
    let cipher = if record.epoch == 0 { "clear" } else { "encrypted" };
    rows.explained(2, "epoch", record.epoch, format!("{}: {cipher}", record.epoch));
    rows.field(6, "sequence", record.sequence);
    rows.field(2, "fragment_length", record.fragment.len());
    rows.frame(record.fragment.len(), "fragment", cipher);
    element.rows = rows.rows;
    if record.epoch == 1 && record.content == dtls::Content::ApplicationData {
        element.notes.push(format!(
            "The teaching documents take such records for commands. Its CRC is not that of a \
             teaching datagram; \"command\" 0x{:02X} would be the low byte of the sequence number.",
            record.sequence & 0xFF
        ));
    }
    element
}

/// The rows before the payload.
fn header(bytes_len: usize, offset: usize, layout: Layout, parts: (u16, u8, &str)) -> Rows {
    let (sequence, command, name) = parts;
    let mut rows = Rows::new(offset, offset + bytes_len);
    rows.frame(4, "header", "");
    rows.frame(2, "flags", "");
    rows.frame(2, "sequence", format!("{sequence}"));
    rows.frame(if layout == Layout::Documented { 4 } else { 2 }, "reserved", "");
    rows.frame(1, "command", format!("0x{command:02X} {name}"));
    rows.frame(
        2,
        "length",
        match layout {
            Layout::Documented => "of the payload",
            Layout::Compact => "of payload and check",
        },
    );
    rows
}

fn command_facts(element: &mut Element, layout: Option<Layout>, sequence: u16, command: u8) {
    element.has_fields = true;
    element.fact("layout", layout.map(|layout| format!("{layout}")));
    element.fact("sequence", sequence);
    element.fact("command", command);
    element.fact("name", Command::from(command).name());
}

fn good(datagram: &Datagram<'_>, offset: usize, length: usize, options: &Options) -> Element {
    let Datagram { layout, sequence, command, .. } = *datagram;
    let name = Command::from(command).name();
    let title = format!("Teaching datagram {name} (0x{command:02X}), {layout} layout");
    let mut element = Element::new(Proto::Teach, offset, length, title);
    command_facts(&mut element, Some(layout), sequence.0, command);
    if !datagram.reserved_as_documented() {
        let number = |bytes: &[u8]| bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
        let (digits, got) = (datagram.reserved.len() * 2, number(datagram.reserved));
        element.problem(Error::hex("reserved", digits, 1, got));
    }
    let mut rows = header(length, offset, layout, (sequence.0, command, name));
    let sender = options.from_robot.map(|robot| match robot {
        true => Sender::Robot,
        false => Sender::Host,
    });
    match Message::parse(datagram, sender) {
        Ok(message) => {
            message_rows(&mut rows, &message, layout);
            rows.rest(message.rest());
            message.problems(|error| element.problem(error));
        }
        Err(error) => {
            element.problem(error);
            rows.rest(datagram.payload);
            if sender.is_none() && Message::parse(datagram, Some(Sender::Robot)).is_ok() {
                element.notes.push("It would fit if the robot sent it, as an answer.".into());
            }
        }
    }
    rows.frame(4, "check", "CRC-32, right");
    element.rows = rows.rows;
    element
}

/// A datagram with the right header and a wrong length or check.
fn bad(bytes: &[u8], offset: usize, error: Error) -> Element {
    let layout = Datagram::layout_of(bytes).ok();
    let mut element =
        Element::new(Proto::Teach, offset, bytes.len(), "Teaching datagram".into()).invalid(error);
    element.has_fields = true;
    let mut rows = Rows::new(offset, offset + bytes.len());
    let sequence = bytes.get(6..8).and_then(<[u8]>::first_chunk).copied().map(u16::from_be_bytes);
    match layout {
        Some(layout) => {
            let at = layout.header_len();
            let sequence = sequence.unwrap_or_default();
            let command = bytes.get(at - 3).copied().unwrap_or_default();
            command_facts(&mut element, Some(layout), sequence, command);
            let name = Command::from(command).name();
            element.title = format!("Teaching datagram {name} (0x{command:02X}), {layout} layout");
            rows = header(bytes.len(), offset, layout, (sequence, command, name));
            rows.frame(bytes.len().saturating_sub(at + 4), "payload", "not decoded");
            rows.frame(4, "check", format!("wrong: {} wanted", error.wanted));
        }
        None => {
            // The layouts have their command in different places, so there is none to name.
            element.fact("layout", Value::Null);
            element.fact("sequence", sequence);
            element.fact("command", Value::Null);
            element.fact("name", Value::Null);
            rows.frame(bytes.len(), "datagram", "fits neither layout");
        }
    }
    element.rows = rows.rows;
    if let Some(record) = front_record(bytes) {
        element.notes.push(format!("It is a well-formed DTLS record: {}.", record.content));
    }
    element
}

fn message_rows(rows: &mut Rows, message: &Message<'_>, layout: Layout) {
    match message {
        Message::Ready { ready, .. } => rows.field(4, "ready", *ready),
        Message::Maintain { mode_flags, .. } | Message::Exit { mode_flags, .. } => {
            rows.explained(4, "mode_flags", *mode_flags, damping(*mode_flags));
        }
        Message::Record { flag, .. } => match flag {
            0 => rows.explained(4, "recording", false, "0: stop"),
            1 => rows.explained(4, "recording", true, "1: start"),
            other => rows.field(4, "recording", *other),
        },
        Message::Status(status) => status_rows(rows, status),
        Message::Enter(state) => state_rows(rows, state, layout),
        Message::List(actions) => {
            rows.frame(2, "count", format!("{}", actions.len()));
            let start = rows.at;
            for (index, action) in actions.iter().enumerate() {
                let text = format!("{}: {:?}", index + 1, action.name);
                rows.frame(32, "name", text);
                rows.frame(4, "metadata", format!("0x{:08X}", action.metadata));
            }
            let end = rows.at;
            let list: Vec<Value> = actions.iter().map(|action| action_json(&action)).collect();
            rows.skip_to(start);
            rows.explained(0, "actions", list, format!("{}", actions.len()));
            rows.skip_to(end);
        }
        Message::Save(save) => {
            rows.field(32, "name", name_json(&save.name));
            rows.explained(4, "timestamp", save.timestamp, format!("{} s, Unix", save.timestamp));
            rows.explained(4, "duration_ms", save.duration_ms, format!("{} ms", save.duration_ms));
            rows.field(4, "frame_count", save.frame_count);
            rows.explained(4, "flags", save.flags, save_flags(save.flags));
            keyframe_rows(rows, &save.keyframes);
        }
        Message::Play(play) => {
            rows.field(4, "action_id", play.action_id);
            rows.explained(4, "frame_count", play.frame_count, or_zero(play.frame_count, "all"));
            rows.explained(
                4,
                "duration_ms",
                play.duration_ms,
                or_zero(play.duration_ms, "as recorded"),
            );
            rows.field(4, "interpolation", format!("{}", play.interpolation));
            keyframe_rows(rows, &play.keyframes);
        }
        Message::Answer { status, .. } => {
            let text = if *status == 0 { "success" } else { "failure" };
            rows.explained(4, "status", *status, format!("{status}: {text}"));
        }
        Message::Unknown { payload, .. } => rows.rest(payload),
        Message::ControlMode { .. }
        | Message::ParameterSync { .. }
        | Message::Subscribe { .. }
        | Message::ListRequest { .. } => {}
    }
}

fn status_rows(rows: &mut Rows, status: &Status<'_>) {
    rows.field(48, "positions", floats(&status.positions));
    rows.field(48, "velocities", floats(&status.velocities));
    rows.field(4, "time_ms", status.time_ms);
    rows.field(4, "mode", status.mode);
    rows.field(4, "flags", status.flags);
}

fn state_rows(rows: &mut Rows, state: &State<'_>, layout: Layout) {
    rows.explained(4, "mode_flags", state.mode_flags, damping(state.mode_flags));
    rows.field(48, "positions", floats(&state.positions));
    rows.field(48, "velocities", floats(&state.velocities));
    rows.field(24, "imu", floats(&state.imu));
    rows.field(16, "feet", floats(&state.feet));
    rows.field(4, "timestamp_ms", state.timestamp_ms);
    if layout == Layout::Documented {
        rows.field(4, "flags", state.flags);
    }
}

fn keyframe_rows(rows: &mut Rows, keyframes: &Keyframes) {
    let start = rows.at;
    for (index, slot) in keyframes.slots().iter().enumerate() {
        if let Some(keyframe) = slot {
            rows.skip_to(start + index * 8);
            let value = float(keyframe.value);
            let text = format!("joint {} at {} ms: {value} rad", keyframe.joint, keyframe.time_ms);
            rows.frame(8, "keyframe", text);
        }
    }
    let list: Vec<Value> = keyframes
        .iter()
        .map(|keyframe| json!([keyframe.joint, keyframe.time_ms, float(keyframe.value)]))
        .collect();
    let text = format!("{} of 20 used", list.len());
    rows.skip_to(start);
    rows.explained(0, "keyframes", list, text);
    rows.skip_to(start + keyframes.slots().len() * 8);
}

fn action_json(action: &Action) -> Value {
    let members = [("name", name_json(&action.name)), ("metadata", action.metadata.into())];
    Value::Object(Map::from_iter(members.map(|(name, value)| (name.into(), value))))
}

/// A name that is none is shown as the bytes it is made of.
fn name_json(name: &crate::teach::Name) -> Value {
    match name.as_str() {
        Ok(text) => text.into(),
        Err(_) => format!("{name:?}").into(),
    }
}

fn damping(flags: u32) -> alloc::string::String {
    format!("0x{flags:08X}: damping {}", if flags & 1 == 1 { "on" } else { "off" })
}

fn save_flags(flags: u32) -> alloc::string::String {
    let names = [(1, " save"), (2, " loop"), (4, " speed")];
    let set = names.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name);
    format!("0x{flags:08X}:{}", set.collect::<alloc::string::String>())
}

fn or_zero(value: u32, meaning: &str) -> alloc::string::String {
    if value == 0 { format!("0: {meaning}") } else { format!("{value}") }
}
