//! The log of a tap as a link: what a controller said, each when its time has come.

use std::{
    fs::File,
    io,
    path::Path,
    sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    thread,
    time::{Duration, Instant},
};

#[cfg(feature = "mcap")]
use std::io::{BufRead, BufReader, Seek};

use sinew_capture::{
    Capture,
    read::{Chunk, Record},
};
#[cfg(feature = "mcap")]
use sinew_record::stored::{LinkMessage, LinkMessages, LinkTopic, Part};
#[cfg(feature = "mcap")]
use sinew_wire::gd32::SYNC;

use super::Link;

/// Chunks that are read ahead.
const AHEAD: usize = 64;
/// A silence in a log does not last longer.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);
/// What a dump without times is given out at: as fast as a line of 115200 baud.
const NANOS_PER_BYTE: u64 = 86_806;
/// How often a disk is asked that has not given anything yet.
const AGAIN: Duration = Duration::from_millis(5);
/// What is made up for of a time in which this program did not run.
const LATEST: Duration = Duration::from_millis(100);
/// The longest piece that is handed out.
const LONGEST: usize = 4096;

/// What a log's reader gives.
enum Read {
    /// Bytes, and their time since those before.
    Bytes(Duration, Vec<u8>),
    End(String),
}

/// What a controller once said.
pub(crate) struct LoggedLink {
    read: Receiver<Read>,
    speed: f64,
    is_open: bool,
    /// Bytes whose time has not come, and how many of them were given.
    front: Option<(Instant, Vec<u8>, usize)>,
    due: Option<Instant>,
    end: Option<String>,
}

impl LoggedLink {
    /// Opens a log in which a controller says something.
    pub(crate) fn open(path: &Path, speed: f64, repeat: bool) -> io::Result<Self> {
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        // A pipe would keep us waiting.
        if !std::fs::metadata(path).map_err(named)?.is_file() {
            return Err(named(io::Error::other("wanted a log, got something that is no file")));
        }
        let (give, read) = sync_channel(AHEAD);
        let (tell, opened) = sync_channel(1);
        let file = path.to_owned();
        let work = move || run(&file, repeat, &give, &tell);
        thread::Builder::new().name("log-reader".into()).spawn(work)?;
        match opened.recv() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(named(io::Error::other(error))),
            Err(_) => return Err(named(io::Error::other("its reader has ended"))),
        }
        Ok(LoggedLink { read, speed, is_open: false, front: None, due: None, end: None })
    }

    /// Looks at what comes next, counted from `from`.
    fn look(&mut self, from: Instant) {
        if self.front.is_some() || self.end.is_some() {
            return;
        }
        match self.read.try_recv() {
            Ok(Read::Bytes(since, bytes)) => {
                let since = since.min(LONGEST_SILENCE).as_secs_f64() / self.speed;
                let since = Duration::try_from_secs_f64(since).unwrap_or(LONGEST_SILENCE);
                let due = from.checked_add(since).unwrap_or(from);
                self.front = Some((due, bytes, 0));
                self.due = Some(due);
            }
            Ok(Read::End(reason)) => self.end = Some(reason),
            Err(TryRecvError::Empty) => self.due = from.checked_add(AGAIN),
            Err(TryRecvError::Disconnected) => self.end = Some("the log's reader has ended".into()),
        }
    }
}

/// Reads a log to its end, again and again if that is wanted.
fn run(path: &Path, repeat: bool, give: &SyncSender<Read>, tell: &SyncSender<Result<(), String>>) {
    let mut told = false;
    loop {
        let mut source = match Source::open(path) {
            Ok(source) => source,
            Err(error) if told => return drop(give.send(Read::End(error))),
            Err(error) => return drop(tell.send(Err(error))),
        };
        let mut last = None;
        let mut lasts = Duration::ZERO;
        let end = loop {
            let Said { time, is_timed, bytes } = match source.next() {
                Ok(Some(said)) => said,
                Ok(None) => break "the recording is over".into(),
                Err(error) => break format!("the recording cannot be read on: {error}"),
            };
            if !told {
                told = true;
                let _ = tell.send(Ok(()));
            }
            for piece in bytes.chunks(LONGEST) {
                // What has no times is as long as its bytes take.
                let since = match is_timed {
                    true => Duration::from_nanos(
                        u64::try_from(time.saturating_sub(last.unwrap_or(time))).unwrap_or(0),
                    ),
                    false => std::mem::replace(
                        &mut lasts,
                        Duration::from_nanos(piece.len() as u64 * NANOS_PER_BYTE),
                    ),
                };
                last = Some(time);
                if give.send(Read::Bytes(since, piece.to_vec())).is_err() {
                    return;
                }
            }
        };
        if !told {
            return drop(tell.send(Err(source.none_here())));
        }
        if !repeat {
            return drop(give.send(Read::End(end)));
        }
    }
}

