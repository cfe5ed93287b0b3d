//! What a session with the fleet takes, read and checked.

use std::{fs, io, path::Path};

use serde_json::{Value, json};
use sinew_server::check_private;
use zenoh::Config;

use crate::Settings;

/// How long Zenoh waits for a peer that is silent: a client that is cut off has gone by then.
const LEASE_MS: u64 = 2000;
/// Longest message that is taken.
const MAX_MESSAGE: u64 = 128 << 20;
/// How long a router may take to let us in, where there are others.
const OPEN_MS: u64 = 1500;
/// How soon a router that is not there is tried again, at first and at most.
const RETRY_MS: (u64, u64) = (500, 2000);
/// Longest file that holds a secret.
const MAX_SECRET: u64 = 4096;

/// A fleet that can be opened.
#[derive(Clone)]
pub struct Plan {
    pub(crate) config: Config,
    pub(crate) host: String,
    pub(crate) hub: bool,
    /// It goes over a network: clients need a token.
    pub(crate) beyond: bool,
    pub(crate) secret: Option<String>,
    /// What is connected to, for people.
    pub(crate) shown: String,
    /// What is stopped before anything else is asked.
    pub(crate) stop: Option<String>,
}

impl Settings {
    /// Reads the files and checks all of it; none where there is no fleet. `machine` is what the machine is called.
    pub fn open(&self, machine: &str) -> io::Result<Option<Plan>> {
        if !self.is_on() {
            let unused = [(self.hub, "hub"), (self.name.is_some(), "name")];
            return match unused.iter().find(|(is, _)| *is) {
                Some((_, key)) => Err(invalid(format!(
                    "fleet {key}: there is no fleet: say where it is (--fleet tcp/127.0.0.1:7447)"
                ))),
                None => Ok(None),
            };
        }
        let host = self.host(machine).map_err(invalid)?;
        let own = self.connect.iter().chain(&self.listen).map(String::as_str);
        self.goes_beyond(own).map_err(invalid)?;
        let mut config = match &self.config {
            Some(path) => Config::from_file(path).map_err(|error| {
                let reason = plain(&error.to_string());
                invalid(format!("fleet config {}: {reason}", path.display()))
            })?,
            None => Config::default(),
        };
        let failed = |error: zenoh::Error| invalid(format!("fleet: {}", plain(&error.to_string())));
        self.apply(&mut config).map_err(failed)?;
        let ends = endpoints(&config);
        let beyond = self.goes_beyond(ends.iter().map(String::as_str)).map_err(invalid)?;
        let read = self.secret_file.as_deref().map(secret).transpose()?;
        let secret = self.secret.clone().or(read);
        let (hub, shown, stop) = (self.hub, self.shown(), self.stop.clone());
        Ok(Some(Plan { config, host, hub, beyond, secret, shown, stop }))
    }

    /// Puts what is ours into Zenoh's configuration. What its own file says stays, but for the lease: the rules count
    /// on that.
    fn apply(&self, config: &mut Config) -> zenoh::Result<()> {
        let mut put = |key: &str, value: Value, over: bool| {
            let is_set = config.get_json(key).is_ok_and(|text| text != "null" && text != "[]");
            if over || !is_set { config.insert_json5(key, &value.to_string()) } else { Ok(()) }
        };
        let mode = if self.listen.is_empty() { "client" } else { "router" };
        put("mode", mode.into(), self.config.is_none())?;
        if !self.connect.is_empty() {
            put("connect/endpoints", json!(self.connect), true)?;
        }
        if !self.listen.is_empty() {
            put("listen/endpoints", json!(self.listen), true)?;
        }
        // Nothing is sent to addresses that were not named.
        put("scouting/multicast/enabled", false.into(), false)?;
        put("scouting/gossip/enabled", false.into(), false)?;
        let (first, longest) = RETRY_MS;
        let retry = json!({
            "period_init_ms": first, "period_max_ms": longest, "period_increase_factor": 2,
        });
        put("connect/retry", retry, false)?;
        // A router that is frozen takes connections and says nothing: the next one must not wait for that for long. Where
        // there is no other, a slow network has Zenoh's own time.
        if self.connect.len() > 1 {
            put("transport/unicast/open_timeout", OPEN_MS.into(), self.config.is_none())?;
        }
        // A map as a file is the longest that is sent.
        put("transport/link/rx/max_message_size", MAX_MESSAGE.into(), self.config.is_none())?;
        put("transport/link/tx/lease", LEASE_MS.into(), true)
    }
}

impl Plan {
    /// What this daemon is called in the fleet.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether the robots of others are offered.
    pub fn is_hub(&self) -> bool {
        self.hub
    }

    /// Whether clients need a token.
    pub fn needs_tokens(&self) -> bool {
        self.beyond
    }
}

/// All ends of connections that Zenoh would open by this configuration, those of its defaults among them.
fn endpoints(config: &Config) -> Vec<String> {
    fn collect(value: Value, into: &mut Vec<String>) {
        match value {
            Value::String(text) => into.push(text),
            Value::Array(values) => values.into_iter().for_each(|value| collect(value, into)),
            Value::Object(members) => {
                members.into_iter().for_each(|(_, value)| collect(value, into))
            }
            _ => {}
        }
    }
    let read = |key: &str| {
        let value = config.get_json(key).ok().and_then(|text| serde_json::from_str(&text).ok());
        value.unwrap_or(Value::Null)
    };
    let mode = read("mode");
    let mut all = Vec::new();
    for key in ["connect/endpoints", "listen/endpoints"] {
        let mut value = read(key);
        // They may depend on the mode.
        if let (Some(members), Some(mode)) = (value.as_object_mut(), mode.as_str()) {
            value = members.remove(mode).unwrap_or_default();
        }
        collect(value, &mut all);
    }
    all
}

fn secret(path: &Path) -> io::Result<String> {
    let named = |error: io::Error| {
        io::Error::new(error.kind(), format!("fleet secret_file {}: {error}", path.display()))
    };
    let metadata = fs::metadata(path).map_err(named)?;
    check_private(&metadata).map_err(named)?;
    let length = metadata.len();
    if length > MAX_SECRET {
        return Err(named(invalid(format!("wanted a secret, got {length} bytes"))));
    }
    let text = fs::read_to_string(path).map_err(named)?;
    let secret = text.trim();
    match secret.is_empty() || secret.contains(char::is_whitespace) {
        true => Err(named(invalid("wanted one secret, without spaces".into()))),
        false => Ok(secret.into()),
    }
}

/// Zenoh's words in one line, without the place in its source.
pub(crate) fn plain(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Its errors end with that place, an absolute path.
    let end = line.find("/.cargo/").or_else(|| line.find(" at /")).unwrap_or(line.len());
    let told = &line[..end];
    let told =
        if end < line.len() { told.rsplit_once(' ').map_or(told, |(told, _)| told) } else { told };
    let told = told.trim_end_matches(" at");
    // Which ends were tried is said beside it.
    match told.starts_with("Unable to connect to any of") {
        true => "nothing that belongs to a fleet answers there".into(),
        false => told.to_owned(),
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_do_not_tell_where_they_were_built() {
        let built = "Unable to connect! at /home/ann/.cargo/registry/src/zenoh/a.rs:450.";
        assert_eq!(plain(built), "Unable to connect!");
        let nothing = "Unable to connect to any of [Single(tcp/127.0.0.1:1)]! at /x/.cargo/a.rs:1.";
        assert_eq!(plain(nothing), "nothing that belongs to a fleet answers there");
        assert_eq!(plain("  --> 2:1\n  |\n = expected a value"), "--> 2:1 | = expected a value");
    }
}
