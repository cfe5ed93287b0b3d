use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, SeqAccess, Visitor},
};
use sinew_robot::trajectory::VERSION;

/// An error may repeat a string of the file, however long that is.
const MAX_MESSAGE: usize = 200;

/// What a listing tells of a document, read without keeping the motion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summary {
    pub(super) created: u64,
    pub(super) duration_ms: u32,
    pub(super) frames: usize,
    pub(super) keyframes: usize,
}

impl Summary {
    /// Reads a document's text, or tells why it is none.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let file: File = serde_json::from_str(text)
            .map_err(|error| error.to_string().chars().take(MAX_MESSAGE).collect::<String>())?;
        if file.version != VERSION {
            return Err(format!("version: wanted {VERSION}, got {}", file.version));
        }
        let recorded_ms = file.frames.last_ms.saturating_sub(file.frames.first_ms);
        Ok(Summary {
            created: file.created,
            duration_ms: recorded_ms.max(file.keyframes.last_ms),
            frames: file.frames.count,
            keyframes: file.keyframes.count,
        })
    }
}

#[derive(Deserialize)]
struct File {
    version: u32,
    #[serde(rename = "name")]
    _name: IgnoredAny,
    created: u64,
    #[serde(rename = "joints")]
    _joints: IgnoredAny,
    #[serde(default, deserialize_with = "times::<Frame, _>")]
    frames: Times,
    #[serde(default, deserialize_with = "times::<Keyframe, _>")]
    keyframes: Times,
}

/// How many items a list has, and what times they span.
#[derive(Debug, Default)]
struct Times {
    count: usize,
    first_ms: u32,
    last_ms: u32,
}

trait Timed {
    fn time_ms(&self) -> u32;
}

fn times<'de, T, D>(deserializer: D) -> Result<Times, D::Error>
where
    T: Deserialize<'de> + Timed,
    D: Deserializer<'de>,
{
    deserializer.deserialize_seq(TimesVisitor(PhantomData::<T>))
}

struct TimesVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Timed> Visitor<'de> for TimesVisitor<T> {
    type Value = Times;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Times, A::Error> {
        let mut times = Times::default();
        while let Some(item) = items.next_element::<T>()? {
            let time_ms = item.time_ms();
            if times.count == 0 {
                times.first_ms = time_ms;
            }
            times.last_ms = times.last_ms.max(time_ms);
            times.count += 1;
        }
        Ok(times)
    }
}

#[derive(Deserialize)]
struct Keyframe {
    time_ms: u16,
}

impl Timed for Keyframe {
    fn time_ms(&self) -> u32 {
        self.time_ms.into()
    }
}

/// A row of numbers, the time first.
struct Frame {
    time: f64,
}

impl Timed for Frame {
    fn time_ms(&self) -> u32 {
        self.time as u32
    }
}

impl<'de> Deserialize<'de> for Frame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FrameVisitor)
    }
}

struct FrameVisitor;

impl<'de> Visitor<'de> for FrameVisitor {
    type Value = Frame;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time and positions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<Frame, A::Error> {
        let time = row.next_element()?;
        while row.next_element::<IgnoredAny>()?.is_some() {}
        let missing = || serde::de::Error::invalid_length(0, &self);
        Ok(Frame { time: time.ok_or_else(missing)? })
    }
}
