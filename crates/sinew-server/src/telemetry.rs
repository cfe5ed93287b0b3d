use std::sync::Arc;

use tokio::{sync::Notify, time::Instant};

use crate::{
    frame::Framing,
    hub::Hub,
    ring::{Cursor, Form, Ring},
};

/// What one write to a subscriber takes at most.
const ROOM: usize = 64 << 10;

/// A client's subscriptions, and when it is its turn to get what is new.
#[derive(Debug)]
pub(crate) struct Telemetry {
    hub: Arc<Hub>,
    client: u64,
    cursors: Vec<Cursor>,
    pub(crate) notify: Arc<Notify>,
    /// When to look at the rings.
    pub(crate) turn: Option<Instant>,
    /// Bytes of the last turn, to have room for the next.
    usual: usize,
}

impl Telemetry {
    pub(crate) fn new(hub: Arc<Hub>, client: u64) -> Self {
        Telemetry { hub, client, cursors: Vec::new(), notify: Arc::default(), turn: None, usual: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cursors.is_empty()
    }

    /// Subscribes, or changes the rate of what was subscribed.
    pub(crate) fn add(&mut self, ring: &Arc<Ring>, form: Form, max_hz: Option<f64>) {
        if let Some(cursor) = self.cursors.iter_mut().find(|cursor| cursor.reads(ring)) {
            cursor.set_max_hz(max_hz);
        } else {
            if self.cursors.is_empty() {
                self.hub.metrics.subscriber_came();
            }
            self.cursors.push(Cursor::new(ring, form, max_hz, &self.notify));
        }
        self.turn = Some(Instant::now());
    }

    pub(crate) fn reads(&self, ring: &Arc<Ring>) -> bool {
        self.cursors.iter().any(|cursor| cursor.reads(ring))
    }

    /// The client has taken a frame: the next one is looked for.
    pub(crate) fn acknowledge(&mut self, ring: &Arc<Ring>, sequence: u64) {
        if let Some(cursor) = self.cursors.iter_mut().find(|cursor| cursor.reads(ring)) {
            cursor.acknowledge(sequence);
            self.woken();
        }
    }

    /// Ends the subscriptions to what does not come any more.
    #[cfg(feature = "relay")]
    pub(crate) fn drop_ended(&mut self) {
        let had_any = !self.cursors.is_empty();
        self.cursors.retain(|cursor| !cursor.is_over());
        if had_any && self.cursors.is_empty() {
            self.hub.metrics.subscriber_left();
            self.turn = None;
        }
    }

    /// Ends all subscriptions.
    pub(crate) fn clear(&mut self) {
        if !self.cursors.is_empty() {
            self.hub.metrics.subscriber_left();
        }
        self.cursors = Vec::new();
        self.turn = None;
    }

    /// There is something new: looks at it when the client's turn comes.
    pub(crate) fn woken(&mut self) {
        let turn = self.hub.turn(self.client, Instant::now());
        self.turn = Some(self.turn.map_or(turn, |held| held.min(turn)));
    }

    /// Takes what is new. `tell_lost` writes how much was lost.
    pub(crate) fn take(
        &mut self,
        framing: Framing,
        out: &mut Vec<u8>,
        tell_lost: impl Fn(u64, &mut Vec<u8>),
    ) {
        let now = Instant::now();
        let (mut more, mut held_until) = (false, None::<Instant>);
        out.reserve(self.usual);
        let mut waits = true;
        for cursor in &mut self.cursors {
            let drained = cursor.drain(now.into_std(), framing, out, ROOM, &tell_lost);
            self.hub.metrics.count_lost(drained.lost);
            more |= drained.more;
            let held = drained.held_until.map(Instant::from_std);
            held_until = held_until.into_iter().chain(held).min();
            waits &= cursor.wait(held.is_some());
        }
        self.usual = out.len().min(ROOM);
        self.turn = if more {
            // The next one's messages must not wait for ever behind those of the first.
            self.cursors.rotate_left(1);
            Some(now)
        } else if waits && out.is_empty() {
            held_until
        } else {
            // More comes soon: waiting for the next turn is cheaper than being woken for it.
            Some(self.hub.turn(self.client, now))
        };
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.clear();
    }
}
