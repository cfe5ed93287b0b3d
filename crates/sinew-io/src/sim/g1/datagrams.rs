use std::{io, net::SocketAddr, os::fd::BorrowedFd, time::Instant};

use sinew_sim::g1::Peer;

use crate::link::{Link, UdpServer};

/// The teaching datagrams as a robot's only link.
pub(super) struct Datagrams(pub(super) UdpServer);

impl Link for Datagrams {
    type Peer = Peer;

    fn open(&mut self, now: Instant) -> io::Result<()> {
        self.0.open(now)
    }

    fn is_open(&self) -> bool {
        self.0.is_open()
    }

    fn events(&self) -> Option<BorrowedFd<'_>> {
        self.0.events()
    }

    fn take_events(&mut self, now: Instant) -> io::Result<()> {
        self.0.take_events(now)
    }

    fn receive(&mut self, now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, Peer)>> {
        let received = self.0.receive(now, buffer)?;
        Ok(received.map(|(count, from)| (count, Peer::Datagram(from))))
    }

    fn send(&mut self, now: Instant, to: Peer, bytes: &[u8]) -> io::Result<()> {
        match to {
            Peer::Datagram(to) => self.0.send(now, to, bytes),
            // None ever opened here.
            Peer::Channel(_) => Ok(()),
        }
    }

    fn flush(&mut self, now: Instant) -> io::Result<()> {
        self.0.flush(now)
    }

    fn address_of(&self, peer: Peer) -> Option<SocketAddr> {
        match peer {
            Peer::Datagram(address) => Some(address),
            Peer::Channel(_) => None,
        }
    }

    fn is_stream(&self) -> bool {
        false
    }
}
