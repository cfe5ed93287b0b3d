//! A vacuum on a thread of its own.

mod line;
mod pump;
mod urgent;
mod watch;

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use rtrb::{Producer, PushError, RingBuffer};
use sinew_robot::{
    Code, Refusal,
    vacuum::{Command, Event, Session, Settings, State},
};
use tokio::sync::{broadcast, oneshot};

use crate::{Address, lock, relay::Relay, tap::Tap, wake::Waker};
use line::Line;
use pump::Pump;
use urgent::{Counts, Order, Urgent};
use watch::Watch;

/// Events a slow listener may fall behind by: two seconds of status at 500 Hz.
const EVENTS: usize = 1024;
/// Commands that may wait for the thread.
const REQUESTS: usize = 1024;

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
