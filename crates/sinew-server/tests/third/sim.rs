//! The beacon's own side of both protocols.

use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_io::{
    Pty,
    driver::{Handle, Policy, PtyLink, UdpServer},
};
use sinew_robot::{NoJob, Order, OrderKind, Origin, Output, RequestId, Session};

use crate::{finder::Scan, lamp::Lines};

/// How often the lamp says its state, and the finder scans.
const PERIOD: Duration = Duration::from_millis(20);
/// How long the finder goes on when it is not asked again.
const FORGETS: Duration = Duration::from_secs(2);

const POLICY: Policy =
    Policy { name: "simulated", priority: None, relayed: false, farewell: Duration::ZERO };

/// A simulated part, which runs until it is dropped.
pub(crate) struct Simulated<S: Session>(Handle<S>);

impl<S: Session> Drop for Simulated<S> {
    fn drop(&mut self) {
        self.0.shut_down();
    }
}

/// A lamp at the other end of a pseudo-terminal, and that one's name.
pub(crate) fn lamp() -> io::Result<(Simulated<Lamp>, PathBuf)> {
    let pty = Pty::open(None)?;
    let path = pty.path().to_owned();
    let lamp =
        Lamp { level: 0, lines: Lines::default(), frames: VecDeque::new(), at: Instant::now() };
    let handle = Handle::spawn(lamp, Box::new(PtyLink::new(pty)?), POLICY, Arc::new(()), None)?;
    Ok((Simulated(handle), path))
}

/// A range finder behind a port, and where that is.
pub(crate) fn finder(seed: u64) -> io::Result<(Simulated<Finder>, SocketAddr)> {
    let link = UdpServer::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?)?;
    let address = link.address();
    let number = seed as u32;
    let finder = Finder { number, host: None, at: Instant::now(), due: false };
    let handle = Handle::spawn(finder, Box::new(link), POLICY, Arc::new(()), None)?;
    Ok((Simulated(handle), address))
}

pub(crate) struct Lamp {
    level: u8,
    lines: Lines,
    frames: VecDeque<String>,
    /// When it says its state next.
    at: Instant,
}

pub(crate) struct Finder {
    number: u32,
    /// Who wants scans, and until when.
    host: Option<(SocketAddr, Instant)>,
    /// When it scans next.
    at: Instant,
    due: bool,
}

impl Session for Lamp {
    type Request = NoJob;
    type Reply = ();
    type Event = ();
    type State = ();
    type Peer = ();
    type Job = NoJob;
    type Done = NoJob;

    fn connected(&mut self, _now: Instant) {}

    fn disconnected(&mut self, _now: Instant, _reason: &str) {}

    fn handle_input(&mut self, _now: Instant, (): (), bytes: &[u8]) {
        for line in self.lines.push(bytes) {
            let level = match line.split_once(' ') {
                Some(("level", level)) => level.parse().ok(),
                None if line == "stop" => Some(0),
                _ => None,
            };
            if let Some(level) = level {
                self.level = level;
                self.frames.push_back(format!("done {level}\n"));
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now >= self.at {
            self.at = now + PERIOD;
            // Light is warm.
            let decidegrees = 200 + i16::from(self.level);
            self.frames.push_back(format!("state {} {decidegrees}\n", self.level));
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.at)
    }

    fn poll_output(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        let frame = room.then(|| self.frames.pop_front())??;
        bytes.extend_from_slice(frame.as_bytes());
        Some(Output::Transmit(()))
    }

    fn request(&mut self, _now: Instant, request: NoJob, _origin: &Origin) -> RequestId {
        match request {}
    }

    fn is_overtaken(request: &NoJob, _by: OrderKind) -> bool {
        match *request {}
    }

    fn order(&mut self, _now: Instant, _order: &Order) {}

    fn close(&mut self, _now: Instant, _by: &Arc<str>) {}

    fn is_closed(&self) -> bool {
        true
    }

    fn state(&self) -> &() {
        &()
    }
}

impl Session for Finder {
    type Request = NoJob;
    type Reply = ();
    type Event = ();
    type State = ();
    type Peer = SocketAddr;
    type Job = NoJob;
    type Done = NoJob;

    fn connected(&mut self, _now: Instant) {}

    fn disconnected(&mut self, _now: Instant, _reason: &str) {}

    fn handle_input(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        match bytes {
            b"scan" => self.host = Some((from, now + FORGETS)),
            b"halt" | b"bye" => self.host = None,
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.host = self.host.filter(|(_, until)| now < *until);
        if now >= self.at {
            self.at = now + PERIOD;
            self.due = true;
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.at)
    }

    fn poll_output(&mut self, room: bool, bytes: &mut Vec<u8>) -> Option<Output<Self>> {
        let (host, _) = self.host.filter(|_| room && self.due)?;
        self.due = false;
        self.number += 1;
        let scan = Scan { number: self.number, ranges: vec![1000, 2000, 3000, 4000] };
        bytes.extend(scan.to_vec());
        Some(Output::Transmit(host))
    }

    fn request(&mut self, _now: Instant, request: NoJob, _origin: &Origin) -> RequestId {
        match request {}
    }

    fn is_overtaken(request: &NoJob, _by: OrderKind) -> bool {
        match *request {}
    }

    fn order(&mut self, _now: Instant, _order: &Order) {}

    fn close(&mut self, _now: Instant, _by: &Arc<str>) {}

    fn is_closed(&self) -> bool {
        true
    }

    fn state(&self) -> &() {
        &()
    }
}
