//! Clocks that differ, and networks that are late, lossy, out of order and cut at times. All times without a unit in
//! their name are true microseconds of the run.

use fastrand::Rng;

/// A millisecond.
pub(crate) const MS: u64 = 1000;
/// A second.
pub(crate) const SECOND: u64 = 1_000_000;
/// For how much longer than the rest a message that is held back takes at most.
const HELD_BACK: u64 = 150 * MS;

/// Somebody's own clock: its zero is anywhere, and it is a little fast or slow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    zero_us: u64,
    ppm: i64,
}

impl Clock {
    /// Any clock as they are built: up to 200 ppm wrong, most at the edges, where it hurts.
    pub(crate) fn any(random: &mut Rng) -> Self {
        let zero_us = if random.bool() { random.u64(..1 << 60) } else { random.u64(..SECOND) };
        let ppm = if random.bool() { random.i64(-200..=200) } else { *pick(random, &[-200, 200]) };
        Clock { zero_us, ppm }
    }

    /// One that shows less by so much.
    pub(crate) fn set_back(self, by_us: u64) -> Self {
        Clock { zero_us: self.zero_us.saturating_sub(by_us), ..self }
    }

    /// What it shows.
    pub(crate) fn at(&self, now: u64) -> u64 {
        let run = i64::try_from(now).expect("a run is short");
        self.zero_us + u64::try_from(run + run * self.ppm / 1_000_000).expect("it goes forward")
    }

    /// When it shows this, to a microsecond.
    pub(crate) fn when(&self, us: u64) -> u64 {
        let run = i64::try_from(us - self.zero_us).expect("a run is short");
        u64::try_from(run * 1_000_000 / (1_000_000 + self.ppm)).expect("it goes forward")
    }
}

/// One direction of a network.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    /// How long everything takes.
    pub(crate) base: u64,
    /// How much longer some take; the order stays.
    pub(crate) jitter: u64,
    /// Probability of a loss.
    pub(crate) loss: f64,
    /// Probability that a message comes twice.
    pub(crate) double: f64,
    /// Probability that a message is held back, so that later ones overtake it.
    pub(crate) reorder: f64,
}

impl Faults {
    /// As bad as may be.
    pub(crate) fn any(random: &mut Rng) -> Self {
        let base = if random.u8(..10) < 3 { random.u64(..2 * MS) } else { random.u64(..120 * MS) };
        let jitter = *pick(random, &[0, 5 * MS, 60 * MS]);
        let loss = *pick(random, &[0.0, 0.0, 0.02, 0.2]);
        let double = *pick(random, &[0.0, 0.1]);
        let reorder = *pick(random, &[0.0, 0.05, 0.2]);
        Faults { base, jitter, loss, double, reorder }
    }

    /// The longest that a message takes if nothing is cut.
    pub(crate) fn longest(&self) -> u64 {
        self.base + self.jitter + if self.reorder > 0.0 { HELD_BACK } else { 0 }
    }
}

/// A time in which nothing gets through.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Whether what was sent comes afterwards, as TCP has it, or is lost.
    pub(crate) holds: bool,
}

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    There,
    Back,
}

/// The network between a client and the daemon.
#[derive(Debug, Clone, Default)]
pub(crate) struct Net {
    pub(crate) there: Faults,
    pub(crate) back: Faults,
    /// In order.
    pub(crate) cuts: Vec<Cut>,
    /// When the latest message that kept its turn arrives, of each direction.
    turns: [u64; 2],
}

impl Net {
    /// A network with these faults.
    pub(crate) fn new(there: Faults, back: Faults, cuts: Vec<Cut>) -> Self {
        Net { there, back, cuts, turns: [0; 2] }
    }

    /// When a message that is sent now arrives: once, twice, or never.
    pub(crate) fn send(&mut self, random: &mut Rng, now: u64, way: Way) -> [Option<u64>; 2] {
        let faults = if way == Way::There { self.there } else { self.back };
        let is_double = happens(random, faults.double);
        [true, is_double].map(|is_sent| {
            let is_sent = is_sent && !happens(random, faults.loss);
            if is_sent { self.arrival(random, now, way, &faults) } else { None }
        })
    }

    /// The cut that there is now.
    pub(crate) fn cut(&self, now: u64) -> Option<&Cut> {
        self.cuts.iter().find(|cut| (cut.begin..cut.end).contains(&now))
    }

    fn arrival(&mut self, random: &mut Rng, now: u64, way: Way, faults: &Faults) -> Option<u64> {
        let takes = faults.base + random.u64(..=faults.jitter);
        let turn = &mut self.turns[way as usize];
        let is_held_back = happens(random, faults.reorder);
        let mut due = if is_held_back {
            now + takes + random.u64(..=HELD_BACK)
        } else {
            (now + takes).max(*turn)
        };
        for cut in &self.cuts {
            let is_hit = now < cut.end && cut.begin <= due;
            // What was under way when it was cut may have been past the place.
            if !is_hit || now < cut.begin && random.bool() {
                continue;
            }
            if !cut.holds {
                return None;
            }
            due = cut.end + random.u64(..=faults.base + faults.jitter);
        }
        if !is_held_back {
            due = due.max(*turn);
            *turn = due;
        }
        Some(due)
    }
}

/// Whether something of this probability happens.
pub(crate) fn happens(random: &mut Rng, probability: f64) -> bool {
    probability > 0.0 && random.f64() < probability
}

/// One of these.
pub(crate) fn pick<'a, T>(random: &mut Rng, from: &'a [T]) -> &'a T {
    &from[random.usize(..from.len())]
}
