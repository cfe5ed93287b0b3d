//! A lamp on a serial line, which speaks lines of text.
//!
//! It is asked `hello`, `level 40`, `stop` and `bye`, answers `level` and `stop` with `done` and the
//! level that it has, and says `state 40 215` by itself: its level and tenths of a degree.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_robot::{Code, NoJob, Order, OrderKind, Origin, Output, Refusal, RequestId, Session};

use crate::reach::Reach;

/// How long the lamp may be silent.
const SILENCE: Duration = Duration::from_secs(10);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);
/// No line is longer.
const LONGEST: usize = 256;

/// The host's side of the lamp.
pub(crate) struct Lamp {
    max_level: u8,
    state: State,
    lines: Lines,
    frames: VecDeque<String>,
    notices: VecDeque<Output<Lamp>>,
    /// Levels that were asked for; the first is under way.
    asked: VecDeque<(RequestId, u8)>,
    /// When the first is given up.
    due: Option<Instant>,
    last: RequestId,
}

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) reach: Reach,
    pub(crate) level: u8,
    pub(crate) decidegrees: i16,
    pub(crate) stopped_by: Option<Arc<str>>,
    pub(crate) last_seen: Option<Instant>,
}

pub(crate) enum Event {
    Reach(Reach),
    State { level: u8, decidegrees: i16 },
}

/// Lines of a stream that comes in any split.
#[derive(Default)]
pub(crate) struct Lines(Vec<u8>);

impl Lines {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        self.0.extend_from_slice(bytes);
        let end = self.0.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let whole: Vec<u8> = self.0.drain(..end).collect();
        self.0.truncate(LONGEST);
        String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect()
    }
}

impl Lamp {
    pub(crate) fn new(max_level: u8) -> Self {
        let state = State {
            reach: Reach::Opening,
            level: 0,
            decidegrees: 0,
            stopped_by: None,
            last_seen: None,
        };
        Lamp {
            max_level,
            state,
            lines: Lines::default(),
            frames: VecDeque::new(),
            notices: VecDeque::new(),
            asked: VecDeque::new(),
            due: None,
            last: 0,
        }
    }

    fn set_reach(&mut self, reach: Reach) {
        if self.state.reach != reach {
            self.state.reach = reach.clone();
            self.notices.push_back(Output::Event(Event::Reach(reach)));
        }
    }

    fn heard(&mut self, now: Instant, line: &str) {
        self.state.last_seen = Some(now);
        self.set_reach(Reach::Ready);
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["state", level, decidegrees] => {
                let (Ok(level), Ok(decidegrees)) = (level.parse(), decidegrees.parse()) else {
                    return;
                };
                (self.state.level, self.state.decidegrees) = (level, decidegrees);
                self.notices.push_back(Output::Event(Event::State { level, decidegrees }));
            }
            ["done", level] => {
                let Ok(level) = level.parse() else { return };
                self.state.level = level;
                if self.due.is_some_and(|_| self.asked.front().is_some_and(|(_, l)| *l == level)) {
                    self.end_first(Ok(()));
                }
            }
            _ => {}
        }
        self.begin_next(now);
    }

    fn begin_next(&mut self, now: Instant) {
        if let (None, Some((_, level))) = (self.due, self.asked.front()) {
            self.frames.push_back(format!("level {level}\n"));
            self.due = Some(now + ANSWER);
        }
    }

    fn end_first(&mut self, outcome: Result<(), Refusal>) {
        self.due = None;
        if let Some((id, _)) = self.asked.pop_front() {
            self.notices.push_back(Output::Reply(id, outcome));
        }
    }

    fn end_all(&mut self, code: Code, why: &str) {
        while !self.asked.is_empty() {
            self.end_first(Err(Refusal::new(code, why)));
        }
    }

    fn check(&self, level: u8) -> Result<(), Refusal> {
        if let Reach::Down { reason } = &self.state.reach {
            return Err(Refusal::new(Code::LinkLost, &**reason));
        }
        if level > self.max_level {
            let message = format!("lamp: wanted at most {} %, got {level}", self.max_level);
            return Err(Refusal::new(Code::InvalidArgument, message));
        }
        Ok(())
    }
}

impl Session for Lamp {
    type Request = u8;
    type Reply = ();
    type Event = Event;
    type State = State;
    type Peer = ();
    type Job = NoJob;
    type Done = NoJob;

    fn connected(&mut self, now: Instant) {
        self.set_reach(Reach::Opening);
        self.state.last_seen = Some(now);
        self.frames.push_back("hello\n".into());
    }

    fn disconnected(&mut self, _now: Instant, reason: &str) {
        self.frames.clear();
        self.end_all(Code::LinkLost, reason);
        self.set_reach(Reach::Down { reason: reason.into() });
    }

    fn handle_input(&mut self, now: Instant, (): (), bytes: &[u8]) {
        for line in self.lines.push(bytes) {
            self.heard(now, &line);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.due.is_some_and(|due| now >= due) {
            self.end_first(Err(Refusal::new(Code::Unconfirmed, "the lamp did not answer")));
            self.begin_next(now);
        }
        if self.state.last_seen.is_some_and(|seen| now >= seen + SILENCE) {
            self.set_reach(Reach::Down { reason: "the lamp is silent".into() });
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let silent = self.state.last_seen.filter(|_| self.state.reach == Reach::Ready);
        [self.due, silent.map(|seen| seen + SILENCE)].into_iter().flatten().min()
    }

    fn poll_output(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        if room && let Some(frame) = self.frames.pop_front() {
            bytes.extend_from_slice(frame.as_bytes());
            return Some(Output::Transmit(()));
        }
        self.notices.pop_front()
    }

    fn request(&mut self, now: Instant, level: u8, _origin: &Origin) -> RequestId {
        self.last += 1;
        match self.check(level) {
            Ok(()) => {
                self.state.stopped_by = None;
                self.asked.push_back((self.last, level));
                self.begin_next(now);
            }
            Err(refusal) => self.notices.push_back(Output::Reply(self.last, Err(refusal))),
        }
        self.last
    }

    /// A lamp stays as it is when its client has gone.
    fn is_overtaken(_level: &u8, by: OrderKind) -> bool {
        by != OrderKind::Released
    }

    fn order(&mut self, _now: Instant, order: &Order) {
        match order.kind {
            OrderKind::Stop | OrderKind::Disable => {
                self.end_all(Code::NotReady, &format!("{} stopped the lamp", order.by));
                self.frames.clear();
                self.frames.push_back("stop\n".into());
                self.state.stopped_by = Some(Arc::clone(&order.by));
            }
            OrderKind::Taken => {
                self.end_all(Code::NotReady, &format!("{} took the controls", order.by));
            }
            OrderKind::Released => {}
        }
    }

    fn close(&mut self, _now: Instant, _by: &Arc<str>) {
        self.frames.push_back("bye\n".into());
    }

    fn is_closed(&self) -> bool {
        self.frames.is_empty()
    }

    fn state(&self) -> &State {
        &self.state
    }
}
