//! The robot as a pump knows it: what is asked of it is a hand that moves its arms.

use std::{sync::Arc, time::Instant};

use sinew_robot::{Order, OrderKind, Origin, Output as Wanted, RequestId, Session};

use super::{Mode, Output, Peer, Place, Pose, Robot, StoredAction, Walking, unitree::Unitree};

/// A hand moves one joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// The joint, by its slot.
    pub slot: usize,
    /// Where to, rad; only as far as the joint goes, and only if the arms are soft.
    pub target: f32,
}

/// What a robot's body does, for those who look at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Body {
    /// What the arms do.
    pub mode: Mode,
    /// Where they are, in rad.
    pub joints: Pose,
    /// What the legs do.
    pub walking: Walking,
    /// Where the robot is in its building.
    pub place: Place,
    /// Whether a map is being made.
    pub is_mapping: bool,
    /// The state of the motion control.
    pub fsm_id: i64,
    /// Data channels that are open.
    pub channels: usize,
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

impl Body {
    /// One that was just switched on.
    pub(super) fn new(joints: Pose, unitree: &Unitree) -> Self {
        let (place, fsm_id) = unitree.standing();
        let (mode, walking) = (Mode::Idle, Walking::No);
        Body { mode, joints, walking, place, is_mapping: false, fsm_id, channels: 0 }
    }
}

impl Robot {
    /// What the body does, as of the latest call.
    pub fn body(&self) -> Body {
        Body {
            mode: self.mode(),
            joints: self.joints(),
            walking: self.walking(),
            place: self.place(),
            is_mapping: self.is_mapping(),
            fsm_id: self.fsm_id(),
            channels: self.channels(),
        }
    }
}

impl Session for Robot {
    type Request = Touch;
    type Reply = ();
    type Event = ();
    type State = Body;
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
        self.seen = self.body();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.restart_when_due(now);
        if Robot::poll_timeout(self) <= now {
            Robot::handle_timeout(self, now);
        }
        self.seen = self.body();
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
        self.seen = self.body();
    }

    fn close(&mut self, _now: Instant, _by: &Arc<str>) {}

    fn is_closed(&self) -> bool {
        true
    }

    fn state(&self) -> &Body {
        &self.seen
    }
}
