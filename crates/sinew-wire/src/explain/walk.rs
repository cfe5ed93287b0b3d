//! A serial stream: frames, damaged frames, rubbish.

use core::ops::ControlFlow;

use super::{Element, Options};
use crate::stream::{Deframer, Framing, What};

/// Bytes that are searched at a time, so that a long recording is not searched to its end for the
/// answer at its start.
const SLICE: usize = 4096;

/// Frames that can be explained.
pub(super) trait Explained: Framing {
    /// What a good frame says.
    fn good(frame: &Self::Frame<'_>, offset: usize, options: &Options) -> Element;

    /// How many bytes of `candidate` are a frame that was damaged or cut off, rather than rubbish.
    /// What `is_last` may be cut off by the end of the input; with `nothing_else` there is no frame
    /// in it.
    fn damaged_len(candidate: &[u8], is_last: bool, nothing_else: bool) -> Option<usize>;

    /// What can be said of such a frame.
    fn bad(bytes: &[u8], offset: usize) -> Element;
}

/// Whether there is a good frame in a stream.
pub(super) fn has_frame<F: Framing, const MAX: usize>(
    bytes: &[u8],
    mut deframer: Deframer<F, MAX>,
) -> bool {
    for slice in bytes.chunks(SLICE) {
        deframer.push(slice, |_| {});
        if deframer.counters().frames > 0 {
            return true;
        }
    }
    deframer.finish(|_| {});
    deframer.counters().frames > 0
}

pub(super) fn explain<F: Explained, const MAX: usize>(
    bytes: &[u8],
    mut deframer: Deframer<F, MAX>,
    options: &Options,
    sink: &mut dyn FnMut(Element) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut walk =
        Walk { bytes, options, sink, done: 0, frames: 0, flow: ControlFlow::Continue(()) };
    for slice in bytes.chunks(SLICE) {
        deframer.push(slice, |piece| walk.piece::<F>(piece.offset as usize, piece.what));
        walk.flow?;
    }
    deframer.finish(|piece| walk.piece::<F>(piece.offset as usize, piece.what));
    walk.flow?;
    walk.dropped::<F>(bytes.len())
}

struct Walk<'a> {
    bytes: &'a [u8],
    options: &'a Options,
    sink: &'a mut dyn FnMut(Element) -> ControlFlow<()>,
    /// Everything before this has been handed out.
    done: usize,
    frames: usize,
    flow: ControlFlow<()>,
}

impl Walk<'_> {
    fn piece<F: Explained>(&mut self, offset: usize, what: What<'_, F::Frame<'_>>) {
        // What is dropped becomes elements once it is known how far it goes.
        if let (What::Frame(frame), ControlFlow::Continue(())) = (what, self.flow) {
            self.frames += 1;
            self.flow = self.dropped::<F>(offset);
            if self.flow.is_continue() {
                self.flow = (self.sink)(F::good(&frame, offset, self.options));
            }
            self.done = offset + F::length(&frame);
        }
    }

    /// Hands out what lies between the last frame and `end`: damaged frames, and rubbish.
    fn dropped<F: Explained>(&mut self, end: usize) -> ControlFlow<()> {
        while self.done < end {
            let region = self.bytes.get(self.done..end).unwrap_or_default();
            let is_last = end == self.bytes.len();
            let found = (0..region.len()).find_map(|at| {
                let candidate = region.get(at..)?;
                let length = F::damaged_len(candidate, is_last, self.frames == 0)?;
                Some((at, candidate.get(..length)?))
            });
            let (rubbish, damaged) = match found {
                Some((at, damaged)) => (region.get(..at).unwrap_or_default(), Some(damaged)),
                None => (region, None),
            };
            if !rubbish.is_empty() {
                (self.sink)(Element::rubbish(self.done, rubbish))?;
                self.done += rubbish.len();
            }
            if let Some(damaged) = damaged {
                (self.sink)(F::bad(damaged, self.done))?;
                self.done += damaged.len();
            }
        }
        ControlFlow::Continue(())
    }
}
