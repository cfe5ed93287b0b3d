//! Waits for a port, a wake-up call, or a time.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// Something a thread can be woken by while it waits for a port.
#[derive(Debug)]
pub(crate) struct Waker(OwnedFd);

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Waker(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(crate) fn wake(&self) {
        // Fails only when it has been called 2^64 times unheard: it is awake then.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    pub(crate) fn reset(&self) {
        let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
    }

    /// Waits until the port has something, `until` is past, or [`wake`](Self::wake) is called;
    /// whether it was the port.
    pub(crate) fn wait(
        &self,
        port: Option<BorrowedFd<'_>>,
        until: Option<Instant>,
    ) -> io::Result<bool> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.map(timespec);
        // Without a port the waker stands in for it.
        let mut fds = [Some(self.0.as_fd()), port]
            .map(|fd| PollFd::from_borrowed_fd(fd.unwrap_or(self.0.as_fd()), PollFlags::IN));
        let count = 1 + usize::from(port.is_some());
        match poll(fds.get_mut(..count).unwrap_or_default(), timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        if fds.first().is_some_and(|waker| waker.revents().contains(PollFlags::IN)) {
            self.reset();
        }
        Ok(port.is_some() && fds.get(1).is_some_and(|port| !port.revents().is_empty()))
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: duration.subsec_nanos().into() }
}
