//! Frames found in a stream of bytes that arrives in any split.
//!
//! [`Deframer`] does the searching, a [`Framing`] says what a frame is: [`gd32`](crate::gd32) and
//! [`delta2d`](crate::delta2d) have one each.

use crate::Error;

/// What a frame is on one line.
pub trait Framing {
    /// A good frame, borrowed from the bytes it came in.
    type Frame<'a>: Copy;

    /// Judges the front of `bytes`, which must not be empty for any verdict but `Incomplete`.
    fn probe<'a>(&self, bytes: &'a [u8]) -> Probe<Self::Frame<'a>>;

    /// How many bytes a frame has.
    fn length(frame: &Self::Frame<'_>) -> usize;

    /// Whether a frame could begin with the first of these bytes, as far as they go. What is said no
    /// to here is [`Fault::Sync`] to [`probe`](Self::probe).
    fn may_begin(bytes: &[u8]) -> bool;

    /// A fault with what was wanted and what `bytes` have instead.
    fn error(fault: Fault, bytes: &[u8]) -> Error;

    /// Takes note of a frame before it is handed out.
    #[inline(always)]
    fn found(&mut self, _frame: &Self::Frame<'_>) {}
}

/// What the front of a run of bytes is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Probe<F> {
    /// A good frame.
    Frame(F),
    /// Could become a frame once there are this many bytes.
    Incomplete(usize),
    /// No frame.
    Bad(Fault),
}

/// Why no frame begins where one was looked for. Small, since every byte of noise has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The first bytes begin no frame.
    Sync,
    /// The length is impossible.
    Length,
    /// The check is wrong.
    Check,
}

/// Finds frames in a stream.
///
/// Push bytes; frames and rubbish come out in order, each once, every byte
/// accounted for. A candidate whose length or check is wrong costs one byte, and
/// the search goes on behind it, so a false beginning never hides a good frame.
/// Frames that lie whole in the pushed bytes are handed out in place; only an
/// incomplete last one is copied, so memory is bounded by `MAX`, the longest frame.
#[derive(Debug, Clone)]
pub struct Deframer<F, const MAX: usize> {
    framing: F,
    /// The beginning of a frame whose end has not come yet.
    carry: [u8; MAX],
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
    /// Candidates whose length was impossible.
    pub bad_lengths: u64,
    /// Bytes that belong to no frame.
    pub dropped: u64,
}

/// A part of the stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece<'a, F> {
    /// Where in the stream it begins, counted from the deframer's first byte.
    pub offset: u64,
    /// What it is.
    pub what: What<'a, F>,
}

/// What a part of the stream is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum What<'a, F> {
    /// A good frame.
    Frame(F),
    /// Bytes that belong to no frame, up to the next candidate.
    Dropped {
        /// The bytes.
        bytes: &'a [u8],
        /// Why the first of them begins no frame; none when it was given up incomplete.
        reason: Option<Error>,
    },
}

impl<F: Framing, const MAX: usize> Deframer<F, MAX> {
    /// A deframer at the start of a stream of such frames.
    pub const fn with(framing: F) -> Self {
        let counters = Counters { frames: 0, bad_checks: 0, bad_lengths: 0, dropped: 0 };
        Deframer { framing, carry: [0; MAX], carried: 0, offset: 0, counters }
    }

    /// What it takes for a frame.
    pub const fn framing(&self) -> &F {
        &self.framing
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
    pub fn push(&mut self, input: &[u8], mut sink: impl for<'p> FnMut(Piece<'p, F::Frame<'p>>)) {
        let input = self.complete_carried(input, &mut sink);
        if self.carried > 0 {
            return;
        }
        let (framing, offset) = (&mut self.framing, &mut self.offset);
        let counters = &mut self.counters;
        let left = at_full_width!(scan(input, framing, offset, counters, &mut sink));
        if let Some(room) = self.carry.get_mut(..left.len()) {
            room.copy_from_slice(left);
            self.carried = left.len();
        }
    }

    /// Gives the incomplete frame up: drops one byte of it and searches the rest again.
    pub fn give_up(&mut self, mut sink: impl for<'p> FnMut(Piece<'p, F::Frame<'p>>)) {
        if self.carried > 0 {
            self.drop_candidate(None, &mut sink);
            self.complete_carried(&[], &mut sink);
        }
    }

    /// Ends the stream: whatever is incomplete is given up.
    pub fn finish(&mut self, mut sink: impl for<'p> FnMut(Piece<'p, F::Frame<'p>>)) {
        while self.carried > 0 {
            self.give_up(&mut sink);
        }
    }

    /// Works through the carried bytes, adding to them only what their candidate still lacks.
    fn complete_carried<'i>(
        &mut self,
        mut input: &'i [u8],
        sink: &mut impl for<'p> FnMut(Piece<'p, F::Frame<'p>>),
    ) -> &'i [u8] {
        while self.carried > 0 {
            let carried = self.carry.get(..self.carried).unwrap_or_default();
            match self.framing.probe(carried) {
                Probe::Frame(frame) => {
                    self.framing.found(&frame);
                    self.counters.frames += 1;
                    sink(Piece { offset: self.offset, what: What::Frame(frame) });
                    let len = F::length(&frame);
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

    fn drop_candidate(
        &mut self,
        fault: Option<Fault>,
        sink: &mut impl for<'p> FnMut(Piece<'p, F::Frame<'p>>),
    ) {
        let carried = self.carry.get(..self.carried).unwrap_or_default();
        let bytes = rubbish::<F>(carried);
        self.counters.drop(bytes.len(), fault);
        let reason = fault.map(|fault| F::error(fault, carried));
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

impl<F: Framing + Default, const MAX: usize> Default for Deframer<F, MAX> {
    fn default() -> Self {
        Deframer::with(F::default())
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
fn scan<'i, F: Framing>(
    mut bytes: &'i [u8],
    framing: &mut F,
    offset: &mut u64,
    counters: &mut Counters,
    sink: &mut impl for<'p> FnMut(Piece<'p, F::Frame<'p>>),
) -> &'i [u8] {
    while !bytes.is_empty() {
        let taken = match framing.probe(bytes) {
            Probe::Frame(frame) => {
                framing.found(&frame);
                counters.frames += 1;
                sink(Piece { offset: *offset, what: What::Frame(frame) });
                F::length(&frame)
            }
            Probe::Bad(fault) => {
                let dropped = rubbish::<F>(bytes);
                counters.drop(dropped.len(), Some(fault));
                let what = What::Dropped { bytes: dropped, reason: Some(F::error(fault, bytes)) };
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
fn rubbish<F: Framing>(bytes: &[u8]) -> &[u8] {
    let behind = bytes.get(1..).unwrap_or_default();
    let next =
        (0..behind.len()).find(|at| behind.get(*at..).is_some_and(|rest| F::may_begin(rest)));
    next.and_then(|at| bytes.get(..1 + at)).unwrap_or(bytes)
}
