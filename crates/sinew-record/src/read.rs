//! Reads MCAP files from front to back, whole or not, of this program or others.
//!
//! Records are read by their bytes, which must be there: no length that a file declares allocates anything. A
//! file that ends within a record was not finished by its writer; all that came before counts. A chunk whose
//! check does not fit is left out and counted.

use std::{
    collections::HashMap,
    fmt,
    io::{self, Read},
    sync::Arc,
};

use mcap::{
    MAGIC,
    records::{Record, op},
};

use crate::Kind;

/// The longest record that is read.
const MAX_RECORD: u64 = 256 << 20;
/// The longest that a chunk may be when it is unpacked.
const MAX_CHUNK: u64 = 256 << 20;
/// Memory that an unpacker may ask for: 2 to this.
const WINDOW: u32 = 27;
/// Bytes of schemas and names of channels that are kept.
const MAX_KEPT: usize = 64 << 20;

/// A stream of messages that are of one topic and look alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// As `/vacuum/scan`.
    pub topic: String,
    /// How messages are encoded.
    pub encoding: String,
    /// The name of their schema; empty without one.
    pub schema: String,
    /// How the schema is written.
    pub schema_encoding: String,
    /// The schema.
    pub schema_data: Vec<u8>,
}

impl Channel {
    /// What its messages are, if it is something that is known here.
    pub fn kind(&self) -> Option<Kind> {
        Kind::of(&self.schema, &self.encoding)
    }
}

/// A message of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Message<'a> {
    /// Which it is of.
    pub channel: Arc<Channel>,
    /// When it was recorded, nanoseconds since 1970.
    pub log_ns: u64,
    /// When it was made.
    pub publish_ns: u64,
    /// Its bytes.
    pub data: &'a [u8],
}

/// How a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As it should: its writer finished it.
    Whole,
    /// Within its data: its writer was killed, or is at it still.
    Unfinished,
}

