//! SLAM messages in a file: one, several one behind another, or a recording with their times.
//!
//! ```text
//! recording    "SINEWMSG"  u32 version 1  u32 0
//! each message u64 microseconds since the recording began   u32 form: 1 text, 2 binary   u32 length
//!              the message as it came
//! ```
//!
//! All numbers little endian. A recording whose writer did not live to finish it ends within a
//! message: what came before counts.

use std::time::Duration;

use sinew_wire::{
    slam::{ChannelRange, Cloud, CloudFrame, Message, Reading, Reason, channel_ranges},
    unitree::{Binary, Form},
};

use super::{Error, Field, Kind, Points};

const MAGIC: &[u8; 8] = b"SINEWMSG";
const VERSION: u32 = 1;
/// Bytes before a recording's first message, and before the bytes of each message.
pub const HEAD: usize = 16;

/// What the messages of a file amount to.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Whether their times are known.
    pub timed: bool,
    /// Clouds.
    pub frames: usize,
    /// Messages of a recording that hold no cloud.
    pub others: usize,
    /// From the first message to the last.
    pub duration: Option<Duration>,
    /// Whether the file ends within a message.
    pub is_cut: bool,
    /// How points were read, and why; none when there is no cloud.
    pub reading: Option<(Reading, Reason)>,
    /// Whether clouds were read in both ways; the reading is then the first one's.
    pub is_mixed: bool,
    /// Ranges of the six numbers of a 12-byte record, over all clouds.
    pub channels: Option<[ChannelRange; 6]>,
}

/// A message of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded<'a> {
    /// Since the recording began.
    pub at: Duration,
    /// How it travelled.
    pub form: Form,
    /// The message.
    pub bytes: &'a [u8],
}

/// What stands before a message of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Since the recording began.
    pub at: Duration,
    /// How the message travelled.
    pub form: Form,
    /// Its bytes.
    pub len: u32,
}

impl Head {
    /// Reads it.
    pub fn read(bytes: &[u8; HEAD]) -> Result<Self, Error> {
        let [time, words] = [&bytes[..8], &bytes[8..]];
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|index| words[at + index]));
        let micros = u64::from_le_bytes(std::array::from_fn(|index| time[index]));
        let form = match word(0) {
            1 => Form::Text,
            2 => Form::Binary,
            other => return Err(Error::new("form", "1 or 2", other)),
        };
        Ok(Head { at: Duration::from_micros(micros), form, len: word(4) })
    }
}

/// A recording, message by message.
#[derive(Debug, Clone)]
pub struct Recording<'a> {
    rest: &'a [u8],
}

/// What a recording begins with.
pub fn begin() -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head
}

/// Appends a message; one of 4 GiB, which no link carries, is left out.
pub fn append(message: Recorded<'_>, out: &mut Vec<u8>) {
    let Ok(len) = u32::try_from(message.bytes.len()) else { return };
    let micros = u64::try_from(message.at.as_micros()).unwrap_or(u64::MAX);
    let form: u32 = match message.form {
        Form::Text => 1,
        Form::Binary => 2,
    };
    out.extend(micros.to_le_bytes());
    out.extend(form.to_le_bytes());
    out.extend(len.to_le_bytes());
    out.extend_from_slice(message.bytes);
}

impl<'a> Recording<'a> {
    /// A recording, by its first bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let rest = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<8>());
        let (head, rest) = rest
            .ok_or_else(|| Error::new("recording", "SINEWMSG and a version", "something else"))?;
        let [a, b, c, d, ..] = *head;
        match u32::from_le_bytes([a, b, c, d]) {
            VERSION => Ok(Recording { rest }),
            version => Err(Error::new("version", VERSION.to_string(), version)),
        }
    }

    /// Whether bytes of a message are left that is not whole.
    pub fn is_cut(&self) -> bool {
        !self.rest.is_empty()
    }
}

impl<'a> Iterator for Recording<'a> {
    type Item = Result<Recorded<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.rest.split_first_chunk::<HEAD>()?;
        let Head { at, form, len } = match Head::read(head) {
            Ok(head) => head,
            Err(error) => {
                self.rest = &[];
                return Some(Err(error));
            }
        };
        let (bytes, rest) = rest.split_at_checked(len as usize)?;
        self.rest = rest;
        Some(Ok(Recorded { at, form, bytes }))
    }
}

/// Whether the content begins as a recording does.
pub fn is_recording(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Whether the content could be messages.
pub fn looks_like(bytes: &[u8]) -> bool {
    is_recording(bytes) || Message::looks_like(bytes)
}

/// Reads all clouds of a file, by the wanted reading or by what each says; their points follow one
/// another.
pub fn read(bytes: &[u8], wanted: Option<Reading>) -> Result<(Points, Summary), Error> {
    let mut sum = Sum::new(wanted)?;
    if is_recording(bytes) {
        sum.recording(bytes)?;
    } else {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (message, behind) = Message::split(rest)?;
            sum.add(&message)?;
            rest = behind;
        }
    }
    Ok((sum.points, sum.summary))
}

struct Sum {
    wanted: Option<Reading>,
    points: Points,
    summary: Summary,
}

impl Sum {
    fn new(wanted: Option<Reading>) -> Result<Self, Error> {
        let fields = ["x", "y", "z"].map(|name| Field::new(name, Kind::F32));
        let summary = Summary {
            timed: false,
            frames: 0,
            others: 0,
            duration: None,
            is_cut: false,
            reading: None,
            is_mixed: false,
            channels: None,
        };
        Ok(Sum { wanted, points: Points::new(fields.into())?, summary })
    }

    fn recording(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.summary.timed = true;
        let mut recording = Recording::new(bytes)?;
        let mut first = None;
        for message in recording.by_ref() {
            let message = message?;
            let begun = *first.get_or_insert(message.at);
            self.summary.duration = Some(message.at.saturating_sub(begun));
            match cloud_of(message)? {
                Some(cloud) => self.add(&cloud)?,
                None => self.summary.others += 1,
            }
        }
        self.summary.is_cut = recording.is_cut();
        Ok(())
    }

    fn add(&mut self, message: &Message<'_>) -> Result<(), Error> {
        let cloud = Cloud::new(message, self.wanted)?;
        for point in cloud.points(CloudFrame::Map)? {
            let [x, y, z] = point.map(f32::to_le_bytes);
            self.points.push([x, y, z].as_flattened())?;
        }
        let summary = &mut self.summary;
        summary.frames += 1;
        let choice = cloud.choice;
        let (reading, _) = *summary.reading.get_or_insert((choice.reading, choice.reason));
        summary.is_mixed |= reading != choice.reading;
        if let Some(ranges) = channel_ranges::<6>(cloud.body()) {
            summary.channels = Some(match summary.channels {
                Some(before) => std::array::from_fn(|index| joined(before[index], ranges[index])),
                None => ranges,
            });
        }
        Ok(())
    }
}

/// The cloud that a message of a recording holds.
fn cloud_of(message: Recorded<'_>) -> Result<Option<Message<'_>>, Error> {
    if message.form == Form::Text {
        return Ok(None);
    }
    let binary = Binary::new_checked(message.bytes)?;
    let topic = binary.message()?.topic.unwrap_or_default();
    Ok(topic.contains("slam").then(|| binary.cloud()))
}

fn joined(a: ChannelRange, b: ChannelRange) -> ChannelRange {
    ChannelRange {
        signed: (a.signed.0.min(b.signed.0), a.signed.1.max(b.signed.1)),
        unsigned: (a.unsigned.0.min(b.unsigned.0), a.unsigned.1.max(b.unsigned.1)),
    }
}
