//! Writes what is told to files, on a thread of its own: neither a slow disk nor a full one holds up what
//! comes, and what is lost by them is counted.

use std::{
    collections::{BTreeMap, VecDeque},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use sinew_api::Event;

use crate::{Converter, Rotation, Segment, Topical};

/// Bytes that wait to be written, at most.
const QUEUE: usize = 32 << 20;
/// A recorder that is killed has lost what came since.
const FLUSH: Duration = Duration::from_millis(500);

/// Where to record, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The first file; those that follow have a number: `OUT-0002.mcap`.
    pub path: PathBuf,
    /// When a new file is begun.
    pub rotation: Rotation,
    /// Whether files that are there are written over.
    pub force: bool,
    /// What else the files should say about themselves.
    pub about: BTreeMap<String, String>,
}

/// Something that the daemon told.
#[derive(Debug)]
pub enum Told {
    /// An event of a topic.
    Event(Event),
    /// A frame of bytes.
    Frame(Vec<u8>),
    /// So many messages were left out on the way.
    Lost(u64),
}

impl Told {
    fn bytes(&self) -> usize {
        // An event's text is some three times shorter than what it takes here.
        match self {
            Told::Event(event) => 64 + event.topic.len() + weight(&event.data),
            Told::Frame(bytes) => 64 + bytes.len(),
            Told::Lost(_) => 64,
        }
    }
}

/// About what a value takes in memory.
fn weight(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    32 + match value {
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| key.len() + weight(value)).sum()
        }
        Value::String(text) => text.len(),
        _ => 0,
    }
}

/// How it goes.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// Files that were begun.
    pub files: Vec<PathBuf>,
    /// Messages that were taken into files.
    pub messages: u64,
    /// Bytes in files.
    pub bytes: u64,
    /// What was left out by the daemon, since we read too slowly.
    pub lost_before: u64,
    /// What came faster than it could be written.
    pub lost_here: u64,
    /// What a full disk had no room for.
    pub lost_on_disk: u64,
    /// Why nothing is written at the moment.
    pub trouble: Option<String>,
}

impl Status {
    /// All that is not in the files.
    pub fn lost(&self) -> u64 {
        self.lost_before + self.lost_here + self.lost_on_disk
    }
}

/// A recorder that runs.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    status: Mutex<Status>,
}

#[derive(Debug, Default)]
struct Queue {
    told: VecDeque<(u64, Told)>,
    bytes: usize,
    is_over: bool,
}

