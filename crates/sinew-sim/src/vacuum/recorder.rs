use std::time::Instant;

use sinew_wire::{
    Result,
    gd32::{Command, Frame, Message, Sender},
};

/// A frame from the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// When its last byte came, or when it was found behind a false start.
    pub at: Instant,
    bytes: Box<[u8]>,
}

impl Received {
    /// The whole frame as it came.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its command.
    pub fn command(&self) -> Command {
        Command::from(self.bytes.get(3).copied().unwrap_or_default())
    }

    /// Its payload.
    pub fn payload(&self) -> &[u8] {
        Frame::new_checked(&self.bytes).map(|frame| frame.payload()).unwrap_or_default()
    }

    /// Its content, typed.
    pub fn message(&self) -> Result<Message<'_>> {
        Message::parse(&Frame::new_checked(&self.bytes)?, Some(Sender::Host))
    }
}

/// Keeps the latest frames, as one slice.
#[derive(Debug, Clone)]
pub(super) struct Recorder {
    /// Up to a quarter more than `keep`, so that the oldest are forgotten many at a time.
    frames: Vec<Received>,
    keep: usize,
}

impl Recorder {
    pub(super) fn new(keep: usize) -> Self {
        Recorder { frames: Vec::new(), keep }
    }

    pub(super) fn push(&mut self, at: Instant, frame: &Frame<'_>) {
        if self.keep == 0 {
            return;
        }
        if self.frames.len() > self.keep.saturating_add(self.keep / 4) {
            self.frames.drain(..self.surplus());
        }
        self.frames.push(Received { at, bytes: frame.bytes().into() });
    }

    pub(super) fn frames(&self) -> &[Received] {
        self.frames.get(self.surplus()..).unwrap_or_default()
    }

    pub(super) fn take(&mut self) -> Vec<Received> {
        let surplus = self.surplus();
        let mut frames = std::mem::take(&mut self.frames);
        frames.drain(..surplus);
        frames
    }

    fn surplus(&self) -> usize {
        self.frames.len().saturating_sub(self.keep)
    }
}
