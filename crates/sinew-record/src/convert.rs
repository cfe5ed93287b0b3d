//! The daemon's messages and frames as topics that tools can show.
//!
//! | topic | from | schema |
//! | --- | --- | --- |
//! | `/ROBOT/state`, `/ROBOT/events`, `/ROBOT/sensors/GROUP` | the same | our own JSON |
//! | `/ROBOT/log` | `events` | foxglove.Log |
//! | `/ROBOT/pose`, `/tf` | `state`, `sensors/odometry`, frames | foxglove.PoseInFrame, FrameTransforms |
//! | `/ROBOT/joints` | `sensors/joints` | foxglove.JointStates |
//! | `/ROBOT/scan` | `sensors/lidar` | foxglove.LaserScan |
//! | `/ROBOT/cloud` | `cloud` | foxglove.PointCloud |
//! | `/ROBOT/map` | `map`, whole, every two seconds at most | foxglove.Grid if it is flat, else PointCloud |
//! | `/ROBOT/messages/text`, `…/binary` | `messages` | none: as they came |
//! | `/ROBOT/raw/tx`, `…/rx` | `raw` | none: as they passed on the link |
//! | `/recorder/log` | what was lost | foxglove.Log |

mod map;
mod pose;
mod scan;

use std::collections::BTreeMap;

use foxglove::messages::{
    JointState, JointStates, Log, PackedElementField, PointCloud, Timestamp, log::Level,
    packed_element_field::NumericType,
};
use prost::Message as _;
use serde_json::Value;
use sinew_api::{
    Event,
    frame::{Frame, Kind as FrameKind},
};
use sinew_robot::trajectory::G1_ARMS;

use self::{map::Map, pose::Frames, scan::Mounting};
use crate::{Kind, Topical};

/// A map is given out whole at most so often, and less often the larger it is: so many nanoseconds a byte, which
/// is 200 kB a second.
const MAP_EVERY_NS: u64 = 2_000_000_000;
const MAP_NS_PER_BYTE: u64 = 5_000;
/// Where what concerns the recording itself is told.
const OWN_LOG: &str = "/recorder/log";

/// Makes topics of what a daemon tells.
#[derive(Debug, Default)]
pub struct Converter {
    /// By their place in what `Robots` lists.
    names: Vec<String>,
    robots: BTreeMap<String, Known>,
}

/// What is kept of a robot.
#[derive(Debug, Default)]
struct Known {
    frames: Frames,
    mounting: Mounting,
    map: Map,
    /// When its map may be given out again, and whether it has changed since it was.
    map_due_ns: u64,
    map_changed: bool,
}

impl Converter {
    /// For robots of these names, in the order in which `Robots` lists them.
    pub fn new(names: Vec<String>) -> Self {
        Converter { names, robots: BTreeMap::new() }
    }

    /// What to make of an event that came at this time.
    pub fn event(&mut self, at_ns: u64, event: Event, mut out: impl FnMut(Topical)) {
        let Event { topic, robot, data } = event;
        let known = self.robots.entry(robot.clone()).or_default();
        let seen_ns = data["timestamp_us"].as_u64().map_or(at_ns, |us| us.saturating_mul(1000));
        let mut give = Give { robot: &robot, at_ns, seen_ns, out: &mut out };
        match topic.as_str() {
            "state" => {
                known.mounting.take(&data["state"]["scan"]["mounting"]);
                known.frames.state(&data["state"], &mut give);
                give.json("state", Kind::State, &data);
            }
            "events" => {
                give.protobuf("log", Kind::Log, &log(&robot, at_ns, &data));
                give.json("events", Kind::Event, &data);
            }
            group => {
                let values = &data["values"];
                match group.strip_prefix("sensors/") {
                    Some("lidar") => {
                        if let Some(scan) = scan::scan(values, &known.mounting, &robot, seen_ns) {
                            give.protobuf("scan", Kind::LaserScan, &scan);
                        }
                    }
                    Some("joints") => {
                        if let Some(joints) = joints(values, seen_ns) {
                            give.protobuf("joints", Kind::JointStates, &joints);
                        }
                    }
                    Some("odometry") => known.frames.odometry(values, &mut give),
                    _ => {}
                }
                give.json(group, Kind::Sensors, &data);
            }
        }
    }

