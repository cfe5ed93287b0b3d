//! Data channels between our client and our robot, and what both make of other peers.

mod bench;
mod between;
mod client;
mod damage;
mod hostile;
mod robot;
mod secrets;
