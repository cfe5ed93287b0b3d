//! A host of few words: it sends what a test says, when it says so, and keeps what comes back.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use sinew_sim::g1::{Code, Key, Motion, Move, Options, Output, Robot, Script, StoredAction};
use sinew_wire::teach::{
    Command, Datagram, Interpolation, Keyframe, Keyframes, Layout, Message, Name, Play, Save,
    Sender, Sequence, State,
};

pub(crate) const LAYOUTS: [Layout; 2] = [Layout::Documented, Layout::Compact];

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) fn client(number: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 40_000 + number))
}

/// A robot, its time, and all that it put out.
pub(crate) struct Bench {
    pub(crate) robot: Robot,
    pub(crate) start: Instant,
    pub(crate) now: Instant,
    pub(crate) layout: Layout,
    pub(crate) sequence: Sequence,
    pub(crate) heard: Vec<Heard>,
    pub(crate) stores: usize,
    /// What was stored last.
    pub(crate) disk: Vec<StoredAction>,
    pub(crate) disk_works: bool,
}

/// A datagram of the robot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heard {
    pub(crate) at: Instant,
    pub(crate) to: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

impl Heard {
    pub(crate) fn datagram(&self) -> Datagram<'_> {
        Datagram::new_checked(&self.bytes).unwrap()
    }

    pub(crate) fn message(&self) -> Message<'_> {
        Message::parse(&self.datagram(), Some(Sender::Robot)).unwrap()
    }

    pub(crate) fn code(&self) -> Option<Code> {
        match self.message() {
            Message::Answer { status, .. } => Some(Code::from_number(status).unwrap()),
            _ => None,
        }
    }
}

impl Bench {
    pub(crate) fn new(options: Options) -> Self {
        let now = Instant::now();
        Bench {
            robot: Robot::new(options, now),
            start: now,
            now,
            layout: Layout::Documented,
            sequence: Sequence(0),
            heard: Vec::new(),
            stores: 0,
            disk: Vec::new(),
            disk_works: true,
        }
    }

    /// A robot whose arms nobody moves.
    pub(crate) fn still() -> Self {
        Bench::new(Options { operator: None, ..Options::default() })
    }

    /// The same with these actions.
    pub(crate) fn with(actions: Vec<StoredAction>) -> Self {
        Bench::new(Options { operator: None, actions, ..Options::default() })
    }

    pub(crate) fn bytes(&mut self, from: SocketAddr, bytes: &[u8]) {
        self.robot.handle_datagram(self.now, from, bytes);
        self.listen();
    }

    /// Sends a message under the next number.
    pub(crate) fn send(&mut self, from: SocketAddr, message: &Message<'_>) {
        let bytes = message.to_vec(self.layout, self.sequence).unwrap();
        self.sequence = self.sequence.next();
        self.bytes(from, &bytes);
    }

    /// Sends a message as the first client and gives the answer's code.
    #[track_caller]
    pub(crate) fn ask(&mut self, message: &Message<'_>) -> Code {
        let before = self.heard.len();
        self.send(client(0), message);
        let answers = self.heard[before..].iter().filter(|heard| heard.code().is_some());
        let answers: Vec<&Heard> = answers.collect();
        assert_eq!(answers.len(), 1, "one answer to {message:?}");
        answers[0].code().unwrap()
    }

    #[track_caller]
    pub(crate) fn done(&mut self, message: &Message<'_>) {
        assert_eq!(self.ask(message), Code::Success, "{message:?}");
    }

    pub(crate) fn open(&mut self, from: SocketAddr) {
        for message in opening() {
            self.send(from, &message);
        }
    }

    #[track_caller]
    pub(crate) fn enter(&mut self) {
        self.done(&enter());
    }

    /// Lets time pass, calling the robot whenever it asks.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            let next = self.robot.poll_timeout();
            assert!(next > self.now, "a robot that was called has nothing left to do");
            self.now = next.min(end);
            self.robot.handle_timeout(self.now);
            self.listen();
        }
    }

    /// Lets time pass without calling the robot before it is over.
    pub(crate) fn jump(&mut self, time: Duration) {
        self.now += time;
        self.robot.handle_timeout(self.now);
        self.listen();
    }

    /// Lets time pass as a host does that teaches: maintenance every 4.5 s.
    pub(crate) fn teach(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.run(ms(4500).min(end - self.now));
            self.done(&MAINTAIN);
        }
    }

    /// Status that a client got.
    pub(crate) fn statuses(&self, to: SocketAddr) -> Vec<&Heard> {
        let status =
            |heard: &&Heard| heard.to == to && matches!(heard.message(), Message::Status(_));
        self.heard.iter().filter(status).collect()
    }

    /// The list of actions, as name and metadata.
    #[track_caller]
    pub(crate) fn list(&mut self) -> Vec<(String, u32)> {
        self.send(client(0), &LIST);
        match self.heard.last().unwrap().message() {
            Message::List(list) => {
                let list = list.iter();
                list.map(|one| (one.name.as_str().unwrap().to_owned(), one.metadata)).collect()
            }
            other => panic!("no list: {other:?}"),
        }
    }

    pub(crate) fn joint(&self, slot: usize) -> f32 {
        self.robot.joints()[slot]
    }

    fn listen(&mut self) {
        while let Some(output) = self.robot.poll_output() {
            match output {
                Output::Send { to, bytes } => self.heard.push(Heard { at: self.now, to, bytes }),
                Output::Store { id, actions } if self.disk_works => {
                    self.stores += 1;
                    self.disk = actions;
                    self.robot.stored(self.now, id, true);
                }
                Output::Store { id, .. } => self.robot.stored(self.now, id, false),
                other => panic!("{other:?}"),
            }
        }
    }
}

