//! The robots of many daemons in one fleet, over Zenoh.
//!
//! Each daemon publishes its robots under `sinew/HOST/ROBOT` and answers commands (`station`); a hub offers robots of
//! other daemons as its own (`hub`). A client of the fleet is a client of the daemon that it asks, by all rules, for
//! as long as its liveliness token is there. What is carried out for it, and what came too late for that, is decided
//! by state machines without I/O and clock ([`Remotes`], [`Asker`], [`Offset`]), which are tried in virtual time.

mod asker;
#[cfg(feature = "zenoh")]
mod clock;
#[cfg(feature = "zenoh")]
mod fleet;
#[cfg(feature = "zenoh")]
mod hub;
pub mod keys;
#[cfg(feature = "zenoh")]
mod local;
mod offset;
#[cfg(feature = "zenoh")]
mod plan;
mod remotes;
mod settings;
mod stamp;
#[cfg(feature = "zenoh")]
mod station;

pub use asker::Asker;
#[cfg(feature = "zenoh")]
pub use fleet::{Fleet, Services};
#[cfg(feature = "zenoh")]
pub use hub::Wanted;
pub use offset::Offset;
#[cfg(feature = "zenoh")]
pub use plan::Plan;
pub use remotes::{Denied, Need, Remotes, Way};
pub use settings::{Endpoint, Settings};
pub use stamp::{About, Answered, Stamp};

/// A panic while the lock was held left the value whole: each is written in one go.
#[cfg(feature = "zenoh")]
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
