//! The logs of a tap: written in whole rows and blocks several times a second, kept within bounds, and
//! tried again when the disk is full.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::mpsc::Sender,
    time::{Duration, Instant},
};

use sinew_capture::{
    Line,
    write::{CSV_HEAD, CSV_UDP_HEAD, IP_LINK, csv_row, pcapng_head, pcapng_packet, udp_packet},
};

use super::{Notice, Passage};

/// What was noted is written this often; a process that is killed takes no more with it.
pub(super) const FLUSH: Duration = Duration::from_millis(100);
/// Bytes that are written at once, whenever there are as many.
const ENOUGH: usize = 64 << 10;
/// Bytes that may wait while a disk takes none.
const PATIENT: usize = 1 << 20;
/// How often such a disk is tried.
const AGAIN: Duration = Duration::from_secs(1);

/// Where to write what passed.
#[derive(Debug, Clone, Default)]
pub struct Logs {
    /// Rows `timestamp_us,TX|RX,AA BB …`, as the bytes came.
    pub csv: Option<PathBuf>,
    /// Packets, of a serial line frame by frame.
    pub pcapng: Option<PathBuf>,
    /// When to begin a new file.
    pub rotate: Option<Rotate>,
    /// How many files of each to keep, the current one among them.
    pub keep: usize,
}

/// When a new file is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotate {
    /// When it has this many bytes.
    Size(u64),
    /// When it is this old.
    Time(Duration),
}

pub(super) struct Files {
    csv: Option<LogFile>,
    pcapng: Option<LogFile>,
    link: u16,
    /// Frames are found before they are written; the host's side, then the device's.
    lines: [Line; 2],
    begin: (Instant, u64),
}

impl Files {
    pub(super) fn create(
        logs: &Logs,
        link: u16,
        interface: String,
        begin: (Instant, u64),
        notices: Sender<Notice>,
    ) -> io::Result<Self> {
        let program = concat!("sinew ", env!("CARGO_PKG_VERSION"));
        let mut head = Vec::new();
        pcapng_head(&mut head, program, &interface, link);
        let open = |path: &Option<PathBuf>, head: Vec<u8>| {
            let make = |path| LogFile::create(path, head, logs, notices.clone());
            path.as_deref().map(make).transpose()
        };
        let lines = [Line::new(), Line::new()];
        let csv_head = if link == IP_LINK { CSV_UDP_HEAD } else { CSV_HEAD };
        let csv = open(&logs.csv, csv_head.into())?;
        Ok(Files { csv, pcapng: open(&logs.pcapng, head)?, link, lines, begin })
    }

    pub(super) fn take(&mut self, passage: &Passage) {
        let Passage { nanos, from_host, ends, bytes } = passage;
        if let Some(csv) = &mut self.csv {
            csv.add(|out| csv_row(out, nanos / 1000, *from_host, bytes, *ends));
        }
        let Some(pcapng) = &mut self.pcapng else { return };
        match ends {
            Some((from, to)) if self.link == IP_LINK => {
                if let Some(packet) = udp_packet(*from, *to, bytes) {
                    pcapng.add(|out| pcapng_packet(out, *nanos, *from_host, &packet));
                }
            }
            _ => {
                let line = &mut self.lines[usize::from(!from_host)];
                let write = |bytes: &[u8]| {
                    pcapng.add(|out| pcapng_packet(out, *nanos, *from_host, bytes));
                };
                pieces(line, *nanos, Some(bytes), write);
            }
        }
    }

    pub(super) fn flush_when_due(&mut self) {
        let now = Instant::now();
        self.expire(now);
        for file in self.csv.iter_mut().chain(&mut self.pcapng) {
            file.flush_when_due(now);
        }
    }

    /// Writes what cannot become a frame any more.
    fn expire(&mut self, now: Instant) {
        let Some(pcapng) = &mut self.pcapng else { return };
        let (begin, since_1970) = self.begin;
        let nanos = since_1970 + now.saturating_duration_since(begin).as_nanos() as u64;
        for (line, from_host) in self.lines.iter_mut().zip([true, false]) {
            line.expire(nanos as i64, |piece| {
                pcapng.add(|out| pcapng_packet(out, nanos, from_host, piece.bytes()));
            });
        }
    }

    pub(super) fn finish(&mut self) {
        if let Some(pcapng) = &mut self.pcapng {
            let nanos = self.begin.1 + self.begin.0.elapsed().as_nanos() as u64;
            for (line, from_host) in self.lines.iter_mut().zip([true, false]) {
                let write = |bytes: &[u8]| {
                    pcapng.add(|out| pcapng_packet(out, nanos, from_host, bytes));
                };
                pieces(line, nanos, None, write);
            }
        }
        let now = Instant::now();
        self.csv.iter_mut().chain(&mut self.pcapng).for_each(|file| file.flush(now));
    }
}

