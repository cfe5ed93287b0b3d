//! The way of a connection's datagrams, and what goes wrong on it.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use sinew_faults::{DatagramFaults, FaultyDatagrams};

use super::ports::Ports;

/// More than any datagram is held back.
const ALL: Duration = Duration::from_secs(86_400);

pub(super) struct Way {
    pub(super) ports: Ports,
    /// What happens to datagrams that come, and to those that go.
    faults: Option<Box<[FaultyDatagrams<Ends>; 2]>>,
}

/// Source and destination.
type Ends = (SocketAddr, SocketAddr);

impl Way {
    pub(super) const fn new(ports: Ports) -> Self {
        Way { ports, faults: None }
    }

    /// Has this happen on it, both ways, from now on.
    pub(super) fn damage(&mut self, faults: DatagramFaults, seed: u64) {
        let model = |way| FaultyDatagrams::new(faults, seed.rotate_left(1) ^ way);
        self.faults = Some(Box::new([1, 0].map(model)));
    }

    pub(super) fn send(&mut self, now: Instant, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        match &mut self.faults {
            None => self.ports.send(from, to, bytes),
            Some(faults) => {
                faults[1].send_with(now, (from, to), bytes);
                self.release(now);
            }
        }
    }

    /// Sends what was held back until now.
    pub(super) fn release(&mut self, now: Instant) {
        let Some(faults) = &mut self.faults else { return };
        while let Some(((from, to), bytes)) = faults[1].receive_with(now) {
            self.ports.send(from, to, &bytes);
        }
    }

    /// Sends all that is held back: there will be no later.
    pub(super) fn release_all(&mut self, now: Instant) {
        self.release(now + ALL);
    }

    /// Holds a datagram back that came, if anything can happen to it; whether it does.
    pub(super) fn hold(&mut self, now: Instant, ends: Ends, bytes: &[u8]) -> bool {
        let Some(faults) = &mut self.faults else { return false };
        faults[0].send_with(now, ends, bytes);
        true
    }

    /// The next datagram that came and was held back until now.
    pub(super) fn next_held(&mut self, now: Instant) -> Option<(Ends, Vec<u8>)> {
        self.faults.as_mut()?[0].receive_with(now)
    }

    /// When something that is held back is due.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.faults.as_ref()?.iter().filter_map(FaultyDatagrams::poll_timeout).min()
    }
}
