//! Which connections may stay, and how many of them.
//!
//! A connection begins as a *stranger*: it has not sent a valid message yet, nor a token where one
//! is needed. Strangers have little time and little room, and the oldest of an address makes room
//! for the newest, so that nothing they do keeps a client from coming in. A *known* client keeps its
//! seat as long as it is connected; when all such seats are taken, a newcomer stays a stranger, which
//! may still stop robots. *Silent* clients are those of document 003's interface that only listen.

use std::{
    collections::VecDeque,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    time::Duration,
};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};

use crate::lock;

/// How long a stranger may stay.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Most strangers from one address.
const PER_ADDRESS: usize = 64;
/// Most silent clients.
const SILENT: usize = 64;

/// The places of all connections.
#[derive(Debug)]
pub(crate) struct Seats {
    /// Those of known clients that are not taken.
    free: Arc<Semaphore>,
    max_strangers: usize,
    inner: Mutex<Inner>,
    /// Told when the last one has gone.
    emptied: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// The oldest first.
    strangers: VecDeque<Waiting>,
    silent: VecDeque<Waiting>,
    present: usize,
    next: u64,
}

/// A connection that may have to leave.
#[derive(Debug)]
struct Waiting {
    id: u64,
    address: IpAddr,
    leave: oneshot::Sender<()>,
    /// What it sent is being read: it may be no stranger in a moment.
    is_read: Arc<AtomicBool>,
}

/// The place of one connection: among the strangers, or among those that are known.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    id: u64,
    rank: AtomicU8,
    is_read: Arc<AtomicBool>,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

const STRANGER: u8 = 0;
const SILENT_CLIENT: u8 = 1;
const KNOWN: u8 = 2;

impl Seats {
    pub(crate) fn new(seats: usize, max_strangers: usize) -> Self {
        Seats {
            free: Arc::new(Semaphore::new(seats)),
            max_strangers: max_strangers.max(1),
            inner: Mutex::default(),
            emptied: Notify::new(),
        }
    }

    /// A client connected. What is returned beside it tells when it must leave.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> (Arc<Seat>, oneshot::Receiver<()>) {
        let address = network(address);
        let (leave, left) = oneshot::channel();
        let mut inner = lock(&self.inner);
        let is_idle =
            |other: &Waiting| other.address == address && !other.is_read.load(Ordering::Relaxed);
        let idle = inner.strangers.iter().filter(|other| is_idle(other)).count();
        let oldest = if idle >= PER_ADDRESS {
            inner.strangers.iter().position(is_idle)
        } else {
            (inner.strangers.len() >= self.max_strangers).then_some(0)
        };
        if let Some(oldest) = oldest.and_then(|oldest| inner.strangers.remove(oldest)) {
            oldest.send_away();
        }
        let id = inner.next;
        inner.next += 1;
        inner.present += 1;
        let is_read = Arc::new(AtomicBool::new(false));
        inner.strangers.push_back(Waiting { id, address, leave, is_read: Arc::clone(&is_read) });
        let seats = Arc::clone(self);
        let (rank, permit) = (AtomicU8::new(STRANGER), Mutex::default());
        (Arc::new(Seat { seats, id, rank, is_read, permit }), left)
    }

    /// Waits until all have gone.
    pub(crate) async fn empty(&self) {
        loop {
            let emptied = self.emptied.notified();
            if lock(&self.inner).present == 0 {
                return;
            }
            emptied.await;
        }
    }
}

impl Seat {
    /// A valid message came: takes a known client's seat, if one is free. Whether it is known now.
    pub(crate) fn introduce(&self) -> bool {
        if self.is_known() {
            return true;
        }
        let Ok(permit) = Arc::clone(&self.seats.free).try_acquire_owned() else { return false };
        *lock(&self.permit) = Some(permit);
        self.rank.store(KNOWN, Ordering::Release);
        let mut inner = lock(&self.seats.inner);
        // One that was sent away meanwhile is in neither list.
        inner.strangers.retain(|other| other.id != self.id);
        inner.silent.retain(|other| other.id != self.id);
        true
    }

    /// It listens and says nothing, which clients of document 003's interface may.
    pub(crate) fn keep_silent(&self) {
        let mut inner = lock(&self.seats.inner);
        let Some(index) = inner.strangers.iter().position(|other| other.id == self.id) else {
            return;
        };
        let waiting = inner.strangers.remove(index);
        inner.silent.extend(waiting);
        self.rank.store(SILENT_CLIENT, Ordering::Release);
        if inner.silent.len() > SILENT.min(self.seats.max_strangers)
            && let Some(oldest) = inner.silent.pop_front()
        {
            oldest.send_away();
        }
    }

