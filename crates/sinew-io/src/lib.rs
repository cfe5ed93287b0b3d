//! The only crate that opens ports.
//!
//! [`vacuum::Vacuum`] runs a session on a thread of its own: the heartbeat has to hold its time
//! whatever the rest of the process does. [`sim::Simulator`] runs a simulated controller at the
//! other end of a pseudo-terminal. [`tap`] is what may be put between a port and a session.

mod address;
mod port;
mod pty;
pub mod sim;
pub mod tap;
pub mod vacuum;
mod wake;

pub use address::{Address, AddressError};
pub use pty::Pty;
