use std::{
    collections::BTreeMap,
    net::SocketAddr,
    time::{Duration, Instant},
};

use sinew_wire::teach::{Command, Layout, Sequence};

use super::{CLIENT_TIMEOUT, Code};

/// Clients that are remembered; one more makes the longest silent one forgotten, so that strangers
/// can never keep a stop out.
pub const MAX_CLIENTS: usize = 64;

/// In which order a client opens.
const OPENING: [Command; 4] =
    [Command::ControlMode, Command::ParameterSync, Command::Subscribe, Command::Ready];

/// The clients that sent something in the last ten seconds, by source address and port.
#[derive(Debug, Clone, Default)]
pub(super) struct Clients(BTreeMap<SocketAddr, Client>);

#[derive(Debug, Clone)]
struct Client {
    latest: Sequence,
    heard: Instant,
    /// How many commands of the opening have come.
    opened: usize,
    subscription: Option<Subscription>,
}

#[derive(Debug, Clone)]
struct Subscription {
    layout: Layout,
    /// Number of the next status; pushes are a series of their own, since answers carry the
    /// request's number + 1.
    sequence: Sequence,
    due: Instant,
}

/// What a datagram's number says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    New,
    Duplicate,
    Old,
}

impl Clients {
    /// Notes a datagram. Only one that is new keeps its client alive: so a client that began anew
    /// on the same port is heard again ten seconds later at the latest.
    pub(super) fn hear(&mut self, from: SocketAddr, sequence: Sequence, now: Instant) -> Order {
        if let Some(client) = self.0.get_mut(&from) {
            return match sequence.since(client.latest) {
                0 => Order::Duplicate,
                steps if steps > 0 => {
                    client.latest = sequence;
                    client.heard = now;
                    Order::New
                }
                _ => Order::Old,
            };
        }
        if self.0.len() >= MAX_CLIENTS
            && let Some(silent) = self.0.iter().min_by_key(|(_, client)| client.heard)
        {
            let silent = *silent.0;
            self.0.remove(&silent);
        }
        let client = Client { latest: sequence, heard: now, opened: 0, subscription: None };
        self.0.insert(from, client);
        Order::New
    }

    /// Notes a command of the opening; once it is complete, repeating it changes nothing.
    pub(super) fn open(&mut self, from: SocketAddr, command: Command) -> Result<(), Code> {
        let (Some(client), Some(place)) =
            (self.0.get_mut(&from), OPENING.iter().position(|step| *step == command))
        else {
            return Ok(());
        };
        if place > client.opened {
            return Err(Code::NotOpened);
        }
        client.opened = client.opened.max(place + 1);
        Ok(())
    }

    pub(super) fn is_open(&self, from: SocketAddr) -> bool {
        self.0.get(&from).is_some_and(|client| client.opened == OPENING.len())
    }

    /// Begins to push status to a client, or goes on in another layout.
    pub(super) fn subscribe(&mut self, from: SocketAddr, layout: Layout, now: Instant) {
        let Some(client) = self.0.get_mut(&from) else { return };
        let new = Subscription { layout, sequence: Sequence(0), due: now };
        client.subscription.get_or_insert(new).layout = layout;
    }

    /// When a status is due next.
    pub(super) fn status_at(&self) -> Option<Instant> {
        self.0.values().filter_map(|client| client.subscription.as_ref()).map(|push| push.due).min()
    }

    /// Whose status is due, with layout and number; their next is due a period later.
    pub(super) fn due(
        &mut self,
        at: Instant,
        period: Duration,
    ) -> Vec<(SocketAddr, Layout, Sequence)> {
        let mut due = Vec::new();
        for (address, client) in &mut self.0 {
            if let Some(push) = client.subscription.as_mut().filter(|push| push.due <= at) {
                due.push((*address, push.layout, push.sequence));
                push.sequence = push.sequence.next();
                push.due = crate::later(push.due, period);
            }
        }
        due
    }

    /// When the longest silent client is forgotten.
    pub(super) fn silent_at(&self) -> Option<Instant> {
        let heard = self.0.values().map(|client| client.heard).min()?;
        Some(crate::later(heard, CLIENT_TIMEOUT))
    }

    pub(super) fn forget_silent(&mut self, now: Instant) {
        self.0.retain(|_, client| crate::later(client.heard, CLIENT_TIMEOUT) > now);
    }

    pub(super) fn knows(&self, address: SocketAddr) -> bool {
        self.0.contains_key(&address)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
