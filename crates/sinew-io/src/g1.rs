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
    teach::{Answer, Event, Output, RequestId, RobotRequest, Session, Settings, State},
    trajectory::{self, Recording, Reduced},
};
use sinew_wire::teach::KEYFRAME_SLOTS;
use tokio::sync::{broadcast, oneshot};

use crate::{
    lock,
    tap::{Socket, Tap, Way},
    wake::Waker,
};

/// Events a slow listener may fall behind by: ten seconds of status at 50 Hz.
const EVENTS: usize = 512;
/// How long a robot gets to confirm the end of teaching when the daemon ends.
const FAREWELL: Duration = Duration::from_secs(2);

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
    stops: Mutex<Stops>,
    ending: AtomicBool,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

struct Request {
    request: RobotRequest,
    by: String,
    ticket: Ticket,
    answer: oneshot::Sender<Outcome>,
}

/// Who wants the robot to stop; looked at before anything else.
#[derive(Debug, Default)]
struct Stops {
    count: u64,
    /// The last one.
    by: String,
    /// How many of them the session knows.
    done: u64,
    /// How often a client has gone that held the controls.
    gone: u64,
    /// Which that is, until the session knows.
    who: Option<String>,
    /// How often the controls were taken from a client.
    takeovers: u64,
    /// Which client took them last.
    taker: String,
    /// How many takeovers the session knows.
    takeovers_done: u64,
}

/// A moment between two stops. What was asked for before a stop is not done after it, however many
/// steps it takes; neither is what moves the arms, when another client has taken the controls, nor
/// what repeats, when the client that held them has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    stops: u64,
    gone: u64,
    takeovers: u64,
}

/// A recording that was reduced on a thread of its own.
type Work = (RequestId, Result<Reduced, trajectory::Error>);

impl G1 {
    /// Starts the thread, which keeps up the session with the robot at `address`.
    pub fn spawn(address: SocketAddr, settings: Settings) -> io::Result<Self> {
        Self::spawn_with(address, settings, Tap::default())
    }

