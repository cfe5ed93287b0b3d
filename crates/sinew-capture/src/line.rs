//! Frames of a serial line, out of a log, a dump, or a flow that carries one.

use sinew_wire::{
    delta2d::{self, Delta2d},
    gd32,
    stream::Counters,
};

/// An incomplete frame is given up after this many nanoseconds.
const PATIENCE: i64 = 50_000_000;

/// One direction of a line, on which there may be frames of either kind.
#[derive(Debug)]
pub struct Line {
    vacuum: gd32::Deframer,
    lidar: delta2d::Deframer,
    time: i64,
}

/// A part of a line.
#[derive(Debug, Clone, Copy)]
pub enum Piece<'a> {
    /// A frame of the motor controller's protocol.
    Gd32(gd32::Frame<'a>),
    /// A frame of the lidar's.
    Delta2d(delta2d::Frame<'a>),
    /// Bytes that belong to no frame.
    Rubbish(&'a [u8]),
}

impl<'a> Piece<'a> {
    /// All bytes of it.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Piece::Gd32(frame) => frame.bytes(),
            Piece::Delta2d(frame) => frame.bytes(),
            Piece::Rubbish(bytes) => bytes,
        }
    }
}

impl Line {
    /// At the beginning of a line.
    pub const fn new() -> Self {
        let lidar = delta2d::Deframer::with(Delta2d::STRICT);
        Line { vacuum: gd32::Deframer::new(), lidar, time: 0 }
    }

    /// Takes bytes in, which came at this nanosecond, and hands out what became complete.
    pub fn push(&mut self, time: i64, bytes: &[u8], mut sink: impl FnMut(Piece<'_>)) {
        if time.saturating_sub(self.time) > PATIENCE {
            self.finish(&mut sink);
        }
        self.time = time;
        let Line { vacuum, lidar, .. } = self;
        vacuum.push(bytes, |piece| sift(lidar, piece, &mut sink));
    }

    /// Gives up what is incomplete and older than a frame may be.
    pub fn expire(&mut self, time: i64, sink: impl FnMut(Piece<'_>)) {
        if time.saturating_sub(self.time) > PATIENCE {
            self.finish(sink);
        }
    }

    /// Gives up what is incomplete.
    pub fn finish(&mut self, mut sink: impl FnMut(Piece<'_>)) {
        let Line { vacuum, lidar, .. } = self;
        vacuum.finish(|piece| sift(lidar, piece, &mut sink));
        lidar.finish(|piece| lidar_piece(piece, &mut sink));
    }

    /// What was counted of vacuum's and lidar's frames.
    pub(crate) const fn counters(&self) -> (Counters, Counters) {
        (self.vacuum.counters(), self.lidar.counters())
    }
}

impl Default for Line {
    fn default() -> Self {
        Line::new()
    }
}

/// What is no frame of the vacuum's may be one of the lidar's.
fn sift(lidar: &mut delta2d::Deframer, piece: gd32::Piece<'_>, sink: &mut impl FnMut(Piece<'_>)) {
    match piece.what {
        gd32::What::Frame(frame) => sink(Piece::Gd32(frame)),
        gd32::What::Dropped { bytes, .. } => {
            lidar.push(bytes, |piece| lidar_piece(piece, &mut *sink));
        }
    }
}

fn lidar_piece(piece: delta2d::Piece<'_>, mut sink: impl FnMut(Piece<'_>)) {
    sink(match piece.what {
        delta2d::What::Frame(frame) => Piece::Delta2d(frame),
        delta2d::What::Dropped { bytes, .. } => Piece::Rubbish(bytes),
    });
}
