//! The server over real sockets, with a robot that records what reaches it.

mod commands;
mod control;
mod hold;
mod hostile;
mod http;
mod legacy;
mod mapping;
mod sangam;
mod support;
#[cfg(feature = "g1")]
mod teach;
mod telemetry;
mod tokens;
mod vacuum;
mod websocket;
