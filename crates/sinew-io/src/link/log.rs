use std::{
    fs::File,
    io::{self, Write},
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

#[cfg(feature = "capture")]
use sinew_api::{RAW, frame};
#[cfg(feature = "capture")]
use sinew_robot::capability::Audience;

#[cfg(feature = "capture")]
use crate::report::timestamp_us;

/// Lines, and bytes in them, that may wait to be written: a disk or a terminal may be slow, a pump may
/// not.
const WAITING: (usize, usize) = (4096, 4 << 20);
/// How long the last lines may take: standard error may be a pipe that is not read.
const FAREWELL: Duration = Duration::from_millis(500);

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
pub(super) struct Log {
    lines: Option<SyncSender<Line>>,
    /// Bytes that wait.
    waiting: Arc<AtomicUsize>,
    /// Told when all is written.
    written: Receiver<()>,
    start: Option<Instant>,
    /// Lines that found no room and are not told yet.
    lost: u64,
    /// Those that it is for, if it is not for all times.
    #[cfg(feature = "capture")]
    audience: Option<Arc<dyn Audience>>,
}

struct Line {
    #[cfg(feature = "capture")]
    at: Instant,
    /// Since the first one.
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

    /// To clients that read topic `raw`.
    #[cfg(feature = "capture")]
    pub(super) fn tell(audience: Arc<dyn Audience>) -> io::Result<Self> {
        let (readers, mut sequence) = (Arc::clone(&audience), 0);
        let mut log = Self::spawn(move |line| {
            sequence += line.lost + 1;
            let since = u64::try_from(line.at.elapsed().as_micros()).unwrap_or_default();
            let time_us = timestamp_us().saturating_sub(since);
            let name = if line.way == Way::Out { "tx" } else { "rx" };
            let header = frame::Header { sequence, time_us, name, ..frame::Header::default() };
            readers.frame(RAW, frame::raw(&header, &line.bytes));
            Ok(())
        })?;
        log.audience = Some(audience);
        Ok(log)
    }

    /// Whether what passes is to be noted now. Asked on a pump's own thread: it takes no lock.
    pub(super) fn is_wanted(&self) -> bool {
        #[cfg(feature = "capture")]
        if let Some(audience) = &self.audience {
            return audience.wants_frames(RAW);
        }
        true
    }

    fn spawn(write: impl FnMut(&Line) -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (lines, heard) = sync_channel(WAITING.0);
        let (all, written) = sync_channel(1);
        let waiting = Arc::<AtomicUsize>::default();
        let taken = Arc::clone(&waiting);
        thread::Builder::new().name("log".into()).spawn(move || {
            run(heard, &taken, write);
            let _ = all.send(());
        })?;
        Ok(Log {
            lines: Some(lines),
            waiting,
            written,
            start: None,
            lost: 0,
            #[cfg(feature = "capture")]
            audience: None,
        })
    }

    /// Notes bytes, or a datagram and its peer.
    pub(super) fn note(&mut self, now: Instant, way: Way, peer: Option<SocketAddr>, bytes: &[u8]) {
        let start = *self.start.get_or_insert(now);
        let micros = now.saturating_duration_since(start).as_micros();
        // Before the line is sent, since its bytes are taken off when it comes.
        let before = self.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        let has_room = before + bytes.len() <= WAITING.1;
        let taken = has_room
            && self.lines.as_ref().is_some_and(|lines| {
                let line = Line {
                    #[cfg(feature = "capture")]
                    at: now,
                    micros,
                    way,
                    peer,
                    bytes: bytes.to_vec(),
                    lost: self.lost,
                };
                lines.try_send(line).is_ok()
            });
        if taken {
            self.lost = 0;
        } else {
            self.waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
            self.lost += 1;
        }
    }
}

/// What was noted is written before this ends, if it can be.
impl Drop for Log {
    fn drop(&mut self) {
        self.lines = None;
        let _ = self.written.recv_timeout(FAREWELL);
    }
}

fn run(
    lines: Receiver<Line>,
    waiting: &AtomicUsize,
    mut write: impl FnMut(&Line) -> io::Result<()>,
) {
    for line in lines {
        waiting.fetch_sub(line.bytes.len(), Ordering::Relaxed);
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
