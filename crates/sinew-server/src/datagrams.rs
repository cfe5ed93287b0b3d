//! Sensors for clients of SangamIO's later interface: by datagrams, to where each connected from.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    sync::Arc,
};

use socket2::SockRef;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Clients that have datagrams sent at a time: each has a socket of its own, so that one whose way is
/// blocked takes no other's room.
pub(crate) const MOST: usize = 64;
/// What the kernel may hold back for a client: some tenths of a second, or a turn of the lidar.
const SEND_BUFFER: usize = 64 << 10;

/// Where datagrams for a client go.
#[derive(Debug)]
pub(crate) struct Datagrams {
    socket: UdpSocket,
    to: Vec<SocketAddr>,
    _place: OwnedSemaphorePermit,
}

impl Datagrams {
    /// For the client at the other end of a connection, whose own end is `local`. They go to its port
    /// of the same number, and to this other one.
    pub(crate) fn open(
        local: SocketAddr,
        peer: SocketAddr,
        other: u16,
        places: &Arc<Semaphore>,
    ) -> io::Result<Self> {
        let full = |_| io::Error::other(format!("{MOST} clients have theirs already"));
        let place = Arc::clone(places).try_acquire_owned().map_err(full)?;
        let at = |mut address: SocketAddr, port| {
            address.set_port(port);
            address
        };
        // It is not connected, so that no client's refusal of one port is an error of the other.
        let socket = UdpSocket::bind(at(local, 0))?;
        socket.set_nonblocking(true)?;
        SockRef::from(&socket).set_send_buffer_size(SEND_BUFFER)?;
        let mut to = vec![at(peer, local.port()), at(peer, other)];
        to.dedup();
        Ok(Datagrams { socket, to, _place: place })
    }

    /// Sends messages, each with its length before it, in a datagram of its own to either port. Never
    /// waits: gives how many found no room.
    pub(crate) fn send(&self, messages: &[u8]) -> u64 {
        let is_full = |to: &&SocketAddr, datagram: &[u8]| {
            // A client that listens to the other port, or not yet, may refuse this one.
            let sent = self.socket.send_to(datagram, **to);
            sent.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        };
        datagrams(messages)
            .map(|datagram| self.to.iter().filter(|to| is_full(to, datagram)).count() as u64)
            .sum()
    }
}

/// The messages, each with its length. An empty one is what could not be written.
fn datagrams(mut messages: &[u8]) -> impl Iterator<Item = &[u8]> {
    let next = move || {
        let length = u32::from_be_bytes(*messages.first_chunk()?) as usize;
        let (datagram, rest) = messages.split_at_checked(4 + length)?;
        messages = rest;
        Some(datagram)
    };
    std::iter::from_fn(next).filter(|datagram| datagram.len() > 4)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn listener() -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("is free");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("is set");
        socket
    }

    fn port(socket: &UdpSocket) -> u16 {
        socket.local_addr().expect("is bound").port()
    }

    #[test]
    fn each_message_is_one_datagram_to_either_port_and_a_refusal_of_one_is_nothing_to_the_other() {
        let (first, second) = (listener(), listener());
        let local = SocketAddr::from(([127, 0, 0, 1], port(&first)));
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        let places = Arc::new(Semaphore::new(1));
        let open = || Datagrams::open(local, peer, port(&second), &places);
        let datagrams = open().expect("is open");
        assert!(open().is_err(), "there is one place");
        let messages = b"\0\0\0\x02ab\0\0\0\0\0\0\0\x01c";
        let mut space = [0; 64];
        let mut receive = |from: &UdpSocket| {
            let length = from.recv(&mut space).expect("comes");
            space[..length].to_vec()
        };
        assert_eq!(datagrams.send(messages), 0);
        for listener in [&first, &second] {
            assert_eq!(receive(listener), b"\0\0\0\x02ab");
            assert_eq!(receive(listener), b"\0\0\0\x01c");
        }
        drop(first);
        for _ in 0..20 {
            assert_eq!(datagrams.send(messages), 0);
            assert_eq!(receive(&second), b"\0\0\0\x02ab");
            assert_eq!(receive(&second), b"\0\0\0\x01c");
        }
        drop(datagrams);
        assert!(open().is_ok(), "its place is free again");
    }

    #[test]
    fn what_is_cut_off_ends_the_messages() {
        let all = |bytes| super::datagrams(bytes).map(<[u8]>::len).collect::<Vec<usize>>();
        assert!(all(b"").is_empty());
        assert_eq!(all(b"\0\0\0\x01a\0\0\0\x02b"), [5]);
        assert!(all(b"\xff\xff\xff\xffa").is_empty());
    }
}
