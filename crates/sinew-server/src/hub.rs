//! The registry: which robots there are, which client holds their controls, and what each client
//! may do.

mod control;
mod halt;
mod roster;

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Map;
use sinew_api::{Access, Limits, LinkReport, RobotReport, Robots};
use sinew_robot::{
    Code, Presence, Refusal, Remedy,
    capability::{Capability, Figure},
    drive,
};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, SemaphorePermit, watch},
    time::Instant,
};

pub(crate) use control::{Client, Job, Member, Stamp};
pub(crate) use roster::{Members, Roster};

use crate::{
    Config, datagrams, frame::SMALL_MESSAGE, guesses::Guesses, metrics::Metrics, seats::Seats,
};

/// Writes to subscribers may be joined for this long.
const JOIN: Duration = Duration::from_millis(20);
/// The time a subscriber may count on: with a thousand of them each is served every 20 ms, with a
/// few at once.
const SHARE: Duration = Duration::from_micros(20);
/// Messages over 64 KiB that may be in memory at a time.
const LARGE: usize = 4;
/// Maps that may be made into files at a time: each takes tens of megabytes.
#[cfg(feature = "maps")]
const EXPORTS: usize = 2;

#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) roster: Arc<Roster>,
    pub(crate) config: Config,
    pub(crate) metrics: Metrics,
    pub(crate) seats: Arc<Seats>,
    pub(crate) guesses: Guesses,
    /// The port of HTTP, where it is open.
    pub(crate) http: Option<u16>,
    /// Where everything runs that may take a while.
    pub(crate) workers: Handle,
    /// Room for messages over 64 KiB.
    pub(crate) large: Arc<Semaphore>,
    /// Held to read one of them.
    reading: Semaphore,
    /// Room for maps on their way to clients.
    #[cfg(feature = "maps")]
    pub(crate) exports: Arc<Semaphore>,
    /// Places of clients that have datagrams sent.
    pub(crate) datagrams: Arc<Semaphore>,
    /// Clients that send much at once.
    pub(crate) flooders: AtomicUsize,
    /// True once the server ends.
    pub(crate) closing: watch::Sender<bool>,
    started: Instant,
    ids: AtomicU64,
}

impl Hub {
    pub(crate) fn new(
        config: Config,
        roster: Arc<Roster>,
        http: Option<u16>,
        workers: Handle,
    ) -> Self {
        Hub {
            roster,
            http,
            metrics: Metrics::default(),
            seats: Arc::new(Seats::new(config.max_clients, config.max_strangers)),
            guesses: Guesses::default(),
            workers,
            large: Arc::new(Semaphore::new(LARGE)),
            reading: Semaphore::new(1),
            #[cfg(feature = "maps")]
            exports: Arc::new(Semaphore::new(EXPORTS)),
            datagrams: Arc::new(Semaphore::new(datagrams::MOST)),
            flooders: AtomicUsize::new(0),
            closing: watch::Sender::new(false),
            started: Instant::now(),
            ids: AtomicU64::new(1),
            config,
        }
    }

    /// A new client; `open` says whether it needs no token.
    pub(crate) fn client(&self, name: impl Into<Arc<str>>, address: IpAddr, open: bool) -> Client {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let access = if open { Access::Control } else { Access::Nothing };
        Client { id, name: name.into(), access, address, presence: Presence::default() }
    }