/// Hands bytes out frame by frame, and what is between frames in one.
fn pieces(line: &mut Line, nanos: u64, bytes: Option<&[u8]>, mut write: impl FnMut(&[u8])) {
    let mut rubbish = Vec::new();
    let mut sink = |piece: sinew_capture::Piece<'_>| {
        if let sinew_capture::Piece::Rubbish(bytes) = piece {
            return rubbish.extend_from_slice(bytes);
        }
        if !rubbish.is_empty() {
            write(&std::mem::take(&mut rubbish));
        }
        write(piece.bytes());
    };
    match bytes {
        Some(bytes) => line.push(nanos as i64, bytes, &mut sink),
        None => line.finish(&mut sink),
    }
    if !rubbish.is_empty() {
        write(&rubbish);
    }
}

/// A file that only ever ends behind a whole row or block.
struct LogFile {
    path: PathBuf,
    file: File,
    head: Vec<u8>,
    rotate: Option<Rotate>,
    keep: usize,
    /// Rows and blocks that are not written yet, and how many they are.
    buffer: Vec<u8>,
    count: u64,
    /// Bytes of the file.
    length: u64,
    begun: Instant,
    flushed: Instant,
    /// It cannot be written; so many passages are missing.
    failing: Option<u64>,
    notices: Sender<Notice>,
}

impl LogFile {
    fn create(
        path: &Path,
        head: Vec<u8>,
        logs: &Logs,
        notices: Sender<Notice>,
    ) -> io::Result<Self> {
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        if fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() > 0) {
            let message = "is there already: choose another name, or remove it first";
            return Err(named(io::Error::new(io::ErrorKind::AlreadyExists, message)));
        }
        let file = File::create(path).map_err(named)?;
        let now = Instant::now();
        let mut file = LogFile {
            path: path.into(),
            file,
            buffer: head.clone(),
            head,
            rotate: logs.rotate,
            keep: logs.keep.max(1),
            count: 0,
            length: 0,
            begun: now,
            flushed: now,
            failing: None,
            notices,
        };
        file.flush(now);
        Ok(file)
    }

    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.buffer.len() >= PATIENT {
            // The disk takes nothing: what is there stays, and what comes is counted.
            self.failing = self.failing.map(|lost| lost + 1);
            return;
        }
        write(&mut self.buffer);
        self.count += 1;
        if self.buffer.len() >= ENOUGH && self.failing.is_none() {
            self.flush(Instant::now());
        }
    }

    fn flush_when_due(&mut self, now: Instant) {
        let period = if self.failing.is_some() { AGAIN } else { FLUSH };
        if now.saturating_duration_since(self.flushed) >= period {
            self.flush(now);
        }
        let is_due = match self.rotate {
            None => false,
            Some(Rotate::Size(most)) => self.length >= most,
            Some(Rotate::Time(most)) => now.saturating_duration_since(self.begun) >= most,
        };
        if is_due && self.failing.is_none() {
            self.begin_anew(now);
        }
    }

    fn flush(&mut self, now: Instant) {
        self.flushed = now;
        if self.buffer.is_empty() {
            return;
        }
        if let Err(error) = self.file.write_all(&self.buffer) {
            // What was written in part is taken back, so that the file can be read to its end.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(SeekFrom::Start(self.length));
            if self.failing.is_none() {
                self.failing = Some(0);
                self.tell(Notice::LogFailed(self.path.clone(), error.to_string()));
            }
            return;
        }
        self.length += self.buffer.len() as u64;
        self.buffer.clear();
        self.count = 0;
        if let Some(lost) = self.failing.take() {
            self.tell(Notice::LogMended(self.path.clone(), lost));
        }
    }

    /// Puts the file behind those before it, of which the oldest goes, and begins another.
    fn begin_anew(&mut self, now: Instant) {
        self.flush(now);
        if self.failing.is_some() {
            return;
        }
        self.begun = now;
        for number in (1..self.keep).rev() {
            let older = numbered(&self.path, number);
            let newer =
                if number == 1 { self.path.clone() } else { numbered(&self.path, number - 1) };
            // One that is not there yet.
            let _ = fs::rename(newer, older);
        }
        match File::create(&self.path) {
            Ok(file) => {
                self.file = file;
                self.length = 0;
                self.buffer.splice(0..0, self.head.iter().copied());
                self.flush(now);
            }
            Err(error) => {
                // The one that is open goes on, under the name that it has now.
                self.tell(Notice::LogFailed(self.path.clone(), error.to_string()));
            }
        }
    }

    fn tell(&self, notice: Notice) {
        let _ = self.notices.send(notice);
    }
}

/// `tap.csv.1` and so on.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name: OsString = path.into();
    name.push(format!(".{number}"));
    name.into()
}
