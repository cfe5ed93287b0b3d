use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::event::epoll;

/// Readable when one of several is.
#[derive(Debug)]
pub(in crate::link) struct Poller(OwnedFd);

impl Poller {
    pub(in crate::link) fn new() -> io::Result<Self> {
        Ok(Poller(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// Looks at this one, too, until it is closed.
    pub(in crate::link) fn add(&self, source: impl AsFd) -> io::Result<()> {
        let data = epoll::EventData::new_u64(0);
        Ok(epoll::add(&self.0, source, data, epoll::EventFlags::IN)?)
    }

    pub(in crate::link) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
