//! The robot's end of the serial line, and when bytes come there.
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

use crate::raise_priority;

/// Above that of the daemon's thread: this one tells the time.
const PRIORITY: u8 = 60;
/// How long the thread may take to notice that it is to end.
const NOTICE: Duration = Duration::from_millis(20);

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
    pub(crate) fn start(rate_hz: u32) -> anyhow::Result<Self> {
        let pty = Pty::open(None)?;
        let master = pty.master()?;
        let shared = Arc::new(Shared::default());
        let (sender, frames) = mpsc::channel();
        let (priority, raised) = mpsc::channel();
        let options = Options { rate_hz, seed: 1, ..Options::default() };
        let controller = Controller::new(options, Instant::now());
        let mut end = End { master, controller, frames: sender, shared: Arc::clone(&shared) };
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
    frames: mpsc::Sender<Received>,
    shared: Arc<Shared>,
}

impl End {
    fn run(&mut self) -> io::Result<()> {
        while !self.shared.is_ending() {
            let due = self.controller.poll_timeout().saturating_duration_since(Instant::now());
            wait(&self.master, PollFlags::IN, due)?;
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

    fn read(&mut self, now: Instant) -> io::Result<()> {
        let mut buffer = [0; 4096];
        let count = match rustix::io::read(&self.master, &mut buffer) {
            Ok(count) => count,
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
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
                Err(Errno::AGAIN) => wait(&self.master, PollFlags::OUT, NOTICE)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn wait(end: &OwnedFd, flags: PollFlags, time: Duration) -> io::Result<()> {
    let time = Timespec { tv_sec: 0, tv_nsec: time.min(NOTICE).as_nanos() as i64 };
    match poll(&mut [PollFd::new(end, flags)], Some(&time)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
