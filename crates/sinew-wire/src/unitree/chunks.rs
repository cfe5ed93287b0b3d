//! Answers in several pieces.
//!
//! A piece says `enable_chunking`, `chunk_index` (from 1) and `total_chunk_num`, in
//! `data.content_info` of a binary message or in `info.file` of a file's. The channel keeps the
//! order, so the next piece is the only one that fits.

use alloc::vec::Vec;
use core::{fmt, mem};

use serde_json::Value;

use super::{Message, json};
use crate::{Error, Got, Result, Wanted};

/// Which piece of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// From 1.
    pub index: u32,
    /// The last one's.
    pub total: u32,
}

/// How much is taken. What a message declares changes nothing about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of all pieces.
    pub bytes: usize,
    /// Most pieces.
    pub chunks: u32,
}

/// Puts pieces together.
#[derive(Clone, PartialEq, Eq)]
pub struct Assembly {
    limits: Limits,
    bytes: Vec<u8>,
    last: Option<Chunk>,
}

impl Chunk {
    /// The piece that a message's body is; none when the body is all there is.
    pub fn of(message: &Message) -> Result<Option<Self>> {
        match message.data.as_ref().and_then(|data| data.get("content_info")) {
            Some(info) => Self::parse(info),
            None => Ok(None),
        }
    }

    pub(super) fn parse(info: &Value) -> Result<Option<Self>> {
        let count = |field: &'static str| {
            let number = json::whole(field, info.get(field))?;
            u32::try_from(number).ok().filter(|number| *number > 0).ok_or(Error::new(
                field,
                Wanted::Between(1, u32::MAX.into()),
                Got::Number(number),
            ))
        };
        match info.get("enable_chunking").and_then(Value::as_bool) {
            Some(true) => {
                let index = count("chunk_index")?;
                Ok(Some(Chunk { index, total: count("total_chunk_num")? }))
            }
            _ => Ok(None),
        }
    }
}

impl Assembly {
    /// With nothing yet.
    pub const fn new(limits: Limits) -> Self {
        Assembly { limits, bytes: Vec::new(), last: None }
    }

    /// Takes the next piece; with the last one, all of them come out. After an error the pieces so
    /// far are gone, and the first is wanted again.
    pub fn push(&mut self, chunk: Chunk, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let fits = self.check(chunk, bytes);
        if let Err(error) = fits {
            *self = Assembly::new(self.limits);
            return Err(error);
        }
        self.bytes.extend_from_slice(bytes);
        self.last = Some(chunk);
        if chunk.index < chunk.total {
            return Ok(None);
        }
        self.last = None;
        Ok(Some(mem::take(&mut self.bytes)))
    }

    /// How many bytes there are so far.
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn check(&self, chunk: Chunk, bytes: &[u8]) -> Result<()> {
        let number = |number: u32| Got::Number(number.into());
        let next = self.last.map_or(1, |last| last.index.saturating_add(1));
        if chunk.index != next {
            let wanted = Wanted::Exactly(next.into());
            return Err(Error::new("chunk_index", wanted, number(chunk.index)));
        }
        if let Some(last) = self.last
            && last.total != chunk.total
        {
            let wanted = Wanted::Exactly(last.total.into());
            return Err(Error::new("total_chunk_num", wanted, number(chunk.total)));
        }
        // At the first piece: what cannot end well is not begun.
        if chunk.total.max(chunk.index) > self.limits.chunks {
            let wanted = Wanted::AtMost(self.limits.chunks.into());
            return Err(Error::new("total_chunk_num", wanted, number(chunk.total)));
        }
        let free = self.limits.bytes.saturating_sub(self.bytes.len());
        if bytes.len() > free {
            return Err(Error::count("chunk", Wanted::AtMost(free as u64), bytes.len()));
        }
        Ok(())
    }
}

impl fmt::Debug for Assembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Assembly { bytes, last, .. } = self;
        write!(f, "Assembly({} bytes, last {last:?})", bytes.len())
    }
}
