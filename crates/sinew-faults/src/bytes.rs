use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use fastrand::Rng;

use crate::{Faults, MAX_IN_FLIGHT, later};

/// Most bytes that share one jitter, about what a UART's buffer hands over at a time.
const MAX_RUN: usize = 64;

/// One direction of a byte link: bytes go in with the time, and come out, in order, when they are
/// due. [`with_baud`](Self::with_baud) makes it as slow as a serial line, with a queue in front of
/// it that nothing overtakes.
#[derive(Debug, Clone)]
pub struct FaultyBytes {
    faults: Faults,
    rng: Rng,
    /// Bytes under way, by the time they are due, never decreasing.
    runs: VecDeque<(Instant, Vec<u8>)>,
    in_flight: usize,
    line: Option<Line>,
    cut: bool,
    stalled_until: Option<Instant>,
    counts: Counts,
}

/// How fast bytes leave the queue in front of a link.
#[derive(Debug, Clone, Copy)]
struct Line {
    baud: u32,
    /// When the last byte is through.
    clear_at: Option<Instant>,
}

impl Line {
    /// When this many more bytes are through.
    fn carry(&mut self, now: Instant, bytes: usize) -> Instant {
        let nanos = (bytes as u64).saturating_mul(10_000_000_000) / u64::from(self.baud);
        let begin = self.clear_at.map_or(now, |at| at.max(now));
        let through = later(begin, Duration::from_nanos(nanos));
        self.clear_at = Some(through);
        through
    }
}

/// What a link did to its bytes.
///
/// `sent + duplicated == delivered + dropped + lost +` what is under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes that went in.
    pub sent: u64,
    /// Bytes that came out.
    pub delivered: u64,
    /// Bytes dropped by chance.
    pub dropped: u64,
    /// Bytes changed by chance.
    pub corrupted: u64,
    /// Bytes delivered a second time by chance.
    pub duplicated: u64,
    /// Bytes that were sent into a cut link, under way when it was cut, or too many.
    pub lost: u64,
}

impl FaultyBytes {
    /// A link with these faults. The seed is combined with [`Faults::seed`], so that the two
    /// directions of one cable can have the same faults and different luck.
    pub fn new(faults: Faults, seed: u64) -> Self {
        FaultyBytes {
            faults,
            rng: Rng::with_seed(faults.seed.rotate_left(32) ^ seed),
            runs: VecDeque::new(),
            in_flight: 0,
            line: None,
            cut: false,
            stalled_until: None,
            counts: Counts::default(),
        }
    }

    /// Makes it a line of this many bits per second, ten to a byte. Bytes queue in front of it as in
    /// a kernel's buffer; what was put in at once comes out at once, when its last byte is through.
    #[must_use]
    pub fn with_baud(mut self, baud: u32) -> Self {
        self.line = Some(Line { baud: baud.max(1), clear_at: None });
        self
    }

    /// Puts bytes in.
    pub fn send(&mut self, now: Instant, bytes: &[u8]) {
        self.counts.sent += bytes.len() as u64;
        if self.cut {
            self.counts.lost += bytes.len() as u64;
            return;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = if self.faults.jitter.is_zero() {
                rest.len()
            } else {
                self.rng.usize(1..=MAX_RUN).min(rest.len())
            };
            let (run, behind) = rest.split_at(length);
            let through = self.line.as_mut().map_or(now, |line| line.carry(now, length));
            let due = self.due(through);
            let run = self.damaged(run);
            self.push(due, run);
            rest = behind;
        }
    }

    /// Takes out what is due.
    pub fn receive(&mut self, now: Instant) -> Vec<u8> {
        if self.stalled_until.is_some_and(|until| now < until) {
            return Vec::new();
        }
        self.stalled_until = None;
        let mut bytes = Vec::new();
        while self.runs.front().is_some_and(|(due, _)| *due <= now) {
            bytes.extend(self.runs.pop_front().map(|(_, run)| run).unwrap_or_default());
        }
        self.in_flight -= bytes.len();
        self.counts.delivered += bytes.len() as u64;
        bytes
    }

    /// When something comes out next, if anything is under way.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.runs.front().map(|(due, _)| *due)?;
        Some(self.stalled_until.map_or(due, |until| until.max(due)))
    }

    /// Unplugs the link: what is under way and what is sent from now on is lost.
    pub fn cut(&mut self) {
        self.cut = true;
        self.counts.lost += self.in_flight as u64;
        self.in_flight = 0;
        self.runs.clear();
        if let Some(line) = &mut self.line {
            line.clear_at = None;
        }
    }

    /// Plugs the link in again.
    pub fn restore(&mut self) {
        self.cut = false;
    }

    /// Whether the link is unplugged.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Lets nothing out before `until`; what is due by then comes out at once.
    pub fn stall(&mut self, until: Instant) {
        self.stalled_until = Some(until);
    }

    /// The faults.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Changes the faults for bytes that are sent from now on; chance goes on as it was.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// When a run that is sent now comes out: never before one that was sent earlier.
    fn due(&mut self, now: Instant) -> Instant {
        let jitter = u64::try_from(self.faults.jitter.as_nanos()).unwrap_or(u64::MAX);
        let jitter = if jitter == 0 { 0 } else { self.rng.u64(0..=jitter) };
        let delay = self.faults.delay.saturating_add(Duration::from_nanos(jitter));
        let due = later(now, delay);
        self.runs.back().map_or(due, |(before, _)| due.max(*before))
    }

    fn damaged(&mut self, run: &[u8]) -> Vec<u8> {
        let Faults { drop, corrupt, duplicate, .. } = self.faults;
        let mut damaged = Vec::with_capacity(run.len());
        for &byte in run {
            if self.happens(drop) {
                self.counts.dropped += 1;
                continue;
            }
            let mut byte = byte;
            if self.happens(corrupt) {
                self.counts.corrupted += 1;
                byte ^= self.rng.u8(1..);
            }
            damaged.push(byte);
            if self.happens(duplicate) {
                self.counts.duplicated += 1;
                damaged.push(byte);
            }
        }
        damaged
    }

    fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.rng.f64() < probability
    }

    fn push(&mut self, due: Instant, mut run: Vec<u8>) {
        let room = MAX_IN_FLIGHT - self.in_flight;
        self.counts.lost += run.len().saturating_sub(room) as u64;
        run.truncate(room);
        self.in_flight += run.len();
        match self.runs.back_mut() {
            _ if run.is_empty() => {}
            Some((before, bytes)) if *before == due => bytes.append(&mut run),
            _ => self.runs.push_back((due, run)),
        }
    }
}
