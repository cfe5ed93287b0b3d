//! Session and robot, joined by a channel in virtual time.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use sinew_robot::{
    Code, Order, OrderKind, Origin, Output, Presence, Refusal, RequestId, Session as _, mapping,
    teach,
    teach::{Playback, RobotRequest, Target},
    unitree::{Event, LinkState, Reply, Request, Session, Settings},
};
use sinew_wire::unitree::Form;

use crate::robot::{Out, Robot};

/// 2026-02-01 05:50:36, the start of a recording in the app's log.
pub(crate) const UNIX_TIME: u64 = 1_769_925_036;

/// What a channel does to messages.
pub(crate) struct Faults {
    pub(crate) chance: fastrand::Rng,
    /// Milliseconds that a message takes at most, but for a stall.
    pub(crate) delay: u64,
    /// Of a thousand messages, how many stall all behind them for a second or two.
    pub(crate) stalls: u32,
    /// Of a thousand answers of the robot, how many come twice.
    pub(crate) doubles: u32,
    /// Of a thousand answers of the robot, how many never come.
    pub(crate) losses: u32,
}

/// A session, a robot, a channel and a clock.
pub(crate) struct Bench {
    pub(crate) session: Session,
    pub(crate) robot: Robot,
    start: Instant,
    pub(crate) now: Instant,
    agenda: BTreeMap<(u64, u64), Item>,
    count: u64,
    /// The channel that is open, by number.
    pub(crate) open: bool,
    channel: u64,
    /// When the last message in each direction comes, which those behind it do not overtake.
    last: [u64; 2],
    /// Whether what the robot sends gets lost, and nothing says so.
    pub(crate) dead: bool,
    pub(crate) faults: Option<Faults>,
    /// Whether a channel that is given up is opened again, half a second later.
    pub(crate) reopens: bool,
    next_tick: u64,
    pub(crate) events: Vec<Event>,
    pub(crate) replies: Vec<(RequestId, Result<Reply, Refusal>)>,
    pub(crate) reconnects: Vec<(u64, String)>,
    pub(crate) presence: Presence,
}

enum Item {
    ToRobot(String),
    ToHost(u64, Out),
    Open,
}

