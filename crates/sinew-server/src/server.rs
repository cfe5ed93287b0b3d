use std::{
    future::pending,
    io,
    net::{SocketAddr, TcpListener as StdListener},
    sync::Arc,
    time::Duration,
};

use tokio::{net::TcpListener, task::JoinSet, time::timeout};

use crate::{
    Config, Robot, feed, http,
    hub::{Hub, Member},
    listen,
    metrics::Transport,
};

/// How long clients get to take their last bytes when the server ends.
const FAREWELL: Duration = Duration::from_secs(1);

/// Robots and the ports on which they are served.
#[derive(Debug)]
pub struct Server {
    config: Config,
    robots: Vec<Arc<Member>>,
    ports: Ports,
}

#[derive(Debug)]
struct Ports {
    tcp: Option<StdListener>,
    lines: Option<StdListener>,
    http: Option<StdListener>,
}

/// Where a server listens; none where it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the configuration's")]
pub struct Addresses {
    pub tcp: Option<SocketAddr>,
    pub lines: Option<SocketAddr>,
    pub http: Option<SocketAddr>,
}

impl Server {
    /// Opens the ports. Clients are heard once [`run`](Self::run) is called.
    pub fn bind(config: Config) -> io::Result<Self> {
        config.check()?;
        let bind = |address: Option<SocketAddr>| address.map(listen::bind).transpose();
        let (tcp, lines, http) = (bind(config.tcp)?, bind(config.lines)?, bind(config.http)?);
        Ok(Server { config, robots: Vec::new(), ports: Ports { tcp, lines, http } })
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
        }
    }

    /// What its owner should know about the configuration.
    pub fn warnings(&self) -> Vec<String> {
        self.config.warnings()
    }

    /// Adds a robot. Names stand in addresses, so they are letters, digits, `-`, `_` and `.`.
    pub fn add(&mut self, name: &str, robot: impl Robot) -> io::Result<()> {
        let wrong = |message| Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(fits) {
            return wrong(format!("robot {name:?}: wanted letters, digits, - _ and ."));
        }
        if self.robots.iter().any(|member| *member.name == *name) {
            return wrong(format!("robot {name:?}: there is one of this name already"));
        }
        self.robots.push(Arc::new(Member::new(name, Arc::new(robot))));
        Ok(())
    }

    /// Serves until `shutdown` is done; then stops the robots, and after them the connections.
    ///
    /// Runs on the tokio runtime it is polled on, with timers and I/O enabled.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let Server { config, robots, ports } = self;
        let seats = u32::try_from(config.max_clients).unwrap_or(u32::MAX);
        let open = |listener: &StdListener| {
            listener.local_addr().is_ok_and(|address| address.ip().is_loopback())
        };
        let legacy_open = config.legacy_open;
        let hub = Arc::new(Hub::new(config, robots));
        let mut tasks = JoinSet::new();
        for member in &hub.robots {
            tasks.spawn(feed::run(Arc::clone(&hub), Arc::clone(member)));
        }
        for (port, transport) in [(ports.tcp, Transport::Tcp), (ports.lines, Transport::Lines)] {
            let Some(listener) = port else { continue };
            let legacy_open = legacy_open && matches!(transport, Transport::Tcp);
            let open = open(&listener) || legacy_open;
            let listener = TcpListener::from_std(listener)?;
            tasks.spawn(listen::serve(listener, Arc::clone(&hub), transport, open));
        }
        if let Some(listener) = ports.http {
            let open = open(&listener);
            let listener = TcpListener::from_std(listener)?;
            tasks.spawn(http::serve(listener, Arc::clone(&hub), open));
        }
        // A task that ends early (a robot that has gone) is no reason to end.
        tokio::select! {
            () = shutdown => {}
            () = async { while tasks.join_next().await.is_some() {} pending().await } => {}
        }
        let by = "the daemon's end".into();
        hub.robots.iter().for_each(|member| member.stop(&by));
        tasks.abort_all();
        hub.closing.send_replace(true);
        let _ = timeout(FAREWELL, hub.seats.acquire_many(seats)).await;
        Ok(())
    }
}
