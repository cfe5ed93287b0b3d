//! Links around links: faults, a trace for people, a record for later.

use std::{fs::File, io, net::SocketAddr, os::fd::BorrowedFd, path::Path, time::Instant};

use sinew_faults::{DatagramFaults, FaultyBytes, FaultyDatagrams};

use super::{
    Link,
    log::{self, Log, Way},
};

/// What to put around a link. The first in a list is next to the port, the last next to the
/// session: a trace before faults shows what is on the wire, one after them what the session sees.
#[derive(Debug)]
pub enum Around {
    /// Damages both directions. A stream keeps its order whatever the faults say.
    Faults(DatagramFaults, u64),
    /// Prints every read and write to standard error.
    Trace,
    /// Writes every read and write to a file, in the format of the serial tap: a line
    /// `microseconds,TX|RX,AA BB …` each.
    Record(File),
}

/// Which end of a link this is. TX is from the host to the robot at both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The computer's.
    Host,
    /// The robot's.
    Robot,
}

impl Around {
    /// A record in a new file.
    pub fn record(path: &Path) -> io::Result<Self> {
        log::create(path).map(Around::Record)
    }

    /// Puts all of these around a link.
    pub(crate) fn all<L: Link + 'static>(
        link: L,
        side: Side,
        arounds: Vec<Around>,
    ) -> Box<dyn Link<Peer = L::Peer>>
    where
        L::Peer: Send,
    {
        let mut link: Box<dyn Link<Peer = L::Peer>> = Box::new(link);
        for around in arounds {
            link = match around {
                Around::Faults(faults, seed) => Box::new(Faulty::new(link, faults, seed)),
                Around::Trace => Box::new(Logged { link, side, log: Log::trace() }),
                Around::Record(file) => Box::new(Logged { link, side, log: Log::record(file) }),
            };
        }
        link
    }
}

/// A link that writes down what passes.
struct Logged<L> {
    link: L,
    side: Side,
    log: Log,
}

impl<L: Link> Logged<L> {
    fn note(&mut self, now: Instant, inward: bool, peer: L::Peer, bytes: &[u8]) {
        let way = if inward == (self.side == Side::Host) { Way::In } else { Way::Out };
        self.log.note(now, way, self.link.address_of(peer), bytes);
    }
}

/// A link that loses, damages, repeats, delays and reorders.
struct Faulty<L: Link> {
    link: L,
    /// Inwards and outwards.
    models: [Model<L::Peer>; 2],
    /// What came of a stream and did not fit the reader's buffer.
    rest: Vec<u8>,
    buffer: Vec<u8>,
}

enum Model<P> {
    Bytes(FaultyBytes, Option<P>),
    Datagrams(FaultyDatagrams<P>),
}

impl<P: Copy> Model<P> {
    fn push(&mut self, now: Instant, peer: P, bytes: &[u8]) {
        match self {
            Model::Bytes(line, last) => {
                *last = Some(peer);
                line.send(now, bytes);
            }
            Model::Datagrams(datagrams) => datagrams.send_with(now, peer, bytes),
        }
    }

    fn pop(&mut self, now: Instant) -> Option<(P, Vec<u8>)> {
        match self {
            Model::Bytes(line, last) => {
                let bytes = line.receive(now);
                last.filter(|_| !bytes.is_empty()).map(|peer| (peer, bytes))
            }
            Model::Datagrams(datagrams) => datagrams.receive_with(now),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Model::Bytes(line, _) => line.poll_timeout(),
            Model::Datagrams(datagrams) => datagrams.poll_timeout(),
        }
    }
}

impl<L: Link> Faulty<L> {
    fn new(link: L, faults: DatagramFaults, seed: u64) -> Self {
        let models = [1, 0].map(|other| match link.is_stream() {
            true => Model::Bytes(FaultyBytes::new(faults.link, seed ^ other), None),
            false => Model::Datagrams(FaultyDatagrams::new(faults, seed ^ other)),
        });
        Faulty { link, models, rest: Vec::new(), buffer: vec![0; 1 << 16] }
    }

