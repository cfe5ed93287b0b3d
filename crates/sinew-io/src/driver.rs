//! What a driver is made of: a session that runs on a link, on a thread of its own.
//!
//! The robots of this crate are made of these, and so are those that are defined elsewhere.

#[cfg(feature = "sim")]
pub use crate::link::PtyLink;
pub use crate::{
    link::{SerialLink, Side, UdpClient, UdpServer},
    pump::{Handle, Policy, Work},
    report::{link_json, members, timestamp_us},
};
