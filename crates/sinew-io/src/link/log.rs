use std::{
    fs::File,
    io::{self, Write},
    net::SocketAddr,
    path::Path,
    time::Instant,
};

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From the host to the robot.
    Out,
    /// From the robot to the host.
    In,
}

/// Where it is written down what passes.
#[derive(Debug)]
pub(super) struct Log {
    to: To,
    start: Option<Instant>,
}

#[derive(Debug)]
enum To {
    /// Standard error, for people.
    Trace,
    /// Not buffered: a record tells most when its process did not live to finish it.
    Record(File),
    /// A record that failed.
    Nothing,
}

/// A new record.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut file = File::create(path)?;
    writeln!(file, "# timestamp_us,TX|RX,bytes; TX is host to robot")?;
    Ok(file)
}

impl Log {
    pub(super) const fn trace() -> Self {
        Log { to: To::Trace, start: None }
    }

    pub(super) const fn record(file: File) -> Self {
        Log { to: To::Record(file), start: None }
    }

    /// Notes bytes, or a datagram and its peer.
    pub(super) fn note(&mut self, now: Instant, way: Way, peer: Option<SocketAddr>, bytes: &[u8]) {
        let start = *self.start.get_or_insert(now);
        let micros = now.saturating_duration_since(start).as_micros();
        let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        let hex = hex.join(" ");
        let name = if way == Way::Out { "TX" } else { "RX" };
        match &mut self.to {
            To::Trace => {
                let peer =
                    peer.map_or(String::new(), |peer| format!("{peer} {} bytes ", bytes.len()));
                // A reader of the trace that has gone is no reason to end.
                let _ = writeln!(io::stderr(), "{:>12.6} {name} {peer}{hex}", micros as f64 / 1e6);
            }
            To::Record(file) => {
                if let Err(error) = file.write_all(format!("{micros},{name},{hex}\n").as_bytes()) {
                    tracing::error!("recording ends: {error}");
                    self.to = To::Nothing;
                }
            }
            To::Nothing => {}
        }
    }
}
