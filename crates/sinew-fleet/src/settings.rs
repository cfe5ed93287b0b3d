//! Table `[fleet]` of the configuration, and what is refused in it.

use std::{fmt, net::IpAddr, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::keys;

/// Where the fleet is, and what this daemon is in it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Routers or hubs to connect to, as `tls/hub.local:7447`; the first that is there is used.
    pub connect: Vec<String>,
    /// Where others may connect, as `tcp/127.0.0.1:7447`: this daemon is a router then.
    pub listen: Vec<String>,
    /// Zenoh's own configuration, for certificates, access control and all else.
    pub config: Option<PathBuf>,
    /// What this daemon is called in the fleet; the machine's name if it is not given.
    pub name: Option<String>,
    /// Offers the robots of all others.
    pub hub: bool,
    /// The fleet may go over a network without TLS.
    pub insecure: bool,
    /// A file with the secret that is shown to other daemons.
    pub secret_file: Option<PathBuf>,
    /// That secret, where it was given otherwise.
    #[serde(skip)]
    pub secret: Option<String>,
    /// A robot that is stopped before anything else is asked, as `HOST.ROBOT`, or `*` for all.
    #[serde(skip)]
    pub stop: Option<String>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The secret stays one.
        f.debug_struct("Settings").field("at", &self.shown()).finish_non_exhaustive()
    }
}

/// An end of a connection that Zenoh knows, as `tcp/127.0.0.1:7447`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Its port; 0 for one of the system's choice.
    pub port: u16,
    /// Whether it has TLS.
    pub has_tls: bool,
    /// Whether it is on this machine.
    pub is_loopback: bool,
}

impl Settings {
    /// All that may be set, set.
    pub fn with_all_keys() -> Self {
        let path = Some(PathBuf::new());
        let (config, secret_file, name) = (path.clone(), path, Some(String::new()));
        Settings { config, secret_file, name, ..Settings::default() }
    }

    /// Whether there is a fleet.
    pub fn is_on(&self) -> bool {
        !self.connect.is_empty() || !self.listen.is_empty() || self.config.is_some()
    }

    /// Where it is, for people.
    pub fn shown(&self) -> String {
        let ends = self.connect.iter().chain(&self.listen).cloned();
        let file = self.config.iter().map(|path| path.display().to_string());
        ends.chain(file).collect::<Vec<_>>().join(", ")
    }

    /// What this daemon is called, on a machine of this name.
    pub fn host(&self, machine: &str) -> Result<String, String> {
        match &self.name {
            None => Ok(keys::name_of(machine)),
            Some(name) if keys::is_host(name) => Ok(name.clone()),
            Some(name) => {
                let wanted = "wanted up to 64 letters, digits, - and _";
                Err(format!("fleet name: {wanted}, got {name:?}"))
            }
        }
    }

    /// Checks all ends of connections, in the end those that Zenoh will open; whether one of them is beyond this
    /// machine.
    pub fn goes_beyond<'a>(&self, ends: impl IntoIterator<Item = &'a str>) -> Result<bool, String> {
        let mut beyond = false;
        for text in self.connect.iter().chain(&self.listen) {
            Endpoint::parse_known(text)?;
        }
        for text in ends {
            let endpoint = Endpoint::parse(text)?;
            if !endpoint.is_loopback && !endpoint.has_tls && !self.insecure {
                return Err(format!(
                    "fleet: {text} would go over the network without TLS: use tls/… with the certificates in \
                     Zenoh's configuration (--fleet-config FILE), or say that it may (--fleet-insecure)"
                ));
            }
            beyond |= !endpoint.is_loopback;
        }
        Ok(beyond)
    }
}

impl Endpoint {
    /// Reads one that others have to know.
    pub fn parse_known(text: &str) -> Result<Self, String> {
        let endpoint = Self::parse(text)?;
        match endpoint.port {
            0 => Err(format!("fleet: {text}: others have to know the port, so it is not 0")),
            _ => Ok(endpoint),
        }
    }

    /// Reads `PROTOCOL/HOST:PORT`, with what Zenoh lets follow it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            Err(format!("fleet: wanted tcp/HOST:PORT or tls/HOST:PORT, got {text:?}{why}"))
        };
        let Some((protocol, rest)) = text.split_once('/') else { return wrong("") };
        let has_tls = match protocol {
            "tcp" => false,
            "tls" => true,
            "udp" | "quic" | "ws" | "serial" | "unixsock-stream" => {
                return wrong(": this build has no other transports");
            }
            _ => return wrong(""),
        };
        let address = rest.split(['?', '#']).next().unwrap_or_default();
        let Some((host, port)) = address.rsplit_once(':') else { return wrong(": it has no port") };
        let Ok(port) = port.parse() else { return wrong(": its port is no number up to 65535") };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() {
            return wrong(": it has no host");
        }
        let is_loopback = match host.parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => host == "localhost",
        };
        Ok(Endpoint { port, has_tls, is_loopback })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_connections_are_read() {
        let read = |text| Endpoint::parse(text).map(|end| (end.has_tls, end.is_loopback));
        assert_eq!(read("tcp/127.0.0.1:7447"), Ok((false, true)));
        assert_eq!(read("tcp/[::1]:7447"), Ok((false, true)));
        assert_eq!(read("tls/hub.local:7447#root_ca_certificate=ca.pem"), Ok((true, false)));
        assert_eq!(read("tcp/0.0.0.0:7447"), Ok((false, false)));
        for wrong in
            ["", "hub:7447", "tcp/hub", "tcp/:7447", "tcp/hub:x", "quic/hub:7447", "tcp/hub:70000"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_network_without_tls_has_to_be_meant() {
        let check = |end: &str, insecure| {
            let connect = vec![end.to_owned()];
            Settings { connect, insecure, ..Settings::default() }.goes_beyond([end])
        };
        assert_eq!(check("tcp/localhost:1", false), Ok(false));
        assert_eq!(check("tls/hub:1", false), Ok(true));
        assert!(check("tcp/hub:1", false).is_err());
        assert_eq!(check("tcp/hub:1", true), Ok(true));
        assert!(check("tcp/localhost:0", false).is_err_and(|text| text.contains("port")));
        let by_default = Settings::default().goes_beyond(["tcp/[::]:0"]);
        assert!(
            by_default.is_err_and(|text| text.contains("TLS")),
            "what Zenoh would listen at by itself"
        );
    }

    #[test]
    fn a_daemon_is_called_as_its_machine_or_as_it_is_told() {
        let named =
            |name: Option<&str>| Settings { name: name.map(Into::into), ..Settings::default() };
        assert_eq!(named(None).host("kitchen pi").as_deref(), Ok("kitchenpi"));
        assert_eq!(named(Some("flat-2")).host("x").as_deref(), Ok("flat-2"));
        assert!(named(Some("a/b")).host("x").is_err());
        assert!(named(Some("")).host("x").is_err());
    }
}
