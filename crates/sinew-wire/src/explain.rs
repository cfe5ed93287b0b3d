//! Says what a run of bytes is, field by field, for people and for programs.
//!
//! [`explain`] recognises the protocol (or takes the caller's word for it),
//! decodes, and hands out one [`Element`] for each frame and for each run of
//! rubbish between frames, in order, until every byte is accounted for.

mod channel;
mod datagram;
mod envelope;
mod lidar;
mod serial;
mod walk;

use alloc::{format, string::String, vec::Vec};
use core::{fmt, ops::ControlFlow};

use serde_json::{Map, Value};

use crate::{
    Error, delta2d, dtls, gd32,
    slam::{self, CloudFrame, Reading},
    teach,
};

/// Rubbish longer than this is measured, not repeated.
const MAX_SHOWN: usize = 4096;

/// A protocol this crate can tell from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the modules")]
pub enum Proto {
    Gd32,
    Delta2d,
    Teach,
    Dtls,
    Slam,
    Voxel,
    Unitree,
    /// None of them.
    Unknown,
}

/// What the caller knows or wants.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The protocol, when it is not to be recognised.
    pub proto: Option<Proto>,
    /// Whether a robot sent the bytes; unknown as a rule.
    pub from_robot: Option<bool>,
    /// The vacuum's scales and encoder order.
    pub profile: gd32::Profile,
    /// How SLAM points are read; by the data as a rule.
    pub reading: Option<Reading>,
    /// Which coordinates to give out.
    pub frame: CloudFrame,
    /// Whether to give out the points of clouds and maps.
    pub points: bool,
}

/// A frame, a message, or rubbish.
#[derive(Debug, Clone)]
pub struct Element {
    /// What it is.
    pub proto: Proto,
    /// Where it begins.
    pub offset: usize,
    /// How many bytes it has.
    pub length: usize,
    /// Whether header, lengths and check are right.
    pub valid: bool,
    /// What it is, in a line.
    pub title: String,
    /// What its protocol says of it beside the fields: command, layout, reading and the like.
    pub facts: Map<String, Value>,
    /// Its parts.
    pub rows: Vec<Row>,
    /// Whether the rows' values are a member of their own in JSON.
    pub has_fields: bool,
    /// What does not fit.
    pub problems: Vec<Error>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Points in metres, when they were asked for.
    pub coordinates: Option<Vec<[f32; 3]>>,
}

/// A part of an element: a field, or framing.
#[derive(Debug, Clone)]
pub struct Row {
    /// Where it begins, counted from the start of the input.
    pub offset: usize,
    /// How many bytes it has.
    pub length: usize,
    /// What it is called.
    pub name: &'static str,
    /// Its value for programs; framing has none.
    pub value: Option<Value>,
    /// Its value for people.
    pub text: String,
}

/// Explains `bytes` element by element, until `sink` breaks off.
pub fn explain(
    bytes: &[u8],
    options: &Options,
    sink: &mut dyn FnMut(Element) -> ControlFlow<()>,
) -> ControlFlow<()> {
    match options.proto.unwrap_or_else(|| recognise(bytes)) {
        Proto::Gd32 => walk::explain(bytes, gd32::Deframer::new(), options, sink),
        Proto::Delta2d => walk::explain(bytes, lidar_frames(), options, sink),
        Proto::Teach | Proto::Dtls => datagram::explain(bytes, options, sink),
        Proto::Slam | Proto::Voxel => envelope::explain(bytes, options, sink),
        Proto::Unitree => channel::explain(bytes, options, sink),
        Proto::Unknown if bytes.is_empty() => ControlFlow::Continue(()),
        Proto::Unknown => sink(Element::rubbish(0, bytes)),
    }
}

/// The protocol that bytes begin with or, for serial frames, contain.
pub fn recognise(bytes: &[u8]) -> Proto {
    if bytes.starts_with(&gd32::SYNC) {
        Proto::Gd32
    } else if delta2d::Frame::looks_like(bytes) {
        Proto::Delta2d
    } else if bytes.starts_with(&teach::MAGIC) {
        Proto::Teach
    } else if dtls::Record::split(bytes).is_ok() {
        Proto::Dtls
    } else if channel::looks_like(bytes) {
        Proto::Unitree
    } else if slam::Message::looks_like(bytes) {
        envelope::format(bytes)
    } else if walk::has_frame(bytes, gd32::Deframer::new()) {
        Proto::Gd32
    } else if walk::has_frame(bytes, lidar_frames()) {
        Proto::Delta2d
    } else {
        Proto::Unknown
    }
}