    /// What to make of a frame that came at this time. Bytes that are no frame are nothing.
    pub fn frame(&mut self, at_ns: u64, bytes: &[u8], mut out: impl FnMut(Topical)) {
        let Ok(frame) = Frame::read(bytes) else { return };
        let Some(robot) = self.names.get(usize::from(frame.header.robot)) else { return };
        let known = self.robots.entry(robot.clone()).or_default();
        let seen_ns = frame.header.time_us.saturating_mul(1000);
        let mut give = Give { robot, at_ns, seen_ns, out: &mut out };
        match frame.kind {
            FrameKind::Cloud => {
                if let Some(pose) = &frame.header.pose {
                    known.frames.in_map(pose, &mut give);
                }
                give.protobuf("cloud", Kind::PointCloud, &cloud(robot, &frame));
            }
            FrameKind::Map => {
                known.map_changed |= known.map.take(&frame);
                // Often enough to watch, seldom enough that a file is not made of maps.
                if known.map_changed && at_ns >= known.map_due_ns {
                    known.give_map(&mut give);
                }
            }
            FrameKind::Message => {
                let (topic, kind) = match frame.header.name {
                    "text" => ("messages/text", Kind::Text),
                    _ => ("messages/binary", Kind::Binary),
                };
                give.bytes(topic, kind, frame.bytes().to_vec());
            }
            FrameKind::Raw => {
                let topic = if frame.header.name == "tx" { "raw/tx" } else { "raw/rx" };
                give.bytes(topic, Kind::Binary, frame.bytes().to_vec());
            }
        }
    }

    /// Gives out what waits: maps that have changed since they were given out, when it is time or at the end.
    pub fn settle(&mut self, at_ns: u64, is_end: bool, mut out: impl FnMut(Topical)) {
        for (robot, known) in &mut self.robots {
            if known.map_changed && (at_ns >= known.map_due_ns || is_end) {
                let seen_ns = known.map.seen_ns().unwrap_or(at_ns);
                known.give_map(&mut Give { robot, at_ns, seen_ns, out: &mut out });
            }
        }
    }

    /// Has all maps given out again, for those that came later.
    pub fn again(&mut self) {
        for known in self.robots.values_mut() {
            known.map_changed |= known.map.seen_ns().is_some();
        }
    }

    /// Says something about the recording itself.
    pub fn note(&self, at_ns: u64, text: &str, mut out: impl FnMut(Topical)) {
        let log = Log {
            timestamp: Some(timestamp(at_ns)),
            level: Level::Warning.into(),
            message: text.into(),
            name: "recorder".into(),
            ..Log::default()
        };
        out(Topical {
            topic: OWN_LOG.into(),
            kind: Kind::Log,
            log_ns: at_ns,
            publish_ns: at_ns,
            data: log.encode_to_vec(),
        });
    }
}

impl Known {
    fn give_map(&mut self, give: &mut Give<'_>) {
        self.map_changed = false;
        let mut bytes = 0;
        match self.map.is_flat() {
            true => {
                let grid = self.map.grid(&pose::map_frame(give.robot), timestamp(give.seen_ns));
                if let Some(grid) = grid {
                    bytes = grid.data.len() as u64;
                    give.protobuf("map", Kind::Grid, &grid);
                }
            }
            false => {
                let cloud = self.map.cloud(&pose::map_frame(give.robot), timestamp(give.seen_ns));
                bytes += cloud.data.len() as u64;
                give.protobuf("map", Kind::PointCloud, &cloud);
            }
        }
        let pause = MAP_EVERY_NS.max(bytes.saturating_mul(MAP_NS_PER_BYTE));
        self.map_due_ns = give.at_ns.saturating_add(pause);
    }
}

