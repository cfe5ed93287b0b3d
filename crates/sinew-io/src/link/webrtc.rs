//! Data channels: to a robot that has WebRTC, and, simulated, of one.

mod attempt;
mod ciphers;
mod client;
mod connection;
mod dcep;
mod dtls;
mod http;
mod key_file;
mod negotiate;
mod ports;
mod rsa;
mod sdp;
mod secret;
#[cfg(feature = "sim")]
mod server;
mod way;

use super::Link;

pub use ciphers::OpenSsl;
pub use client::{WebRtcLink, WebRtcOptions};
pub use key_file::KeyFile;
#[cfg(feature = "sim")]
pub use server::{Habits, Signalling, WebRtcServer, WebRtcServerOptions};