/// Of a recording only frames are believed whose check fits.
const fn lidar_frames() -> delta2d::Deframer {
    delta2d::Deframer::with(delta2d::Delta2d::STRICT)
}

impl Element {
    fn new(proto: Proto, offset: usize, length: usize, title: String) -> Self {
        Element {
            proto,
            offset,
            length,
            valid: true,
            title,
            facts: Map::new(),
            rows: Vec::new(),
            has_fields: false,
            problems: Vec::new(),
            notes: Vec::new(),
            coordinates: None,
        }
    }

    fn rubbish(offset: usize, bytes: &[u8]) -> Self {
        let mut element =
            Element::new(Proto::Unknown, offset, bytes.len(), String::from("not recognised"));
        element.valid = false;
        if bytes.len() <= MAX_SHOWN {
            element.fact("bytes", hex(bytes));
        }
        element.rows.push(Row {
            offset,
            length: bytes.len(),
            name: "rubbish",
            value: None,
            text: String::new(),
        });
        element
    }

    fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(name.into(), value.into());
    }

    fn problem(&mut self, error: Error) {
        self.problems.push(error);
    }

    fn invalid(mut self, error: Error) -> Self {
        self.valid = false;
        self.problems.push(error);
        self
    }

    /// The element as JSON, without its coordinates.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut json = Map::new();
        json.insert("proto".into(), format!("{}", self.proto).into());
        json.insert("offset".into(), self.offset.into());
        json.insert("length".into(), self.length.into());
        json.insert("valid".into(), self.valid.into());
        json.extend(self.facts.clone());
        if self.has_fields {
            let values = self.rows.iter().filter_map(|row| {
                let value = row.value.clone()?;
                Some((String::from(row.name), value))
            });
            json.insert("fields".into(), Value::Object(values.collect()));
        }
        if !self.problems.is_empty() {
            let problems = self.problems.iter().map(problem_json).collect();
            json.insert("problems".into(), Value::Array(problems));
        }
        if !self.notes.is_empty() {
            json.insert("notes".into(), self.notes.clone().into());
        }
        json
    }
}

fn problem_json(error: &Error) -> Value {
    let texts = [
        ("field", String::from(error.field)),
        ("wanted", format!("{}", error.wanted)),
        ("got", format!("{}", error.got)),
    ];
    Value::Object(texts.into_iter().map(|(name, text)| (name.into(), text.into())).collect())
}

impl fmt::Display for Proto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Proto::Gd32 => "gd32",
            Proto::Delta2d => "delta2d",
            Proto::Teach => "teach",
            Proto::Dtls => "dtls",
            Proto::Slam => "slam",
            Proto::Voxel => "voxel",
            Proto::Unitree => "unitree",
            Proto::Unknown => "unknown",
        })
    }
}

/// Lays rows side by side over a run of bytes.
struct Rows {
    rows: Vec<Row>,
    at: usize,
    end: usize,
}

impl Rows {
    fn new(at: usize, end: usize) -> Self {
        Rows { rows: Vec::new(), at, end }
    }

    /// Framing: shown to people only.
    fn frame(&mut self, length: usize, name: &'static str, text: impl Into<String>) {
        self.push(length, name, None, text.into());
    }

    /// A field whose text is its value.
    fn field(&mut self, length: usize, name: &'static str, value: impl Into<Value>) {
        let value = value.into();
        let text = match &value {
            Value::String(text) => text.clone(),
            other => format!("{other}"),
        };
        self.push(length, name, Some(value), text);
    }

    /// A field that takes explaining.
    fn explained(
        &mut self,
        length: usize,
        name: &'static str,
        value: impl Into<Value>,
        text: impl Into<String>,
    ) {
        self.push(length, name, Some(value.into()), text.into());
    }

    /// What is left before the check.
    fn rest(&mut self, rest: &[u8]) {
        if !rest.is_empty() {
            let zero = rest.iter().all(|&byte| byte == 0);
            self.frame(rest.len(), "rest", if zero { "zero" } else { "unknown" });
        }
    }

    fn push(&mut self, length: usize, name: &'static str, value: Option<Value>, text: String) {
        let length = length.min(self.end.saturating_sub(self.at));
        self.rows.push(Row { offset: self.at, length, name, value, text });
        self.at += length;
    }

    fn skip_to(&mut self, at: usize) {
        self.at = at;
    }
}

/// A number with as few digits as tell it from its neighbours.
fn float(value: f32) -> Value {
    let text = format!("{value}");
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Value::from(number),
        _ => Value::from(text),
    }
}

fn floats(values: &[f32]) -> Value {
    Value::Array(values.iter().copied().map(float).collect())
}

/// Lower-case hex without separators.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
