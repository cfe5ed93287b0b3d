//! Robots of other daemons, offered as our own.

mod client;
mod host;
mod pulse;
mod robot;
mod topics;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde::Deserialize;
use sinew_api::{Command, Halt, RobotReport};
use sinew_server::Registry;
use tokio::{runtime::Handle, sync::watch, task::JoinSet, time::timeout};
use zenoh::{
    Session,
    qos::Priority,
    query::{ConsolidationMode, QueryTarget},
    sample::{Locality, Sample, SampleKind},
};

use self::{host::Host, pulse::Pulse, robot::Remote};
use crate::{About, Plan, clock::now_us, keys, lock};

/// How long a robot may take to tell of itself, and how often it is asked.
const INTRODUCTION: (Duration, usize) = (Duration::from_secs(2), 3);
/// How long the first ones are waited for.
const SETTLING: Duration = Duration::from_secs(1);
/// Robots at most; the registry has its own limit besides.
const MOST: usize = 4096;

/// Which robots of the fleet are wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// All of them, as `HOST.ROBOT`.
    pub all: bool,
    /// Some, each with the name that it gets here, its daemon's and its own.
    pub named: Vec<(String, String, String)>,
}

/// The robots that are offered.
pub(crate) struct Offered {
    session: Session,
    /// What this daemon is called.
    own: String,
    /// It has robots in the fleet itself: they are not offered twice.
    publishes: bool,
    secret: Option<String>,
    registry: Registry,
    wanted: Wanted,
    runtime: Handle,
    pulse: Arc<Pulse>,
    hosts: Mutex<HashMap<String, Arc<Host>>>,
    robots: Mutex<HashMap<(String, String), Arc<Remote>>>,
}

/// A message of topic `state`.
#[derive(Deserialize)]
struct State {
    data: RobotReport,
}

/// Offers robots until it is dropped. `settled` becomes true when those are known that are there at first.
pub(crate) async fn run(
    session: Session,
    plan: &Plan,
    registry: Registry,
    wanted: Wanted,
    publishes: bool,
    settled: watch::Sender<bool>,
) -> Result<(), String> {
    let offered = Arc::new(Offered {
        session: session.clone(),
        own: plan.host.clone(),
        publishes,
        secret: plan.secret.clone(),
        registry,
        wanted,
        runtime: Handle::current(),
        pulse: Arc::new(Pulse::new(now_us())),
        hosts: Mutex::default(),
        robots: Mutex::default(),
    });
    pulse::keep(Arc::downgrade(&offered)).map_err(|error| error.to_string())?;
    if let Some(robot) = &plan.stop {
        offered.stop_first(robot).await;
    }
    offered.expect_named();
    offered.serve(settled).await.map_err(|error| error.to_string())
}

impl Offered {
    /// Sends a stop before it is known which robots there are, and does not wait for its answers: it is sent to each
    /// again when they are.
    async fn stop_first(self: &Arc<Self>, robot: &str) {
        let key = match robot.split_once('.') {
            Some((host, robot)) => keys::of_robot(host, robot, "command"),
            None => keys::COMMANDS.into(),
        };
        let message = Command::Halt(Halt::Stop { note: None }).to_value();
        let stamp = host::stamp("stop", &self.own, self.secret.clone());
        let stamp = serde_json::to_string(&stamp).unwrap_or_default();
        let query = self.session.get(key).payload(message.to_string()).attachment(stamp);
        let query = query.target(QueryTarget::All).priority(Priority::RealTime).express(true);
        drop(query.callback(drop).await);
    }

