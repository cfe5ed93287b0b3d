use std::{
    future::pending,
    io,
    net::{SocketAddr, TcpListener as StdListener},
    sync::Arc,
    thread,
    time::Duration,
};

use sinew_api::LinkReport;
use sinew_robot::{
    Epoch,
    capability::{Audience, Robot},
};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Handle},
    sync::oneshot,
    task::JoinSet,
    time::timeout,
};

#[cfg(feature = "local")]
use crate::local::{self, Locals, Wish};
#[cfg(feature = "relay")]
use crate::registry::tell_states;
use crate::{
    Config, http,
    hub::{Hub, Member, Roster},
    listen::{self, Acceptor},
    metrics::Transport,
};
#[cfg(feature = "local")]
use tokio::sync::mpsc::UnboundedReceiver;

/// How long clients get to take their last bytes when the server ends.
const FAREWELL: Duration = Duration::from_secs(1);

/// Robots and the ports on which they are served.
#[derive(Debug)]
pub struct Server {
    config: Config,
    roster: Arc<Roster>,
    ports: Ports,
    #[cfg(feature = "local")]
    locals: (Locals, UnboundedReceiver<Wish>),
}

#[derive(Debug)]
struct Ports {
    tcp: Option<StdListener>,
    lines: Option<StdListener>,
    http: Option<StdListener>,
    sangam: Option<StdListener>,
}

/// Where a server listens; none where it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the configuration's")]
pub struct Addresses {
    pub tcp: Option<SocketAddr>,
    pub lines: Option<SocketAddr>,
    pub http: Option<SocketAddr>,
    pub sangam: Option<SocketAddr>,
}

impl Server {
    /// Opens the ports. Clients are heard once [`run`](Self::run) is called.
    pub fn bind(config: Config) -> io::Result<Self> {
        config.check()?;
        let bind = |address: Option<SocketAddr>| address.map(listen::bind).transpose();
        let ports = Ports {
            tcp: bind(config.tcp)?,
            lines: bind(config.lines)?,
            http: bind(config.http)?,
            sangam: bind(config.sangam)?,
        };
        Ok(Server {
            config,
            roster: Arc::new(Roster::new()),
            ports,
            #[cfg(feature = "local")]
            locals: Locals::new(),
        })
    }

    /// Lets programs of this process in, before the server runs or while it does.
    #[cfg(feature = "local")]
    pub fn locals(&self) -> Locals {
        self.locals.0.clone()
    }

    /// Lets robots that other daemons serve join, before the server runs or while it does.
    #[cfg(feature = "relay")]
    pub fn registry(&self) -> crate::Registry {
        crate::Registry(Arc::clone(&self.roster))
    }

    /// Where it listens.
    pub fn addresses(&self) -> Addresses {
        let address = |port: &Option<StdListener>| {
            port.as_ref().and_then(|listener| listener.local_addr().ok())
        };
        Addresses {
            tcp: address(&self.ports.tcp),
            lines: address(&self.ports.lines),
            http: address(&self.ports.http),
            sangam: address(&self.ports.sangam),
        }
    }

    /// What its owner should know about the configuration.
    pub fn warnings(&self) -> Vec<String> {
        self.config.warnings()
    }

    /// Adds a robot, which `start` builds for the audience that it is given. Names stand in
    /// addresses, so they are letters, digits, `-`, `_` and `.`.
    pub fn add<E: From<io::Error>>(
        &mut self,
        name: &str,
        start: impl FnOnce(Arc<dyn Audience>, Epoch) -> Result<Robot, E>,
    ) -> Result<(), E> {
        let epoch = &self.roster.epoch;
        self.roster.add(
            name,
            |_| false,
            |place| {
                let robot = start(place.feed.clone(), epoch.clone())?;
                Ok(Member::new(name, robot, place.feed, epoch.clone()))
            },
        )
    }

    /// How each robot can be reached, by its name.
    pub fn links(&self) -> impl Iterator<Item = (Arc<str>, LinkReport)> {
        let link = |member: &Arc<Member>| (Arc::clone(&member.name), member.report().link);
        self.roster.members().iter().map(link).collect::<Vec<_>>().into_iter()
    }

