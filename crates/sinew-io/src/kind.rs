//! The kinds of robots there are. A new one is its own modules and a line in [`KINDS`].

mod crl200s;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(feature = "g1")]
mod g1;

use std::{fmt, io, path::PathBuf, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use sinew_robot::{
    Epoch,
    capability::{Audience, Capability, Robot},
};

use crate::{Address, Around};
#[cfg(feature = "g1")]
use crate::{library::Library, maps::Maps};

/// The kinds that this build has. The first that fits is taken where a link could be of several.
pub const KINDS: &[&dyn Kind] = &[
    &crl200s::Crl200s,
    #[cfg(feature = "g1")]
    &g1::G1Kind,
    #[cfg(feature = "fleet")]
    &fleet::Served,
];

/// Settings of one robot, by name.
pub type Settings = Map<String, Value>;

/// A kind of robot.
pub trait Kind: Sync {
    /// Its name, as in `kind = "crl200s"`.
    fn name(&self) -> &'static str;

    /// What a robot is called that was given no name.
    fn default_name(&self) -> &'static str;

    /// What its robots can do.
    fn capabilities(&self) -> &'static [Capability];

    /// The components of its robots, by name.
    fn components(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The links it takes, by what stands before their colon.
    fn schemes(&self) -> &'static [&'static str];

    /// Whether a link that no kind was named for could be of this one.
    fn fits(&self, link: &Address) -> bool {
        self.schemes().contains(&link.scheme())
    }

    /// Whether the status packets a second of a simulated one can be chosen.
    fn has_sim_rate(&self) -> bool {
        false
    }

    /// All its settings: those given, and the defaults of the others.
    fn settings(&self, given: &Settings) -> Result<Settings, Error>;

    /// Starts a robot.
    fn start(
        &self,
        link: &Address,
        settings: &Settings,
        services: Services,
    ) -> Result<Robot, Error>;
}

/// What a robot is given by the program that starts it.
pub struct Services {
    /// What is put around its link.
    pub around: Vec<Around>,
    /// Counts the orders of this robot and others.
    pub epoch: Epoch,
    /// Is told what happens to it.
    pub audience: Arc<dyn Audience>,
    /// Where motions are kept.
    #[cfg(feature = "g1")]
    pub library: Arc<Library>,
    /// Where maps are kept that it gives out.
    #[cfg(feature = "g1")]
    pub maps: Maps,
}

/// A robot that is to be started: what a `[[robot]]` of the configuration says.
#[derive(Clone)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: &'static dyn Kind,
    /// Where it is.
    pub link: Address,
    /// All its settings.
    pub settings: Settings,
}

/// Why a robot cannot be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A setting is unknown, missing or out of range.
    Setting(String),
    /// The kind does not take such links.
    Link(String),
    /// The system did not let it.
    System(io::Error),
}

/// Members of a `[[robot]]` that every kind has.
const COMMON: [&str; 3] = ["name", "kind", "link"];

impl Entry {
    /// A robot with its kind's defaults.
    pub fn new(kind: &'static dyn Kind, link: Address) -> Result<Self, Error> {
        let name = kind.default_name().into();
        Entry { name, kind, link, settings: kind.settings(&Settings::new())? }.checked()
    }

    /// Reads a `[[robot]]`.
    pub fn read(kinds: &[&'static dyn Kind], table: &Settings) -> Result<Self, Error> {
        let text = |member: &str| match table.get(member) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(other) => Err(Error::Setting(format!("{member}: wanted text, got {other}"))),
        };
        let link = text("link")?.ok_or_else(|| Error::Setting("link: wanted one".into()))?;
        let named = |what: &str| what.into();
        let link: Address = link.parse().map_err(|error| {
            let name = text("name").ok().flatten().unwrap_or("the robot");
            Error::Link(format!("link of {name}: {error}"))
        })?;
        let kind = match text("kind")? {
            Some(name) => by_name(kinds, name)?,
            None => guess(kinds, &link, None)?,
        };
        let name = text("name")?.map_or_else(|| kind.default_name().into(), named);
        let given: Settings = table
            .iter()
            .filter(|(key, _)| !COMMON.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        Entry { name, kind, link, settings: kind.settings(&given)? }.checked()
    }

    fn checked(self) -> Result<Self, Error> {
        if self.name.is_empty() || self.name.contains('/') {
            let name = &self.name;
            return Err(Error::Setting(format!(
                "name: wanted a name without a slash, got {name:?}"
            )));
        }
        if !self.kind.schemes().contains(&self.link.scheme()) {
            let wanted: Vec<_> =
                self.kind.schemes().iter().map(|name| format!("{name}:")).collect();
            let (kind, link) = (self.kind.name(), &self.link);
            return Err(Error::Link(format!("{kind}: wanted {}, got {link}", wanted.join(" or "))));
        }
        if let Address::Sim { rate: Some(rate), .. } = self.link
            && !self.kind.has_sim_rate()
        {
            let kind = self.kind.name();
            return Err(Error::Link(format!(
                "{kind}: a simulated one has no rate of status packets: leave rate={rate} out"
            )));
        }
        Ok(self)
    }

    /// Starts it.
    pub fn start(&self, services: Services) -> Result<Robot, Error> {
        self.kind.start(&self.link, &self.settings, services)
    }

    /// Has it reached in another way.
    pub fn set_link(&mut self, link: Address) -> Result<(), Error> {
        *self = Entry { link, ..self.clone() }.checked()?;
        Ok(())
    }

    /// Sets one of its settings.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), Error> {
        let mut given = self.settings.clone();
        given.insert(key.into(), value);
        self.settings = self.kind.settings(&given)?;
        Ok(())
    }

