//! Runs a session on a link, on a thread of its own: the same for every robot and every simulator.
//!
//! The thread may have real-time priority, and so takes no lock that it might have to wait for: the
//! thread that held it would not get a core to let go of it. Requests reach it, and events and
//! answers leave it, through rings; orders are flags. While nothing but numbers changes, a turn of
//! its loop allocates nothing.

use std::{
    io,
    sync::{
        Arc, Mutex, TryLockError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use rtrb::{Consumer, Producer, PushError, RingBuffer};
use sinew_robot::{
    Code, Order, OrderKind, Origin, Output, Overtaking, Refusal, RequestId, Session,
};
use tokio::sync::oneshot;

use crate::{
    link::Link,
    lock,
    orders::{Orders, Seen},
    priority,
    tell::{Answer, Listener, Teller},
    wake::Waker,
    watch::Watch,
};

/// Requests that may wait for the thread.
const REQUESTS: usize = 1024;
/// Bytes read before the clock and the clients are looked at again: a peer that sends without end
/// is not to be listened to without end.
const READ: usize = 16 << 10;
/// Requests carried out before the link is looked at again.
const TURN: usize = 64;
/// How long to wait before opening a link again, at first and at most.
const REOPEN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// How often a link is asked that takes its time to open.
const OPENING: Duration = Duration::from_millis(20);

/// What a thread is to its session.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// The thread's name.
    pub name: &'static str,
    /// Its real-time priority, if it should have one.
    pub priority: Option<u8>,
    /// Whether listeners and clients are told by another thread.
    pub relayed: bool,
    /// How long the session may take to end.
    pub farewell: Duration,
}

/// A client that waits for its answer.
type Waiting<S> = oneshot::Sender<Result<<S as Session>::Reply, Refusal>>;

/// Does what would take a session's thread too long.
pub type Work<S> = Box<dyn FnMut(<S as Session>::Job) -> <S as Session>::Done + Send + 'static>;

/// A session that runs. Clones are handles to the same one.
#[derive(Debug)]
pub struct Handle<S: Session> {
    shared: Arc<Shared<S>>,
    real_time: bool,
}

struct Shared<S: Session> {
    waker: Waker,
    state: Mutex<S::State>,
    orders: Orders,
    /// The way to the thread, while there is one.
    mailbox: Mutex<Option<Producer<Mail<S>>>>,
    ending: AtomicBool,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

enum Mail<S: Session> {
    Request(S::Request, Origin, Waiting<S>),
    /// Answered once the orders before it are carried out.
    Confirm(oneshot::Sender<()>),
}

impl<S: Session> Clone for Handle<S> {
    fn clone(&self) -> Self {
        Handle { shared: Arc::clone(&self.shared), real_time: self.real_time }
    }
}

impl<S: Session> std::fmt::Debug for Shared<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl<S: Session> Handle<S> {
    /// Starts the thread, which opens the link and keeps it open.
    pub fn spawn(
        session: S,
        link: Box<dyn Link<Peer = S::Peer>>,
        policy: Policy,
        listener: Arc<dyn Listener<S::Event>>,
        work: Option<Work<S>>,
    ) -> io::Result<Self> {
        let (mailbox, inbox) = RingBuffer::new(REQUESTS);
        let shared = Arc::new(Shared {
            waker: Waker::new()?,
            state: Mutex::new(session.state().clone()),
            orders: Orders::default(),
            mailbox: Mutex::new(Some(mailbox)),
            ending: AtomicBool::new(false),
            thread: Mutex::new(None),
        });
        let jobs = work.map(|work| Jobs::spawn(policy.name, work, Arc::clone(&shared)));
        let tell = match policy.relayed {
            true => Teller::relayed(policy.name, listener)?,
            false => Teller::direct(listener),
        };
        let (now, longest) = (Instant::now(), link.longest());
        let pump = Pump {
            session,
            link,
            policy,
            inbox,
            shared: Arc::clone(&shared),
            tell,
            jobs: jobs.transpose()?,
            waiting: Vec::with_capacity(TURN),
            seen: Seen::default(),
            overtaking: Overtaking::default(),
            watch: Watch::new(),
            out: Vec::with_capacity(longest),
            open_at: now,
            back_off: REOPEN.0,
            more: false,
            unpublished: false,
        };
        let (priority, raised) = mpsc::channel();
        let thread = thread::Builder::new().name(policy.name.into()).spawn(move || {
            let _ = priority.send(policy.priority.is_some_and(priority::raise));
            pump.run();
        })?;
        *lock(&shared.thread) = Some(thread);
        let real_time = raised.recv().unwrap_or(false);
        Ok(Handle { shared, real_time })
    }

    /// Has a request carried out. The first poll puts it on its way.
    pub async fn request(&self, request: S::Request, origin: Origin) -> Result<S::Reply, Refusal> {
        let (answer, answered) = oneshot::channel();
        self.post(Mail::Request(request, origin, answer))?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Has a request carried out, and leaves it to the caller when to wait for what became of it.
    #[cfg(feature = "capture")]
    pub fn ask(
        &self,
        request: S::Request,
        origin: Origin,
    ) -> Result<oneshot::Receiver<Result<S::Reply, Refusal>>, Refusal> {
        let (answer, answered) = oneshot::channel();
        self.post(Mail::Request(request, origin, answer))?;
        Ok(answered)
    }

    /// Has a request carried out that is itself a stop: it overtakes everything that waits, and is
    /// carried out even when there is no room for it.
    pub async fn stop_by(
        &self,
        request: S::Request,
        origin: Origin,
        stop: Order,
    ) -> Result<S::Reply, Refusal> {
        self.shared.orders.announce(stop.clone());
        let (answer, answered) = oneshot::channel();
        if let Err(refusal) = self.post(Mail::Request(request, origin, answer)) {
            self.order(stop);
            return Err(refusal);
        }
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Waits until the orders so far are carried out, unless too much waits already.
    pub async fn confirm(&self) -> Result<(), Refusal> {
        let (answer, answered) = oneshot::channel();
        match self.post(Mail::Confirm(answer)) {
            Err(refusal) if refusal.code == Code::Busy => Ok(()),
            Err(refusal) => Err(refusal),
            Ok(()) => answered.await.map_err(|_| gone()),
        }
    }

    fn post(&self, mail: Mail<S>) -> Result<(), Refusal> {
        let pushed = match &mut *lock(&self.shared.mailbox) {
            Some(mailbox) => mailbox.push(mail),
            None => return Err(gone()),
        };
        self.shared.waker.wake();
        pushed.map_err(|PushError::Full(_)| {
            Refusal::new(Code::Busy, format!("{REQUESTS} commands wait already"))
        })
    }

    /// Gives an order, which is carried out before anything that waits.
    pub fn order(&self, order: Order) {
        self.shared.orders.give(order);
        self.shared.waker.wake();
    }

    /// What is known about the robot.
    pub fn state(&self) -> S::State {
        lock(&self.shared.state).clone()
    }

    /// Whether the thread was given the real-time priority it should have, which takes a privilege.
    pub const fn has_real_time_priority(&self) -> bool {
        self.real_time
    }

    /// Ends the session, then the thread. Returns when both have happened.
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

/// Work that is done beside the session's thread.
struct Jobs<S: Session> {
    given: mpsc::Sender<S::Job>,
    done: mpsc::Receiver<S::Done>,
    under_way: usize,
}

impl<S: Session> Jobs<S> {
    fn spawn(name: &str, mut work: Work<S>, shared: Arc<Shared<S>>) -> io::Result<Self> {
        let ((given, jobs), (finished, done)) = (mpsc::channel(), mpsc::channel());
        let run = move || {
            for job in jobs {
                if finished.send(work(job)).is_err() {
                    return;
                }
                shared.waker.wake();
            }
        };
        thread::Builder::new().name(format!("{name}-work")).spawn(run)?;
        Ok(Jobs { given, done, under_way: 0 })
    }
}

struct Pump<S: Session> {
    session: S,
    link: Box<dyn Link<Peer = S::Peer>>,
    policy: Policy,
    inbox: Consumer<Mail<S>>,
    shared: Arc<Shared<S>>,
    tell: Teller<S>,
    jobs: Option<Jobs<S>>,
    /// Clients whose requests the session has not answered.
    waiting: Vec<(RequestId, Waiting<S>)>,
    seen: Seen,
    overtaking: Overtaking,
    watch: Watch,
    out: Vec<u8>,
    open_at: Instant,
    back_off: Duration,
    /// The link may have more to read.
    more: bool,
    /// The state could not be shown.
    unpublished: bool,
}

impl<S: Session> Pump<S> {
    fn run(mut self) {
        let mut buffer = vec![0; self.link.longest()];
        let mut end_at = None;
        if self.link.is_open() {
            self.connected(Instant::now());
        }
        loop {
            self.notice_pause();
            self.open_when_due(Instant::now());
            // Before the orders are looked at: those that were given before the end come before it.
            let ending = self.shared.ending.load(Ordering::Acquire);
            self.carry_out_orders();
            if end_at.is_none() && ending {
                let now = Instant::now();
                end_at = Some(now + self.policy.farewell);
                self.end(now);
            }
            // What the robot said comes first: a command must not find it silent because this
            // thread was.
            self.read(&mut buffer);
            if end_at.is_none() {
                self.take_mail();
            }
            self.take_done();
            let now = Instant::now();
            // Also when nothing is due: frames are given as the line has room for them now.
            self.session.handle_timeout(now);
            self.drain(now);
            self.publish();
            if end_at.is_some_and(|end| self.is_over(now, end)) {
                break;
            }
            self.wait(end_at);
        }
        self.finish();
    }

    fn connected(&mut self, now: Instant) {
        self.back_off = REOPEN.0;
        self.session.connected(now);
        self.drain(now);
    }

    fn open_when_due(&mut self, now: Instant) {
        // One that takes its time says when it has something to do.
        let acts = self.link.poll_timeout().is_some_and(|due| due <= now);
        if self.link.is_open() || (now < self.open_at && !acts) {
            return;
        }
        match self.link.open(now) {
            Ok(()) => self.connected(now),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.open_at = now + OPENING;
            }
            Err(error) => self.lost(now, &error),
        }
    }

    /// The link is down, or could not be opened.
    fn lost(&mut self, now: Instant, error: &io::Error) {
        self.open_at = now + self.back_off;
        self.back_off = (self.back_off * 2).min(REOPEN.1);
        self.more = false;
        self.session.disconnected(now, &error.to_string());
        self.tell_events();
    }

    /// Something failed: the link is down, or it is trouble that may pass.
    fn failed(&mut self, now: Instant, error: &io::Error) {
        match self.link.is_open() {
            true => self.session.troubled(now, &error.to_string()),
            false => self.lost(now, error),
        }
    }

    /// Tells the session when this thread did not run for longer than may be.
    fn notice_pause(&mut self) {
        let late = self.watch.late();
        if self.session.longest_pause().is_some_and(|longest| late > longest) {
            let now = Instant::now();
            self.session.paused(now, late);
            self.drain(now);
        }
    }

    fn carry_out_orders(&mut self) {
        while let Some(given) = self.shared.orders.next(&mut self.seen) {
            let now = Instant::now();
            if !given.by_request {
                if given.order.kind == OrderKind::Stop {
                    self.link.discard();
                    self.flush(now);
                }
                self.session.order(now, &given.order);
                self.drain(now);
            }
            self.overtaking.note(given.order);
        }
    }

    /// Hands in what has come. What is left of a flood is read the next time.
    fn read(&mut self, buffer: &mut [u8]) {
        let mut count = 0;
        self.more = false;
        while self.link.is_open() {
            let now = Instant::now();
            match self.link.receive(now, buffer) {
                Ok(None) => return,
                Ok(Some((length, from))) => {
                    let bytes = buffer.get(..length).unwrap_or_default();
                    self.session.handle_input(now, from, bytes);
                    self.drain(now);
                    // An empty datagram is not free either.
                    count += length.max(64);
                }
                Err(error) => {
                    self.failed(now, &error);
                    count += 64;
                }
            }
            if count >= READ {
                self.more = true;
                return;
            }
        }
    }

    /// Carries out requests, but not without end: the robot is to be heard, too.
    fn take_mail(&mut self) {
        for _ in 0..TURN {
            // A request whose answer could not be told stays where it is.
            if self.tell.room() <= self.waiting.len() {
                return;
            }
            let mail = self.inbox.pop();
            // After the request was taken: whatever it waited for comes before it.
            self.notice_pause();
            self.carry_out_orders();
            match mail {
                Ok(Mail::Request(request, origin, to)) => self.request(request, &origin, to),
                Ok(Mail::Confirm(to)) => {
                    self.publish();
                    self.tell.answer(Answer::Confirmed(to));
                    self.tell.wake();
                }
                Err(_) => return,
            }
        }
    }

    fn request(&mut self, request: S::Request, origin: &Origin, to: Waiting<S>) {
        let is_overtaken = |by| S::is_overtaken(&request, by);
        if let Err(refusal) = self.overtaking.check(origin, is_overtaken) {
            self.tell.answer(Answer::Outcome(to, Err(refusal)));
            return self.tell.wake();
        }
        let now = Instant::now();
        let id = self.session.request(now, request, origin);
        self.waiting.push((id, to));
        self.drain(now);
    }

    fn take_done(&mut self) {
        while let Some(jobs) = &mut self.jobs
            && let Ok(done) = jobs.done.try_recv()
        {
            jobs.under_way -= 1;
            let now = Instant::now();
            self.session.handle_done(now, done);
            self.drain(now);
        }
    }

    /// Does what the session wants done. A link that takes no more is given no more.
    fn drain(&mut self, now: Instant) {
        loop {
            self.out.clear();
            // What is sent while there is no link is lost.
            let room = !self.link.is_open() || self.link.has_room();
            match self.session.poll_output(room, &mut self.out) {
                None => break,
                Some(Output::Transmit(to)) => {
                    if self.link.is_open()
                        && let Err(error) = self.link.send(now, to, &self.out)
                    {
                        self.failed(now, &error);
                    }
                }
                Some(Output::Reconnect(reason)) => {
                    self.link.close();
                    self.lost(now, &io::Error::other(&*reason));
                }
                Some(output) => self.pass_on(output),
            }
        }
        self.flush(now);
        self.tell.wake();
    }

    /// Tells what there is to tell, and leaves what there is to send.
    fn tell_events(&mut self) {
        while let Some(output) = self.session.poll_output(false, &mut self.out) {
            self.pass_on(output);
        }
        self.tell.wake();
    }

    fn pass_on(&mut self, output: Output<S>) {
        match output {
            Output::Event(event) => self.tell.event(event),
            Output::Reply(id, outcome) => {
                if let Some(index) = self.waiting.iter().position(|(other, _)| *other == id) {
                    let (_, to) = self.waiting.swap_remove(index);
                    // A client that is answered should see what its request brought about.
                    self.publish();
                    self.tell.answer(Answer::Outcome(to, outcome));
                }
            }
            Output::Job(job) => {
                if let Some(jobs) = &mut self.jobs
                    && jobs.given.send(job).is_ok()
                {
                    jobs.under_way += 1;
                }
            }
            // Those of a link that is down.
            Output::Transmit(_) | Output::Reconnect(_) => {}
        }
    }

    /// Has a link that took no more try again.
    fn flush(&mut self, now: Instant) {
        if self.link.is_open()
            && let Err(error) = self.link.flush(now)
        {
            self.failed(now, &error);
        }
    }

    /// Shows the state. A thread that must not wait does it the next time if another looks at it
    /// just now.
    fn publish(&mut self) {
        let state = match self.shared.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if self.policy.relayed => None,
            Err(TryLockError::WouldBlock) => Some(lock(&self.shared.state)),
        };
        self.unpublished = state.is_none();
        if let Some(mut state) = state {
            state.clone_from(self.session.state());
        }
    }

    fn wait(&mut self, end_at: Option<Instant>) {
        let open_at = (!self.link.is_open()).then_some(self.open_at);
        let soon = || Instant::now() + Duration::from_millis(1);
        let has_mail = end_at.is_none() && !self.inbox.is_empty();
        let takes_mail = has_mail && self.tell.room() > self.waiting.len();
        let due = [
            self.session.poll_timeout(),
            self.link.poll_timeout(),
            open_at,
            end_at.map(|end| end.min(soon())),
            (self.unpublished || has_mail).then(soon),
        ];
        let until = match self.more || takes_mail {
            true => Some(Instant::now()),
            false => due.into_iter().flatten().min(),
        };
        // A pause since the last look at the clock is not to be taken for waiting.
        self.notice_pause();
        self.watch.wait(until.map(|until| until.saturating_duration_since(Instant::now())));
        match self.shared.waker.wait(self.link.events(), until) {
            Ok(true) => {
                let now = Instant::now();
                if let Err(error) = self.link.take_events(now) {
                    self.failed(now, &error);
                }
            }
            Ok(false) => {}
            // Without poll there is no waiting; do not spin.
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    }

    /// Begins to end: clients that ask from now on are told; those that asked before learn it when
    /// the rest is dropped.
    fn end(&mut self, now: Instant) {
        self.link.discard();
        self.flush(now);
        self.session.close(now, &"the daemon's end".into());
        self.drain(now);
        // Last: a thread that posts something holds it, and might not have a core just now.
        *lock(&self.shared.mailbox) = None;
    }

    fn is_over(&self, now: Instant, end: Instant) -> bool {
        let works = self.jobs.as_ref().is_some_and(|jobs| jobs.under_way > 0);
        let closed = self.session.is_closed() || !self.link.is_open();
        now >= end || (closed && !works)
    }

    fn finish(mut self) {
        // What a link holds back would never be sent.
        let late = Instant::now() + Duration::from_secs(365 * 24 * 60 * 60);
        self.flush(late);
        self.tell.end();
    }
}
