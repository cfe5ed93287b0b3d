//! A vacuum on a thread of its own.

mod line;
mod urgent;
mod watch;

use std::{
    io, mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
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
    tap::{Tap, Way},
    wake::Waker,
};
use line::Line;
use urgent::{Counts, Order, Urgent};
use watch::Watch;

/// Events a slow listener may fall behind by: two seconds of status at 500 Hz.
const EVENTS: usize = 1024;
/// Commands that may wait for the thread.
const REQUESTS: usize = 1024;
/// Buffers read before the clock and the clients are looked at again: a peer that writes without
/// end is not to be listened to without end.
const READS: usize = 4;
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
    /// Looked at before anything else.
    urgent: Urgent,
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
        received: Instant,
        /// The orders before it. What was asked before a stop is not carried out after it.
        before: Counts,
        answer: oneshot::Sender<Result<(), Refusal>>,
    },
    /// Answered once the orders before it are carried out.
    Confirm { answer: oneshot::Sender<Result<(), Refusal>> },
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
        let line = Line::new(address, now)?;
        let settings = Settings { baud: line.baud(), ..settings };
        let session = Session::new(settings.clone(), now);
        let shared = Arc::new(Shared {
            waker: Waker::new()?,
            state: Mutex::new(Arc::new(session.state().clone())),
            settings,
            urgent: Urgent::default(),
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
            line,
            readable: false,
            tap,
            inbox,
            requests: Arc::clone(&requests),
            shared: Arc::clone(&shared),
            relay,
            events: events.clone(),
            done: Counts::default(),
            watch: Watch::new(),
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
        self.execute_since(Instant::now(), command, by).await
    }

    /// The same for a command whose bytes came at `received`: a velocity counts from then on, and
    /// one that has expired since is refused. A stop waits for nothing.
    pub async fn execute_since(
        &self,
        received: Instant,
        command: Command,
        by: &str,
    ) -> Result<(), Refusal> {
        let (answer, answered) = oneshot::channel();
        let before = self.shared.urgent.counts();
        let order = match command {
            Command::DriveReset => Some(Order::Stop),
            Command::DriveDisable => Some(Order::Disable),
            _ => None,
        };
        let asked = match order {
            Some(order) => {
                self.order(order, by);
                self.request(Request::Confirm { answer })
            }
            None => {
                let by = by.into();
                self.request(Request::Execute { command, by, received, before, answer })
            }
        };
        match asked {
            Ok(()) => answered.await.unwrap_or_else(|_| Err(gone())),
            // The order itself needed no room.
            Err(refusal) if order.is_some() && refusal.code == Code::Busy => Ok(()),
            Err(refusal) => Err(refusal),
        }
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

    /// Stops everything, before anything that is waiting, which is then refused: `drive` Reset.
    pub fn stop(&self, by: &str) {
        self.order(Order::Stop, by);
    }

    /// Stops the wheels before anything that is waiting, of which motion and `drive` Enable are
    /// then refused: `drive` Disable.
    pub fn disable(&self, by: &str) {
        self.order(Order::Disable, by);
    }

    /// Tells that `by` took the controls from another client, whose motion ends; what it asked of
    /// the wheels and still waits is refused.
    pub fn taken(&self, by: &str) {
        self.order(Order::Taken, by);
    }

    /// Tells that `by`, which held the controls, has gone; what it asked of the wheels and still
    /// waits is refused.
    pub fn release(&self, by: &str) {
        self.order(Order::Release, by);
    }

    fn order(&self, order: Order, by: &str) {
        self.shared.urgent.give(order, by);
        self.shared.waker.wake();
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
    /// The orders that were carried out.
    done: Counts,
    watch: Watch,
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
            self.notice_pause();
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
            self.carry_out_orders();
            // What the robot said comes first: a command must not find it silent because this
            // thread was.
            self.read(&mut buffer);
            self.requests();
            let now = Instant::now();
            // Also when nothing is due: frames are given as the line has room for them now.
            self.session.handle_timeout(now);
            self.drain(now);
            self.publish();
            self.wait();
        }
    }

    /// Stops the robot when this thread did not run for longer than a velocity counts.
    fn notice_pause(&mut self) {
        let late = self.watch.late();
        if late > self.shared.settings.deadman {
            let now = Instant::now();
            self.session.paused(now, late);
            self.drain(now);
        }
    }

    fn requests(&mut self) {
        loop {
            let request = self.inbox.pop();
            // After the request was taken: whatever it waited for comes before it.
            self.notice_pause();
            self.carry_out_orders();
            match request {
                Ok(Request::Execute { command, by, received, before, answer }) => {
                    let result = match self.overtaken(&command, before) {
                        Some(refusal) => Err(refusal),
                        None => self.execute(received, command, &by),
                    };
                    self.say(Said::Answer(answer, result));
                }
                Ok(Request::Confirm { answer }) => {
                    self.publish();
                    self.say(Said::Answer(answer, Ok(())));
                }
                Err(_) => return,
            }
        }
    }

    fn execute(&mut self, received: Instant, command: Command, by: &str) -> Result<(), Refusal> {
        let now = Instant::now();
        let result = self.session.execute_received(now, received, command, by);
        self.drain(now);
        // A client that is answered should see what its command brought about.
        self.publish();
        result
    }

    /// Why a command is not carried out after the orders that came while it waited.
    fn overtaken(&self, command: &Command, before: Counts) -> Option<Refusal> {
        let came = |order: &Order| before.of(*order) < self.done.of(*order);
        let [stop, others @ ..] = &Order::ALL;
        let overtaken = came(stop) || (command.is_driving() && others.iter().any(came));
        let message = "a stop came first, so it was not sent";
        overtaken.then(|| Refusal::new(Code::NotReady, message))
    }

    fn carry_out_orders(&mut self) {
        let given = self.shared.urgent.counts();
        for order in Order::ALL {
            if given.of(order) != self.done.of(order) {
                let by = self.shared.urgent.by(order);
                self.carry_out(order, &by);
            }
        }
        self.done = given;
    }

    fn carry_out(&mut self, order: Order, by: &str) {
        let now = Instant::now();
        match order {
            Order::Stop => return self.stop(now, by),
            // Cannot be refused.
            Order::Disable => drop(self.session.execute(now, Command::DriveDisable, by)),
            Order::Taken => self.session.taken(now, by),
            Order::Release => self.session.release(now, by),
        }
        self.drain(now);
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
        // Cannot be refused.
        let _ = self.session.execute(now, Command::DriveReset, by);
        self.drain(now);
    }

    /// Hands in what has come. What is left of a flood is read the next time.
    fn read(&mut self, buffer: &mut [u8]) {
        let readable = mem::take(&mut self.readable);
        for _ in 0..READS {
            let Some(port) = &self.line.port else { return };
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
        self.readable = readable;
    }

    /// Sends and tells what the session has to send and to tell. A port that takes no more is given
    /// no more: with the session a newer velocity replaces an older one and a stop overtakes both.
    fn drain(&mut self, now: Instant) {
        while !self.line.is_stuck()
            && let Some(output) = self.session.poll_output()
        {
            match output {
                Output::Transmit(frame) => self.send(now, frame.as_bytes()),
                Output::Event(event) => self.tell(event),
            }
        }
        while let Some(event) = self.session.poll_event() {
            self.tell(event);
        }
        self.send(now, &[]);
        if self.line.is_stuck_for_long(now) {
            self.lose_port();
        }
    }

    fn tell(&mut self, event: Event) {
        let is_status = matches!(event, Event::Status { .. });
        if !is_status || self.shared.tells_status.load(Ordering::Acquire) {
            self.say(Said::Event(event));
        }
    }

    fn send(&mut self, now: Instant, bytes: &[u8]) {
        let bytes = self.tap.pass(now, Way::Out, bytes);
        if bytes.is_empty() {
            return;
        }
        if let Some(port) = &mut self.line.port
            && port.write(now, &bytes).is_err()
        {
            self.lose_port();
        }
    }

    fn lose_port(&mut self) {
        let now = Instant::now();
        self.line.lose(now);
        self.readable = false;
        self.session.disconnected(now);
        while let Some(event) = self.session.poll_event() {
            self.say(Said::Event(event));
        }
    }

    fn wait(&mut self) {
        let due = [self.session.poll_timeout(), self.tap.poll_timeout(), self.line.reopen_at()];
        let until = due.into_iter().flatten().min();
        let until = if self.readable { Some(Instant::now()) } else { until };
        // A pause since the last look at the clock is not to be taken for waiting.
        self.notice_pause();
        self.watch.wait(until.map(|until| until.saturating_duration_since(Instant::now())));
        let port = self.line.port.as_ref();
        let ready = self.shared.waker.wait(port.map(Port::events), until);
        match (ready, &mut self.line.port) {
            (Ok(true), Some(port)) => {
                let events = port.take_events();
                let flushed = match &events {
                    Ok(events) if events.writable => port.flush(Instant::now()),
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
