//! A vacuum on a thread of its own.

use std::{
    io, mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use rtrb::{Consumer, Producer, PushError, RingBuffer};
use sinew_robot::{
    Code, Refusal,
    vacuum::{Command, Event, Output, Session, Settings, State},
};
use tokio::sync::{broadcast, oneshot};

use crate::{
    Address, lock,
    port::Port,
    relay::Relay,
    sim::Simulator,
    tap::{Tap, Way},
    wake::Waker,
};

/// Events a slow listener may fall behind by: two seconds of status at 500 Hz.
const EVENTS: usize = 1024;
/// Commands that may wait for the thread.
const REQUESTS: usize = 1024;
/// How long to wait before opening a port again, at first and at most.
const REOPEN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// A vacuum, wherever it is. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct Vacuum {
    shared: Arc<Shared>,
    requests: Arc<Mutex<Requests>>,
    events: broadcast::Sender<Arc<Event>>,
    real_time: bool,
}

#[derive(Debug)]
struct Shared {
    waker: Waker,
    state: Mutex<Arc<State>>,
    settings: Settings,
    /// How often somebody wanted everything to stop; looked at before anything else. What was
    /// asked before a stop is not carried out after it.
    stops: AtomicU64,
    /// Who that was last.
    stopped_by: Mutex<String>,
    ending: AtomicBool,
    /// Whether status packets are told as events.
    tells_status: AtomicBool,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

#[derive(Debug)]
enum Request {
    Execute {
        command: Command,
        by: String,
        /// The stops before it.
        stops: u64,
        answer: oneshot::Sender<Result<(), Refusal>>,
    },
    Release {
        by: String,
    },
}

/// The way to the thread, while there is one.
type Requests = Option<Producer<Request>>;

/// What the thread says to others.
enum Said {
    Event(Event),
    Answer(oneshot::Sender<Result<(), Refusal>>, Result<(), Refusal>),
}

impl Vacuum {
    /// Starts the thread, which opens the port and keeps it open.
    pub fn spawn(address: Address, settings: Settings, tap: Tap) -> io::Result<Self> {
        let now = Instant::now();
        let session = Session::new(settings.clone(), now);
        let shared = Arc::new(Shared {
            waker: Waker::new()?,
            state: Mutex::new(Arc::new(session.state().clone())),
            settings,
            stops: AtomicU64::new(0),
            stopped_by: Mutex::default(),
            ending: AtomicBool::new(false),
            tells_status: AtomicBool::new(true),
            thread: Mutex::new(None),
        });
        let (requests, inbox) = RingBuffer::new(REQUESTS);
        let requests = Arc::new(Mutex::new(Some(requests)));
        let (events, _) = broadcast::channel(EVENTS);
        let told = events.clone();
        let relay = Relay::spawn("vacuum-events", EVENTS, move |said| pass_on(&told, said))?;
        let pump = Pump {
            session,
            line: Line::new(address, now)?,
            readable: false,
            tap,
            inbox,
            requests: Arc::clone(&requests),
            shared: Arc::clone(&shared),
            relay,
            events: events.clone(),
            stops: 0,
        };
        let (priority, raised) = mpsc::channel();
        let thread = thread::Builder::new().name("vacuum".into()).spawn(move || {
            let _ = priority.send(crate::priority::raise(20));
            pump.run();
        })?;
        *lock(&shared.thread) = Some(thread);
        let real_time = raised.recv().unwrap_or(false);
        Ok(Vacuum { shared, requests, events, real_time })
    }

    /// Has a command carried out; answered once its frames are on their way.
    pub async fn execute(&self, command: Command, by: &str) -> Result<(), Refusal> {
        let (answer, answered) = oneshot::channel();
        let stops = self.shared.stops.load(Ordering::Acquire);
        self.request(Request::Execute { command, by: by.into(), stops, answer })?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    fn request(&self, request: Request) -> Result<(), Refusal> {
        let pushed = match &mut *lock(&self.requests) {
            Some(requests) => requests.push(request),
            None => return Err(gone()),
        };
        self.shared.waker.wake();
        pushed.map_err(|PushError::Full(_)| {
            Refusal::new(Code::Busy, format!("{REQUESTS} commands wait already"))
        })
    }

    /// Stops everything, before anything that is waiting.
    pub fn stop(&self, by: &str) {
        *lock(&self.shared.stopped_by) = by.into();
        self.shared.stops.fetch_add(1, Ordering::AcqRel);
        self.shared.waker.wake();
    }

    /// Tells that whoever held the controls has gone.
    pub fn release(&self, by: &str) {
        // A stop is more than what is wanted, and needs no room.
        if self.request(Request::Release { by: by.into() }).is_err() {
            self.stop(by);
        }
    }

    /// What the robot is doing.
    pub fn state(&self) -> Arc<State> {
        Arc::clone(&lock(&self.shared.state))
    }

    /// Says whether status packets are to be told as events, as they are at first: waking a
    /// listener a hundred times a second costs more than all the rest.
    pub fn tell_status(&self, wanted: bool) {
        // A swap and no store: who says no must see what those who said yes had done before.
        self.shared.tells_status.swap(wanted, Ordering::AcqRel);
    }

    /// Everything that happens, every status included unless [`tell_status`](Self::tell_status)
    /// says otherwise.
    pub fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }

