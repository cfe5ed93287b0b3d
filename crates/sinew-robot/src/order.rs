//! Stops, and what they overtake: one count of them from the clients' bytes to the session.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use crate::{Code, Refusal};

/// Counts the orders that robots got. What was asked for at a lower count than an order's came
/// before it. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Epoch(Arc<AtomicU64>);

impl Epoch {
    /// The orders so far.
    pub fn now(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Counts one more; gives its number.
    pub fn advance(&self) -> u64 {
        self.0.fetch_add(1, Ordering::AcqRel) + 1
    }
}

/// Whether a client is still there. Clones tell of the same client.
#[derive(Debug, Clone, Default)]
pub struct Presence(Arc<AtomicBool>);

impl Presence {
    /// The client sends no more. It does not come back: a new connection is a new client.
    pub fn end(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether the client sends no more.
    pub fn has_ended(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Which client asked for something, and when.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The client's name, for messages.
    pub by: Arc<str>,
    /// The client's number.
    pub client: u64,
    /// What the robot is called, for messages.
    pub robot: Arc<str>,
    /// The orders that came before its bytes did.
    pub epoch: u64,
    /// When its bytes came: the age of a velocity counts from then.
    pub received: Instant,
    /// Whether the client is still there.
    pub presence: Presence,
}

/// Something that is carried out before all that waits, and cannot be refused.
#[derive(Debug, Clone)]
pub struct Order {
    /// What.
    pub kind: OrderKind,
    /// Its number.
    pub epoch: u64,
    /// The client whose doing it is, for messages.
    pub by: Arc<str>,
    /// That client's number; none when it is not known.
    pub client: Option<u64>,
}

/// The orders there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderKind {
    /// Everything stops, and stays so.
    Stop,
    /// The wheels stop, and stay so; nothing else is dropped but what would move them.
    Disable,
    /// The client took the controls from another: what that one set moving ends.
    Taken,
    /// The client, which held the controls, has gone.
    Released,
}

impl OrderKind {
    /// All of them, the most urgent first.
    pub const ALL: [OrderKind; 4] =
        [OrderKind::Stop, OrderKind::Disable, OrderKind::Taken, OrderKind::Released];
}

/// The last order of each kind: what was asked for before it is not carried out after it. Of
/// clients that have gone there may have been several since something was asked for, so whether its
/// own client has is known from the client's [`Presence`], not from the last `Released`.
#[derive(Debug, Default)]
pub struct Overtaking {
    latest: [Option<Order>; OrderKind::ALL.len()],
}

impl Overtaking {
    /// Remembers an order.
    pub fn note(&mut self, order: Order) {
        let latest = &mut self.latest[order.kind as usize];
        if latest.as_ref().is_none_or(|latest| latest.epoch < order.epoch) {
            *latest = Some(order);
        }
    }

    /// Refuses what was asked for before an order that overtakes it.
    pub fn check(
        &self,
        origin: &Origin,
        is_overtaken: impl Fn(OrderKind) -> bool,
    ) -> Result<(), Refusal> {
        if origin.presence.has_ended() && is_overtaken(OrderKind::Released) {
            let message = format!("{} had gone before it was sent", origin.by);
            return Err(Refusal::new(Code::NotReady, message));
        }
        let overtakes = |order: &&Order| {
            let is_meant = match order.kind {
                OrderKind::Stop | OrderKind::Disable => true,
                // What the new holder sent behind it may have been read before it.
                OrderKind::Taken => order.client != Some(origin.client),
                OrderKind::Released => false,
            };
            is_meant && order.epoch > origin.epoch && is_overtaken(order.kind)
        };
        let Some(order) = self.latest.iter().flatten().find(overtakes) else { return Ok(()) };
        let by = &order.by;
        let message = match order.kind {
            OrderKind::Taken => format!("{by} took the controls before it was sent"),
            _ => format!("{by} stopped {} before it was sent", origin.robot),
        };
        Err(Refusal::new(Code::NotReady, message))
    }
}