    /// Hands out what there is, as far as it fits.
    fn hand_out(&mut self, peer: L::Peer, bytes: &[u8], buffer: &mut [u8]) -> (usize, L::Peer) {
        let count = bytes.len().min(buffer.len());
        let (fits, rest) = bytes.split_at(count);
        if let Some(space) = buffer.get_mut(..count) {
            space.copy_from_slice(fits);
        }
        if self.link.is_stream() {
            self.rest = rest.to_vec();
        }
        (count, peer)
    }
}

impl<L: Link> Link for Faulty<L>
where
    L::Peer: Send,
{
    type Peer = L::Peer;

    fn open(&mut self, now: Instant) -> io::Result<()> {
        self.link.open(now)
    }

    fn close(&mut self) {
        self.link.close();
    }

    fn is_open(&self) -> bool {
        self.link.is_open()
    }

    fn events(&self) -> Option<BorrowedFd<'_>> {
        self.link.events()
    }

    fn take_events(&mut self, now: Instant) -> io::Result<()> {
        self.link.take_events(now)
    }

    fn receive(&mut self, now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, L::Peer)>> {
        if let (false, Model::Bytes(_, Some(peer))) = (self.rest.is_empty(), &self.models[0]) {
            let (peer, rest) = (*peer, std::mem::take(&mut self.rest));
            return Ok(Some(self.hand_out(peer, &rest, buffer)));
        }
        loop {
            if let Some((peer, bytes)) = self.models[0].pop(now) {
                return Ok(Some(self.hand_out(peer, &bytes, buffer)));
            }
            let Some((count, peer)) = self.link.receive(now, &mut self.buffer)? else {
                return Ok(None);
            };
            let bytes = self.buffer.get(..count).unwrap_or_default();
            self.models[0].push(now, peer, bytes);
        }
    }

    fn send(&mut self, now: Instant, to: L::Peer, bytes: &[u8]) -> io::Result<()> {
        self.models[1].push(now, to, bytes);
        self.flush(now)
    }

    fn flush(&mut self, now: Instant) -> io::Result<()> {
        while let Some((to, bytes)) = self.models[1].pop(now) {
            self.link.send(now, to, &bytes)?;
        }
        self.link.flush(now)
    }

    fn discard(&mut self) {
        self.link.discard();
    }

    fn has_room(&self) -> bool {
        self.link.has_room()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let [inward, outward] = self.models.each_ref().map(Model::poll_timeout);
        [inward, outward, self.link.poll_timeout()].into_iter().flatten().min()
    }

    fn address_of(&self, peer: L::Peer) -> Option<SocketAddr> {
        self.link.address_of(peer)
    }

    fn is_stream(&self) -> bool {
        self.link.is_stream()
    }
}

impl<L: Link> Link for Logged<L> {
    type Peer = L::Peer;

    fn open(&mut self, now: Instant) -> io::Result<()> {
        self.link.open(now)
    }

    fn close(&mut self) {
        self.link.close();
    }

    fn is_open(&self) -> bool {
        self.link.is_open()
    }

    fn events(&self) -> Option<BorrowedFd<'_>> {
        self.link.events()
    }

    fn take_events(&mut self, now: Instant) -> io::Result<()> {
        self.link.take_events(now)
    }

    fn receive(&mut self, now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, L::Peer)>> {
        let received = self.link.receive(now, buffer)?;
        if let Some((count, peer)) = received {
            self.note(now, true, peer, buffer.get(..count).unwrap_or_default());
        }
        Ok(received)
    }

    fn send(&mut self, now: Instant, to: L::Peer, bytes: &[u8]) -> io::Result<()> {
        self.note(now, false, to, bytes);
        self.link.send(now, to, bytes)
    }

    fn flush(&mut self, now: Instant) -> io::Result<()> {
        self.link.flush(now)
    }

    fn discard(&mut self) {
        self.link.discard();
    }

    fn has_room(&self) -> bool {
        self.link.has_room()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.link.poll_timeout()
    }

    fn address_of(&self, peer: L::Peer) -> Option<SocketAddr> {
        self.link.address_of(peer)
    }

    fn is_stream(&self) -> bool {
        self.link.is_stream()
    }
}
