use std::{fs, io, net::IpAddr, path::PathBuf, str::FromStr};

use serde::{Deserialize, Serialize};

/// Table `[mqtt]` of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The broker, as `mqtt://192.168.1.2` or `mqtts://broker.local:8883`; none is no bridge.
    pub url: Option<Url>,
    /// The name by which the broker knows the daemon.
    pub user: Option<String>,
    /// A file with the password.
    pub password_file: Option<PathBuf>,
    /// A file with the authority's certificate (PEM) that signed the broker's; the system's otherwise.
    pub ca_file: Option<PathBuf>,
    /// What topics of robots begin with.
    pub prefix: String,
    /// What topics of discovery begin with, as Home Assistant is set up.
    pub discovery: String,
    /// What this daemon is called among others of the same broker; the machine's name if it is not given.
    pub node: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            url: None,
            user: None,
            password_file: None,
            ca_file: None,
            prefix: "sinew".into(),
            discovery: "homeassistant".into(),
            node: None,
        }
    }
}

/// A broker's address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Url {
    host: String,
    port: u16,
    tls: bool,
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shown = || text.split('@').next_back().unwrap_or_default();
        let wrong =
            || format!("wanted mqtt://HOST[:PORT] or mqtts://HOST[:PORT], got {:?}", shown());
        let (tls, rest) = match text.split_once("://") {
            Some(("mqtt", rest)) => (false, rest),
            Some(("mqtts", rest)) => (true, rest),
            _ => return Err(wrong()),
        };
        if rest.contains('@') {
            // Addresses are shown in lists of processes and by `sinew config`.
            return Err(
                "the user's name and password do not belong into the address: give user and \
                        password_file"
                    .into(),
            );
        }
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(wrong)?;
                (host, rest.strip_prefix(':').or(Some("").filter(|_| rest.is_empty())))
            }
            None => match rest.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (rest, Some("")),
            },
        };
        let port = match port.ok_or_else(wrong)? {
            "" => {
                if tls {
                    8883
                } else {
                    1883
                }
            }
            port => port.parse().map_err(|_| wrong())?,
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        if host.is_empty() || !host.chars().all(fits) {
            return Err(wrong());
        }
        Ok(Url { host: host.into(), port, tls })
    }
}

impl TryFrom<String> for Url {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Url> for String {
    fn from(Url { host, port, tls }: Url) -> String {
        let scheme = if tls { "mqtts" } else { "mqtt" };
        match host.contains(':') {
            true => format!("{scheme}://[{host}]:{port}"),
            false => format!("{scheme}://{host}:{port}"),
        }
    }
}

/// A broker, and all that it takes to be its client.
#[derive(Debug, Clone)]
pub struct Broker {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: bool,
    /// The authority's certificate, where it is not one of the system's.
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) user: Option<String>,
    pub(crate) password: String,
    pub(crate) names: Names,
}

/// What topics are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// What topics of robots begin with.
    pub prefix: String,
    /// What topics of discovery begin with.
    pub discovery: String,
    /// This daemon among others.
    pub node: String,
}

impl Settings {
    /// All that may be set, set.
    pub fn with_all_keys() -> Self {
        let url = Some(Url { host: "broker".into(), port: 1883, tls: false });
        let (user, node) = (Some(String::new()), Some(String::new()));
        let (password_file, ca_file) = (Some(PathBuf::new()), Some(PathBuf::new()));
        Settings { url, user, password_file, ca_file, node, ..Settings::default() }
    }

