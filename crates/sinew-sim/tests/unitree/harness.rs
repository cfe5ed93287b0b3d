//! Session and robot, joined by a channel in virtual time.
//!
//! The channel is reliable and keeps the order, as the real one is: what a network loses comes
//! late, and holds up what is behind it. A cut loses what is on its way.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use fastrand::Rng;
use md5::{Digest, Md5};
use serde_json::Value;
use sinew_robot::{
    Order, OrderKind, Origin, Output, Presence, Refusal, RequestId, Session as _,
    unitree::{Event, Reply, Request, Session, Settings},
};
use sinew_sim::g1::{Channel, Mode, Options, Peer, Robot, Stored, UnitreeOptions, Walking, What};
use sinew_wire::unitree::Form;

fn md5(message: &[u8]) -> [u8; 16] {
    Md5::digest(message).into()
}

pub(crate) fn options(seed: u64) -> Options {
    let unitree = UnitreeOptions {
        md5: Some(md5),
        points_per_cloud: 60,
        patrol: false,
        ..UnitreeOptions::default()
    };
    Options { seed, status_hz: 10, operator: None, unitree, ..Options::default() }
}

/// What a network does to a channel's messages.
#[derive(Default)]
pub(crate) struct Network {
    pub(crate) rng: Rng,
    /// Milliseconds that a message takes, at most.
    pub(crate) delay: u64,
    /// Of a thousand messages, how many are lost and come a second or two later.
    pub(crate) losses: u32,
}

pub(crate) struct Pair {
    pub(crate) session: Session,
    pub(crate) robot: Robot,
    pub(crate) now: Instant,
    start: Instant,
    agenda: BTreeMap<(u64, u64), Item>,
    count: u64,
    pub(crate) open: bool,
    channel: u32,
    last: [u64; 2],
    pub(crate) network: Network,
    /// Whether the robot learns that its joints are wanted: their JSON takes most of a run's time.
    pub(crate) joints: bool,
    pub(crate) events: Vec<Event>,
    replies: BTreeMap<RequestId, Result<Reply, Refusal>>,
    pub(crate) asked: Vec<RequestId>,
    /// Calls that came to the robot: number and parameter.
    pub(crate) calls: Vec<(i64, String)>,
    /// Whether the robot last said, when it spoke and not when it was heard, that its arms return.
    returns: bool,
    /// Presence of the client that asks.
    pub(crate) presence: Presence,
}

enum Item {
    ToRobot(String),
    ToHost(u32, Form, Vec<u8>),
    Open,
}

impl Pair {
    pub(crate) fn new(options: Options, seed: u64) -> Self {
        let start = Instant::now();
        let settings = Settings {
            // Shorter than a minute, since each run has to wait for it.
            orphan: Duration::from_secs(8),
            ..Settings::new(1_769_925_036, seed, md5)
        };
        Pair {
            session: Session::new(settings, start),
            robot: Robot::new(options, start),
            now: start,
            start,
            agenda: BTreeMap::new(),
            count: 0,
            open: false,
            channel: 0,
            last: [0; 2],
            network: Network::default(),
            joints: true,
            events: Vec::new(),
            replies: BTreeMap::new(),
            asked: Vec::new(),
            calls: Vec::new(),
            returns: false,
            presence: Presence::default(),
        }
    }

    pub(crate) fn ms(&self) -> u64 {
        (self.now - self.start).as_millis() as u64
    }

    pub(crate) fn open(&mut self) {
        if self.open {
            return;
        }
        self.channel += 1;
        (self.open, self.last) = (true, [0; 2]);
        self.session.connected(self.now);
        self.tell_robot(What::Opened, b"");
        self.settle();
    }

