//! What GD32 frames say.

use alloc::{
    format,
    string::{String, ToString},
};

use super::{Element, Options, Proto, Rows, float, hex, walk::Explained};
use crate::{
    Error, Wanted,
    gd32::{
        Body, Command, EncoderOrder, Field, Flag, Frame, Gd32, LedMode, Meaning, Message, Profile,
        STATUS_LEN, SYNC, Sender, Status, Version,
    },
};

/// What is said about GD32 frames.
impl Explained for Gd32 {
    fn good(frame: &Frame<'_>, offset: usize, options: &Options) -> Element {
        good(frame, offset, options)
    }

    fn damaged_len(candidate: &[u8], is_last: bool, nothing_else: bool) -> Option<usize> {
        damaged_len(candidate, is_last, nothing_else)
    }

    fn bad(bytes: &[u8], offset: usize) -> Element {
        bad(bytes, offset)
    }
}

/// How many bytes of `candidate` are a frame that was damaged or cut off, rather than rubbish.
fn damaged_len(candidate: &[u8], is_last: bool, nothing_else: bool) -> Option<usize> {
    let behind_sync = candidate.strip_prefix(&SYNC)?;
    let next = behind_sync.windows(2).position(|pair| pair == SYNC);
    let up_to_next = next.map_or(candidate.len(), |at| at + SYNC.len());
    match behind_sync.first() {
        Some(&len) if len >= 3 => {
            let total = 3 + usize::from(len);
            if total <= candidate.len() { Some(total) } else { is_last.then_some(up_to_next) }
        }
        None => is_last.then_some(candidate.len()),
        // An impossible LEN: a frame only if the input holds no better one.
        Some(_) => nothing_else.then_some(up_to_next),
    }
}

fn title(name: &str, command: u8, sender: Option<Sender>) -> String {
    let way = match sender {
        Some(Sender::Host) => ", host to controller",
        Some(Sender::Controller) => ", controller to host",
        None => "",
    };
    format!("GD32 {name} (0x{command:02X}){way}")
}

/// The rows before the payload.
fn header(bytes: &[u8], offset: usize, name: &str) -> Rows {
    let mut rows = Rows::new(offset, offset + bytes.len());
    rows.frame(2, "sync", "");
    if let Some(len) = bytes.get(2) {
        rows.frame(1, "length", format!("{len}: command, payload and check"));
    }
    if let Some(command) = bytes.get(3) {
        rows.frame(1, "command", format!("0x{command:02X} {name}"));
    }
    rows
}

fn command_facts(element: &mut Element, command: u8, name: &str, payload: &[u8]) {
    element.has_fields = true;
    element.fact("command", command);
    element.fact("name", name);
    element.fact("payload", hex(payload));
}

fn good(frame: &Frame<'_>, offset: usize, options: &Options) -> Element {
    let sender = options.from_robot.map(|robot| match robot {
        true => Sender::Controller,
        false => Sender::Host,
    });
    let command = Command::from(frame.command());
    let parsed = Message::parse(frame, sender);
    let guessed = sender.unwrap_or_else(|| Sender::guess(command, frame.payload().len()));
    let (name, sender) = match &parsed {
        Ok(message) => (message.body.name(), message.body.sender()),
        Err(_) if guessed == Sender::Controller => {
            (command.answer_name().unwrap_or(command.name()), Some(guessed))
        }
        Err(_) => (command.name(), Some(guessed)),
    };
    let title = title(name, frame.command(), sender);
    let mut element = Element::new(Proto::Gd32, offset, frame.bytes().len(), title);
    command_facts(&mut element, frame.command(), name, frame.payload());
    let mut rows = header(frame.bytes(), offset, name);
    match parsed {
        Ok(Message { body: Body::Unknown { payload, .. }, .. }) => rows.rest(payload),
        Ok(message) => {
            let fields = message.body.entry().map_or(&[][..], |entry| entry.fields);
            field_rows(&mut rows, fields, frame.payload(), &options.profile);
            rows.skip_to(offset + 4 + frame.payload().len() - message.extra.len());
            rows.rest(message.extra);
        }
        Err(error) => {
            element.problem(error);
            rows.rest(frame.payload());
        }
    }
    match frame.check() {
        Some(check) => rows.frame(2, "check", format!("0x{check:04X}, right")),
        None => element.notes.push("0x08 without a check: accepted, never sent".into()),
    }
    element.rows = rows.rows;
    element
}

/// A frame whose check or length is wrong, or that was cut off.
fn bad(bytes: &[u8], offset: usize) -> Element {
    let error = match Frame::new_checked(bytes) {
        Err(error) => error,
        // Cannot be: a good frame would have been found.
        Ok(_) => Error::count("frame length", Wanted::AtLeast(4), bytes.len()),
    };
    let command = bytes.get(3).copied();
    let name = command.map_or("frame", |command| Command::from(command).name());
    let heading = match command {
        Some(command) => title(name, command, None),
        None => "GD32 frame".to_string(),
    };
    let mut element = Element::new(Proto::Gd32, offset, bytes.len(), heading).invalid(error);
    let mut rows = header(bytes, offset, name);
    let whole = bytes.get(2).is_some_and(|&len| len >= 3 && 3 + usize::from(len) == bytes.len());
    let payload_end = bytes.len() - if whole { 2 } else { 0 };
    let payload = bytes.get(4..payload_end).unwrap_or_default();
    if let Some(command) = command {
        command_facts(&mut element, command, name, payload);
    }
    if !payload.is_empty() {
        rows.frame(payload.len(), "payload", "not decoded");
    }
    if whole {
        rows.frame(2, "check", format!("wrong: {} wanted", error.wanted));
    }
    element.rows = rows.rows;
    element
}

