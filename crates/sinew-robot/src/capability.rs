//! What robots are to their clients: drivers, and the capabilities they contribute.
//!
//! A robot is composed of one or more drivers, each a session on a link. What clients may ask is
//! offered as objects, one for each capability; no part of the interface asks for a robot's kind.

use std::{any::Any, borrow::Cow, fmt, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Code, Order, Origin, Refusal, component, drive, map, mapping, teach};

/// A future in a box.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A robot as its clients see it.
pub struct Robot {
    /// Its kind, as `crl200s`.
    pub kind: &'static str,
    /// What it is reached by, each with its name; the first one's link is the robot's.
    pub drivers: Vec<(&'static str, Arc<dyn Driver>)>,
    /// Moves about.
    pub drive: Option<Arc<dyn Drive>>,
    /// Has parts that can be switched.
    pub components: Option<Arc<dyn Components>>,
    /// Tells what it senses; each driver may contribute groups.
    pub sensors: Vec<Arc<dyn Sensors>>,
    /// Can be taught.
    pub teach: Option<Arc<dyn Teach>>,
    /// Makes maps, and finds its way in them.
    pub mapping: Option<Arc<dyn Mapping>>,
    /// Topics of frames that it publishes, as `cloud`.
    pub frames: Vec<(&'static str, Frames)>,
    /// What has to live as long as the robot: the robot itself, where it is simulated.
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

/// What a robot can do; routes, commands and panels follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the interface's own words")]
pub enum Capability {
    Drive,
    Components,
    Sensors,
    Teach,
    Mapping,
}

/// What readers of a topic of frames get.
#[derive(Clone)]
pub enum Frames {
    /// The newest; those before it are no loss.
    Newest,
    /// Every one, as far as there is room for them.
    All,
    /// What has changed since they looked last.
    Blocks(Arc<dyn Blocks>),
}

/// A map that each reader gets at its own pace: all of it at first, then the blocks that changed.
pub trait Blocks: Send + Sync {
    /// The next frame for a reader, and moves its place on; none while there is nothing new. The
    /// first one of an epoch tells of it, even if it has no points. The server writes the frame's
    /// number and the robot's place. Does not wait for long: a client's other messages wait behind
    /// it.
    fn next(&self, place: &mut map::Cursor) -> Option<Vec<u8>>;
}

/// A session that runs on a link.
pub trait Driver: Send + Sync {
    /// Carries out an order before anything that waits. Does not block.
    fn order(&self, order: &Order);

    /// What is known now.
    fn report(&self) -> Report;

    /// Stops what moves, then the session. Returns when both have happened.
    fn shut_down(&self);

    /// Whether its thread holds its time whatever the machine's load; none where that does not
    /// matter.
    fn has_real_time_priority(&self) -> Option<bool> {
        None
    }
}

/// What a driver knows at one moment.
#[derive(Debug, Clone)]
pub struct Report {
    /// How the robot can be reached: an object with a member `state`, and `reason` when it cannot.
    pub link: Value,
    /// Whether its values are as fresh as they should be.
    pub fresh: bool,
    /// Who stopped it; none once it may move.
    pub stopped_by: Option<String>,
    /// How long ago it was heard.
    pub since_seen: Option<Duration>,
    /// Members of the robot's `state`.
    pub state: Map<String, Value>,
    /// What `/metrics` shows of it.
    pub figures: Vec<Figure>,
}

/// A number for `/metrics`.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Its name, without the `sinew_robot_` before it.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Whether it only grows.
    pub counter: bool,
    /// Its value.
    pub value: f64,
}

impl Figure {
    /// A number that only grows.
    pub const fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Figure { name, help, counter: true, value: value as f64 }
    }

    /// A number that goes up and down.
    pub const fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        Figure { name, help, counter: false, value }
    }
}

/// Moving about.
pub trait Drive: Send + Sync {
    /// Checks a command; what it takes to carry it out.
    fn drive(&self, command: drive::Command) -> Result<Task, Refusal>;

    /// How fast it may be driven, and for how long.
    fn limits(&self) -> drive::Limits;
}

/// Parts that can be switched.
pub trait Components: Send + Sync {
    /// Checks a command; what it takes to carry it out.
    fn control(&self, command: component::Request<'_>) -> Result<Task, Refusal>;
}

/// Groups of values that are measured.
pub trait Sensors: Send + Sync {
    /// Their names.
    fn groups(&self) -> &'static [&'static str];

    /// The last reading of a group that is read once and stays true, as a version does.
    fn retained(&self, group: &str) -> Option<Reading>;
}

/// Being taught, and playing what was taught.
pub trait Teach: Send + Sync {
    /// Checks a request; what it takes to carry it out.
    fn teach(&self, request: teach::Request) -> Result<Task, Refusal>;
}

/// Making maps, and finding the way in them.
pub trait Mapping: Send + Sync {
    /// Checks a request; what it takes to carry it out.
    fn map(&self, request: mapping::Request) -> Result<Task, Refusal>;

    /// Where a map is that was downloaded under this name, which
    /// [`map_name`](mapping::map_name) has passed. It need not be there any more.
    fn downloaded(&self, name: &str) -> Option<PathBuf>;

    /// The map that is made here, as a file.
    fn export(&self, format: mapping::Format) -> Boxed<'static, Result<Vec<u8>, Refusal>>;
}

/// A command that was checked, what the rules ask about it, and how it is carried out.
pub struct Task {
    /// What the rules ask.
    pub nature: Nature,
    run: Box<dyn FnOnce(Origin) -> Boxed<'static, Result<Value, Refusal>> + Send>,
}

