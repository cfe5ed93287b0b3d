//! A recording as a link: its messages, each when its time has come.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read},
    path::Path,
    time::{Duration, Instant},
};

use sinew_robot::{
    map::file::{
        Format, MAX_BYTES,
        messages::{self, HEAD, Head},
    },
    unitree::replay::Item,
};
use sinew_wire::slam;

use super::Link;
#[cfg(feature = "mcap")]
use recording::Mcap;

#[cfg(feature = "mcap")]
mod recording;

/// No channel carries a longer message.
const LONGEST: usize = 256 << 10;
/// Messages without times come at this pace, as clouds do.
const PERIOD: Duration = Duration::from_millis(100);
/// A silence in a recording does not last longer.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// The messages of a file.
pub(crate) struct ReplayLink {
    source: Source,
    speed: f64,
    is_open: bool,
    /// When the message at the front of the file comes, by the recording's own time and by ours.
    due: Option<Instant>,
    last: Option<Duration>,
    end: Option<End>,
}

/// Why there is no more.
enum End {
    ToTell(String),
    Told,
}

enum Source {
    /// A recording, read as it plays; the message at its front has this head.
    Recording { file: BufReader<File>, left: u64, head: Option<Head> },
    /// Messages one behind another, of which this many, and so many bytes, were given.
    Bare { bytes: Vec<u8>, count: u32, given: usize },
    #[cfg(feature = "mcap")]
    Mcap(Box<Mcap>),
}

/// What is at the front of a file.
enum Front {
    Message(Duration),
    /// There is no more, for this reason.
    End(String),
}

impl ReplayLink {
    /// Opens a recording, or a file of SLAM messages; what is neither is refused.
    pub(crate) fn open(path: &Path, speed: f64) -> io::Result<Self> {
        let wrong = |error: &dyn std::fmt::Display| {
            let message = format!("{}: {error}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, message)
        };
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        // A pipe would keep us waiting.
        let kind = fs::metadata(path).map_err(named)?;
        if !kind.is_file() {
            return Err(wrong(&"wanted a recording, got something that is no file"));
        }
        let file = File::open(path).map_err(named)?;
        let mut file = BufReader::new(file);
        let mut front = Vec::new();
        file.by_ref().take(4096).read_to_end(&mut front).map_err(named)?;
        #[cfg(feature = "mcap")]
        if sinew_record::read::is_mcap(&front) {
            file.seek_relative(-(front.len() as i64)).map_err(named)?;
            let source = Source::Mcap(Mcap::new(file).map_err(|error| wrong(&error))?.into());
            return Ok(ReplayLink {
                source,
                speed,
                is_open: false,
                due: None,
                last: None,
                end: None,
            });
        }
        match Format::of(&front) {
            Some(Format::Messages) => {}
            other => {
                let got = match other {
                    Some(other) => other.name(),
                    None if front.is_empty() => "nothing",
                    None => "none of them",
                };
                return Err(wrong(&format!(
                    "wanted a recording (as `sinew map record` makes them) or SLAM messages, got \
                     {got}"
                )));
            }
        }
        file.seek_relative(-(front.len() as i64)).map_err(named)?;
        let source = if messages::is_recording(&front) {
            messages::Recording::new(&front).map_err(|error| wrong(&error))?;
            file.seek_relative(HEAD as i64).map_err(named)?;
            Source::Recording { left: kind.len().saturating_sub(HEAD as u64), file, head: None }
        } else {
            let mut bytes = Vec::new();
            file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(named)?;
            if bytes.len() > MAX_BYTES {
                let most = MAX_BYTES >> 20;
                return Err(wrong(&format!("messages without times may take {most} MiB")));
            }
            slam::Message::split(&bytes).map_err(|error| wrong(&error))?;
            Source::Bare { bytes, count: 0, given: 0 }
        };
        Ok(ReplayLink { source, speed, is_open: false, due: None, last: None, end: None })
    }

    /// When the message at the front is due, counted from `from`; none when there is no more.
    fn look(&mut self, from: Instant) -> Option<Instant> {
        if self.due.is_some() || self.end.is_some() {
            return self.due;
        }
        match self.source.front() {
            Front::Message(at) => {
                // The first one comes at once; one that is from before the last, too.
                let silence = at.saturating_sub(self.last.unwrap_or(at)).min(LONGEST_SILENCE);
                let silence = Duration::try_from_secs_f64(silence.as_secs_f64() / self.speed);
                self.last = Some(at);
                self.due = Some(from + silence.unwrap_or(LONGEST_SILENCE));
            }
            Front::End(reason) => self.end = Some(End::ToTell(reason)),
        }
        self.due
    }
}

impl Source {
    fn front(&mut self) -> Front {
        match self {
            Source::Bare { bytes, given, .. } if *given == bytes.len() => Front::End(over()),
            Source::Bare { bytes, count, given } => match slam::Message::split(&bytes[*given..]) {
                Ok(_) => Front::Message(PERIOD * *count),
                Err(error) => Front::End(format!("the file ends in no message: {error}")),
            },
            #[cfg(feature = "mcap")]
            Source::Mcap(mcap) => match mcap.front() {
                Ok(at) => Front::Message(at),
                Err(reason) => Front::End(reason),
            },
            Source::Recording { file, left, head } => {
                if let Some(head) = head {
                    return Front::Message(head.at);
                }
                if *left == 0 {
                    return Front::End(over());
                }
                let mut bytes = [0; HEAD];
                if *left < HEAD as u64 {
                    return Front::End(cut());
                }
                if let Err(error) = file.read_exact(&mut bytes) {
                    return Front::End(unreadable(&error));
                }
                *left -= HEAD as u64;
                match Head::read(&bytes) {
                    Ok(read) if u64::from(read.len) > *left => Front::End(cut()),
                    Ok(read) => Front::Message(head.insert(read).at),
                    Err(error) => Front::End(format!("the recording is damaged: {error}")),
                }
            }
        }
    }

