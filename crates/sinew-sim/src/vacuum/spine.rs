//! The controller as a pump knows it: a session without requests and events.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_robot::{NoJob, Order, OrderKind, Origin, Output, RequestId, Session};

use super::{Controller, PULSE_GAP};

impl Session for Controller {
    type Request = NoJob;
    type Reply = ();
    type Event = ();
    type State = ();
    type Peer = ();
    type Job = NoJob;
    type Done = NoJob;

    fn connected(&mut self, _now: Instant) {}

    fn disconnected(&mut self, _now: Instant, _reason: &str) {}

    fn handle_input(&mut self, now: Instant, (): (), bytes: &[u8]) {
        Controller::handle_input(self, now, bytes);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if Controller::poll_timeout(self) <= now {
            Controller::handle_timeout(self, now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(Controller::poll_timeout(self))
    }

    fn poll_output(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        let frame = self.poll_transmit().filter(|_| room)?;
        bytes.extend_from_slice(frame.as_bytes());
        Some(Output::Transmit(()))
    }

    fn request(&mut self, _now: Instant, request: NoJob, _origin: &Origin) -> RequestId {
        match request {}
    }

    fn is_overtaken(request: &NoJob, _by: OrderKind) -> bool {
        match *request {}
    }

    fn order(&mut self, _now: Instant, _order: &Order) {}

    /// A controller has a processor to itself: on a busy computer this one has not, and must not take
    /// that for a host that pauses in the handshake.
    fn longest_pause(&self) -> Option<Duration> {
        Some(PULSE_GAP / 4)
    }

    fn paused(&mut self, _now: Instant, late: Duration) {
        self.excuse(late);
    }

    fn close(&mut self, _now: Instant, _by: &Arc<str>) {}

    fn is_closed(&self) -> bool {
        true
    }

    fn state(&self) -> &() {
        &()
    }
}
