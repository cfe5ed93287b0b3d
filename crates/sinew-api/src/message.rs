//! What the daemon says: replies, errors, events, and what stands in them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sinew_robot::{Refusal, capability::Capability};

use crate::{Access, Topic};

/// Any message of the daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type")]
pub enum DaemonMessage {
    /// What came of a command that had a `req`.
    Reply(Reply),
    /// What went wrong with a command that had none.
    Error(ErrorMessage),
    /// Something happened.
    Event(Event),
    /// The client reads too slowly.
    Lost(Lost),
    /// Everything listens: a line of `sinew serve --json`, not sent to clients.
    #[serde(rename = "ready")]
    Ready(Ready),
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reply {
    /// The command's `req`. By POST it need not have had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub req: Option<Value>,
    /// Whether it was carried out.
    pub ok: bool,
    /// What it gave, if it was; null where there is nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Why not, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Refusal>,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorMessage {
    /// Why.
    pub error: Refusal,
}

/// Something that happened to a robot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// The topic: `state`, `events` or `sensors/GROUP`.
    pub topic: String,
    /// The robot.
    pub robot: String,
    /// For `state` what `Robots` tells about it, for others what the robot tells.
    pub data: Value,
}

/// Telemetry was left out because the client reads too slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    /// So many messages.
    pub count: u64,
}

/// What `Robots` replies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Robots {
    /// All of them.
    pub robots: Vec<RobotReport>,
    /// What their keeper should know.
    pub warnings: Vec<String>,
}

/// What there is to tell about a robot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RobotReport {
    /// Its name.
    pub name: String,
    /// Its kind, as `crl200s`.
    pub kind: String,
    /// How it can be reached.
    pub link: LinkReport,
    /// How each of its drivers can be reached, by the driver's name, where there are several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, LinkReport>,
    /// What it can do.
    pub capabilities: Vec<Capability>,
    /// Its sensor groups.
    pub sensors: Vec<String>,
    /// How it may be driven, if it can `drive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The client that holds the controls.
    pub holder: Option<String>,
    /// Who stopped it; null once it may move.
    pub stopped_by: Option<String>,
    /// How long ago it was heard.
    pub last_seen_ms: Option<u64>,
    /// Whether its values are as fresh as they should be.
    pub fresh: bool,
    /// What its drivers tell.
    pub state: Map<String, Value>,
}

impl RobotReport {
    /// Makes it so much older than it was told.
    pub fn age(&mut self, by: std::time::Duration) {
        let by_ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        let older = |seen: &mut u64| *seen = seen.saturating_add(by_ms);
        self.last_seen_ms.iter_mut().for_each(older);
        self.links.values_mut().flat_map(|link| &mut link.last_seen_ms).for_each(older);
    }

    /// What has changed since another one was made of the same robot. How long ago it was heard changes all the time,
    /// and is no news.
    pub fn change_since(&self, before: &Self) -> Change {
        // All members: a new one is compared, or left out by a decision.
        let RobotReport {
            name,
            kind,
            link,
            links,
            capabilities,
            sensors,
            limits,
            holder,
            stopped_by,
            last_seen_ms: _,
            fresh,
            state,
        } = self;
        let is_same = *name == before.name
            && *kind == before.kind
            && *capabilities == before.capabilities
            && *sensors == before.sensors
            && *limits == before.limits
            && *holder == before.holder
            && *stopped_by == before.stopped_by
            && *fresh == before.fresh
            && links.keys().eq(before.links.keys());
        if !is_same {
            return Change::News;
        }
        let links = links.values().zip(before.links.values()).chain([(link, &before.link)]);
        links
            .map(|(link, before)| link.change_since(before))
            .chain([Change::of_members(state, &before.state)])
            .max()
            .unwrap_or(Change::None)
    }
}

impl LinkReport {
    fn change_since(&self, before: &Self) -> Change {
        let LinkReport { state, reason, fresh, last_seen_ms: _, details } = self;
        match (state, reason, fresh) == (&before.state, &before.reason, &before.fresh) {
            true => Change::of_members(details, &before.details),
            false => Change::News,
        }
    }
}

/// What has changed of something, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Nothing.
    None,
    /// Only numbers that count what passes, and go on and on.
    Counts,
    /// More than that.
    News,
}

