//! The server over real sockets, with a robot that records what reaches it.

mod commands;
mod control;
mod export;
#[cfg(feature = "relay")]
mod far;
mod hold;
mod hostile;
mod http;
#[cfg(feature = "inspect")]
mod inspect;
mod legacy;
#[cfg(feature = "local")]
mod local;
mod map;
mod mapping;
mod page;
#[cfg(feature = "relay")]
mod relay;
mod sangam;
mod support;
mod surroundings;
#[cfg(feature = "g1")]
mod teach;
mod telemetry;
mod tokens;
mod vacuum;
mod websocket;
