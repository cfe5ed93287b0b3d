use std::fmt::Write;

use serde::Deserialize;
use serde_json::Value;

use super::{
    Curves, Error, Interpolation, JOINTS, JointMap, Keyframe, Recording, recording::check_size,
};

/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;
/// Most keyframes: twelve times what a robot takes at once.
pub const MAX_KEYFRAMES: usize = 240;
/// A frame every so often where a motion is given by keyframes alone.
const PERIOD_MS: usize = 20;

/// A motion with everything that is kept about it: one JSON document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// What it is called.
    pub name: String,
    /// Unix time at which it was made, in seconds.
    pub created: u64,
    /// As it was recorded; empty when only keyframes are known.
    pub recording: Recording,
    /// What was made of it; empty when nothing was yet.
    pub keyframes: Vec<Keyframe>,
}

impl Document {
    /// How long the motion takes.
    pub fn duration_ms(&self) -> u32 {
        let last = self.keyframes.iter().map(|keyframe| u32::from(keyframe.time_ms)).max();
        self.recording.duration_ms().max(last.unwrap_or(0))
    }

    /// Whether there is nothing to play.
    pub fn is_empty(&self) -> bool {
        self.recording.is_empty() && self.keyframes.is_empty()
    }

    /// What was recorded; where nothing was, what the keyframes give, fifty frames a second.
    pub fn frames(&self, way: Interpolation) -> Recording {
        if !self.recording.is_empty() || self.keyframes.is_empty() {
            return self.recording.clone();
        }
        let curves = Curves::new([0.0; JOINTS], &self.keyframes);
        let end = self.duration_ms();
        let mut frames = Recording::new();
        for time in (0..end).step_by(PERIOD_MS).chain([end]) {
            // Keyframes' times are in order here, few enough, and only numbers count.
            let _infallible = frames.push(time, curves.pose(time.into(), way));
        }
        frames
    }

    /// The document, a line per frame and keyframe. Joints are named, so that it outlives a
    /// change of slots.
    pub fn to_json(&self, joints: &JointMap) -> String {
        let names: Vec<_> = joints.joints.iter().map(|joint| joint.name).collect();
        let frames = self.recording.frames().iter().map(|frame| {
            let values = frame.positions.iter().map(|value| number(*value));
            let cells: Vec<_> = [frame.time_ms.to_string()].into_iter().chain(values).collect();
            format!("[{}]", cells.join(", "))
        });
        let named = |keyframe: &&Keyframe| usize::from(keyframe.joint) < JOINTS;
        let keyframes = self.keyframes.iter().filter(named).map(|keyframe| {
            let joint = names.get(usize::from(keyframe.joint)).copied().unwrap_or_default();
            let (time_ms, value) = (keyframe.time_ms, number(keyframe.value));
            format!("{{\"joint\": \"{joint}\", \"time_ms\": {time_ms}, \"value\": {value}}}")
        });
        let mut text = String::from("{\n");
        let mut member = |key: &str, value: &str, end: &str| {
            let _infallible = writeln!(text, "  \"{key}\": {value}{end}");
        };
        member("version", &VERSION.to_string(), ",");
        member("name", &Value::from(self.name.as_str()).to_string(), ",");
        member("created", &self.created.to_string(), ",");
        member("duration_ms", &self.duration_ms().to_string(), ",");
        member("joints", &Value::from(names.clone()).to_string(), ",");
        member("frames", &lines(frames), ",");
        member("keyframes", &lines(keyframes), "");
        text.push_str("}\n");
        text
    }

    /// Reads such a document; also tells the joints it has that no slot takes.
    pub fn from_json(text: &str, joints: &JointMap) -> Result<(Document, Vec<String>), Error> {
        check_size(text)?;
        let file: File = serde_json::from_str(text).map_err(|error| {
            Error::new("document", "an action as JSON", &error).at(error.line())
        })?;
        Self::from_file(file, joints)
    }

