//! Data channels between our client and our robot, and what both make of other peers.

mod bench;
mod client;
mod hostile;
mod loss;
mod robot;
mod secrets;
