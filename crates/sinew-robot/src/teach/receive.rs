use std::time::Instant;

pub(super) use sinew_wire::teach::MAX_ACTIONS;
use sinew_wire::{
    dtls::{Content, Record},
    teach::{Actions, Command, Datagram, Message, Sender, Sequence, Status},
};

use super::{Action, ActionKind, Event, Session, teaching::FORGOTTEN};

/// Encrypted records after which a robot that never sent anything else is called encrypted.
const ENCRYPTED: u64 = 3;

/// What is known about what comes, besides its content.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// The newest answer's number, and the newest status's: a peer that answers with the request's
    /// number + 1, as the documents print it, numbers what it pushes some other way.
    answered: Option<Sequence>,
    pushed: Option<Sequence>,
    encrypted_told: bool,
}

impl Incoming {
    /// Whether the robot was called encrypted, and sent nothing else since.
    pub(super) fn is_encrypted(&self) -> bool {
        self.encrypted_told
    }

    /// Numbers of before mean nothing any more: the robot may have restarted.
    pub(super) fn forget_numbers(&mut self) {
        self.answered = None;
        self.pushed = None;
    }

    /// Whether a number is newer than all before it.
    fn is_new(&mut self, is_pushed: bool, sequence: Sequence) -> bool {
        let newest = if is_pushed { &mut self.pushed } else { &mut self.answered };
        if newest.is_some_and(|newest| !sequence.is_newer_than(newest)) {
            return false;
        }
        *newest = Some(sequence);
        true
    }
}

impl Session {
    /// Takes a datagram apart. What is damaged, of another protocol, old or impossible is counted
    /// and has no other effect.
    pub(super) fn receive(&mut self, now: Instant, bytes: &[u8]) {
        let Ok(datagram) = Datagram::new_checked(bytes) else {
            return self.receive_foreign(bytes);
        };
        let counters = &mut self.state.counters;
        match Message::parse(&datagram, Some(Sender::Robot)) {
            Err(_) => counters.malformed += 1,
            Ok(Message::Unknown { .. }) => counters.unknown += 1,
            Ok(Message::Status(status)) if !is_possible(&status) => counters.malformed += 1,
            Ok(message) => self.receive_message(now, datagram.sequence, message),
        }
    }

    fn receive_foreign(&mut self, bytes: &[u8]) {
        self.state.counters.foreign += 1;
        // A damaged teaching datagram looks like such a record, too; only a robot that never sent
        // a good one is called encrypted.
        let encrypted = Record::split(bytes).is_ok_and(|(record, _)| {
            record.content != Content::ApplicationData || record.epoch > 0
        });
        if !encrypted || self.state.last_seen.is_some() {
            return;
        }
        self.state.counters.encrypted += 1;
        if !self.incoming.encrypted_told && self.state.counters.encrypted >= ENCRYPTED {
            self.incoming.encrypted_told = true;
            self.event(Event::EncryptedPeer);
        }
    }

    fn receive_message(&mut self, now: Instant, sequence: Sequence, message: Message<'_>) {
        let silent = |seen| now.saturating_duration_since(seen) >= FORGOTTEN;
        if self.state.last_seen.is_none_or(silent) {
            self.incoming.forget_numbers();
        }
        if !self.incoming.is_new(matches!(message, Message::Status(_)), sequence) {
            self.state.counters.stale += 1;
            return;
        }
        self.state.counters.received += 1;
        self.incoming.encrypted_told = false;
        self.heard(now);
        match message {
            Message::Status(status) => {
                self.receive_status(now, &status);
                // A peer may push instead of answering.
                self.cycle_answered(now, Command::Subscribe, 0);
            }
            Message::List(actions) => {
                let (listed, unlisted) = listed(&actions);
                self.list_answered(now, sequence, listed, unlisted);
            }
            Message::Answer { command: Command::List, status: 0, .. } => {
                self.list_answered(now, sequence, Vec::new(), 0);
            }
            Message::Answer { command, status, .. } => {
                self.answered(now, sequence, command, status);
            }
            _ => self.state.counters.unasked += 1,
        }
    }

    fn answered(&mut self, now: Instant, number: Sequence, command: Command, status: u32) {
        let asked = self.cycle_answered(now, command, status)
            || self.ending_answered(now, number, command, status)
            || self.request_answered(now, number, command, status)
            || self.maintenance_answered(now, number, command, status);
        self.state.counters.unasked += u64::from(!asked);
    }
}

/// Whether all joints are somewhere.
fn is_possible(status: &Status<'_>) -> bool {
    status.positions.iter().chain(&status.velocities).all(|value| value.is_finite())
}

/// The actions of a list: an action's number is its place, from 1, and the documents know none but
/// taught ones. What the four bytes behind a name mean, they do not say.
fn listed(actions: &Actions<'_>) -> (Vec<Action>, usize) {
    let named = actions.iter().zip(1..=MAX_ACTIONS).map(|(action, id)| {
        let field = action.name.as_field();
        let text = field.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(text).into_owned();
        Action { id, name, kind: ActionKind::Taught, duration_ms: None }
    });
    let named: Vec<_> = named.collect();
    let unlisted = actions.len() - named.len();
    (named, unlisted)
}