/// The digests of the validation's vectors; any other input has another.
pub(crate) fn md5(input: &[u8]) -> [u8; 16] {
    match input {
        b"UnitreeGo2_0123456789abcdef" => [
            0xC3, 0xEC, 0x09, 0x45, 0x26, 0xAD, 0xA4, 0x94, 0x1F, 0xD9, 0x3A, 0x5B, 0x03, 0x51,
            0x65, 0x20,
        ],
        b"UnitreeGo2_" => [
            0xFC, 0x9D, 0x57, 0x01, 0x5E, 0x67, 0x98, 0x07, 0x2D, 0xA6, 0x23, 0xA7, 0x53, 0x48,
            0xF0, 0x1B,
        ],
        _ => [0; 16],
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        Bench::with(Settings::new(UNIX_TIME, 7, md5))
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let start = Instant::now();
        Bench {
            session: Session::new(settings, start),
            robot: Robot::new(),
            start,
            now: start,
            agenda: BTreeMap::new(),
            count: 0,
            open: false,
            channel: 0,
            last: [0; 2],
            dead: false,
            faults: None,
            reopens: true,
            next_tick: 50,
            events: Vec::new(),
            replies: Vec::new(),
            reconnects: Vec::new(),
            presence: Presence::default(),
        }
    }

    /// One whose link is ready, with nothing told so far.
    pub(crate) fn ready() -> Self {
        Bench::new().opened()
    }

    pub(crate) fn opened(mut self) -> Self {
        self.open();
        self.run(400);
        assert_eq!(self.session.state().link, LinkState::Ready);
        self.forget();
        self
    }

    pub(crate) fn forget(&mut self) {
        self.robot.got.clear();
        self.events.clear();
        self.replies.clear();
        self.reconnects.clear();
    }

    pub(crate) fn ms(&self) -> u64 {
        (self.now - self.start).as_millis() as u64
    }

    pub(crate) fn open(&mut self) {
        self.channel += 1;
        self.open = true;
        // What was on its way on another channel does not come on this one.
        self.agenda.retain(|_, item| !matches!(item, Item::ToRobot(_)));
        self.last = [0; 2];
        self.robot.opened(self.ms());
        self.session.connected(self.now);
        self.settle();
    }

    /// The channel is gone, and the system says so.
    pub(crate) fn cut(&mut self, reason: &str) {
        self.open = false;
        // What was on its way to the robot may still come there.
        self.agenda.retain(|_, item| !matches!(item, Item::ToHost(..)));
        self.robot.validated = false;
        self.robot.topics.clear();
        self.session.disconnected(self.now, reason);
        self.settle();
    }

    /// Lets so many milliseconds pass.
    pub(crate) fn run(&mut self, ms: u64) {
        let end = self.ms() + ms;
        self.settle();
        loop {
            let agenda = self.agenda.keys().next().map(|(at, _)| *at);
            let due = self.session.poll_timeout();
            // Rounded up: the bench counts whole milliseconds.
            let due = due.map(|due| {
                let since = due.saturating_duration_since(self.start);
                since.as_nanos().div_ceil(1_000_000) as u64
            });
            let next = [agenda, due, Some(self.next_tick)].into_iter().flatten().min().unwrap();
            if next > end {
                break;
            }
            self.now = self.now.max(self.start + Duration::from_millis(next));
            self.turn(next, due);
        }
        self.now = self.start + Duration::from_millis(end);
    }

    fn turn(&mut self, at: u64, due: Option<u64>) {
        if at >= self.next_tick {
            self.next_tick += 50;
            self.robot.tick(at);
        }
        while let Some(entry) = self.agenda.first_entry()
            && entry.key().0 <= at
        {
            match entry.remove() {
                // What a robot gets of an older channel it still does.
                Item::ToRobot(text) => self.robot.hear(at, &text),
                Item::ToHost(channel, out) if channel == self.channel && self.open => {
                    let (form, bytes) = match &out {
                        Out::Text(text) => (Form::Text, text.as_bytes()),
                        Out::Binary(bytes) => (Form::Binary, &bytes[..]),
                    };
                    self.session.handle_input(self.now, form, bytes);
                }
                Item::ToHost(..) => {}
                Item::Open if !self.open => self.open(),
                Item::Open => {}
            }
            self.settle();
        }
        if due.is_some_and(|due| due <= at) {
            self.session.handle_timeout(self.now);
            let again = self.session.poll_timeout();
            assert!(again.is_none_or(|at| at > self.now), "a time-out that does not pass");
        }
        self.settle();
    }

    /// Fetches everything, and puts what both sides say on its way.
    pub(crate) fn settle(&mut self) {
        let mut bytes = Vec::new();
        while let Some(output) = self.session.poll_output(true, &mut bytes) {
            match output {
                Output::Event(event) => {
                    // A stop that is told as confirmed is one.
                    if let Event::StopEnded { confirmed: true, by, .. } = &event
                        && by.starts_with("stopped by")
                    {
                        let Robot { arms, pending, walk, .. } = &self.robot;
                        assert!(self.robot.is_still(), "{arms:?}, {pending:?}, {walk:?}");
                    }
                    self.events.push(event);
                }
                Output::Reply(id, outcome) => self.replies.push((id, outcome)),
                Output::Transmit(form) => {
                    assert_eq!(form, Form::Text);
                    let text = String::from_utf8(std::mem::take(&mut bytes)).unwrap();
                    if self.open {
                        let at = self.arrival(0);
                        self.put(at, Item::ToRobot(text));
                    }
                }
                Output::Reconnect(reason) => {
                    self.reconnects.push((self.ms(), reason.to_string()));
                    self.cut(&reason);
                    if self.reopens {
                        self.put(self.ms() + 500, Item::Open);
                    }
                }
                Output::Job(job) => match job {},
            }
        }
        for (at, out) in std::mem::take(&mut self.robot.out) {
            let is_answer = matches!(&out, Out::Text(text) if text.contains(r#""type":"res""#));
            let roll = self.faults.as_mut().map_or(1000, |faults| faults.chance.u32(0..1000));
            let (losses, doubles) =
                self.faults.as_ref().map_or((0, 0), |faults| (faults.losses, faults.doubles));
            if self.dead || !self.open || (is_answer && roll < losses) {
                continue;
            }
            let arrives = self.arrival(1).max(at);
            self.put(arrives, Item::ToHost(self.channel, out.clone()));
            if is_answer && (losses..losses + doubles).contains(&roll) {
                self.put(arrives + 40, Item::ToHost(self.channel, out));
            }
        }
    }

    /// When a message that is sent now comes: in order, and not before those before it.
    fn arrival(&mut self, direction: usize) -> u64 {
        let now = self.ms();
        let mut at = now + 2;
        if let Some(faults) = &mut self.faults {
            at += faults.chance.u64(0..=faults.delay);
            if faults.chance.u32(0..1000) < faults.stalls {
                at += faults.chance.u64(500..2500);
            }
        }
        self.last[direction] = self.last[direction].max(at);
        self.last[direction]
    }

    fn put(&mut self, at: u64, item: Item) {
        self.count += 1;
        self.agenda.insert((at, self.count), item);
    }

    pub(crate) fn reopen_in(&mut self, ms: u64) {
        self.put(self.ms() + ms, Item::Open);
    }

    pub(crate) fn origin(&self, client: u64) -> Origin {
        Origin {
            by: format!("client {client}").into(),
            client,
            robot: "g1".into(),
            epoch: 0,
            received: self.now,
            presence: self.presence.clone(),
        }
    }

    pub(crate) fn ask(&mut self, request: impl Into<Request>) -> RequestId {
        let origin = self.origin(1);
        let id = self.session.request(self.now, request.into(), &origin);
        self.settle();
        id
    }

    pub(crate) fn order(&mut self, kind: OrderKind, client: u64) {
        let by = format!("client {client}").into();
        let order = Order { kind, epoch: 1, by, client: Some(client) };
        self.session.order(self.now, &order);
        self.settle();
    }

    pub(crate) fn outcome(&self, id: RequestId) -> Option<Result<Reply, Refusal>> {
        let mut outcomes = self.replies.iter().filter(|(done, _)| *done == id);
        let outcome = outcomes.next().map(|(_, outcome)| outcome.clone());
        assert!(outcomes.next().is_none(), "request {id} ended twice");
        outcome
    }

    /// Asks, and waits for the answer.
    pub(crate) fn get(&mut self, request: impl Into<Request>) -> Result<Reply, Refusal> {
        let id = self.ask(request);
        for _ in 0..4000 {
            if let Some(outcome) = self.outcome(id) {
                return outcome;
            }
            self.run(20);
        }
        panic!("request {id} never ended");
    }

    pub(crate) fn teach(&mut self, request: RobotRequest) -> teach::Answer {
        match self.get(request).unwrap() {
            Reply::Teach(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn map(&mut self, request: mapping::Request) -> mapping::Answer {
        match self.get(request).unwrap() {
            Reply::Mapping(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn refusal(&mut self, request: impl Into<Request>) -> (Code, String) {
        let refusal = self.get(request).unwrap_err();
        (refusal.code, refusal.message)
    }

    pub(crate) fn link(&self) -> &LinkState {
        &self.session.state().link
    }
}

pub(crate) fn play(name: &str) -> RobotRequest {
    let action = Target::Name(name.into());
    RobotRequest::Play { action, how: Playback::default(), keyframes: None }
}

pub(crate) fn play_id(id: u32) -> RobotRequest {
    RobotRequest::Play { action: Target::Id(id), how: Playback::default(), keyframes: None }
}

pub(crate) fn record(name: &str) -> RobotRequest {
    RobotRequest::RecordStart { name: Some(name.into()) }
}
