use super::frame::{self, Frame, MAX_FRAME, SYNC};
use crate::{
    Error,
    stream::{self, Fault, Framing, Probe},
};

/// Finds frames in a stream.
pub type Deframer = stream::Deframer<Gd32, MAX_FRAME>;
/// A part of a stream.
pub type Piece<'a> = stream::Piece<'a, Frame<'a>>;
/// What a part of a stream is.
pub type What<'a> = stream::What<'a, Frame<'a>>;

/// Frames as this module knows them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gd32;

impl Deframer {
    /// A deframer at the start of a stream.
    pub const fn new() -> Self {
        Deframer::with(Gd32)
    }
}

impl Framing for Gd32 {
    type Frame<'a> = Frame<'a>;

    #[inline(always)]
    fn probe<'a>(&self, bytes: &'a [u8]) -> Probe<Frame<'a>> {
        Frame::probe(bytes)
    }

    #[inline(always)]
    fn length(frame: &Frame<'_>) -> usize {
        frame.bytes().len()
    }

    #[inline(always)]
    fn may_begin(bytes: &[u8]) -> bool {
        matches!(bytes, [first, rest @ ..]
            if *first == SYNC[0] && rest.first().is_none_or(|next| *next == SYNC[1]))
    }

    fn error(fault: Fault, bytes: &[u8]) -> Error {
        frame::error(fault, bytes)
    }
}
