//! A dissector for Wireshark, in its Lua.
//!
//! What is particular to a protocol is data that comes from the codec: rows of [`gd32::MESSAGES`], and for
//! the others what [`explain`] says about a message that the codec wrote. `dissector/sinew.lua` walks that
//! data, and knows how frames begin and end.

use std::{fmt::Write, ops::ControlFlow};

use serde_json::Value;
use sinew_wire::{
    delta2d::{self, DEGREE, METRE, TURNS_PER_SECOND},
    explain::{Element, Options, Proto, explain},
    gd32::{self, Choice, Field, Flag, LedMode, Meaning, Profile},
    teach::{self, Command, Layout, Message},
};

const ABOUT: &str = "\
-- Teaching datagrams of the Unitree G1, GD32 and Delta-2D frames, for Wireshark.
-- Made by `sinew inspect --dissector`; what is changed here is lost when it is made again.
-- Put it into Wireshark's folder of personal Lua plugins, or: tshark -X lua_script:sinew.lua

";
const CODE: &str = include_str!("dissector/sinew.lua");
/// What joints of examples are at.
const JOINT: f32 = 0.5;

/// The dissector, whole.
pub fn dissector() -> String {
    let mut lua = String::from(ABOUT);
    // Writing to a string does not fail.
    let _ = gd32_table(&mut lua)
        .and_then(|()| teach_table(&mut lua))
        .and_then(|()| delta2d_table(&mut lua));
    lua.push('\n');
    lua.push_str(CODE);
    lua
}

type Written = std::fmt::Result;

/// A field as the dissector wants it.
struct Part {
    name: String,
    at: usize,
    length: usize,
    /// The type, and what else there is to say.
    kind: String,
}

impl Part {
    fn new(name: &str, at: usize, length: usize, kind: impl Into<String>) -> Self {
        Part { name: name.into(), at, length, kind: kind.into() }
    }

    fn write(&self, lua: &mut String) -> Written {
        let Part { name, at, length, kind } = self;
        writeln!(lua, "    {{ name = {name:?}, at = {at}, length = {length}, kind = {kind} }},")
    }
}

fn gd32_table(lua: &mut String) -> Written {
    let [first, second] = gd32::SYNC;
    writeln!(lua, "local GD32 = {{ sync = {{ {first}, {second} }}, messages = {{")?;
    for entry in gd32::MESSAGES {
        let command = entry.command;
        let (sender, name) = match entry.sender {
            gd32::Sender::Host => ("host", command.name()),
            gd32::Sender::Controller => ("robot", command.answer_name().unwrap_or(command.name())),
        };
        let key = entry.word.unwrap_or(name).to_lowercase().replace([' ', '-', '/'], "_");
        let length = entry.length().map_or("nil".into(), |length| length.to_string());
        writeln!(
            lua,
            "  {{ command = {}, from = {sender:?}, key = {key:?}, name = {name:?}, length = {length}, about = {:?}, fields = {{",
            command.code(),
            entry.about,
        )?;
        let mut at = 0;
        for field in entry.fields {
            let length = field.length().unwrap_or(0);
            match field.meaning {
                Meaning::Status => status(at),
                _ => vec![Part::new(field.name, at, length, gd32_kind(field))],
            }
            .iter()
            .try_for_each(|part| part.write(lua))?;
            at += length;
        }
        writeln!(lua, "  }} }},")?;
    }
    writeln!(lua, "}} }}")
}

fn gd32_kind(field: &Field) -> String {
    let profile = Profile::default();
    match field.meaning {
        Meaning::Byte => "\"u8\"".into(),
        Meaning::Percent => "\"u8\", unit = \" %\"".into(),
        Meaning::Named(choices) | Meaning::Choice(choices) => {
            format!("\"u8\", values = {}", named(choices))
        }
        Meaning::Led => {
            let modes = (0..).zip(LedMode::TABLE).map(|(number, (colour, animation, purpose))| {
                (number, format!("{colour}, {animation}: {purpose}"))
            });
            format!("\"u8\", values = {}", values(modes))
        }
        Meaning::WidePercent => "\"i32\", unit = \" %\"".into(),
        Meaning::Power => format!("\"u16\", scale = {}, unit = \" %\"", 1.0 / profile.vacuum_scale),
        Meaning::Speed(unit) => {
            format!("\"i32\", scale = {}, unit = \" {unit}\"", 1.0 / profile.velocity_scale)
        }
        Meaning::WheelSpeed => "\"i16\", scale = 0.001, unit = \" m/s\"".into(),
        Meaning::Always(_, text) => format!("\"bytes\", about = {text:?}"),
        Meaning::Version => "\"version\"".into(),
        _ => "\"bytes\"".into(),
    }
}

fn named(choices: &[Choice]) -> String {
    values(choices.iter().map(|choice| (u32::from(choice.value), choice.name.to_owned())))
}

