//! The sockets of a connection: one for each address of this machine.

use std::{
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::Arc,
};

use socket2::SockRef;

use crate::link::poller::Poller;

/// Most addresses that are offered.
const MOST: usize = 16;
/// Bursts of clouds overflow what a socket holds by itself.
const RECEIVE_BUFFER: usize = 2 << 20;

/// Sockets, each bound to one address.
#[derive(Debug, Clone)]
pub(super) struct Ports(Arc<[(UdpSocket, SocketAddr)]>);

impl Ports {
    /// One for each address of this machine, or of the interface with this name or address.
    /// Loopback only where it is wanted: no other machine can reach it.
    pub(super) fn bind(interface: Option<&str>, loopback: bool) -> io::Result<Self> {
        let mut all: Vec<_> = if_addrs::get_if_addrs()?
            .into_iter()
            .filter(|it| match interface {
                Some(name) => it.name == name || it.ip().to_string() == name,
                None => loopback || !it.is_loopback(),
            })
            .map(|it| it.ip())
            .filter(|ip| !is_link_local_v6(*ip))
            .collect();
        // Robots have IPv4.
        all.sort_by_key(IpAddr::is_ipv6);
        all.dedup();
        all.truncate(MOST);
        let bound: Vec<_> = all.into_iter().filter_map(|ip| bind(ip).ok()).collect();
        if bound.is_empty() {
            let what = interface.unwrap_or("this machine");
            let message = format!("{what} has no address that a robot could reach");
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, message));
        }
        Ok(Ports(bound.into()))
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.0.iter().map(|(_, address)| *address)
    }

    pub(super) fn watch(&self, poller: &Poller) -> io::Result<()> {
        self.0.iter().try_for_each(|(socket, _)| poller.add(socket))
    }

    /// Sends from the socket with this address. What cannot be sent is lost, as on any way.
    pub(super) fn send(&self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if let Some((socket, _)) = self.0.iter().find(|(_, address)| *address == from) {
            let _ = socket.send_to(bytes, to);
        }
    }

    /// Hands over what has come, with its source and destination, but not without end.
    pub(super) fn receive(
        &self,
        most: usize,
        buffer: &mut [u8],
        mut each: impl FnMut(SocketAddr, SocketAddr, &[u8]),
    ) {
        for (socket, address) in self.0.iter() {
            for _ in 0..most {
                match socket.recv_from(buffer) {
                    Ok((count, from)) => each(from, *address, &buffer[..count]),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // Another's port was closed, which ICE finds out by itself.
                    Err(_) => {}
                }
            }
        }
    }
}

/// str0m keeps no scope, and without one there is no sending from these.
fn is_link_local_v6(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

fn bind(ip: IpAddr) -> io::Result<(UdpSocket, SocketAddr)> {
    let socket = UdpSocket::bind((ip, 0))?;
    socket.set_nonblocking(true)?;
    // The system may give less.
    let _ = SockRef::from(&socket).set_recv_buffer_size(RECEIVE_BUFFER);
    let address = socket.local_addr()?;
    Ok((socket, address))
}
