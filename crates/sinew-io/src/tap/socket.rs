use std::{
    io,
    net::{SocketAddr, UdpSocket},
    os::fd::{AsFd, BorrowedFd},
    time::Instant,
};

use sinew_sim::link::Datagrams;

use super::{Tap, Way, log::Log};

/// A UDP datagram cannot be longer.
const MAX_DATAGRAM: usize = 65_535;
/// Reads after which whoever reads gets to its own times, so that a flood does not keep it from
/// them.
const MAX_READS: usize = 256;

/// A UDP socket with a tap at it.
///
/// Without faults everything passes at once. With them it may take longer, but what is under way is
/// bounded: what comes when it is full is lost.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: UdpSocket,
    /// Which way goes what is read here.
    inward: Way,
    links: [Datagrams<SocketAddr>; 2],
    log: Log,
    buffer: Vec<u8>,
    reads: usize,
}

impl Socket {
    /// Puts a tap at a socket that reads what goes this way.
    pub(crate) fn new(socket: UdpSocket, inward: Way, tap: Tap) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let (faults, seed) = tap.faults.unwrap_or_default();
        let links = [0, 1].map(|other| Datagrams::new(faults, seed ^ other));
        let buffer = vec![0; MAX_DATAGRAM];
        Ok(Socket { socket, inward, links, log: tap.log, buffer, reads: 0 })
    }

    /// The next datagram and whom it is from; none when there is none now, or were many.
    pub(crate) fn receive(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        loop {
            if let Some(passed) = self.pass(Instant::now(), self.inward) {
                return Some(passed);
            }
            if self.reads == MAX_READS || !self.read() {
                self.reads = 0;
                return None;
            }
            self.reads += 1;
        }
    }

    /// Sends a datagram, when the tap lets it.
    pub(crate) fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.link(self.outward()).send_with(Instant::now(), to, bytes);
        self.send_due();
    }

    /// Sends what was held back until now.
    pub(crate) fn send_due(&mut self) {
        self.send_until(Instant::now());
    }

    /// Sends all that is held back: nobody will be here to do it when it is due.
    pub(crate) fn send_rest(&mut self) {
        while let Some(due) = self.link(self.outward()).poll_timeout() {
            self.send_until(due);
        }
    }

    /// When something that is held back is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.links.iter().filter_map(Datagrams::poll_timeout).min()
    }

    fn outward(&self) -> Way {
        match self.inward {
            Way::Out => Way::In,
            Way::In => Way::Out,
        }
    }

    fn link(&mut self, way: Way) -> &mut Datagrams<SocketAddr> {
        &mut self.links[way as usize]
    }

    /// Takes a datagram out of the link.
    fn pass(&mut self, until: Instant, way: Way) -> Option<(SocketAddr, Vec<u8>)> {
        let (peer, bytes) = self.link(way).receive_with(until)?;
        self.log.note(Instant::now(), way, Some(peer), &bytes);
        Some((peer, bytes))
    }

    /// Reads a datagram into the link; whether there may be more.
    fn read(&mut self) -> bool {
        match self.socket.recv_from(&mut self.buffer) {
            Ok((count, from)) => {
                let bytes = self.buffer.get(..count).unwrap_or_default();
                self.links[self.inward as usize].send_with(Instant::now(), from, bytes);
                true
            }
            // A peer that is not there answers with ICMP; who waits for it notices by itself.
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }

    fn send_until(&mut self, until: Instant) {
        while let Some((to, bytes)) = self.pass(until, self.outward()) {
            // What cannot be sent is lost, as on any network.
            let _ = self.socket.send_to(&bytes, to);
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