    /// Reads the files; none without a broker. `machine` is what the machine is called.
    pub fn open(&self, machine: &str) -> io::Result<Option<Broker>> {
        let Some(Url { host, port, tls }) = self.url.clone() else { return Ok(None) };
        let named = |key: &str, message: String| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("mqtt.{key}: {message}"))
        };
        let read = |key: &str, path: &PathBuf| {
            fs::read(path).map_err(|error| named(key, format!("{}: {error}", path.display())))
        };
        let password = match &self.password_file {
            Some(path) => {
                let bytes = read("password_file", path)?;
                let text = String::from_utf8(bytes)
                    .map_err(|_| named("password_file", "wanted text".into()))?;
                text.trim_end_matches(['\r', '\n']).to_owned()
            }
            None => String::new(),
        };
        if self.password_file.is_some() && self.user.is_none() {
            return Err(named("user", "wanted one beside the password_file".into()));
        }
        let ca = self.ca_file.as_ref().map(|path| read("ca_file", path)).transpose()?;
        if ca.is_some() && !tls {
            return Err(named("ca_file", "is for mqtts:// only".into()));
        }
        let topic = |key: &str, text: &str| {
            let fits = |c: char| !c.is_control() && !"+#".contains(c);
            let good = !text.is_empty() && text.len() <= 200 && text.chars().all(fits);
            let good = good && !text.starts_with(['/', '$']) && !text.ends_with('/');
            let wrong = || named(key, format!("wanted the beginning of topics, got {text:?}"));
            good.then(|| text.to_owned()).ok_or_else(wrong)
        };
        let node = self.node.as_deref().unwrap_or(machine);
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        // Ids of Home Assistant have letters, digits, - and _ only.
        let node: String = node.chars().map(|c| if fits(c) { c } else { '_' }).take(64).collect();
        let node = if node.is_empty() { "sinew".into() } else { node };
        let names = Names {
            prefix: topic("prefix", &self.prefix)?,
            discovery: topic("discovery", &self.discovery)?,
            node,
        };
        Ok(Some(Broker { host, port, tls, ca, user: self.user.clone(), password, names }))
    }
}

impl Broker {
    /// What its owner should know.
    pub fn warning(&self) -> Option<String> {
        let local = self.host == "localhost"
            || self.host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        let host = &self.host;
        (!self.tls && !local).then(|| {
            format!(
                "mqtt: nothing between here and {host} is encrypted, passwords neither; mqtts:// is"
            )
        })
    }
}

impl Names {
    /// A topic of a robot.
    pub fn robot(&self, robot: &str, leaf: &str) -> String {
        format!("{}/{}/{robot}/{leaf}", self.prefix, self.node)
    }

    /// Where it stands whether this daemon is there.
    pub fn status(&self) -> String {
        format!("{}/{}/status", self.prefix, self.node)
    }

    /// Where Home Assistant says whether it is there.
    pub fn home(&self) -> String {
        format!("{}/status", self.discovery)
    }

    /// A robot's id.
    pub fn id(&self, robot: &str) -> String {
        // Dots may stand in names of robots, not in ids.
        format!("sinew_{}_{}", self.node, robot.replace('.', "_"))
    }

    /// Where a robot is made known to Home Assistant.
    pub fn config(&self, robot: &str) -> String {
        format!("{}/device/{}/config", self.discovery, self.id(robot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for (text, written) in [
            ("mqtt://broker", "mqtt://broker:1883"),
            ("mqtts://broker.local/", "mqtts://broker.local:8883"),
            ("mqtt://127.0.0.1:1884", "mqtt://127.0.0.1:1884"),
            ("mqtt://[::1]", "mqtt://[::1]:1883"),
            ("mqtts://[fd00::2]:9", "mqtts://[fd00::2]:9"),
        ] {
            let url: Url = text.parse().expect(text);
            assert_eq!(String::from(url), written);
        }
        for text in [
            "",
            "broker",
            "http://x",
            "mqtt://",
            "mqtt://:1",
            "mqtt://a:b",
            "mqtt://[::1",
            "mqtt://a b",
        ] {
            text.parse::<Url>().expect_err(text);
        }
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_shown() {
        let error = "mqtt://ann:geheim@broker".parse::<Url>().expect_err("has a password");
        assert!(error.contains("password_file") && !error.contains("geheim"), "{error}");
        let error = "mqt://ann:geheim@broker".parse::<Url>().expect_err("is no address");
        assert!(!error.contains("geheim"), "{error}");
    }

    #[test]
    fn what_cannot_be_a_topic_is_refused() {
        let url = || Some("mqtt://broker".parse().expect("is one"));
        let open = |settings: Settings| settings.open("desk").map(|broker| broker.expect("is one"));
        let broker = open(Settings { url: url(), ..Settings::default() }).expect("is complete");
        assert_eq!(broker.names.robot("vacuum", "state"), "sinew/desk/vacuum/state");
        assert_eq!(broker.names.config("a.b"), "homeassistant/device/sinew_desk_a_b/config");
        assert!(broker.warning().is_some());
        for prefix in ["", "a/#", "+", "/a", "a/", "$SYS"] {
            open(Settings { url: url(), prefix: prefix.into(), ..Settings::default() })
                .expect_err(prefix);
        }
        let node = Some("küche 1".into());
        let broker = open(Settings { url: url(), node, ..Settings::default() }).expect("is one");
        assert_eq!(broker.names.node, "k_che_1");
        assert!(Settings::default().open("desk").expect("needs no files").is_none());
    }
}