    /// Reads such a document from JSON that was read already.
    pub fn from_value(value: Value, joints: &JointMap) -> Result<(Document, Vec<String>), Error> {
        let file = serde_json::from_value(value)
            .map_err(|error| Error::new("document", "an action as JSON", &error))?;
        Self::from_file(file, joints)
    }

    fn from_file(file: File, joints: &JointMap) -> Result<(Document, Vec<String>), Error> {
        if file.version != VERSION {
            return Err(Error::new("version", VERSION.to_string(), file.version));
        }
        let recording = file.recording(joints)?;
        let keyframes = file.keyframes(joints)?;
        let unknown = file.joints.iter().filter(|name| joints.slot_of(name).is_none());
        let dropped = unknown.cloned().collect();
        let document = Document { name: file.name, created: file.created, recording, keyframes };
        Ok((document, dropped))
    }
}

#[derive(Deserialize)]
struct File {
    version: u32,
    name: String,
    created: u64,
    joints: Vec<String>,
    #[serde(default)]
    frames: Vec<Vec<f64>>,
    #[serde(default)]
    keyframes: Vec<FileKeyframe>,
}

#[derive(Deserialize)]
struct FileKeyframe {
    joint: String,
    time_ms: u16,
    value: f32,
}

impl File {
    fn recording(&self, joints: &JointMap) -> Result<Recording, Error> {
        let mut recording = Recording::new();
        if self.frames.is_empty() {
            return Ok(recording);
        }
        let mut columns = [0; JOINTS];
        for (column, joint) in columns.iter_mut().zip(&joints.joints) {
            let place = self.joints.iter().position(|name| name == joint.name);
            // Before the joints stands the time.
            *column = 1 + place.ok_or_else(|| {
                Error::new("joints", format!("{} among them", joint.name), self.joints.join(", "))
            })?;
        }
        let width = 1 + self.joints.len();
        for (index, row) in self.frames.iter().enumerate() {
            let numbered =
                |error: Error| Error { got: format!("{} in frame {index}", error.got), ..error };
            if row.len() != width {
                let wanted = format!("{width} numbers: the time and the joints");
                return Err(numbered(Error::new("frames", wanted, row.len())));
            }
            let time = row.first().copied().unwrap_or(-1.0);
            if time.fract() != 0.0 || !(0.0..=f64::from(u32::MAX)).contains(&time) {
                return Err(numbered(Error::new("time_ms", "a whole number from 0", time)));
            }
            let value = |column: usize| row.get(column).copied().unwrap_or(f64::NAN) as f32;
            recording.push(time as u32, columns.map(value)).map_err(numbered)?;
        }
        Ok(recording)
    }

    /// Keyframes of joints that no slot takes are left out with their joints.
    fn keyframes(&self, joints: &JointMap) -> Result<Vec<Keyframe>, Error> {
        if self.keyframes.len() > MAX_KEYFRAMES {
            let wanted = format!("at most {MAX_KEYFRAMES}");
            return Err(Error::new("keyframes", wanted, self.keyframes.len()));
        }
        let mut keyframes = Vec::new();
        for FileKeyframe { joint, time_ms, value } in &self.keyframes {
            if !self.joints.contains(joint) {
                return Err(Error::new("keyframes", "a joint that joints lists", joint));
            }
            if !value.is_finite() {
                return Err(Error::new("keyframes", "a finite value", value));
            }
            if let Some(slot) = joints.slot_of(joint) {
                let (joint, time_ms, value) = (slot as u16, *time_ms, *value);
                keyframes.push(Keyframe { joint, time_ms, value });
            }
        }
        Ok(keyframes)
    }
}

/// JSON has no numbers that are none; nothing that could be recorded is one.
fn number(value: f32) -> String {
    if value.is_finite() { value.to_string() } else { "0".into() }
}

fn lines(items: impl Iterator<Item = String>) -> String {
    let items: Vec<_> = items.map(|item| format!("    {item}")).collect();
    if items.is_empty() { "[]".into() } else { format!("[\n{}\n  ]", items.join(",\n")) }
}