    /// The settings it runs with.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// How long ago the robot was last heard.
    pub fn since_seen(&self) -> Option<Duration> {
        self.state().last_seen.map(|seen| seen.elapsed())
    }

    /// Whether the thread was given real-time priority, which takes a privilege.
    pub const fn has_real_time_priority(&self) -> bool {
        self.real_time
    }

    /// Stops the robot, then the thread. Returns when both have happened.
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
    line: Line,
    /// The port has something that was not read yet.
    readable: bool,
    tap: Tap,
    inbox: Consumer<Request>,
    requests: Arc<Mutex<Requests>>,
    shared: Arc<Shared>,
    relay: Relay<Said>,
    events: broadcast::Sender<Arc<Event>>,
    /// The stops that were carried out.
    stops: u64,
}

fn gone() -> Refusal {
    Refusal::new(Code::LinkLost, "the robot's thread has ended")
}

/// Tells whoever listens; that nobody does is no error.
fn pass_on(events: &broadcast::Sender<Arc<Event>>, said: Said) {
    match said {
        Said::Event(event) => drop(events.send(Arc::new(event))),
        Said::Answer(answer, result) => drop(answer.send(result)),
    }
}

// The thread of a pump may have real-time priority, and so takes no lock that it might have to wait
// for: whoever held it would not get a core to let go of it.

impl Pump {
    fn run(mut self) {
        let mut buffer = [0; 4096];
        loop {
            let now = Instant::now();
            if self.line.open_when_due(now) {
                self.session.connected(now);
                self.drain(now);
            }
            if self.shared.ending.load(Ordering::Acquire) {
                self.stop(now, "the daemon's end");
                // Who asks from now on is told; who asked before learns it when the rest is dropped.
                *lock(&self.requests) = None;
                return;
            }
            self.requests(now);
            self.read(&mut buffer);
            let now = Instant::now();
            if self.session.poll_timeout().is_some_and(|due| due <= now) {
                self.session.handle_timeout(now);
            }
            self.drain(now);
            self.publish();
            self.wait();
        }
    }

    fn requests(&mut self, now: Instant) {
        loop {
            let request = self.inbox.pop();
            let count = self.shared.stops.load(Ordering::Acquire);
            if count != self.stops {
                self.stops = count;
                let by = self.shared.stopped_by.try_lock().map(|by| by.clone()).ok();
                self.stop(now, by.as_deref().unwrap_or("a client"));
            }
            match request {
                Ok(Request::Execute { stops, answer, .. }) if stops < count => {
                    let message = "a stop came first, so it was not sent";
                    self.say(Said::Answer(answer, Err(Refusal::new(Code::NotReady, message))));
                }
                Ok(Request::Execute { command, by, answer, .. }) => {
                    let result = self.session.execute(now, command, &by);
                    self.drain(now);
                    // Whoever is answered should see what the command brought about.
                    self.publish();
                    self.say(Said::Answer(answer, result));
                }
                Ok(Request::Release { by }) => {
                    self.session.release(now, &by);
                    self.drain(now);
                }
                Err(_) => return,
            }
        }
    }

    /// Shows the state, unless somebody looks at it just now: then the next time.
    fn publish(&self) {
        if let Ok(mut state) = self.shared.state.try_lock() {
            *state = Arc::new(self.session.state().clone());
        }
    }

    fn say(&mut self, said: Said) {
        if let Err(said) = self.relay.say(said) {
            pass_on(&self.events, said);
        }
    }

    fn stop(&mut self, now: Instant, by: &str) {
        if let Some(port) = &mut self.line.port {
            port.discard_waiting();
        }
        // Cannot be refused; without a port there is nobody to tell.
        let _ = self.session.execute(now, Command::DriveReset, by);
        self.drain(now);
    }