impl Recorder {
    /// Begins the first file, and fails where that cannot be written.
    pub fn start(options: Options, converter: Converter) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut work = Work {
            segment: Segment::new(&options.path, options.force).map_err(io::Error::other)?,
            converter,
            shared: Arc::clone(&shared),
            number: 1,
            dropped: 0,
            finished_bytes: 0,
            finished_messages: 0,
            options,
        };
        let was_there = work.options.path.exists();
        if let Err(error) = work.segment.flush() {
            // On a full disk it was made, but not written: the next try should not find it there.
            if !was_there {
                let _ = fs::remove_file(&work.options.path);
            }
            return Err(error);
        }
        work.tell_begun();
        let thread = thread::Builder::new().name("recorder".into()).spawn(move || work.run())?;
        Ok(Recorder { shared, thread: Some(thread) })
    }

    /// Takes what was told at this time, or counts it as lost where too much waits already.
    pub fn take(&self, at_ns: u64, told: Told) {
        let bytes = told.bytes();
        let mut queue = lock(&self.shared.queue);
        if queue.bytes + bytes > QUEUE {
            drop(queue);
            let mut status = lock(&self.shared.status);
            match told {
                Told::Lost(count) => status.lost_before += count,
                _ => status.lost_here += 1,
            }
            return;
        }
        queue.bytes += bytes;
        queue.told.push_back((at_ns, told));
        self.shared.changed.notify_one();
    }

    /// How it goes.
    pub fn status(&self) -> Status {
        lock(&self.shared.status).clone()
    }

    /// Writes what waits, makes the file whole, and says how it went.
    pub fn finish(mut self) -> Status {
        self.end();
        lock(&self.shared.status).clone()
    }

    fn end(&mut self) {
        lock(&self.shared.queue).is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It does not panic; if it did, its files are as they are.
            let _ = thread.join();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the thread does.
struct Work {
    segment: Segment,
    converter: Converter,
    shared: Arc<Shared>,
    number: u32,
    /// Messages that were dropped since the disk is full.
    dropped: u64,
    finished_bytes: u64,
    finished_messages: u64,
    options: Options,
}

impl Work {
    fn run(mut self) {
        let mut flushed = Instant::now();
        let mut now_ns = 0;
        loop {
            let (all, is_over) = self.wait(flushed + FLUSH);
            for (at_ns, told) in all {
                now_ns = at_ns.max(now_ns);
                self.take(at_ns, told);
            }
            if is_over {
                self.convert(|converter, out| converter.settle(now_ns, true, out));
                self.finish();
                return;
            }
            if flushed.elapsed() >= FLUSH {
                flushed = Instant::now();
                self.convert(|converter, out| converter.settle(now_ns, false, out));
                self.flush(now_ns);
            }
        }
    }

    /// What has come, at the latest at this time, and whether no more will.
    fn wait(&self, until: Instant) -> (VecDeque<(u64, Told)>, bool) {
        let mut queue = lock(&self.shared.queue);
        while queue.told.is_empty() && !queue.is_over {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.changed.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        // A second's worth at most, so that it is written in time.
        let count = queue.told.len().min(256);
        let taken: VecDeque<_> = queue.told.drain(..count).collect();
        queue.bytes -= taken.iter().map(|(_, told)| told.bytes()).sum::<usize>();
        let is_over = queue.is_over && queue.told.is_empty();
        (taken, is_over)
    }

    fn take(&mut self, at_ns: u64, told: Told) {
        match told {
            Told::Event(event) => self.convert(|converter, out| converter.event(at_ns, event, out)),
            Told::Frame(bytes) => {
                self.convert(|converter, out| converter.frame(at_ns, &bytes, out))
            }
            Told::Lost(count) => {
                lock(&self.shared.status).lost_before += count;
                let text = format!("{count} messages were lost: the recorder reads too slowly");
                self.convert(|converter, out| converter.note(at_ns, &text, out));
            }
        }
    }

    fn convert(&mut self, make: impl FnOnce(&mut Converter, &mut dyn FnMut(Topical))) {
        let Work { segment, converter, dropped, .. } = self;
        make(converter, &mut |topical| {
            // Only more than 65,535 topics could be refused by the file itself.
            if segment.is_full() || segment.take(&topical).is_err() {
                *dropped += 1;
            }
        });
    }

    fn flush(&mut self, now_ns: u64) {
        if self.segment.is_gone() {
            let text = format!("{} was removed; it goes on in a new file", self.shown());
            tracing::warn!("{text}");
            lock(&self.shared.status).lost_on_disk += self.segment.messages();
            self.next_file();
        }
        let flushed = self.segment.flush();
        self.tell(&flushed);
        if flushed.is_err() {
            return;
        }
        let lost = std::mem::take(&mut self.dropped);
        if lost > 0 {
            // What is behind the gap is another file's.
            lock(&self.shared.status).lost_on_disk += lost;
            self.rotate();
            let text = format!("{lost} messages before this were lost: the disk took no more");
            self.convert(|converter, out| converter.note(now_ns, &text, out));
        } else if self.segment.is_finished()
            || self.options.rotation.is_due(self.segment.bytes(), self.segment.age())
        {
            self.rotate();
        }
    }

    /// Tells how it goes.
    fn tell(&self, written: &io::Result<()>) {
        let mut status = lock(&self.shared.status);
        status.bytes = self.finished_bytes + self.segment.bytes();
        status.messages = self.finished_messages + self.segment.messages();
        let trouble = written
            .as_ref()
            .err()
            .map(|error| format!("cannot write {}: {error}", self.segment.path().display()));
        match (&status.trouble, &trouble) {
            (None, Some(trouble)) => tracing::warn!("{trouble}; it is tried again and again"),
            (Some(_), None) => tracing::warn!("{} is written again", self.shown()),
            _ => {}
        }
        status.trouble = trouble;
    }

    fn shown(&self) -> String {
        self.segment.path().display().to_string()
    }

    fn rotate(&mut self) {
        let finished = self.segment.finish(self.about());
        self.tell(&finished);
        // Without room for its index it is tried again with the next flush.
        if finished.is_ok() {
            self.next_file();
        }
    }

    fn next_file(&mut self) {
        let path = loop {
            self.number += 1;
            let path = numbered(&self.options.path, self.number);
            // What was there before we began is not ours to take.
            if self.options.force || !path.exists() {
                break path;
            }
        };
        if let Ok(segment) = Segment::new(&path, self.options.force) {
            self.finished_bytes += self.segment.bytes();
            self.finished_messages += self.segment.messages();
            self.segment = segment;
            self.tell_begun();
        }
    }

    fn tell_begun(&self) {
        lock(&self.shared.status).files.push(self.segment.path().into());
    }

    fn finish(&mut self) {
        if self.dropped > 0 {
            lock(&self.shared.status).lost_on_disk += std::mem::take(&mut self.dropped);
        }
        let finished = self.segment.finish(self.about());
        self.tell(&finished);
        if finished.is_err() {
            lock(&self.shared.status).lost_on_disk += self.segment.waiting();
        }
    }

    /// What a file says about itself.
    fn about(&self) -> BTreeMap<String, String> {
        let status = lock(&self.shared.status);
        let mut about = self.options.about.clone();
        about.insert("file".into(), self.number.to_string());
        about.insert("lost_before_recorder".into(), status.lost_before.to_string());
        about.insert("lost_in_recorder".into(), status.lost_here.to_string());
        about.insert("lost_on_disk".into(), status.lost_on_disk.to_string());
        about
    }
}

/// `OUT-0002.mcap` of `OUT.mcap`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map_or("mcap".into(), |ending| ending.to_string_lossy());
    path.with_file_name(format!("{stem}-{number:04}.{ending}"))
}