    /// The channel is gone. The robot may not notice for a while, but another one replaces it.
    pub(crate) fn cut(&mut self, reason: &str) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        self.agenda.retain(|_, item| matches!(item, Item::Open));
        self.tell_robot(What::Closed, b"");
        self.session.disconnected(self.now, reason);
        self.settle();
    }

    pub(crate) fn reopen_in(&mut self, ms: u64) {
        self.put(self.ms() + ms, Item::Open);
    }

    fn tell_robot(&mut self, what: What, bytes: &[u8]) {
        let peer = Peer::Channel(Channel { client: self.channel, what });
        self.robot.handle_input(self.now, peer, bytes);
    }

    /// Lets so many milliseconds pass.
    pub(crate) fn run(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        self.settle();
        loop {
            let agenda = self.agenda.keys().next();
            let agenda = agenda.map(|(at, _)| self.start + Duration::from_millis(*at));
            let session = self.session.poll_timeout();
            let robot = sinew_robot::Session::poll_timeout(&self.robot);
            let next = [agenda, session, robot].into_iter().flatten().min().unwrap_or(end);
            if next > end {
                break;
            }
            self.now = self.now.max(next);
            self.deliver();
            sinew_robot::Session::handle_timeout(&mut self.robot, self.now);
            self.session.handle_timeout(self.now);
            self.settle();
            let again = self.session.poll_timeout();
            assert!(again.is_none_or(|at| at > self.now), "a time-out that does not pass");
        }
        self.now = end;
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.agenda.first_entry()
            && self.start + Duration::from_millis(entry.key().0) <= self.now
        {
            match entry.remove() {
                Item::ToRobot(text) if !self.joints && text.contains("rt/lf/lowstate") => {}
                Item::ToRobot(text) => {
                    self.note_call(&text);
                    self.tell_robot(What::Message(Form::Text), text.as_bytes());
                }
                Item::ToHost(channel, form, bytes) if channel == self.channel && self.open => {
                    self.session.handle_input(self.now, form, &bytes);
                }
                Item::ToHost(..) => {}
                Item::Open => self.open(),
            }
            self.settle();
        }
    }

    fn note_call(&mut self, text: &str) {
        let message: Value = serde_json::from_str(text).unwrap();
        if let Some(api) = message["data"]["header"]["identity"]["api_id"].as_i64() {
            let parameter = message["data"]["parameter"].as_str().unwrap();
            self.calls.push((api, parameter.into()));
        }
    }

    fn note_state(&mut self, bytes: &[u8]) {
        let text = str::from_utf8(bytes).unwrap_or_default();
        if text.contains("rt/arm/action/state") {
            self.returns = text.contains("release_arm");
        }
    }

    fn settle(&mut self) {
        let mut bytes = Vec::new();
        loop {
            let mut quiet = true;
            while let Some(output) = self.session.poll_output(true, &mut bytes) {
                quiet = false;
                match output {
                    Output::Transmit(_) if !self.open => bytes.clear(),
                    Output::Transmit(_) => {
                        let text = String::from_utf8(std::mem::take(&mut bytes)).unwrap();
                        let at = self.arrival(0);
                        self.put(at, Item::ToRobot(text));
                    }
                    Output::Event(event) => self.told(event),
                    Output::Reply(id, outcome) => {
                        let before = self.replies.insert(id, outcome);
                        assert!(before.is_none(), "request {id} ended twice");
                    }
                    Output::Reconnect(reason) => {
                        self.cut(&reason);
                        self.reopen_in(500);
                    }
                    Output::Job(job) => match job {},
                }
            }
            while let Some(output) =
                sinew_robot::Session::poll_output(&mut self.robot, true, &mut bytes)
            {
                quiet = false;
                match output {
                    Output::Transmit(Peer::Channel(Channel { client, what })) => {
                        let bytes = std::mem::take(&mut bytes);
                        if let What::Message(form) = what {
                            self.note_state(&bytes);
                            let at = self.arrival(1);
                            self.put(at, Item::ToHost(client, form, bytes));
                        }
                    }
                    Output::Transmit(Peer::Datagram(_)) => bytes.clear(),
                    Output::Job(job) => {
                        let done = Stored { id: job.id, ok: true };
                        self.robot.handle_done(self.now, done);
                    }
                    _ => {}
                }
            }
            if quiet {
                return;
            }
        }
    }

    fn told(&mut self, event: Event) {
        // A stop that is told as confirmed is one.
        if let Event::StopEnded { confirmed: true, by, .. } = &event
            && by.starts_with("stopped by")
        {
            let (mode, walking) = (self.robot.mode(), self.robot.walking());
            assert!(self.is_still(), "{mode:?}, {walking:?}");
        }
        self.events.push(event);
    }

    /// Whether nothing plays, records or walks. Arms that return after an action are on their way
    /// to stillness; the robot's mode does not tell that apart from a play.
    pub(crate) fn is_still(&self) -> bool {
        let arms = match self.robot.mode() {
            Mode::Idle => true,
            Mode::Playing => self.returns,
            Mode::Recording | Mode::Teaching => false,
        };
        arms && self.robot.walking() != Walking::ToGoal
    }

    fn arrival(&mut self, direction: usize) -> u64 {
        let mut at = self.ms() + 2;
        let Network { rng, delay, losses } = &mut self.network;
        at += rng.u64(0..=*delay);
        if rng.u32(0..1000) < *losses {
            at += rng.u64(300..2000);
        }
        self.last[direction] = self.last[direction].max(at);
        self.last[direction]
    }

    fn put(&mut self, at: u64, item: Item) {
        self.count += 1;
        self.agenda.insert((at, self.count), item);
    }

    pub(crate) fn ask(&mut self, request: impl Into<Request>) -> RequestId {
        let origin = Origin {
            by: "client 1".into(),
            client: 1,
            robot: "g1".into(),
            epoch: 0,
            received: self.now,
            presence: self.presence.clone(),
        };
        let id = self.session.request(self.now, request.into(), &origin);
        self.asked.push(id);
        self.settle();
        id
    }

    pub(crate) fn order(&mut self, kind: OrderKind, client: u64) {
        let by = format!("client {client}").into();
        self.session.order(self.now, &Order { kind, epoch: 1, by, client: Some(client) });
        self.settle();
    }

    pub(crate) fn outcome(&self, id: RequestId) -> Option<&Result<Reply, Refusal>> {
        self.replies.get(&id)
    }

    /// Asks, and waits for the answer.
    pub(crate) fn get(&mut self, request: impl Into<Request>) -> Result<Reply, Refusal> {
        let id = self.ask(request);
        for _ in 0..4000 {
            if let Some(outcome) = self.outcome(id) {
                return outcome.clone();
            }
            self.run(20);
        }
        panic!("request {id} never ended");
    }

    /// How often a call came.
    pub(crate) fn count_of(&self, api: i64) -> usize {
        self.calls.iter().filter(|(number, _)| *number == api).count()
    }
}
