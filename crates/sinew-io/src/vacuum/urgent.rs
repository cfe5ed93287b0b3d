//! What is carried out before anything that waits.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use crate::lock;

/// An order that needs no room and waits for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// `drive` Reset.
    Stop,
    /// `drive` Disable.
    Disable,
    /// The controls were taken from another client.
    Taken,
    /// The holder of the controls has gone.
    Release,
}

impl Order {
    /// All of them, the most urgent first.
    pub(super) const ALL: [Order; 4] = [Order::Stop, Order::Disable, Order::Taken, Order::Release];
}

/// Orders from any thread to one that takes no lock it might have to wait for.
#[derive(Debug, Default)]
pub(super) struct Urgent {
    given: [AtomicU64; Order::ALL.len()],
    /// The client that gave each last.
    by: [Mutex<String>; Order::ALL.len()],
}

/// How often each order was given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts([u64; Order::ALL.len()]);

impl Urgent {
    pub(super) fn give(&self, order: Order, by: &str) {
        *lock(&self.by[order as usize]) = by.into();
        self.given[order as usize].fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn counts(&self) -> Counts {
        Counts(self.given.each_ref().map(|count| count.load(Ordering::Acquire)))
    }

    /// The client that gave it last, unless another one gives it just now.
    pub(super) fn by(&self, order: Order) -> String {
        let by = self.by[order as usize].try_lock();
        by.map_or_else(|_| "a client".into(), |by| by.clone())
    }
}

impl Counts {
    pub(super) fn of(self, order: Order) -> u64 {
        self.0[order as usize]
    }
}
