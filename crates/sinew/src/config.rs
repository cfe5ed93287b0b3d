//! `sinew.toml`, and what the flags of `sinew serve` make of it.

use std::{
    collections::BTreeSet,
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use sinew_io::{
    Address,
    kind::{self, Entry, KINDS, Kind},
};
use sinew_robot::capability::Capability;

/// The file that is read when it is there and no other is named.
pub(crate) const DEFAULT_FILE: &str = "sinew.toml";
/// A robot that no client looks after must not drive far.
pub(crate) const MAX_HOLD_MS: u64 = 10_000;

/// The whole configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    pub(crate) server: Server,
    #[cfg(feature = "mqtt")]
    pub(crate) mqtt: sinew_mqtt::Settings,
    #[cfg(feature = "fleet")]
    pub(crate) fleet: sinew_fleet::Settings,
    pub(crate) robot: Vec<Entry>,
}

/// The configuration as it stands in a file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Tables<R = kind::Settings> {
    server: Server,
    #[cfg(feature = "mqtt")]
    mqtt: sinew_mqtt::Settings,
    #[cfg(feature = "fleet")]
    fleet: sinew_fleet::Settings,
    robot: Vec<R>,
}

/// A robot's link as it is given to a flag: `[KIND=]ADDRESS`.
#[derive(Clone)]
pub(crate) struct LinkArg {
    kind: Option<&'static dyn Kind>,
    address: Address,
}

impl FromStr for LinkArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // An address has its colon before any sign of equality.
        let (kind, address) = match text.split_once('=') {
            Some((kind, address)) if !kind.contains(':') => {
                let kind = kind::by_name(KINDS, kind).map_err(|error| error.to_string())?;
                (Some(kind), address)
            }
            _ => (None, text),
        };
        let address: Address =
            address.parse().map_err(|error: sinew_io::AddressError| error.to_string())?;
        Ok(LinkArg { kind, address })
    }
}

impl LinkArg {
    /// The robot at this link, of the kind that was given, or of the first that takes such links
    /// and can do what is needed.
    pub(crate) fn entry(&self, needed: Option<Capability>) -> anyhow::Result<Entry> {
        let kind = match self.kind {
            Some(kind) => kind,
            None => kind::guess(KINDS, &self.address, needed)?,
        };
        Ok(Entry::new(kind, self.address.clone())?)
    }

    /// A robot of this kind.
    pub(crate) fn of_kind(kind: &str, address: &Address) -> anyhow::Result<Entry> {
        Ok(Entry::new(kind::by_name(KINDS, kind)?, address.clone())?)
    }
}

/// Where to listen, and for whom.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Server {
    /// Document 003's interface.
    pub(crate) tcp: Port,
    /// JSON lines.
    pub(crate) lines: Port,
    /// HTTP and WebSocket.
    pub(crate) http: Port,
    /// SangamIO's later interface.
    pub(crate) sangam: Port,
    /// Foxglove's protocol.
    #[cfg(feature = "foxglove")]
    pub(crate) foxglove: Port,
    pub(crate) token_file: Option<PathBuf>,
    /// Lets `tcp` and `sangam` listen further than loopback without a token.
    pub(crate) legacy_open: bool,
    /// How long a velocity is held for clients of document 003's interface.
    pub(crate) legacy_hold_ms: u64,
    /// Components that such clients may do everything with, without `confirm`.
    pub(crate) legacy_confirm: Vec<String>,
    /// Names by which browsers may know this machine, beside addresses and `localhost`.
    pub(crate) hosts: Vec<String>,
    /// Where motions are kept.
    pub(crate) library: PathBuf,
}

/// An address, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Port(pub(crate) Option<SocketAddr>);

impl Config {
    /// The file named, or the default one if it is there.
    pub(crate) fn file(named: Option<&Path>) -> Option<&Path> {
        named.or_else(|| Some(Path::new(DEFAULT_FILE)).filter(|default| default.exists()))
    }

