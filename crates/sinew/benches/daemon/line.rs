//! The robot's end of the serial line, and when bytes come there. Tests use it too.
//!
//! A pseudo-terminal hands bytes over on a thread of the kernel that has no real-time priority: on
//! a busy machine they come late, however early they were written.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use sinew_io::Pty;
use sinew_sim::vacuum::{Controller, Options, Received};
use sinew_wire::gd32::Command;

use crate::priority::raise_priority;

/// Above that of the daemon's thread: this one tells the time.
const PRIORITY: u8 = 60;
/// How long the thread may take to notice that it is to end.
const NOTICE: Duration = Duration::from_millis(20);
/// A line of 115200 baud: ten bits a byte.
pub(crate) const SERIAL_BYTES_PER_SECOND: u32 = 11_520;
/// How often a line that carries bytes is looked at: some eleven of them.
const CARRY: Duration = Duration::from_millis(1);

/// A simulated controller on a pseudo-terminal that this process holds.
pub(crate) struct Line {
    pty: Pty,
    /// The host's frames, with the time of their arrival.
    pub(crate) frames: mpsc::Receiver<Received>,
    /// Whether times are taken with real-time priority.
    pub(crate) real_time: bool,
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    ending: AtomicBool,
    /// Status packets are not sent.
    paused: AtomicBool,
    statuses: AtomicU64,
}

impl Line {
    /// A line that carries bytes as fast as they come.
    pub(crate) fn start(rate_hz: u32) -> anyhow::Result<Self> {
        Self::with(rate_hz, None)
    }

    /// A line that carries the host's bytes no faster than a serial one does.
    pub(crate) fn start_serial(rate_hz: u32) -> anyhow::Result<Self> {
        Self::with(rate_hz, Some(Throttle::new(SERIAL_BYTES_PER_SECOND)))
    }

    fn with(rate_hz: u32, throttle: Option<Throttle>) -> anyhow::Result<Self> {
        let pty = Pty::open(None)?;
        let master = pty.master()?;
        let shared = Arc::new(Shared::default());
        let (sender, frames) = mpsc::channel();
        let (priority, raised) = mpsc::channel();
        let options = Options { rate_hz, seed: 1, ..Options::default() };
        let controller = Controller::new(options, Instant::now());
        let shared_end = Arc::clone(&shared);
        let mut end = End { master, controller, throttle, frames: sender, shared: shared_end };
        let thread = thread::Builder::new().name("line".into()).spawn(move || {
            let _ = priority.send(raise_priority(PRIORITY));
            // A pseudo-terminal fails when it is gone, which the case notices by the silence.
            let _ = end.run();
        })?;
        let real_time = raised.recv()?;
        Ok(Line { pty, frames, real_time, shared, thread: Some(thread) })
    }

    /// What the daemon is to open.
    pub(crate) fn link(&self) -> String {
        format!("serial:{}", self.pty.path().display())
    }

    /// Withholds status packets, or lets them come again.
    pub(crate) fn pause(&self, paused: bool) {
        self.shared.paused.store(paused, Ordering::Release);
    }

    /// Status packets sent so far.
    pub(crate) fn statuses(&self) -> u64 {
        self.shared.statuses.load(Ordering::Acquire)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }
}

struct End {
    master: OwnedFd,
    controller: Controller,
    throttle: Option<Throttle>,
    frames: mpsc::Sender<Received>,
    shared: Arc<Shared>,
}

impl End {
    fn run(&mut self) -> io::Result<()> {
        while !self.shared.is_ending() {
            let due = self.controller.poll_timeout().saturating_duration_since(Instant::now());
            self.wait_for_bytes(due)?;
            let now = Instant::now();
            self.read(now)?;
            self.controller.handle_timeout(now);
            while let Some(frame) = self.controller.poll_transmit() {
                let status = frame.as_bytes().get(3) == Some(&Command::Status.code());
                if !status || !self.shared.paused.load(Ordering::Acquire) {
                    self.write(frame.as_bytes())?;
                    self.shared.statuses.fetch_add(status.into(), Ordering::AcqRel);
                }
            }
        }
        Ok(())
    }

    fn wait_for_bytes(&mut self, due: Duration) -> io::Result<()> {
        match &mut self.throttle {
            Some(throttle) if throttle.is_carrying() => thread::sleep(CARRY.min(due)),
            Some(throttle) => {
                if wait(&self.master, PollFlags::IN, due)? {
                    throttle.begin(Instant::now());
                }
            }
            None => drop(wait(&self.master, PollFlags::IN, due)?),
        }
        Ok(())
    }

    fn read(&mut self, now: Instant) -> io::Result<()> {
        let mut buffer = [0; 4096];
        let carried = self.throttle.as_ref().map_or(usize::MAX, |throttle| throttle.carried(now));
        let most = carried.min(buffer.len());
        let space = buffer.get_mut(..most).unwrap_or_default();
        if space.is_empty() {
            return Ok(());
        }
        let count = match rustix::io::read(&self.master, space) {
            Ok(count) => count,
            Err(Errno::AGAIN) => 0,
            Err(error) => return Err(error.into()),
        };
        if let Some(throttle) = &mut self.throttle {
            throttle.took(count, most);
        }
        self.controller.handle_input(now, buffer.get(..count).unwrap_or_default());
        for frame in self.controller.take_received() {
            let _ = self.frames.send(frame);
        }
        Ok(())
    }

    /// Writes all of it, however long the host takes.
    fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() && !self.shared.is_ending() {
            match rustix::io::write(&self.master, bytes) {
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(Errno::AGAIN) => drop(wait(&self.master, PollFlags::OUT, NOTICE)?),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// How much a line has carried. A pseudo-terminal has no speed of its own: bytes that this has not
/// carried yet wait in its buffers, as they would in those of a serial device.
struct Throttle {
    bytes_per_second: u32,
    /// Up to when the line has carried bytes; none while it has none to carry.
    busy_since: Option<Instant>,
}

impl Throttle {
    fn new(bytes_per_second: u32) -> Self {
        Throttle { bytes_per_second, busy_since: None }
    }

    fn is_carrying(&self) -> bool {
        self.busy_since.is_some()
    }

    /// Bytes have come to a line that was idle.
    fn begin(&mut self, now: Instant) {
        self.busy_since = Some(now);
    }

    /// How many bytes the line has had the time for.
    fn carried(&self, now: Instant) -> usize {
        let time = self.busy_since.map(|since| now.saturating_duration_since(since));
        (time.unwrap_or_default().as_secs_f64() * f64::from(self.bytes_per_second)) as usize
    }

    /// There were so many bytes, where there could have been `most`.
    fn took(&mut self, count: usize, most: usize) {
        let time = Duration::from_secs(1) * count as u32 / self.bytes_per_second;
        self.busy_since = self.busy_since.filter(|_| count == most).map(|since| since + time);
    }
}

/// Whether it became so before the time was over.
fn wait(end: &OwnedFd, flags: PollFlags, time: Duration) -> io::Result<bool> {
    let time = Timespec { tv_sec: 0, tv_nsec: time.min(NOTICE).as_nanos() as i64 };
    match poll(&mut [PollFd::new(end, flags)], Some(&time)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