    async fn serve(self: Arc<Self>, settled: watch::Sender<bool>) -> zenoh::Result<()> {
        let hear = |topic: &'static str| {
            let offered = Arc::clone(&self);
            move |sample: Sample| offered.heard(topic, &sample)
        };
        let subscribe = |key| self.session.declare_subscriber(key).allowed_origin(Locality::Remote);
        let _states = subscribe(keys::STATES).callback(hear("state")).await?;
        let _events = subscribe(keys::EVENTS).callback(hear("events")).await?;
        let mut meeting = JoinSet::new();
        // Those that are there, before those that come: the first ones are waited for.
        let there = self.session.liveliness().get(keys::ROBOTS).await?;
        let mut there_are = BTreeSet::new();
        while let Ok(reply) = there.recv_async().await {
            there_are
                .extend(reply.result().ok().map(|sample| sample.key_expr().as_str().to_owned()));
        }
        if self.wanted.all {
            // One question for all of them; those that do not answer it are asked again, each by itself.
            let _ = timeout(SETTLING, self.meet_all(&there_are)).await;
        }
        let unmet = |key: &&String| !self.has_met(key);
        there_are.iter().filter(unmet).for_each(|key| self.token_came(key, &mut meeting));
        let rest = async { while meeting.join_next().await.is_some() {} };
        if timeout(SETTLING, rest).await.is_err() {
            self.show_silent(there_are);
        }
        settled.send_replace(true);
        // Not before: a question and a subscription at the same time get each a part of the answers.
        let tokens = self.session.liveliness().declare_subscriber(keys::ROBOTS).history(true);
        let tokens = tokens.with(zenoh::handlers::FifoChannel::new(MOST)).await?;
        let following = topics::follow(Arc::clone(&self));
        let tokens = async {
            while let Ok(sample) = tokens.recv_async().await {
                match sample.kind() {
                    SampleKind::Put => self.token_came(sample.key_expr().as_str(), &mut meeting),
                    SampleKind::Delete => self.token_gone(sample.key_expr().as_str()),
                }
                while meeting.try_join_next().is_some() {}
            }
        };
        tokio::select! {
            () = following => {}
            () = tokens => {}
        }
        Ok(())
    }

    /// Robots that are there, but do not tell of themselves, are shown all the same: a client that stops all must hear that
    /// they were not reached.
    fn show_silent(self: &Arc<Self>, keys: impl IntoIterator<Item = String>) {
        for key in keys {
            let Some((host, robot, "")) = keys::parse(&key) else { continue };
            if self.wanted.all && !self.is_own(host) && self.robot(host, robot).is_none() {
                let remote = self.known(host, robot);
                remote.is_silent();
                self.join(&remote);
            }
        }
    }

    /// Robots that were named are shown from the beginning.
    fn expect_named(self: &Arc<Self>) {
        for (name, host, robot) in self.wanted.named.clone() {
            let remote = Arc::new(Remote::unseen(self.host(&host), &robot, &name));
            self.join(&remote);
            lock(&self.robots).insert((host, robot), remote);
        }
    }

    fn host(self: &Arc<Self>, name: &str) -> Arc<Host> {
        let mut hosts = lock(&self.hosts);
        let new = || {
            let (session, runtime) = (self.session.clone(), self.runtime.clone());
            let pulse = Arc::clone(&self.pulse);
            Arc::new(Host::new(name, session, runtime, pulse, self.secret.clone(), &self.own))
        };
        Arc::clone(hosts.entry(name.to_owned()).or_insert_with(new))
    }

    fn robot(&self, host: &str, robot: &str) -> Option<Arc<Remote>> {
        lock(&self.robots).get(&(host.to_owned(), robot.to_owned())).cloned()
    }

    /// The same; a robot that was not known has not been seen yet.
    fn known(self: &Arc<Self>, host: &str, robot: &str) -> Arc<Remote> {
        let name = format!("{host}.{robot}");
        let new = || Arc::new(Remote::unseen(self.host(host), robot, &name));
        let mut robots = lock(&self.robots);
        Arc::clone(robots.entry((host.to_owned(), robot.to_owned())).or_insert_with(new))
    }

    /// All of our clients have left all daemons.
    fn all_left(&self) {
        lock(&self.hosts).values().for_each(|host| host.all_left());
    }

    fn robots(&self) -> Vec<Arc<Remote>> {
        lock(&self.robots).values().cloned().collect()
    }

    /// A robot is there: it is asked about itself.
    fn token_came(self: &Arc<Self>, key: &str, meeting: &mut JoinSet<()>) {
        let Some((host, robot, "")) = keys::parse(key) else { return };
        if !self.may_join(host, robot) {
            return;
        }
        let (offered, host, robot) = (Arc::clone(self), host.to_owned(), robot.to_owned());
        meeting.spawn(async move { offered.meet(host, robot).await });
    }

    /// Whether a daemon's robots are our own. One that has none may have the name of another: a command line on the same
    /// machine has.
    fn is_own(&self, host: &str) -> bool {
        self.publishes && host == self.own
    }

    /// Whether a robot is wanted, and there is room for it.
    fn may_join(&self, host: &str, robot: &str) -> bool {
        let is_known = self.robot(host, robot).is_some();
        let has_room = is_known || lock(&self.robots).len() < MOST;
        if !has_room {
            tracing::warn!("fleet: {host}/{robot} is left out: there are {MOST} robots already");
        }
        !self.is_own(host) && (is_known || self.wanted.all) && has_room
    }

    /// Whether the robot of this token has told of itself.
    fn has_met(&self, key: &str) -> bool {
        let robot = keys::parse(key).and_then(|(host, robot, _)| self.robot(host, robot));
        robot.is_some_and(|remote| remote.check_there().is_ok())
    }

    /// Has all of these robots tell of themselves.
    async fn meet_all(self: &Arc<Self>, there_are: &BTreeSet<String>) {
        let asked = self.session.get(keys::STATES).target(QueryTarget::All).timeout(SETTLING);
        let Ok(replies) = asked.consolidation(ConsolidationMode::None).await else { return };
        while let Ok(reply) = replies.recv_async().await {
            let Ok(sample) = reply.result() else { continue };
            let Some((host, robot, _)) = keys::parse(sample.key_expr().as_str()) else { continue };
            if there_are.contains(&keys::robot(host, robot))
                && self.may_join(host, robot)
                && let Some((report, about)) = read_state(sample)
            {
                self.introduce(host, robot, report, about);
            }
        }
    }

    fn token_gone(&self, key: &str) {
        let Some((host, robot, "")) = keys::parse(key) else { return };
        if let Some(remote) = self.robot(host, robot) {
            remote.is_gone();
        }
    }

    async fn meet(self: Arc<Self>, host: String, robot: String) {
        let key = keys::of_robot(&host, &robot, "state");
        let (patience, attempts) = INTRODUCTION;
        for _ in 0..attempts {
            let Ok(replies) = self.session.get(&key).timeout(patience).await else { return };
            if let Ok(Ok(reply)) = timeout(patience, replies.recv_async()).await
                && let Ok(sample) = reply.result()
                && let Some((report, about)) = read_state(sample)
            {
                return self.introduce(&host, &robot, report, about);
            }
        }
        tracing::warn!("fleet: {host}/{robot} is there, but does not tell of itself");
        self.show_silent([keys::robot(&host, &robot)]);
    }

    fn introduce(self: &Arc<Self>, host: &str, robot: &str, report: RobotReport, about: About) {
        let remote = self.known(host, robot);
        self.host(host).check_secret(robot, &about.instance);
        if remote.tells(report, about) {
            self.join(&remote);
        }
        remote.is_there();
    }

    /// Puts a robot among those of the server, or its new description in the place of the old one.
    fn join(&self, remote: &Arc<Remote>) {
        let joined = self.registry.join(remote.name(), |audience, _| {
            remote.set_audience(audience);
            Arc::clone(remote) as Arc<dyn sinew_server::Relay>
        });
        if let Err(error) = joined {
            tracing::warn!("fleet: {}: {error}", remote.name());
        }
    }

    /// A state or an event came.
    fn heard(self: &Arc<Self>, topic: &str, sample: &Sample) {
        let Some((host, robot, _)) = keys::parse(sample.key_expr().as_str()) else { return };
        let Some(remote) = self.robot(host, robot) else { return };
        if topic == "events" {
            return remote.happened(sample);
        }
        if sample.kind() == SampleKind::Delete {
            return remote.is_withdrawn();
        }
        if let Some((report, about)) = read_state(sample) {
            if remote.tells(report, about) {
                self.join(&remote);
            }
            remote.changed();
        }
    }
}

/// A state as it was told.
fn read_state(sample: &Sample) -> Option<(RobotReport, About)> {
    let State { data } = serde_json::from_slice(&sample.payload().to_bytes()).ok()?;
    let about =
        sample.attachment().and_then(|about| serde_json::from_slice(&about.to_bytes()).ok());
    Some((data, about.unwrap_or_default()))
}
