//! A daemon of the fleet, and our clients of it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_api::{DaemonMessage, Rules};
use sinew_robot::{Code, Origin, Refusal, Remedy, capability::Boxed, text::is_unshowable};
use tokio::{
    runtime::Handle,
    sync::oneshot,
    time::{sleep, timeout},
};
use zenoh::{Session, bytes::Encoding, qos::Priority};

use super::{
    client::{Ask, Client},
    pulse::Pulse,
};
use crate::{Answered, Stamp, clock::now_us, keys, local, lock};

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same for a stop.
pub(super) const STOP: Duration = Duration::from_secs(2);
/// How long a client stays there that is done.
const LINGER: Duration = Duration::from_secs(1);
/// Longest part of a client's name: with the hub's behind it there are 64 characters.
const MAX_NAME: usize = 40;

pub(crate) struct Host {
    pub(super) name: String,
    pub(super) session: Session,
    pub(super) runtime: Handle,
    pulse: Arc<Pulse>,
    secret: Option<String>,
    /// What this hub is called.
    own: String,
    /// Those of our clients that have asked for something that needs the controls, by their numbers.
    clients: Mutex<HashMap<u64, Client>>,
    /// One whose client is done, for the next: what it asked for may still wait there.
    spare: Mutex<Option<Spare>>,
    /// The instance that was asked whether it takes our secret.
    checked: Mutex<String>,
}

struct Spare {
    client: Client,
    since: Instant,
}

/// What came back.
pub(super) type Outcome = Result<Value, Refusal>;

impl Host {
    pub(super) fn new(
        name: &str,
        session: Session,
        runtime: Handle,
        pulse: Arc<Pulse>,
        secret: Option<String>,
        own: &str,
    ) -> Self {
        let (name, own) = (name.to_owned(), own.to_owned());
        let (clients, spare, checked) = Default::default();
        Host { name, session, runtime, pulse, secret, own, clients, spare, checked }
    }

    /// Says if the daemon would refuse all that our clients ask: a stop should not be the first to learn it. Once for each start
    /// of it.
    pub(super) fn check_secret(self: &Arc<Self>, robot: &str, instance: &str) {
        let before = std::mem::replace(&mut *lock(&self.checked), instance.into());
        if before == instance {
            return;
        }
        let (key, stamp) = (keys::of_robot(&self.name, robot, "command"), self.stamp("hub"));
        let asked = self.spawn(key, json!({ "type": "Ping" }), stamp, STOP);
        let name = self.name.clone();
        self.runtime.spawn(async move {
            if let Err(refusal) = asked.await
                && refusal.code == Code::Unauthorized
            {
                // For command lines it is no news: they hear it as the answer.
                tracing::info!(
                    "fleet: {name} will refuse whatever is asked here, stops too: {refusal}"
                );
            }
        });
    }

