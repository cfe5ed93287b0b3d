use std::{
    fs::File,
    io::{self, Write},
    net::SocketAddr,
    path::Path,
    time::Instant,
};

use super::Way;

/// What is written down of what passes.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) trace: bool,
    /// Not buffered: a record tells most when whoever made it did not live to finish it.
    record: Option<File>,
    start: Option<Instant>,
}

impl Log {
    pub(super) fn record(&mut self, path: &Path) -> io::Result<()> {
        let mut file = File::create(path)?;
        writeln!(file, "# timestamp_us,TX|RX,bytes; TX is host to robot")?;
        self.record = Some(file);
        Ok(())
    }

    /// Notes bytes, or a datagram and whom it is with.
    pub(super) fn note(&mut self, now: Instant, way: Way, peer: Option<SocketAddr>, bytes: &[u8]) {
        if !self.trace && self.record.is_none() {
            return;
        }
        let start = *self.start.get_or_insert(now);
        let micros = now.saturating_duration_since(start).as_micros();
        let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        let hex = hex.join(" ");
        let name = if way == Way::Out { "TX" } else { "RX" };
        if self.trace {
            let peer = peer.map_or(String::new(), |peer| format!("{peer} {} bytes ", bytes.len()));
            // Whoever reads it may go: that is no reason to.
            let _ = writeln!(io::stderr(), "{:>12.6} {name} {peer}{hex}", micros as f64 / 1e6);
        }
        if let Some(file) = &mut self.record
            && let Err(error) = file.write_all(format!("{micros},{name},{hex}\n").as_bytes())
        {
            let _ = writeln!(io::stderr(), "recording ends: {error}");
            self.record = None;
        }
    }
}
