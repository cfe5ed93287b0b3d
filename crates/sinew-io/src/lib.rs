//! The only crate that opens ports.
//!
//! A [`link`](Link) moves bytes, a pump runs a session on it, on a thread of its own, and drivers
//! ([`vacuum::Vacuum`], [`lidar::Lidar`], [`g1::G1`]) offer what the session can do. [`kind`] lists the robots that can
//! be built of them; [`sim`] runs simulated ones at the other end of a cable.

mod address;
#[cfg(feature = "g1")]
pub mod discovery;
pub mod driver;
#[cfg(feature = "g1")]
mod file;
pub mod follow;
#[cfg(feature = "g1")]
pub mod g1;
#[cfg(feature = "maps")]
pub mod ground;
pub mod kind;
#[cfg(feature = "g1")]
pub mod library;
pub mod lidar;
mod link;
#[cfg(feature = "g1")]
pub mod maps;
mod orders;
#[cfg(feature = "capture")]
pub mod playback;
mod priority;
mod pty;
mod pump;
mod report;
#[cfg(feature = "sim")]
pub mod sim;
#[cfg(feature = "capture")]
pub mod tap;
#[cfg(feature = "g1")]
pub mod teaching;
mod tell;
mod unacknowledged;
#[cfg(feature = "webrtc")]
pub mod unitree;
pub mod vacuum;
#[cfg(feature = "webrtc")]
pub mod volume;
mod wake;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sinew_robot::Epoch;

pub use address::{Address, AddressError};
pub use link::{Around, Link, is_pseudo_terminal};
#[cfg(all(feature = "g1", feature = "sim"))]
pub use link::{Both, UdpServer};
#[cfg(all(feature = "sim", feature = "webrtc"))]
pub use link::{Habits, Signalling, WebRtcServer, WebRtcServerOptions};
#[cfg(feature = "webrtc")]
pub use link::{KeyFile, OpenSsl, WebRtcLink, WebRtcOptions};
pub use priority::{FAVOURED, favour, give_way, may_have_real_time, prefer, step_back};
pub use pty::Pty;
pub use tell::Listener;
pub use unacknowledged::unacknowledged;

/// What a driver is connected with, beside its robot.
pub struct Wiring<E> {
    /// What is put around its link.
    pub around: Vec<Around>,
    /// Counts the orders of this robot and others.
    pub epoch: Epoch,
    /// Is told what happens.
    pub listener: Arc<dyn Listener<E>>,
}

impl<E: 'static> Default for Wiring<E> {
    fn default() -> Self {
        Wiring { around: Vec::new(), epoch: Epoch::default(), listener: Arc::new(()) }
    }
}

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
