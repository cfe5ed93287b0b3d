use std::{
    collections::VecDeque,
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_wire::delta2d::{
    self, Body, Deframer, Frame, Message, PROOF, TURNS_PER_SECOND, Turns, What,
};

use super::{CheckState, Counters, Event, LinkState, Scan, State, state::hertz};
use crate::{NoJob, Order, OrderKind, Origin, Output, RequestId, later};

/// How long a frame may stay incomplete.
const INCOMPLETE: Duration = Duration::from_millis(50);
/// How long nothing may come from a lidar that turns: some 15 frames.
const SILENCE: Duration = Duration::from_millis(200);
/// Frames after which a check that is not proven is said never to fit: some two seconds.
const NEVER: u64 = 15 * PROOF as u64;
/// The longest and the shortest turn that is reckoned with.
const TURN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// Events that may wait for the caller.
const EVENTS: usize = 64;

/// A lidar, from the host's side.
#[derive(Debug)]
pub struct Session {
    state: State,
    deframer: Deframer,
    turns: Turns,
    /// What the deframers of earlier connections counted.
    counted: Counters,
    /// Frames since the port was opened.
    frames: u64,
    incomplete_since: Option<Instant>,
    /// Something has been dropped since the last measurement.
    gap: bool,
    /// When the last measurement came, and how long a turn took by it.
    measured: Option<(Instant, Duration)>,
    /// When the turn began.
    began: Option<Instant>,
    /// Unknown commands that were told.
    told: Vec<u8>,
    events: VecDeque<Event>,
}

impl Session {
    /// A session whose port is not open.
    pub fn new() -> Self {
        Session {
            state: State::new(),
            deframer: Deframer::new(),
            turns: Turns::default(),
            counted: Counters::default(),
            frames: 0,
            incomplete_since: None,
            gap: false,
            measured: None,
            began: None,
            told: Vec::new(),
            events: VecDeque::with_capacity(EVENTS),
        }
    }

    fn deframe(&mut self, now: Instant, work: impl FnOnce(&mut Deframer, &mut Session)) -> bool {
        let before = self.deframer.counters();
        let mut deframer = mem::take(&mut self.deframer);
        work(&mut deframer, self);
        self.deframer = deframer;
        let moved_on = before != self.deframer.counters();
        self.incomplete_since = match self.incomplete_since {
            _ if self.deframer.pending() == 0 => None,
            Some(since) if !moved_on => Some(since),
            _ => Some(now),
        };
        self.count();
        self.judge_check();
        moved_on
    }

    fn piece(&mut self, now: Instant, what: What<'_>) {
        match what {
            What::Dropped { .. } => self.gap = true,
            What::Frame(frame) => self.receive(now, &frame),
        }
    }

    fn receive(&mut self, now: Instant, frame: &Frame<'_>) {
        self.state.last_seen = Some(now);
        self.frames += 1;
        self.state.counters.unchecked += u64::from(!frame.fits());
        match Message::parse(frame).map(|message| message.body) {
            Ok(Body::Measurement(measurement)) => self.measure(now, &measurement),
            Ok(Body::Speed(speed)) => {
                // What was measured before is of another turn.
                self.give_up_turn();
                self.set_speed(speed);
                self.set_link(now, LinkState::Starting);
            }
            Ok(Body::Other(_)) | Err(_) => {
                self.state.counters.unknown += 1;
                let command = frame.command();
                if !self.told.contains(&command) {
                    self.told.push(command);
                    let payload = frame.payload().into();
                    self.event(Event::LidarUnknown { command, payload });
                }
            }
        }
    }

    fn measure(&mut self, now: Instant, measurement: &delta2d::Measurement<'_>) {
        if let Some((before, turn)) = self.measured
            && now.saturating_duration_since(before) > turn
        {
            // The angle may have come round without falling.
            self.give_up_turn();
        }
        let before = self.measured.map_or(now, |(before, _)| before);
        let complete = self.turns.push(measurement, mem::take(&mut self.gap));
        if let Some(turn) = complete {
            let began = self.began.unwrap_or(before);
            self.state.turns += 1;
            self.state.points = turn.points.len();
            self.state.without_echo = turn.without_echo;
            self.event(Event::Scan { scan: Box::new(Scan { turn, began, ended: before }) });
        }
        if self.turns.is_first() {
            self.began = Some(before);
        }
        self.state.spacing = self.turns.source().map(delta2d::Source::name);
        self.set_speed(measurement.speed);
        let turns_per_second = f32::from(measurement.speed) * TURNS_PER_SECOND;
        let turn = Duration::try_from_secs_f32(1.0 / turns_per_second).unwrap_or(TURN.1);
        self.measured = Some((now, turn.clamp(TURN.0, TURN.1)));
        self.set_link(now, LinkState::Turning);
    }

    /// What has been measured of a turn is of no use.
    fn give_up_turn(&mut self) {
        if self.measured.take().is_some() {
            self.turns.forget();
            self.state.counters.broken_turns += 1;
        }
    }

    fn set_speed(&mut self, speed: u8) {
        self.state.turns_per_second = Some(hertz(f32::from(speed) * TURNS_PER_SECOND));
    }

    fn set_link(&mut self, now: Instant, link: LinkState) {
        if self.state.link != link {
            self.state.link = link.clone();
            let silent = self.state.last_seen.map(|seen| now.saturating_duration_since(seen));
            let silent_ms = silent.map(|silent| silent.as_millis() as u64);
            self.event(Event::Link { link, silent_ms });
        }
    }

    fn event(&mut self, event: Event) {
        if self.events.len() >= EVENTS {
            self.events.pop_front();
            self.state.counters.events_lost += 1;
        }
        self.events.push_back(event);
    }

    fn count(&mut self) {
        let seen = self.deframer.counters();
        let counters = &mut self.state.counters;
        counters.frames = self.counted.frames + seen.frames;
        counters.bad_checks = self.counted.bad_checks + seen.bad_checks;
        counters.bad_lengths = self.counted.bad_lengths + seen.bad_lengths;
        counters.dropped = self.counted.dropped + seen.dropped;
    }

    fn judge_check(&mut self) {
        let check = match self.deframer.framing().check() {
            delta2d::Check::Proven => CheckState::Proven,
            delta2d::Check::Unproven { .. } if self.frames >= NEVER => CheckState::NeverFits,
            delta2d::Check::Unproven { .. } => CheckState::Unproven,
        };
        if self.state.check != check {
            self.state.check = check;
            self.event(Event::LidarCheck { check });
        }
    }

    /// What the port brought before is over.
    fn begin(&mut self) {
        self.counted = self.state.counters;
        self.deframer = Deframer::new();
        self.turns = Turns::default();
        self.told.clear();
        (self.frames, self.gap) = (0, false);
        (self.incomplete_since, self.measured, self.began) = (None, None, None);
        (self.state.check, self.state.spacing) = (CheckState::Unproven, None);
        self.state.turns_per_second = None;
    }

    fn give_up_at(&self) -> Option<Instant> {
        self.incomplete_since.map(|since| later(since, INCOMPLETE))
    }

    fn lost_at(&self) -> Option<Instant> {
        let seen = self.state.last_seen.filter(|_| self.state.link.is_heard())?;
        Some(later(seen, SILENCE))
    }
}

impl Default for Session {
    fn default() -> Self {
        Session::new()
    }
}

impl crate::Session for Session {
    type Request = NoJob;
    type Reply = ();
    type Event = Event;
    type State = State;
    type Peer = ();
    type Job = NoJob;
    type Done = NoJob;

    fn connected(&mut self, now: Instant) {
        self.begin();
        self.set_link(now, LinkState::Silent);
    }

    fn disconnected(&mut self, now: Instant, reason: &str) {
        self.begin();
        self.set_link(now, LinkState::Disconnected { reason: Some(reason.into()) });
    }

    fn handle_input(&mut self, now: Instant, (): (), bytes: &[u8]) {
        if self.state.link.is_open() {
            self.deframe(now, |deframer, session| {
                deframer.push(bytes, |piece| session.piece(now, piece.what));
            });
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.give_up_at().is_some_and(|at| at <= now) {
            let moved_on = self.deframe(now, |deframer, session| {
                deframer.give_up(|piece| session.piece(now, piece.what));
            });
            debug_assert!(moved_on, "giving up drops a byte");
        }
        if self.lost_at().is_some_and(|at| at <= now) {
            self.give_up_turn();
            self.state.turns_per_second = None;
            self.set_link(now, LinkState::Lost);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        [self.give_up_at(), self.lost_at()].into_iter().flatten().min()
    }

    fn poll_output(&mut self, _room: bool, _bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        self.events.pop_front().map(Output::Event)
    }

    fn request(&mut self, _now: Instant, request: NoJob, _origin: &Origin) -> RequestId {
        match request {}
    }

    fn is_overtaken(request: &NoJob, _by: OrderKind) -> bool {
        match *request {}
    }

    fn order(&mut self, _now: Instant, _order: &Order) {}

    fn close(&mut self, _now: Instant, _by: &Arc<str>) {}

    fn is_closed(&self) -> bool {
        true
    }

    fn state(&self) -> &State {
        &self.state
    }
}
