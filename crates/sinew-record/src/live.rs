//! The same topics live, for Foxglove to connect to.
//!
//! The SDK's server listens on a loopback address that is chosen at random, and what clients see is a gate in
//! front of it: the SDK takes any connection from any page, and as many as come. The gate asks for a token
//! where the daemon has some, looks at `Host` and `Origin`, and lets a few in. Nothing is listened to, and
//! nothing converted, while no client is there.
//!
//! It is read only: the SDK's server is given no capability by which a client could ask for anything but topics.

mod gate;

use std::{
    collections::HashMap,
    fmt, io,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use foxglove::{ChannelBuilder, Context, PartialMetadata, RawChannel, WebSocketServerHandle};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::{
    Converter, Kind, Topical,
    feed::{Error, Feed, Wanted},
    recorder::Told,
};

/// Messages that wait for a client that reads too slowly; then it loses the oldest.
const BACKLOG: usize = 128;
/// How often maps are given out though nothing has changed, for clients that came later.
const AGAIN: Duration = Duration::from_secs(5);
/// How long to wait before the daemon is asked again.
const RETRY: Duration = Duration::from_secs(1);

/// Says whether a token, or none, lets a client in.
pub type Admits = Arc<dyn Fn(Option<&str>) -> bool + Send + Sync>;

/// Where to be found, and by which clients.
pub struct Options {
    /// Where to listen.
    pub address: SocketAddr,
    /// Whether a token, or none, lets a client in.
    pub admits: Admits,
    /// Names by which browsers may know this machine, beside its addresses and `localhost`.
    pub hosts: Vec<String>,
    /// What to do first on each thread.
    pub on_thread: fn(),
    /// What is shown.
    pub topics: Vec<String>,
}

/// A server that runs until it is dropped.
pub struct Live {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    server: Option<WebSocketServerHandle>,
    runtime: Option<Runtime>,
}

/// How many clients there are.
#[derive(Debug, Default)]
struct Shared {
    clients: Mutex<Clients>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Clients {
    count: usize,
    is_over: bool,
}

impl Live {
    /// Listens; what is told comes by connections that `connect` makes, each the client's end of a WebSocket
    /// of the daemon.
    pub fn start(
        options: Options,
        connect: impl Fn() -> io::Result<TcpStream> + Send + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(options.address)?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_multi_thread()
            // One only: see `Work::channel`.
            .worker_threads(1)
            .thread_name("foxglove")
            .on_thread_start(options.on_thread)
            .enable_all()
            .build()?;
        let context = Context::new();
        let (server, inner) = inner(&context, &runtime)?;
        let shared = Arc::new(Shared::default());
        let (on_thread, topics) = (options.on_thread, options.topics.clone());
        let gate = gate::Gate::new(options, inner, Arc::clone(&shared));
        runtime.spawn(gate.run(listener));
        let ours = Arc::clone(&shared);
        let handle = runtime.handle().clone();
        let work = move || {
            on_thread();
            let wanted = Wanted { topics, ..Wanted::default() };
            Work { context, shared: ours, channels: HashMap::new(), server: handle }
                .run(&connect, &wanted);
        };
        let thread = thread::Builder::new().name("foxglove-feed".into()).spawn(work)?;
        let (server, runtime) = (Some(server), Some(runtime));
        Ok(Live { address, shared, thread: Some(thread), server, runtime })
    }

    /// Where clients find it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        lock(&self.shared).is_over = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It looks at least ten times a second.
            let _ = thread.join();
        }
        drop(self.server.take().map(WebSocketServerHandle::stop));
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("address", &self.address).finish_non_exhaustive()
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, Clients> {
    shared.clients.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The SDK's server, where no page finds it by trying: one of 2^24 addresses, and any port.
fn inner(
    context: &Arc<Context>,
    runtime: &Runtime,
) -> io::Result<(WebSocketServerHandle, SocketAddr)> {
    let start = |host: Ipv4Addr| {
        let server = context
            .websocket_server()
            .name("sinew")
            .message_backlog_size(BACKLOG)
            .tokio_runtime(runtime.handle())
            .bind(host.to_string(), 0);
        // It would tell an address that is not for clients.
        let silent = tracing::subscriber::NoSubscriber::default();
        let start = || runtime.block_on(server.start());
        let handle = tracing::subscriber::with_default(silent, start)?;
        let address = SocketAddr::from((host, handle.port()));
        Ok((handle, address))
    };
    let [a, b, c, ..] = random().to_le_bytes();
    // Where only one loopback address is known, that has to do.
    start(Ipv4Addr::new(127, a, b, c.clamp(1, 254)))
        .or_else(|_| start(Ipv4Addr::LOCALHOST))
        .map_err(|error: foxglove::FoxgloveError| io::Error::other(error.to_string()))
}

/// The standard library seeds its hashers by the system's random numbers.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

/// Listens to the daemon while clients are there.
struct Work {
    context: Arc<Context>,
    shared: Arc<Shared>,
    channels: HashMap<(String, Kind), Arc<RawChannel>>,
    /// Where the SDK's server runs.
    server: Handle,
}

impl Work {
    fn run(mut self, connect: &dyn Fn() -> io::Result<TcpStream>, wanted: &Wanted) {
        while self.wait_for_clients() {
            let stream = connect().map_err(|error| Error::Lost(error.to_string()));
            let ended = stream
                .and_then(|stream| Feed::over(stream, wanted))
                .and_then(|feed| self.show(feed));
            if let Err(error) = ended {
                tracing::warn!("nothing to show in Foxglove for now: {error}");
                let clients = lock(&self.shared);
                let waited = self.shared.changed.wait_timeout(clients, RETRY);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Waits until there is one; false when it is over.
    fn wait_for_clients(&self) -> bool {
        let idle = |clients: &mut Clients| clients.count == 0 && !clients.is_over;
        let clients = self.shared.changed.wait_while(lock(&self.shared), idle);
        !clients.unwrap_or_else(PoisonError::into_inner).is_over
    }

    fn show(&mut self, mut feed: Feed) -> Result<(), Error> {
        let mut converter = Converter::new(feed.robots().to_vec());
        let mut given = Instant::now();
        loop {
            {
                let clients = lock(&self.shared);
                if clients.count == 0 || clients.is_over {
                    return Ok(());
                }
            }
            let told = feed.hear()?;
            let at_ns = feed.now_ns();
            let mut out = |topical: Topical| self.give(&topical);
            match told {
                Some(Told::Event(event)) => converter.event(at_ns, event, &mut out),
                Some(Told::Frame(bytes)) => converter.frame(at_ns, &bytes, &mut out),
                Some(Told::Lost(count)) => {
                    let text = format!("{count} messages were lost on the way to Foxglove");
                    converter.note(at_ns, &text, &mut out);
                }
                None => {}
            }
            if given.elapsed() >= AGAIN {
                given = Instant::now();
                converter.again();
            }
            converter.settle(at_ns, false, &mut out);
        }
    }

    fn give(&mut self, topical: &Topical) {
        let key = (topical.topic.clone(), topical.kind);
        let channel = match self.channels.get(&key) {
            Some(channel) => channel,
            None => match self.channel(topical) {
                Some(channel) => self.channels.entry(key).or_insert(channel),
                None => return,
            },
        };
        channel.log_with_meta(&topical.data, PartialMetadata::with_log_time(topical.log_ns));
    }

    /// Makes a channel on the server's only thread: the SDK tells clients of it before it takes their
    /// subscriptions, so that one that is quick would be refused if the thread that hears it were another.
    fn channel(&self, topical: &Topical) -> Option<Arc<RawChannel>> {
        let builder = ChannelBuilder::new(&topical.topic)
            .context(&self.context)
            .message_encoding(topical.kind.encoding())
            .schema(topical.kind.schema());
        let built = self.server.spawn(async move { builder.build_raw() });
        match self.server.block_on(built) {
            Ok(Ok(channel)) => Some(channel),
            Ok(Err(error)) => {
                tracing::debug!("{}: {error}", topical.topic);
                None
            }
            // The server has ended.
            Err(_) => None,
        }
    }
}