    /// Asks on behalf of a client, which becomes one of that daemon if it needs the controls there.
    pub(super) fn ask(
        self: &Arc<Self>,
        robot: &str,
        mut message: Value,
        rules: Rules,
        origin: &Origin,
        is_valid: impl Fn() -> Result<(), Refusal> + Send + 'static,
        deadman: Option<Duration>,
    ) -> Boxed<'static, Outcome> {
        let key = keys::of_robot(&self.name, robot, "command");
        if !rules.controls && !is_take(&message) {
            let stamp = self.stamp(&origin.by);
            return self.spawn(key, message, stamp, PATIENCE);
        }
        if let Err(refusal) = self.check_awake() {
            return Box::pin(async { Err(refusal) });
        }
        if is_take(&message) {
            // A client may have a new name by now.
            message["name"] = shown(&origin.by, &self.own).into();
        }
        let (reply, answer) = oneshot::channel();
        let wished = origin.received;
        let ask = Ask { key, message, wished, deadman, is_valid: Box::new(is_valid), reply };
        let mut clients = lock(&self.clients);
        // One that goes says so before it is told to leave: it must not come back behind that.
        if origin.presence.has_ended() {
            return Box::pin(async { Err(gone()) });
        }
        let before = clients.get(&origin.client);
        if before.is_some_and(Client::is_over) && ask.deadman.is_some() {
            // There may be another daemon of this name by now, or another client may have enabled the robot.
            let message =
                format!("{} knows this client no more: enable the robot first", self.name);
            let refusal = Refusal::new(Code::NotReady, message).helped_by(Remedy::Enable);
            return Box::pin(async { Err(refusal) });
        }
        if before.is_none_or(Client::is_over) {
            let spare = lock(&self.spare).take().map(|spare| spare.client);
            let open = || Client::open(Arc::clone(self), &shown(&origin.by, &self.own));
            let client = spare.filter(|client| !client.is_over()).unwrap_or_else(open);
            clients.insert(origin.client, client);
        }
        let sent =
            clients.get(&origin.client).map_or_else(|| Err(gone()), |client| client.ask(ask));
        drop(clients);
        Box::pin(async move {
            sent?;
            answer.await.unwrap_or_else(|_| Err(gone()))
        })
    }

    /// Stops a robot, in the name of the client that wants it.
    pub(super) fn halt(
        self: &Arc<Self>,
        robot: &str,
        message: Value,
        by: &str,
        client: u64,
    ) -> Boxed<'static, Outcome> {
        let own = lock(&self.clients).get(&client).and_then(Client::stamp);
        let stamp = own.unwrap_or_else(|| self.stamp(by));
        self.spawn(keys::of_robot(&self.name, robot, "command"), message, stamp, STOP)
    }

    /// A client has gone.
    pub(super) fn left(&self, client: u64) {
        // Its token goes with it.
        drop(lock(&self.clients).remove(&client));
    }

    /// A client without a connection has its answer. It stays there for a while, since a daemon drops what still waits
    /// for a motor's mode when its client leaves, and so that the next one need not wait for its controls.
    pub(super) fn done(self: &Arc<Self>, client: u64) {
        let Some(client) = lock(&self.clients).remove(&client) else { return };
        let before = lock(&self.spare).replace(Spare { client, since: Instant::now() });
        drop(before);
        let host = Arc::clone(self);
        self.runtime.spawn(async move {
            sleep(LINGER).await;
            let expired = |spare: &mut Spare| spare.since.elapsed() >= LINGER;
            drop(lock(&host.spare).take_if(expired));
        });
    }

    /// All of them have.
    pub(super) fn all_left(&self) {
        lock(&self.clients).clear();
        drop(lock(&self.spare).take());
    }

    /// Whether what our clients ask for was asked for just now.
    pub(super) fn check_awake(&self) -> Result<(), Refusal> {
        self.pulse.check(now_us())
    }

    /// What is said beside what any client may ask.
    pub(super) fn stamp(&self, by: &str) -> Stamp {
        stamp(by, &self.own, self.secret.clone())
    }

    pub(super) fn secret(&self) -> Option<String> {
        self.secret.clone()
    }

    /// Asks by a task of its own, which is begun before the answer is waited for.
    fn spawn(
        self: &Arc<Self>,
        key: String,
        message: Value,
        stamp: Stamp,
        patience: Duration,
    ) -> Boxed<'static, Outcome> {
        let host = Arc::clone(self);
        let asking = self.runtime.spawn(async move {
            host.query(&key, &message, &stamp, patience).await.map(|(outcome, _)| outcome)?
        });
        Box::pin(async move { asking.await.unwrap_or_else(|_| Err(gone())) })
    }

    /// Sends a query and waits for its answer.
    pub(super) async fn query(
        &self,
        key: &str,
        message: &Value,
        stamp: &Stamp,
        patience: Duration,
    ) -> Result<(Outcome, Option<Answered>), Refusal> {
        let replies = self.send(key, message, stamp, patience).await?;
        self.answer(replies, patience).await
    }

    /// Sends a query; it is on its way when this is done.
    pub(super) async fn send(
        &self,
        key: &str,
        message: &Value,
        stamp: &Stamp,
        patience: Duration,
    ) -> Result<Replies, Refusal> {
        let attachment = serde_json::to_string(stamp).unwrap_or_default();
        let query = self
            .session
            .get(key)
            .payload(message.to_string())
            .encoding(Encoding::APPLICATION_JSON)
            .attachment(attachment)
            // All that is asked is of one priority: nothing overtakes what was sent before it.
            .priority(Priority::RealTime)
            .express(true)
            .timeout(patience);
        query.await.map_err(|error| {
            Refusal::new(Code::LinkLost, format!("{} cannot be reached: {error}", self.name))
        })
    }

    /// Waits for an answer.
    pub(super) async fn answer(
        &self,
        replies: Replies,
        patience: Duration,
    ) -> Result<(Outcome, Option<Answered>), Refusal> {
        let begin = Instant::now();
        let unanswered = || {
            let (name, after) = (&self.name, begin.elapsed());
            let message = match after < patience {
                true => format!("{name} was lost before it answered"),
                false => format!("{name} did not answer within {} ms", after.as_millis()),
            };
            Refusal::new(Code::Unconfirmed, message)
        };
        let Ok(Ok(reply)) = timeout(patience, replies.recv_async()).await else {
            return Err(unanswered());
        };
        let sample = reply.result().map_err(|_| unanswered())?;
        let answered =
            sample.attachment().and_then(|text| serde_json::from_slice(&text.to_bytes()).ok());
        match serde_json::from_slice(&sample.payload().to_bytes()) {
            Ok(DaemonMessage::Reply(reply)) => {
                Ok((local::outcome(reply).map_err(about_secret), answered))
            }
            _ => {
                let message = format!("{} answered what is no answer", self.name);
                Err(Refusal::new(Code::Unconfirmed, message))
            }
        }
    }
}

pub(super) type Replies = zenoh::handlers::FifoChannelHandler<zenoh::query::Reply>;

/// The same at any daemon, by a hub of this name.
pub(super) fn stamp(by: &str, own: &str, token: Option<String>) -> Stamp {
    Stamp { name: Some(shown(by, own)), token, ..Stamp::default() }
}

/// What a client of a hub is called at other daemons.
fn shown(by: &str, own: &str) -> String {
    let by: String = by.chars().filter(|c| !is_unshowable(*c)).take(MAX_NAME).collect();
    let own: String = own.chars().take(MAX_NAME / 2).collect();
    format!("{by} via {own}")
}

/// A token that another daemon wants is not one of this daemon's.
fn about_secret(refusal: Refusal) -> Refusal {
    match refusal.code {
        Code::Unauthorized => {
            let hint = "a hub shows the one of --fleet-secret-file, a command line that of --token";
            Refusal::new(Code::Unauthorized, format!("{}: {hint}", refusal.message))
        }
        _ => refusal,
    }
}

fn is_take(message: &Value) -> bool {
    message["type"] == "TakeControl"
}

/// The client, or all of this hub, has gone.
pub(super) fn gone() -> Refusal {
    Refusal::new(Code::LinkLost, "its client has gone")
}
