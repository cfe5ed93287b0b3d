//! A G1's teaching service on a thread of its own.

use std::{
    collections::HashMap,
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    os::fd::AsFd,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use sinew_robot::{
    Code, Refusal,
    teach::{Answer, Event, Output, RequestId, Session, Settings, State, Verb},
};
use tokio::sync::{broadcast, oneshot};

use crate::{lock, wake::Waker};

/// Events a slow listener may fall behind by: ten seconds of status at 50 Hz.
const EVENTS: usize = 512;
/// How long a robot gets to confirm the end of teaching when the daemon ends.
const FAREWELL: Duration = Duration::from_secs(2);
/// A UDP datagram cannot be longer.
const MAX_DATAGRAM: usize = 65_535;

type Outcome = Result<Answer, Refusal>;

/// A G1, wherever it is. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct G1 {
    shared: Arc<Shared>,
    requests: mpsc::Sender<Request>,
    events: broadcast::Sender<Arc<Event>>,
}

#[derive(Debug)]
struct Shared {
    waker: Waker,
    state: Mutex<Arc<State>>,
    /// Who wants it to stop; looked at before anything else.
    stop: Mutex<Option<String>>,
    ending: AtomicBool,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

struct Request {
    verb: Verb,
    by: String,
    answer: oneshot::Sender<Outcome>,
}

impl G1 {
    /// Starts the thread, which keeps up the session with the robot at `address`.
    pub fn spawn(address: SocketAddr, settings: Settings) -> io::Result<Self> {
        let local: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        // A socket of its own: the robot keeps its sequence state by source port.
        let socket = UdpSocket::bind(local)?;
        socket.connect(address)?;
        socket.set_nonblocking(true)?;
        let unix_time = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs());
        let settings = Settings { unix_time: unix_time.ok(), ..settings };
        let session = Session::new(settings, Instant::now());
        let shared = Arc::new(Shared {
            waker: Waker::new()?,
            state: Mutex::new(Arc::new(session.state().clone())),
            stop: Mutex::default(),
            ending: AtomicBool::new(false),
            thread: Mutex::new(None),
        });
        let (requests, inbox) = mpsc::channel();
        let (events, _) = broadcast::channel(EVENTS);
        let pump = Pump {
            session,
            socket,
            inbox,
            shared: Arc::clone(&shared),
            events: events.clone(),
            waiting: HashMap::new(),
            closed: false,
        };
        let thread = thread::Builder::new().name("g1".into()).spawn(move || pump.run())?;
        *lock(&shared.thread) = Some(thread);
        Ok(G1 { shared, requests, events })
    }

    /// Has a verb carried out; answered when the robot has answered, or did not.
    pub async fn teach(&self, verb: Verb, by: &str) -> Outcome {
        let (answer, answered) = oneshot::channel();
        let gone = || Refusal::new(Code::LinkLost, "the robot's thread has ended");
        self.requests.send(Request { verb, by: by.into(), answer }).map_err(|_| gone())?;
        self.shared.waker.wake();
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Stops playback and teaching, before anything that is waiting.
    pub fn stop(&self, by: &str) {
        *lock(&self.shared.stop) = Some(by.into());
        self.shared.waker.wake();
    }

    /// What the robot is doing.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&lock(&self.shared.state))
    }

    /// Everything that happens, every status included.
    pub fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }

    /// How long ago the robot was last heard.
    pub fn since_seen(&self) -> Option<Duration> {
        self.state().last_seen.map(|seen| seen.elapsed())
    }

    /// Ends teaching, then the thread. Returns when both have happened.
    pub fn shut_down(&self) {
        self.shared.ending.store(true, Ordering::Release);
        self.shared.waker.wake();
        if let Some(thread) = lock(&self.shared.thread).take() {
            let _ = thread.join();
        }
    }
}

struct Pump {
    session: Session,
    socket: UdpSocket,
    inbox: mpsc::Receiver<Request>,
    shared: Arc<Shared>,
    events: broadcast::Sender<Arc<Event>>,
    waiting: HashMap<RequestId, oneshot::Sender<Outcome>>,
    closed: bool,
}

impl Pump {
    fn run(mut self) {
        let mut buffer = vec![0; MAX_DATAGRAM];
        let mut end_at = None;
        loop {
            let now = Instant::now();
            if self.shared.ending.load(Ordering::Acquire) && end_at.is_none() {
                end_at = Some(now + FAREWELL);
                self.session.close(now);
                self.drain();
            }
            self.requests(now);
            self.read(&mut buffer);
            let now = Instant::now();
            if self.session.poll_timeout().is_some_and(|due| due <= now) {
                self.session.handle_timeout(now);
            }
            self.drain();
            *lock(&self.shared.state) = Arc::new(self.session.state().clone());
            if self.closed || end_at.is_some_and(|end| now >= end) {
                return;
            }
            let until = self.session.poll_timeout().into_iter().chain(end_at).min();
            if self.shared.waker.wait(Some(self.socket.as_fd()), until).is_err() {
                // Without poll there is no waiting; do not spin.
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn requests(&mut self, now: Instant) {
        loop {
            let request = self.inbox.try_recv();
            let stopped_by = lock(&self.shared.stop).take();
            if let Some(by) = stopped_by {
                self.session.stop(now, &by);
                self.drain();
            }
            let Ok(Request { verb, by, answer }) = request else { return };
            let id = self.session.request(now, verb, &by);
            self.waiting.insert(id, answer);
            self.drain();
        }
    }

    fn read(&mut self, buffer: &mut [u8]) {
        // Bounded, so that a flood does not keep the session from its own times.
        for _ in 0..256 {
            match self.socket.recv(buffer) {
                Ok(count) => {
                    let datagram = buffer.get(..count).unwrap_or_default();
                    self.session.handle_input(Instant::now(), datagram);
                    self.drain();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // A robot that is not there answers with ICMP; the session notices by itself.
                Err(_) => {}
            }
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.session.poll_output() {
            match output {
                // A datagram that cannot be sent is a lost one; lost ones are retried.
                Output::Transmit(datagram) => drop(self.socket.send(&datagram)),
                Output::Event(event) => {
                    if let Event::Done { id, outcome } = &event
                        && let Some(answer) = self.waiting.remove(id)
                    {
                        let _ = answer.send(outcome.clone());
                    }
                    self.closed |= event == Event::Closed;
                    let _ = self.events.send(Arc::new(event));
                }
            }
        }
    }
}
