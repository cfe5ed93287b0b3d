use std::{
    io,
    net::SocketAddr,
    os::fd::BorrowedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_faults::DatagramFaults;
use sinew_wire::unitree::{DeviceKey, Form};

use super::{
    Link, OpenSsl,
    attempt::{Attempt, Manners, Refused},
    connection::{Connection, LONGEST, Stage},
    dtls::NO_SHARED_CIPHER,
    secret::is_secret,
};
use crate::link::poller::Poller;

/// A channel that lasted less ended of itself.
const SHORT: Duration = Duration::from_secs(10);
/// How long to wait after a robot answered and no channel came of it.
const AGAIN: Duration = Duration::from_secs(2);
/// From the seed of a connection's faults to that of the next.
const SEEDS: u64 = 1 << 16;
/// Signalling threads that may run at a time: abandoned ones end by themselves, but a name server
/// that does not answer may hold them for long.
const THREADS: usize = 3;

/// A robot, and how to come to its channel.
#[derive(Debug, Clone)]
pub struct WebRtcOptions {
    /// Its name or address.
    pub host: String,
    /// Where its signalling listens; without one, where robots do.
    pub port: Option<u16>,
    /// Its own key, which newer firmware wants.
    pub key: Option<DeviceKey>,
    /// Only this interface, by name or address; all otherwise.
    pub interface: Option<String>,
}

/// The data channel of a robot.
pub struct WebRtcLink {
    options: Arc<WebRtcOptions>,
    ciphers: OpenSsl,
    poller: Poller,
    /// Held by each signalling thread.
    threads: Arc<()>,
    state: State,
    manners: Manners,
    /// When the last channel was open.
    opened: Option<Instant>,
    /// When [`Link::open`] has something to do.
    act: Option<Instant>,
    /// What happens to datagrams; each connection has other luck.
    faults: Option<(DatagramFaults, u64)>,
}

enum State {
    /// Nothing is tried before this.
    Closed(Option<Instant>),
    Signalling(Attempt),
    Opening(Connection),
    Open(Connection),
}

impl WebRtcLink {
    /// The channel of this robot.
    pub fn new(options: WebRtcOptions) -> io::Result<Self> {
        Ok(WebRtcLink {
            options: Arc::new(options),
            ciphers: OpenSsl::new()?,
            poller: Poller::new()?,
            threads: Arc::new(()),
            state: State::Closed(None),
            manners: Manners::default(),
            opened: None,
            act: None,
            faults: None,
        })
    }

    fn begin(&mut self) -> io::Result<()> {
        if Arc::strong_count(&self.threads) <= THREADS {
            let (options, alive) = (Arc::clone(&self.options), Arc::clone(&self.threads));
            let attempt = Attempt::begin(options, self.ciphers, self.manners, &self.poller, alive)?;
            self.state = State::Signalling(attempt);
        }
        Ok(())
    }

    fn refused(&mut self, now: Instant, Refused { words, after }: Refused) -> io::Error {
        self.state = State::Closed(Some(now + after));
        io::Error::new(io::ErrorKind::NotConnected, words)
    }

    /// Notices when the channel is gone.
    fn settle(&mut self, now: Instant) -> io::Result<()> {
        let State::Open(connection) = &self.state else { return Ok(()) };
        let Some(words) = connection.down() else { return Ok(()) };
        let error = io::Error::new(io::ErrorKind::ConnectionReset, words);
        // One that ends as soon as it is there may do so each time.
        let soon = self.opened.is_some_and(|opened| now < opened + SHORT);
        self.state = State::Closed(soon.then(|| now + AGAIN));
        Err(error)
    }

    fn look(&mut self, now: Instant) {
        if let State::Open(connection) | State::Opening(connection) = &mut self.state {
            connection.look(now);
        }
    }
}

fn waits<T>() -> io::Result<T> {
    Err(io::ErrorKind::WouldBlock.into())
}

impl Link for WebRtcLink {
    type Peer = Form;

    fn open(&mut self, now: Instant) -> io::Result<()> {
        self.act = None;
        if let State::Closed(after) = &self.state {
            if after.is_some_and(|after| now < after) {
                return waits();
            }
            self.begin()?;
        }
        if let State::Signalling(attempt) = &self.state {
            match attempt.outcome() {
                None => return waits(),
                Some(Err(refused)) => return Err(self.refused(now, refused)),
                Some(Ok(mut connection)) => {
                    if let Some((faults, seed)) = &mut self.faults {
                        connection.damage(*faults, *seed);
                        *seed = seed.wrapping_add(SEEDS);
                    }
                    connection.watch(&self.poller)?;
                    self.state = State::Opening(connection);
                }
            }
        }
        self.look(now);
        let State::Opening(connection) = &self.state else { return waits() };
        let stage = connection.stage();
        if let Some(words) = connection.down() {
            let words = words.to_owned();
            // One of the two must begin, and certificates are of one kind or the other.
            self.manners.eager ^= stage == Stage::Sctp;
            self.manners.rsa ^= words.contains(NO_SHARED_CIPHER);
            return Err(self.refused(now, Refused { words, after: AGAIN }));
        }
        match std::mem::replace(&mut self.state, State::Closed(None)) {
            State::Opening(connection) if stage == Stage::Open => {
                self.state = State::Open(connection);
                self.opened = Some(now);
                Ok(())
            }
            state => {
                self.state = state;
                waits()
            }
        }
    }

    fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    fn events(&self) -> Option<BorrowedFd<'_>> {
        (!matches!(self.state, State::Closed(_))).then(|| self.poller.as_fd())
    }

    fn take_events(&mut self, now: Instant) -> io::Result<()> {
        self.look(now);
        if !self.is_open() {
            self.act = Some(now);
        }
        self.settle(now)
    }

    fn receive(&mut self, now: Instant, buffer: &mut [u8]) -> io::Result<Option<(usize, Form)>> {
        let State::Open(connection) = &mut self.state else { return Ok(None) };
        if now >= connection.poll_timeout() {
            connection.advance(now);
        }
        let received = connection.receive(buffer);
        if received.is_none() {
            self.settle(now)?;
        }
        Ok(received)
    }

    fn send(&mut self, now: Instant, form: Form, bytes: &[u8]) -> io::Result<()> {
        let State::Open(connection) = &mut self.state else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let sent = connection.send(now, form, bytes);
        self.settle(now)?;
        sent
    }

    fn flush(&mut self, now: Instant) -> io::Result<()> {
        if let State::Open(connection) = &mut self.state {
            connection.advance(now);
        }
        self.settle(now)
    }

    fn close(&mut self) {
        self.state = State::Closed(None);
    }

    fn longest(&self) -> usize {
        LONGEST
    }

    fn discard(&mut self) {
        if let State::Open(connection) = &mut self.state {
            connection.discard();
        }
    }

    fn has_room(&self) -> bool {
        matches!(&self.state, State::Open(connection) if connection.has_room())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = match &self.state {
            State::Opening(connection) | State::Open(connection) => Some(connection.poll_timeout()),
            State::Closed(_) | State::Signalling(_) => None,
        };
        [due, self.act].into_iter().flatten().min()
    }

    fn address_of(&self, _form: Form) -> Option<SocketAddr> {
        match &self.state {
            State::Open(connection) => connection.peer(),
            _ => None,
        }
    }

    fn is_stream(&self) -> bool {
        false
    }

    fn is_reliable(&self, _form: Form) -> bool {
        true
    }

    fn damage(&mut self, faults: DatagramFaults, seed: u64) {
        self.faults = Some((faults, seed));
    }

    fn is_secret(&self, form: Form, bytes: &[u8]) -> bool {
        is_secret(form, bytes)
    }
}

