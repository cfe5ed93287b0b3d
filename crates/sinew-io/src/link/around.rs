//! Links around links: faults, a trace for people, a record for later.

#[cfg(feature = "capture")]
use std::{fmt, sync::Arc};
use std::{fs::File, io, net::SocketAddr, os::fd::BorrowedFd, path::Path, time::Instant};

use sinew_faults::{DatagramFaults, FaultyBytes, FaultyDatagrams};
#[cfg(feature = "capture")]
use sinew_robot::capability::{Audience, Frames, Robot};

use super::{
    Link,
    log::{self, Log, Way},
};

/// What to put around a link. The first in a list is next to the port, the last next to the
/// session: a trace before faults shows what is on the wire, one after them what the session sees.
#[derive(Debug)]
pub enum Around {
    /// Damages both directions. A stream keeps its order whatever the faults say; of what is
    /// reliable, the datagrams below are damaged, wherever in the list this stands.
    Faults(DatagramFaults, u64),
    /// Prints every read and write to standard error.
    Trace,
    /// Writes every read and write to a file, in the format of the serial tap: a line
    /// `microseconds,TX|RX,AA BB …` each.
    Record(File),
    /// Tells clients of every read and write, while any of them reads topic `raw`.
    #[cfg(feature = "capture")]
    Tell(Readers),
}

/// The clients of a robot.
#[cfg(feature = "capture")]
pub struct Readers(pub(super) Arc<dyn Audience>);

#[cfg(feature = "capture")]
impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Readers")
    }
}

/// Which end of a link this is. TX is from the host to the robot at both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
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

    /// Gives a robot topic `raw`: what passes next to its port.
    #[cfg(feature = "capture")]
    pub(crate) fn tell(arounds: &mut Vec<Around>, audience: &Arc<dyn Audience>, robot: &mut Robot) {
        arounds.insert(0, Around::Tell(Readers(Arc::clone(audience))));
        robot.frames.push((sinew_api::RAW, Frames::All));
    }

    /// Puts all of these around a link.
    pub fn all<L: Link + 'static>(
        mut link: L,
        side: Side,
        arounds: Vec<Around>,
    ) -> io::Result<Box<dyn Link<Peer = L::Peer>>>
    where
        L::Peer: Send,
    {
        if arounds.is_empty() {
            return Ok(Box::new(link));
        }
        let (is_stream, longest) = (link.is_stream(), link.longest());
        for around in &arounds {
            if let Around::Faults(faults, seed) = around {
                link.damage(*faults, *seed);
            }
        }
        let layers = arounds.into_iter().map(|around| Layer::new(around, is_stream));
        let layers = layers.collect::<io::Result<_>>()?;
        Ok(Box::new(Layered { link, side, layers, buffer: vec![0; longest] }))
    }
}

/// A link with layers around it, the first next to it.
struct Layered<L: Link> {
    link: L,
    side: Side,
    layers: Vec<Layer<L::Peer>>,
    buffer: Vec<u8>,
}

enum Layer<P> {
    Log(Log),
    /// What goes inwards, and what goes outwards.
    Faults(Box<[Model<P>; 2]>),
}

enum Model<P> {
    Bytes(FaultyBytes, Option<P>),
    Datagrams(FaultyDatagrams<P>),
}

impl<P: Copy> Layer<P> {
    fn new(around: Around, is_stream: bool) -> io::Result<Self> {
        Ok(match around {
            Around::Trace => Layer::Log(Log::trace()?),
            Around::Record(file) => Layer::Log(Log::record(file)?),
            #[cfg(feature = "capture")]
            Around::Tell(Readers(audience)) => Layer::Log(Log::tell(audience)?),
            Around::Faults(faults, seed) => {
                Layer::Faults(Box::new([1, 0].map(|other| match is_stream {
                    true => Model::Bytes(FaultyBytes::new(faults.link, seed ^ other), None),
                    false => Model::Datagrams(FaultyDatagrams::new(faults, seed ^ other)),
                })))
            }
        })
    }
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

impl<L: Link> Layered<L> {
    /// Whether all that comes passes as it is, and nothing is kept of it.
    fn is_idle(&self) -> bool {
        self.layers.iter().all(|layer| matches!(layer, Layer::Log(log) if !log.is_wanted()))
    }

