//! Which flows of one capture are those of another: a session's own ports differ from those of the
//! next, and so may addresses.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    net::IpAddr,
};

use crate::{
    identify::Protocol,
    net::{Endpoint, Transport},
    report::Flow,
};

/// Flows of a port from which on their other ports are of single sessions.
const SERVED: u32 = 3;

/// What flows have in common that are compared as one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Group {
    pub(super) protocol: Protocol,
    pub(super) transport: Transport,
    /// The end that asks, as a rule, and the one that is asked; as far as both captures have them.
    pub(super) ends: [End; 2],
}

/// An end of flows, as far as it is the same in both captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct End {
    ip: Option<IpAddr>,
    port: Option<u16>,
}

/// What occurs in both captures.
#[derive(Debug, Default)]
pub(super) struct Common {
    ips: HashSet<IpAddr>,
    /// In how many flows, of the capture that has more of them.
    ports: HashMap<(Protocol, Transport, u16), u32>,
}

impl Common {
    pub(super) fn new(a: &[Flow], b: &[Flow]) -> Self {
        let [first, second] = [a, b].map(|flows| {
            let ips: HashSet<IpAddr> = flows.iter().flat_map(Flow::both).map(|e| e.ip()).collect();
            let mut ports: HashMap<_, u32> = HashMap::new();
            for flow in flows {
                let numbers: HashSet<u16> = flow.both().iter().filter_map(|end| end.port).collect();
                for port in numbers {
                    *ports.entry((flow.protocol, flow.carrier, port)).or_default() += 1;
                }
            }
            (ips, ports)
        });
        let ips = first.0.intersection(&second.0).copied().collect();
        let both = |(key, count): (_, u32)| Some((key, count.max(*second.1.get(&key)?)));
        Common { ips, ports: first.1.into_iter().filter_map(both).collect() }
    }

    /// The group of a flow, and whether its first end is the one that is asked.
    pub(super) fn group(&self, flow: &Flow) -> (Group, bool) {
        let (protocol, transport) = (flow.protocol, flow.carrier);
        let both = flow.both();
        let used = |end: &Endpoint| {
            end.port.and_then(|port| self.ports.get(&(protocol, transport, port))).copied()
        };
        let [first, second] = both.map(|end| used(&end));
        let is_turned = match (first, second) {
            _ if transport == Transport::Serial => false,
            (Some(one), Some(other)) if one != other => one > other,
            // Of two that are alike the lower is the service's, more often than not.
            (Some(_), Some(_)) => both[0].port < both[1].port,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let [near, far] = if is_turned { [both[1], both[0]] } else { both };
        let is_served = used(&far).is_some_and(|flows| flows >= SERVED);
        let keeps = |end: &Endpoint, is_near: bool| {
            let count = used(end);
            let is_own = is_near && is_served && count.is_some_and(|count| count < SERVED);
            count.is_some() && !is_own
        };
        let end = |end: &Endpoint, is_near: bool| End {
            ip: Some(end.ip()).filter(|ip| self.ips.contains(ip)),
            port: end.port.filter(|_| keeps(end, is_near)),
        };
        (Group { protocol, transport, ends: [end(&near, true), end(&far, false)] }, is_turned)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ip, self.port) {
            (Some(ip), Some(port)) => write!(f, "{}", Endpoint::new(ip, Some(port))),
            (Some(ip), None) => write!(f, "{ip}"),
            (None, Some(port)) => write!(f, "*:{port}"),
            (None, None) => f.write_str("*"),
        }
    }
}
