//! The network side of Sinew: a registry of robots, and the interface through which clients see
//! and control them.
//!
//! [`Server::bind`] opens the ports, [`Server::add`] gives it robots, [`Server::run`] serves until
//! it is told to end. All clients are heard on one thread that does nothing else, so that a stop
//! waits for nothing; the same two halves (`connection`) serve every client that keeps a connection,
//! whether it speaks JSON lines, length-prefixed JSON or protobuf, or WebSocket; telemetry reaches them through
//! shared rings (`ring`), so that no client can slow another one or the robot.

mod config;
mod connection;
mod datagrams;
mod dispatch;
mod feed;
mod frame;
mod guesses;
mod http;
mod hub;
mod legacy;
mod listen;
#[cfg(feature = "local")]
mod local;
mod metrics;
mod refusals;
#[cfg(feature = "relay")]
mod registry;
#[cfg(feature = "relay")]
mod relay;
#[cfg(not(feature = "relay"))]
#[path = "relay/none.rs"]
mod relay;
mod ring;
mod seats;
mod server;
mod stream;
mod telemetry;
mod token;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use config::Config;
#[cfg(feature = "inspect")]
pub use http::inspect::{Inspector, Source};
pub use listen::try_bind;
#[cfg(feature = "local")]
pub use local::Locals;
pub use refusals::ShownRefusals;
#[cfg(feature = "relay")]
pub use registry::Registry;
#[cfg(feature = "relay")]
pub use relay::Relay;
pub use server::{Addresses, Server};
pub use sinew_api::Access;
pub use token::{Tokens, check_private};

/// A panic while the lock was held left the value usable: none is changed in several steps that
/// could fail between.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
