//! What a capture amounts to.

use serde_json::{Map, Value, json};

use crate::{
    identify::Protocol,
    net::{Endpoint, Transport},
    read::{End, Format},
    stream::Facts,
    verdict::Verdict,
};

/// The findings about one file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// How the file is written.
    pub format: Format,
    /// Packets, or rows of a log, that the filter let pass.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Nanoseconds from the first of them to the last.
    pub duration: i64,
    /// How the file ended.
    pub end: End,
    /// An entry for each protocol of each flow, in the order in which the flows began.
    pub flows: Vec<Flow>,
    /// What is counted of commands.
    pub commands: Vec<Command>,
    /// What is to be said about commands that are none, and about those that are.
    pub verdicts: Vec<Verdict>,
    /// What else a reader should know, a sentence each.
    pub notes: Vec<String>,
}

/// One protocol of one flow.
#[derive(Debug)]
#[non_exhaustive]
pub struct Flow {
    /// The end that sent first: an IP with a port, or `host` and `device` of a serial line.
    pub a: String,
    /// The other end.
    pub b: String,
    /// What carries it.
    pub transport: String,
    pub(crate) ends: [Endpoint; 2],
    pub(crate) carrier: Transport,
    /// What it is.
    pub protocol: Protocol,
    /// How that is known.
    pub why: String,
    /// Its packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Nanoseconds from the file's first packet to the first of these.
    pub first: i64,
    /// The same of the last.
    pub last: i64,
    /// Sizes of payloads: smallest and largest of a group, and how many are in it.
    pub sizes: Vec<(usize, usize, u32)>,
    /// Numbers of messages, where they have numbers.
    pub sequence: Option<Sequence>,
    /// Commands that come at one common interval.
    pub cycle: Option<Cycle>,
    /// Of a stream of frames or messages, what became of its segments.
    pub stream: Option<Facts>,
    /// How many messages there were, where a stream consists of some.
    pub messages: Option<u64>,
    /// Their topics, and how often each came.
    pub topics: Vec<(String, u64)>,
}

/// What became of numbers that should count up: of both senders of DTLS records together, of teaching
/// datagrams of the sender that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    /// Numbers that did not come.
    pub missing: u64,
    /// Numbers that came again.
    pub repeats: u64,
    /// Numbers that came after a higher one.
    pub late: u64,
}

/// A period that several commands share.
#[derive(Debug, Clone, PartialEq)]
pub struct Cycle {
    /// Seconds.
    pub period: f64,
    /// The commands.
    pub commands: Vec<u8>,
}

/// A row of the table of commands.
#[derive(Debug)]
#[non_exhaustive]
pub struct Command {
    /// Which of the flows it belongs to.
    pub flow: usize,
    /// Its byte.
    pub id: u8,
    /// What it is called.
    pub name: &'static str,
    /// How often it came.
    pub count: u64,
    /// Average size in bytes.
    pub average_size: f64,
    /// Smallest size.
    pub min_size: u32,
    /// Largest size.
    pub max_size: u32,
    /// How far sizes are from the average as a rule (standard deviation).
    pub deviation: f64,
    /// Times a second, over the flow's duration.
    pub rate_hz: f64,
    /// Its part of the flow's commands.
    pub share: f64,
    /// Seconds from one to the next of the same sender: average, and how far from it as a rule.
    pub interval: Option<(f64, f64)>,
    /// Answers, where they can be told from requests.
    pub answers: Option<Answers>,
}

/// Requests and their answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answers {
    /// Requests that were answered.
    pub answered: u64,
    /// Requests that were not, or not before the next.
    pub unanswered: u64,
    /// Seconds until the answer: least, average, most.
    pub latency: (f64, f64, f64),
}

impl Report {
    /// The report for programs.
    pub fn to_json(&self, file: &str) -> Map<String, Value> {
        let mut json = self.head(file);
        let lists = [
            ("flows", self.flows.iter().map(Flow::to_json).collect()),
            ("commands", self.commands.iter().map(Command::to_json).collect()),
            ("verdicts", self.verdicts.iter().map(Verdict::to_json).collect()),
        ];
        json.extend(lists.map(|(name, list)| (name.into(), Value::Array(list))));
        json
    }

