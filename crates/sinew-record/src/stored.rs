//! What a file holds, for the parts of Sinew that use recordings: a G1's messages, points, joints.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
};

use foxglove::messages::{JointStates, PointCloud, packed_element_field::NumericType};
use prost::Message as _;

use crate::{
    Kind,
    read::{Ending, Error, Message, Reader},
};

/// What is known of a topic.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopicStats {
    /// The schema's name and how it is written.
    pub schema: String,
    /// How the schema is written.
    pub schema_encoding: String,
    /// How messages are encoded.
    pub encoding: String,
    /// How many there are.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The longest.
    pub longest: u64,
    /// When the first and the last were recorded, nanoseconds since 1970.
    pub times: Option<(u64, u64)>,
}

impl TopicStats {
    /// Messages a second; none of so few that their distance says nothing.
    pub fn rate(&self) -> Option<f64> {
        let (first, last) = self.times.filter(|(first, last)| last > first && self.messages > 2)?;
        Some(self.messages.saturating_sub(1) as f64 / ((last - first) as f64 / 1e9))
    }
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// By topic.
    pub topics: BTreeMap<String, TopicStats>,
    /// How the file ended.
    pub ending: Ending,
    /// Chunks that cannot be read.
    pub damaged: u64,
    /// What the file says about itself.
    pub about: Vec<(String, String)>,
}

/// Reads a file from front to back, without keeping what is in it.
pub fn summary(source: impl Read) -> Result<Summary, Error> {
    let mut reader = Reader::new(source)?;
    let mut topics: BTreeMap<String, TopicStats> = BTreeMap::new();
    while let Some(message) = reader.message()? {
        let channel = &message.channel;
        let stats = match topics.get_mut(&channel.topic) {
            Some(stats) => stats,
            None => topics.entry(channel.topic.clone()).or_insert_with(|| TopicStats {
                schema: channel.schema.clone(),
                schema_encoding: channel.schema_encoding.clone(),
                encoding: channel.encoding.clone(),
                ..TopicStats::default()
            }),
        };
        let length = message.data.len() as u64;
        stats.messages += 1;
        stats.bytes += length;
        stats.longest = stats.longest.max(length);
        let (first, last) = stats.times.unwrap_or((message.log_ns, message.log_ns));
        stats.times = Some((first.min(message.log_ns), last.max(message.log_ns)));
    }
    let ending = reader.ending().unwrap_or(Ending::Unfinished);
    Ok(Summary { topics, ending, damaged: reader.damaged(), about: reader.about().to_vec() })
}

/// What a message of a robot's link is: the last part of its topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `/ROBOT/messages/text`: a text of a G1.
    Text,
    /// `/ROBOT/messages/binary`: bytes of a G1.
    Binary,
    /// `/ROBOT/raw/tx`: bytes of the link, to the robot.
    Tx,
    /// `/ROBOT/raw/rx`: bytes of the link, from the robot.
    Rx,
}

/// Which topic of a robot's link is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkTopic {
    /// A G1's, as they came.
    Messages,
    /// What passed on the link, both ways.
    Raw,
}

/// A message that a robot's link brought, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkMessage {
    /// When, microseconds since 1970.
    pub at_us: u64,
    /// What it is.
    pub part: Part,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The messages of a robot's link, of the first robot of a file that has some.
#[derive(Debug)]
pub struct LinkMessages<R> {
    reader: Reader<R>,
    wanted: LinkTopic,
    /// Whether bytes are those of a robot that is looked for.
    fits: fn(&[u8]) -> bool,
    /// As `/g1/messages`.
    robot: Option<String>,
    /// Topics that were passed by.
    others: BTreeSet<String>,
}

impl<R: Read> LinkMessages<R> {
    /// Begins to read.
    pub fn new(source: R, wanted: LinkTopic) -> Result<Self, Error> {
        let reader = Reader::new(source)?;
        Ok(LinkMessages { reader, wanted, fits: |_| true, robot: None, others: BTreeSet::new() })
    }

    /// The same of the first robot from which such bytes came.
    pub fn of_one_that_says(self, fits: fn(&[u8]) -> bool) -> Self {
        LinkMessages { fits, ..self }
    }

