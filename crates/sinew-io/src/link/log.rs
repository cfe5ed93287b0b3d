use std::{
    fs::File,
    io::{self, Write},
    net::SocketAddr,
    path::Path,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
    time::Instant,
};

/// Lines that may wait to be written: a disk or a terminal may be slow, a pump may not.
const WAITING: usize = 4096;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From the host to the robot.
    Out,
    /// From the robot to the host.
    In,
}

/// Where it is written down what passes: by a thread of its own, line by line, since a record tells
/// most when its process did not live to finish it.
#[derive(Debug)]
pub(super) struct Log {
    lines: Option<SyncSender<Line>>,
    writer: Option<thread::JoinHandle<()>>,
    start: Option<Instant>,
    /// Lines that found no room and are not told yet.
    lost: u64,
}

#[derive(Debug)]
struct Line {
    micros: u128,
    way: Way,
    peer: Option<SocketAddr>,
    bytes: Vec<u8>,
    /// Lines that were lost before it.
    lost: u64,
}

/// A new record.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut file = File::create(path)?;
    writeln!(file, "# timestamp_us,TX|RX,bytes; TX is host to robot")?;
    Ok(file)
}

impl Log {
    /// To standard error, for people.
    pub(super) fn trace() -> io::Result<Self> {
        Self::spawn(|line| {
            let Line { micros, peer, bytes, .. } = line;
            let peer = peer.map_or(String::new(), |peer| format!("{peer} {} bytes ", bytes.len()));
            let seconds = *micros as f64 / 1e6;
            // A reader of the trace that has gone is no reason to end.
            let _ = writeln!(io::stderr(), "{seconds:>12.6} {} {peer}{}", line.way(), line.hex());
            Ok(())
        })
    }

    /// To a file, in the format of the serial tap.
    pub(super) fn record(mut file: File) -> io::Result<Self> {
        Self::spawn(move |line| {
            let text = format!("{},{},{}\n", line.micros, line.way(), line.hex());
            file.write_all(text.as_bytes())
        })
    }

    fn spawn(write: impl FnMut(&Line) -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (lines, heard) = sync_channel(WAITING);
        let writer = thread::Builder::new().name("log".into()).spawn(|| run(heard, write))?;
        Ok(Log { lines: Some(lines), writer: Some(writer), start: None, lost: 0 })
    }

    /// Notes bytes, or a datagram and its peer.
    pub(super) fn note(&mut self, now: Instant, way: Way, peer: Option<SocketAddr>, bytes: &[u8]) {
        let start = *self.start.get_or_insert(now);
        let micros = now.saturating_duration_since(start).as_micros();
        let line = Line { micros, way, peer, bytes: bytes.to_vec(), lost: self.lost };
        let taken = self.lines.as_ref().is_some_and(|lines| lines.try_send(line).is_ok());
        self.lost = if taken { 0 } else { self.lost + 1 };
    }
}

/// What was noted is written before this ends.
impl Drop for Log {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn run(lines: Receiver<Line>, mut write: impl FnMut(&Line) -> io::Result<()>) {
    for line in lines {
        if line.lost > 0 {
            tracing::warn!("{} reads and writes were not recorded", line.lost);
        }
        if let Err(error) = write(&line) {
            tracing::error!("recording ends: {error}");
            return;
        }
    }
}

impl Line {
    fn way(&self) -> &'static str {
        if self.way == Way::Out { "TX" } else { "RX" }
    }

    fn hex(&self) -> String {
        let hex: Vec<_> = self.bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        hex.join(" ")
    }
}
