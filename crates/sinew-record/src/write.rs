//! MCAP files, written so that they are whole whatever happens: chunks are made in memory, and a file gets
//! them one by one, so that one whose writer was killed, or whose disk was full, ends behind a chunk.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{FileExt, FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use mcap::{
    Compression, McapResult,
    records::{MessageHeader, Metadata},
    write::{NoSeek, WriteOptions},
};

use crate::{Kind, Topical};

/// What a chunk takes before it is packed; after a second it is written, however small.
const CHUNK: u64 = 1 << 20;
/// Bytes that wait for a disk, at most.
const PENDING: usize = 32 << 20;

/// When a new file is begun.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rotation {
    /// When the file has so many bytes.
    pub bytes: Option<u64>,
    /// When it is so old.
    pub age: Option<Duration>,
}

impl Rotation {
    /// Whether a file with so many bytes, of this age, is followed by a new one.
    pub fn is_due(&self, bytes: u64, age: Duration) -> bool {
        self.bytes.is_some_and(|most| bytes >= most) || self.age.is_some_and(|most| age >= most)
    }
}

/// One file of a recording.
pub struct Segment {
    path: PathBuf,
    force: bool,
    /// None until there is room for it.
    file: Option<File>,
    writer: mcap::Writer<NoSeek<Tail>>,
    /// What the writer has made that is not in `pending` yet.
    tail: Tail,
    /// What the file has.
    written: u64,
    /// What is to be written behind that.
    pending: Vec<u8>,
    channels: HashMap<(String, Kind), Channel>,
    schemas: HashMap<Kind, u16>,
    begun: Instant,
    messages: u64,
    /// Messages in chunks that the file does not have yet.
    waiting: u64,
    finished: bool,
}

struct Channel {
    id: u16,
    sequence: u32,
}

/// Bytes that the writer has made, for us to take.
#[derive(Debug, Clone, Default)]
struct Tail(Arc<Mutex<Vec<u8>>>);

impl Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Tail {
    fn take(&self, into: &mut Vec<u8>) {
        into.append(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Segment {
    /// A file that is opened with the first flush. Its path must be free unless `force`.
    pub fn new(path: &Path, force: bool) -> McapResult<Self> {
        let tail = Tail::default();
        let options = WriteOptions::new()
            .compression(Some(Compression::Zstd))
            // The recorder has a thread of its own already.
            .compression_threads(0)
            .chunk_size(Some(CHUNK))
            .disable_seeking(true)
            .library(concat!("sinew ", env!("CARGO_PKG_VERSION")));
        let writer = mcap::Writer::with_options(NoSeek::new(tail.clone()), options)?;
        Ok(Segment {
            path: path.into(),
            force,
            file: None,
            writer,
            tail,
            written: 0,
            pending: Vec::new(),
            channels: HashMap::new(),
            schemas: HashMap::new(),
            begun: Instant::now(),
            messages: 0,
            waiting: 0,
            finished: false,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that it has, and those that wait.
    pub fn bytes(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    /// Messages that it has, and those that wait.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Messages that its disk does not have yet.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// How old it is.
    pub fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether there is no room for a message, since the disk does not take those before.
    pub fn is_full(&self) -> bool {
        self.finished || self.pending.len() >= PENDING
    }

    /// Takes a message.
    pub fn take(&mut self, message: &Topical) -> McapResult<()> {
        let key = (message.topic.clone(), message.kind);
        let channel = match self.channels.get_mut(&key) {
            Some(channel) => channel,
            None => {
                let channel = self.add_channel(message)?;
                self.channels.entry(key).or_insert(channel)
            }
        };
        let header = MessageHeader {
            channel_id: channel.id,
            sequence: channel.sequence,
            log_time: message.log_ns,
            publish_time: message.publish_ns,
        };
        channel.sequence = channel.sequence.wrapping_add(1);
        self.writer.write_to_known_channel(&header, &message.data)?;
        self.messages += 1;
        self.waiting += 1;
        self.tail.take(&mut self.pending);
        Ok(())
    }

    fn add_channel(&mut self, message: &Topical) -> McapResult<Channel> {
        let kind = message.kind;
        let schema = match (self.schemas.get(&kind), kind.schema()) {
            (Some(id), _) => *id,
            // Zero says that there is none.
            (None, None) => 0,
            (None, Some(schema)) => {
                let id = self.writer.add_schema(&schema.name, &schema.encoding, &schema.data)?;
                self.schemas.insert(kind, id);
                id
            }
        };
        let about = BTreeMap::new();
        let id = self.writer.add_channel(schema, &message.topic, kind.encoding(), &about)?;
        Ok(Channel { id, sequence: 0 })
    }

    /// Ends the chunk and writes all that waits. Where that fails, it waits on.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.finished {
            self.writer.flush().map_err(io::Error::other)?;
        }
        self.write()
    }

    /// Writes index and summary behind the last chunk: the file is whole. `about` is kept in it. Where that
    /// fails it may be asked again, and takes no more messages.
    pub fn finish(&mut self, about: BTreeMap<String, String>) -> io::Result<()> {
        if !self.finished {
            let metadata = Metadata { name: "sinew".into(), metadata: about };
            self.writer.write_metadata(&metadata).map_err(io::Error::other)?;
            self.writer.finish().map_err(io::Error::other)?;
            self.finished = true;
        }
        self.write()
    }

    /// Whether it takes no more messages.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    fn write(&mut self) -> io::Result<()> {
        self.tail.take(&mut self.pending);
        if self.pending.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(open(&self.path, self.force)?),
        };
        if let Err(error) = file.write_all_at(&self.pending, self.written) {
            // What is there of a chunk helps no reader; what is no file cannot be cut.
            let _ = file.set_len(self.written);
            return Err(error);
        }
        self.written += self.pending.len() as u64;
        self.waiting = 0;
        self.pending.clear();
        // What was large once need not stay so.
        self.pending.shrink_to(CHUNK as usize);
        match file.sync_data() {
            // Some file systems have nothing to synchronise.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }

    /// Whether the file is no longer there for readers: it was removed.
    pub fn is_gone(&self) -> bool {
        let about = self.file.as_ref().and_then(|file| file.metadata().ok());
        about.is_some_and(|about| about.is_file() && about.nlink() == 0)
    }
}

fn open(path: &Path, force: bool) -> io::Result<File> {
    // A pipe would wait for its reader for ever.
    if fs::metadata(path).is_ok_and(|there| there.file_type().is_fifo()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "wanted a file, got a pipe"));
    }
    let mut options = File::options();
    options.write(true);
    match force {
        true => options.create(true).truncate(true).open(path),
        false => options.create_new(true).open(path),
    }
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment").field("path", &self.path).finish_non_exhaustive()
    }
}