    /// The next of them.
    pub fn message(&mut self) -> Result<Option<LinkMessage>, Error> {
        while let Some(message) = self.reader.message()? {
            let channel = &message.channel;
            let part = self.wanted.part(&channel.topic, channel.kind()).filter(|(_, part)| {
                self.robot.is_some() || (*part != Part::Tx && (self.fits)(message.data))
            });
            let Some((place, part)) = part else {
                if self.robot.is_none() && !self.others.contains(&channel.topic) {
                    self.others.insert(channel.topic.clone());
                }
                continue;
            };
            if *self.robot.get_or_insert_with(|| place.into()) != place {
                continue;
            }
            let at_us = message.publish_ns / 1000;
            return Ok(Some(LinkMessage { at_us, part, bytes: message.data.into() }));
        }
        Ok(None)
    }

    /// Whether the file ended before its writer finished it.
    pub fn is_unfinished(&self) -> bool {
        self.reader.ending() == Some(Ending::Unfinished)
    }

    /// What to say of a file that has none: what it has.
    pub fn none_here(&self) -> String {
        let others: Vec<_> = self.others.iter().map(String::as_str).collect();
        let holds = match others.is_empty() {
            true => "holds nothing".into(),
            false => format!("holds {}", others.join(", ")),
        };
        let wanted = match self.wanted {
            LinkTopic::Messages => {
                "messages (`sinew record --topics messages` keeps them, of a G1)"
            }
            LinkTopic::Raw => "link (`sinew record --topics raw` keeps what passes there)",
        };
        format!("wanted a robot's {wanted}, got a recording that {holds}")
    }
}

impl LinkTopic {
    /// The place of a topic that is wanted, as `/g1/messages`, and which part of it this is.
    fn part(self, topic: &str, kind: Option<Kind>) -> Option<(&str, Part)> {
        let (place, last) = topic.rsplit_once('/')?;
        let part = match (self, last, kind?) {
            (LinkTopic::Messages, "text", Kind::Text) => Part::Text,
            (LinkTopic::Messages, "binary", Kind::Binary) => Part::Binary,
            (LinkTopic::Raw, "tx", Kind::Binary) => Part::Tx,
            (LinkTopic::Raw, "rx", Kind::Binary) => Part::Rx,
            _ => return None,
        };
        Some((place, part))
    }
}

/// The points of a message, if it is a cloud whose places are 32-bit numbers, as ours are.
pub fn points(message: &Message<'_>) -> Option<Vec<[f32; 3]>> {
    if message.channel.kind() != Some(Kind::PointCloud) {
        return None;
    }
    let cloud = PointCloud::decode(message.data).ok()?;
    let place = |name: &str| {
        let field = cloud.fields.iter().find(|field| field.name == name)?;
        let is_float = field.r#type == i32::from(NumericType::Float32);
        is_float.then_some(field.offset as usize)
    };
    let places = [place("x")?, place("y")?, place("z")?];
    let origin = cloud.pose.and_then(|pose| pose.position);
    let origin = origin.map_or([0.0; 3], |origin| [origin.x, origin.y, origin.z]);
    let stride = usize::try_from(cloud.point_stride).ok().filter(|stride| *stride > 0)?;
    let read = |point: &[u8]| {
        let mut out = [0.0; 3];
        for ((out, place), origin) in out.iter_mut().zip(places).zip(origin) {
            let bytes = point.get(place..)?.first_chunk()?;
            *out = (f64::from(f32::from_le_bytes(*bytes)) + origin) as f32;
        }
        Some(out)
    };
    cloud.data.chunks_exact(stride).map(read).collect()
}

/// Joints by name at a time, microseconds since 1970, if a message tells them.
pub fn joints(message: &Message<'_>) -> Option<(u64, Vec<(String, f64)>)> {
    if message.channel.kind() != Some(Kind::JointStates) {
        return None;
    }
    let states = JointStates::decode(message.data).ok()?;
    let joints = states.joints.into_iter();
    let joints = joints.filter_map(|joint| Some((joint.name, joint.position?)));
    Some((message.publish_ns / 1000, joints.collect()))
}
