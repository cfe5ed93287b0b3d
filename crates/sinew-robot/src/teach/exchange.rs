use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use sinew_wire::teach::{Command, Message, Sequence};

use super::{Answer, Event, Reduction, RequestId, Session};
use crate::{Output, Refusal, later};

/// Datagrams kept for a caller that does not fetch them.
const MAX_DATAGRAMS: usize = 32;
/// Sent datagrams that are remembered, to know a late answer by its number.
const MAX_REMEMBERED: usize = 256;
/// Events and replies kept for one.
const MAX_NOTICES: usize = 512;
/// No datagram of the session's is larger.
const LARGEST: usize = 1024;

/// What waits to be fetched: datagrams first, then what the caller is to know. A datagram gets its number when it is
/// fetched, so that one that is dropped leaves no gap.
#[derive(Debug)]
pub(super) struct Outbox {
    datagrams: VecDeque<Message<'static>>,
    notices: VecDeque<Notice>,
    /// A recording that is to be reduced for a request.
    work: Option<Reduction>,
    sequence: Sequence,
    /// What was sent latest, by command and number.
    sent: VecDeque<(Command, Sequence)>,
}

/// What a caller is to know.
#[derive(Debug)]
enum Notice {
    Event(Event),
    Reply(RequestId, Result<Answer, Refusal>),
}

/// A message that was sent and is sent again, with a new number, until it is answered.
#[derive(Debug)]
pub(super) struct Exchange {
    message: Message<'static>,
    tries_left: u32,
    retry: Duration,
    /// No datagram of it has a number before this one.
    first: Sequence,
    pub(super) due: Instant,
}

/// What the time brought to an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    Still,
    Again,
    Enough,
}

impl Exchange {
    pub(super) fn command(&self) -> Command {
        self.message.command()
    }
}

/// With room from the beginning, so that nothing is allocated while it runs.
impl Default for Outbox {
    fn default() -> Self {
        Outbox {
            datagrams: VecDeque::with_capacity(MAX_DATAGRAMS),
            notices: VecDeque::with_capacity(MAX_DATAGRAMS),
            work: None,
            sequence: Sequence::default(),
            sent: VecDeque::with_capacity(MAX_REMEMBERED),
        }
    }
}

impl Outbox {
    /// Has a recording reduced.
    pub(super) fn reduce(&mut self, work: Reduction) {
        self.work = Some(work);
    }
}

impl Session {
    /// The next thing to do. The bytes of a datagram are appended to `bytes`; without `room` none
    /// is given out.
    pub(super) fn fetch(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        while room && let Some(message) = self.outbox.datagrams.pop_front() {
            let mut datagram = [0; LARGEST];
            // None of the session's messages has content that a layout cannot carry.
            let written = message.emit(self.settings.layout, self.outbox.sequence, &mut datagram);
            let Some(datagram) = written.ok().and_then(|length| datagram.get(..length)) else {
                continue;
            };
            bytes.extend_from_slice(datagram);
            if self.outbox.sent.len() >= MAX_REMEMBERED {
                self.outbox.sent.pop_front();
            }
            self.outbox.sent.push_back((message.command(), self.outbox.sequence));
            self.outbox.sequence = self.outbox.sequence.next();
            self.state.counters.sent += 1;
            return Some(Output::Transmit(()));
        }
        if let Some(work) = self.outbox.work.take() {
            return Some(Output::Job(work));
        }
        Some(match self.outbox.notices.pop_front()? {
            Notice::Event(event) => Output::Event(event),
            Notice::Reply(id, outcome) => Output::Reply(id, outcome),
        })
    }

    pub(super) fn event(&mut self, event: Event) {
        self.notice(Notice::Event(event));
    }

    pub(super) fn done(&mut self, id: RequestId, outcome: Result<Answer, Refusal>) {
        self.notice(Notice::Reply(id, outcome));
    }

    fn notice(&mut self, notice: Notice) {
        let notices = &mut self.outbox.notices;
        if notices.len() >= MAX_NOTICES {
            // A pose is the least loss, since the next one replaces it; a reply is the greatest.
            let is_pose = |notice: &Notice| matches!(notice, Notice::Event(Event::Status { .. }));
            let is_event = |notice: &Notice| matches!(notice, Notice::Event(_));
            let pose = notices.iter().position(is_pose);
            notices.remove(pose.or_else(|| notices.iter().position(is_event)).unwrap_or(0));
            self.state.counters.events_lost += 1;
        }
        notices.push_back(notice);
    }

    /// Sends a message, unless the caller has not even fetched the same one sent before.
    pub(super) fn send(&mut self, message: Message<'static>) {
        let datagrams = &mut self.outbox.datagrams;
        if datagrams.len() < MAX_DATAGRAMS && !datagrams.contains(&message) {
            datagrams.push_back(message);
        }
    }

    pub(super) fn send_maintenance(&mut self) {
        self.send(Message::Maintain { mode_flags: 1, rest: &[] });
    }

    /// Sends a message instead of everything that waits to be fetched.
    pub(super) fn send_alone(&mut self, message: Message<'static>) {
        self.outbox.datagrams.clear();
        self.outbox.datagrams.push_back(message);
    }

    pub(super) fn exchange(&mut self, now: Instant, message: Message<'static>) -> Exchange {
        self.send(message);
        let retry = self.settings.retry;
        self.sent(now, message, self.settings.tries, retry)
    }

    /// An exchange whose message is on its way.
    pub(super) fn sent(
        &self,
        now: Instant,
        message: Message<'static>,
        tries: u32,
        retry: Duration,
    ) -> Exchange {
        let tries_left = tries.saturating_sub(1);
        let first = self.outbox.sequence;
        Exchange { message, tries_left, retry, first, due: later(now, retry) }
    }

    /// Whether an answer is to an exchange: by its command, since a peer may number its answers as
    /// it likes, unless its number says that it is a late one to an earlier exchange of the same
    /// command. Otherwise what the robot said to one save would count for the next.
    pub(super) fn is_to(&self, exchange: &Exchange, command: Command, number: Sequence) -> bool {
        let asked = Sequence(number.0.wrapping_sub(1));
        let earlier = exchange.first.is_newer_than(asked);
        exchange.command() == command && !(earlier && self.outbox.sent.contains(&(command, asked)))
    }

    /// Sends the message again when it is time to.
    pub(super) fn wait(&mut self, now: Instant, exchange: &mut Exchange) -> Waited {
        if now < exchange.due {
            return Waited::Still;
        }
        let Some(left) = exchange.tries_left.checked_sub(1) else { return Waited::Enough };
        exchange.tries_left = left;
        exchange.due = later(now, exchange.retry);
        self.state.counters.retries += 1;
        self.send(exchange.message);
        Waited::Again
    }
}