    /// The same as text, in parts, since all of it at once may be larger than what was counted.
    pub fn json_parts(&self, file: &str) -> impl Iterator<Item = String> {
        let head = Value::Object(self.head(file)).to_string();
        let head = head.strip_suffix('}').unwrap_or(&head).to_owned();
        std::iter::once(head)
            .chain(list("flows", self.flows.iter().map(Flow::to_json)))
            .chain(list("commands", self.commands.iter().map(Command::to_json)))
            .chain(list("verdicts", self.verdicts.iter().map(Verdict::to_json)))
            .chain(std::iter::once("}".into()))
    }

    pub(crate) fn head(&self, file: &str) -> Map<String, Value> {
        let members = [
            ("file", json!(file)),
            ("format", json!(self.format.to_string())),
            ("packets", json!(self.packets)),
            ("bytes", json!(self.bytes)),
            ("duration_s", json!(seconds(self.duration))),
            ("truncated", json!(self.is_truncated())),
            ("notes", json!(self.notes)),
        ];
        members.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }

    /// Whether there was more that could not be read.
    pub fn is_truncated(&self) -> bool {
        self.end != End::Whole
    }
}

impl Flow {
    /// Its ends, the one that sent first before the other.
    pub(crate) const fn both(&self) -> [Endpoint; 2] {
        self.ends
    }

    fn to_json(&self) -> Value {
        let sizes = self.sizes.iter().map(|(from, to, count)| {
            // The last group has no end.
            let to = Some(to).filter(|to| **to != usize::MAX);
            json!({ "from": from, "to": to, "count": count })
        });
        let sequence = self.sequence.map(|Sequence { missing, repeats, late }| {
            json!({ "missing": missing, "repeats": repeats, "out_of_order": late })
        });
        let cycle = self.cycle.as_ref().map(|Cycle { period, commands }| {
            json!({ "period_s": rounded(*period, 1e6), "commands": commands })
        });
        let stream = self.stream.map(|Facts { gaps, missing, repeats, late }| {
            let order = late;
            json!({ "gaps": gaps, "missing_bytes": missing, "repeats": repeats, "out_of_order": order })
        });
        let topics =
            self.topics.iter().map(|(topic, count)| json!({ "topic": topic, "count": count }));
        json!({
            "a": self.a,
            "b": self.b,
            "transport": self.transport,
            "protocol": self.protocol.name(),
            "why": self.why,
            "packets": self.packets,
            "bytes": self.bytes,
            "first_s": seconds(self.first),
            "last_s": seconds(self.last),
            "sizes": sizes.collect::<Vec<_>>(),
            "sequence": sequence,
            "cycle": cycle,
            "stream": stream,
            "messages": self.messages,
            "topics": topics.collect::<Vec<_>>(),
        })
    }
}

impl Command {
    fn to_json(&self) -> Value {
        let interval = self.interval.map(|(average, deviation)| {
            json!({ "average_s": rounded(average, 1e6), "deviation_s": rounded(deviation, 1e6) })
        });
        let answers = self.answers.map(|Answers { answered, unanswered, latency }| {
            let (min, average, max) = latency;
            let [min, average, max] = [min, average, max].map(|time| rounded(time, 1e6));
            json!({
                "answered": answered,
                "unanswered": unanswered,
                "latency_s": { "min": min, "average": average, "max": max },
            })
        });
        json!({
            "flow": self.flow,
            "id": self.id,
            "name": self.name,
            "count": self.count,
            "average_size": rounded(self.average_size, 1e3),
            "min_size": self.min_size,
            "max_size": self.max_size,
            "rate_hz": rounded(self.rate_hz, 1e6),
            "share": rounded(self.share, 1e9),
            "spread": self.max_size - self.min_size,
            "size_deviation": rounded(self.deviation, 1e3),
            "interval": interval,
            "answers": answers,
        })
    }
}

/// A further member of an object whose value is a list, in parts.
pub(crate) fn list<'r>(
    name: &str,
    values: impl Iterator<Item = Value> + 'r,
) -> impl Iterator<Item = String> + 'r {
    let begin = std::iter::once(format!(",\"{name}\":["));
    let values = values.enumerate().map(|(index, value)| match index {
        0 => value.to_string(),
        _ => format!(",{value}"),
    });
    begin.chain(values).chain(std::iter::once("]".into()))
}

/// Seconds to the microsecond.
fn seconds(nanoseconds: i64) -> f64 {
    rounded(nanoseconds as f64 / 1e9, 1e6)
}

pub(crate) fn rounded(value: f64, to: f64) -> f64 {
    (value * to).round() / to
}