/// Members that count.
const COUNTS: [&str; 3] = ["counters", "last_seen_ms", "turns"];

impl Change {
    fn of_members(members: &Map<String, Value>, before: &Map<String, Value>) -> Self {
        if !members.keys().eq(before.keys()) {
            return Change::News;
        }
        let both = members.iter().zip(before.values());
        let change = |((name, value), before): ((&String, &Value), &Value)| match (value, before) {
            _ if value == before => Change::None,
            _ if COUNTS.contains(&name.as_str()) => Change::Counts,
            (Value::Object(members), Value::Object(before)) => Change::of_members(members, before),
            _ => Change::News,
        };
        both.map(change).max().unwrap_or(Change::None)
    }
}

/// How fast a robot may be driven, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// m/s; also for each wheel.
    pub linear: f64,
    /// rad/s.
    pub angular: f64,
    /// How long a velocity counts without a new one.
    pub deadman_ms: u64,
}

/// How a robot, or one of its drivers, can be reached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkReport {
    /// As `ready`, `booting`, `lost`, `disconnected`.
    pub state: String,
    /// Why it cannot be reached, in the system's or the robot's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Of a driver beside the robot's first: whether its values are as fresh as they should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<bool>,
    /// Of such a driver: how long ago its end of the link was heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen_ms: Option<u64>,
    /// What else there is to tell.
    #[serde(flatten)]
    pub details: Map<String, Value>,
}

/// One of the topics that `Subscribe` replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subscribed {
    /// The robot.
    pub robot: String,
    /// The topic.
    pub topic: String,
}

/// What `Auth` replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Authenticated {
    /// What the client may do.
    pub access: Access,
    /// What it is called.
    pub name: String,
}

/// What `TakeControl` replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Taken {
    /// The robot.
    pub robot: String,
    /// The client that had the controls, if another one did.
    pub from: Option<String>,
}

/// What `Ping` replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pong {
    /// The daemon's version.
    pub build: String,
    /// The time there, in milliseconds since 1970.
    pub time_ms: u64,
    /// The port of HTTP, where it is open.
    #[serde(default)]
    pub http: Option<u16>,
}

/// What `sinew serve --json` says once everything listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ready {
    /// The address of the interface of document 003; null where it is closed, as for the others.
    pub tcp: Option<String>,
    /// The address for JSON lines.
    pub lines: Option<String>,
    /// The address for HTTP.
    pub http: Option<String>,
    /// The address of SangamIO's later interface.
    pub sangam: Option<String>,
    /// The robots.
    pub robots: Vec<ReadyRobot>,
}

/// A robot that is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadyRobot {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
}

impl DaemonMessage {
    /// The answer to a command; none when it was silent success.
    pub fn answer(req: Option<&Value>, result: &Result<Value, Refusal>) -> Option<Self> {
        match (req, result) {
            (Some(_), _) => Some(Self::reply(req, result)),
            (None, Ok(_)) => None,
            (None, Err(refusal)) => Some(Self::error(refusal.clone())),
        }
    }

    /// An answer that is sent whether `req` was given or not.
    pub fn reply(req: Option<&Value>, result: &Result<Value, Refusal>) -> Self {
        let (data, error) = match result {
            Ok(data) => (Some(data.clone()), None),
            Err(refusal) => (None, Some(refusal.clone())),
        };
        DaemonMessage::Reply(Reply { req: req.cloned(), ok: result.is_ok(), data, error })
    }

    /// An error that answers no `req`.
    pub fn error(error: Refusal) -> Self {
        DaemonMessage::Error(ErrorMessage { error })
    }

    /// The message as text.
    pub fn to_text(&self) -> String {
        // Only a map whose keys are not text could fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Event {
    /// What it tells about its robot, if it is one of topic `state`.
    pub fn state(&self) -> Option<RobotReport> {
        let is_state = Topic::parse(&self.topic) == Some(Topic::State);
        is_state.then(|| serde_json::from_value(self.data.clone()).ok()).flatten()
    }
}

impl LinkReport {
    /// What a driver reports: an object with a member `state`. Of anything else nothing is kept.
    pub fn new(link: Value) -> Self {
        serde_json::from_value(link).unwrap_or_default()
    }
}
