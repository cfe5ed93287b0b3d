//! A range finder behind a UDP port.
//!
//! It is asked `scan`, again and again since it forgets, `halt` and `bye`. A scan is the letter R, a
//! number (u32), and ranges in millimetres (u16) around the whole circle, all little-endian.

use std::{
    collections::VecDeque,
    f64::consts::TAU,
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_api::frame::{self, Header};
use sinew_robot::{NoJob, Order, OrderKind, Origin, Output, RequestId, Session};

use crate::reach::Reach;

/// How often scans are asked for.
const ASK: Duration = Duration::from_millis(200);
/// How long the finder may be silent while it should scan.
const SILENCE: Duration = Duration::from_secs(10);
/// The middle of a coordinate.
pub(crate) const ORIGIN: u16 = 0x8000;

/// The host's side of the range finder.
pub(crate) struct Finder {
    state: State,
    frames: VecDeque<&'static str>,
    notices: VecDeque<Output<Finder>>,
    ask_at: Instant,
    last: RequestId,
}

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) reach: Reach,
    pub(crate) scanning: bool,
    pub(crate) scans: u64,
    pub(crate) stopped_by: Option<Arc<str>>,
    pub(crate) last_seen: Option<Instant>,
}

pub(crate) enum Event {
    Reach(Reach),
    Scan(Scan),
}

/// What the finder saw in one turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scan {
    pub(crate) number: u32,
    pub(crate) ranges: Vec<u16>,
}

impl Scan {
    pub(crate) fn parse(datagram: &[u8]) -> Option<Self> {
        let (number, ranges) = datagram.strip_prefix(b"R")?.split_first_chunk::<4>()?;
        let (ranges, []) = ranges.as_chunks::<2>() else { return None };
        let ranges = ranges.iter().copied().map(u16::from_le_bytes).collect();
        Some(Scan { number: u32::from_le_bytes(*number), ranges })
    }

    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let ranges = self.ranges.iter().flat_map(|range| range.to_le_bytes());
        b"R".iter().copied().chain(self.number.to_le_bytes()).chain(ranges).collect()
    }

    /// The nearest that it saw.
    pub(crate) fn nearest(&self) -> u16 {
        self.ranges.iter().copied().min().unwrap_or_default()
    }

    /// A frame of topic `cloud`, with the scan's number as its own, in millimetres from the middle.
    pub(crate) fn cloud(&self, time_us: u64) -> Vec<u8> {
        let count = self.ranges.len() as f64;
        let point = |(index, range): (usize, &u16)| {
            let (sin, cos) = (TAU * index as f64 / count).sin_cos();
            let along = |part: f64| (f64::from(ORIGIN) + f64::from(*range) * part).round() as u16;
            [along(cos), along(sin), ORIGIN]
        };
        let points: Vec<_> = self.ranges.iter().enumerate().map(point).collect();
        let header = Header {
            sequence: self.number.into(),
            time_us,
            name: "beacon",
            origin: [f64::from(ORIGIN) / -1000.0; 3],
            unit: 0.001,
            ..Header::default()
        };
        frame::cloud(&header, &points)
    }
}

impl Finder {
    pub(crate) fn new(now: Instant) -> Self {
        let state = State {
            reach: Reach::Opening,
            scanning: true,
            scans: 0,
            stopped_by: None,
            last_seen: None,
        };
        let (frames, notices) = (VecDeque::new(), VecDeque::new());
        Finder { state, frames, notices, ask_at: now, last: 0 }
    }

    fn set_reach(&mut self, reach: Reach) {
        if self.state.reach != reach {
            self.state.reach = reach.clone();
            self.notices.push_back(Output::Event(Event::Reach(reach)));
        }
    }

    fn halt(&mut self) {
        self.state.scanning = false;
        self.frames.clear();
        self.frames.push_back("halt");
    }
}

impl Session for Finder {
    /// Whether it is to scan.
    type Request = bool;
    type Reply = ();
    type Event = Event;
    type State = State;
    type Peer = ();
    type Job = NoJob;
    type Done = NoJob;

    fn connected(&mut self, now: Instant) {
        self.ask_at = now;
    }

    fn disconnected(&mut self, _now: Instant, reason: &str) {
        self.frames.clear();
        self.set_reach(Reach::Down { reason: reason.into() });
    }

    fn troubled(&mut self, _now: Instant, reason: &str) {
        self.set_reach(Reach::Down { reason: reason.into() });
    }

    fn handle_input(&mut self, now: Instant, (): (), bytes: &[u8]) {
        if let Some(scan) = Scan::parse(bytes) {
            self.state.last_seen = Some(now);
            self.state.scans += 1;
            self.set_reach(Reach::Ready);
            self.notices.push_back(Output::Event(Event::Scan(scan)));
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.state.scanning && now >= self.ask_at {
            self.ask_at = now + ASK;
            if self.frames.is_empty() {
                self.frames.push_back("scan");
            }
        }
        let silent = self.state.last_seen.is_some_and(|seen| now >= seen + SILENCE);
        if self.state.scanning && silent && self.state.reach == Reach::Ready {
            self.set_reach(Reach::Down { reason: "the range finder is silent".into() });
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.state.scanning.then_some(self.ask_at)
    }

    fn poll_output(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        if room && let Some(frame) = self.frames.pop_front() {
            bytes.extend_from_slice(frame.as_bytes());
            return Some(Output::Transmit(()));
        }
        self.notices.pop_front()
    }

    fn request(&mut self, now: Instant, on: bool, _origin: &Origin) -> RequestId {
        self.last += 1;
        match on {
            true => {
                (self.state.scanning, self.state.stopped_by) = (true, None);
                self.ask_at = now;
                self.handle_timeout(now);
            }
            false => self.halt(),
        }
        self.notices.push_back(Output::Reply(self.last, Ok(())));
        self.last
    }

    fn is_overtaken(_on: &bool, by: OrderKind) -> bool {
        matches!(by, OrderKind::Stop | OrderKind::Disable)
    }

    fn order(&mut self, _now: Instant, order: &Order) {
        if matches!(order.kind, OrderKind::Stop | OrderKind::Disable) {
            self.halt();
            self.state.stopped_by = Some(Arc::clone(&order.by));
        }
    }

    fn close(&mut self, _now: Instant, _by: &Arc<str>) {
        self.state.scanning = false;
        self.frames.push_back("bye");
    }

    fn is_closed(&self) -> bool {
        self.frames.is_empty()
    }

    fn state(&self) -> &State {
        &self.state
    }
}
