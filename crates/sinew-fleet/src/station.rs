//! A daemon's robots in the fleet: what they tell, and what is asked of them.

mod commands;
mod topics;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::{Value, json};
use sinew_api::{Access, RobotReport, Robots};
use sinew_robot::Refusal;
use sinew_server::{Locals, ShownRefusals, Tokens};
use tokio::{
    runtime::Handle,
    sync::{Notify, Semaphore},
    task::JoinSet,
    time::{interval, sleep},
};
use zenoh::{Session, sample::SampleKind};

use crate::{
    Plan, Remotes,
    clock::now_us,
    keys,
    local::{Client, Connection},
    lock,
};

/// What the daemon calls the connections that are for all.
const NAME: &str = "fleet";
/// How often clients are looked for that have gone silent.
const LOOK: Duration = Duration::from_millis(250);
/// How often a name that another daemon has is tried again.
const TAKEN: Duration = Duration::from_secs(1);
/// Clients without a token that have stopped something just now, and wrong tokens that wait for their answers.
const MOST: usize = 32;
/// How long such a client stays that has nothing more to stop, and at least, where others need its place.
const LINGER: (Duration, Duration) = (Duration::from_secs(2), Duration::from_millis(250));

/// The robots that a daemon has in the fleet.
pub(crate) struct Station {
    session: Session,
    host: String,
    robots: Vec<Served>,
    locals: Locals,
    /// None where no token is needed.
    tokens: Option<Tokens>,
    runtime: Handle,
    remotes: Mutex<Remotes>,
    clients: Mutex<HashMap<String, Client>>,
    /// For those that only look, and for those that do something that needs no controls.
    shared: [Client; 2],
    stoppers: Mutex<Vec<Stopper>>,
    wrong: Arc<Semaphore>,
    /// Those that the log has room for.
    refusals: ShownRefusals,
}

/// A robot that is published.
struct Served {
    name: String,
    /// How long a velocity counts.
    deadman: Duration,
    groups: Vec<String>,
    frames: Vec<&'static str>,
    /// The whole map is wanted once more.
    again: Notify,
    state: Mutex<Newest>,
}

/// The newest state of a robot.
struct Newest {
    text: String,
    /// When the daemon told it.
    made: Instant,
    /// When it was told to the fleet.
    at: Instant,
}

impl Newest {
    fn new(text: String) -> Self {
        let now = Instant::now();
        Newest { text, made: now, at: now }
    }

    /// The same, as old as it is now.
    fn now(&self) -> String {
        let Ok(mut message) = serde_json::from_str::<Value>(&self.text) else {
            return self.text.clone();
        };
        if let Ok(mut report) = RobotReport::deserialize(&message["data"]) {
            report.age(self.made.elapsed());
            message["data"] = serde_json::to_value(report).unwrap_or_default();
        }
        message.to_string()
    }
}

/// A client without a token of its own that stops robots.
struct Stopper {
    name: String,
    client: Client,
    used: Instant,
}

/// Publishes robots until it is dropped.
pub(crate) async fn run(
    session: Session,
    plan: &Plan,
    locals: Locals,
    names: &[String],
    tokens: Option<Tokens>,
) -> Result<(), String> {
    let failed = |error: zenoh::Error| error.to_string();
    loop {
        let (host, locals, tokens) = (plan.host.clone(), locals.clone(), tokens.clone());
        let station = Station::open(session.clone(), host, locals, names, tokens).await?;
        let station = Arc::new(station);
        station.wait_for_name().await.map_err(failed)?;
        match station.serve().await.map_err(failed)? {
            Ended::Daemon => {
                withdraw(&session, &plan.host, names).await;
                return Ok(());
            }
            // It waits until the name is free again.
            Ended::NameTaken => {}
        }
    }
}

/// Why robots are not published any more.
enum Ended {
    Daemon,
    NameTaken,
}

impl Station {
    async fn open(
        session: Session,
        host: String,
        locals: Locals,
        names: &[String],
        tokens: Option<Tokens>,
    ) -> Result<Self, String> {
        let robots = look(&locals, names).await.map_err(|refusal| refusal.message)?;
        let instance = session.zid().to_string();
        let runtime = Handle::current();
        let open = |access| Client::open(&locals, NAME, access, &runtime);
        let shared = [Access::Read, Access::Control].map(open);
        Ok(Station {
            session,
            host,
            robots,
            tokens,
            shared,
            remotes: Mutex::new(Remotes::new(&instance)),
            clients: Mutex::default(),
            stoppers: Mutex::default(),
            wrong: Arc::new(Semaphore::new(MOST)),
            refusals: ShownRefusals::default(),
            locals,
            runtime,
        })
    }

    /// Waits until no other daemon has this name. One that was ended a moment ago may still seem to be there.
    async fn wait_for_name(self: &Arc<Self>) -> zenoh::Result<()> {
        let own = self.session.zid().to_string();
        let mut waiting = None;
        for attempt in 0_u32.. {
            let tokens = self.session.liveliness().get(keys::daemon(&self.host, "*")).await?;
            let mut is_taken = false;
            while let Ok(reply) = tokens.recv_async().await {
                let other = reply.result().ok();
                is_taken |=
                    other.is_some_and(|sample| keys::last(sample.key_expr().as_str()) != own);
            }
            if !is_taken {
                return Ok(());
            }
            if waiting.is_none() {
                // Robots that are not seen are stopped all the same.
                let station = Arc::clone(self);
                let stops = self.session.declare_queryable(keys::asked(&self.host));
                let stops = stops.callback(move |query| station.asked_unseen(&query)).await?;
                waiting = Some((stops, self.token(&keys::waiting(&self.host, &own)).await?));
            }
            // Three seconds are more than the lease of one that was killed.
            if attempt % 60 == 3 {
                tracing::error!(
                    "fleet: another daemon is called {}: the robots of this one are not published until that one \
                     has gone, or this one is called otherwise (--fleet-name)",
                    self.host
                );
            }
            sleep(TAKEN).await;
        }
        Ok(())
    }

