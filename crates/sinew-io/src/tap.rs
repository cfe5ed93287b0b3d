//! What may be put between a port and a session: faults, a trace for people, a record for later.

mod log;
#[cfg(feature = "g1")]
mod socket;

use std::{io, path::Path, time::Instant};

use sinew_sim::link::{DatagramFaults, Link};

use log::Log;
#[cfg(feature = "g1")]
pub(crate) use socket::Socket;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the host to the robot.
    Out,
    /// From the robot to the host.
    In,
}

/// What is between a port and a session, on a serial line or on a network; by default nothing.
#[derive(Debug, Default)]
pub struct Tap {
    faults: Option<(DatagramFaults, u64)>,
    /// Made of the faults when bytes come.
    links: Option<[Link; 2]>,
    log: Log,
}

impl Tap {
    /// Adds faults to both directions. A serial line keeps its order whatever they say.
    #[must_use]
    pub fn with_faults(mut self, faults: DatagramFaults, seed: u64) -> Self {
        self.faults = Some((faults, seed));
        self
    }

    /// Prints every read and write to standard error.
    #[must_use]
    pub fn with_trace(mut self) -> Self {
        self.log.trace = true;
        self
    }

    /// Writes every read and write to a file, in the format of the serial tap: a line
    /// `microseconds,TX|RX,AA BB …` each.
    pub fn with_record(mut self, path: &Path) -> io::Result<Self> {
        self.log.record(path)?;
        Ok(self)
    }

    /// Passes bytes on; with faults, what is left of them and what was held back before.
    pub(crate) fn pass(&mut self, now: Instant, way: Way, bytes: &[u8]) -> Vec<u8> {
        let passed = match self.faults {
            None => bytes.to_vec(),
            Some((faults, seed)) => {
                let new = || [0, 1].map(|other| Link::new(faults.link, seed ^ other));
                let link = &mut self.links.get_or_insert_with(new)[way as usize];
                link.send(now, bytes);
                link.receive(now)
            }
        };
        if !passed.is_empty() {
            self.log.note(now, way, None, &passed);
        }
        passed
    }

    /// When held-back bytes are due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.links.iter().flatten().filter_map(Link::poll_timeout).min()
    }
}
