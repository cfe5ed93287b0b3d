//! What is asked of a daemon's robots.

use std::{
    collections::hash_map::Entry,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_api::{Access, Command, DaemonMessage, Message, Request};
use sinew_robot::{Code, Refusal, Remedy, drive, mapping::Format, text::is_unshowable};
use tokio::time::{sleep, timeout};
use zenoh::{bytes::Encoding, key_expr::KeyExpr, query::Query};

use super::{LINGER, MOST, NAME, Served, Station, Stopper};
use crate::{
    About, Answered, Denied, Need, Stamp, Way,
    clock::now_us,
    keys,
    local::{self, Answer, Client, Connection, Heard},
    lock,
};

/// Longest message, as on the daemon's own ports.
const MAX_MESSAGE: usize = 1 << 20;
/// Longest name of a client.
const MAX_NAME: usize = 64;
/// How long a wrong token waits for its answer.
const WRONG: Duration = Duration::from_secs(1);
/// How long a reading that is retained may take.
const GREETING: Duration = Duration::from_millis(200);

impl Station {
    /// A query came. All that is done here is short: the network waits for it.
    pub(super) fn asked(self: &Arc<Self>, query: Query) {
        let query = Arc::new(query);
        if let Some((_, robot, what)) = keys::parse(query.key_expr().as_str()) {
            if let Some(index) = self.robots.iter().position(|served| served.name == robot) {
                self.asked_of(&query, index, what, true);
            }
            return;
        }
        for (index, robot) in self.robots.iter().enumerate() {
            for what in ["command", "state"] {
                if self.is_meant(&query, robot, what) {
                    self.asked_of(&query, index, what, false);
                }
            }
        }
    }

    /// A query came while another daemon has this one's name: stops are carried out, and the other one answers.
    pub(super) fn asked_unseen(self: &Arc<Self>, query: &Query) {
        let payload = query.payload().map(|payload| payload.to_bytes()).unwrap_or_default();
        if payload.len() > MAX_MESSAGE {
            return;
        }
        let meant = self.robots.iter().filter(|robot| self.is_meant(query, robot, "command"));
        for robot in meant {
            if let Ok(message) = Request::parse(&payload).asked
                && message.rules().urgent
            {
                let stamp = stamp(query).unwrap_or_default();
                if let Ok(answer) = self.begin(now_us(), &stamp, message, robot, false) {
                    self.runtime.spawn(local::answer(answer));
                }
            }
        }
    }

    /// Whether a query is about this of a robot, and maybe about others, too.
    fn is_meant(&self, query: &Query, robot: &Served, what: &str) -> bool {
        let key = KeyExpr::try_from(keys::of_robot(&self.host, &robot.name, what));
        key.is_ok_and(|key| key.intersects(query.key_expr()))
    }

    /// Something is asked of a robot: of it alone, or of others, too.
    fn asked_of(self: &Arc<Self>, query: &Arc<Query>, index: usize, what: &str, alone: bool) {
        let (station, query) = (Arc::clone(self), Arc::clone(query));
        match what.split_once('/').unwrap_or((what, "")) {
            ("command", "") => self.command(query, index, alone),
            ("state", "") => {
                drop(self.runtime.spawn(async move { station.state(&query, index).await }))
            }
            ("map", "") => {
                if let Some(robot) = self.robots.get(index) {
                    robot.again.notify_one();
                }
            }
            ("sensors", _) => {
                let topic = what.to_owned();
                self.runtime.spawn(async move { station.retained(&query, index, topic).await });
            }
            ("export", format) => {
                let format = format.to_owned();
                self.runtime.spawn(async move { station.export(&query, index, &format).await });
            }
            _ => {}
        }
    }

    fn command(self: &Arc<Self>, query: Arc<Query>, index: usize, alone: bool) {
        let Some(robot) = self.robots.get(index) else { return };
        let key = keys::of_robot(&self.host, &robot.name, "command");
        let came_us = now_us();
        let payload = query.payload().map(|payload| payload.to_bytes()).unwrap_or_default();
        let mut client = None;
        let (req, begun) = if payload.len() > MAX_MESSAGE {
            let message = format!("a message has at most {MAX_MESSAGE} bytes");
            (None, Err(Begun::Refused(Refusal::new(Code::TooLarge, message).into())))
        } else {
            let Request { req, asked } = Request::parse(&payload);
            let begun = asked
                .and_then(|message| {
                    let stamp = stamp(&query);
                    // Nobody is kept from stopping by what stands beside it.
                    let stamp = if message.rules().urgent {
                        stamp.or_else(|_| Ok(Stamp::default()))
                    } else {
                        stamp
                    };
                    Ok((stamp?, message))
                })
                .map_err(|refusal| Begun::Refused(refusal.into()))
                .and_then(|(stamp, message)| {
                    let begun = self.begin(came_us, &stamp, message, robot, alone);
                    client = stamp.client;
                    begun
                });
            (req, begun)
        };
        let station = Arc::clone(self);
        self.runtime.spawn(async move {
            let (result, known) = match begun {
                Ok(answer) => (local::answer(answer).await, true),
                Err(Begun::Refused(denied)) => (Err(denied.refusal), denied.known),
                Err(Begun::Wrong(_place, refusal)) => {
                    sleep(WRONG).await;
                    (Err(refusal), true)
                }
                Err(Begun::Unheard) => return,
            };
            if let Err(refusal) = &result
                && station.refusals.has_room()
            {
                tracing::info!("fleet: {key}: {refusal}");
            }
            let reply = DaemonMessage::reply(req.as_ref(), &result);
            let text = serde_json::to_string(&reply).unwrap_or_default();
            station.reply(&query, key, text, client.as_deref(), known).await;
        });
    }

    /// Puts a command on its way, as far as the rules let it.
    fn begin(
        &self,
        came_us: u64,
        stamp: &Stamp,
        message: Message,
        robot: &Served,
        alone: bool,
    ) -> Result<Answer, Begun> {
        let refused = |refusal: Refusal| Begun::Refused(refusal.into());
        let rules = message.rules();
        let access = self.access(stamp)?;
        if access < rules.access {
            let refusal =
                Refusal::new(Code::Unauthorized, "this client may look and stop, not control");
            return Err(refused(refusal.helped_by(Remedy::ShowToken)));
        }
        if matches!(
            message.command,
            Command::Auth { .. } | Command::Subscribe { .. } | Command::Ack { .. }
        ) {
            let message = "in a fleet topics are subscribed to by Zenoh, and names and tokens stand in the attachment";
            return Err(refused(Refusal::new(Code::Unsupported, message)));
        }
        let need = need(&message, robot);
        if need != Need::Nothing && !alone {
            let message = "several robots are stopped or asked at once, but not moved: name one";
            return Err(refused(Refusal::invalid(message).helped_by(Remedy::NameRobot)));
        }
        let way = lock(&self.remotes).ask(came_us, stamp, need).map_err(Begun::Refused)?;
        let mut value = message.command.to_value();
        value["robot"] = robot.name.as_str().into();
        if message.confirmed {
            value["confirm"] = true.into();
        }
        let name = shown(stamp.name.as_deref());
        match (way, stamp.client.as_deref()) {
            (Way::Own, Some(client)) => self.ask_own(client, &name, access, value, rules.urgent),
            _ if rules.urgent => self.ask_by_name(&name, value),
            _ => {
                let [reading, controlling] = &self.shared;
                let shared = if rules.access > Access::Read { controlling } else { reading };
                shared.ask(value, false).map_err(refused)
            }
        }
    }

    /// Asks by the client's own connection.
    fn ask_own(
        &self,
        client: &str,
        name: &str,
        access: Access,
        value: Value,
        urgent: bool,
    ) -> Result<Answer, Begun> {
        let mut clients = lock(&self.clients);
        let open = || Client::open(&self.locals, name, access, &self.runtime);
        let own = match clients.entry(client.to_owned()) {
            Entry::Vacant(place) => place.insert(open()),
            Entry::Occupied(held) if held.get().has_ended() => {
                // The daemon has closed it: all that it held is gone, and so is the client.
                held.remove();
                lock(&self.remotes).token_gone(client);
                let refusal =
                    Refusal::new(Code::LinkLost, "the daemon has closed this client's connection");
                return Err(Begun::Refused(Denied { refusal, known: false }));
            }
            Entry::Occupied(held) => held.into_mut(),
        };
        own.ask(value, urgent).map_err(|refusal| Begun::Refused(refusal.into()))
    }

    /// Stops by a connection of its name, so that the robot says who stopped it. It stays open for a while: who stops
    /// one robot often stops the others, too.
    fn ask_by_name(&self, name: &str, value: Value) -> Result<Answer, Begun> {
        let mut stoppers = lock(&self.stoppers);
        if stoppers.len() >= MOST {
            stoppers.retain(|stopper| stopper.name == name || stopper.used.elapsed() < LINGER.1);
        }
        let known =
            stoppers.iter().position(|stopper| stopper.name == name && !stopper.client.has_ended());
        let place = known.or_else(|| {
            let client = || Client::open(&self.locals, name, Access::Read, &self.runtime);
            let new = || Stopper { name: name.to_owned(), client: client(), used: Instant::now() };
            (stoppers.len() < MOST).then(|| stoppers.push(new())).map(|()| stoppers.len() - 1)
        });
        let stopper = place.and_then(|place| stoppers.get_mut(place));
        let asked = stopper.and_then(|stopper| {
            stopper.used = Instant::now();
            stopper.client.ask(value.clone(), true).ok()
        });
        // Too many at once: the stop matters, not whose it is.
        let [reading, _] = &self.shared;
        asked.map_or_else(
            || reading.ask(value, true).map_err(|refusal| Begun::Refused(refusal.into())),
            Ok,
        )
    }

    /// What the token that was shown allows.
    fn access(&self, stamp: &Stamp) -> Result<Access, Begun> {
        let Some(tokens) = &self.tokens else { return Ok(Access::Control) };
        let Some(token) = &stamp.token else {
            let refusal = Refusal::new(Code::Unauthorized, "a token is needed");
            return Err(Begun::Refused(refusal.helped_by(Remedy::ShowToken).into()));
        };
        tokens.access(token).ok_or_else(|| {
            let refusal = Refusal::new(Code::Unauthorized, "this token is not known");
            match Arc::clone(&self.wrong).try_acquire_owned() {
                Ok(place) => Begun::Wrong(place, refusal),
                // Too many guesses wait already: this one gets no answer.
                Err(_) => Begun::Unheard,
            }
        })
    }

    async fn state(&self, query: &Query, index: usize) {
        let Some(robot) = self.robots.get(index) else { return };
        // Changes are told at once: what was told last is so now.
        let state = lock(&robot.state).now();
        let key = keys::of_robot(&self.host, &robot.name, "state");
        let about = self.about(robot);
        let reply = query.reply(key, state).encoding(Encoding::APPLICATION_JSON).attachment(about);
        told(reply.await);
    }

    /// What stands beside a robot's state.
    pub(super) fn about(&self, robot: &Served) -> String {
        let instance = lock(&self.remotes).instance().to_owned();
        let frames = robot.frames.iter().map(|topic| (*topic).to_owned()).collect();
        serde_json::to_string(&About { instance, frames }).unwrap_or_default()
    }

    /// Answers with what a new subscriber of a topic is told.
    async fn retained(&self, query: &Query, index: usize, topic: String) {
        let Some(robot) = self.robots.get(index) else { return };
        let subscribe =
            json!({ "type": "Subscribe", "topics": [topic], "robot": robot.name, "max_hz": 0.1 });
        let Ok(mut connection) = Connection::open(&self.locals, NAME, Access::Read).await else {
            return;
        };
        if connection.ask(subscribe).await.is_err() {
            return;
        }
        if let Ok(Some(Heard::Text(text))) = timeout(GREETING, connection.next()).await {
            let key = keys::of_robot(&self.host, &robot.name, &topic);
            told(query.reply(key, text).encoding(Encoding::APPLICATION_JSON).await);
        }
    }

    /// Answers with the map as a file.
    async fn export(&self, query: &Query, index: usize, format: &str) {
        let Some(robot) = self.robots.get(index) else { return };
        let key = keys::of_robot(&self.host, &robot.name, &format!("export/{format}"));
        let made = match Format::named(format) {
            None => Err(Refusal::invalid(format!("there is no format {format:?}"))),
            Some(format) => {
                match stamp(query).map_err(Begun::from).and_then(|stamp| self.access(&stamp)) {
                    Ok(_) => self.locals.map(&robot.name, format).await,
                    Err(_) => Err(Refusal::new(Code::Unauthorized, "a token is needed")),
                }
            }
        };
        match made {
            Ok(file) => told(query.reply(key, file).await),
            Err(refusal) => {
                let error = serde_json::to_string(&refusal).unwrap_or_default();
                told(query.reply_err(error).encoding(Encoding::APPLICATION_JSON).await);
            }
        }
    }

    async fn reply(
        &self,
        query: &Query,
        key: String,
        text: String,
        client: Option<&str>,
        known: bool,
    ) {
        let answered = {
            let remotes = lock(&self.remotes);
            let in_step = client.is_some_and(|client| remotes.is_in_step(client));
            // Whatever it asked: it must not wait for what cannot come.
            let known = known && !client.is_some_and(|client| remotes.has_gone(client));
            Answered { instance: remotes.instance().into(), daemon_us: now_us(), known, in_step }
        };
        let attachment = serde_json::to_string(&answered).unwrap_or_default();
        let reply = query.reply(key, text).encoding(Encoding::APPLICATION_JSON);
        told(reply.express(true).attachment(attachment).await);
    }
}

/// What became of a command that is not on its way by a connection that stays.
enum Begun {
    Refused(Denied),
    /// Its token is wrong, and it waits in one of the places for that.
    Wrong(tokio::sync::OwnedSemaphorePermit, Refusal),
    /// It gets no answer.
    Unheard,
}

impl From<Refusal> for Begun {
    fn from(refusal: Refusal) -> Self {
        Begun::Refused(refusal.into())
    }
}

/// An answer that cannot be given has lost its asker.
fn told(result: zenoh::Result<()>) {
    if let Err(error) = result {
        tracing::debug!("fleet: an answer was not sent: {error}");
    }
}

/// What the rules want to know of a message.
fn need(message: &Message, robot: &Served) -> Need {
    let rules = message.rules();
    let drives = |id: &Value, action: &Value| *id == drive::ID && action["type"] == "Configure";
    match &message.command {
        _ if rules.urgent => Need::Nothing,
        Command::ComponentControl { id, action } if drives(id, action) => {
            Need::Velocity(robot.deadman)
        }
        // Only the robot knows whether it drives.
        Command::Raw { .. } => Need::Velocity(robot.deadman),
        Command::TakeControl { .. } => Need::Client,
        _ if rules.connection.is_some() => Need::Lasting,
        _ if rules.controls => Need::Client,
        _ => Need::Nothing,
    }
}

fn stamp(query: &Query) -> Result<Stamp, Refusal> {
    let Some(attachment) = query.attachment() else { return Ok(Stamp::default()) };
    serde_json::from_slice(&attachment.to_bytes())
        .map_err(|error| Refusal::invalid(format!("attachment: {error}")))
}

/// A client's name without what should not be shown.
fn shown(name: Option<&str>) -> String {
    let clean = name.unwrap_or_default().chars().filter(|c| !is_unshowable(*c)).take(MAX_NAME);
    let clean: String = clean.collect();
    if clean.trim().is_empty() { NAME.into() } else { clean }
}
