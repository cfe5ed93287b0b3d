use std::{
    io,
    time::{Duration, Instant},
};

use crate::{Address, port::Port, sim::Simulator};

/// How long to wait before opening a port again, at first and at most.
const REOPEN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// How long a port may take nothing. A robot that hears nothing for that long has stopped, and is
/// booted when its port is opened again.
const STUCK: Duration = Duration::from_millis(640);

/// The port, or the plan to open it.
pub(super) struct Line {
    address: Address,
    pub(super) port: Option<Port>,
    retry_at: Instant,
    back_off: Duration,
    /// The robot itself, when it is simulated.
    _simulator: Option<Simulator>,
}

impl Line {
    pub(super) fn new(address: Address, now: Instant) -> io::Result<Self> {
        if matches!(address, Address::Udp { .. }) {
            let message = "a vacuum is on a serial line: wanted serial:PATH or sim:";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut simulator = None;
        let mut address = address;
        if let Address::Sim { seed } = address {
            let options = sinew_sim::vacuum::Options { seed, ..Default::default() };
            let started = Simulator::spawn(options, None)?;
            address = Address::Serial { path: started.path().to_owned(), baud: crate::sim::BAUD };
            simulator = Some(started);
        }
        Ok(Line { address, port: None, retry_at: now, back_off: REOPEN.0, _simulator: simulator })
    }

    /// Bits per second.
    pub(super) fn baud(&self) -> u32 {
        match self.address {
            Address::Serial { baud, .. } => baud,
            Address::Sim { .. } | Address::Udp { .. } => crate::sim::BAUD,
        }
    }

    /// Opens the port if it is closed and its time has come; whether it did.
    pub(super) fn open_when_due(&mut self, now: Instant) -> bool {
        if self.port.is_some() || now < self.retry_at {
            return false;
        }
        let Address::Serial { path, baud } = &self.address else { return false };
        match Port::open_serial(path, *baud) {
            Ok(port) => {
                self.port = Some(port);
                true
            }
            Err(_) => {
                self.lose(now);
                false
            }
        }
    }

    /// Whether the port holds bytes that it could not pass on.
    pub(super) fn is_stuck(&self) -> bool {
        self.port.as_ref().is_some_and(|port| port.stuck_since().is_some())
    }

    /// Whether it has been so for so long that there is no hope.
    pub(super) fn is_stuck_for_long(&self, now: Instant) -> bool {
        let since = self.port.as_ref().and_then(Port::stuck_since);
        since.is_some_and(|since| now.saturating_duration_since(since) > STUCK)
    }

    pub(super) fn lose(&mut self, now: Instant) {
        let was_open = self.port.take().is_some();
        self.back_off = if was_open { REOPEN.0 } else { (self.back_off * 2).min(REOPEN.1) };
        self.retry_at = now + self.back_off;
    }

    pub(super) fn reopen_at(&self) -> Option<Instant> {
        self.port.is_none().then_some(self.retry_at)
    }
}
