//! One side of a capture, played to a live peer.
//!
//! What is played is handed in piece by piece, each with its time; what may not pass is left out. Once
//! something was switched on, the end of it all, whatever the reason, is a stop: of a vacuum zero velocity
//! and then motor mode 0, of a G1 the end of teaching.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{NoJob, Order, OrderKind, Origin, Output, RequestId, Session, later, teach, vacuum};

/// Pieces that may wait for their time.
pub const MOST_WAITING: usize = 64;

/// What may be asked of it.
#[derive(Debug)]
pub enum Request {
    /// Send this when its time has come, counted from the first piece.
    Send {
        /// Its time.
        at: Duration,
        /// A frame or a datagram.
        bytes: Vec<u8>,
    },
    /// There is no more; answered when all is sent.
    End,
}

/// What became of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It was sent.
    Sent,
    /// It may not pass, for this reason.
    LeftOut(&'static str),
    /// It is over a limit, in words.
    Refused(String),
    /// Playing has ended.
    Ended,
}

/// Whether something may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    LeftOut(&'static str),
    Refused(String),
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The link is open.
    Connected,
    /// What the peer said.
    Answer(Vec<u8>),
    /// The wheels were told to stand, for this reason; playing goes on.
    Still(String),
    /// It has ended: at its end, or for this reason.
    Ended(Option<String>),
}

/// What the peer is.
#[derive(Debug)]
pub enum Rules {
    /// A vacuum's controller, or a host that takes us for one.
    Vacuum(vacuum::Settings),
    /// A robot that is taught by datagrams, or its host.
    Teach,
}

/// Plays one side of a capture.
#[derive(Debug)]
pub struct Player {
    gate: Gate,
    deadman: Duration,
    now: Instant,
    /// When the first piece was due.
    start: Option<Instant>,
    /// Pieces whose time has not come.
    waiting: VecDeque<(RequestId, Duration, Vec<u8>)>,
    /// What goes out next; what is not ours has a request.
    out: VecDeque<(Option<RequestId>, Vec<u8>)>,
    /// Since when there is nothing to wait for, though more is to come.
    idle_since: Option<Instant>,
    /// The request that said there is no more.
    last: Option<RequestId>,
    ended: bool,
    replies: VecDeque<(RequestId, Fate)>,
    events: VecDeque<Event>,
    last_id: RequestId,
}

#[derive(Debug)]
enum Gate {
    Vacuum(Box<vacuum::Gate>),
    Teach(teach::Gate),
}

impl Gate {
    fn judge(&self, bytes: &[u8]) -> Verdict {
        match self {
            Gate::Vacuum(gate) => gate.judge(bytes),
            Gate::Teach(gate) => gate.judge(bytes),
        }
    }

    fn sent(&mut self, now: Instant, bytes: &[u8]) {
        match self {
            Gate::Vacuum(gate) => gate.sent(now, bytes),
            Gate::Teach(gate) => gate.sent(bytes),
        }
    }

    fn heard(&mut self, bytes: &[u8]) -> Option<String> {
        match self {
            Gate::Vacuum(gate) => gate.heard(bytes),
            Gate::Teach(_) => None,
        }
    }

    fn deadman(&self) -> Option<Instant> {
        match self {
            Gate::Vacuum(gate) => gate.deadman(),
            Gate::Teach(_) => None,
        }
    }

    fn is_armed(&self) -> bool {
        match self {
            Gate::Vacuum(gate) => gate.is_armed(),
            Gate::Teach(gate) => gate.is_armed(),
        }
    }

    fn room_at(&self, bytes: usize) -> Option<Instant> {
        match self {
            Gate::Vacuum(gate) => gate.room_at(bytes),
            Gate::Teach(_) => None,
        }
    }

    fn still(&self) -> Vec<Vec<u8>> {
        match self {
            Gate::Vacuum(gate) => gate.still(),
            Gate::Teach(_) => Vec::new(),
        }
    }

    fn all_stop(&self) -> Vec<Vec<u8>> {
        match self {
            Gate::Vacuum(gate) => gate.all_stop(),
            Gate::Teach(gate) => gate.all_stop(),
        }
    }
}

