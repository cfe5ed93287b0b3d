//! What two captures differ in: flows, commands, rates, sizes, and the values at each byte position.
//!
//! Counts alone are no difference, since one capture may be longer than the other; without times they
//! are. A rate is that of the intervals from one message to the next of its sender, without silences, so that
//! one that stops before the capture does has the same; it has changed when it differs by more than a tenth
//! and by more than two messages would explain. What varies in both is compared by its range and its entropy, since its values differ in any
//! two captures.

mod bytes;
mod group;
mod json;
mod words;

use std::collections::{BTreeMap, HashMap};

use sinew_wire::text::grouped;

use crate::{
    Kind, Profile, Report,
    identify::Protocol,
    net::{Endpoint, Transport},
    profile::{self, Message},
    report::Flow,
};

pub use bytes::{ByteChange, Values};
use group::{Common, Group};

/// How much rates may differ, and by how many messages.
const SAME_RATE: f64 = 0.1;
const FEW: f64 = 2.0;
/// How much averages of sizes may differ where the range is the same.
const SAME_SIZE: f64 = 0.05;

/// Two captures beside each other.
#[derive(Debug)]
#[non_exhaustive]
pub struct Diff {
    /// The two: name and what was found in it.
    pub heads: [(String, Report); 2],
    /// Flows that are compared as one, in the order of the first capture, and then what is new.
    pub flows: Vec<FlowDiff>,
    /// What else a reader should know, a sentence each.
    pub notes: Vec<String>,
}

/// Whether something is in both captures, and the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Only in the second.
    New,
    /// Only in the first.
    Gone,
    /// In both, and not the same.
    Changed,
    /// In both.
    Same,
}

/// Flows of one protocol between ends that both captures have, or that stand for each other.
#[derive(Debug)]
#[non_exhaustive]
pub struct FlowDiff {
    /// What became of it.
    pub change: Change,
    /// What it is.
    pub protocol: Protocol,
    /// What carries it.
    pub transport: Transport,
    /// Its ends, as far as both captures have them; `*` stands for what differs.
    pub ends: [String; 2],
    /// What was counted in each capture.
    pub sides: [Option<FlowSide>; 2],
    /// What is different about all of it, in words.
    pub changes: Vec<String>,
    /// Its commands, or its payloads where it has none, by sender.
    pub messages: Vec<MessageDiff>,
}

/// Flows of one capture.
#[derive(Debug, Default, Clone, PartialEq)]
#[non_exhaustive]
pub struct FlowSide {
    /// How many are taken together.
    pub flows: u64,
    /// Their packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Nanoseconds since the file's first packet, of the first and the last.
    pub span: (i64, i64),
    /// What was said about its commands.
    pub verdict: Option<Kind>,
}

/// Messages of one kind.
#[derive(Debug)]
#[non_exhaustive]
pub struct MessageDiff {
    /// What became of them.
    pub change: Change,
    /// Whether the second end sent them.
    pub is_back: bool,
    /// Their command, where they have one.
    pub id: Option<u8>,
    /// What it is called.
    pub name: &'static str,
    /// What was counted in each capture.
    pub sides: [Option<MessageSide>; 2],
    /// What is different about all of them, in words.
    pub changes: Vec<String>,
    /// Where bytes differ.
    pub bytes: Vec<ByteChange>,
    /// Positions that vary in both captures, of which nothing more can be said.
    pub varying: usize,
}

/// Messages of one kind in one capture.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MessageSide {
    /// How many.
    pub count: u64,
    /// How many a second while they came; none without times.
    pub rate_hz: Option<f64>,
    /// Their sizes: average, least, most.
    pub size: (f64, usize, usize),
}

/// What is counted of a group in one capture.
#[derive(Default)]
struct Counted {
    side: FlowSide,
    /// The ends of one of its flows.
    ends: [String; 2],
    messages: BTreeMap<(bool, Option<u8>), Message>,
}

/// Flows that are compared as one, with what was counted of them in each capture.
#[derive(Default)]
struct Groups {
    places: HashMap<Group, usize>,
    all: Vec<(Group, [Option<Counted>; 2])>,
}

/// Which group a flow's protocol is in, by who sends to whom, and whether its second end sends.
type Places = HashMap<(Endpoint, Endpoint, Transport, Protocol), (usize, bool)>;