    /// Whether its link keeps no borders between what is sent, and so keeps its order.
    pub fn is_stream(&self) -> bool {
        match self.link {
            Address::Serial { .. } => true,
            Address::Udp { .. } | Address::WebRtc { .. } | Address::Zenoh { .. } => false,
            Address::Sim { .. } | Address::Replay { .. } => self.kind.schemes().contains(&"serial"),
        }
    }

    /// The serial ports it takes, each by its name: the robot's own, and those of settings that are
    /// links, as `vacuum-lidar`.
    pub fn serial_ports(&self) -> Vec<(String, PathBuf)> {
        let further = self.settings.iter().filter_map(|(key, value)| {
            let link = value.as_str()?.parse().ok()?;
            Some((format!("{}-{key}", self.name), link))
        });
        let own = (self.name.clone(), self.link.clone());
        let serial = |(name, link)| match link {
            Address::Serial { path, .. } => Some((name, path)),
            _ => None,
        };
        std::iter::once(own).chain(further).filter_map(serial).collect()
    }

    /// As it stands in the configuration.
    pub fn to_table(&self) -> impl Serialize + use<> {
        #[derive(Serialize)]
        struct Table {
            name: String,
            kind: &'static str,
            link: String,
            #[serde(flatten)]
            settings: Settings,
        }
        let (name, kind) = (self.name.clone(), self.kind.name());
        Table { name, kind, link: self.link.to_string(), settings: self.settings.clone() }
    }
}

/// The kind of this name.
pub fn by_name(kinds: &[&'static dyn Kind], name: &str) -> Result<&'static dyn Kind, Error> {
    kinds.iter().copied().find(|kind| kind.name() == name).ok_or_else(|| {
        let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
        Error::Setting(format!("kind: wanted {}, got {name:?}", names.join(" or ")))
    })
}

/// The first kind that takes this link, and can do what is needed.
pub fn guess(
    kinds: &[&'static dyn Kind],
    link: &Address,
    needed: Option<Capability>,
) -> Result<&'static dyn Kind, Error> {
    let can = |kind: &dyn Kind| needed.is_none_or(|needed| kind.capabilities().contains(&needed));
    let takes = |kind: &&&'static dyn Kind| kind.fits(link);
    let mut fitting = kinds.iter().filter(takes);
    let first = fitting.clone().next();
    let found = fitting.find(|kind| can(**kind)).or(first);
    found.copied().ok_or_else(|| Error::Link(format!("no kind of robot takes {link}")))
}

/// Reads settings, refusing keys that mean nothing and naming the nearest that does.
pub fn read<S: Default + Serialize + DeserializeOwned>(given: &Settings) -> Result<S, Error> {
    let Ok(Value::Object(known)) = serde_json::to_value(S::default()) else {
        return Err(Error::Setting("settings: wanted a table".into()));
    };
    for key in given.keys() {
        if !known.contains_key(key) {
            let names = COMMON.into_iter().chain(known.keys().map(String::as_str));
            let names: Vec<_> = names.collect();
            return Err(Error::Setting(unknown_key("robot.", key, &names)));
        }
        let one = Settings::from_iter([(key.clone(), given[key].clone())]);
        // Each by itself, so that the message can name it.
        serde_json::from_value::<S>(Value::Object(one))
            .map_err(|error| Error::Setting(format!("{key}: {error}")))?;
    }
    serde_json::from_value(Value::Object(given.clone()))
        .map_err(|error| Error::Setting(error.to_string()))
}

/// What is said about a key that means nothing: the nearest that does, or all where none is near.
/// `place` is what they are part of.
pub fn unknown_key(place: &str, key: &str, known: &[&str]) -> String {
    /// A misspelt word is more alike than this, and another word less.
    const NEAR: f64 = 0.6;
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(name, key);
    let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest.filter(|nearest| likeness(nearest) > NEAR) {
        Some(nearest) => format!("unknown key {place}{key}: did you mean {place}{nearest}?"),
        None => format!("unknown key {place}{key}: wanted one of {}", known.join(", ")),
    }
}

/// Settings as a table.
pub fn table(settings: &impl Serialize) -> Settings {
    let mut table = crate::report::members(settings);
    // What is not set does not stand in a file, either.
    table.retain(|_, value| !value.is_null());
    table
}

/// Refuses a number that is out of range.
pub fn within<T: PartialOrd + fmt::Display>(
    key: &str,
    range: std::ops::RangeInclusive<T>,
    value: T,
) -> Result<T, Error> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (low, high) = (range.start(), range.end());
    Err(Error::Setting(format!("{key}: wanted {low} to {high}, got {value}")))
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Setting(message) | Error::Link(message) => f.write_str(message),
            Error::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::System(error)
    }
}