    /// Reads the file named, or the default one if it is there.
    pub(crate) fn load(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = Config::file(path) else { return Ok(Config::default()) };
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Config::parse(&text).with_context(|| format!("in {}", path.display()))
    }

    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let table: toml::Table = text.parse().context("not TOML")?;
        let wanted = toml::Table::try_from(Tables::<kind::Settings> {
            robot: Vec::new(),
            server: Server { token_file: Some("x".into()), ..Server::default() },
            #[cfg(feature = "mqtt")]
            mqtt: sinew_mqtt::Settings::with_all_keys(),
            #[cfg(feature = "fleet")]
            fleet: sinew_fleet::Settings::with_all_keys(),
        })?;
        check_keys("", &toml::Value::Table(table), &toml::Value::Table(wanted))?;
        let tables: Tables = toml::from_str(text)?;
        let Tables { server, robot, .. } = tables;
        kind::within("legacy_hold_ms", 0..=MAX_HOLD_MS, server.legacy_hold_ms)?;
        let read = |robot: &kind::Settings| Entry::read(KINDS, robot);
        let robot: Vec<_> = robot.iter().map(read).collect::<Result<_, _>>()?;
        let mut names: Vec<_> = robot.iter().map(|robot| &robot.name).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail!("two robots are named {:?}", pair[0]);
        }
        Ok(Config {
            server,
            #[cfg(feature = "mqtt")]
            mqtt: tables.mqtt,
            #[cfg(feature = "fleet")]
            fleet: tables.fleet,
            robot,
        })
    }

    /// Refuses names of components that no robot has.
    pub(crate) fn check_components(&self) -> anyhow::Result<()> {
        let known: BTreeSet<_> =
            self.robot.iter().flat_map(|robot| robot.kind.components()).collect();
        for id in &self.server.legacy_confirm {
            if !known.contains(id.as_str()) {
                let known = match known.is_empty() {
                    true => "nothing, for no robot here has components".into(),
                    false => known.into_iter().collect::<Vec<_>>().join(", "),
                };
                bail!("legacy_confirm: wanted {known}, got {id:?}");
            }
        }
        Ok(())
    }

    /// Adds a robot, or gives the one of its name another link.
    pub(crate) fn put(&mut self, given: Entry) -> anyhow::Result<()> {
        match self.robot.iter_mut().find(|robot| robot.name == given.name) {
            Some(robot) => robot.set_link(given.link)?,
            None => self.robot.push(given),
        }
        Ok(())
    }

    /// As it would stand in a file.
    pub(crate) fn to_tables(&self) -> impl Serialize + use<> {
        let robot = self.robot.iter().map(Entry::to_table).collect();
        Tables {
            server: self.server.clone(),
            #[cfg(feature = "mqtt")]
            mqtt: self.mqtt.clone(),
            #[cfg(feature = "fleet")]
            fleet: self.fleet.clone(),
            robot,
        }
    }
}

/// Refuses keys that mean nothing, naming the nearest that does.
fn check_keys(place: &str, given: &toml::Value, wanted: &toml::Value) -> anyhow::Result<()> {
    if let (toml::Value::Table(given), toml::Value::Table(wanted)) = (given, wanted) {
        for (key, value) in given {
            let Some(known) = wanted.get(key) else {
                let known: Vec<_> = wanted.keys().map(String::as_str).collect();
                bail!("{}", kind::unknown_key(place, key, &known));
            };
            check_keys(&format!("{place}{key}."), value, known)?;
        }
    }
    Ok(())
}

impl Server {
    /// Where it listens.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        [self.tcp, self.lines, self.http, self.sangam].into_iter().filter_map(|port| port.0)
    }
}

impl Default for Server {
    fn default() -> Self {
        let local = |port| Port(Some(SocketAddr::from(([127, 0, 0, 1], port))));
        Server {
            tcp: local(5555),
            lines: local(5556),
            http: local(8787),
            sangam: Port(None),
            #[cfg(feature = "foxglove")]
            foxglove: Port(None),
            token_file: None,
            legacy_open: false,
            legacy_hold_ms: 2000,
            legacy_confirm: Vec::new(),
            hosts: Vec::new(),
            library: default_library(),
        }
    }
}

/// Where a user's data belongs; where a service's does when there is no home.
fn default_library() -> PathBuf {
    let given = |name: &str| env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let data = given("XDG_DATA_HOME")
        .or_else(|| given("HOME").map(|home| home.join(".local/share")))
        .unwrap_or_else(|| "/var/lib".into());
    data.join("sinew").join("motions")
}

impl FromStr for Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Port(None)),
            address => address
                .parse()
                .map(|address| Port(Some(address)))
                .map_err(|_| format!("wanted ADDRESS:PORT or off, got {address:?}")),
        }
    }
}

impl TryFrom<String> for Port {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Port> for String {
    fn from(port: Port) -> String {
        port.0.map_or("off".into(), |address| address.to_string())
    }
}
