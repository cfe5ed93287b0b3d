//! Datagrams with us in between.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    os::fd::AsFd,
    sync::{Arc, mpsc::Sender},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use sinew_capture::write::IP_LINK;

use super::{Counters, Forward, Logs, Notice, Running, Show};

/// Clients that are told apart; one more takes the place of the one that was silent for longest.
const MOST_CLIENTS: usize = 64;
/// The longest datagram.
const LONGEST: usize = 1 << 16;
/// Datagrams of one socket before the others are looked at again.
const TURN: usize = 64;
/// Of a target that takes nothing it is told no more often.
const TELL_AGAIN: Duration = Duration::from_secs(10);

/// A tap of datagrams, which runs until it is dropped.
pub struct UdpTap {
    address: SocketAddr,
    running: Running,
}

impl UdpTap {
    /// Takes datagrams at `listen` and passes them on to `target`, and its answers back.
    pub fn start(
        listen: SocketAddr,
        target: SocketAddr,
        logs: Logs,
        show: Show,
        notices: Sender<Notice>,
    ) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{listen}: {error}"));
        let socket = UdpSocket::bind(listen).map_err(named)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        if is_itself(address, target) {
            let message =
                format!("{target} is the tap itself: every datagram would go round for ever");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let interface = format!("udp {address} to {target}");
        let running = Running::start(logs, IP_LINK, interface, show, notices, move |forward| {
            let clients = Vec::new();
            Between { forward, socket, address, target, clients, told: None }.run();
        })?;
        Ok(UdpTap { address, running })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What has passed.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.running.counters
    }
}

/// Whether what is sent to the target comes to who listens: also where one of them stands for all of a
/// machine's addresses.
fn is_itself(listen: SocketAddr, target: SocketAddr) -> bool {
    if listen.port() != target.port() {
        return false;
    }
    let [listen, target] = [listen, target].map(|address| address.ip().to_canonical());
    if listen.is_unspecified() {
        // An address is this machine's where a socket can have it.
        return target.is_unspecified() || UdpSocket::bind((target, 0)).is_ok();
    }
    listen == target || target.is_unspecified() && listen.is_loopback()
}

/// A client, and the socket by which the target knows it.
struct Client {
    address: SocketAddr,
    socket: UdpSocket,
    heard: Instant,
}

struct Between {
    forward: Forward,
    socket: UdpSocket,
    address: SocketAddr,
    target: SocketAddr,
    clients: Vec<Client>,
    told: Option<Instant>,
}

impl Between {
    fn run(mut self) {
        let mut buffer = vec![0; LONGEST];
        while !self.forward.is_ending() {
            self.take_requests(&mut buffer);
            self.take_answers(&mut buffer);
            if let Err(error) = self.wait() {
                return self.forward.tell(Notice::Ended(error.to_string()));
            }
        }
    }

    fn take_requests(&mut self, buffer: &mut [u8]) {
        for _ in 0..TURN {
            let (count, from) = match self.socket.recv_from(buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // An answer of ours found no listener any more.
                Err(_) => continue,
            };
            let now = Instant::now();
            let bytes = buffer.get(..count).unwrap_or_default();
            let sent = match self.client(now, from) {
                Ok(client) => {
                    client.heard = now;
                    client.socket.send(bytes).map(drop)
                }
                Err(error) => Err(error),
            };
            self.forward.notes.note(now, true, Some((from, self.seen_target(from))), bytes);
            if let Err(error) = sent {
                self.target_gone(now, &error);
            }
        }
    }

    fn take_answers(&mut self, buffer: &mut [u8]) {
        for index in 0..self.clients.len() {
            for _ in 0..TURN {
                let Some(client) = self.clients.get(index) else { break };
                let received = client.socket.recv(buffer);
                let (now, to) = (Instant::now(), client.address);
                let count = match received {
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => {
                        self.target_gone(now, &error);
                        break;
                    }
                };
                let bytes = buffer.get(..count).unwrap_or_default();
                // A client that has gone does not miss it.
                let _ = self.socket.send_to(bytes, to);
                self.forward.notes.note(now, false, Some((self.seen_target(to), to)), bytes);
            }
        }
    }

    /// The target as the log has it: itself, so that its port says what it is. Between two versions of
    /// IP there are no packets, and our own address stands for it.
    fn seen_target(&self, client: SocketAddr) -> SocketAddr {
        match client.is_ipv4() == self.target.is_ipv4() {
            true => self.target,
            false => self.address,
        }
    }

    fn client(&mut self, now: Instant, address: SocketAddr) -> io::Result<&mut Client> {
        let known = self.clients.iter().position(|client| client.address == address);
        let index = match known {
            Some(index) => index,
            None => self.add(now, address)?,
        };
        self.clients.get_mut(index).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn add(&mut self, now: Instant, address: SocketAddr) -> io::Result<usize> {
        let local: IpAddr = match self.target {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        // Of its own: a robot keeps its sequence state by source port.
        let socket = UdpSocket::bind((local, 0))?;
        socket.connect(self.target)?;
        socket.set_nonblocking(true)?;
        if self.clients.len() >= MOST_CLIENTS
            && let Some(oldest) =
                (0..self.clients.len()).min_by_key(|index| self.clients[*index].heard)
        {
            let left = self.clients.swap_remove(oldest);
            self.forward.tell(Notice::ClientLeft(left.address));
        }
        self.clients.push(Client { address, socket, heard: now });
        self.forward.tell(Notice::Client(address, self.clients.len()));
        Ok(self.clients.len() - 1)
    }

    fn target_gone(&mut self, now: Instant, error: &io::Error) {
        let is_old = |told: Instant| now.saturating_duration_since(told) >= TELL_AGAIN;
        if self.told.is_none_or(is_old) {
            self.told = Some(now);
            self.forward.tell(Notice::TargetGone(error.to_string()));
        }
    }

    fn wait(&self) -> io::Result<()> {
        let own = [self.forward.waker.as_fd(), self.socket.as_fd()];
        let all = own.into_iter().chain(self.clients.iter().map(|client| client.socket.as_fd()));
        let mut fds: Vec<_> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        match poll(&mut fds, None::<&Timespec>) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if fds.first().is_some_and(|waker| !waker.revents().is_empty()) {
            self.forward.waker.reset();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tap_of_itself_is_noticed() {
        let is = |listen: &str, target: &str| {
            is_itself(listen.parse().expect("an address"), target.parse().expect("an address"))
        };
        assert!(is("127.0.0.1:5000", "127.0.0.1:5000"));
        assert!(is("0.0.0.0:5000", "127.0.0.1:5000"));
        assert!(is("127.0.0.1:5000", "0.0.0.0:5000"));
        assert!(is("[::]:5000", "127.0.0.1:5000"));
        assert!(is("127.0.0.1:5000", "[::ffff:127.0.0.1]:5000"));
        assert!(!is("127.0.0.1:5000", "127.0.0.1:5001"));
        assert!(!is("127.0.0.1:5000", "127.0.0.2:5000"));
        assert!(!is("0.0.0.0:5000", "192.0.2.1:5000"));
    }
}