pub(crate) const MAINTAIN: Message<'static> = Message::Maintain { mode_flags: 1, rest: &[] };
pub(crate) const EXIT: Message<'static> = Message::Exit { mode_flags: 0, rest: &[] };
pub(crate) const START: Message<'static> = Message::Record { flag: 1, rest: &[] };
pub(crate) const STOP: Message<'static> = Message::Record { flag: 0, rest: &[] };
pub(crate) const LIST: Message<'static> = Message::ListRequest { rest: &[] };
pub(crate) const SUBSCRIBE: Message<'static> = Message::Subscribe { rest: &[] };

pub(crate) fn opening() -> [Message<'static>; 4] {
    [
        Message::ControlMode { rest: &[] },
        Message::ParameterSync { rest: &[] },
        SUBSCRIBE,
        Message::Ready { ready: 1, rest: &[] },
    ]
}

pub(crate) fn enter() -> Message<'static> {
    Message::Enter(State {
        mode_flags: 1,
        positions: [0.0; 12],
        velocities: [0.0; 12],
        imu: [0.0; 6],
        feet: [0.0; 4],
        timestamp_ms: 0,
        flags: 0,
        rest: &[],
    })
}

pub(crate) fn keyframes(keys: &[(u16, u16, f32)]) -> Keyframes {
    let keys = keys.iter().map(|&(joint, time_ms, value)| Keyframe { joint, time_ms, value });
    Keyframes::new(&keys.collect::<Vec<_>>()).unwrap()
}

pub(crate) fn save(name: &str, timestamp: u32, keys: &[(u16, u16, f32)]) -> Message<'static> {
    let duration_ms = keys.iter().map(|key| key.1.into()).max().unwrap_or(0);
    Message::Save(Save {
        name: Name::new(name).unwrap(),
        timestamp,
        duration_ms,
        frame_count: 50,
        flags: 1,
        keyframes: keyframes(keys),
        rest: &[],
    })
}

pub(crate) fn play_with(action_id: u32, change: impl FnOnce(&mut Play<'_>)) -> Message<'static> {
    let mut play = Play {
        action_id,
        frame_count: 0,
        duration_ms: 0,
        interpolation: Interpolation::Linear,
        keyframes: keyframes(&[]),
        rest: &[],
    };
    change(&mut play);
    Message::Play(Play { rest: &[], ..play })
}

pub(crate) fn play(action_id: u32) -> Message<'static> {
    play_with(action_id, |_| {})
}

/// A stored action of these keyframes; its frames are 10 ms apart.
pub(crate) fn stored(name: &str, keys: &[(u16, u16, f32)]) -> StoredAction {
    let duration_ms = keys.iter().map(|key| key.1.into()).max().unwrap_or(0);
    let keys = keys.iter().map(|&(joint, time_ms, value)| Key { joint, time_ms, value });
    StoredAction {
        name: name.into(),
        saved_at: 1,
        duration_ms,
        frames: duration_ms / 10 + 1,
        flags: 1,
        motion: Motion::Keyframes(keys.collect()),
    }
}

/// An operator who moves one joint, half a second after teaching begins.
pub(crate) fn lifts(slot: usize, target: f32) -> Options {
    let moves = vec![Move { at: ms(500), slot, target }];
    let operator = Some(Script::Moves { moves, repeat: None });
    Options { operator, ..Options::default() }
}

/// All commands with something to answer, one of each.
pub(crate) fn one_of_each() -> Vec<(Command, Message<'static>)> {
    let mut all = opening().to_vec();
    all.extend([enter(), MAINTAIN, START, STOP, LIST, save("one", 1, &[(0, 100, 0.1)])]);
    all.extend([play(1), EXIT]);
    all.into_iter().map(|message| (message.command(), message)).collect()
}

#[track_caller]
pub(crate) fn assert_near(got: f32, wanted: f32, within: f32) {
    assert!((got - wanted).abs() <= within, "{got} is not {wanted} within {within}");
}
