//! What may be put between a port and a session: faults, a trace for people, a record for later.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
    time::Instant,
};

use sinew_sim::link::{Faults, Link};

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the host to the robot.
    Out,
    /// From the robot to the host.
    In,
}

/// What is between a port and a session; by default nothing.
#[derive(Debug, Default)]
pub struct Tap {
    faults: Option<[Link; 2]>,
    trace: bool,
    /// Not buffered: a record tells most when whoever made it did not live to finish it.
    record: Option<File>,
    start: Option<Instant>,
}

impl Tap {
    /// Adds faults to both directions.
    #[must_use]
    pub fn with_faults(mut self, faults: Faults, seed: u64) -> Self {
        self.faults = Some([Link::new(faults, seed), Link::new(faults, seed ^ 1)]);
        self
    }

    /// Prints every read and write to standard error.
    #[must_use]
    pub fn with_trace(mut self) -> Self {
        self.trace = true;
        self
    }

    /// Writes every read and write to a file, in the format of the serial tap: a line
    /// `microseconds,TX|RX,AA BB …` each.
    pub fn with_record(mut self, path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        writeln!(file, "# timestamp_us,TX|RX,bytes; TX is host to controller")?;
        self.record = Some(file);
        Ok(self)
    }

    /// Passes bytes on; with faults, what is left of them and what was held back before.
    pub(crate) fn pass(&mut self, now: Instant, way: Way, bytes: &[u8]) -> Vec<u8> {
        let passed = match &mut self.faults {
            None => bytes.to_vec(),
            Some(links) => {
                let link = &mut links[usize::from(way == Way::In)];
                link.send(now, bytes);
                link.receive(now)
            }
        };
        if !passed.is_empty() {
            self.note(now, way, &passed);
        }
        passed
    }

    /// When held-back bytes are due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.faults.iter().flatten().filter_map(Link::poll_timeout).min()
    }

    fn note(&mut self, now: Instant, way: Way, bytes: &[u8]) {
        if !self.trace && self.record.is_none() {
            return;
        }
        let start = *self.start.get_or_insert(now);
        let micros = now.saturating_duration_since(start).as_micros();
        let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        let name = if way == Way::Out { "TX" } else { "RX" };
        if self.trace {
            eprintln!("{:>12.6} {name} {}", micros as f64 / 1e6, hex.join(" "));
        }
        if let Some(file) = &mut self.record
            && let Err(error) =
                file.write_all(format!("{micros},{name},{}\n", hex.join(" ")).as_bytes())
        {
            eprintln!("recording ends: {error}");
            self.record = None;
        }
    }
}
