//! The ways to say Stop: each port, by a connection that was there before and by one of its own.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crate::attackers::Target;

const STOP: &[u8] = br#"{"type":"Stop"}"#;
const ROBOTS: &[u8] = br#"{"type":"Robots"}"#;
/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// A port and how it is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Prefixed,
    Lines,
    WebSocket,
    Post,
}

impl Way {
    pub(crate) const ALL: [Way; 4] = [Way::Prefixed, Way::Lines, Way::WebSocket, Way::Post];

    fn address(self, target: &Target) -> SocketAddr {
        match self {
            Way::Prefixed => target.tcp,
            Way::Lines => target.lines,
            Way::WebSocket | Way::Post => target.http,
        }
    }

    /// A message as it stands in the stream.
    fn framed(self, message: &[u8], target: &Target) -> Vec<u8> {
        match self {
            Way::Prefixed => [&(message.len() as u32).to_be_bytes(), message].concat(),
            Way::Lines => [message, b"\n"].concat(),
            Way::WebSocket => {
                // Text, short, masked with zeros.
                let head = [0x81, 0x80 | message.len() as u8, 0, 0, 0, 0];
                [&head, message].concat()
            }
            Way::Post => {
                let (host, length) = (target.http, message.len());
                let head = format!(
                    "POST /api/v1/robots/vacuum/commands HTTP/1.1\r\nHost: {host}\r\n\
                     Content-Length: {length}\r\n\r\n"
                );
                [head.as_bytes(), message].concat()
            }
        }
    }
}

/// A connection whose answers are read and forgotten.
pub(crate) struct Stopper {
    way: Way,
    target: Target,
    socket: TcpStream,
    ended: Arc<AtomicBool>,
}

impl Stopper {
    /// Connects, without a word.
    pub(crate) fn connect(way: Way, target: &Target) -> io::Result<Self> {
        let mut socket = TcpStream::connect_timeout(&way.address(target), PATIENCE)?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        if way == Way::WebSocket {
            shake_hands(&mut socket, target.http)?;
        }
        Ok(Stopper { way, target: target.clone(), socket, ended: Arc::default() })
    }

    /// One that has been heard before.
    pub(crate) fn connect_old(way: Way, target: &Target) -> io::Result<Self> {
        let mut stopper = Self::connect(way, target)?;
        stopper.say(ROBOTS)?;
        stopper.drain()?;
        Ok(stopper)
    }

    pub(crate) fn stop(&mut self) -> io::Result<()> {
        self.say(STOP)
    }

    /// Whether the daemon closed it.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn say(&mut self, message: &[u8]) -> io::Result<()> {
        self.socket.write_all(&self.way.framed(message, &self.target))
    }

    /// Reads on another thread, until the connection ends.
    fn drain(&self) -> io::Result<()> {
        let (mut socket, ended) = (self.socket.try_clone()?, Arc::clone(&self.ended));
        socket.set_read_timeout(None)?;
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while socket.read(&mut buffer).is_ok_and(|count| count > 0) {}
            ended.store(true, Ordering::Release);
        });
        Ok(())
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

fn shake_hands(socket: &mut TcpStream, host: SocketAddr) -> io::Result<()> {
    write!(
        socket,
        "GET /ws HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    if head.starts_with(b"HTTP/1.1 101") {
        Ok(())
    } else {
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}
