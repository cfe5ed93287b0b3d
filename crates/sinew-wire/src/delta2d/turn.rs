use alloc::vec::Vec;
use core::{fmt, mem};

use super::{DEGREE, METRE, Measurement, Sample, TURNS_PER_SECOND};

/// Most samples of a turn; of more, the angle has not fallen when it should have.
pub const MAX_TURN: usize = 4096;

/// A whole turn, in units of an angle.
const CIRCLE: u16 = 36_000;
/// The least and the greatest angle between samples that is believed, in degrees.
const BELIEVED: (f32, f32) = (0.2, 2.0);
/// The angle between samples grows by no more than this from frame to frame: more is a lost frame.
const GROWTH: f32 = 1.5;
/// So many in a row are no lost frames.
const INSISTENCE: u8 = 3;
/// The span of a frame in degrees where nothing tells it: 15 frames are a turn.
const SPAN: f32 = 24.0;

/// Which of the rules gave the angle between the samples of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Where the next frame begins.
    Next,
    /// The frame before, since the next one is lost.
    Last,
    /// The second field of the frame.
    Field,
    /// 24 degrees a frame.
    Span,
}

/// How many frames each rule was used for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sources {
    /// By [`Source::Next`].
    pub next: u16,
    /// By [`Source::Last`].
    pub last: u16,
    /// By [`Source::Field`].
    pub field: u16,
    /// By [`Source::Span`].
    pub span: u16,
}

/// The angle between the samples of a frame, for which readers have three rules.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spacing {
    last: Option<f32>,
    /// Frames in a row whose spacing had grown too much.
    grown: u8,
}

/// An echo in a turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Degrees as the lidar counts them, from 0 to 360.
    pub degrees: f32,
    /// What was measured there.
    pub sample: Sample,
}

/// A turn of the lidar.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turn {
    /// The echoes, in the order in which they came.
    pub points: Vec<Point>,
    /// Samples that had none.
    pub without_echo: u16,
    /// Frames that it came in.
    pub frames: u16,
    /// Turns a second, by its last frame.
    pub turns_per_second: f32,
    /// Where the angles are from.
    pub sources: Sources,
}

/// Joins measurements to turns.
///
/// A turn is complete when the start angle falls. Each frame waits for the next one, which says how
/// far its samples are apart. A turn whose beginning was not seen is not given out.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    spacing: Spacing,
    /// The frame that waits for the next one: where it begins, its second field and its samples.
    held: Option<(u16, i16)>,
    samples: Vec<[u8; 3]>,
    turn: Turn,
    /// The turn's beginning was seen.
    begun: bool,
    source: Option<Source>,
}

impl Spacing {
    /// Degrees between `samples` samples of a frame that begins at `start`, before one that begins
    /// at `next`, if that is the one behind it.
    pub fn of(
        &mut self,
        start: u16,
        next: Option<u16>,
        samples: usize,
        field: i16,
    ) -> (f32, Source) {
        let count = samples.max(1) as f32;
        let believed = |degrees: &f32| (BELIEVED.0..=BELIEVED.1).contains(degrees);
        let angle = |start: u16| i32::from(start % CIRCLE);
        let span = |next: u16| (angle(next) - angle(start)).rem_euclid(CIRCLE.into());
        let by_next = next.map(|next| span(next) as f32 * DEGREE / count).filter(believed);
        if let Some(degrees) = by_next.filter(|_| samples > 0) {
            // What was lost can only make it greater.
            let grown = self.last.is_some_and(|last| degrees > last * GROWTH);
            self.grown = if grown { self.grown.saturating_add(1) } else { 0 };
            if self.grown == 0 || self.grown >= INSISTENCE {
                self.grown = 0;
                self.last = Some(degrees);
                return (degrees, Source::Next);
            }
        }
        match (self.last, Some(f32::from(field) * DEGREE).filter(believed)) {
            (Some(last), _) => (last, Source::Last),
            (None, Some(field)) => (field, Source::Field),
            (None, None) => (SPAN / count, Source::Span),
        }
    }
}

impl Turns {
    /// Takes a measurement in, and gives the turn that it ends. `lost` says that something between
    /// it and the one before did not come.
    pub fn push(&mut self, measurement: &Measurement<'_>, lost: bool) -> Option<Turn> {
        let start = measurement.start % CIRCLE;
        let mut complete = None;
        if let Some((held, field)) = self.held {
            let next = Some(start).filter(|_| !lost);
            self.place(held, next, field);
            if start < held {
                let turn = mem::take(&mut self.turn);
                // Turns have much the same length.
                self.turn.points.reserve(turn.points.len());
                complete = Some(turn).filter(|_| self.begun);
                self.begun = true;
            }
        }
        self.held = Some((start, measurement.offset));
        self.samples.clear();
        self.samples.extend_from_slice(measurement.samples);
        self.turn.turns_per_second = f32::from(measurement.speed) * TURNS_PER_SECOND;
        complete
    }

    /// The turn that has begun will not be completed: too much is missing.
    pub fn forget(&mut self) {
        self.turn.clear();
        (self.begun, self.held) = (false, None);
    }

    /// Whether the measurement that was taken in last is the first of its turn.
    pub const fn is_first(&self) -> bool {
        self.turn.frames == 0
    }

    /// Which rule was used last.
    pub const fn source(&self) -> Option<Source> {
        self.source
    }

    /// Gives the samples of the frame that waited their angles.
    fn place(&mut self, start: u16, next: Option<u16>, field: i16) {
        let (step, source) = self.spacing.of(start, next, self.samples.len(), field);
        self.source = Some(source);
        self.turn.sources.count(source);
        self.turn.frames = self.turn.frames.saturating_add(1);
        if self.turn.points.len() + self.samples.len() > MAX_TURN {
            self.turn.clear();
            self.begun = false;
        }
        let first = f32::from(start) * DEGREE;
        for (index, sample) in self.samples.iter().copied().map(Sample::from).enumerate() {
            match sample.has_echo() {
                true => {
                    let mut degrees = first + index as f32 * step;
                    while degrees >= 360.0 {
                        degrees -= 360.0;
                    }
                    self.turn.points.push(Point { degrees, sample });
                }
                false => self.turn.without_echo = self.turn.without_echo.saturating_add(1),
            }
        }
    }
}

impl Turn {
    fn clear(&mut self) {
        let mut points = mem::take(&mut self.points);
        points.clear();
        *self = Turn { points, ..Turn::default() };
    }
}

impl Point {
    /// Metres from the lidar.
    pub fn metres(&self) -> f32 {
        f32::from(self.sample.distance) * METRE
    }
}

impl Sources {
    fn count(&mut self, source: Source) {
        let count = match source {
            Source::Next => &mut self.next,
            Source::Last => &mut self.last,
            Source::Field => &mut self.field,
            Source::Span => &mut self.span,
        };
        *count = count.saturating_add(1);
    }
}

impl Source {
    /// Its name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Next => "next_frame",
            Source::Last => "last_spacing",
            Source::Field => "second_field",
            Source::Span => "frame_span",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
