//! A byte port that never blocks: a serial device, or the master of a pseudo-terminal.
//!
//! Asking a terminal for bytes that are not there, by `poll` or `read`, waits for a thread of the
//! kernel that moves them, and that thread has no real-time priority: under load the heartbeat would
//! wait with it. So a port says when something new has come (edge-triggered), and is asked only then.

use std::{
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

/// A terminal gives at most this many bytes at a time, however many it has.
const AT_ONCE: usize = 4095;
/// The longest frame, twice.
const FRAMES: usize = 1024;

#[derive(Debug)]
pub(crate) struct Port {
    fd: OwnedFd,
    /// An epoll that watches it.
    events: OwnedFd,
    /// It may have bytes to read.
    readable: bool,
    /// Its other end is closed.
    gone: bool,
    /// What it has not taken yet of the last frame: nothing is sent before that is out.
    waiting: Vec<u8>,
    /// Some of that frame is out.
    begun: bool,
    /// Since when it has taken no more; it will say when it does.
    stuck_since: Option<Instant>,
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
        // us, for the program at its other end holds it open, and keep out our successor.
        if !is_pseudo_terminal(path) {
            let _ = ioctl_tiocexcl(&fd);
        }
        Port::new(fd)
    }

    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let new = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&events, &fd, epoll::EventData::new_u64(0), new)?;
        Ok(Port {
            fd,
            events,
            readable: true,
            gone: false,
            waiting: Vec::with_capacity(FRAMES),
            begun: false,
            stuck_since: None,
        })
    }

    /// Looks at what is new since the last time.
    pub(crate) fn take_events(&mut self, now: Instant) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit()];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let (events, _) = epoll::wait(&self.events, &mut space, Some(&at_once))?;
        let flags = events.first().map_or(epoll::EventFlags::empty(), |event| event.flags);
        self.gone |= flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        self.readable |= flags.contains(epoll::EventFlags::IN) || self.gone;
        match flags.contains(epoll::EventFlags::OUT) {
            true => self.flush(now),
            false => Ok(()),
        }
    }

    /// Reads what is there. `Ok(0)` is nothing yet; the end of the port is an error.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.readable {
            return Ok(0);
        }
        let read = retry_on_intr(|| rustix::io::read(&self.fd, &mut *buffer));
        // Fewer bytes than it could give are all there are.
        let most = buffer.len().min(AT_ONCE);
        self.readable = self.gone || read.is_ok_and(|count| count >= most);
        match read {
            Ok(0) => Err(closed()),
            Ok(count) => Ok(count),
            Err(Errno::AGAIN) if self.gone => Err(closed()),
            Err(Errno::AGAIN) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends bytes; what the port does not take waits.
    pub(crate) fn write(&mut self, now: Instant, bytes: &[u8]) -> io::Result<()> {
        let begins = self.waiting.is_empty();
        self.waiting.extend_from_slice(bytes);
        self.begun &= !begins;
        self.flush(now)
    }

    /// Sends what the port takes of what is waiting.
    pub(crate) fn flush(&mut self, now: Instant) -> io::Result<()> {
        let was_stuck = self.stuck_since.is_some();
        while !self.waiting.is_empty() {
            match rustix::io::write(&self.fd, &self.waiting) {
                Ok(count) => {
                    self.waiting.drain(..count);
                    self.begun = true;
                    self.stuck_since = None;
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let is_stuck = !self.waiting.is_empty();
        match is_stuck {
            true => drop(self.stuck_since.get_or_insert(now)),
            false => self.stuck_since = None,
        }
        if was_stuck != is_stuck {
            let mut new = epoll::EventFlags::IN | epoll::EventFlags::ET;
            new.set(epoll::EventFlags::OUT, is_stuck);
            epoll::modify(&self.events, &self.fd, epoll::EventData::new_u64(0), new)?;
        }
        Ok(())
    }

    /// Forgets a frame of which nothing has been sent: a stop must not queue behind it.
    pub(crate) fn discard(&mut self) {
        if !self.begun {
            self.waiting.clear();
            self.stuck_since = None;
        }
    }

    /// Forgets all that waits, though a frame may have begun.
    #[cfg(feature = "capture")]
    pub(crate) fn forget(&mut self) {
        self.waiting.clear();
        self.stuck_since = None;
    }

    /// Since when the port has taken nothing of what waits for it.
    pub(crate) fn stuck_since(&self) -> Option<Instant> {
        self.stuck_since
    }

    /// Readable when there is something for [`take_events`](Self::take_events).
    pub(crate) fn events(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the other end of the port was closed")
}

/// Whether a device file, or a link to one, is a pseudo-terminal, behind which is a program and no robot.
pub fn is_pseudo_terminal(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| path.starts_with("/dev/pts"))
}