fn values(named: impl Iterator<Item = (u32, String)>) -> String {
    let rows: Vec<String> = named.map(|(value, name)| format!("[{value}] = {name:?}")).collect();
    format!("{{ {} }}", rows.join(", "))
}

/// The parts of a status packet: what is said about one of all ones shows places and types.
fn status(start: usize) -> Vec<Part> {
    let ones = [0xFF; gd32::STATUS_LEN];
    let frame = gd32::FrameBuf::new(gd32::Command::Status.code(), &ones).ok();
    let bytes = frame.as_ref().map_or(&[][..], gd32::FrameBuf::as_bytes);
    let head = 4 - start;
    let parts = explained(bytes, Proto::Gd32, true).into_iter().flat_map(|element| element.rows);
    parts
        .filter_map(|row| {
            let kind = match (row.name, row.value?, row.length) {
                ("battery_voltage", ..) => battery(|status| status.battery_volts()),
                ("battery_level", ..) => battery(|status| status.battery_percent().into()),
                (name, Value::Bool(_), _) => {
                    let flag = Flag::ALL.iter().find(|flag| flag.name() == name)?;
                    format!("\"flag\", mask = {}", flag.mask())
                }
                (_, value, length) => {
                    let sign =
                        if value.as_i64().is_some_and(|value| value < 0) { "i" } else { "u" };
                    format!("\"{sign}{}\"", length * 8)
                }
            };
            Some(Part::new(row.name, row.offset - head, row.length, kind))
        })
        .collect()
}

/// What each value of the battery's byte means.
fn battery(meaning: impl Fn(&gd32::Status) -> f32) -> String {
    let all = (0..=u8::MAX).map(|battery_decivolts| {
        let mut status = gd32::Status::default();
        status.battery_decivolts = battery_decivolts;
        meaning(&status).to_string()
    });
    format!("\"lookup\", lookup = {{ {} }}", all.collect::<Vec<_>>().join(", "))
}

fn teach_table(lua: &mut String) -> Written {
    let magic = teach::MAGIC.map(|byte| byte.to_string()).join(", ");
    writeln!(lua, "local TEACH = {{ port = {}, magic = {{ {magic} }},", teach::PORT)?;
    let commands = Command::TABLE.map(|(command, code, _)| format!("{command:?} = {code}"));
    writeln!(lua, "  codes = {{ {} }},", commands.join(", "))?;
    let names = Command::TABLE.map(|(_, code, name)| (u32::from(code), name.to_owned()));
    writeln!(lua, "  names = {},", values(names.into_iter()))?;
    writeln!(lua, "  action = {{ {} }},", action().join(", "))?;
    for layout in [Layout::Documented, Layout::Compact] {
        let header = layout.header_len();
        // What the length field counts beside the payload shows in an empty datagram's.
        let mut empty = vec![0; layout.overhead()];
        let _ = teach::Datagram::emit(layout, teach::Sequence(0), 0, &[], &mut empty);
        let counted = empty.get(header - 1).copied().unwrap_or_default();
        let control = payload(&Message::ControlMode { rest: &[] }, layout);
        writeln!(
            lua,
            "  {layout} = {{ header = {header}, counted = {counted}, control = {control}, messages = {{"
        )?;
        for (key, message, by_robot) in examples() {
            teach_message(lua, key, &message, by_robot, layout)?;
        }
        writeln!(lua, "  }} }},")?;
    }
    writeln!(lua, "}}")
}

/// The lengths of what an action in a list has, by a list of one.
fn action() -> Vec<String> {
    let name = teach::Name::from_field([1; teach::NAME_FIELD]);
    let list = [teach::Action { name, metadata: 0 }];
    let Ok(list) = teach::Actions::new(&list) else { return Vec::new() };
    let bytes = Message::List(list).to_vec(Layout::Documented, teach::Sequence(0));
    let said = explained(&bytes.unwrap_or_default(), Proto::Teach, true);
    let rows = said.into_iter().flat_map(|element| element.rows);
    rows.filter(|row| ["name", "metadata"].contains(&row.name))
        .map(|row| format!("{} = {}", row.name, row.length))
        .collect()
}

/// Payload bytes of a message.
fn payload(message: &Message<'_>, layout: Layout) -> usize {
    let bytes = message.to_vec(layout, teach::Sequence(0)).unwrap_or_default();
    bytes.len().saturating_sub(layout.overhead())
}

