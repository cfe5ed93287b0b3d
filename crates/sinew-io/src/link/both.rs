use std::{io, net::SocketAddr, os::fd::BorrowedFd, time::Instant};

use sinew_faults::DatagramFaults;
use sinew_sim::g1::{Channel, Peer};

use super::{Link, UdpServer, poller::Poller};

/// The teaching datagrams of a simulated robot and, where it has them, its data channels.
pub struct Both {
    datagrams: UdpServer,
    channels: Option<Box<dyn Link<Peer = Channel>>>,
    poller: Poller,
}

impl Both {
    /// Joins them.
    pub fn new(
        datagrams: UdpServer,
        channels: Option<Box<dyn Link<Peer = Channel>>>,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        let events = [datagrams.events(), channels.as_ref().and_then(|it| it.events())];
        events.into_iter().flatten().try_for_each(|events| poller.add(events))?;
        Ok(Both { datagrams, channels, poller })
    }
}

impl Link for Both {
    type Peer = Peer;

    fn open(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    fn is_open(&self) -> bool {
        true
    }

    fn events(&self) -> Option<BorrowedFd<'_>> {
        Some(self.poller.as_fd())
    }

    fn take_events(&mut self, now: Instant) -> io::Result<()> {
        self.datagrams.take_events(now)?;
        self.channels.as_mut().map_or(Ok(()), |channels| channels.take_events(now))
    }

    fn receive(&mut self, now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, Peer)>> {
        // Channels first: they are paced, and a flood of datagrams is not to starve them.
        if let Some(channels) = &mut self.channels
            && let Some((count, channel)) = channels.receive(now, buffer)?
        {
            return Ok(Some((count, Peer::Channel(channel))));
        }
        let received = self.datagrams.receive(now, buffer)?;
        Ok(received.map(|(count, from)| (count, Peer::Datagram(from))))
    }

    fn send(&mut self, now: Instant, to: Peer, bytes: &[u8]) -> io::Result<()> {
        match (to, &mut self.channels) {
            (Peer::Datagram(to), _) => self.datagrams.send(now, to, bytes),
            (Peer::Channel(to), Some(channels)) => channels.send(now, to, bytes),
            (Peer::Channel(_), None) => Ok(()),
        }
    }

    fn flush(&mut self, now: Instant) -> io::Result<()> {
        self.channels.as_mut().map_or(Ok(()), |channels| channels.flush(now))
    }

    fn longest(&self) -> usize {
        let channels = self.channels.as_ref().map_or(0, |it| it.longest());
        self.datagrams.longest().max(channels)
    }

    fn discard(&mut self) {
        self.channels.iter_mut().for_each(|it| it.discard());
    }

    fn has_room(&self) -> bool {
        self.channels.as_ref().is_none_or(|it| it.has_room())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.channels.as_ref().and_then(|it| it.poll_timeout())
    }

    fn address_of(&self, peer: Peer) -> Option<SocketAddr> {
        match peer {
            Peer::Datagram(address) => Some(address),
            Peer::Channel(channel) => {
                self.channels.as_ref().and_then(|channels| channels.address_of(channel))
            }
        }
    }

    fn is_stream(&self) -> bool {
        false
    }

    fn is_reliable(&self, peer: Peer) -> bool {
        matches!(peer, Peer::Channel(_))
    }

    fn damage(&mut self, faults: DatagramFaults, seed: u64) {
        self.channels.iter_mut().for_each(|channels| channels.damage(faults, seed));
    }

    fn is_secret(&self, peer: Peer, bytes: &[u8]) -> bool {
        match (peer, &self.channels) {
            (Peer::Channel(channel), Some(channels)) => channels.is_secret(channel, bytes),
            _ => false,
        }
    }
}
