//! A byte port that never blocks: a serial device, or the master of a pseudo-terminal.

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, open},
    io::Errno,
    termios::{OptionalActions, ioctl_tiocexcl, tcgetattr, tcsetattr},
};

/// Frames that may wait for the port to take them. At one every 20 ms this is over half a second:
/// whatever has waited that long is stale, and the port is stuck.
const MAX_WAITING: usize = 32;

#[derive(Debug)]
pub(crate) struct Port {
    fd: OwnedFd,
    waiting: VecDeque<Vec<u8>>,
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
        Ok(Port::new(fd))
    }

    pub(crate) fn new(fd: OwnedFd) -> Self {
        Port { fd, waiting: VecDeque::new(), sent: 0 }
    }

    /// Reads what is there. `Ok(0)` is nothing yet; the end of the port is an error.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match rustix::io::read(&self.fd, buffer) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => Ok(count),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Queues bytes and sends what the port takes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.waiting.len() >= MAX_WAITING {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the port takes no more bytes"));
        }
        self.waiting.push_back(bytes.to_vec());
        self.flush()
    }

    /// Sends what the port takes of what is waiting.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
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

    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn is_pseudo_terminal(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| path.starts_with("/dev/pts"))
}