/// Why a file cannot be read on.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system says so.
    Io(io::Error),
    /// It does not begin as MCAP files do.
    Magic,
    /// Something in it is longer than is read.
    TooLong(&'static str),
    /// It is packed in a way that is not read here.
    Compression(String),
    /// A record that is none.
    Record(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(error) => error.fmt(f),
            Error::Magic => f.write_str("wanted an MCAP file, got something else"),
            Error::TooLong(what) => write!(f, "{what} is longer than is read here"),
            Error::Compression(name) => {
                write!(f, "chunks are packed with {name:?}: wanted zstd or none (`mcap compress`)")
            }
            Error::Record(reason) => write!(f, "the file is damaged: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}

/// Whether a file's first bytes are an MCAP file's.
pub fn is_mcap(front: &[u8]) -> bool {
    front.starts_with(MAGIC)
}

/// A file that is being read.
#[derive(Debug)]
pub struct Reader<R> {
    source: R,
    schemas: HashMap<u16, (String, String, Vec<u8>)>,
    channels: HashMap<u16, Arc<Channel>>,
    kept: usize,
    /// A record outside of chunks, or an unpacked chunk, of which so much was read.
    bytes: Vec<u8>,
    at: usize,
    ending: Option<Ending>,
    damaged: u64,
    about: Vec<(String, String)>,
}

/// What a record was.
enum Took {
    Message { channel: Arc<Channel>, log_ns: u64, publish_ns: u64, from: usize, to: usize },
    Other,
    End(Ending),
}

impl<R: Read> Reader<R> {
    /// Begins to read.
    pub fn new(mut source: R) -> Result<Self, Error> {
        let mut front = Vec::new();
        source.by_ref().take(MAGIC.len() as u64).read_to_end(&mut front)?;
        if !is_mcap(&front) {
            return Err(Error::Magic);
        }
        Ok(Reader {
            source,
            schemas: HashMap::new(),
            channels: HashMap::new(),
            kept: 0,
            bytes: Vec::new(),
            at: 0,
            ending: None,
            damaged: 0,
            about: Vec::new(),
        })
    }

    /// How the file ended, once it did.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// Chunks that were left out, because what they hold does not fit their check.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// What the file says about itself, as far as it was read.
    pub fn about(&self) -> &[(String, String)] {
        &self.about
    }

    /// All channels that were seen.
    pub fn channels(&self) -> impl Iterator<Item = &Arc<Channel>> {
        self.channels.values()
    }

    /// The next message; none at the end.
    pub fn message(&mut self) -> Result<Option<Message<'_>>, Error> {
        while self.ending.is_none() {
            let took = match self.at < self.bytes.len() {
                true => self.in_chunk()?,
                false => self.record()?,
            };
            match took {
                Took::Message { channel, log_ns, publish_ns, from, to } => {
                    let data = &self.bytes[from..to];
                    return Ok(Some(Message { channel, log_ns, publish_ns, data }));
                }
                Took::Other => {}
                Took::End(ending) => self.ending = Some(ending),
            }
        }
        Ok(None)
    }

    /// The next record of the chunk.
    fn in_chunk(&mut self) -> Result<Took, Error> {
        let rest = &self.bytes[self.at..];
        let Some((code, length, rest)) = head(rest) else {
            self.leave_out();
            return Ok(Took::Other);
        };
        let from = self.bytes.len() - rest.len();
        let Some(to) = usize::try_from(length)
            .ok()
            .and_then(|length| from.checked_add(length))
            .filter(|to| *to <= self.bytes.len())
        else {
            self.leave_out();
            return Ok(Took::Other);
        };
        self.at = to;
        self.take(code, from, to)
    }

    /// The rest of a chunk makes no sense.
    fn leave_out(&mut self) {
        self.damaged += 1;
        self.at = self.bytes.len();
    }

    /// The next record of the file itself.
    fn record(&mut self) -> Result<Took, Error> {
        let mut front = [0; 9];
        match fill(&mut self.source, &mut front)? {
            9 => {}
            _ => return Ok(Took::End(Ending::Unfinished)),
        }
        let Some((code, length, _)) = head(&front) else {
            return Ok(Took::End(Ending::Unfinished));
        };
        // What is only there for readers that jump is skipped, however long.
        let is_read = matches!(
            code,
            op::HEADER | op::SCHEMA | op::CHANNEL | op::MESSAGE | op::CHUNK | op::METADATA
        );
        self.bytes.clear();
        self.at = 0;
        if !is_read {
            let skipped = io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
            return Ok(match code {
                _ if skipped < length => Took::End(Ending::Unfinished),
                op::FOOTER => Took::End(self.magic()?),
                _ => Took::Other,
            });
        }
        if length > MAX_RECORD {
            return Err(Error::TooLong("a record"));
        }
        let read = self.source.by_ref().take(length).read_to_end(&mut self.bytes)?;
        if (read as u64) < length {
            self.bytes.clear();
            return Ok(Took::End(Ending::Unfinished));
        }
        if code == op::CHUNK {
            self.unpack()?;
            return Ok(Took::Other);
        }
        self.at = self.bytes.len();
        self.take(code, 0, self.bytes.len())
    }

    fn magic(&mut self) -> Result<Ending, Error> {
        let mut last = [0; 8];
        let count = fill(&mut self.source, &mut last)?;
        Ok(if count == 8 && last == *MAGIC { Ending::Whole } else { Ending::Unfinished })
    }

    /// Puts what is in a chunk in its place.
    fn unpack(&mut self) -> Result<(), Error> {
        let record = mcap::parse_record(op::CHUNK, &self.bytes);
        let Ok(Record::Chunk { header, data }) = record else {
            self.leave_out();
            return Ok(());
        };
        let mut unpacked = Vec::new();
        let read = match header.compression.as_str() {
            "" => data.as_ref().take(MAX_CHUNK + 1).read_to_end(&mut unpacked),
            "zstd" => {
                zstd::stream::read::Decoder::with_buffer(data.as_ref()).and_then(|mut zstd| {
                    zstd.window_log_max(WINDOW)?;
                    zstd.take(MAX_CHUNK + 1).read_to_end(&mut unpacked)
                })
            }
            other => return Err(Error::Compression(other.into())),
        };
        if unpacked.len() as u64 > MAX_CHUNK {
            return Err(Error::TooLong("a chunk"));
        }
        let is_right =
            header.uncompressed_crc == 0 || header.uncompressed_crc == crc32fast::hash(&unpacked);
        self.bytes = unpacked;
        self.at = 0;
        if read.is_err() || !is_right {
            self.bytes.clear();
            self.leave_out();
        }
        Ok(())
    }

    /// Reads one record.
    fn take(&mut self, code: u8, from: usize, to: usize) -> Result<Took, Error> {
        // Others than these are not parsed: a chunk in a chunk is none, and attachments are not looked at.
        if !matches!(code, op::SCHEMA | op::CHANNEL | op::MESSAGE | op::METADATA) {
            return Ok(Took::Other);
        }
        let bytes = &self.bytes[from..to];
        let record = mcap::parse_record(code, bytes);
        let record = record.map_err(|error| Error::Record(error.to_string()))?;
        match record {
            Record::Schema { header, data } => {
                let (name, encoding, data) = (header.name, header.encoding, data.into_owned());
                self.kept += name.len() + encoding.len() + data.len();
                self.schemas.insert(header.id, (name, encoding, data));
            }
            Record::Channel(channel) => {
                let schema = self.schemas.get(&channel.schema_id).cloned().unwrap_or_default();
                // A file may say the same again, before its index.
                let (name, schema_encoding, schema_data) = schema;
                let known = Channel {
                    topic: channel.topic,
                    encoding: channel.message_encoding,
                    schema: name,
                    schema_encoding,
                    schema_data,
                };
                self.kept += known.topic.len() + known.schema_data.len();
                self.channels.insert(channel.id, Arc::new(known));
            }
            Record::Message { header, data } => {
                let from = to - data.len();
                let Some(channel) = self.channels.get(&header.channel_id) else {
                    return Ok(Took::Other);
                };
                let (log_ns, publish_ns) = (header.log_time, header.publish_time);
                let channel = Arc::clone(channel);
                return Ok(Took::Message { channel, log_ns, publish_ns, from, to });
            }
            Record::Metadata(about) if about.name == "sinew" => {
                self.kept += bytes.len();
                self.about = about.metadata.into_iter().collect();
            }
            _ => {}
        }
        match self.kept > MAX_KEPT {
            true => Err(Error::TooLong("what the file says about its channels")),
            false => Ok(Took::Other),
        }
    }
}

/// A record's code and length, and what stands behind them.
fn head(bytes: &[u8]) -> Option<(u8, u64, &[u8])> {
    let (code, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk()?;
    Some((*code, u64::from_le_bytes(*length), rest))
}

/// Reads as much as there is.
fn fill(source: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match source.read(&mut into[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
