//! A daemon in this process: robots, and the server that offers them.

#[cfg(feature = "g1")]
mod g1;

use std::{net::SocketAddr, thread};

use anyhow::Context;
use sinew_io::{Address, tap::Tap, vacuum::Vacuum};
use sinew_server::{Addresses, Server};
use tokio::{runtime::Builder, sync::oneshot};

use crate::config::{Config, Kind, Port, Robot};

/// Robots that run, and a server that is ready to.
pub(crate) struct Daemon {
    pub(crate) server: Server,
    vacuums: Vec<Vacuum>,
    #[cfg(feature = "g1")]
    g1s: g1::G1s,
}

impl Daemon {
    /// Opens the ports and starts the robots.
    pub(crate) fn start(
        config: &Config,
        tap: impl Fn() -> anyhow::Result<Tap>,
    ) -> anyhow::Result<Self> {
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
            tokens,
            legacy_open: config.server.legacy_open,
            hosts: config.server.hosts.clone(),
            ..sinew_server::Config::default()
        };
        let mut server = Server::bind(offered.within(files)).context("cannot listen")?;
        let mut vacuums = Vec::new();
        #[cfg(feature = "g1")]
        let mut g1s = g1::G1s::new(&config.server.library);
        for robot in &config.robot {
            let failed = || format!("cannot start {}", robot.name);
            match robot.kind {
                Kind::Crl200s => {
                    let vacuum = Vacuum::spawn(robot.address()?, robot.settings(), tap()?)
                        .with_context(failed)?;
                    server.add(&robot.name, vacuum.clone())?;
                    vacuums.push(vacuum);
                }
                #[cfg(feature = "g1")]
                Kind::G1 => {
                    g1s.start(&robot.name, robot.address()?, tap()?, &mut server)
                        .with_context(failed)?;
                }
                #[cfg(not(feature = "g1"))]
                Kind::G1 => anyhow::bail!("{}: this build has no G1", robot.name),
            }
        }
        Ok(Daemon {
            server,
            vacuums,
            #[cfg(feature = "g1")]
            g1s,
        })
    }

    /// Whether every robot's thread got real-time priority.
    pub(crate) fn has_real_time_priority(&self) -> bool {
        self.vacuums.iter().all(Vacuum::has_real_time_priority)
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
        let result = runtime.block_on(self.server.run(shutdown));
        self.vacuums.iter().for_each(Vacuum::shut_down);
        #[cfg(feature = "g1")]
        self.g1s.shut_down();
        Ok(result?)
    }
}

/// A daemon on a thread of its own, for one robot and this process only.
pub(crate) struct Running {
    addresses: Addresses,
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<anyhow::Result<()>>>,
}

impl Running {
    pub(crate) fn start(address: Address) -> anyhow::Result<Self> {
        let robot = match address {
            #[cfg(feature = "g1")]
            Address::Udp { .. } => Robot::g1(address.to_string()),
            _ => Robot::vacuum(address.to_string()),
        };
        let mut config = Config { robot: vec![robot], ..Config::default() };
        config.server.tcp = Port(None);
        config.server.http = Port(None);
        config.server.lines = Port(Some(SocketAddr::from(([127, 0, 0, 1], 0))));
        let daemon = Daemon::start(&config, || Ok(Tap::default()))?;
        let addresses = daemon.server.addresses();
        let (end, ended) = oneshot::channel();
        let thread = thread::spawn(move || {
            daemon.run(async {
                let _ = ended.await;
            })
        });
        Ok(Running { addresses, end: Some(end), thread: Some(thread) })
    }

    /// Its JSON-lines port.
    pub(crate) fn lines(&self) -> String {
        self.addresses.lines.map_or_else(String::new, |address| address.to_string())
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