impl Diff {
    /// Compares two captures, each with its name.
    pub fn new(a: (String, Report, Profile), b: (String, Report, Profile)) -> Self {
        let common = Common::new(&a.1.flows, &b.1.flows);
        let mut groups = Groups::default();
        let mut notes = Vec::new();
        let mut side = 0;
        let heads = [a, b].map(|(name, report, profile)| {
            if profile.over > 0 {
                let over = grouped(profile.over);
                notes.push(format!("{name}: {over} payloads are of kinds beyond the limit."));
            }
            groups.take(side, &report, profile, &common);
            side += 1;
            (name, report)
        });
        let flows = groups.all.into_iter().map(|(group, sides)| compared(&group, sides)).collect();
        Diff { heads, flows, notes }
    }

    /// Whether nothing is new, gone or changed.
    pub fn is_same(&self) -> bool {
        self.flows.iter().all(|flow| flow.change == Change::Same)
    }
}

impl Groups {
    /// Takes one of the captures in.
    fn take(&mut self, side: usize, report: &Report, profile: Profile, common: &Common) {
        let mut places = Places::new();
        for (index, flow) in report.flows.iter().enumerate() {
            let (group, is_turned) = common.group(flow);
            let place = *self.places.entry(group).or_insert_with_key(|group| {
                self.all.push((group.clone(), [None, None]));
                self.all.len() - 1
            });
            let ([first, second], carrier, protocol) = (flow.both(), flow.carrier, flow.protocol);
            places.insert((first, second, carrier, protocol), (place, is_turned));
            places.insert((second, first, carrier, protocol), (place, !is_turned));
            let Some(counted) = self.side(place, side) else { continue };
            let verdict = report.verdicts.iter().find(|verdict| verdict.flow == index);
            let counted = counted.get_or_insert_default();
            let (a, b) = (flow.a.clone(), flow.b.clone());
            counted.ends = if is_turned { [b, a] } else { [a, b] };
            counted.side.add(flow, verdict.map(|verdict| verdict.kind));
        }
        for (kind, message) in profile.kinds {
            let Some((place, is_back)) = found(&places, &kind) else { continue };
            let Some(Some(counted)) = self.side(place, side) else { continue };
            counted.messages.entry((is_back, kind.command)).or_default().add(message);
        }
    }

    fn side(&mut self, place: usize, side: usize) -> Option<&mut Option<Counted>> {
        self.all.get_mut(place)?.1.get_mut(side)
    }
}

/// The place of a kind of messages. Single packets may have been taken for something that the whole flow
/// showed them not to be.
fn found(places: &Places, kind: &profile::Kind) -> Option<(usize, bool)> {
    let look = |protocol| places.get(&(kind.from, kind.to, kind.transport, protocol));
    let settled = match kind.protocol {
        Protocol::Srtp | Protocol::Srtcp => Protocol::Unknown,
        Protocol::Dtls => Protocol::Teach,
        other => other,
    };
    look(kind.protocol).or_else(|| look(settled)).copied()
}

impl FlowSide {
    fn add(&mut self, flow: &Flow, verdict: Option<Kind>) {
        self.span = match self.flows {
            0 => (flow.first, flow.last),
            _ => (self.span.0.min(flow.first), self.span.1.max(flow.last)),
        };
        self.flows += 1;
        self.packets += flow.packets;
        self.bytes += flow.bytes;
        self.verdict = self.verdict.or(verdict);
    }

    /// Seconds from the first packet to the last.
    pub fn duration(&self) -> f64 {
        self.span.1.saturating_sub(self.span.0) as f64 / 1e9
    }

    /// Packets a second; none without times.
    pub fn rate_hz(&self) -> Option<f64> {
        let duration = self.duration();
        (duration > 0.0).then(|| self.packets as f64 / duration)
    }
}

