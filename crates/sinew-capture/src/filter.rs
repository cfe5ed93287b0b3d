//! Which packets are to be looked at.

use std::{cmp::Ordering, collections::BTreeSet, fmt, net::IpAddr, str::FromStr};

use crate::{
    identify::Protocol,
    net::{Endpoint, Segment},
};

/// Conditions, all of which must hold; none of one kind holds for everything, and of several of one kind
/// one is enough.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    flows: Vec<(End, Option<End>)>,
    /// Seconds since the first packet.
    times: Vec<(f64, f64)>,
    protocols: Vec<String>,
    commands: Vec<u8>,
}

/// An end of a flow, as far as it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    ip: Option<IpAddr>,
    port: Option<u16>,
}

/// A condition that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Filter {
    /// Adds a condition: `flow=ADDRESS`, `flow=ADDRESS,ADDRESS`, `time=FROM..TO`, `protocol=NAME`,
    /// `command=NUMBER`. An address is an IP, an IP with its port, or `:PORT`.
    pub fn add(&mut self, condition: &str) -> Result<(), Error> {
        let wrong = |why: String| Error(format!("{condition:?}: {why}"));
        let Some((name, value)) = condition.split_once('=') else {
            return Err(wrong("wanted flow=, time=, protocol= or command=".into()));
        };
        match name {
            "flow" => {
                let mut ends = value.splitn(2, ',').map(End::from_str);
                let first = ends.next().transpose().map_err(&wrong)?;
                let second = ends.next().transpose().map_err(&wrong)?;
                self.flows.extend(first.map(|first| (first, second)));
            }
            "time" => {
                let (from, to) = value
                    .split_once("..")
                    .ok_or_else(|| wrong("wanted seconds such as 1.5..3".into()))?;
                let bound = |text: &str, open: f64| match text.trim_end_matches('s') {
                    "" => Ok(open),
                    text => text.parse().map_err(|_| wrong(format!("{text:?} is no number"))),
                };
                let (from, to) = (bound(from, f64::NEG_INFINITY)?, bound(to, f64::INFINITY)?);
                // NaN is in no order with anything.
                if !matches!(from.partial_cmp(&to), Some(Ordering::Less | Ordering::Equal)) {
                    return Err(wrong("no time is in it: wanted FROM..TO, such as 1.5..3".into()));
                }
                self.times.push((from, to));
            }
            "protocol" | "proto" => {
                for name in value.split(',').map(|name| name.trim().to_ascii_lowercase()) {
                    let names = || Protocol::names().collect::<BTreeSet<_>>();
                    if !names().contains(name.as_str()) {
                        let all = Vec::from_iter(names()).join(", ");
                        return Err(wrong(format!("there is no protocol {name:?}: wanted {all}")));
                    }
                    self.protocols.push(name);
                }
            }
            "command" => {
                for number in value.split(',') {
                    let parsed = match number.strip_prefix("0x").or(number.strip_prefix("0X")) {
                        Some(digits) => u8::from_str_radix(digits, 16),
                        None => number.parse(),
                    };
                    let wanted = |_| wrong(format!("{number:?} is no number from 0 to 255"));
                    self.commands.push(parsed.map_err(wanted)?);
                }
            }
            other => {
                return Err(wrong(format!(
                    "there is no {other:?}: wanted flow, time, protocol or command"
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn takes_time(&self, seconds: impl FnOnce() -> f64) -> bool {
        if self.times.is_empty() {
            return true;
        }
        let seconds = seconds();
        self.times.iter().any(|(from, to)| (*from..=*to).contains(&seconds))
    }

    pub(crate) fn takes_flow(&self, segment: &Segment<'_>) -> bool {
        let matches = |(first, second): &(End, Option<End>)| {
            let pair = |a: &Endpoint, b: &Endpoint| {
                first.is(a) && second.as_ref().is_none_or(|second| second.is(b))
            };
            pair(&segment.from, &segment.to) || pair(&segment.to, &segment.from)
        };
        self.flows.is_empty() || self.flows.iter().any(matches)
    }

    pub(crate) fn takes(&self, protocol: &str, command: Option<u8>) -> bool {
        let is_protocol =
            self.protocols.is_empty() || self.protocols.iter().any(|name| name == protocol);
        is_protocol
            && (self.commands.is_empty()
                || command.is_some_and(|command| self.commands.contains(&command)))
    }

    /// Whether bytes of a serial line can pass: they have no addresses.
    pub(crate) const fn takes_lines(&self) -> bool {
        self.flows.is_empty()
    }
}

impl End {
    fn is(&self, end: &Endpoint) -> bool {
        self.ip.is_none_or(|ip| ip == end.ip())
            && self.port.is_none_or(|port| Some(port) == end.port)
    }
}

impl FromStr for End {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is neither an IP, nor one with a port, nor :PORT");
        if let Some(port) = text.strip_prefix(':').filter(|port| !port.starts_with(':')) {
            return Ok(End { ip: None, port: Some(port.parse().map_err(|_| wrong())?) });
        }
        if let Ok(ip) = text.parse() {
            return Ok(End { ip: Some(ip), port: None });
        }
        let address: std::net::SocketAddr = text.parse().map_err(|_| wrong())?;
        Ok(End { ip: Some(address.ip()), port: Some(address.port()) })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
