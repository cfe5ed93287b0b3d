//! Clients that do what they can to keep others from stopping the robot. Tests use them too.
//!
//! All run on threads with the lowest priority: what is measured is what they make the daemon do,
//! not that they use the processors themselves.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use serde_json::json;

use crate::priority::lower_priority;

/// How long a socket may take before the thread looks whether it is to end.
const NOTICE: Duration = Duration::from_millis(50);
/// How long to wait before a connection that was refused or closed is tried again.
const PAUSE: Duration = Duration::from_millis(10);
/// Topics of a bomb: a mebibyte of JSON.
const BOMB_TOPICS: usize = 110_000;
/// Connections that a crowd of strangers renews at a time, one pause apart.
const RENEWED: usize = 10;
/// Addresses that a crowd of strangers comes from. None of them is that of other clients, whose
/// port numbers would run out.
const STRANGERS_FROM: u8 = 100;

/// Where a daemon listens.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) tcp: SocketAddr,
    pub(crate) lines: SocketAddr,
    pub(crate) http: SocketAddr,
    /// What clients show first, where they need to show something.
    pub(crate) token: Option<String>,
}

/// Threads that go on until this is dropped.
pub(crate) struct Attack {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    ending: AtomicBool,
    strokes: AtomicU64,
}

impl Attack {
    fn new() -> Self {
        Attack { shared: Arc::default(), threads: Vec::new() }
    }

    /// Clients that subscribe to the same topic 110,000 times in a message, again and again.
    pub(crate) fn bombs(target: &Target, count: usize) -> Self {
        let message = json!({ "type": "Subscribe", "topics": vec!["state"; BOMB_TOPICS] });
        let mut attack = Self::new();
        for _ in 0..count {
            attack.flood(target.clone(), true, format!("{message}\n"));
        }
        attack
    }

    /// Clients that send a mebibyte of small numbers in a message, again and again. Every other
    /// one says something valid first.
    pub(crate) fn floods(target: &Target, count: usize) -> Self {
        let numbers = "0,".repeat((1 << 19) - 32);
        let message = format!("{{\"type\":\"Robots\",\"x\":[{numbers}0]}}\n");
        let mut attack = Self::new();
        for number in 0..count {
            attack.flood(target.clone(), number % 2 == 0, message.clone());
        }
        attack
    }

    /// Connections that say nothing or do not finish what they say, from many addresses to all
    /// ports; they are renewed all the time.
    pub(crate) fn strangers(target: &Target, count: usize) -> Self {
        let mut attack = Self::new();
        let target = target.clone();
        attack.spawn(move |shared| crowd(&target, count, shared));
        attack
    }

    /// Clients that subscribe to everything and read nothing.
    pub(crate) fn deaf(target: &Target, count: usize) -> Self {
        let mut attack = Self::new();
        let target = target.clone();
        attack.spawn(move |shared| {
            let topics = json!(["state", "events", "sensors/gd32_status"]);
            let subscribe = json!({ "type": "Subscribe", "topics": topics });
            let mut sockets = VecDeque::new();
            while !shared.is_ending() {
                let socket = (sockets.len() < count).then(|| greet(&target));
                if let Some(Ok(mut socket)) = socket
                    && socket.write_all(format!("{subscribe}\n").as_bytes()).is_ok()
                {
                    sockets.push_back(socket);
                    shared.strokes.fetch_add(1, Ordering::AcqRel);
                } else {
                    thread::sleep(PAUSE);
                }
            }
        });
        attack
    }

    /// How many messages were sent, or connections opened.
    pub(crate) fn strokes(&self) -> u64 {
        self.shared.strokes.load(Ordering::Acquire)
    }

    fn flood(&mut self, target: Target, greets: bool, message: String) {
        self.spawn(move |shared| {
            while !shared.is_ending() {
                let socket = if greets { greet(&target) } else { open(target.lines) };
                let _ = socket.and_then(|socket| pour(socket, message.as_bytes(), shared));
                thread::sleep(PAUSE);
            }
        });
    }

    fn spawn(&mut self, run: impl FnOnce(&Shared) + Send + 'static) {
        let shared = Arc::clone(&self.shared);
        self.threads.push(thread::spawn(move || {
            let _ = lower_priority();
            run(&shared);
        }));
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }
}

fn open(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect_timeout(&address, NOTICE)?;
    socket.set_write_timeout(Some(NOTICE))?;
    Ok(socket)
}

/// A client of the JSON lines whose first message is a valid one.
fn greet(target: &Target) -> io::Result<TcpStream> {
    let mut socket = open(target.lines)?;
    let first = match &target.token {
        Some(token) => json!({ "type": "Auth", "token": token }),
        None => json!({ "type": "Robots" }),
    };
    socket.write_all(format!("{first}\n").as_bytes())?;
    Ok(socket)
}

/// Sends a message until the connection or the attack ends; answers are read and forgotten.
fn pour(mut socket: TcpStream, message: &[u8], shared: &Shared) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    let mut answers = vec![0; 64 << 10];
    let mut sent = 0;
    while !shared.is_ending() {
        let idle = match socket.write(message.get(sent..).unwrap_or_default()) {
            Ok(count) => {
                sent += count;
                false
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
            Err(error) => return Err(error),
        };
        if sent == message.len() {
            sent = 0;
            shared.strokes.fetch_add(1, Ordering::AcqRel);
        }
        match socket.read(&mut answers) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if idle {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn crowd(target: &Target, count: usize, shared: &Shared) {
    let mut sockets = VecDeque::new();
    for number in 0.. {
        if shared.is_ending() {
            return;
        }
        match stranger(target, number) {
            Ok(socket) => {
                sockets.push_back(socket);
                shared.strokes.fetch_add(1, Ordering::AcqRel);
            }
            Err(_) => thread::sleep(PAUSE),
        }
        if sockets.len() > count {
            sockets.pop_front();
        }
        if sockets.len() == count && number % RENEWED == 0 {
            thread::sleep(PAUSE);
        }
    }
}

fn stranger(target: &Target, number: usize) -> io::Result<TcpStream> {
    let from = Ipv4Addr::new(127, 0, 1, 1 + (number % usize::from(STRANGERS_FROM)) as u8);
    let (address, words) = target.half_said(number);
    let mut socket = connect_from(from, address)?;
    socket.write_all(words)?;
    Ok(socket)
}

impl Target {
    /// One of the ports, and nothing or the beginning of something that could be said there: what
    /// makes no sense would be answered and the connection closed.
    pub(crate) fn half_said(&self, number: usize) -> (SocketAddr, &'static [u8]) {
        let ports: [(SocketAddr, [&[u8]; 3]); 3] = [
            (self.tcp, [b"", b"{\"type\":", b"\0\0\0\x20{"]),
            (self.lines, [b"", b"{\"type\":", b"{\"type\":\"Stop\"}"]),
            (self.http, [b"", b"GET / HTTP/1.1\r\nHos", b"POST /api/v1/robots/vac"]),
        ];
        let (address, words) = ports[number % 3];
        (address, words[number / 3 % 3])
    }
}

/// A connection from an address of this machine. It ends without a trace: ports that wait for
/// stragglers would run out.
pub(crate) fn connect_from(from: Ipv4Addr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    // Counts for connecting too.
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(NOTICE))?;
    bind(&socket, &SocketAddr::from((from, 0)))?;
    connect(&socket, &to)?;
    Ok(TcpStream::from(socket))
}