impl Player {
    /// Plays to such a peer. What moves a robot passes where it is `confirmed`; `from_robot` says
    /// whether the side that is played is the robot's.
    pub fn new(rules: Rules, confirmed: bool, from_robot: bool, now: Instant) -> Self {
        let deadman = match &rules {
            Rules::Vacuum(settings) => settings.deadman,
            Rules::Teach => vacuum::Settings::default().deadman,
        };
        let gate = match rules {
            Rules::Vacuum(settings) => {
                Gate::Vacuum(Box::new(vacuum::Gate::new(settings, confirmed, now)))
            }
            Rules::Teach => Gate::Teach(teach::Gate::new(confirmed, from_robot)),
        };
        Player {
            gate,
            deadman,
            now,
            start: None,
            waiting: VecDeque::new(),
            out: VecDeque::new(),
            idle_since: None,
            last: None,
            ended: false,
            replies: VecDeque::new(),
            events: VecDeque::new(),
            last_id: 0,
        }
    }

    /// What time alone brings about. What stops comes before what goes on.
    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        if self.ended {
            return;
        }
        if self.gate.deadman().is_some_and(|until| until <= self.now) {
            let most = self.deadman.as_millis();
            self.stand_still(format!("no new velocity for {most} ms"));
        }
        if self.stall_at().is_some_and(|at| at <= self.now) {
            let most = self.deadman.as_millis();
            return self.finish(Some(format!("the file was not read on for {most} ms")));
        }
        // One at a time: what is judged must have been sent before the next is.
        while self.out.is_empty()
            && let Some((_, at, _)) = self.waiting.front()
            && self.due(*at) <= self.now
            && let Some((id, _, bytes)) = self.waiting.pop_front()
        {
            match self.gate.judge(&bytes) {
                Verdict::Pass => self.out.push_back((Some(id), bytes)),
                Verdict::LeftOut(why) => self.replies.push_back((id, Fate::LeftOut(why))),
                Verdict::Refused(why) => {
                    // What was asked before it is not to go on in its place.
                    if self.gate.deadman().is_some() {
                        self.stand_still(why.clone());
                    }
                    self.replies.push_back((id, Fate::Refused(why)));
                }
            }
        }
        self.note_idle();
        if self.last.is_some() && self.waiting.is_empty() && self.out.is_empty() {
            self.finish(None);
        }
    }

    fn note_idle(&mut self) {
        let is_idle = self.waiting.is_empty() && self.out.is_empty() && self.last.is_none();
        match is_idle {
            true => drop(self.idle_since.get_or_insert(self.now)),
            false => self.idle_since = None,
        }
    }

    /// When waiting for the reader has lasted too long: of a robot on which something is on.
    fn stall_at(&self) -> Option<Instant> {
        let since = self.idle_since.filter(|_| self.gate.is_armed())?;
        Some(later(since, self.deadman))
    }

    fn due(&self, at: Duration) -> Instant {
        self.start.map_or(self.now, |start| later(start, at))
    }

    /// Has the wheels stand. What is judged and not sent yet may turn them: it is not sent any more.
    fn stand_still(&mut self, why: String) {
        for id in self.out.drain(..).filter_map(|(id, _)| id) {
            self.replies.push_back((id, Fate::Refused(why.clone())));
        }
        for frame in self.gate.still() {
            // As of now: what is on its way to the port is not decided on again.
            self.gate.sent(self.now, &frame);
            self.out.push_back((None, frame));
        }
        self.events.push_back(Event::Still(why));
    }

    /// Ends it: nothing of the file is sent any more.
    fn finish(&mut self, failure: Option<String>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let waiting = self.waiting.drain(..).map(|(id, ..)| id);
        let unsent = self.out.drain(..).filter_map(|(id, _)| id);
        let ids: Vec<_> = unsent.chain(waiting).chain(self.last.take()).collect();
        self.replies.extend(ids.into_iter().map(|id| (id, Fate::Ended)));
        if self.gate.is_armed() {
            let stop = self.gate.all_stop();
            self.out.extend(stop.into_iter().map(|frame| (None, frame)));
        }
        self.events.push_back(Event::Ended(failure));
    }

    /// From when on the first of what goes out may go.
    fn room_at(&self) -> Option<Instant> {
        // Our own are stops, which wait for nothing.
        let (id, bytes) = self.out.front()?;
        id.and_then(|_| self.gate.room_at(bytes.len()))
    }
}

