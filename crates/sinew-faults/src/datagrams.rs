use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, Instant},
};

use fastrand::Rng;

use crate::{Faults, MAX_IN_FLIGHT, later};

/// Datagrams that may be under way; beyond that, or beyond [`MAX_IN_FLIGHT`] bytes, new ones are
/// lost.
pub const MAX_DATAGRAMS: usize = 4096;

/// How long an overtaken datagram is held back at most.
pub const HELD_BACK: Duration = Duration::from_millis(50);

/// What goes wrong with datagrams, and how often.
///
/// Written as [`Faults`] are, with `reorder=0.05` among them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DatagramFaults {
    /// What a byte link knows too, where "byte" reads "datagram": a corrupted one has one to three
    /// wrong bytes.
    pub link: Faults,
    /// Probability that a datagram is held back, so that later ones overtake it.
    pub reorder: f64,
}

/// One direction of a datagram link: what goes in comes out whole, later, twice, out of turn or
/// not at all.
///
/// Each may have something with it that comes out as it went in, such as whom it is for: one
/// network is shared by all that use it.
#[derive(Debug, Clone)]
pub struct FaultyDatagrams<With = ()> {
    faults: DatagramFaults,
    rng: Rng,
    /// Datagrams under way, by the time they are due, then by the order they were sent in.
    under_way: BTreeMap<(Instant, u64), (With, Vec<u8>)>,
    bytes: usize,
    number: u64,
    /// When the latest datagram that kept its turn is due.
    turn: Option<Instant>,
    cut: bool,
    stalled_until: Option<Instant>,
    counts: DatagramCounts,
}

/// What a link did to its datagrams.
///
/// `sent + duplicated == delivered + dropped + lost +` what is under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Datagrams that went in.
    pub sent: u64,
    /// Datagrams that came out.
    pub delivered: u64,
    /// Datagrams dropped by chance.
    pub dropped: u64,
    /// Datagrams changed by chance.
    pub corrupted: u64,
    /// Datagrams delivered a second time by chance.
    pub duplicated: u64,
    /// Datagrams held back by chance; whether one is overtaken depends on what follows it.
    pub held_back: u64,
    /// Datagrams that were sent into a cut link, under way when it was cut, or too many.
    pub lost: u64,
}

impl FaultyDatagrams {
    /// Puts a datagram in.
    pub fn send(&mut self, now: Instant, bytes: &[u8]) {
        self.send_with(now, (), bytes);
    }

    /// Takes out the next datagram that is due.
    pub fn receive(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.receive_with(now).map(|((), bytes)| bytes)
    }
}

impl<With: Copy> FaultyDatagrams<With> {
    /// A link with these faults. The seed is combined with [`Faults::seed`], so that the two
    /// directions can have the same faults and different luck.
    pub fn new(faults: DatagramFaults, seed: u64) -> Self {
        FaultyDatagrams {
            faults,
            rng: Rng::with_seed(faults.link.seed.rotate_left(32) ^ seed),
            under_way: BTreeMap::new(),
            bytes: 0,
            number: 0,
            turn: None,
            cut: false,
            stalled_until: None,
            counts: DatagramCounts::default(),
        }
    }

    /// Puts a datagram in, and what it has with it.
    pub fn send_with(&mut self, now: Instant, with: With, bytes: &[u8]) {
        self.counts.sent += 1;
        if self.cut {
            self.counts.lost += 1;
            return;
        }
        if self.happens(self.faults.link.drop) {
            self.counts.dropped += 1;
            return;
        }
        let bytes = self.damaged(bytes);
        if self.happens(self.faults.link.duplicate) {
            self.counts.duplicated += 1;
            let due = self.due(now);
            self.push(due, with, bytes.clone());
        }
        let due = self.due(now);
        self.push(due, with, bytes);
    }

    /// Takes out the next datagram that is due, and what it had with it.
    pub fn receive_with(&mut self, now: Instant) -> Option<(With, Vec<u8>)> {
        if self.poll_timeout()? > now {
            return None;
        }
        let (_, (with, bytes)) = self.under_way.pop_first()?;
        self.bytes -= bytes.len();
        self.counts.delivered += 1;
        Some((with, bytes))
    }

    /// When something comes out next, if anything is under way.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let (due, _) = *self.under_way.first_key_value()?.0;
        Some(self.stalled_until.map_or(due, |until| until.max(due)))
    }

    /// Unplugs the link: what is under way and what is sent from now on is lost.
    pub fn cut(&mut self) {
        self.cut = true;
        self.counts.lost += self.under_way.len() as u64;
        self.under_way.clear();
        self.bytes = 0;
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
    pub fn faults(&self) -> &DatagramFaults {
        &self.faults
    }

    /// Changes the faults for what is sent from now on; chance goes on as it was.
    pub fn set_faults(&mut self, faults: DatagramFaults) {
        self.faults = faults;
    }

    /// What happened so far.
    pub fn counts(&self) -> DatagramCounts {
        self.counts
    }

    /// When a datagram that is sent now comes out: never before one that was sent earlier, unless
    /// that one is held back.
    fn due(&mut self, now: Instant) -> Instant {
        let jitter = self.up_to(self.faults.link.jitter);
        let due = later(now, self.faults.link.delay.saturating_add(jitter));
        let due = self.turn.map_or(due, |turn| turn.max(due));
        if self.happens(self.faults.reorder) {
            self.counts.held_back += 1;
            let held_back = self.up_to(HELD_BACK);
            return later(due, held_back);
        }
        self.turn = Some(due);
        due
    }

    fn damaged(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        if !bytes.is_empty() && self.happens(self.faults.link.corrupt) {
            self.counts.corrupted += 1;
            let (from, count) = (self.rng.usize(0..bytes.len()), self.rng.usize(1..=3));
            for byte in bytes.iter_mut().skip(from).take(count) {
                *byte ^= self.rng.u8(1..);
            }
        }
        bytes
    }

    fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.rng.f64() < probability
    }

    fn up_to(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(if most == 0 { 0 } else { self.rng.u64(0..=most) })
    }

    fn push(&mut self, due: Instant, with: With, bytes: Vec<u8>) {
        let full = self.under_way.len() >= MAX_DATAGRAMS;
        if full || self.bytes + bytes.len() > MAX_IN_FLIGHT {
            self.counts.lost += 1;
            return;
        }
        self.bytes += bytes.len();
        self.under_way.insert((due, self.number), (with, bytes));
        self.number += 1;
    }
}

impl fmt::Display for DatagramFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},reorder={}", self.link, self.reorder)
    }
}