/// What a controller said at once.
struct Said {
    /// Nanoseconds since some time, if the log has times.
    time: i64,
    is_timed: bool,
    bytes: Vec<u8>,
}

/// A log that is being read.
enum Source {
    Capture(Box<Capture>),
    #[cfg(feature = "mcap")]
    Mcap(Box<LinkMessages<BufReader<File>>>),
}

impl Source {
    fn open(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        #[cfg(feature = "mcap")]
        let file = {
            let mut file = BufReader::new(file);
            if sinew_record::read::is_mcap(file.fill_buf().map_err(|error| error.to_string())?) {
                let messages =
                    LinkMessages::new(file, LinkTopic::Raw).map_err(|error| error.to_string())?;
                // A recording may have other robots' links, too.
                let is_controller = |bytes: &[u8]| bytes.windows(2).any(|pair| pair == SYNC);
                return Ok(Source::Mcap(messages.of_one_that_says(is_controller).into()));
            }
            file.rewind().map_err(|error| error.to_string())?;
            file.into_inner()
        };
        Capture::open(file)
            .map(|capture| Source::Capture(capture.into()))
            .map_err(|error| error.to_string())
    }

    /// What the controller said next; none at the end.
    fn next(&mut self) -> Result<Option<Said>, String> {
        match self {
            Source::Capture(capture) => {
                while let Some(record) = capture.next_record() {
                    let Record::Chunk(Chunk { time, from_host, bytes }) = record else { continue };
                    if from_host != Some(true) && !bytes.is_empty() {
                        let is_timed = from_host.is_some();
                        return Ok(Some(Said { time, is_timed, bytes: bytes.to_vec() }));
                    }
                }
                Ok(None)
            }
            #[cfg(feature = "mcap")]
            Source::Mcap(messages) => loop {
                match messages.message().map_err(|error| error.to_string())? {
                    Some(LinkMessage { at_us, part: Part::Rx, bytes }) => {
                        let time = i64::try_from(at_us.saturating_mul(1000)).unwrap_or(i64::MAX);
                        return Ok(Some(Said { time, is_timed: true, bytes }));
                    }
                    Some(_) => {}
                    None => return Ok(None),
                }
            },
        }
    }

    /// What to say of one in which a controller says nothing.
    fn none_here(&self) -> String {
        match self {
            Source::Capture(_) => "nothing of a controller is in it: wanted a tap's log (CSV or \
                                   pcapng) with RX rows, or a dump of the line"
                .into(),
            #[cfg(feature = "mcap")]
            Source::Mcap(messages) => messages.none_here(),
        }
    }
}

impl Link for LoggedLink {
    type Peer = ();

    fn open(&mut self, now: Instant) -> io::Result<()> {
        if let Some(reason) = &self.end {
            return Err(io::Error::other(reason.clone()));
        }
        self.is_open = true;
        self.look(now);
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn receive(&mut self, now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, ())>> {
        self.look(now);
        if let Some(reason) = &self.end
            && self.front.is_none()
        {
            self.is_open = false;
            self.due = None;
            return Err(io::Error::other(reason.clone()));
        }
        let Some((due, bytes, given)) = &mut self.front else { return Ok(None) };
        if *due > now || buffer.is_empty() {
            return Ok(None);
        }
        let rest = bytes.get(*given..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        *given += count;
        if *given == bytes.len() {
            // From when it was due, so that the pace is the log's.
            let from = (*due).max(now.checked_sub(LATEST).unwrap_or(now));
            self.front = None;
            self.look(from);
        }
        Ok(Some((count, ())))
    }

    /// There is no robot that would hear it.
    fn send(&mut self, _now: Instant, (): (), _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    fn longest(&self) -> usize {
        LONGEST
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    fn is_stream(&self) -> bool {
        true
    }
}
