//! `sinew.toml`, and what the flags of `sinew serve` make of it.

use std::{
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use sinew_io::Address;
use sinew_robot::vacuum::Settings;
use sinew_wire::gd32::Profile;

/// The file that is read when it is there and no other is named.
pub(crate) const DEFAULT_FILE: &str = "sinew.toml";

/// The whole configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) robot: Vec<Robot>,
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
    pub(crate) token_file: Option<PathBuf>,
    /// Lets `tcp` listen further than loopback without a token.
    pub(crate) legacy_open: bool,
    /// Names by which browsers may know this machine, beside addresses and `localhost`.
    pub(crate) hosts: Vec<String>,
    /// Where motions are kept.
    pub(crate) library: PathBuf,
}

/// An address, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Port(pub(crate) Option<SocketAddr>);

/// A robot and how it is to be treated.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Robot {
    #[serde(default = "vacuum_name")]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) kind: Kind,
    pub(crate) link: String,
    #[serde(default = "deadman_ms")]
    pub(crate) deadman_ms: u64,
    #[serde(default = "max_linear")]
    pub(crate) max_linear: f32,
    #[serde(default = "max_angular")]
    pub(crate) max_angular: f32,
    #[serde(default)]
    pub(crate) profile: ProfileName,
    /// Status packets a second that the link is expected to carry.
    #[serde(default = "status_hz")]
    pub(crate) status_hz: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    #[default]
    Crl200s,
    G1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProfileName {
    #[default]
    Document,
    Later,
}

fn vacuum_name() -> String {
    "vacuum".into()
}

fn deadman_ms() -> u64 {
    Settings::default().deadman.as_millis() as u64
}

fn max_linear() -> f32 {
    Settings::default().max_linear
}

fn max_angular() -> f32 {
    Settings::default().max_angular
}

fn status_hz() -> f64 {
    110.0
}

impl Config {
    /// Reads the file named, or the default one if it is there.
    pub(crate) fn load(path: Option<&Path>) -> anyhow::Result<Self> {
        let default = Path::new(DEFAULT_FILE);
        let path = match path {
            Some(path) => path,
            None if default.exists() => default,
            None => return Ok(Config::default()),
        };
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Config::parse(&text).with_context(|| format!("in {}", path.display()))
    }

    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let table: toml::Table = text.parse().context("not TOML")?;
        let wanted = toml::Table::try_from(Config {
            robot: vec![Robot::vacuum(String::new())],
            server: Server { token_file: Some("x".into()), ..Server::default() },
        })?;
        check_keys("", &toml::Value::Table(table), &toml::Value::Table(wanted))?;
        let config: Config = toml::from_str(text)?;
        for robot in &config.robot {
            robot.check()?;
        }
        let mut names: Vec<_> = config.robot.iter().map(|robot| &robot.name).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail!("two robots are named {:?}", pair[0]);
        }
        Ok(config)
    }
}

/// Refuses keys that mean nothing, naming the nearest that does.
fn check_keys(place: &str, given: &toml::Value, wanted: &toml::Value) -> anyhow::Result<()> {
    match (given, wanted) {
        (toml::Value::Table(given), toml::Value::Table(wanted)) => {
            for (key, value) in given {
                let Some(known) = wanted.get(key) else {
                    let nearest = wanted
                        .keys()
                        .max_by(|a, b| {
                            strsim::jaro_winkler(a, key).total_cmp(&strsim::jaro_winkler(b, key))
                        })
                        .map_or("", String::as_str);
                    bail!("unknown key {place}{key}: did you mean {place}{nearest}?");
                };
                check_keys(&format!("{place}{key}."), value, known)?;
            }
        }
        (toml::Value::Array(given), toml::Value::Array(wanted)) => {
            for (value, known) in given.iter().zip(wanted.iter().cycle()) {
                check_keys(place, value, known)?;
            }
        }
        _ => {}
    }
    Ok(())
}

impl Robot {
    /// A vacuum at this address.
    pub(crate) fn vacuum(link: String) -> Self {
        Robot::new(vacuum_name(), Kind::Crl200s, link)
    }

    /// A G1 at this address.
    #[cfg(feature = "g1")]
    pub(crate) fn g1(link: String) -> Self {
        Robot::new("g1".into(), Kind::G1, link)
    }

    fn new(name: String, kind: Kind, link: String) -> Self {
        Robot {
            name,
            kind,
            link,
            deadman_ms: deadman_ms(),
            max_linear: max_linear(),
            max_angular: max_angular(),
            profile: ProfileName::default(),
            status_hz: status_hz(),
        }
    }

    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.address()?;
        if !(50..=2000).contains(&self.deadman_ms) {
            bail!("deadman_ms: wanted 50 to 2000, got {}", self.deadman_ms);
        }
        if !(self.max_linear > 0.0 && self.max_linear <= 1.0) {
            bail!("max_linear: wanted above 0 and at most 1 m/s, got {}", self.max_linear);
        }
        if !(self.max_angular > 0.0 && self.max_angular <= 4.0) {
            bail!("max_angular: wanted above 0 and at most 4 rad/s, got {}", self.max_angular);
        }
        if !(1.0..=1000.0).contains(&self.status_hz) {
            bail!("status_hz: wanted 1 to 1000, got {}", self.status_hz);
        }
        if self.name.is_empty() || self.name.contains('/') {
            bail!("name: wanted a name without a slash, got {:?}", self.name);
        }
        Ok(())
    }

    pub(crate) fn address(&self) -> anyhow::Result<Address> {
        self.link.parse().with_context(|| format!("link of {}", self.name))
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            profile: match self.profile {
                ProfileName::Document => Profile::DOCUMENT,
                ProfileName::Later => Profile::LATER,
            },
            deadman: Duration::from_millis(self.deadman_ms),
            max_linear: self.max_linear,
            max_angular: self.max_angular,
            status_period: Duration::from_secs_f64(1.0 / self.status_hz),
            ..Settings::default()
        }
    }
}

impl Default for Server {
    fn default() -> Self {
        let local = |port| Port(Some(SocketAddr::from(([127, 0, 0, 1], port))));
        Server {
            tcp: local(5555),
            lines: local(5556),
            http: local(8787),
            token_file: None,
            legacy_open: false,
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

impl std::str::FromStr for Port {
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
