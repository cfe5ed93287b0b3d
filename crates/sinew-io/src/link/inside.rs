//! A simulated peer without a cable: it runs on its host's thread, and costs no other.
//!
//! A daemon with many simulated robots would otherwise spend its processors on waking their threads, and robots would
//! fall silent for want of a core, which no real one does.

use std::{
    io::{self, Read},
    time::Instant,
};

use sinew_robot::{Output, Session};

use super::Link;

/// The host's end of a line to a simulated peer.
pub(crate) struct Inside<S: Session<Peer = ()>> {
    peer: S,
    is_open: bool,
    /// What the peer has sent, and the host has not read.
    sent: Vec<u8>,
    /// When it ran last.
    ran: Instant,
}

impl<S: Session<Peer = ()>> Inside<S> {
    pub(crate) fn new(peer: S, now: Instant) -> Self {
        Inside { peer, is_open: false, sent: Vec::new(), ran: now }
    }

    /// Lets the time up to `now` happen to the peer.
    fn run(&mut self, now: Instant) {
        let due = self.peer.poll_timeout();
        let late = due.map_or_else(Default::default, |due| now.saturating_duration_since(due));
        if self.peer.longest_pause().is_some_and(|longest| late > longest) {
            self.peer.paused(now, late);
        }
        self.ran = now;
        self.peer.handle_timeout(now);
        self.take();
    }

    /// Takes what the peer sends.
    fn take(&mut self) {
        while let Some(output) = self.peer.poll_output(true, &mut self.sent) {
            debug_assert!(matches!(output, Output::Transmit(())), "a simulated peer only sends");
        }
    }
}

impl<S: Session<Peer = ()> + Send> Link for Inside<S> {
    type Peer = ();

    fn open(&mut self, now: Instant) -> io::Result<()> {
        self.run(now);
        // What was sent to no host is lost.
        self.sent.clear();
        self.is_open = true;
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn receive(&mut self, now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, ())>> {
        self.run(now);
        let count = self.sent.as_slice().read(buffer)?;
        self.sent.drain(..count);
        Ok((count > 0).then_some((count, ())))
    }

    fn send(&mut self, now: Instant, (): (), bytes: &[u8]) -> io::Result<()> {
        self.run(now);
        self.peer.handle_input(now, (), bytes);
        self.take();
        Ok(())
    }

    fn flush(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self) {
        self.is_open = false;
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self.sent.is_empty() {
            true => self.peer.poll_timeout(),
            false => Some(self.ran),
        }
    }

    fn is_stream(&self) -> bool {
        true
    }
}
