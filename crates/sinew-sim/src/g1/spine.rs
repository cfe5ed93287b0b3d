//! The robot as a pump knows it: what is asked of it is a hand that moves its arms.

use std::{sync::Arc, time::Instant};

use sinew_robot::{Order, OrderKind, Origin, Output as Wanted, RequestId, Session};

use super::{Output, Peer, Robot, StoredAction};

/// A hand moves one joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// The joint, by its slot.
    pub slot: usize,
    /// Where to, rad; only as far as the joint goes, and only if the arms are soft.
    pub target: f32,
}

/// Actions that are to be stored.
#[derive(Debug)]
pub struct Store {
    /// Names it.
    pub id: u64,
    /// All that is to be stored.
    pub actions: Vec<StoredAction>,
}

/// What became of a [`Store`].
#[derive(Debug, Clone, Copy)]
pub struct Stored {
    /// Which.
    pub id: u64,
    /// Whether the actions are kept.
    pub ok: bool,
}

impl Session for Robot {
    type Request = Touch;
    type Reply = ();
    type Event = ();
    type State = ();
    type Peer = Peer;
    type Job = Store;
    type Done = Stored;

    fn connected(&mut self, _now: Instant) {}

    fn disconnected(&mut self, _now: Instant, _reason: &str) {}

    fn handle_input(&mut self, now: Instant, from: Peer, bytes: &[u8]) {
        match from {
            Peer::Datagram(from) => self.handle_datagram(now, from, bytes),
            Peer::Channel(channel) => self.handle_channel(now, channel, bytes),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.restart_when_due(now);
        if Robot::poll_timeout(self) <= now {
            Robot::handle_timeout(self, now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = Robot::poll_timeout(self);
        Some(self.restart_at().map_or(due, |at| at.min(due)))
    }

    fn poll_output(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Wanted<Self>> {
        if let Some(id) = self.touched.pop() {
            return Some(Wanted::Reply(id, Ok(())));
        }
        Some(match Robot::poll_output(self) {
            Some(Output::Send { to, bytes: datagram }) => {
                bytes.extend_from_slice(&datagram);
                Wanted::Transmit(Peer::Datagram(to))
            }
            Some(Output::Store { id, actions }) => Wanted::Job(Store { id, actions }),
            None => Wanted::Transmit(Peer::Channel(self.poll_channel(room, bytes)?)),
        })
    }

    fn request(&mut self, _now: Instant, touch: Touch, _origin: &Origin) -> RequestId {
        self.move_arm(touch.slot, touch.target);
        self.touched.push(0);
        0
    }

    fn is_overtaken(_touch: &Touch, _by: OrderKind) -> bool {
        false
    }

    fn order(&mut self, _now: Instant, _order: &Order) {}

    fn handle_done(&mut self, now: Instant, done: Stored) {
        self.stored(now, done.id, done.ok);
    }

    fn close(&mut self, _now: Instant, _by: &Arc<str>) {}

    fn is_closed(&self) -> bool {
        true
    }

    fn state(&self) -> &() {
        &()
    }
}