#[cfg(all(test, feature = "sim"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::{net::Ipv4Addr, thread};

    use rustix::time::{ClockId, clock_gettime};
    use sinew_robot::unitree::{Session, Settings};
    use sinew_sim::g1::{Channel, What};

    use super::*;
    use crate::{
        Habits, Signalling, WebRtcServer, WebRtcServerOptions,
        pump::{Handle, Policy},
    };

    const LIMIT: Duration = Duration::from_secs(30);

    /// Lets the robot run for this long, or until a message comes that has these words.
    fn run(robot: &mut WebRtcServer, time: Duration, words: &str) -> Option<Channel> {
        let (begin, mut buffer) = (Instant::now(), vec![0; robot.longest()]);
        while begin.elapsed() < time {
            let now = Instant::now();
            robot.take_events(now).unwrap();
            while let Some((count, channel)) = robot.receive(now, &mut buffer).unwrap() {
                let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
                let opened = words.is_empty() && channel.what == What::Opened;
                if opened || (!words.is_empty() && text.contains(words)) {
                    return Some(channel);
                }
            }
            robot.flush(now).unwrap();
            thread::yield_now();
        }
        None
    }

    /// Processor time of all threads but this one.
    fn others() -> Duration {
        let used = |clock| {
            let time = clock_gettime(clock);
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        };
        used(ClockId::ProcessCPUTime).saturating_sub(used(ClockId::ThreadCPUTime))
    }

    #[test]
    fn a_session_runs_on_it_and_rests_when_there_is_nothing_to_do() {
        let mut robot = WebRtcServer::new(WebRtcServerOptions {
            listen: Some((Ipv4Addr::LOCALHOST, 0).into()),
            listen_old: None,
            signalling: Signalling::Static,
            interface: Some("127.0.0.1".into()),
            habits: Habits::default(),
        })
        .unwrap();
        let link = WebRtcLink::new(WebRtcOptions {
            host: "127.0.0.1".into(),
            port: robot.address().map(|address| address.port()),
            key: None,
            interface: Some("127.0.0.1".into()),
        });
        let policy =
            Policy { name: "g1", priority: None, relayed: false, farewell: Duration::from_secs(1) };
        let session = Session::new(Settings::new(0, 1, OpenSsl::digest), Instant::now());
        let handle =
            Handle::spawn(session, Box::new(link.unwrap()), policy, Arc::new(()), None).unwrap();
        let opened = run(&mut robot, LIMIT, "").unwrap();
        let to = Channel { what: What::Message(Form::Text), ..opened };
        let challenge = br#"{"type":"validation","topic":"","data":"0123456789abcdef"}"#;
        robot.send(Instant::now(), to, challenge).unwrap();
        // The vectors have this answer.
        run(&mut robot, LIMIT, "w+wJRSatpJQf2TpbA1FlIA==").unwrap();
        let before = others();
        assert_eq!(run(&mut robot, Duration::from_secs(2), "no such words"), None);
        let used = others().saturating_sub(before);
        assert!(used < Duration::from_millis(200), "{used:?} in 2 s");
        handle.shut_down();
        let begin = Instant::now();
        let mut buffer = vec![0; robot.longest()];
        loop {
            robot.take_events(Instant::now()).unwrap();
            match robot.receive(Instant::now(), &mut buffer).unwrap() {
                Some((_, Channel { what: What::Closed, .. })) => break,
                _ => assert!(begin.elapsed() < Duration::from_secs(3), "no goodbye"),
            }
        }
    }
}
