use super::frame::{Fault, Frame, MAX_FRAME, Probe, SYNC};
use crate::Error;

/// Finds frames in a stream that arrives in any split.
///
/// Push bytes; frames and rubbish come out in order, each once, every byte
/// accounted for. A candidate whose LEN or check is wrong costs one byte, and
/// the search goes on behind it, so a false `FA FB` never hides a good frame.
/// Frames that lie whole in the pushed bytes are handed out in place; only an
/// incomplete last one is copied, so memory is bounded by one frame.
#[derive(Debug, Clone)]
pub struct Deframer {
    /// The beginning of a frame whose end has not come yet.
    carry: [u8; MAX_FRAME],
    carried: usize,
    /// Stream offset of the first carried byte, or of the next one to come.
    offset: u64,
    counters: Counters,
}

/// What a deframer has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Good frames.
    pub frames: u64,
    /// Candidates whose check was wrong.
    pub bad_checks: u64,
    /// Candidates whose LEN was impossible.
    pub bad_lengths: u64,
    /// Bytes that belong to no frame.
    pub dropped: u64,
}

/// A part of the stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece<'a> {
    /// Where in the stream it begins, counted from the deframer's first byte.
    pub offset: u64,
    /// What it is.
    pub what: What<'a>,
}

/// What a part of the stream is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum What<'a> {
    /// A good frame.
    Frame(Frame<'a>),
    /// Bytes that belong to no frame, up to the next candidate.
    Dropped {
        /// The bytes.
        bytes: &'a [u8],
        /// Why the first of them begins no frame; none when it was given up incomplete.
        reason: Option<Error>,
    },
}

impl Deframer {
    /// A deframer at the start of a stream.
    pub const fn new() -> Self {
        let counters = Counters { frames: 0, bad_checks: 0, bad_lengths: 0, dropped: 0 };
        Deframer { carry: [0; MAX_FRAME], carried: 0, offset: 0, counters }
    }

    /// What has been seen so far.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// How many bytes wait for the rest of their frame.
    ///
    /// On a quiet line they may wait for ever: after 50 ms call [`give_up`](Self::give_up).
    pub const fn pending(&self) -> usize {
        self.carried
    }

    /// Takes bytes in and hands every frame and every run of rubbish to `sink`.
    pub fn push(&mut self, input: &[u8], mut sink: impl FnMut(Piece<'_>)) {
        let input = self.complete_carried(input, &mut sink);
        if self.carried > 0 {
            return;
        }
        let (offset, counters) = (&mut self.offset, &mut self.counters);
        let left = at_full_width!(scan(input, offset, counters, &mut sink));
        if let Some(room) = self.carry.get_mut(..left.len()) {
            room.copy_from_slice(left);
            self.carried = left.len();
        }
    }

    /// Gives the incomplete frame up: drops one byte of it and searches the rest again.
    pub fn give_up(&mut self, mut sink: impl FnMut(Piece<'_>)) {
        if self.carried > 0 {
            self.drop_candidate(None, &mut sink);
            self.complete_carried(&[], &mut sink);
        }
    }

    /// Ends the stream: whatever is incomplete is given up.
    pub fn finish(&mut self, mut sink: impl FnMut(Piece<'_>)) {
        while self.carried > 0 {
            self.give_up(&mut sink);
        }
    }

    /// Works through the carried bytes, adding to them only what their candidate still lacks.
    fn complete_carried<'i>(
        &mut self,
        mut input: &'i [u8],
        sink: &mut impl FnMut(Piece<'_>),
    ) -> &'i [u8] {
        while self.carried > 0 {
            let carried = self.carry.get(..self.carried).unwrap_or_default();
            match Frame::probe(carried) {
                Probe::Frame(frame) => {
                    self.counters.frames += 1;
                    sink(Piece { offset: self.offset, what: What::Frame(frame) });
                    let len = frame.bytes().len();
                    self.forget(len);
                }
                Probe::Bad(fault) => self.drop_candidate(Some(fault), sink),
                Probe::Incomplete(needed) => {
                    let missing = needed.saturating_sub(self.carried).min(input.len());
                    let (more, rest) = input.split_at(missing);
                    match self.carry.get_mut(self.carried..self.carried + missing) {
                        Some(room) if missing > 0 => room.copy_from_slice(more),
                        _ => return input,
                    }
                    self.carried += missing;
                    input = rest;
                }
            }
        }
        input
    }

    fn drop_candidate(&mut self, fault: Option<Fault>, sink: &mut impl FnMut(Piece<'_>)) {
        let carried = self.carry.get(..self.carried).unwrap_or_default();
        let bytes = rubbish(carried);
        self.counters.drop(bytes.len(), fault);
        let reason = fault.map(|fault| fault.error(carried));
        sink(Piece { offset: self.offset, what: What::Dropped { bytes, reason } });
        let len = bytes.len();
        self.forget(len);
    }

    fn forget(&mut self, count: usize) {
        self.carry.copy_within(count..self.carried, 0);
        self.carried -= count;
        self.offset += count as u64;
    }
}

impl Default for Deframer {
    fn default() -> Self {
        Deframer::new()
    }
}

impl Counters {
    fn drop(&mut self, bytes: usize, fault: Option<Fault>) {
        self.dropped += bytes as u64;
        match fault {
            Some(Fault::Check) => self.bad_checks += 1,
            Some(Fault::Length) => self.bad_lengths += 1,
            Some(Fault::Sync) | None => {}
        }
    }
}

/// Hands out what lies whole in `bytes`; returns the incomplete frame at the end.
#[inline(always)]
fn scan<'i>(
    mut bytes: &'i [u8],
    offset: &mut u64,
    counters: &mut Counters,
    sink: &mut impl FnMut(Piece<'_>),
) -> &'i [u8] {
    while !bytes.is_empty() {
        let taken = match Frame::probe(bytes) {
            Probe::Frame(frame) => {
                counters.frames += 1;
                sink(Piece { offset: *offset, what: What::Frame(frame) });
                frame.bytes().len()
            }
            Probe::Bad(fault) => {
                let dropped = rubbish(bytes);
                counters.drop(dropped.len(), Some(fault));
                let what = What::Dropped { bytes: dropped, reason: Some(fault.error(bytes)) };
                sink(Piece { offset: *offset, what });
                dropped.len()
            }
            Probe::Incomplete(_) => break,
        };
        *offset += taken as u64;
        bytes = bytes.get(taken..).unwrap_or_default();
    }
    bytes
}

/// The first byte and all that follow it up to the next place where a frame could begin.
fn rubbish(bytes: &[u8]) -> &[u8] {
    let behind = bytes.get(1..).unwrap_or_default();
    let next = behind.iter().enumerate().position(|(at, &byte)| {
        byte == SYNC[0] && behind.get(at + 1).is_none_or(|&next| next == SYNC[1])
    });
    next.and_then(|at| bytes.get(..1 + at)).unwrap_or(bytes)
}
