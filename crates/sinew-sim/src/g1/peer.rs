use std::net::SocketAddr;

use sinew_wire::unitree::Form;

/// Where something comes from, or goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Peer {
    /// A client of the teaching datagrams.
    Datagram(SocketAddr),
    /// A client over WebRTC.
    Channel(Channel),
}

/// Something about a client's data channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Which client; no number comes twice.
    pub client: u32,
    /// What it is about.
    pub what: What,
}

/// What comes from a data channel, or is done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// It is open now. Comes without bytes, and is not sent.
    Opened,
    /// A message.
    Message(Form),
    /// It is closed; sent, it closes it. Without bytes.
    Closed,
}
