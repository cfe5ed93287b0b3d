//! What is asked of a robot over HTTP before there is a channel.
//!
//! ```text
//! no port given    probe 9991 -> POST /con_notify -> POST /con_ing_…       newer robots
//!                  probe 8081 -> POST /offer                               older ones
//! a port given     POST /con_notify there; on 404 POST /offer there
//! ```
//!
//! Each request needs a connection of its own: robots close it after an answer without saying so.

mod client;
mod failure;

pub use client::{Came, Client, Step};
pub use failure::Failure;
