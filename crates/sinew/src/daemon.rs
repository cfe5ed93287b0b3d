//! A daemon in this process: robots, and the server that offers them.

#[cfg(feature = "g1")]
use std::sync::Arc;
use std::{net::SocketAddr, thread, time::Duration};

use anyhow::Context;
use sinew_io::{
    Around,
    kind::{Entry, Services},
};
#[cfg(feature = "g1")]
use sinew_io::{library::Library, maps::Maps};
use sinew_server::{Addresses, Server};
use tokio::{runtime::Builder, sync::oneshot};

use crate::config::{Config, Port};

/// How long bridges to other systems get for their last words.
#[cfg(feature = "mqtt")]
const FAREWELL: Duration = Duration::from_secs(1);

/// How long a fleet may take to tell of its robots.
#[cfg(feature = "fleet")]
const FLEET: Duration = Duration::from_secs(8);

/// Robots that run, and a server that is ready to.
pub(crate) struct Daemon {
    pub(crate) server: Server,
    #[cfg(feature = "mqtt")]
    mqtt: Option<sinew_mqtt::Broker>,
    /// It ends after the server has.
    #[cfg(feature = "fleet")]
    fleet: Option<sinew_fleet::Fleet>,
}

impl Daemon {
    /// What the server is to offer by this configuration.
    pub(crate) fn offered(config: &Config) -> anyhow::Result<sinew_server::Config> {
        let tokens = match &config.server.token_file {
            Some(path) => sinew_server::Tokens::load(path)
                .with_context(|| format!("token file {}", path.display()))?,
            None => sinew_server::Tokens::default(),
        };
        let files = sinew_io::raise_file_limit().map_or(usize::MAX, |files| files as usize);
        let offered = sinew_server::Config {
            tcp: config.server.tcp.0,
            lines: config.server.lines.0,
            http: config.server.http.0,
            sangam: config.server.sangam.0,
            tokens,
            legacy_open: config.server.legacy_open,
            legacy_hold: Duration::from_millis(config.server.legacy_hold_ms),
            legacy_confirm: config.server.legacy_confirm.clone(),
            hosts: config.server.hosts.clone(),
            #[cfg(feature = "capture")]
            inspector: Some(sinew_server::Inspector::new(crate::cmd::inspect::served)),
            ..sinew_server::Config::default()
        };
        Ok(offered.within(files))
    }

    /// Opens the ports and starts the robots.
    pub(crate) fn start(
        config: &Config,
        around: impl Fn() -> anyhow::Result<Vec<Around>>,
    ) -> anyhow::Result<Self> {
        // Before any robot is begun with.
        #[cfg(feature = "fleet")]
        let plan = config.fleet.open(&crate::name::machine())?;
        let offered = Self::offered(config)?;
        #[cfg(feature = "fleet")]
        let tokens = offered.tokens.clone();
        let mut server = Server::bind(offered).context("cannot listen")?;
        #[cfg(feature = "g1")]
        let library = Arc::new(Library::new(config.server.library.clone()));
        for robot in &config.robot {
            #[cfg(feature = "fleet")]
            if config.fleet.is_on() && matches!(robot.link, sinew_io::Address::Zenoh { .. }) {
                // It joins by the fleet.
                continue;
            }
            let around = around()?;
            let started: anyhow::Result<()> = server.add(&robot.name, |audience, epoch| {
                let services = Services {
                    around,
                    epoch,
                    audience,
                    #[cfg(feature = "g1")]
                    library: Arc::clone(&library),
                    #[cfg(feature = "g1")]
                    maps: Maps::new(config.server.library.join("maps").join(&robot.name)),
                };
                Ok(robot.start(services)?)
            });
            started.with_context(|| format!("cannot start {}", robot.name))?;
        }
        Ok(Daemon {
            #[cfg(feature = "fleet")]
            fleet: plan.map(|plan| fleet(config, plan, tokens, &server)).transpose()?,
            server,
            #[cfg(feature = "mqtt")]
            mqtt: config.mqtt.open(&crate::name::machine())?,
        })
    }

    /// What its owner should know about the configuration.
    pub(crate) fn warnings(&self) -> Vec<String> {
        #[cfg_attr(not(feature = "mqtt"), allow(unused_mut))]
        let mut warnings = self.server.warnings();
        #[cfg(feature = "mqtt")]
        warnings.extend(self.mqtt.as_ref().and_then(sinew_mqtt::Broker::warning));
        warnings
    }

