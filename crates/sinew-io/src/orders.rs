//! Orders from any thread to one that takes no lock it might have to wait for.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use sinew_robot::{Order, OrderKind};

use crate::lock;

/// One place for each kind, and one for stops that a request carries out.
const PLACES: usize = OrderKind::ALL.len() + 1;

/// The newest order of each kind. An order needs no room, so any number of them gets through.
#[derive(Debug)]
pub(crate) struct Orders {
    places: [Place; PLACES],
    /// The client whose name cannot be had just now.
    a_client: Arc<str>,
}

#[derive(Debug, Default)]
struct Place {
    epoch: AtomicU64,
    order: Mutex<Option<Order>>,
}

/// Which orders a thread has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen([u64; PLACES]);

/// An order, and whether it is left to a request that follows it.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) order: Order,
    pub(crate) by_request: bool,
}

impl Default for Orders {
    fn default() -> Self {
        Orders { places: Default::default(), a_client: "a client".into() }
    }
}

impl Orders {
    /// Gives an order.
    pub(crate) fn give(&self, order: Order) {
        self.put(order.kind as usize, order);
    }

    /// Has a stop overtake what waits; a request that is sent after this is the stop itself.
    pub(crate) fn announce(&self, stop: Order) {
        self.put(PLACES - 1, stop);
    }

    fn put(&self, place: usize, order: Order) {
        let Some(place) = self.places.get(place) else { return };
        let mut newest = lock(&place.order);
        if newest.as_ref().is_none_or(|newest| newest.epoch < order.epoch) {
            place.epoch.store(order.epoch, Ordering::Release);
            *newest = Some(order);
        }
    }

    /// The next order that was not seen, the most urgent first.
    pub(crate) fn next(&self, seen: &mut Seen) -> Option<Given> {
        for (index, (place, seen)) in self.places.iter().zip(&mut seen.0).enumerate() {
            let epoch = place.epoch.load(Ordering::Acquire);
            if epoch == *seen {
                continue;
            }
            *seen = epoch;
            let by_request = index == PLACES - 1;
            let kind = OrderKind::ALL.get(index).copied().unwrap_or(OrderKind::Stop);
            let order = match place.order.try_lock() {
                Ok(order) => order.clone().filter(|order| order.epoch >= epoch),
                // Another thread gives one just now. It matters that it is carried out, not whose it is.
                Err(_) => None,
            };
            let by = || Order { kind, epoch, by: Arc::clone(&self.a_client), client: None };
            let order = order.unwrap_or_else(by);
            *seen = order.epoch;
            return Some(Given { order, by_request });
        }
        None
    }
}
