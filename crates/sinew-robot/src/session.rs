//! What every session is, so that one pump can run any of them.

use std::{fmt::Debug, sync::Arc, time::Duration, time::Instant};

use crate::{Order, OrderKind, Origin, Refusal};

/// Names a request in the reply to it.
pub type RequestId = u64;

/// A state machine at one end of a link, without I/O and without a clock.
///
/// After every call fetch [`poll_output`](Self::poll_output) until it gives none, and call
/// [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) says. When
/// input and time are both due, hand the input in first: a caller that slept must not take its own
/// sleep for silence of the peer.
pub trait Session: Send + 'static {
    /// What may be asked of it.
    type Request: Debug + Send;
    /// What a request gives when it is carried out.
    type Reply: Send;
    /// What it tells.
    type Event: Send;
    /// What is known about the robot. Cloning it must not allocate while nothing changes but
    /// numbers: it is shown after every turn of a thread that has to hold its time.
    type State: Clone + Send;
    /// The other ends of its link: `()` where there is only one.
    type Peer: Copy + Send;
    /// Work that would take its thread too long.
    type Job: Send + 'static;
    /// What became of such work.
    type Done: Send + 'static;

    /// The link is open, or open again.
    fn connected(&mut self, now: Instant);

    /// The link is not open; `reason` is the system's own words.
    fn disconnected(&mut self, now: Instant, reason: &str);

    /// Something went wrong with a link that stays open, as when no program listens at the other
    /// end of a datagram link.
    fn troubled(&mut self, _now: Instant, _reason: &str) {}

    /// Takes bytes, or a datagram.
    fn handle_input(&mut self, now: Instant, from: Self::Peer, bytes: &[u8]);

    /// Does what has become due.
    fn handle_timeout(&mut self, now: Instant);

    /// When to call [`handle_timeout`](Self::handle_timeout) if nothing happens before.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The next thing to do. Bytes of an [`Output::Transmit`] are appended to `bytes`. Without
    /// `room` nothing is given to transmit: with the session a newer frame replaces an older one,
    /// and a stop overtakes both.
    fn poll_output(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Output<Self>>;

    /// Asks for something; the reply comes as [`Output::Reply`].
    fn request(&mut self, now: Instant, request: Self::Request, origin: &Origin) -> RequestId;

    /// Whether a request that was asked before this order is not carried out after it.
    fn is_overtaken(request: &Self::Request, by: OrderKind) -> bool;

    /// Carries out an order, which cannot be refused.
    fn order(&mut self, now: Instant, order: &Order);

    /// Takes what became of an [`Output::Job`].
    fn handle_done(&mut self, _now: Instant, _done: Self::Done) {}

    /// How late its caller may run before it must be told; none when lateness does no harm.
    fn longest_pause(&self) -> Option<Duration> {
        None
    }

    /// The caller did not run for this much longer than it wanted to: the computer slept, or the
    /// process was stopped. Called before anything else.
    fn paused(&mut self, _now: Instant, _late: Duration) {}

    /// Ends what goes on, for good.
    fn close(&mut self, now: Instant, by: &Arc<str>);

    /// Whether closing is over: nothing more will be sent.
    fn is_closed(&self) -> bool;

    /// What is known about the robot.
    fn state(&self) -> &Self::State;
}

/// What a session wants done.
pub enum Output<S: Session + ?Sized> {
    /// Send the bytes that were appended.
    Transmit(S::Peer),
    /// To be told to the listeners.
    Event(S::Event),
    /// Answer a request.
    Reply(RequestId, Result<S::Reply, Refusal>),
    /// Have this done elsewhere, and hand in what became of it.
    Job(S::Job),
    /// Give the link up and open it again: the peer is there, but of no use, for this reason.
    Reconnect(Arc<str>),
}

/// The work of sessions that have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoJob {}