    /// Serves until `shutdown` is done, then stops the robots.
    pub(crate) fn run(
        self,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> anyhow::Result<()> {
        let mut workers = Builder::new_multi_thread();
        // The thread that hears clients comes before those that work for them: it is favoured, or,
        // where that is not allowed, they step back.
        if !thread::spawn(sinew_io::favour).join().unwrap_or(false) {
            workers.on_thread_start(sinew_io::step_back);
        }
        let runtime = workers.enable_all().build()?;
        #[cfg(feature = "mqtt")]
        let mqtt = self.mqtt.map(|broker| {
            let locals = self.server.locals();
            runtime.spawn(sinew_mqtt::run(broker, locals))
        });
        let result = runtime.block_on(self.server.run(shutdown));
        // It ends with the server, and has a word to say to its broker.
        #[cfg(feature = "mqtt")]
        if let Some(mqtt) = mqtt {
            let _ = runtime.block_on(async { tokio::time::timeout(FAREWELL, mqtt).await });
        }
        Ok(result?)
    }
}

/// Begins to be part of a fleet, if the configuration has one.
#[cfg(feature = "fleet")]
fn fleet(
    config: &Config,
    plan: sinew_fleet::Plan,
    tokens: sinew_server::Tokens,
    server: &Server,
) -> anyhow::Result<sinew_fleet::Fleet> {
    use sinew_fleet::{Fleet, Services, Wanted};
    use sinew_io::Address;
    let named = |robot: &Entry| match &robot.link {
        Address::Zenoh { host, robot: there } => {
            Some((robot.name.clone(), host.clone(), there.clone()))
        }
        _ => None,
    };
    let named: Vec<_> = config.robot.iter().filter_map(named).collect();
    let is_own = |robot: &&Entry| !matches!(robot.link, Address::Zenoh { .. });
    let robots: Vec<_> =
        config.robot.iter().filter(is_own).map(|robot| robot.name.clone()).collect();
    if plan.needs_tokens() && tokens.is_empty() && !robots.is_empty() {
        anyhow::bail!(
            "a fleet that goes beyond this machine needs a token file (--token-file FILE)"
        );
    }
    let services = Services {
        locals: server.locals(),
        registry: server.registry(),
        tokens,
        robots,
        wanted: Wanted { all: plan.is_hub(), named },
        // A stop comes by them, and must not wait for what a busy machine does besides.
        on_thread: sinew_io::prefer,
    };
    let fleet = Fleet::start(plan, services)?;
    if !config.fleet.listen.is_empty() {
        // A port that another program has will not be free in a moment; a router that is away may come.
        let failed =
            |reason| anyhow::anyhow!("cannot listen: fleet {}: {reason}", config.fleet.shown());
        fleet.wait_until_open(FLEET).map_err(failed)?;
    }
    Ok(fleet)
}

/// A daemon on a thread of its own, for one robot and this process only.
pub(crate) struct Running {
    addresses: Addresses,
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<anyhow::Result<()>>>,
}

impl Running {
    pub(crate) fn start(robot: Entry, http: bool) -> anyhow::Result<Self> {
        #[cfg_attr(not(feature = "fleet"), expect(unused_mut, reason = "there is no fleet"))]
        let mut config = Config { robot: vec![robot], ..Config::default() };
        #[cfg(feature = "fleet")]
        if let Some(settings) = crate::fleet::asked() {
            config.fleet = settings;
        }
        Self::run(config, http)
    }

    /// A hub of the fleet that was asked for. Returns when its robots are known.
    #[cfg(feature = "fleet")]
    pub(crate) fn hub(settings: sinew_fleet::Settings, http: bool) -> anyhow::Result<Self> {
        let fleet = sinew_fleet::Settings { hub: true, ..settings };
        Self::run(Config { fleet, ..Config::default() }, http)
    }

    fn run(mut config: Config, http: bool) -> anyhow::Result<Self> {
        config.server.tcp = Port(None);
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        config.server.http = Port(http.then_some(any));
        config.server.lines = Port(Some(any));
        let daemon = Daemon::start(&config, || Ok(Vec::new()))?;
        let addresses = daemon.server.addresses();
        #[cfg(feature = "fleet")]
        if let Some(fleet) = &daemon.fleet {
            let failed =
                |reason: String| anyhow::anyhow!("no fleet at {}: {reason}", config.fleet.shown());
            // Who stops something wants to know soon that it cannot be.
            let patience = if config.fleet.stop.is_some() { FLEET / 2 } else { FLEET };
            fleet.wait_until_settled(patience).map_err(failed)?;
        }
        let (end, ended) = oneshot::channel();
        let thread = thread::spawn(move || {
            daemon.run(async {
                let _ = ended.await;
            })
        });
        Ok(Running { addresses, end: Some(end), thread: Some(thread) })
    }

    /// Its JSON-lines port.
    pub(crate) fn lines(&self) -> SocketAddr {
        self.addresses.lines.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            let _ = end.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