    fn read(&mut self, buffer: &mut [u8]) {
        let readable = mem::take(&mut self.readable);
        while let Some(port) = &self.line.port {
            // Without new bytes there may still be some that the tap held back.
            let got = if readable { port.read(buffer) } else { Ok(0) };
            let to_its_end = readable && port.is_gone();
            match got {
                Ok(count) => {
                    let now = Instant::now();
                    let bytes = buffer.get(..count).unwrap_or_default();
                    let bytes = self.tap.pass(now, Way::In, bytes);
                    if !bytes.is_empty() {
                        self.session.handle_input(now, &bytes);
                        self.drain(now);
                    }
                    if count < buffer.len() && !to_its_end {
                        return;
                    }
                }
                Err(_) => self.lose_port(),
            }
        }
    }

    /// Sends and tells what the session has to send and to tell.
    fn drain(&mut self, now: Instant) {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Transmit(frame) => self.send(now, frame.as_bytes()),
                Output::Event(Event::Status { .. })
                    if !self.shared.tells_status.load(Ordering::Acquire) => {}
                Output::Event(event) => self.say(Said::Event(event)),
            }
        }
        self.send(now, &[]);
    }

    fn send(&mut self, now: Instant, bytes: &[u8]) {
        let bytes = self.tap.pass(now, Way::Out, bytes);
        if bytes.is_empty() {
            return;
        }
        if let Some(port) = &mut self.line.port
            && port.write(&bytes).is_err()
        {
            self.lose_port();
        }
    }

    fn lose_port(&mut self) {
        let now = Instant::now();
        self.line.lose(now);
        self.readable = false;
        self.session.disconnected(now);
        while let Some(output) = self.session.poll_output() {
            if let Output::Event(event) = output {
                self.say(Said::Event(event));
            }
        }
    }

    fn wait(&mut self) {
        let due = [self.session.poll_timeout(), self.tap.poll_timeout(), self.line.reopen_at()];
        let until = due.into_iter().flatten().min();
        let port = self.line.port.as_ref();
        let ready = self.shared.waker.wait(port.map(Port::events), until);
        match (ready, &mut self.line.port) {
            (Ok(true), Some(port)) => {
                let events = port.take_events();
                let flushed = match &events {
                    Ok(events) if events.writable => port.flush(),
                    _ => Ok(()),
                };
                match events {
                    Ok(events) if flushed.is_ok() => self.readable |= events.readable,
                    _ => self.lose_port(),
                }
            }
            (Ok(_), _) => {}
            // Without poll there is no waiting; do not spin.
            (Err(_), _) => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// The port, or the plan to open it.
struct Line {
    address: Address,
    port: Option<Port>,
    retry_at: Instant,
    back_off: Duration,
    /// The robot itself, when it is simulated.
    _simulator: Option<Simulator>,
}

impl Line {
    fn new(address: Address, now: Instant) -> io::Result<Self> {
        if matches!(address, Address::Udp { .. }) {
            let message = "a vacuum is on a serial line: wanted serial:PATH or sim:";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut simulator = None;
        let mut address = address;
        if let Address::Sim { seed } = address {
            let options = sinew_sim::vacuum::Options { seed, ..Default::default() };
            let started = Simulator::spawn(options, None)?;
            address = Address::Serial { path: started.path().to_owned(), baud: crate::sim::BAUD };
            simulator = Some(started);
        }
        Ok(Line { address, port: None, retry_at: now, back_off: REOPEN.0, _simulator: simulator })
    }

    /// Opens the port if it is closed and its time has come; whether it did.
    fn open_when_due(&mut self, now: Instant) -> bool {
        if self.port.is_some() || now < self.retry_at {
            return false;
        }
        let Address::Serial { path, baud } = &self.address else { return false };
        match Port::open_serial(path, *baud) {
            Ok(port) => {
                self.port = Some(port);
                true
            }
            Err(_) => {
                self.lose(now);
                false
            }
        }
    }

    fn lose(&mut self, now: Instant) {
        let was_open = self.port.take().is_some();
        self.back_off = if was_open { REOPEN.0 } else { (self.back_off * 2).min(REOPEN.1) };
        self.retry_at = now + self.back_off;
    }

    fn reopen_at(&self) -> Option<Instant> {
        self.port.is_none().then_some(self.retry_at)
    }
}