    /// What comes out of the layers below `height`.
    fn rise(&mut self, height: usize, now: Instant) -> io::Result<Option<(L::Peer, Vec<u8>)>> {
        let Some(layer) = height.checked_sub(1) else {
            let received = self.link.receive(now, &mut self.buffer)?;
            let bytes = |count| self.buffer.get(..count).unwrap_or_default().to_vec();
            return Ok(received.map(|(count, peer)| (peer, bytes(count))));
        };
        loop {
            if let Layer::Faults(models) = &mut self.layers[layer]
                && let Some(passed) = models[0].pop(now)
            {
                return Ok(Some(passed));
            }
            let Some((peer, bytes)) = self.rise(layer, now)? else { return Ok(None) };
            match &mut self.layers[layer] {
                Layer::Faults(models) if !self.link.is_reliable(peer) => {
                    models[0].push(now, peer, &bytes);
                }
                Layer::Log(log) if log.is_wanted() && !self.link.is_secret(peer, &bytes) => {
                    log.note(now, self.side.way(true), self.link.address_of(peer), &bytes);
                    return Ok(Some((peer, bytes)));
                }
                _ => return Ok(Some((peer, bytes))),
            }
        }
    }

    /// Sends what came out of the layers from `height` on.
    fn sink(&mut self, height: usize, now: Instant, to: L::Peer, bytes: &[u8]) -> io::Result<()> {
        let Some(layer) = height.checked_sub(1) else { return self.link.send(now, to, bytes) };
        match &mut self.layers[layer] {
            Layer::Log(log) if log.is_wanted() && !self.link.is_secret(to, bytes) => {
                log.note(now, self.side.way(false), self.link.address_of(to), bytes);
                self.sink(layer, now, to, bytes)
            }
            Layer::Faults(models) if !self.link.is_reliable(to) => {
                models[1].push(now, to, bytes);
                self.release(layer, now)
            }
            _ => self.sink(layer, now, to, bytes),
        }
    }

    /// Sends what a layer of faults has held back until now.
    fn release(&mut self, layer: usize, now: Instant) -> io::Result<()> {
        while let Layer::Faults(models) = &mut self.layers[layer]
            && let Some((to, bytes)) = models[1].pop(now)
        {
            self.sink(layer, now, to, &bytes)?;
        }
        Ok(())
    }
}

impl Side {
    fn way(self, inward: bool) -> Way {
        if inward == (self == Side::Host) { Way::In } else { Way::Out }
    }
}

impl<L: Link> Link for Layered<L>
where
    L::Peer: Send,
{
    type Peer = L::Peer;

    fn open(&mut self, now: Instant) -> io::Result<()> {
        self.link.open(now)
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

    /// The buffer must hold the longest datagram, or what a stream holds back at once: more is lost.
    fn receive(&mut self, now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, L::Peer)>> {
        if self.is_idle() {
            return self.link.receive(now, buffer);
        }
        Ok(self.rise(self.layers.len(), now)?.map(|(peer, bytes)| {
            let count = bytes.len().min(buffer.len());
            buffer[..count].copy_from_slice(&bytes[..count]);
            (count, peer)
        }))
    }

    fn send(&mut self, now: Instant, to: L::Peer, bytes: &[u8]) -> io::Result<()> {
        self.sink(self.layers.len(), now, to, bytes)
    }

    fn flush(&mut self, now: Instant) -> io::Result<()> {
        for layer in (0..self.layers.len()).rev() {
            self.release(layer, now)?;
        }
        self.link.flush(now)
    }

    fn close(&mut self) {
        self.link.close();
    }

    fn longest(&self) -> usize {
        self.link.longest()
    }

    fn discard(&mut self) {
        self.link.discard();
    }

    fn has_room(&self) -> bool {
        self.link.has_room()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let held = self.layers.iter().filter_map(|layer| match layer {
            Layer::Log(_) => None,
            Layer::Faults(models) => models.iter().filter_map(Model::poll_timeout).min(),
        });
        held.chain(self.link.poll_timeout()).min()
    }

    fn address_of(&self, peer: L::Peer) -> Option<SocketAddr> {
        self.link.address_of(peer)
    }

    fn is_stream(&self) -> bool {
        self.link.is_stream()
    }

    fn is_reliable(&self, peer: L::Peer) -> bool {
        self.link.is_reliable(peer)
    }

    fn damage(&mut self, faults: DatagramFaults, seed: u64) {
        self.link.damage(faults, seed);
    }

    fn is_secret(&self, peer: L::Peer, bytes: &[u8]) -> bool {
        self.link.is_secret(peer, bytes)
    }
}