/// Gives topics out for one robot at one time.
struct Give<'a> {
    robot: &'a str,
    at_ns: u64,
    seen_ns: u64,
    out: &'a mut dyn FnMut(Topical),
}

impl Give<'_> {
    fn json(&mut self, topic: &str, kind: Kind, data: &Value) {
        self.bytes(topic, kind, data.to_string().into_bytes());
    }

    fn protobuf(&mut self, topic: &str, kind: Kind, message: &impl prost::Message) {
        self.bytes(topic, kind, message.encode_to_vec());
    }

    fn bytes(&mut self, topic: &str, kind: Kind, data: Vec<u8>) {
        let topic = format!("/{}/{topic}", self.robot);
        self.whole(topic, kind, data);
    }

    fn whole(&mut self, topic: String, kind: Kind, data: Vec<u8>) {
        let (log_ns, publish_ns) = (self.at_ns, self.seen_ns);
        (self.out)(Topical { topic, kind, log_ns, publish_ns, data });
    }
}

fn timestamp(ns: u64) -> Timestamp {
    Timestamp::new((ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32)
}

/// Words of events that a person should look at.
const TROUBLE: [&str; 6] = ["lost", "refused", "fault", "stopped", "error", "trouble"];

/// An event for people: its name, and the rest of it.
fn log(robot: &str, at_ns: u64, data: &Value) -> Log {
    let name = data["event"].as_str().unwrap_or("event");
    let others = data.as_object().into_iter().flatten().filter(|(key, _)| *key != "event");
    let rest: Vec<_> = others
        .map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key} {text}"),
            None => format!("{key} {value}"),
        })
        .collect();
    let message = match rest.is_empty() {
        true => name.into(),
        false => format!("{name}: {}", rest.join(", ")),
    };
    let is_trouble = TROUBLE.iter().any(|word| message.contains(word));
    let level = if is_trouble { Level::Warning } else { Level::Info };
    let timestamp = Some(timestamp(at_ns));
    Log { timestamp, level: level.into(), message, name: robot.into(), ..Log::default() }
}

fn joints(values: &Value, seen_ns: u64) -> Option<JointStates> {
    let positions = values["positions"].as_array()?;
    let named = G1_ARMS.joints.iter().map(|joint| joint.name.to_owned());
    let names = named.chain((G1_ARMS.joints.len()..).map(|slot| format!("joint_{slot}")));
    let joints = positions.iter().zip(names).enumerate().map(|(slot, (position, name))| {
        let velocity = values["velocities"][slot].as_f64();
        JointState { name, position: position.as_f64(), velocity, ..JointState::default() }
    });
    Some(JointStates { timestamp: Some(timestamp(seen_ns)), joints: joints.collect() })
}

/// Points from the cloud's own origin, so that 32 bits have the robot's steps exactly.
fn cloud(robot: &str, frame: &Frame<'_>) -> PointCloud {
    let header = &frame.header;
    let points = frame.points();
    let mut data = Vec::with_capacity(points.len() * 12);
    for point in points {
        for step in point.take(3) {
            data.extend(((f64::from(step) * header.unit) as f32).to_le_bytes());
        }
    }
    PointCloud {
        timestamp: Some(timestamp(header.time_us.saturating_mul(1000))),
        frame_id: pose::map_frame(robot),
        pose: Some(pose::at(header.origin, 0.0)),
        point_stride: 12,
        fields: fields(&[("x", 0), ("y", 4), ("z", 8)], NumericType::Float32),
        data: data.into(),
    }
}

fn fields(named: &[(&str, u32)], kind: NumericType) -> Vec<PackedElementField> {
    let field = |&(name, offset): &(&str, u32)| PackedElementField {
        name: name.into(),
        offset,
        r#type: kind.into(),
    };
    named.iter().map(field).collect()
}
