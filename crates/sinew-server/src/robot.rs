//! What the server asks of a robot, whatever its kind.

#[cfg(feature = "g1")]
mod g1;
#[cfg(feature = "g1")]
mod teacher;
mod vacuum;

use std::{
    pin::Pin,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde::Serialize;
use serde_json::{Map, Value};
use sinew_robot::{Code, Refusal, teach::Verb, vacuum::Command};

#[cfg(feature = "g1")]
pub use self::teacher::Teacher;

/// A future in a box.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A robot that can be served.
pub trait Robot: Send + Sync + 'static {
    /// Its kind, as `crl200s`.
    fn kind(&self) -> &'static str;

    /// What it can do.
    fn capabilities(&self) -> &'static [Capability];

    /// The sensor groups it has.
    fn groups(&self) -> &'static [&'static str];

    /// Carries out a command.
    ///
    /// The first poll puts it on its way or refuses it, without blocking: what is stopped before
    /// that poll is not sent, and what is stopped after it is the robot's to drop. `received` is
    /// when it came: the age of a velocity counts from then.
    fn execute<'a>(
        &'a self,
        command: Command,
        by: &'a str,
        received: Instant,
    ) -> Boxed<'a, Result<(), Refusal>>;

    /// Has it taught, or play what it was taught; gives the answer's data.
    ///
    /// The first poll is as that of [`execute`](Self::execute).
    fn teach<'a>(&'a self, verb: Verb, by: &'a str) -> Boxed<'a, Result<Value, Refusal>> {
        let _ = (verb, by);
        Box::pin(async { Err(Refusal::new(Code::Unsupported, "it cannot teach")) })
    }

    /// Stops it at once, before anything that waits. Does not block.
    fn stop(&self, by: &str);

    /// Stops its wheels at once, and drops only what would move them. Does not block.
    fn disable(&self, by: &str) {
        self.stop(by);
    }

    /// Tells it that the client who held the controls has gone.
    fn release(&self, by: &str);

    /// Tells it that this client took the controls from another: what that one set moving ends.
    fn taken(&self, by: &str);

    /// What is known about it now.
    fn snapshot(&self) -> Snapshot;

    /// The last reading of a group that is read once and stays true, as a version does.
    fn lasting(&self, group: &str) -> Option<Reading>;

    /// Says whether anyone reads its sensors. While nobody does, a robot may leave
    /// [`Happening::Sensors`] out of what happens, and so let the server sleep.
    fn listen(&self, _wanted: bool) {}

    /// Everything that happens from now on.
    fn happenings(&self) -> Box<dyn Happenings>;
}

/// What a robot can do; routes, commands and panels follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the interface's own words")]
pub enum Capability {
    Drive,
    Components,
    Sensors,
    Teach,
    Mapping,
}

/// What is known about a robot at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// How it can be reached: an object with a member `state`.
    pub link: Value,
    /// Whether its values are as fresh as they should be.
    pub fresh: bool,
    /// Who stopped it; none once it may move.
    pub stopped_by: Option<String>,
    /// How long ago it was heard.
    pub since_seen: Option<Duration>,
    /// What its kind has to say.
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

/// The next thing that happens to a robot.
pub trait Happenings: Send {
    /// Waits for it; none when the robot has gone for good.
    fn next(&mut self) -> Boxed<'_, Option<Happening>>;
}

/// Something that happened.
#[derive(Debug)]
pub enum Happening {
    /// Sensors were read.
    Sensors(Reading),
    /// Anything else, for topic `events`.
    Event(Value),
    /// The server was too slow for this many of the others.
    Missed(u64),
}

/// One reading of a sensor group. It is turned into text once for all who listen, and not at all
/// when nobody does.
pub struct Reading {
    /// The group's name.
    pub group: &'static str,
    /// Gives the `SensorGroup` object.
    pub json: Box<dyn Fn(Detail) -> String + Send>,
}

/// How much of a sensor group to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The decoded values.
    Values,
    /// Also the bytes they came from.
    WithRaw,
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

impl Capability {
    /// What a robot without it cannot do.
    pub(crate) const fn verb(self) -> &'static str {
        match self {
            Capability::Drive => "drive",
            Capability::Components => "control components",
            Capability::Sensors => "read sensors",
            Capability::Teach => "teach",
            Capability::Mapping => "map",
        }
    }
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").field("group", &self.group).finish_non_exhaustive()
    }
}

fn timestamp_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_micros() as u64
}
