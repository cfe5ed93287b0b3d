use std::{
    io,
    os::fd::BorrowedFd,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::{Link, port::Port};
#[cfg(feature = "sim")]
use crate::Pty;

/// How long a port may take nothing. A robot that hears nothing for that long has stopped, and is
/// booted when its port is opened again.
const STUCK: Duration = Duration::from_millis(640);

/// A serial device.
#[derive(Debug)]
pub struct SerialLink {
    path: PathBuf,
    baud: u32,
    port: Option<Port>,
}

impl SerialLink {
    /// The device of this name, which need not be there yet.
    pub fn new(path: PathBuf, baud: u32) -> Self {
        SerialLink { path, baud, port: None }
    }

    /// Uses the port, and closes it when it fails.
    fn with<T>(&mut self, work: impl FnOnce(&mut Port) -> io::Result<T>) -> io::Result<T> {
        let Some(port) = &mut self.port else { return Err(io::ErrorKind::NotConnected.into()) };
        let result = work(port);
        if result.is_err() {
            self.port = None;
        }
        result
    }
}

impl Link for SerialLink {
    type Peer = ();

    fn open(&mut self, _now: Instant) -> io::Result<()> {
        self.port = Some(Port::open_serial(&self.path, self.baud)?);
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.port.is_some()
    }

    fn events(&self) -> Option<BorrowedFd<'_>> {
        self.port.as_ref().map(Port::events)
    }

    fn take_events(&mut self, now: Instant) -> io::Result<()> {
        self.with(|port| port.take_events(now))
    }

    fn receive(&mut self, _now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, ())>> {
        let count = self.with(|port| port.read(buffer))?;
        Ok((count > 0).then_some((count, ())))
    }

    fn send(&mut self, now: Instant, (): (), bytes: &[u8]) -> io::Result<()> {
        self.with(|port| port.write(now, bytes))
    }

    fn flush(&mut self, now: Instant) -> io::Result<()> {
        self.with(|port| {
            port.flush(now)?;
            let stuck = port.stuck_since().map(|since| now.saturating_duration_since(since));
            if stuck.is_some_and(|stuck| stuck > STUCK) {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the port takes no bytes"));
            }
            Ok(())
        })
    }

    fn discard(&mut self) {
        if let Some(port) = &mut self.port {
            port.discard();
        }
    }

    fn has_room(&self) -> bool {
        self.port.as_ref().is_none_or(|port| port.stuck_since().is_none())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let since = self.port.as_ref().and_then(Port::stuck_since)?;
        since.checked_add(STUCK + Duration::from_millis(1))
    }

    fn is_stream(&self) -> bool {
        true
    }
}

/// The robot's end of a pseudo-terminal. As a real line does, it loses what no host reads.
#[cfg(feature = "sim")]
#[derive(Debug)]
pub struct PtyLink {
    port: Port,
    _pty: Pty,
}

#[cfg(feature = "sim")]
impl PtyLink {
    /// That of this pseudo-terminal.
    pub fn new(pty: Pty) -> io::Result<Self> {
        Ok(PtyLink { port: Port::new(pty.master()?)?, _pty: pty })
    }
}

#[cfg(feature = "sim")]
impl Link for PtyLink {
    type Peer = ();

    fn open(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    fn is_open(&self) -> bool {
        true
    }

    fn events(&self) -> Option<BorrowedFd<'_>> {
        Some(self.port.events())
    }

    fn take_events(&mut self, now: Instant) -> io::Result<()> {
        self.port.take_events(now)
    }

    fn receive(&mut self, _now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, ())>> {
        let count = self.port.read(buffer)?;
        Ok((count > 0).then_some((count, ())))
    }

    fn send(&mut self, now: Instant, (): (), bytes: &[u8]) -> io::Result<()> {
        if self.port.stuck_since().is_some() {
            self.port.discard();
        }
        // A frame that has begun is finished first; until then others are lost.
        match self.port.stuck_since() {
            None => self.port.write(now, bytes),
            Some(_) => Ok(()),
        }
    }

    fn flush(&mut self, now: Instant) -> io::Result<()> {
        self.port.flush(now)
    }

    fn is_stream(&self) -> bool {
        true
    }
}
