//! The session as the pump knows it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_wire::unitree::Form;

use super::{Event, LinkState, Reply, Request, Session, State};
use crate::{NoJob, Order, OrderKind, Origin, Output, RequestId};

/// How long a walk may go unwatched.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl crate::Session for Session {
    type Request = Request;
    type Reply = Reply;
    type Event = Event;
    type State = State;
    type Peer = Form;
    type Job = NoJob;
    type Done = NoJob;

    fn connected(&mut self, now: Instant) {
        self.opened(now);
        self.advance(now);
    }

    fn disconnected(&mut self, now: Instant, reason: &str) {
        self.lost(now, reason);
        self.advance(now);
    }

    fn troubled(&mut self, now: Instant, reason: &str) {
        self.show_trouble(now, reason);
    }

    fn handle_input(&mut self, now: Instant, from: Form, bytes: &[u8]) {
        if self.is_open() {
            self.receive(now, from, bytes);
            self.advance(now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due()
    }

    fn poll_output(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        self.fetch(room, bytes)
    }

    fn request(&mut self, now: Instant, request: Request, origin: &Origin) -> RequestId {
        self.ask(now, request, origin)
    }

    /// A stop overtakes all but questions and what stops, too; a takeover what moves the robot; the
    /// end of a client what would go on without it.
    fn is_overtaken(request: &Request, by: OrderKind) -> bool {
        match by {
            OrderKind::Stop | OrderKind::Disable => !request.is_query() && !request.is_stop(),
            OrderKind::Taken => request.moves(),
            OrderKind::Released => request.lasts(),
        }
    }

    fn order(&mut self, now: Instant, order: &Order) {
        match order.kind {
            OrderKind::Stop | OrderKind::Disable => self.stop(now, None, &order.by),
            OrderKind::Taken => self.taken(now, order),
            OrderKind::Released => self.released(now, order),
        }
        self.advance(now);
    }

    /// A robot that walks is watched: a computer that slept does not.
    fn longest_pause(&self) -> Option<Duration> {
        self.walking.may_walk().then_some(LONGEST_PAUSE)
    }

    fn paused(&mut self, now: Instant, late: Duration) {
        if self.walking.may_walk() && !self.state.link.is_ending() {
            let why = format!("this computer did not run for {:.1} s", late.as_secs_f64());
            self.end_walk(now, &why);
        }
    }

    fn close(&mut self, now: Instant, by: &Arc<str>) {
        self.begin_closing(now, by);
        self.advance(now);
    }

    fn is_closed(&self) -> bool {
        self.state.link == LinkState::Closed
    }

    fn state(&self) -> &State {
        &self.state
    }
}