    /// Does the same with something between socket and session.
    pub fn spawn_with(address: SocketAddr, settings: Settings, tap: Tap) -> io::Result<Self> {
        let local: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        // A socket of its own: the robot keeps its sequence state by source port.
        let socket = UdpSocket::bind(local)?;
        socket.connect(address)?;
        let unix_time = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs());
        let settings = Settings { unix_time: unix_time.ok(), ..settings };
        let session = Session::new(settings, Instant::now());
        let shared = Arc::new(Shared {
            waker: Waker::new()?,
            state: Mutex::new(Arc::new(session.state().clone())),
            stops: Mutex::default(),
            ending: AtomicBool::new(false),
            thread: Mutex::new(None),
        });
        let (requests, inbox) = mpsc::channel();
        let (reduced, finished) = mpsc::channel();
        let (events, _) = broadcast::channel(EVENTS);
        let pump = Pump {
            session,
            robot: address,
            socket: Socket::new(socket, Way::In, tap)?,
            inbox,
            shared: Arc::clone(&shared),
            events: events.clone(),
            waiting: HashMap::new(),
            reduced,
            finished,
            closed: false,
        };
        let thread = thread::Builder::new().name("g1".into()).spawn(move || pump.run())?;
        *lock(&shared.thread) = Some(thread);
        Ok(G1 { shared, requests, events })
    }

    /// Has a request carried out; answered when the robot has answered, or did not.
    pub async fn teach(&self, request: RobotRequest, by: &str) -> Outcome {
        self.teach_since(self.ticket(), request, by).await
    }

    /// The same for a step of something longer, unless the robot was stopped since the ticket.
    pub async fn teach_since(&self, ticket: Ticket, request: RobotRequest, by: &str) -> Outcome {
        if request == RobotRequest::Stop {
            let mut stops = lock(&self.shared.stops);
            // The request itself is the stop.
            stops.count += 1;
            stops.done += 1;
            stops.by = by.into();
        }
        let (answer, answered) = oneshot::channel();
        let gone = || Refusal::new(Code::LinkLost, "the robot's thread has ended");
        let request = Request { request, by: by.into(), ticket, answer };
        self.requests.send(request).map_err(|_| gone())?;
        self.shared.waker.wake();
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Now, for [`teach_since`](Self::teach_since).
    pub fn ticket(&self) -> Ticket {
        let stops = lock(&self.shared.stops);
        Ticket { stops: stops.count, gone: stops.gone, takeovers: stops.takeovers }
    }

    /// Stops playback and teaching, before anything that is waiting.
    pub fn stop(&self, by: &str) {
        let mut stops = lock(&self.shared.stops);
        stops.count += 1;
        stops.by = by.into();
        drop(stops);
        self.shared.waker.wake();
    }

    /// Whoever held the controls has gone: what repeats ends.
    pub fn release(&self, by: &str) {
        let mut stops = lock(&self.shared.stops);
        stops.gone += 1;
        stops.who = Some(by.into());
        drop(stops);
        self.shared.waker.wake();
    }

    /// This client has taken the controls from another: what plays ends, before anything that is
    /// waiting; teaching goes on.
    pub fn taken(&self, by: &str) {
        let mut stops = lock(&self.shared.stops);
        stops.takeovers += 1;
        stops.taker = by.into();
        drop(stops);
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
    robot: SocketAddr,
    socket: Socket,
    inbox: mpsc::Receiver<Request>,
    shared: Arc<Shared>,
    events: broadcast::Sender<Arc<Event>>,
    waiting: HashMap<RequestId, oneshot::Sender<Outcome>>,
    reduced: mpsc::Sender<Work>,
    finished: mpsc::Receiver<Work>,
    closed: bool,
}

impl Pump {
    fn run(mut self) {
        let mut end_at = None;
        loop {
            let now = Instant::now();
            if self.shared.ending.load(Ordering::Acquire) && end_at.is_none() {
                end_at = Some(now + FAREWELL);
                self.session.close(now);
                self.drain();
            }
            self.requests(now);
            self.read();
            let now = Instant::now();
            if self.session.poll_timeout().is_some_and(|due| due <= now) {
                self.session.handle_timeout(now);
            }
            self.drain();
            self.publish();
            if self.closed || end_at.is_some_and(|end| now >= end) {
                return self.socket.send_rest();
            }
            let due = [self.session.poll_timeout(), self.socket.poll_timeout(), end_at];
            let until = due.into_iter().flatten().min();
            if self.shared.waker.wait(Some(self.socket.as_fd()), until).is_err() {
                // Without poll there is no waiting; do not spin.
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn requests(&mut self, now: Instant) {
        loop {
            // What comes after a stop is taken after it, and what came before it not at all.
            let request = self.inbox.try_recv();
            self.stop(now);
            self.take(now);
            let Ok(Request { request, by, ticket, answer }) = request else { break };
            if let Some(refusal) = self.is_too_late(&request, ticket) {
                let _ = answer.send(Err(refusal));
                continue;
            }
            let id = self.session.request(now, request, &by);
            self.waiting.insert(id, answer);
            self.drain();
        }
        let gone = lock(&self.shared.stops).who.take();
        if let Some(by) = gone {
            self.session.release(now, &by);
            self.drain();
        }
        while let Ok((id, result)) = self.finished.try_recv() {
            self.session.handle_reduced(now, id, result);
            self.drain();
        }
    }

    /// Stops the robot if somebody wants that.
    fn stop(&mut self, now: Instant) {
        let mut stops = lock(&self.shared.stops);
        if stops.done < stops.count {
            stops.done = stops.count;
            let by = stops.by.clone();
            drop(stops);
            self.session.stop(now, &by);
            self.drain();
        }
    }

    /// Ends what plays if another client has the controls now.
    fn take(&mut self, now: Instant) {
        let mut stops = lock(&self.shared.stops);
        if stops.takeovers_done < stops.takeovers {
            stops.takeovers_done = stops.takeovers;
            let by = stops.taker.clone();
            drop(stops);
            self.session.taken(now, &by);
            self.drain();
        }
    }

    /// Why a request that was on its way is not carried out any more.
    fn is_too_late(&self, request: &RobotRequest, ticket: Ticket) -> Option<Refusal> {
        let stops = lock(&self.shared.stops);
        let stopped =
            ticket.stops < stops.count && *request != RobotRequest::Stop && !request.is_query();
        let repeats = matches!(request, RobotRequest::Perform { looped: true, .. });
        let message = if stopped {
            format!("{} stopped the robot before it was sent", stops.by)
        } else if request.moves() && ticket.takeovers < stops.takeovers {
            format!("{} took the controls before it was sent", stops.taker)
        } else if repeats && ticket.gone < stops.gone {
            "the client that asked for it has gone, and the motion repeats".into()
        } else {
            return None;
        };
        Some(Refusal::new(Code::NotReady, message))
    }

    fn read(&mut self) {
        while let Some((_, datagram)) = self.socket.receive() {
            self.session.handle_input(Instant::now(), &datagram);
            self.drain();
        }
    }

    fn publish(&self) {
        *lock(&self.shared.state) = Arc::new(self.session.state().clone());
    }

    fn drain(&mut self) {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Transmit(datagram) => self.socket.send(self.robot, &datagram),
                Output::Reduce { id, recording } => self.reduce(id, recording),
                Output::Reply { id, outcome } => {
                    if let Some(answer) = self.waiting.remove(&id) {
                        // The client that was answered sees what the answer brought about.
                        self.publish();
                        let _ = answer.send(outcome);
                    }
                }
                Output::Event(event) => {
                    self.closed |= event == Event::Closed;
                    let _ = self.events.send(Arc::new(event));
                }
            }
        }
        self.socket.send_due();
    }

    /// Reduces a recording beside this thread, so that a stop never waits for it.
    fn reduce(&self, id: RequestId, recording: Arc<Recording>) {
        let (reduced, shared) = (self.reduced.clone(), Arc::clone(&self.shared));
        let work = move || {
            let _ = reduced.send((id, trajectory::reduce(&recording, KEYFRAME_SLOTS)));
            shared.waker.wake();
        };
        if thread::Builder::new().name("reduce".into()).spawn(work).is_err() {
            let error = trajectory::Error::new("reduction", "a thread for it", "none");
            let _ = self.reduced.send((id, Err(error)));
            self.shared.waker.wake();
        }
    }
}