fn compared(group: &Group, sides: [Option<Counted>; 2]) -> FlowDiff {
    let durations = sides.each_ref().map(|side| side.as_ref().map_or(0.0, |s| s.side.duration()));
    let activities = sides.each_ref().map(|side| {
        let all = side.iter().flat_map(|side| side.messages.values()).map(Message::activity);
        all.fold((0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    });
    let [mut first, mut second] = sides;
    let mut messages = Vec::new();
    let mut keys: Vec<_> = [&first, &second]
        .into_iter()
        .flatten()
        .flat_map(|side| side.messages.keys().copied())
        .collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let take = |side: &mut Option<Counted>| side.as_mut()?.messages.remove(&key);
        let both = [take(&mut first), take(&mut second)];
        messages.push(message(group, key, both, durations));
    }
    let ends = ends(group, [&first, &second]);
    let sides = [first, second].map(|side| side.map(|counted| counted.side));
    let mut changes = Vec::new();
    let change = match &sides {
        [None, _] => Change::New,
        [_, None] => Change::Gone,
        [Some(a), Some(b)] => {
            // Where there are commands, their rates say more.
            if messages.iter().all(|message| message.id.is_none()) {
                let counts = [a.packets, b.packets];
                changes.extend(rate(activities, counts, durations));
            }
            if a.verdict != b.verdict {
                let said = |kind: Option<Kind>| kind.map_or("none", Kind::name);
                changes.push(format!("verdict {} -> {}", said(a.verdict), said(b.verdict)));
            }
            let is_same = messages.iter().all(|message| message.change == Change::Same);
            if is_same && changes.is_empty() { Change::Same } else { Change::Changed }
        }
    };
    let (protocol, transport) = (group.protocol, group.transport);
    FlowDiff { change, protocol, transport, ends, sides, changes, messages }
}

/// What is common to all flows of a group; of one that is alone, its own.
fn ends(group: &Group, sides: [&Option<Counted>; 2]) -> [String; 2] {
    let mut there = sides.into_iter().flatten();
    match (there.next(), there.next()) {
        (Some(only), None) if only.side.flows == 1 => only.ends.clone(),
        (Some(one), Some(other)) if one.ends == other.ends => one.ends.clone(),
        _ => group.ends.map(|end| end.to_string()),
    }
}

fn message(
    group: &Group,
    (is_back, id): (bool, Option<u8>),
    both: [Option<Message>; 2],
    durations: [f64; 2],
) -> MessageDiff {
    let [first, second] = &both;
    let side = |message: &Option<Message>, duration: f64| {
        message.as_ref().map(|message| MessageSide {
            count: message.count,
            rate_hz: match message.activity() {
                (intervals, active) if active > 0.0 => Some(intervals as f64 / active),
                _ => (duration > 0.0).then(|| message.count as f64 / duration),
            },
            size: (message.average(), message.min, message.max),
        })
    };
    let sides = [side(first, durations[0]), side(second, durations[1])];
    let (mut changes, mut bytes, mut varying) = (Vec::new(), Vec::new(), 0);
    let change = match (first, second) {
        (None, _) => Change::New,
        (_, None) => Change::Gone,
        (Some(a), Some(b)) => {
            if id.is_some() {
                let activities = [a.activity(), b.activity()];
                changes.extend(rate(activities, [a.count, b.count], durations));
            }
            changes.extend(size(a, b));
            let from_robot = (group.transport == Transport::Serial).then_some(is_back);
            (bytes, varying) = bytes::compare(a, b, group.protocol, from_robot);
            let is_same = changes.is_empty() && bytes.is_empty();
            if is_same { Change::Same } else { Change::Changed }
        }
    };
    let name = id.map_or("", |id| group.protocol.command(id));
    MessageDiff { change, is_back, id, name, sides, changes, bytes, varying }
}

/// What is different about how often something comes: by the intervals of both, and where one has none by
/// counts and how long the captures are.
fn rate(activities: [(u64, f64); 2], counts: [u64; 2], durations: [f64; 2]) -> Option<String> {
    let has_intervals = activities.iter().all(|(_, active)| *active > 0.0);
    let [a, b] = match has_intervals {
        true => activities,
        false => [(counts[0], durations[0]), (counts[1], durations[1])],
    };
    let [(one, long), (other, lasting)] = [a, b].map(|(count, time)| (count as f64, time));
    if long <= 0.0 || lasting <= 0.0 {
        let is_untimed = long <= 0.0 && lasting <= 0.0;
        return (is_untimed && a.0 != b.0).then(|| format!("count {} -> {}", a.0, b.0));
    }
    let [before, after] = [one / long, other / lasting];
    let differs = (before - after).abs() > SAME_RATE * before.max(after);
    // How many more or fewer there would have been at the other's rate.
    let is_more = (one - after * long).abs() > FEW && (other - before * lasting).abs() > FEW;
    (differs && is_more).then(|| format!("rate {before:.2}/s -> {after:.2}/s"))
}

fn size(a: &Message, b: &Message) -> Option<String> {
    let range = |message: &Message| match message.min == message.max {
        true => message.min.to_string(),
        false => format!("{}-{}", message.min, message.max),
    };
    if (a.min, a.max) != (b.min, b.max) {
        return Some(format!("size {} -> {}", range(a), range(b)));
    }
    let [before, after] = [a.average(), b.average()];
    let differs = (before - after).abs() > SAME_SIZE * before.max(after);
    differs.then(|| format!("average size {before:.1} -> {after:.1}"))
}
