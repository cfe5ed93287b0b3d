use super::frame::{self, Frame, MAX_FRAME, SYNC};
use crate::{
    Error,
    stream::{self, Fault, Framing, Probe},
};

/// Finds frames in a stream.
pub type Deframer = stream::Deframer<Delta2d, MAX_FRAME>;
/// A part of a stream.
pub type Piece<'a> = stream::Piece<'a, Frame<'a>>;
/// What a part of a stream is.
pub type What<'a> = stream::What<'a, Frame<'a>>;

/// Frames in a row whose check is the sum of their bytes that prove it to be that.
pub const PROOF: u32 = 10;

/// Frames as this module knows them, and whether their check is known to be one.
///
/// Until [`PROOF`] frames in a row have a check that fits, a frame is taken without it if version,
/// type, lengths and command are as usual; [`Frame::fits`] tells. From then on a wrong check is a
/// damaged frame. A line whose checks never fit stays readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delta2d {
    check: Check,
}

/// What is known about the check of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// It may be something else than the sum.
    Unproven {
        /// Frames in a row that it fits by now.
        row: u32,
    },
    /// It is the sum.
    Proven,
}

impl Deframer {
    /// A deframer at the start of a line, whose check is not proven.
    pub const fn new() -> Self {
        Deframer::with(Delta2d::LENIENT)
    }
}

impl Delta2d {
    /// Proves the check first.
    pub const LENIENT: Delta2d = Delta2d { check: Check::Unproven { row: 0 } };
    /// Takes no frame whose check does not fit.
    pub const STRICT: Delta2d = Delta2d { check: Check::Proven };

    /// What is known about the check.
    pub const fn check(&self) -> Check {
        self.check
    }
}

impl Default for Delta2d {
    fn default() -> Self {
        Delta2d::LENIENT
    }
}

impl Framing for Delta2d {
    type Frame<'a> = Frame<'a>;

    #[inline(always)]
    fn probe<'a>(&self, bytes: &'a [u8]) -> Probe<Frame<'a>> {
        Frame::probe(bytes, self.check != Check::Proven)
    }

    #[inline(always)]
    fn length(frame: &Frame<'_>) -> usize {
        frame.bytes().len()
    }

    #[inline(always)]
    fn may_begin(bytes: &[u8]) -> bool {
        bytes.first() == Some(&SYNC)
    }

    fn error(fault: Fault, bytes: &[u8]) -> Error {
        frame::error(fault, bytes)
    }

    #[inline(always)]
    fn found(&mut self, frame: &Frame<'_>) {
        if let Check::Unproven { row } = &mut self.check {
            *row = if frame.fits() { *row + 1 } else { 0 };
            if *row >= PROOF {
                self.check = Check::Proven;
            }
        }
    }
}