    /// Whether something that it sent is being read; meanwhile it need not make room for others.
    pub(crate) fn set_read(&self, is_read: bool) {
        self.is_read.store(is_read, Ordering::Relaxed);
    }

    pub(crate) fn is_known(&self) -> bool {
        self.rank.load(Ordering::Acquire) == KNOWN
    }

    pub(crate) fn is_stranger(&self) -> bool {
        self.rank.load(Ordering::Acquire) == STRANGER
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut inner = lock(&self.seats.inner);
        inner.strangers.retain(|other| other.id != self.id);
        inner.silent.retain(|other| other.id != self.id);
        inner.present -= 1;
        if inner.present == 0 {
            self.seats.emptied.notify_waiters();
        }
    }
}

impl Waiting {
    fn send_away(self) {
        // A client that has just gone by itself does not get it.
        let _ = self.leave.send(());
    }
}

/// What counts as one address: a host of IPv6 has as many of them as it likes.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> IpAddr {
        [127, 0, 0, 1].into()
    }

    #[test]
    fn the_oldest_stranger_of_an_address_makes_room() {
        let seats = Arc::new(Seats::new(4, 512));
        let (other, mut other_left) = seats.enter([10, 0, 0, 1].into());
        let mut taken: Vec<_> = (0..PER_ADDRESS).map(|_| seats.enter(here())).collect();
        assert!(taken.iter_mut().all(|(_, left)| left.try_recv().is_err()));
        taken.push(seats.enter(here()));
        assert!(taken[0].1.try_recv().is_ok());
        assert!(taken[1].1.try_recv().is_err());
        assert!(other_left.try_recv().is_err() && other.is_stranger());
    }

    #[test]
    fn a_known_client_is_never_sent_away_and_has_a_seat() {
        let seats = Arc::new(Seats::new(1, 512));
        let (known, mut left) = seats.enter(here());
        assert!(known.introduce() && known.introduce() && known.is_known());
        let _strangers: Vec<_> = (0..2 * PER_ADDRESS).map(|_| seats.enter(here())).collect();
        assert!(left.try_recv().is_err());
        let (late, _late_left) = seats.enter(here());
        assert!(!late.introduce() && late.is_stranger(), "all seats are taken");
        drop(known);
        assert!(late.introduce());
    }

    #[test]
    fn a_stranger_whose_message_is_being_read_need_not_make_room() {
        let seats = Arc::new(Seats::new(4, 512));
        let (busy, mut left) = seats.enter(here());
        busy.set_read(true);
        let mut others: Vec<_> = (0..=PER_ADDRESS).map(|_| seats.enter(here())).collect();
        assert!(left.try_recv().is_err() && others[0].1.try_recv().is_ok());
        busy.set_read(false);
        let _another = seats.enter(here());
        assert!(left.try_recv().is_ok(), "nothing valid came");
    }

    #[test]
    fn silent_clients_have_a_pool_of_their_own() {
        let seats = Arc::new(Seats::new(1, 512));
        let mut silent: Vec<_> = (0..=SILENT).map(|_| seats.enter(here())).collect();
        assert!(silent[0].1.try_recv().is_ok(), "as a stranger");
        for (seat, _) in &silent[1..] {
            seat.keep_silent();
        }
        let _strangers: Vec<_> = (0..PER_ADDRESS).map(|_| seats.enter(here())).collect();
        assert!(silent[1].1.try_recv().is_err());
        let (newest, _left) = seats.enter(here());
        newest.keep_silent();
        assert!(silent[1].1.try_recv().is_ok(), "the oldest of the silent ones");
    }

    #[test]
    fn all_strangers_together_are_bounded_and_one_host_of_ipv6_is_one_address() {
        let seats = Arc::new(Seats::new(1, 3));
        let mut taken: Vec<_> = (1..=4u8).map(|n| seats.enter([10, 0, 0, n].into())).collect();
        assert!(taken[0].1.try_recv().is_ok() && taken[1].1.try_recv().is_err());
        let [a, b] = ["fd00::1", "fd00::2"].map(|text| text.parse::<IpAddr>().expect("is one"));
        assert_eq!(network(a), network(b));
        assert_eq!(network("::ffff:127.0.0.1".parse().expect("is one")), here());
    }
}