/// A message of each kind that has fields, and whether a robot sends it.
fn examples() -> Vec<(&'static str, Message<'static>, bool)> {
    let keyframes = teach::Keyframes::default();
    let name = teach::Name::new("name").unwrap_or(teach::Name::from_field([0; teach::NAME_FIELD]));
    let joints = [JOINT; teach::JOINTS];
    let status = teach::Status {
        positions: joints,
        velocities: joints,
        time_ms: 0,
        mode: 0,
        flags: 0,
        rest: &[],
    };
    let state = teach::State {
        mode_flags: 0,
        positions: joints,
        velocities: joints,
        imu: [JOINT; 6],
        feet: [JOINT; 4],
        timestamp_ms: 0,
        flags: 0,
        rest: &[],
    };
    let save = teach::Save {
        name,
        timestamp: 0,
        duration_ms: 0,
        frame_count: 0,
        flags: 0,
        keyframes,
        rest: &[],
    };
    let play = teach::Play {
        action_id: 1,
        frame_count: 0,
        duration_ms: 0,
        interpolation: teach::Interpolation::Linear,
        keyframes,
        rest: &[],
    };
    let answer = Message::Answer { command: Command::Exit, status: 0, rest: &[] };
    vec![
        ("ready", Message::Ready { ready: 0, rest: &[] }, false),
        ("enter", Message::Enter(state), false),
        ("maintain", Message::Maintain { mode_flags: 0, rest: &[] }, false),
        ("exit", Message::Exit { mode_flags: 0, rest: &[] }, false),
        ("record", Message::Record { flag: 0, rest: &[] }, false),
        ("save", Message::Save(save), false),
        ("play", Message::Play(play), false),
        ("status", Message::Status(status), true),
        ("answer", answer, true),
    ]
}

fn teach_message(
    lua: &mut String,
    key: &str,
    message: &Message<'_>,
    by_robot: bool,
    layout: Layout,
) -> Written {
    let bytes = message.to_vec(layout, teach::Sequence(0)).unwrap_or_default();
    let rows = explained(&bytes, Proto::Teach, by_robot).into_iter().flat_map(|said| said.rows);
    let parts: Vec<Part> = rows
        .filter_map(|row| {
            let at = row.offset.saturating_sub(layout.header_len());
            let (length, kind) = match (row.name, row.value?) {
                ("keyframes", _) => (
                    8 * teach::KEYFRAME_SLOTS,
                    format!("\"keyframes\", slots = {}", teach::KEYFRAME_SLOTS),
                ),
                ("interpolation", _) => {
                    let modes =
                        (0..3).map(|mode| (mode, teach::Interpolation::from(mode).to_string()));
                    (row.length, format!("\"u32\", values = {}", values(modes)))
                }
                (_, Value::Array(_)) => (row.length, "\"f32s\"".into()),
                (_, Value::String(_)) => (row.length, "\"text\"".into()),
                _ => (row.length, "\"u32\"".into()),
            };
            Some(Part::new(row.name, at, length, kind))
        })
        .collect();
    let length = parts.last().map_or(0, |part| part.at + part.length);
    writeln!(lua, "    {key} = {{ key = {key:?}, length = {length}, fields = {{")?;
    parts.iter().try_for_each(|part| part.write(lua))?;
    writeln!(lua, "    }} }},")
}

fn delta2d_table(lua: &mut String) -> Written {
    let (sync, header, longest) = (delta2d::SYNC, delta2d::HEADER, delta2d::MAX_PAYLOAD);
    writeln!(
        lua,
        "local DELTA2D = {{ sync = {sync}, header = {header}, longest = {longest}, messages = {{"
    )?;
    let sample = [delta2d::Sample { quality: 1, distance: 1 }.into()];
    let measurement = delta2d::Measurement { speed: 1, offset: -1, start: 1, samples: &sample };
    for body in [delta2d::Body::Measurement(measurement), delta2d::Body::Speed(1)] {
        let Ok(frame) = delta2d::Message::from(body).frame() else { continue };
        let code = frame.as_bytes().get(5).copied().unwrap_or_default();
        let name = delta2d::Command::from(code).name();
        writeln!(
            lua,
            "  [{code}] = {{ key = {:?}, name = {name:?}, fields = {{",
            name.to_lowercase()
        )?;
        let said = explained(frame.as_bytes(), Proto::Delta2d, true);
        for row in said.into_iter().flat_map(|element| element.rows) {
            let Some(value) = row.value else { continue };
            let kind = match (row.name, &value) {
                (_, Value::Array(_)) => format!("\"samples\", scale = {METRE}"),
                (name, _) if name.ends_with("_deg") => {
                    let sign =
                        if value.as_f64().is_some_and(|value| value < 0.0) { "i" } else { "u" };
                    format!("\"{sign}16\", scale = {DEGREE}, unit = \" degrees\"")
                }
                _ => format!("\"u8\", scale = {TURNS_PER_SECOND}, unit = \" turns/s\""),
            };
            Part::new(row.name, row.offset - header, row.length, kind).write(lua)?;
        }
        writeln!(lua, "  }} }},")?;
    }
    writeln!(lua, "}} }}")
}

/// What is said about a message that the codec wrote.
fn explained(bytes: &[u8], proto: Proto, by_robot: bool) -> Option<Element> {
    let options = Options { proto: Some(proto), from_robot: Some(by_robot), ..Options::default() };
    let mut said = None;
    let _ = explain(bytes, &options, &mut |element| {
        said = Some(element);
        ControlFlow::Break(())
    });
    said
}