    async fn serve(self: Arc<Self>) -> zenoh::Result<Ended> {
        let instance = lock(&self.remotes).instance().to_owned();
        let _daemon = self.token(&keys::daemon(&self.host, &instance)).await?;
        let others = self.session.liveliness().declare_subscriber(keys::daemon(&self.host, "*"));
        let others = others.history(true).await?;
        let _waiting = self
            .session
            .liveliness()
            .declare_subscriber(keys::waiting(&self.host, "*"))
            .history(true)
            .callback({
                let host = self.host.clone();
                move |sample| {
                    if sample.kind() == SampleKind::Put {
                        tracing::error!(
                            "fleet: another daemon is called {host}, too, and its robots are not published; call one \
                             of them otherwise (--fleet-name)"
                        );
                    }
                }
            })
            .await?;
        let tokens = self
            .session
            .liveliness()
            .declare_subscriber(keys::client(&self.host, "*"))
            .history(true)
            .callback({
                let station = Arc::clone(&self);
                move |sample| {
                    station.token_changed(keys::last(sample.key_expr().as_str()), sample.kind())
                }
            })
            .await?;
        let queries = self
            .session
            .declare_queryable(keys::asked(&self.host))
            .callback({
                let station = Arc::clone(&self);
                move |query| station.asked(query)
            })
            .await?;
        let mut tasks = JoinSet::new();
        topics::publish(&self, &mut tasks).await?;
        // Last, so that all of it works when they are seen.
        let mut robots = Vec::new();
        for robot in &self.robots {
            robots.push(self.token(&keys::robot(&self.host, &robot.name)).await?);
        }
        let are = if robots.len() == 1 { "robot is" } else { "robots are" };
        tracing::info!("fleet: {} {are} published as {}", robots.len(), self.host);
        let mut look = interval(LOOK);
        let ended = loop {
            tokio::select! {
                _ = look.tick() => self.look_for_silent(),
                // Nothing is told any more: the daemon ends.
                _ = tasks.join_next() => break Ended::Daemon,
                Ok(sample) = others.recv_async() => {
                    let other = keys::last(sample.key_expr().as_str());
                    if sample.kind() == SampleKind::Put && other != instance && self.gives_way(other, &instance) {
                        break Ended::NameTaken;
                    }
                }
            }
        };
        // Clients of the fleet leave with their connections.
        lock(&self.clients).clear();
        drop((tokens, queries, robots));
        Ok(ended)
    }

    /// Whether this daemon leaves its name to another that has it, too: one of the two does, the same wherever it is
    /// asked.
    fn gives_way(&self, other: &str, instance: &str) -> bool {
        let gives_way = *other < *instance;
        let what =
            if gives_way { "this one's robots are withdrawn" } else { "its robots are withdrawn" };
        tracing::error!(
            "fleet: another daemon is called {}, too: {what}; call one of them otherwise (--fleet-name)",
            self.host
        );
        gives_way
    }

    async fn token(&self, key: &str) -> zenoh::Result<zenoh::liveliness::LivelinessToken> {
        self.session.liveliness().declare_token(key.to_owned()).await
    }

    fn token_changed(&self, client: &str, kind: SampleKind) {
        match kind {
            SampleKind::Put => lock(&self.remotes).token_came(client),
            SampleKind::Delete => {
                if lock(&self.remotes).token_gone(client) {
                    self.end(client);
                }
            }
        }
    }

    fn look_for_silent(&self) {
        let overdue = lock(&self.remotes).overdue(now_us());
        for client in overdue {
            tracing::warn!("fleet: client {client} is silent: it has gone");
            self.end(&client);
        }
        lock(&self.stoppers).retain(|stopper| stopper.used.elapsed() < LINGER.0);
    }

    /// Ends a client's connection: what it held is free, and what it set moving stops.
    fn end(&self, client: &str) {
        drop(lock(&self.clients).remove(client));
    }
}

/// What is to be known of the robots before they are published.
async fn look(locals: &Locals, names: &[String]) -> Result<Vec<Served>, Refusal> {
    let open = Connection::open(locals, NAME, Access::Read).await;
    let mut connection = open.map_err(|error| Refusal::invalid(error.to_string()))?;
    let data = connection.ask(json!({ "type": "Robots" })).await?;
    let robots: Robots =
        serde_json::from_value(data).map_err(|error| Refusal::invalid(error.to_string()))?;
    let mut served = Vec::new();
    for report in robots.robots.into_iter().filter(|report| names.contains(&report.name)) {
        let frames = locals.frames(&report.name).await;
        let event =
            json!({ "type": "Event", "topic": "state", "robot": report.name, "data": report });
        let state = Mutex::new(Newest::new(event.to_string()));
        let RobotReport { name, sensors: groups, limits, .. } = report;
        let deadman =
            limits.map_or(Duration::ZERO, |limits| Duration::from_millis(limits.deadman_ms));
        served.push(Served { name, deadman, groups, frames, again: Notify::new(), state });
    }
    Ok(served)
}

/// Says that the daemon has ended, and with it what its robots did: they are not lost.
async fn withdraw(session: &Session, host: &str, names: &[String]) {
    for name in names {
        if let Err(error) = session.delete(keys::of_robot(host, name, "state")).await {
            tracing::debug!("fleet: {name} is not withdrawn: {error}");
        }
    }
}
