//! A session with the fleet, on threads of its own.

use std::{
    io,
    pin::pin,
    thread,
    time::{Duration, Instant},
};

use sinew_server::{Locals, Registry, Tokens};
use tokio::{
    runtime::Builder,
    sync::{oneshot, watch},
    time::{sleep, timeout},
};
use zenoh::Session;

use crate::{Plan, hub, hub::Wanted, plan::plain, station};

/// How long it takes until a router that is not there is tried again.
const AGAIN: Duration = Duration::from_secs(2);
/// How long others may take to hear that we go.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often it is looked whether it is open, by those that wait for it.
const LOOK: Duration = Duration::from_millis(5);
/// Threads for what our clients ask of the fleet.
const THREADS: usize = 2;

/// What a fleet is given of the daemon.
pub struct Services {
    /// For those that ask something of our robots.
    pub locals: Locals,
    /// Where robots of others join.
    pub registry: Registry,
    /// What clients of the fleet may show, where they need to.
    pub tokens: Tokens,
    /// The names of our own robots.
    pub robots: Vec<String>,
    /// Which robots of others are offered.
    pub wanted: Wanted,
    /// Called by each thread that is started.
    pub on_thread: fn(),
}

/// A session that runs; it ends when this is dropped.
pub struct Fleet {
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
    settled: watch::Receiver<bool>,
    opened: watch::Receiver<Option<Result<(), String>>>,
}

impl Fleet {
    /// Begins a session. A router that is not there is tried again for as long as it takes.
    pub fn start(plan: Plan, services: Services) -> io::Result<Self> {
        let (end, ended) = oneshot::channel();
        let (settling, settled) = watch::channel(false);
        let (opening, opened) = watch::channel(None);
        let on_thread = services.on_thread;
        // Of several threads: Zenoh takes no runtime of one.
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("fleet")
            .on_thread_start(on_thread)
            .enable_all()
            .build()?;
        // Those of a daemon that has ended are withdrawn.
        let farewell = if services.robots.is_empty() { Duration::ZERO } else { FAREWELL };
        let run = move || {
            // Zenoh starts its threads from this one, or from those above.
            on_thread();
            runtime.block_on(async {
                let mut running = pin!(run(&plan, services, settling, opening));
                tokio::select! {
                    () = &mut running => return,
                    _ = ended => {}
                }
                let _ = timeout(farewell, running).await;
            });
            runtime.shutdown_timeout(FAREWELL);
        };
        let thread = Some(thread::Builder::new().name("fleet".into()).spawn(run)?);
        Ok(Fleet { end: Some(end), thread, settled, opened })
    }

    /// Waits until the session is open, or was tried to be opened once without success: why.
    pub fn wait_until_open(&self, patience: Duration) -> Result<(), String> {
        self.wait(patience, || self.opened.borrow().clone())
    }

    /// Waits until the robots are known that are there; why there is no fleet, if there is none by then.
    pub fn wait_until_settled(&self, patience: Duration) -> Result<(), String> {
        let failed = || self.opened.borrow().clone().filter(Result::is_err);
        self.wait(patience, || if *self.settled.borrow() { Some(Ok(())) } else { failed() })
    }

    fn wait(
        &self,
        patience: Duration,
        outcome: impl Fn() -> Option<Result<(), String>>,
    ) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            if let Some(outcome) = outcome() {
                return outcome;
            }
            if begin.elapsed() > patience {
                return Err(format!("nothing was heard within {} s", patience.as_secs()));
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            let _ = end.send(());
        }
        if let Some(thread) = self.thread.take() {
            // One that waits for a router that does not answer ends with the process.
            let _ = self.wait(FAREWELL * 2, || thread.is_finished().then_some(Ok(())));
        }
    }
}

async fn run(
    plan: &Plan,
    services: Services,
    settling: watch::Sender<bool>,
    opening: watch::Sender<Option<Result<(), String>>>,
) {
    let session = open(plan, &opening).await;
    let Services { locals, registry, tokens, robots, wanted, on_thread: _ } = services;
    let publishes = !robots.is_empty();
    let publishing = async {
        if !publishes {
            return std::future::pending().await;
        }
        // One's own way into the fleet does not say who else is in it: where there are tokens, they count.
        let tokens = Some(tokens).filter(|tokens| plan.beyond || !tokens.is_empty());
        station::run(session.clone(), plan, locals, &robots, tokens).await
    };
    let offering = async {
        if !wanted.all && wanted.named.is_empty() {
            settling.send_replace(true);
            return std::future::pending().await;
        }
        hub::run(session.clone(), plan, registry, wanted, publishes, settling).await
    };
    let ended = tokio::select! {
        ended = publishing => ended,
        ended = offering => ended,
    };
    if let Err(error) = ended {
        tracing::error!("fleet: {error}");
    }
    let _ = timeout(FAREWELL, session.close()).await;
}

/// Opens the session, however long that takes. It then comes back by itself whenever it is lost.
async fn open(plan: &Plan, opening: &watch::Sender<Option<Result<(), String>>>) -> Session {
    let mut told = false;
    loop {
        match zenoh::open(plan.config.clone()).await {
            Ok(session) => {
                tracing::info!("fleet: {} is in it, by {}", plan.host, plan.shown);
                opening.send_replace(Some(Ok(())));
                return session;
            }
            Err(error) => {
                let reason = plain(&error.to_string());
                if !told {
                    tracing::warn!("fleet: {}: {reason}; it is tried again", plan.shown);
                }
                told = true;
                opening.send_replace(Some(Err(reason)));
                sleep(AGAIN).await;
            }
        }
    }
}
