use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket},
    os::fd::{AsFd, BorrowedFd},
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
    time::Instant,
};

use super::Link;

type Resolved = io::Result<SocketAddr>;

/// Datagrams to one peer and from it, which has a name or an address.
#[derive(Debug)]
pub struct UdpClient {
    host: String,
    port: u16,
    /// A name that is being looked up.
    lookup: Option<Receiver<Resolved>>,
    socket: Option<(UdpSocket, SocketAddr)>,
}

impl UdpClient {
    /// Datagrams to this name or address.
    pub fn new(host: String, port: u16) -> Self {
        UdpClient { host, port, lookup: None, socket: None }
    }

    /// The peer's address. A name is looked up on a thread of its own, since that takes as long as
    /// it likes.
    fn address(&mut self) -> io::Result<SocketAddr> {
        if let Ok(address) = self.host.parse::<IpAddr>() {
            return Ok((address, self.port).into());
        }
        let lookup = match &self.lookup {
            Some(lookup) => lookup,
            None => {
                let (found, lookup) = channel();
                let name = (self.host.clone(), self.port);
                let work = move || drop(found.send(look_up(&name)));
                thread::Builder::new().name("lookup".into()).spawn(work)?;
                self.lookup.insert(lookup)
            }
        };
        match lookup.try_recv() {
            Ok(found) => {
                self.lookup = None;
                found
            }
            Err(TryRecvError::Empty) => {
                let message = format!("{} is being looked up", self.host);
                Err(io::Error::new(io::ErrorKind::WouldBlock, message))
            }
            Err(TryRecvError::Disconnected) => {
                self.lookup = None;
                Err(io::ErrorKind::Other.into())
            }
        }
    }
}

fn look_up((host, port): &(String, u16)) -> Resolved {
    let mut found = (host.as_str(), *port)
        .to_socket_addrs()
        .map_err(|error| io::Error::new(error.kind(), format!("{host}: {error}")))?;
    let none = || io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    found.next().ok_or_else(none)
}

impl Link for UdpClient {
    type Peer = ();

    fn open(&mut self, _now: Instant) -> io::Result<()> {
        let address = self.address()?;
        let local: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        // A socket of its own: a robot keeps its sequence state by source port.
        let socket = UdpSocket::bind(local)?;
        socket.connect(address)?;
        socket.set_nonblocking(true)?;
        self.socket = Some((socket, address));
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.socket.is_some()
    }

    fn events(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(|(socket, _)| socket.as_fd())
    }

    fn take_events(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    fn receive(&mut self, _now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, ())>> {
        let Some((socket, _)) = &self.socket else { return Ok(None) };
        match socket.recv(buffer) {
            Ok(count) => Ok(Some((count, ()))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn send(&mut self, _now: Instant, (): (), bytes: &[u8]) -> io::Result<()> {
        match &self.socket {
            Some((socket, _)) => socket.send(bytes).map(drop),
            None => Ok(()),
        }
    }

    fn flush(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    fn address_of(&self, (): ()) -> Option<SocketAddr> {
        self.socket.as_ref().map(|(_, address)| *address)
    }

    fn is_stream(&self) -> bool {
        false
    }
}

/// Datagrams from any peer, and to any.
#[derive(Debug)]
pub struct UdpServer {
    socket: UdpSocket,
    own: SocketAddr,
}

impl UdpServer {
    /// Datagrams that come to this socket.
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(UdpServer { own: socket.local_addr()?, socket })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.own
    }
}

impl Link for UdpServer {
    type Peer = SocketAddr;

    fn open(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    fn is_open(&self) -> bool {
        true
    }

    fn events(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn take_events(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    fn receive(
        &mut self,
        _now: Instant,
        buffer: &mut [u8],
    ) -> io::Result<Option<(usize, SocketAddr)>> {
        loop {
            match self.socket.recv_from(buffer) {
                // Most answers look like requests, so a robot that heard itself would talk to itself.
                Ok((_, from)) if is_own(self.own, from) => {}
                Ok((count, from)) => return Ok(Some((count, from))),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn send(&mut self, _now: Instant, to: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        self.socket.send_to(bytes, to).map(drop)
    }

    fn flush(&mut self, _now: Instant) -> io::Result<()> {
        Ok(())
    }

    fn address_of(&self, peer: SocketAddr) -> Option<SocketAddr> {
        Some(peer)
    }

    fn is_stream(&self) -> bool {
        false
    }
}

/// Whether an address is our own. A socket that listens everywhere has all addresses of this
/// machine, and none can be bound to those of others.
fn is_own(own: SocketAddr, from: SocketAddr) -> bool {
    let everywhere = || own.ip().is_unspecified() && UdpSocket::bind((from.ip(), 0)).is_ok();
    from.port() == own.port() && (from.ip() == own.ip() || everywhere())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn who_listens_everywhere_has_every_address_of_this_machine() {
        let own = "0.0.0.0:49504".parse().unwrap();
        for (from, wanted) in [
            ("0.0.0.0:49504", true),
            ("127.0.0.1:49504", true),
            ("127.0.0.1:49505", false),
            // Kept for documents, so no machine has it.
            ("192.0.2.1:49504", false),
        ] {
            assert_eq!(is_own(own, from.parse().unwrap()), wanted, "{from}");
        }
    }

    #[test]
    fn a_name_that_is_none_says_so_and_blocks_nothing() {
        let mut link = UdpClient::new("no.such.host.invalid".into(), 1);
        let error = loop {
            let error = link.open(Instant::now()).unwrap_err();
            if error.kind() != io::ErrorKind::WouldBlock {
                break error;
            }
            thread::yield_now();
        };
        assert!(error.to_string().contains("no.such.host.invalid"), "{error}");
    }
}
