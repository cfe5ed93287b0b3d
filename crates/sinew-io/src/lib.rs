//! The only crate that opens ports.
//!
//! [`vacuum::Vacuum`] runs a session on a thread of its own: the heartbeat has to hold its time
//! whatever the rest of the process does. [`sim::Simulator`] runs a simulated controller at the
//! other end of a pseudo-terminal. [`tap`] is what may be put between a port and a session.

mod address;
#[cfg(feature = "g1")]
pub mod discovery;
#[cfg(feature = "g1")]
mod file;
#[cfg(feature = "g1")]
pub mod g1;
#[cfg(feature = "g1")]
pub mod library;
mod port;
mod priority;
mod pty;
mod relay;
pub mod sim;
pub mod tap;
pub mod vacuum;
mod wake;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use address::{Address, AddressError};
pub use priority::{favour, step_back};
pub use pty::Pty;

/// Lets this process open as many files as it may, since every client takes one. Returns how many.
pub fn raise_file_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    getrlimit(Resource::Nofile).current
}

/// A panic while the lock was held left the value whole: each is written in one go.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
