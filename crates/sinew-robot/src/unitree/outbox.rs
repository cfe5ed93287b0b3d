//! What waits to be fetched.

use std::{collections::VecDeque, sync::Arc};

use sinew_wire::unitree::Form;

use super::{Event, Reply, Session};
use crate::{Output, Refusal, RequestId};

/// Messages that may wait before those that repeat themselves are left out.
const ENOUGH: usize = 64;
/// Events and replies kept for a caller that does not fetch them.
const MAX_NOTICES: usize = 512;

/// What waits to be fetched: stops first, then the other messages, then what the caller is to know.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    urgent: VecDeque<Message>,
    messages: VecDeque<Message>,
    notices: VecDeque<Notice>,
    /// The channel is of no use any more.
    reconnect: Option<Arc<str>>,
}

/// A message that waits.
struct Message {
    sort: Sort,
    text: String,
}

/// Never the text: an answer to a challenge is not to be shown.
impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of {} bytes", self.sort, self.text.len())
    }
}

/// What a message is, as far as it matters to one that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// The answer to a challenge; the newest counts.
    Validation,
    /// Comes again by itself.
    Periodic,
    /// Keeps a recording going.
    KeepAlive,
    /// Sets the robot in motion.
    Motion,
    /// Anything else.
    Plain,
}

/// What a caller is to know.
#[derive(Debug)]
enum Notice {
    Event(Event),
    Reply(RequestId, Result<Reply, Refusal>),
}

impl Outbox {
    /// Nothing that waits is sent any more.
    pub(super) fn clear_messages(&mut self) {
        self.urgent.clear();
        self.messages.clear();
    }

    pub(super) fn drop_sort(&mut self, sort: Sort) {
        self.messages.retain(|message| message.sort != sort);
    }

    pub(super) fn is_reconnecting(&self) -> bool {
        self.reconnect.is_some()
    }

    pub(super) fn has_urgent(&self) -> bool {
        !self.urgent.is_empty()
    }
}

impl Session {
    /// The next thing to do. The bytes of a message are appended to `bytes`; without `room` none is
    /// given out.
    pub(super) fn fetch(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        if let Some(reason) = self.outbox.reconnect.take() {
            return Some(Output::Reconnect(reason));
        }
        if room {
            let outbox = &mut self.outbox;
            let message = outbox.urgent.pop_front().or_else(|| outbox.messages.pop_front());
            if let Some(message) = message {
                bytes.extend_from_slice(message.text.as_bytes());
                self.state.counters.sent += 1;
                return Some(Output::Transmit(Form::Text));
            }
        }
        Some(match self.outbox.notices.pop_front()? {
            Notice::Event(event) => Output::Event(event),
            Notice::Reply(id, outcome) => Output::Reply(id, outcome),
        })
    }

    /// Sends a message after those that wait.
    pub(super) fn send(&mut self, sort: Sort, text: String) {
        if !self.is_open() {
            return;
        }
        let messages = &mut self.outbox.messages;
        if matches!(sort, Sort::Validation | Sort::KeepAlive) {
            messages.retain(|message| message.sort != sort);
        }
        if sort == Sort::Periodic && messages.len() >= ENOUGH {
            self.state.counters.dropped += 1;
            return;
        }
        messages.push_back(Message { sort, text });
    }

    /// Sends a stop before everything else.
    pub(super) fn send_urgently(&mut self, text: String) {
        if self.is_open() {
            self.outbox.urgent.push_back(Message { sort: Sort::Plain, text });
        }
    }

    /// Gives the channel up.
    pub(super) fn reconnect(&mut self, reason: &str) {
        if self.outbox.reconnect.is_none() {
            self.state.counters.reconnects += 1;
            self.outbox.clear_messages();
            self.outbox.reconnect = Some(reason.into());
        }
    }

    pub(super) fn event(&mut self, event: Event) {
        self.notice(Notice::Event(event));
    }

    pub(super) fn done(&mut self, id: RequestId, outcome: Result<impl Into<Reply>, Refusal>) {
        self.notice(Notice::Reply(id, outcome.map(Into::into)));
    }

    pub(super) fn refuse(&mut self, id: RequestId, refusal: Refusal) {
        self.notice(Notice::Reply(id, Err(refusal)));
    }

    fn notice(&mut self, notice: Notice) {
        let notices = &mut self.outbox.notices;
        if notices.len() >= MAX_NOTICES {
            // What comes again is the least loss; a reply is the greatest.
            let streams = |notice: &Notice| {
                use Event::{Cloud, Joints, Odometry};
                matches!(notice, Notice::Event(Cloud { .. } | Joints { .. } | Odometry { .. }))
            };
            let is_event = |notice: &Notice| matches!(notice, Notice::Event(_));
            let streamed = notices.iter().position(streams);
            notices.remove(streamed.or_else(|| notices.iter().position(is_event)).unwrap_or(0));
            self.state.counters.events_lost += 1;
        }
        notices.push_back(notice);
    }
}