    /// Whether every driver that has to hold its time has the priority for it.
    pub fn has_real_time_priority(&self) -> bool {
        let members = self.roster.members();
        let mut drivers = members.iter().flat_map(|member| &member.robot.drivers);
        drivers.all(|(_, driver)| driver.has_real_time_priority() != Some(false))
    }

    /// Serves until `shutdown` is done; then stops the robots, and after them the connections.
    ///
    /// Clients are heard on a thread of their own, where nothing takes long, so that a stop, and
    /// `shutdown`, wait for nothing that clients can make the server do. Everything else runs on
    /// the tokio runtime on which this is polled, with timers and I/O enabled.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let http = self.addresses().http.map(|address| address.port());
        let Server { config, roster, ports, .. } = self;
        #[cfg(feature = "local")]
        let (_, wishes) = self.locals;
        let hub = Arc::new(Hub::new(config, roster, http, Handle::current()));
        let front = Builder::new_current_thread().enable_all().build()?;
        let (mut over, ended) = oneshot::channel();
        thread::Builder::new().name("front".into()).spawn(move || {
            // Where it is not allowed, this thread has the share of any other.
            sinew_io::favour();
            #[cfg(feature = "local")]
            front.spawn(local::serve(wishes, Arc::clone(&hub)));
            let result = front.block_on(serve(hub, ports, async {
                tokio::select! {
                    () = shutdown => {}
                    // The caller does not wait for the end of this server any more.
                    () = over.closed() => {}
                }
            }));
            // With it end those that let others in: the server has ended when it says so.
            drop(front);
            let _ = over.send(result);
        })?;
        ended.await.unwrap_or_else(|_| Err(io::Error::other("the thread that hears clients ended")))
    }
}

/// What the front thread does.
async fn serve(hub: Arc<Hub>, ports: Ports, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    let mut acceptors = JoinSet::new();
    let open = |listener: &StdListener| {
        listener.local_addr().is_ok_and(|address| address.ip().is_loopback())
    };
    for (port, transport) in [
        (ports.tcp, Transport::Tcp),
        (ports.lines, Transport::Lines),
        (ports.sangam, Transport::Sangam),
    ] {
        let Some(listener) = port else { continue };
        let is_legacy = matches!(transport, Transport::Tcp | Transport::Sangam);
        let legacy_open = hub.config.legacy_open && is_legacy;
        let open = open(&listener) || legacy_open;
        let acceptor = Acceptor::new(TcpListener::from_std(listener)?, transport, open);
        acceptors.spawn(listen::serve(acceptor, Arc::clone(&hub)));
    }
    if let Some(listener) = ports.http {
        let open = open(&listener);
        let acceptor = Acceptor::new(TcpListener::from_std(listener)?, Transport::Http, open);
        acceptors.spawn(http::serve(acceptor, Arc::clone(&hub)));
    }
    tokio::select! {
        () = shutdown => {}
        () = async { while acceptors.join_next().await.is_some() {} pending().await } => {}
        () = tell_states(&hub) => {}
    }
    let by = "the daemon's end".into();
    let members = hub.members();
    members.iter().for_each(|member| member.end(&by));
    // While clients take their last bytes, and all robots at once: none waits for another's end.
    let end = |member: &Arc<Member>| {
        let member = Arc::clone(member);
        thread::spawn(move || member.shut_down())
    };
    // Those of other daemons are left alone: it is their clients here that go.
    let own = members.iter().filter(|member| member.relayed.is_none());
    let ending: Vec<_> = own.map(end).collect();
    acceptors.abort_all();
    hub.closing.send_replace(true);
    let _ = timeout(FAREWELL, hub.seats.empty()).await;
    ending.into_iter().for_each(|robot| drop(robot.join()));
    // A relay may know the registry: neither is to keep the other.
    #[cfg(feature = "relay")]
    hub.roster.end();
    Ok(())
}

/// Has the state of every robot told.
#[cfg(not(feature = "relay"))]
async fn tell_states(hub: &Hub) {
    let mut telling = JoinSet::new();
    for member in hub.members().iter() {
        telling.spawn_on(crate::feed::run(Arc::clone(member)), &hub.workers);
    }
    pending().await
}
