use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use crate::{Tokens, datagrams::MOST as DATAGRAMS};

/// Files that robots, the library and the process itself need.
const KEPT_FILES: usize = 40;

/// Where to listen, and to whom.
#[derive(Debug, Clone)]
pub struct Config {
    /// Length-prefixed JSON, as the clients of document 003 speak it.
    pub tcp: Option<SocketAddr>,
    /// JSON lines.
    pub lines: Option<SocketAddr>,
    /// HTTP and WebSocket.
    pub http: Option<SocketAddr>,
    /// Protobuf, as clients of SangamIO's later interface speak it.
    pub sangam: Option<SocketAddr>,
    /// The UDP port of a client to which its sensors are sent beside that of the number of `sangam`:
    /// one of those clients listens there whatever it is told.
    pub sangam_port: u16,
    /// The secrets that clients show where the listening address is not loopback.
    pub tokens: Tokens,
    /// Lets `tcp` and `sangam` listen further than loopback without a token.
    pub legacy_open: bool,
    /// How long a velocity is held for clients of `tcp` that send it once, and at most a second of
    /// that for those of `sangam`; zero holds none, and refuses theirs that are over the limit like
    /// any other's.
    pub legacy_hold: Duration,
    /// Components whose actions that need `confirm` such clients may ask for without it.
    pub legacy_confirm: Vec<String>,
    /// Names, beside addresses and `localhost`, by which browsers may know this machine.
    pub hosts: Vec<String>,
    /// Most known clients at a time, all ports together.
    pub max_clients: usize,
    /// Most connections at a time that have not sent a valid message yet, and as many silent ones
    /// of `tcp`.
    pub max_strangers: usize,
    /// A client whose socket takes no byte for this long is dropped.
    pub write_timeout: Duration,
    /// What looks into captures that clients send; none refuses them.
    #[cfg(feature = "inspect")]
    pub inspector: Option<crate::Inspector>,
}

impl Default for Config {
    fn default() -> Self {
        let local = |port| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        Config {
            tcp: local(5555),
            lines: local(5556),
            http: local(8787),
            sangam: None,
            sangam_port: 5556,
            tokens: Tokens::default(),
            legacy_open: false,
            legacy_hold: Duration::from_secs(2),
            legacy_confirm: Vec::new(),
            hosts: Vec::new(),
            max_clients: 4096,
            max_strangers: 512,
            write_timeout: Duration::from_secs(10),
            #[cfg(feature = "inspect")]
            inspector: None,
        }
    }
}

impl Config {
    /// Where it listens to the network and asks no client for a token.
    fn open_to_all(&self) -> impl Iterator<Item = SocketAddr> {
        let ports = [self.tcp, self.sangam].into_iter().flatten();
        ports.filter(|address| self.legacy_open && !address.ip().is_loopback())
    }

    /// Takes no more clients than the process may have files open, with some of them kept for
    /// robots and for clients that want to stop one.
    pub fn within(mut self, files: usize) -> Self {
        self.max_strangers = self.max_strangers.min(files / 8).max(8);
        let datagrams = if self.sangam.is_some() { DATAGRAMS } else { 0 };
        let kept = KEPT_FILES + datagrams + 2 * self.max_strangers;
        self.max_clients = self.max_clients.min(files.saturating_sub(kept)).max(1);
        self
    }

    /// Refuses to listen to the network without tokens, and to clients that have none.
    pub fn check(&self) -> io::Result<()> {
        if let Some(address) = self.sangam.filter(|address| !address.ip().is_loopback())
            && !self.legacy_open
        {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "sangam {address}: its clients cannot show a token, so it listens on loopback \
                     only; legacy_open lets it listen further, and anyone there drive the robots"
                ),
            ));
        }
        let ports = [
            ("tcp", self.tcp.filter(|_| !self.legacy_open)),
            ("lines", self.lines),
            ("http", self.http),
        ];
        for (port, address) in ports {
            if let Some(address) = address.filter(|address| !address.ip().is_loopback())
                && self.tokens.is_empty()
            {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    format!(
                        "{port} {address}: listening on anything but loopback needs a token file"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// What its owner should know about it.
    pub fn warnings(&self) -> Vec<String> {
        let warning = |address| {
            format!(
                "legacy_open: anyone who reaches {address} can drive the robots without a token"
            )
        };
        self.open_to_all().map(warning).collect()
    }
}
