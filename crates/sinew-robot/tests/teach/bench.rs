use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use sinew_robot::{
    Code, Refusal,
    teach::{Answer, Event, Output, Playback, RequestId, RobotRequest, Session, Settings},
    trajectory::reduce,
};
use sinew_wire::teach::{
    Action, Actions, Command, Datagram, KEYFRAME_SLOTS, Layout, Message, Name, Sender, Sequence,
    Status,
};

/// When the sessions of these tests begin.
pub(crate) const UNIX_TIME: u64 = 1_700_000_000;

/// A session, a clock, and a robot that answers at once unless told otherwise.
pub(crate) struct Bench {
    pub(crate) session: Session,
    pub(crate) start: Instant,
    pub(crate) now: Instant,
    /// Whether the robot says anything at all.
    pub(crate) mute: bool,
    /// Commands that are answered with this status instead of 0; none: not at all.
    pub(crate) statuses: HashMap<u8, Option<u32>>,
    pub(crate) list: Vec<String>,
    /// How often the robot pushes its status.
    pub(crate) period: Option<Duration>,
    next_push: Instant,
    pub(crate) pushed: u16,
    pub(crate) mode: u32,
    /// Where its joints are, by the time in milliseconds since the beginning.
    pub(crate) pose: fn(u32) -> [f32; 12],
    pub(crate) layout: Layout,
    pub(crate) sent: Vec<Sent>,
    pub(crate) events: Vec<Event>,
    pub(crate) replies: Vec<(RequestId, Result<Answer, Refusal>)>,
}