/// The fields of a message that was parsed, in the order of the table.
fn field_rows(rows: &mut Rows, fields: &[Field], mut payload: &[u8], profile: &Profile) {
    for field in fields {
        let length = field.length().unwrap_or(payload.len());
        let Some((bytes, behind)) = payload.split_at_checked(length) else { return };
        field_row(rows, field, bytes, profile);
        payload = behind;
    }
}

fn field_row(rows: &mut Rows, field: &Field, bytes: &[u8], profile: &Profile) {
    let (name, length) = (field.name, bytes.len());
    match (field.meaning, bytes) {
        (Meaning::Byte, &[value]) => rows.field(length, name, value),
        (Meaning::Named(choices) | Meaning::Choice(choices), &[value]) => {
            let named = choices.iter().find(|choice| choice.value == value);
            let text = named.map_or_else(|| format!("Other({value})"), |choice| choice.name.into());
            rows.explained(length, name, value, text);
        }
        (Meaning::Led, &[value]) => {
            let mode = LedMode(value);
            let text = format!("{}, {}: {}", mode.colour(), mode.animation(), mode.purpose());
            rows.explained(length, name, value, format!("{value} = {text}"));
        }
        (Meaning::Percent, &[percent]) => {
            rows.explained(length, name, percent, format!("{percent} %"));
        }
        (Meaning::WidePercent, &[a, b, c, d]) => {
            let percent = i32::from_le_bytes([a, b, c, d]);
            rows.explained(length, name, percent, format!("{percent} %"));
        }
        (Meaning::Power, &[a, b]) => {
            let raw = u16::from_le_bytes([a, b]);
            let percent = float(f32::from(raw) / profile.vacuum_scale);
            let text = format!("{percent} % ({raw} units)");
            rows.explained(length, name, percent, text);
        }
        (Meaning::Speed(unit), &[a, b, c, d]) => {
            let raw = i32::from_le_bytes([a, b, c, d]);
            let speed = float((f64::from(raw) / f64::from(profile.velocity_scale)) as f32);
            let text = format!("{speed} {unit} ({raw} units)");
            rows.explained(length, name, speed, text);
        }
        (Meaning::WheelSpeed, &[a, b]) => {
            let metres = float(f32::from(i16::from_le_bytes([a, b])) / 1000.0);
            let text = format!("{metres} m/s");
            rows.explained(length, name, metres, text);
        }
        (Meaning::Always(_, text), bytes) => rows.explained(length, name, hex(bytes), text),
        (Meaning::Version, bytes) => {
            let version = Version(bytes);
            rows.field(length, name, String::from_utf8_lossy(version.text()).into_owned());
            if let Some(code) = version.code() {
                rows.field(0, "code", code);
            }
        }
        (Meaning::Status, bytes) => {
            if let Ok(status) = Status::parse(bytes) {
                status_rows(rows, &status, profile);
            }
        }
        (_, bytes) => rows.field(length, name, hex(bytes)),
    }
}

/// The status packet under the names its fields have in the network interface.
fn status_rows(rows: &mut Rows, status: &Status, profile: &Profile) {
    let start = rows.at;
    let mut at = |offset: usize, length: usize, name, value: serde_json::Value| {
        rows.skip_to(start + offset);
        rows.field(length, name, value);
    };
    for &flag in Flag::ALL {
        at(flag.offset(), 1, flag.name(), status.is(flag).into());
    }
    at(0x08, 1, "battery_voltage", float(status.battery_volts()));
    at(0x08, 1, "battery_level", status.battery_percent().into());
    let (left, right) = profile.encoders(status);
    let left_first = profile.encoder_order == EncoderOrder::LeftFirst;
    let wheels = if left_first {
        [("wheel_left", left), ("wheel_right", right)]
    } else {
        [("wheel_right", right), ("wheel_left", left)]
    };
    for (offset, (name, count)) in [0x10, 0x18].into_iter().zip(wheels) {
        at(offset, 8, name, count.into());
    }
    let [yaw, pitch, roll] = status.gyro();
    let [x, y, z] = status.accel();
    let [gx, gy, gz] = status.gravity();
    let motion = [
        ("gyro_yaw", yaw),
        ("accel_x", x),
        ("gyro_pitch", pitch),
        ("accel_y", y),
        ("gyro_roll", roll),
        ("accel_z", z),
        ("gravity_x", gx),
        ("gravity_y", gy),
        ("gravity_z", gz),
    ];
    for (offset, (name, value)) in (0x28..).step_by(2).zip(motion) {
        at(offset, 2, name, value.into());
    }
    at(0x3A, 4, "start_button", status.start_button.into());
    at(0x3E, 4, "dock_button", status.dock_button.into());
    at(0x46, 1, "water_tank", status.water_tank.into());
    rows.skip_to(start + STATUS_LEN);
}
