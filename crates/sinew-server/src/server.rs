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
use crate::{
    Config,
    feed::{self, Feed},
    http,
    hub::{Hub, Member},
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
    robots: Vec<Arc<Member>>,
    ports: Ports,
    epoch: Epoch,
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
            robots: Vec::new(),
            ports,
            epoch: Epoch::default(),
            #[cfg(feature = "local")]
            locals: Locals::new(),
        })
    }

    /// Lets programs of this process in, before the server runs or while it does.
    #[cfg(feature = "local")]
    pub fn locals(&self) -> Locals {
        self.locals.0.clone()
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
        let wrong = |message| Err(io::Error::new(io::ErrorKind::InvalidInput, message).into());
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(fits) {
            return wrong(format!("robot {name:?}: wanted letters, digits, - _ and ."));
        }
        if self.robots.iter().any(|member| *member.name == *name) {
            return wrong(format!("robot {name:?}: there is one of this name already"));
        }
        // No computer has as many robots as this could count.
        let feed = Arc::new(Feed::new(name, self.robots.len() as u16));
        let robot = start(feed.clone(), self.epoch.clone())?;
        self.robots.push(Arc::new(Member::new(name, robot, feed, self.epoch.clone())));
        Ok(())
    }

    /// How each robot can be reached, by its name.
    pub fn links(&self) -> impl Iterator<Item = (&str, LinkReport)> {
        self.robots.iter().map(|member| (&*member.name, member.report().link))
    }

    /// Whether every driver that has to hold its time has the priority for it.
    pub fn has_real_time_priority(&self) -> bool {
        let drivers = self.robots.iter().flat_map(|member| &member.robot.drivers);
        drivers.into_iter().all(|(_, driver)| driver.has_real_time_priority() != Some(false))
    }

    /// Serves until `shutdown` is done; then stops the robots, and after them the connections.
    ///
    /// Clients are heard on a thread of their own, where nothing takes long, so that a stop, and
    /// `shutdown`, wait for nothing that clients can make the server do. Everything else runs on
    /// the tokio runtime on which this is polled, with timers and I/O enabled.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let http = self.addresses().http.map(|address| address.port());
        let Server { config, robots, ports, epoch, .. } = self;
        #[cfg(feature = "local")]
        let (_, wishes) = self.locals;
        let hub = Arc::new(Hub::new(config, robots, epoch, http, Handle::current()));
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
            let _ = over.send(result);
        })?;
        ended.await.unwrap_or_else(|_| Err(io::Error::other("the thread that hears clients ended")))
    }
}

/// What the front thread does.
async fn serve(hub: Arc<Hub>, ports: Ports, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    let mut workers = JoinSet::new();
    for member in &hub.robots {
        workers.spawn_on(feed::run(Arc::clone(member)), &hub.workers);
    }
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
    }
    let by = "the daemon's end".into();
    hub.robots.iter().for_each(|member| member.end(&by));
    // While clients take their last bytes, and all robots at once: none waits for another's end.
    let end = |member: &Arc<Member>| {
        let member = Arc::clone(member);
        thread::spawn(move || member.shut_down())
    };
    let ending: Vec<_> = hub.robots.iter().map(end).collect();
    acceptors.abort_all();
    workers.abort_all();
    hub.closing.send_replace(true);
    let _ = timeout(FAREWELL, hub.seats.empty()).await;
    ending.into_iter().for_each(|robot| drop(robot.join()));
    Ok(())
}
