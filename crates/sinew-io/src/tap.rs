//! Taps: a line, or datagrams, with us in between.
//!
//! One thread forwards, and does nothing else; what passed goes through a bounded queue to another that
//! writes it down and shows it. A disk or a screen that is slow, full or gone delays no byte: what finds no
//! room in the queue is counted, and told.

mod files;
mod serial;
mod udp;

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::{priority, vacuum, wake::Waker};

use files::Files;
pub use files::{Logs, Rotate};
pub use serial::SerialTap;
pub use udp::UdpTap;

/// Passages, and bytes in them, that may wait to be written down.
const WAITING: (usize, usize) = (32_768, 16 << 20);
/// How long the last of them may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// Bytes that passed, or a datagram.
#[derive(Debug, Clone)]
pub struct Passage {
    /// Nanoseconds since 1970, by a clock that does not jump.
    pub nanos: u64,
    /// Whether the host sent it.
    pub from_host: bool,
    /// Who sent a datagram, and to whom.
    pub ends: Option<(SocketAddr, SocketAddr)>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What people should know of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The device is open.
    DeviceOpen,
    /// The device is not there, for this reason; it is tried again.
    DeviceGone(String),
    /// A program has opened the pseudo-terminal.
    ProgramOpen,
    /// It has closed it.
    ProgramGone,
    /// A program does not read what the device says: this many bytes were not given to it.
    NotRead(u64),
    /// The program sent so many bytes while there was no device.
    NotSent(u64),
    /// A new client of a datagram tap, and how many there are.
    Client(SocketAddr, usize),
    /// A client that was silent for longest made room for another.
    ClientLeft(SocketAddr),
    /// The target does not take datagrams, for this reason.
    TargetGone(String),
    /// A log cannot be written, for this reason; it is tried again.
    LogFailed(PathBuf, String),
    /// It can again; so many passages are missing in it.
    LogMended(PathBuf, u64),
    /// So many passages were not written down, since the disk did not keep up.
    NotLogged(u64),
    /// Forwarding has ended, for this reason.
    Ended(String),
}

/// What has passed so far.
#[derive(Debug, Default)]
pub struct Counters {
    from_host: AtomicU64,
    from_device: AtomicU64,
    not_logged: AtomicU64,
}

impl Counters {
    /// Bytes that the host sent.
    pub fn from_host(&self) -> u64 {
        self.from_host.load(Ordering::Relaxed)
    }

    /// Bytes that the device sent.
    pub fn from_device(&self) -> u64 {
        self.from_device.load(Ordering::Relaxed)
    }

    /// Passages that were not written down.
    pub fn not_logged(&self) -> u64 {
        self.not_logged.load(Ordering::Relaxed)
    }
}

/// Is shown what passed; must not block for long.
pub type Show = Box<dyn FnMut(&Passage) + Send>;

/// What a tap has in common, whatever it forwards.
struct Running {
    waker: Arc<Waker>,
    ending: Arc<AtomicBool>,
    counters: Arc<Counters>,
    forwarding: Option<thread::JoinHandle<()>>,
    written: Receiver<()>,
}

/// What the forwarding thread has.
struct Forward {
    waker: Arc<Waker>,
    ending: Arc<AtomicBool>,
    notes: Notes,
    notices: Sender<Notice>,
}

/// Where it is noted what passed.
struct Notes {
    queue: SyncSender<Passage>,
    waiting: Arc<AtomicUsize>,
    counters: Arc<Counters>,
    begin: (Instant, u64),
}

impl Running {
    fn start(
        logs: Logs,
        link: u16,
        interface: String,
        show: Show,
        notices: Sender<Notice>,
        forward: impl FnOnce(Forward) + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, noted) = sync_channel(WAITING.0);
        let (all, written) = sync_channel(1);
        let waiting = Arc::<AtomicUsize>::default();
        let counters = Arc::<Counters>::default();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let begin = (Instant::now(), since_1970.as_nanos() as u64);
        let mut files = Files::create(&logs, link, interface, begin, notices.clone())?;
        let (taken, counted) = (Arc::clone(&waiting), Arc::clone(&counters));
        let told = notices.clone();
        thread::Builder::new().name("tap-log".into()).spawn(move || {
            write(&noted, &taken, &counted, &mut files, show, &told);
            let _ = all.send(());
        })?;
        let waker = Arc::new(Waker::new()?);
        let ending = Arc::<AtomicBool>::default();
        let notes = Notes { queue, waiting, counters: Arc::clone(&counters), begin };
        let own =
            Forward { waker: Arc::clone(&waker), ending: Arc::clone(&ending), notes, notices };
        let forwarding = thread::Builder::new().name("tap".into()).spawn(move || {
            // A controller stops its motors after 50 ms without a heartbeat, which passes through us.
            priority::raise(vacuum::PRIORITY);
            forward(own);
        })?;
        Ok(Running { waker, ending, counters, forwarding: Some(forwarding), written })
    }
}

/// Ends forwarding, then writes down what is left.
impl Drop for Running {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        self.waker.wake();
        if let Some(thread) = self.forwarding.take() {
            let _ = thread.join();
        }
        let _ = self.written.recv_timeout(FAREWELL);
    }
}

impl Forward {
    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    fn tell(&self, notice: Notice) {
        let _ = self.notices.send(notice);
    }
}

impl Notes {
    fn note(
        &mut self,
        now: Instant,
        from_host: bool,
        ends: Option<(SocketAddr, SocketAddr)>,
        bytes: &[u8],
    ) {
        let count = &self.counters;
        let total = if from_host { &count.from_host } else { &count.from_device };
        total.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let (begin, since_1970) = self.begin;
        let nanos = since_1970 + now.saturating_duration_since(begin).as_nanos() as u64;
        // Before it is sent, since its bytes are taken off when it comes.
        let before = self.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        let taken = before + bytes.len() <= WAITING.1 && {
            let passage = Passage { nanos, from_host, ends, bytes: bytes.to_vec() };
            self.queue.try_send(passage).is_ok()
        };
        if !taken {
            self.waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
            self.counters.not_logged.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes down and shows what passed, until there is no more.
fn write(
    noted: &Receiver<Passage>,
    waiting: &AtomicUsize,
    counters: &Counters,
    files: &mut Files,
    mut show: Show,
    notices: &Sender<Notice>,
) {
    let mut told = 0;
    loop {
        match noted.recv_timeout(files::FLUSH) {
            Ok(passage) => {
                waiting.fetch_sub(passage.bytes.len(), Ordering::Relaxed);
                files.take(&passage);
                show(&passage);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return files.finish(),
        }
        files.flush_when_due();
        let lost = counters.not_logged();
        if lost > told {
            // Once for all that were lost in a row.
            let _ = notices.send(Notice::NotLogged(lost - told));
            told = lost;
        }
    }
}
