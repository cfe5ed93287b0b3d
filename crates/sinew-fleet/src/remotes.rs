//! The daemon's side of the rules: which clients of the fleet there are, and what is still carried out for them.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};

use sinew_robot::{Code, Refusal};

use crate::{Offset, Stamp, keys::is_name, stamp::micros};

/// How old a command may be that needs the controls, velocities aside: its client has given it up by then.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a client may be silent that said it would not be.
const SILENCE: Duration = Duration::from_secs(2);
/// Clients at a time, so that a fleet cannot take all of a daemon's places.
const MOST: usize = 256;
/// Tokens that are remembered, there or gone.
const TOKENS: usize = 4096;

/// What a message asks for, as far as the rules go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// To be told something, or to stop: any client's right.
    Nothing,
    /// Something that needs the controls.
    Client,
    /// A velocity, which counts for as long as the dead-man.
    Velocity(Duration),
    /// Something that goes on moving by itself, for as long as its client is within reach.
    Lasting,
}

/// Whose connection a message goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The client's own. The first time it has to be opened.
    Own,
    /// The one for all that need none of their own.
    Shared,
}

/// Why a message is not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// What its client is told.
    pub refusal: Refusal,
    /// False if the client has to come back under another name.
    pub known: bool,
}

/// The clients of the fleet that one daemon has.
#[derive(Debug)]
pub struct Remotes {
    instance: String,
    /// Tokens that are there.
    present: HashSet<String>,
    clients: HashMap<String, Remote>,
    /// Names that have gone, which do not come back: what was sent under them may still be on its way.
    gone: VecDeque<String>,
}

#[derive(Debug, Default)]
struct Remote {
    /// When its first message came, by our clock. What it sent before an answer of then may have been overtaken by
    /// messages, stops among them, that came before its token and are not remembered.
    met_us: u64,
    /// The newest message's number.
    seq: u64,
    offset: Offset,
    /// When it was heard last.
    heard_us: u64,
    /// It said that it would be heard again soon.
    beats: bool,
}

impl Remotes {
    /// Those of a daemon's life.
    pub fn new(instance: impl Into<String>) -> Self {
        let instance = instance.into();
        Remotes {
            instance,
            present: HashSet::new(),
            clients: HashMap::new(),
            gone: VecDeque::new(),
        }
    }

    /// The daemon's life.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// A client's token is there. One that may not be called so stays unknown.
    pub fn token_came(&mut self, client: &str) {
        if is_name(client) && !self.has_gone(client) && self.present.len() < TOKENS {
            self.present.insert(client.into());
        }
    }

    /// A client's token is not there any more: true if it had a connection, which has to end.
    pub fn token_gone(&mut self, client: &str) -> bool {
        if is_name(client) && !self.has_gone(client) {
            self.gone.push_back(client.into());
        }
        if self.gone.len() > TOKENS {
            self.gone.pop_front();
        }
        self.present.remove(client);
        self.clients.remove(client).is_some()
    }

    /// Whether a message that has come is carried out, and through which connection.
    pub fn ask(&mut self, now_us: u64, stamp: &Stamp, need: Need) -> Result<Way, Denied> {
        let Some(client) = stamp.client.as_deref().filter(|client| self.present.contains(*client))
        else {
            return match need {
                Need::Nothing => Ok(Way::Shared),
                _ => Err(self.unknown(stamp.client.as_deref())),
            };
        };
        let is_meant = stamp.to.as_deref() == Some(self.instance.as_str());
        if !is_meant && need != Need::Nothing {
            let message =
                "it was meant for another daemon, or for this one before it was started anew";
            return Err(denied(message, false));
        }
        let is_full = self.clients.len() >= MOST;
        let remote = match self.clients.get_mut(client) {
            Some(remote) => remote,
            // A client that only looks and stops needs no place, and may do so when there is none.
            None if need == Need::Nothing && (!is_meant || is_full) => return Ok(Way::Shared),
            None if is_full => {
                let message =
                    format!("{MOST} clients of the fleet are here, the most there may be");
                return Err(Denied { refusal: Refusal::new(Code::Busy, message), known: true });
            }
            None => {
                let remote = Remote { met_us: now_us, ..Remote::default() };
                self.clients.entry(client.into()).or_insert(remote)
            }
        };
        // What it heard from another daemon says nothing about our clock.
        if let Some(echo_us) = stamp.echo_us.filter(|_| is_meant) {
            remote.offset.learn(now_us, stamp.sent_us, echo_us, stamp.held_us);
        }
        let way_us = remote.offset.age_us(now_us, stamp.sent_us);
        // One that was held up on its way does not say that its client is there now.
        remote.heard_us = remote.heard_us.max(now_us.saturating_sub(way_us.unwrap_or(0)));
        remote.beats |= stamp.beats;
        let is_new = stamp.seq > remote.seq;
        remote.seq = remote.seq.max(stamp.seq);
        if need == Need::Nothing {
            return Ok(Way::Own);
        }
        if !is_new {
            return Err(denied("a newer message of this client came before it", true));
        }
        let has_met = stamp.echo_us.is_some_and(|echo_us| echo_us >= remote.met_us);
        let Some(way_us) = way_us.filter(|_| has_met) else {
            let message =
                "how old it is cannot be told yet: ask Ping, and once more with what it answered";
            return Err(denied(message, true));
        };
        if need == Need::Lasting && !remote.beats {
            let message = "what moves by itself needs a client that is heard at least every second, and says so (beats)";
            return Err(denied(message, true));
        }
        let (limit, what) = match need {
            Need::Velocity(deadman) => (deadman, "a velocity"),
            _ => (PATIENCE, "a command"),
        };
        let age_us = way_us.saturating_add(stamp.since_us);
        if age_us > micros(limit) {
            let (age, limit) = (age_us / 1000, limit.as_millis());
            let message = format!(
                "{what} counts for {limit} ms, and this one is {age} ms old, with the way of an answer"
            );
            return Err(denied(message, true));
        }
        Ok(Way::Own)
    }

    /// Clients that have been silent for longer than they said they would be: they have gone.
    pub fn overdue(&mut self, now_us: u64) -> Vec<String> {
        let is_overdue = |remote: &Remote| {
            remote.beats && now_us.saturating_sub(remote.heard_us) > micros(SILENCE)
        };
        let overdue = self.clients.iter().filter(|(_, remote)| is_overdue(remote));
        let overdue: Vec<String> = overdue.map(|(client, _)| client.clone()).collect();
        for client in &overdue {
            self.token_gone(client);
        }
        overdue
    }

    /// Whether it can be told how old a client's messages are.
    pub fn is_in_step(&self, client: &str) -> bool {
        self.clients.get(client).is_some_and(|remote| remote.offset.is_known())
    }

    /// Whether this name has gone: it does not come back.
    pub fn has_gone(&self, client: &str) -> bool {
        self.gone.iter().any(|gone| gone == client)
    }

    fn unknown(&self, client: Option<&str>) -> Denied {
        match client {
            None => denied("this needs a client with a liveliness token", true),
            Some(client) if self.has_gone(client) => {
                denied("this client had gone: it has to come back under another name", false)
            }
            Some(_) => denied("this client's liveliness token is not here (yet)", true),
        }
    }
}

impl From<Refusal> for Denied {
    fn from(refusal: Refusal) -> Self {
        Denied { refusal, known: true }
    }
}

fn denied(message: impl Into<String>, known: bool) -> Denied {
    Denied { refusal: Refusal::new(Code::NotReady, message), known }
}
