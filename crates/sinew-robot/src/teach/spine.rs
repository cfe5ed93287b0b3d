//! The session as the pump knows it.

use std::{sync::Arc, time::Instant};

use super::{Answer, Event, LinkState, Reduction, RobotRequest, Session, State};
use crate::{
    Order, OrderKind, Origin, Output, RequestId,
    trajectory::{Error, Reduced},
};

impl crate::Session for Session {
    type Request = RobotRequest;
    type Reply = Answer;
    type Event = Event;
    type State = State;
    type Peer = ();
    type Job = Reduction;
    type Done = (RequestId, Result<Reduced, Error>);

    fn connected(&mut self, now: Instant) {
        Session::connected(self, now);
    }

    fn disconnected(&mut self, now: Instant, reason: &str) {
        Session::disconnected(self, now, reason);
    }

    fn troubled(&mut self, now: Instant, reason: &str) {
        Session::troubled(self, now, reason);
    }

    fn handle_input(&mut self, now: Instant, (): (), bytes: &[u8]) {
        Session::handle_input(self, now, bytes);
    }

    fn handle_timeout(&mut self, now: Instant) {
        Session::handle_timeout(self, now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Session::poll_timeout(self)
    }

    fn poll_output(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        self.fetch(room, bytes)
    }

    fn request(&mut self, now: Instant, request: RobotRequest, origin: &Origin) -> RequestId {
        Session::request(self, now, request, &origin.by)
    }

    /// A stop overtakes all but questions and other stops; a takeover what moves the arms; the end
    /// of a client what would repeat for ever.
    fn is_overtaken(request: &RobotRequest, by: OrderKind) -> bool {
        match by {
            OrderKind::Stop | OrderKind::Disable => {
                !request.is_query() && *request != RobotRequest::Stop
            }
            OrderKind::Taken => request.moves(),
            OrderKind::Released => request.repeats(),
        }
    }

    fn order(&mut self, now: Instant, order: &Order) {
        match order.kind {
            OrderKind::Stop | OrderKind::Disable => self.stop_as(now, None, &order.by),
            OrderKind::Taken => self.taken(now, &order.by),
            OrderKind::Released => self.release(now, &order.by),
        }
    }

    fn handle_done(&mut self, now: Instant, (id, result): Self::Done) {
        self.handle_reduced(now, id, result);
    }

    fn close(&mut self, now: Instant, _by: &Arc<str>) {
        Session::close(self, now);
    }

    fn is_closed(&self) -> bool {
        self.state().link == LinkState::Closed
    }

    fn state(&self) -> &State {
        Session::state(self)
    }
}