/// A datagram of the session's.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) at_ms: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Sent {
    pub(crate) fn datagram(&self) -> Datagram<'_> {
        Datagram::new_checked(&self.bytes).unwrap()
    }

    pub(crate) fn message(&self) -> Message<'_> {
        Message::parse(&self.datagram(), Some(Sender::Host)).unwrap()
    }

    pub(crate) fn code(&self) -> u8 {
        self.datagram().command
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        Bench::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let start = Instant::now();
        let settings = Settings { unix_time: settings.unix_time.or(Some(UNIX_TIME)), ..settings };
        let layout = settings.layout;
        Bench {
            session: Session::new(settings, start),
            start,
            now: start,
            mute: false,
            statuses: HashMap::new(),
            list: vec!["wave".into(), "drum".into()],
            period: None,
            next_push: start,
            pushed: 65_500,
            mode: 0,
            pose: |_| [0.25; 12],
            layout,
            sent: Vec::new(),
            events: Vec::new(),
            replies: Vec::new(),
        }
    }

    /// One whose link is up, with nothing sent or told so far.
    pub(crate) fn ready() -> Self {
        Bench::new().opened()
    }

    /// One that also pushes its status, 50 times a second.
    pub(crate) fn pushing() -> Self {
        let mut bench = Bench::new();
        bench.period = Some(Duration::from_millis(20));
        bench.opened()
    }

    pub(crate) fn opened(mut self) -> Self {
        self.run(100);
        self.forget();
        self
    }

    pub(crate) fn forget(&mut self) {
        self.sent.clear();
        self.events.clear();
        self.replies.clear();
    }

    pub(crate) fn at_ms(&self) -> u64 {
        (self.now - self.start).as_millis() as u64
    }

    /// Lets so many milliseconds pass.
    pub(crate) fn run(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        self.settle();
        loop {
            let push = self.period.filter(|_| !self.mute).map(|_| self.next_push.max(self.now));
            let timeout = self.session.poll_timeout();
            let next = [push, timeout].into_iter().flatten().min().unwrap_or(end);
            if next > end {
                break;
            }
            self.now = self.now.max(next);
            if push.is_some_and(|push| push <= self.now) {
                self.push_status();
            }
            if timeout.is_some_and(|at| at <= self.now) {
                self.session.handle_timeout(self.now);
                let again = self.session.poll_timeout();
                assert!(again.is_none_or(|at| at > self.now), "a time-out that does not pass");
            }
            self.settle();
            if next == end && push.is_none_or(|push| push > end) {
                break;
            }
        }
        self.now = end;
    }

    /// Fetches everything, and lets the robot answer.
    pub(crate) fn settle(&mut self) {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Event(event) => self.events.push(event),
                Output::Reply { id, outcome } => self.replies.push((id, outcome)),
                Output::Reduce { id, recording } => {
                    let reduced = reduce(&recording, KEYFRAME_SLOTS);
                    self.session.handle_reduced(self.now, id, reduced);
                }
                Output::Transmit(bytes) => {
                    let sent = Sent { at_ms: self.at_ms(), bytes };
                    let answer = self.answer(&sent);
                    self.sent.push(sent);
                    if let Some(answer) = answer {
                        self.session.handle_input(self.now, &answer);
                    }
                }
            }
        }
    }

    fn answer(&self, sent: &Sent) -> Option<Vec<u8>> {
        let datagram = sent.datagram();
        let status = self.statuses.get(&datagram.command).copied().unwrap_or(Some(0));
        let status = status.filter(|_| !self.mute)?;
        let command = Command::from(datagram.command);
        // As the documents print it: the request's number + 1.
        let sequence = datagram.sequence.next();
        if command == Command::List && status == 0 {
            return Some(list(&self.list, datagram.layout, sequence));
        }
        let answer = Message::Answer { command, status, rest: &[] };
        Some(answer.to_vec(datagram.layout, sequence).unwrap())
    }

    pub(crate) fn push_status(&mut self) {
        let time_ms = self.at_ms() as u32;
        let status = Status {
            positions: (self.pose)(time_ms),
            velocities: [0.0; 12],
            time_ms,
            mode: self.mode,
            flags: 0,
            rest: &[],
        };
        let bytes = Message::Status(status).to_vec(self.layout, Sequence(self.pushed)).unwrap();
        self.pushed = self.pushed.wrapping_add(1);
        self.next_push = self.now + self.period.unwrap_or_default();
        self.session.handle_input(self.now, &bytes);
    }

    pub(crate) fn input(&mut self, bytes: &[u8]) {
        self.session.handle_input(self.now, bytes);
        self.settle();
    }

    pub(crate) fn ask(&mut self, verb: RobotRequest) -> RequestId {
        let id = self.session.request(self.now, verb, "tester");
        self.settle();
        id
    }

    pub(crate) fn outcome(&self, id: RequestId) -> Option<Result<Answer, Refusal>> {
        let mut outcomes = self.replies.iter().filter(|(done, _)| *done == id);
        let outcome = outcomes.next().map(|(_, outcome)| outcome.clone());
        assert!(outcomes.next().is_none(), "request {id} ended twice");
        outcome
    }

    /// Asks and waits for the answer.
    pub(crate) fn get(&mut self, verb: RobotRequest) -> Result<Answer, Refusal> {
        let id = self.ask(verb);
        for _ in 0..100 {
            if let Some(outcome) = self.outcome(id) {
                return outcome;
            }
            self.run(100);
        }
        panic!("request {id} never ended");
    }

    pub(crate) fn code(&mut self, verb: RobotRequest) -> Code {
        self.get(verb).unwrap_err().code
    }

    pub(crate) fn codes(&self) -> Vec<u8> {
        self.sent.iter().map(Sent::code).collect()
    }

    /// Those of a command.
    pub(crate) fn sent_as(&self, code: u8) -> Vec<&Sent> {
        self.sent.iter().filter(|sent| sent.code() == code).collect()
    }
}

pub(crate) fn list(names: &[String], layout: Layout, sequence: Sequence) -> Vec<u8> {
    let action = |name: &String| Action { name: Name::new(name).unwrap(), metadata: 7 };
    let actions: Vec<_> = names.iter().map(action).collect();
    Message::List(Actions::new(&actions).unwrap()).to_vec(layout, sequence).unwrap()
}

pub(crate) fn save(name: &str) -> RobotRequest {
    RobotRequest::Save { name: Some(name.into()), looped: false }
}

pub(crate) fn play(action: sinew_robot::teach::Target) -> RobotRequest {
    RobotRequest::Play { action, how: Playback::default(), keyframes: None }
}
