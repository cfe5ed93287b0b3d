//! The session as the pump knows it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Command, Event, Output as Wanted, Session, State};
use crate::{NoJob, Order, OrderKind, Origin, Output, Refusal, RequestId};

/// Commands whose outcome was not fetched, at most: the pump fetches it after each.
const OUTCOMES: usize = 16;

/// How commands ended that the caller has not been told of.
#[derive(Debug)]
pub(super) struct Outcomes {
    last: RequestId,
    ended: Vec<(RequestId, Result<(), Refusal>)>,
}

impl Default for Outcomes {
    fn default() -> Self {
        Outcomes { last: 0, ended: Vec::with_capacity(OUTCOMES) }
    }
}

impl crate::Session for Session {
    type Request = Command;
    type Reply = ();
    type Event = Event;
    type State = State;
    type Peer = ();
    type Job = NoJob;
    type Done = NoJob;

    fn connected(&mut self, now: Instant) {
        Session::connected(self, now);
    }

    fn disconnected(&mut self, now: Instant, reason: &str) {
        self.lose_port(now, Some(reason));
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
        if let Some((id, outcome)) = self.outcomes.ended.pop() {
            return Some(Output::Reply(id, outcome));
        }
        let wanted = match room {
            true => Session::poll_output(self),
            false => self.poll_event().map(Wanted::Event),
        };
        Some(match wanted? {
            Wanted::Transmit(frame) => {
                bytes.extend_from_slice(frame.as_bytes());
                Output::Transmit(())
            }
            Wanted::Event(event) => Output::Event(event),
        })
    }

    fn request(&mut self, now: Instant, command: Command, origin: &Origin) -> RequestId {
        let outcome = self.execute_received(now, origin.received, command, &origin.by);
        self.outcomes.last += 1;
        self.outcomes.ended.push((self.outcomes.last, outcome));
        self.outcomes.last
    }

    fn is_overtaken(command: &Command, by: OrderKind) -> bool {
        by == OrderKind::Stop || command.is_driving()
    }

    fn order(&mut self, now: Instant, order: &Order) {
        // Neither stop can be refused.
        match order.kind {
            OrderKind::Stop => drop(self.execute(now, Command::DriveReset, &order.by)),
            OrderKind::Disable => drop(self.execute(now, Command::DriveDisable, &order.by)),
            OrderKind::Taken => self.taken(now, &order.by),
            OrderKind::Released => self.release(now, &order.by),
        }
    }

    fn longest_pause(&self) -> Option<Duration> {
        Some(self.settings.deadman)
    }

    fn paused(&mut self, now: Instant, late: Duration) {
        Session::paused(self, now, late);
    }

    fn close(&mut self, now: Instant, by: &Arc<str>) {
        let _ = self.execute(now, Command::DriveReset, by);
    }

    fn is_closed(&self) -> bool {
        !self.is_stopping()
    }

    fn state(&self) -> &State {
        Session::state(self)
    }
}