/// What the rules ask about a command beyond what the table of commands says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Nature {
    /// It must not begin when its client has gone.
    pub needs_client: bool,
    /// It goes on moving without further commands, until its client has gone.
    pub lasts: bool,
    /// It makes the robot move for as long as its client asks for that: not by a request that has
    /// no connection to lose.
    pub needs_connection: bool,
}

impl Task {
    /// A command and how it is carried out. The first poll puts it on its way or refuses it,
    /// without blocking; it gives the reply's data.
    pub fn new<F>(nature: Nature, run: impl FnOnce(Origin) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<Value, Refusal>> + Send + 'static,
    {
        Task { nature, run: Box::new(move |origin| Box::pin(run(origin))) }
    }

    /// Carries it out.
    pub fn run(self, origin: Origin) -> Boxed<'static, Result<Value, Refusal>> {
        (self.run)(origin)
    }
}

/// Where a driver tells what happens. Its methods do not block, but for `wants_sensors` they may
/// take locks: a thread that has to hold its time leaves them to another.
pub trait Audience: Send + Sync {
    /// Whether any client reads sensors, frames or state. While none does, those may be left out.
    fn wants_sensors(&self) -> bool;

    /// Whether any client reads this group of sensors.
    fn wants_readings(&self, _group: &str) -> bool {
        self.wants_sensors()
    }

    /// Sensors were read.
    fn sensors(&self, reading: &Reading);

    /// A frame of a topic of [`Robot::frames`], with the header of the interface (`sinew_api::frame`).
    fn frame(&self, topic: &str, frame: Vec<u8>);

    /// There is something new in a topic that is read by [`Blocks`].
    fn blocks_changed(&self, topic: &str);

    /// Whether any client reads this topic of frames.
    fn wants_frames(&self, topic: &str) -> bool;

    /// Something else happened, for topic `events`.
    fn event(&self, event: Value);

    /// The robot's state may have changed.
    fn changed(&self);

    /// This many events were lost on the way.
    fn missed(&self, count: u64);
}

/// One reading of a sensor group. It is turned into text once for all listeners, and not at all
/// when there is none.
pub struct Reading {
    /// The group's name. Those of our own robots are known beforehand, and cost nothing.
    pub group: Cow<'static, str>,
    /// Its name for clients of document 003's interface.
    pub legacy: Cow<'static, str>,
    /// Gives the `SensorGroup` object.
    pub json: Box<dyn Fn(Detail) -> String + Send>,
}

impl Reading {
    /// A reading of a group that has one name for all clients.
    pub fn new(
        group: impl Into<Cow<'static, str>>,
        json: impl Fn(Detail) -> String + Send + 'static,
    ) -> Self {
        let group = group.into();
        Reading { legacy: group.clone(), group, json: Box::new(json) }
    }
}

/// How much of a sensor group to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The decoded values.
    Values,
    /// Also the bytes they came from, for clients of document 003's interface.
    WithRaw,
    /// As SangamIO's later interface has it.
    Sangam,
}

/// The `SensorGroup` object of the interface of document 003.
pub fn sensor_group(group: &str, timestamp_us: u64, values: &impl Serialize) -> String {
    #[derive(Serialize)]
    #[serde(tag = "type")]
    struct SensorGroup<'a, V> {
        group_id: &'a str,
        timestamp_us: u64,
        values: &'a V,
    }
    let group = SensorGroup { group_id: group, timestamp_us, values };
    // Only a map whose keys are not text could fail.
    serde_json::to_string(&group).unwrap_or_default()
}

impl Robot {
    /// A robot without drivers and capabilities, to be filled.
    pub fn new(kind: &'static str) -> Self {
        Robot {
            kind,
            drivers: Vec::new(),
            drive: None,
            components: None,
            sensors: Vec::new(),
            teach: None,
            mapping: None,
            frames: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Keeps something alive for as long as the robot is there.
    pub fn keep(&mut self, kept: impl Any + Send + Sync) {
        self.kept.push(Box::new(kept));
    }

    /// What it can do.
    pub fn capabilities(&self) -> Vec<Capability> {
        let all = [
            (Capability::Drive, self.drive.is_some()),
            (Capability::Components, self.components.is_some()),
            (Capability::Sensors, !self.sensors.is_empty()),
            (Capability::Teach, self.teach.is_some()),
            (Capability::Mapping, self.mapping.is_some()),
        ];
        all.into_iter().filter(|(_, has)| *has).map(|(capability, _)| capability).collect()
    }

    /// Its sensor groups.
    pub fn groups(&self) -> Vec<&'static str> {
        self.sensors.iter().flat_map(|sensors| sensors.groups()).copied().collect()
    }

    /// The last reading of a group that stays true.
    pub fn retained(&self, group: &str) -> Option<Reading> {
        self.sensors.iter().find_map(|sensors| sensors.retained(group))
    }

    /// Gives an order to all drivers.
    pub fn order(&self, order: &Order) {
        self.drivers.iter().for_each(|(_, driver)| driver.order(order));
    }
}

impl Capability {
    /// What a robot without it cannot do.
    pub const fn verb(self) -> &'static str {
        match self {
            Capability::Drive => "drive",
            Capability::Components => "control components",
            Capability::Sensors => "read sensors",
            Capability::Teach => "be taught",
            Capability::Mapping => "map",
        }
    }

    /// The refusal of a robot that does not have it.
    pub fn missing(self, robot: &str) -> Refusal {
        Refusal::new(Code::Unsupported, format!("{robot} cannot {}", self.verb()))
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("group", &self.group).finish_non_exhaustive()
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("nature", &self.nature).finish_non_exhaustive()
    }
}

impl fmt::Debug for Robot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Robot").field("kind", &self.kind).finish_non_exhaustive()
    }
}
