//! How a session's thread tells others: itself, or through a relay, without a lock that one of them
//! could hold while a more urgent thread has its core.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use rtrb::{Consumer, Producer, RingBuffer};
use sinew_robot::{Refusal, Session};
use tokio::sync::oneshot;

use crate::wake::Waker;

/// Events that may wait for a relay: two seconds of status at 500 Hz.
const EVENTS: usize = 1024;
/// Places of these that only events get which are told once.
const KEPT: usize = 128;
/// Answers that may: as many as requests may wait, several times.
const ANSWERS: usize = 4096;

/// Is told what happens to a robot.
pub trait Listener<E>: Send + Sync + 'static {
    /// Whether it wants to be told of this. Asked on the session's own thread: it must not take a
    /// lock.
    fn wants(&self, _event: &E) -> bool {
        true
    }

    /// Whether it is soon told again: the last places of a queue that runs full are kept for what is
    /// told once.
    fn is_repeated(&self, _event: &E) -> bool {
        false
    }

    /// Something happened.
    fn event(&self, event: E);

    /// This many events were lost on the way.
    fn missed(&self, _count: u64) {}
}

/// Hears nothing.
impl<E: 'static> Listener<E> for () {
    fn wants(&self, _event: &E) -> bool {
        false
    }

    fn event(&self, _event: E) {}
}

/// Something on its way to the client that waits for it.
pub(crate) enum Answer<S: Session> {
    /// What became of a request.
    Outcome(oneshot::Sender<Result<S::Reply, Refusal>>, Result<S::Reply, Refusal>),
    /// The orders before it are carried out.
    Confirmed(oneshot::Sender<()>),
}

impl<S: Session> Answer<S> {
    fn send(self) {
        // A client that has gone needs no answer.
        match self {
            Answer::Outcome(to, outcome) => drop(to.send(outcome)),
            Answer::Confirmed(to) => drop(to.send(())),
        }
    }
}

/// How events and answers leave a session's thread.
pub(crate) struct Teller<S: Session> {
    listener: Arc<dyn Listener<S::Event>>,
    relay: Option<Relay<S>>,
}

struct Relay<S: Session> {
    events: Producer<S::Event>,
    answers: Producer<Answer<S>>,
    missed: Arc<AtomicU64>,
    waker: Arc<Waker>,
    /// There is something the relay has not been woken for.
    unheard: bool,
    thread: thread::JoinHandle<()>,
}

impl<S: Session> Teller<S> {
    /// Tells on the session's own thread.
    pub(crate) fn direct(listener: Arc<dyn Listener<S::Event>>) -> Self {
        Teller { listener, relay: None }
    }

    /// Tells by a thread of ordinary priority, for a session's thread that must not wait.
    pub(crate) fn relayed(name: &str, listener: Arc<dyn Listener<S::Event>>) -> io::Result<Self> {
        let (events, heard) = RingBuffer::new(EVENTS);
        let (answers, answered) = RingBuffer::new(ANSWERS);
        let waker = Arc::new(Waker::new()?);
        let missed = Arc::new(AtomicU64::new(0));
        let (woken, lost, told) = (Arc::clone(&waker), Arc::clone(&missed), Arc::clone(&listener));
        let thread = thread::Builder::new()
            .name(format!("{name}-tell"))
            .spawn(move || relay::<S>(heard, answered, &woken, &lost, &*told))?;
        let relay = Relay { events, answers, missed, waker, unheard: false, thread };
        Ok(Teller { listener, relay: Some(relay) })
    }

    pub(crate) fn event(&mut self, event: S::Event) {
        if !self.listener.wants(&event) {
            return;
        }
        match &mut self.relay {
            None => self.listener.event(event),
            Some(relay) => {
                relay.unheard = true;
                let has_room = relay.events.slots() > KEPT || !self.listener.is_repeated(&event);
                if !has_room || relay.events.push(event).is_err() {
                    relay.missed.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Answers. There must be [room](Self::room) for it.
    pub(crate) fn answer(&mut self, answer: Answer<S>) {
        match &mut self.relay {
            None => answer.send(),
            Some(relay) => {
                relay.unheard = true;
                // A client that is not answered learns that its answer was dropped.
                let _ = relay.answers.push(answer);
            }
        }
    }

    /// How many answers can be given now.
    pub(crate) fn room(&self) -> usize {
        self.relay.as_ref().map_or(usize::MAX, |relay| relay.answers.slots())
    }

    /// Wakes the relay if there is something for it.
    pub(crate) fn wake(&mut self) {
        if let Some(relay) = &mut self.relay
            && relay.unheard
        {
            relay.unheard = false;
            relay.waker.wake();
        }
    }

    /// Returns when all is told.
    pub(crate) fn end(self) {
        if let Some(Relay { events, answers, waker, thread, .. }) = self.relay {
            drop((events, answers));
            waker.wake();
            let _ = thread.join();
        }
    }
}

fn relay<S: Session>(
    mut events: Consumer<S::Event>,
    mut answers: Consumer<Answer<S>>,
    waker: &Waker,
    missed: &AtomicU64,
    listener: &dyn Listener<S::Event>,
) {
    loop {
        let over = events.is_abandoned();
        while let Ok(answer) = answers.pop() {
            answer.send();
        }
        while let Ok(event) = events.pop() {
            listener.event(event);
        }
        match missed.swap(0, Ordering::Relaxed) {
            0 => {}
            count => listener.missed(count),
        }
        if over {
            return;
        }
        if waker.wait(None, None).is_err() {
            // Without poll there is no waiting; do not spin.
            thread::sleep(Duration::from_millis(1));
        }
    }
}