    /// Marks what is asked for now: after the stops so far, before those to come.
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp { epoch: self.roster.epoch.now(), received: std::time::Instant::now() }
    }

    /// Waits until a message of this length may be read: two long ones at a time would keep two
    /// workers from the messages of other clients.
    pub(crate) async fn turn_to_read(&self, length: usize) -> Option<SemaphorePermit<'_>> {
        match length > SMALL_MESSAGE {
            true => self.reading.acquire().await.ok(),
            false => None,
        }
    }

    /// What is said to a client that finds no seat.
    pub(crate) fn no_seat(&self) -> Refusal {
        let most = self.config.max_clients;
        let message = format!(
            "{most} clients are connected, the most there may be: only stopping is possible"
        );
        Refusal::new(Code::Busy, message)
    }

    /// The robot that a command is for: the one it names, or the only one that can do it.
    pub(crate) fn robot(
        &self,
        name: Option<&str>,
        needed: Option<Capability>,
    ) -> Result<Arc<Member>, Refusal> {
        let can = |member: &&Arc<Member>| needed.is_none_or(|needed| member.can(needed));
        let members = self.members();
        let verb = needed.map_or("do that", Capability::verb);
        if let Some(name) = name {
            let member = named(&members, name)?;
            let missing = || Refusal::new(Code::Unsupported, format!("{name} cannot {verb}"));
            return Some(member).filter(can).cloned().ok_or_else(missing);
        }
        let able: Vec<_> = members.iter().filter(can).collect();
        match (&able[..], &members[..]) {
            ([one], _) => Ok(Arc::clone(one)),
            ([], []) => Err(Refusal::new(Code::NotFound, "there are no robots")),
            ([], [one]) => {
                Err(Refusal::new(Code::Unsupported, format!("{} cannot {verb}", one.name)))
            }
            ([], _) => Err(Refusal::new(Code::Unsupported, format!("no robot here can {verb}"))),
            _ => {
                let names: Vec<_> = able.iter().map(|member| &*member.name).collect();
                let message = format!("several robots can {verb}: {}", names.join(", "));
                Err(Refusal::invalid(message).helped_by(Remedy::NameRobot))
            }
        }
    }

    /// The robot whose sensors clients of document 003's interface, and its later state, get.
    pub(crate) fn streamed(&self) -> Option<Arc<Member>> {
        self.members().iter().find(|member| member.can(Capability::Components)).cloned()
    }

    /// All robots, for now.
    pub(crate) fn members(&self) -> Members {
        self.roster.members()
    }

    /// The robots that a command is for when it may be for several: the one it names, or all.
    pub(crate) fn robots(&self, name: Option<&str>) -> Result<Members, Refusal> {
        let members = self.members();
        match name {
            None => Ok(members),
            Some(name) => named(&members, name).map(|member| [Arc::clone(member)].into()),
        }
    }

    /// What `Robots` answers.
    pub(crate) fn report(&self) -> Robots {
        let robots = self.members().iter().map(|member| member.report()).collect();
        Robots { robots, warnings: self.config.warnings() }
    }

    /// What a token allows.
    pub(crate) fn access(&self, token: &str) -> Result<Access, Refusal> {
        self.config
            .tokens
            .access(token)
            .ok_or_else(|| Refusal::new(Code::Unauthorized, "this token is not known"))
    }

    /// When a subscriber's turn to write comes. Turns are spread over the time for which writes
    /// may be joined, so that commands do not wait behind a thousand writes at once.
    pub(crate) fn turn(&self, client: u64, now: Instant) -> Instant {
        let subscribers = u32::try_from(self.metrics.subscribers()).unwrap_or(u32::MAX);
        let period = SHARE.saturating_mul(subscribers).min(JOIN);
        // Finer than the timer's millisecond there is nothing to spread.
        if period < Duration::from_millis(1) {
            return now;
        }
        let period = period.as_micros() as u64;
        // Golden ratio steps spread consecutive clients evenly.
        let phase = client.wrapping_mul(0x9E37_79B9_7F4A_7C15) % period;
        let elapsed = now.duration_since(self.started).as_micros() as u64;
        let wait = period - (elapsed + period - phase) % period;
        now + Duration::from_micros(wait)
    }

    /// Whether a client may do something that takes this access.
    pub(crate) fn permit(&self, client: &Client, needed: Access) -> Result<(), Refusal> {
        let message = match client.access {
            access if access >= needed => return Ok(()),
            Access::Nothing => "a token is needed",
            _ => "this client may look and stop, not control",
        };
        Err(Refusal::new(Code::Unauthorized, message).helped_by(Remedy::ShowToken))
    }
}

fn named<'a>(members: &'a [Arc<Member>], name: &str) -> Result<&'a Arc<Member>, Refusal> {
    members.iter().find(|member| *member.name == *name).ok_or_else(|| {
        let names: Vec<_> = members.iter().map(|member| &*member.name).collect();
        let names = if names.is_empty() { "none".into() } else { names.join(", ") };
        Refusal::new(Code::NotFound, format!("no robot is called {name:?}; there are: {names}"))
    })
}

/// Waits for the end of the server.
pub(crate) async fn ending(closing: &mut watch::Receiver<bool>) {
    // Without a sender it has ended, too.
    let _ = closing.wait_for(|closing| *closing).await;
}

impl Member {
    /// What there is to tell about the robot: its drivers' reports as one, and the links of those
    /// beside the first. Values are fresh when those of all drivers are.
    pub(crate) fn report(&self) -> RobotReport {
        if let Some(relayed) = &self.relayed {
            return RobotReport { name: (*self.name).into(), ..relayed.report() };
        }
        let mut whole = RobotReport {
            name: (*self.name).into(),
            kind: self.robot.kind.into(),
            link: LinkReport::default(),
            links: BTreeMap::new(),
            capabilities: self.capabilities.clone(),
            sensors: self.groups.iter().map(|group| (**group).into()).collect(),
            limits: self.robot.drive.as_ref().map(|drive| limits(drive.limits())),
            holder: self.holder().as_deref().map(Into::into),
            stopped_by: None,
            last_seen_ms: None,
            fresh: true,
            state: Map::new(),
        };
        for (index, (name, driver)) in self.robot.drivers.iter().enumerate() {
            let report = driver.report();
            whole.state.extend(report.state);
            whole.stopped_by = whole.stopped_by.or(report.stopped_by);
            whole.fresh &= report.fresh;
            let link = LinkReport::new(report.link);
            let last_seen_ms = report.since_seen.map(|since| since.as_millis() as u64);
            if index == 0 {
                (whole.link, whole.last_seen_ms) = (link, last_seen_ms);
            } else {
                let fresh = Some(report.fresh);
                whole.links.insert((*name).into(), LinkReport { fresh, last_seen_ms, ..link });
            }
        }
        whole
    }

    /// What `/metrics` shows of its drivers.
    pub(crate) fn figures(&self) -> impl Iterator<Item = Figure> {
        self.robot.drivers.iter().flat_map(|(_, driver)| driver.report().figures)
    }
}

fn limits(drive::Limits { linear, angular, deadman }: drive::Limits) -> Limits {
    // As they were set, not what a float makes of that.
    let number = |set: f32| (f64::from(set) * 1e6).round() / 1e6;
    let deadman_ms = deadman.as_millis() as u64;
    Limits { linear: number(linear), angular: number(angular), deadman_ms }
}
