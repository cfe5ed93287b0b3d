//! A byte port that never blocks: a serial device, or the master of a pseudo-terminal.
//!
//! Asking a terminal for bytes that are not there, by `poll` or `read`, waits for a thread of the
//! kernel that moves them, and that thread has no real-time priority: under load the heartbeat would
//! wait with it. So a port says when something new has come (edge-triggered), and is asked only then.

use std::{
    collections::VecDeque,
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    time::Instant,
};

use rustix::{
    event::{Timespec, epoll},
    fs::{FlockOperation, Mode, OFlags, flock, open},
    io::{Errno, retry_on_intr},
    termios::{OptionalActions, ioctl_tiocexcl, tcgetattr, tcsetattr},
};

/// Frames that may wait for the port to take them. At one every 20 ms this is over half a second:
/// whatever has waited that long is stale, and the port is stuck.
const MAX_WAITING: usize = 32;

/// What a port has become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready {
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

#[derive(Debug)]
pub(crate) struct Port {
    fd: OwnedFd,
    /// An epoll that watches it.
    events: OwnedFd,
    /// Nobody is at its other end any more.
    gone: bool,
    waiting: VecDeque<Vec<u8>>,
    /// Since when it has taken no more; it will say when it does.
    stuck_since: Option<Instant>,
    /// Bytes of the first waiting frame that are out already.
    sent: usize,
}

impl Port {
    /// Opens a serial device: 8N1, raw, no flow control, for us alone.
    pub(crate) fn open_serial(path: &Path, baud: u32) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty())?;
        // Two hosts on one line would hear half of it each.
        flock(&fd, FlockOperation::NonBlockingLockExclusive)?;
        let mut settings = tcgetattr(&fd)?;
        settings.make_raw();
        settings.set_speed(baud)?;
        tcsetattr(&fd, OptionalActions::Flush, &settings)?;
        // This keeps out programs that do not look at locks. On a pseudo-terminal it would outlive
        // us, for whoever is at its other end holds it open, and keep out our successor.
        if !is_pseudo_terminal(path) {
            let _ = ioctl_tiocexcl(&fd);
        }
        Port::new(fd)
    }

    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let new = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&events, &fd, epoll::EventData::new_u64(0), new)?;
        Ok(Port { fd, events, gone: false, waiting: VecDeque::new(), stuck_since: None, sent: 0 })
    }

    /// What is new since the last time. What is readable must be read to its end.
    pub(crate) fn take_events(&mut self) -> io::Result<Ready> {
        let mut space = [MaybeUninit::uninit()];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let (events, _) = epoll::wait(&self.events, &mut space, Some(&at_once))?;
        let flags = events.first().map_or(epoll::EventFlags::empty(), |event| event.flags);
        self.gone |= flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        Ok(Ready {
            readable: flags.contains(epoll::EventFlags::IN) || self.gone,
            writable: flags.contains(epoll::EventFlags::OUT),
        })
    }

    /// Reads what is there. `Ok(0)` is nothing yet; the end of the port is an error.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match retry_on_intr(|| rustix::io::read(&self.fd, &mut *buffer)) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => Ok(count),
            Err(Errno::AGAIN) if self.gone => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(Errno::AGAIN) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Queues bytes and sends what the port takes.
    pub(crate) fn write(&mut self, now: Instant, bytes: &[u8]) -> io::Result<()> {
        if self.waiting.len() >= MAX_WAITING {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the port takes no more bytes"));
        }
        self.waiting.push_back(bytes.to_vec());
        self.flush(now)
    }

    /// Sends what the port takes of what is waiting.
    pub(crate) fn flush(&mut self, now: Instant) -> io::Result<()> {
        let was_stuck = self.stuck_since.is_some();
        let waited = self.waiting.len();
        self.send_waiting()?;
        let is_stuck = self.is_waiting();
        if !is_stuck || self.waiting.len() < waited {
            self.stuck_since = None;
        }
        if is_stuck {
            self.stuck_since.get_or_insert(now);
        }
        if was_stuck != is_stuck {
            let mut new = epoll::EventFlags::IN | epoll::EventFlags::ET;
            new.set(epoll::EventFlags::OUT, is_stuck);
            epoll::modify(&self.events, &self.fd, epoll::EventData::new_u64(0), new)?;
        }
        Ok(())
    }

    fn send_waiting(&mut self) -> io::Result<()> {
        while let Some(frame) = self.waiting.front() {
            match rustix::io::write(&self.fd, frame.get(self.sent..).unwrap_or_default()) {
                Ok(count) => self.sent += count,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if self.sent >= frame.len() {
                self.waiting.pop_front();
                self.sent = 0;
            }
        }
        Ok(())
    }

    /// Forgets frames of which nothing has been sent: a stop must not queue behind them.
    pub(crate) fn discard_waiting(&mut self) {
        self.waiting.truncate(usize::from(self.sent > 0));
    }

    /// Since when the port has taken nothing of what waits for it.
    pub(crate) fn stuck_since(&self) -> Option<Instant> {
        self.stuck_since
    }

    fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Readable when there is something for [`take_events`](Self::take_events).
    pub(crate) fn events(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

fn is_pseudo_terminal(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| path.starts_with("/dev/pts"))
}