impl Session for Player {
    type Request = Request;
    type Reply = Fate;
    type Event = Event;
    type State = ();
    type Peer = ();
    type Job = NoJob;
    type Done = NoJob;

    fn connected(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.events.push_back(Event::Connected);
    }

    fn disconnected(&mut self, now: Instant, reason: &str) {
        self.now = self.now.max(now);
        self.finish(Some(reason.into()));
        // There is no port that would take it.
        self.out.clear();
    }

    /// As when no program listens at the other end of a datagram link.
    fn troubled(&mut self, now: Instant, reason: &str) {
        self.now = self.now.max(now);
        self.finish(Some(reason.into()));
    }

    fn handle_input(&mut self, now: Instant, (): (), bytes: &[u8]) {
        self.now = self.now.max(now);
        if let Some(danger) = self.gate.heard(bytes).filter(|_| !self.ended) {
            self.stand_still(danger);
        }
        self.events.push_back(Event::Answer(bytes.to_vec()));
        self.advance(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.ended {
            return None;
        }
        let due = self.waiting.front().filter(|_| self.out.is_empty());
        let due = due.map(|(_, at, _)| self.due(*at));
        let room = self.room_at().filter(|at| *at > self.now);
        [due, room, self.gate.deadman(), self.stall_at()].into_iter().flatten().min()
    }

    fn poll_output(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        if let Some((id, fate)) = self.replies.pop_front() {
            return Some(Output::Reply(id, Ok(fate)));
        }
        if let Some(event) = self.events.pop_front() {
            return Some(Output::Event(event));
        }
        if !room || self.room_at().is_some_and(|at| at > self.now) {
            return None;
        }
        let (id, frame) = self.out.pop_front()?;
        bytes.extend_from_slice(&frame);
        // Of our own it was noted when they were decided on.
        if let Some(id) = id {
            self.gate.sent(self.now, &frame);
            self.replies.push_back((id, Fate::Sent));
            self.advance(self.now);
        }
        Some(Output::Transmit(()))
    }

    fn request(&mut self, now: Instant, request: Request, _origin: &Origin) -> RequestId {
        self.now = self.now.max(now);
        self.last_id += 1;
        let id = self.last_id;
        match request {
            _ if self.ended => self.replies.push_back((id, Fate::Ended)),
            Request::Send { .. } if self.waiting.len() >= MOST_WAITING => {
                self.replies.push_back((id, Fate::LeftOut("too many wait already")));
            }
            Request::Send { at, bytes } => {
                let begun = self.now.checked_sub(at).unwrap_or(self.now);
                self.start.get_or_insert(begun);
                self.waiting.push_back((id, at, bytes));
            }
            Request::End => self.last = Some(id),
        }
        self.note_idle();
        self.advance(now);
        id
    }

    fn is_overtaken(_request: &Request, _by: OrderKind) -> bool {
        false
    }

    fn order(&mut self, now: Instant, order: &Order) {
        self.now = self.now.max(now);
        self.finish(Some(format!("{} stopped it", order.by)));
    }

    fn longest_pause(&self) -> Option<Duration> {
        Some(self.deadman)
    }

    fn paused(&mut self, now: Instant, late: Duration) {
        self.now = self.now.max(now);
        self.finish(Some(format!("a pause of the computer of {:.1} s", late.as_secs_f64())));
    }

    fn close(&mut self, now: Instant, by: &Arc<str>) {
        self.now = self.now.max(now);
        self.finish(Some(by.to_string()));
    }

    fn is_closed(&self) -> bool {
        self.ended && self.out.is_empty()
    }

    fn state(&self) -> &() {
        &()
    }
}