    /// The message at the front, which is there; none of one that is too long.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Item)> {
        match self {
            Source::Bare { bytes, count, given } => {
                let rest = &bytes[*given..];
                let behind = slam::Message::split(rest).map_or(0, |(_, behind)| behind.len());
                let message = &rest[..rest.len() - behind];
                *given += message.len();
                *count += 1;
                Ok(match buffer.get_mut(..message.len()) {
                    Some(room) => {
                        room.copy_from_slice(message);
                        (message.len(), Item::Bare)
                    }
                    None => (0, Item::Skipped),
                })
            }
            #[cfg(feature = "mcap")]
            Source::Mcap(mcap) => Ok(mcap.take(buffer)),
            Source::Recording { file, left, head } => {
                let Some(Head { form, len, .. }) = head.take() else {
                    return Ok((0, Item::Skipped));
                };
                *left -= u64::from(len);
                match buffer.get_mut(..len as usize) {
                    Some(room) => {
                        file.read_exact(room)?;
                        Ok((room.len(), Item::Message(form)))
                    }
                    None => {
                        file.seek_relative(len.into())?;
                        Ok((0, Item::Skipped))
                    }
                }
            }
        }
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("the recording cannot be read on: {error}")
}

fn over() -> String {
    "the recording is over".into()
}

fn cut() -> String {
    "the recording is over; its last message is not whole".into()
}

impl Link for ReplayLink {
    type Peer = Item;

    fn open(&mut self, now: Instant) -> io::Result<()> {
        self.is_open = true;
        self.look(now);
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn receive(&mut self, now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, Item)>> {
        if let Some(due) = self.look(now) {
            if due > now {
                return Ok(None);
            }
            self.due = None;
            match self.source.take(buffer) {
                Ok(given) => {
                    // From when it was due, so that the pace is the recording's; a program that did
                    // not run for a while does not make up for it.
                    self.look(due.max(now.checked_sub(PERIOD).unwrap_or(now)));
                    return Ok(Some(given));
                }
                Err(error) => self.end = Some(End::ToTell(unreadable(&error))),
            }
        }
        match self.end.replace(End::Told) {
            Some(End::ToTell(reason)) => {
                let length = reason.len().min(buffer.len());
                buffer[..length].copy_from_slice(&reason.as_bytes()[..length]);
                Ok(Some((length, Item::End)))
            }
            Some(End::Told) | None => Ok(None),
        }
    }

    /// There is no robot that would hear it.
    fn send(&mut self, _now: Instant, _to: Item, _bytes: &[u8]) -> io::Result<()> {
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
        false
    }

    fn is_reliable(&self, _item: Item) -> bool {
        true
    }
}
