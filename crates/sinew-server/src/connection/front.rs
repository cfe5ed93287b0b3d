//! The front half of a connection: it receives what the client sends.
//!
//! It runs on the thread that does nothing else, and does little for each message: it finds where
//! the message ends, carries a stop out there and then, and hands everything else to the other half
//! ([`Connection`]), which runs where it may take its time. So a stop waits for nothing that clients
//! can make the server do. A stop comes before the messages of its own client that wait; they are
//! told that it did.

use std::{
    future::pending,
    io,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::BytesMut;
use serde_json::Value;
use sinew_api::{Access, Command, MAX_URGENT, Message, Request, may_be_urgent};
use sinew_robot::{Code, Refusal, capability::Boxed};
use tokio::{
    io::AsyncReadExt,
    sync::{
        Notify, OwnedSemaphorePermit,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
    task::yield_now,
    time::{Instant, sleep, timeout, timeout_at},
};

use super::{
    Connection, read, wait_until,
    work::{Asked, Ended},
};
use crate::{
    dispatch::{Outcome, Via},
    frame::{Decoder, Framing, Incoming, MAX_MESSAGE, SMALL_MESSAGE},
    hub::{Client, Hub, Stamp, ending},
    lock,
    seats::{PATIENCE, Seat},
    stream::{Reader, Stream, Writer},
};

/// Bytes of messages that may wait for the other half, and what each message counts beside its own.
const QUEUE: (usize, usize) = (128 << 10, 256);
/// How long the other half gets to make room before messages are dropped.
const WAIT: Duration = Duration::from_millis(20);
/// Messages that are taken before other clients get their turn.
const TURN: usize = 16;
/// Messages that looked like a stop and were none, after which those of a client are not looked into
/// for a while: the other half knows a stop, too.
const FALSE_STOPS: (u32, Duration) = (4, Duration::from_secs(10));
/// What a client that waits for answers does not send at once.
const MUCH: usize = 4 << 10;
/// What a turn of a client that sends much at once is reckoned to take, and the longest that
/// it waits for the next one.
const SHARE: Duration = Duration::from_micros(50);
const LONGEST_REST: Duration = Duration::from_millis(100);
/// How long a message over 64 KiB may take to come.
const LARGE_WAIT: Duration = Duration::from_secs(5);
/// How long, and how far, what a client still sends is read after the last word to it; closing
/// before would take that word back.
const LINGER: (Duration, u64) = (Duration::from_secs(2), 16 << 20);
/// The same when the server ends, which should not wait for clients that only listen.
const LINGER_AT_END: Duration = Duration::from_millis(100);

/// What the front half hands on.
pub(super) enum FromFront {
    Message {
        text: BytesMut,
        stamp: Stamp,
        /// Room that a large one takes.
        _large: Option<OwnedSemaphorePermit>,
    },
    /// A stop that was carried out: its answer, or what gives it.
    Stopped(Option<Value>, Result<Value, Refusal>),
    /// The same, and whether it had a `req`.
    Stopping(bool, Boxed<'static, Ended>),
    /// A message that was not stored, and why.
    Skipped(Refusal),
    Ping(BytesMut),
    /// A message after which nothing makes sense.
    TooLarge,
    Close(Vec<u8>),
}

/// What both halves know of the client.
pub(super) struct Peer {
    client: Mutex<Client>,
    pub(super) seat: Arc<Seat>,
    /// Nothing it sent was valid yet.
    pub(super) is_new: AtomicBool,
    queued: AtomicUsize,
    room: Notify,
    /// Messages that were dropped for want of room, and not told yet.
    dropped: AtomicU64,
    /// Told when the connection broke, or its place is needed.
    pub(super) broken: Notify,
    /// The client gets no last word: the connection is to be reset.
    pub(super) is_reset: AtomicBool,
}

pub(super) type Inbox = UnboundedReceiver<FromFront>;

/// The half of a connection that receives, and carries stops out.
pub(crate) struct FrontHalf {
    hub: Arc<Hub>,
    peer: Arc<Peer>,
    framing: Framing,
    decoder: Decoder,
    reader: Reader,
    /// Until the other half is needed.
    writer: Option<Writer>,
    other_half: Option<UnboundedSender<FromFront>>,
    /// The room for a large message that is on its way, and until when it may come.
    large: Option<(OwnedSemaphorePermit, Instant)>,
    /// Messages are dropped until there is room.
    drops: bool,
    /// More came at once than one turn takes.
    floods: bool,
    /// Messages that only looked like a stop, and since when they are counted.
    false_stops: (u32, Instant),
    /// When what was read last came.
    stamp: Stamp,
    /// How long its messages may wait for room.
    wait_until: Instant,
}

impl FrontHalf {
    pub(crate) fn new(hub: Arc<Hub>, client: Client, framing: Framing, stream: Stream) -> Self {
        let peer = Peer {
            client: Mutex::new(client),
            seat: Arc::clone(stream.seat()),
            is_new: AtomicBool::new(true),
            queued: AtomicUsize::new(0),
            room: Notify::new(),
            dropped: AtomicU64::new(0),
            broken: Notify::new(),
            is_reset: AtomicBool::new(false),
        };
        let stamp = hub.stamp();
        FrontHalf {
            hub,
            peer: Arc::new(peer),
            framing,
            decoder: Decoder::new(framing),
            reader: stream.reader,
            writer: Some(stream.writer),
            other_half: None,
            large: None,
            drops: false,
            floods: false,
            false_stops: (0, Instant::now()),
            stamp,
            wait_until: Instant::now() + WAIT,
        }
    }

    /// Receives from the client until it sends no more. `inbox` is what came already.
    pub(crate) async fn listen(mut self, mut inbox: BytesMut) {
        if self.framing.is_legacy() {
            // Its client may say nothing, and expects sensors all the same.
            self.begin();
        }
        let mut closing = self.hub.closing.subscribe();
        let mut goes_on = self.take(&mut inbox).await;
        while goes_on {
            let late = self.large.as_ref().map(|(_, until)| *until);
            tokio::select! {
                biased;
                // The robots have been stopped: nothing more is to be received.
                () = ending(&mut closing) => break,
                result = read(&mut self.reader, &mut inbox) => {
                    goes_on = self.has_read(result, &mut inbox).await;
                }
                () = closed(self.other_half.as_ref()) => break,
                () = wait_until(late) => {
                    self.give_up_large(&mut inbox);
                    goes_on = self.take(&mut inbox).await;
                }
            }
        }
        self.leave();
        self.large = None;
        if let Some(other_half) = self.other_half.take() {
            let ends = *closing.borrow();
            let patience = if ends { LINGER_AT_END } else { LINGER.0 };
            linger(&mut self.reader, &other_half, &self.peer, patience).await;
        }
    }

    /// What a read brought; false when nothing more will be received.
    async fn has_read(&mut self, result: io::Result<usize>, inbox: &mut BytesMut) -> bool {
        match result {
            Ok(count @ 1..) => {
                self.stamp = self.hub.stamp();
                self.wait_until = Instant::now() + WAIT;
                self.set_floods(count >= MUCH);
                let goes_on = self.take(inbox).await;
                self.rest().await;
                return goes_on;
            }
            // What came of a stranger may be valid, and only not have been read yet.
            Ok(0) if self.becomes_known().await => {
                // It may still want to read: the other half ends when it has answered what is there.
                self.other_half = None;
            }
            Ok(0) if self.peer.seat.is_stranger() => self.say_last(FromFront::Close(Vec::new())),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                if self.becomes_known().await {
                    return true;
                }
                self.say_last(FromFront::TooLarge);
            }
            Ok(0) | Err(_) => self.peer.broken.notify_one(),
        }
        false
    }

    /// Hands on what ends the connection, whether there is room or not.
    fn say_last(&mut self, item: FromFront) {
        self.peer.queued.fetch_add(item.cost(), Ordering::AcqRel);
        self.begin();
        if let Some(other_half) = &self.other_half {
            let _ = other_half.send(item);
        }
    }

    /// Waits until the other half has read what came of a stranger; whether it is known then.
    async fn becomes_known(&self) -> bool {
        if self.peer.seat.is_known() {
            return true;
        }
        let read = async {
            while self.peer.queued.load(Ordering::Acquire) > 0 {
                self.peer.room.notified().await;
            }
        };
        tokio::select! {
            _ = timeout(PATIENCE, read) => {}
            // It reads no more.
            () = closed(self.other_half.as_ref()) => {}
        }
        self.peer.seat.is_known()
    }

    /// Takes the messages that are there; false when nothing more is to be received.
    async fn take(&mut self, inbox: &mut BytesMut) -> bool {
        let mut count = 0;
        loop {
            let limit = if self.large.is_some() { MAX_MESSAGE } else { SMALL_MESSAGE };
            match self.decoder.next(inbox, limit) {
                None => break,
                Some(Incoming::Over) if self.has_room_for_large().await => {}
                Some(Incoming::Over) => self.decoder.skip(inbox),
                Some(Incoming::Skipped) => {
                    let refusal = self.skipped();
                    self.hand_on(FromFront::Skipped(refusal)).await;
                }
                Some(Incoming::Message(text)) => self.receive(text).await,
                Some(Incoming::Ping(payload)) => self.hand_on(FromFront::Ping(payload)).await,
                Some(Incoming::TooLarge) => {
                    self.say_last(FromFront::TooLarge);
                    return false;
                }
                Some(Incoming::Close(farewell)) => {
                    self.say_last(FromFront::Close(farewell));
                    return false;
                }
            }
            count += 1;
            if count % TURN == 0 {
                self.set_floods(true);
                self.rest().await;
            }
        }
        // What waits for its first byte should own no memory.
        if inbox.is_empty() {
            *inbox = BytesMut::new();
        }
        true
    }

    /// Takes room for a message over 64 KiB, which only known clients that may control get.
    async fn has_room_for_large(&mut self) -> bool {
        if self.peer.client().access < Access::Control || !self.becomes_known().await {
            return false;
        }
        let Ok(room) = Arc::clone(&self.hub.large).try_acquire_owned() else { return false };
        self.large = Some((room, Instant::now() + LARGE_WAIT));
        true
    }

    fn give_up_large(&mut self, inbox: &mut BytesMut) {
        self.large = None;
        self.decoder.skip(inbox);
    }

    fn skipped(&self) -> Refusal {
        if self.peer.client().access < Access::Control {
            let message =
                format!("a message of a client that reads has at most {SMALL_MESSAGE} bytes");
            return Refusal::new(Code::TooLarge, message);
        }
        let message = format!(
            "messages over {SMALL_MESSAGE} bytes take their turn, and {} s to come: send it again",
            LARGE_WAIT.as_secs()
        );
        Refusal::new(Code::Busy, message)
    }

    async fn receive(&mut self, text: BytesMut) {
        let large = self.large.take().map(|(room, _)| room);
        if let Some(item) = self.look_into(&text).await {
            return self.hand_on(item).await;
        }
        // A part of a buffer would keep all of it.
        let text = if large.is_some() { text } else { BytesMut::from(&text[..]) };
        self.hand_on(FromFront::Message { text, stamp: self.stamp, _large: large }).await;
    }

    /// Carries a message out here if it stops something. Looking into one costs time that all clients
    /// share: after each, the others get their turn.
    async fn look_into(&mut self, text: &[u8]) -> Option<FromFront> {
        let (count, since) = self.false_stops;
        let passed = since.elapsed() > FALSE_STOPS.1;
        let dialect = self.framing.dialect();
        if !may_be_urgent(text, dialect) || (count >= FALSE_STOPS.0 && !passed) {
            return None;
        }
        let request = Request::parse_urgent(text, dialect);
        if request.is_none() {
            self.false_stops = if passed { (1, Instant::now()) } else { (count + 1, since) };
        }
        let item = request.and_then(|request| self.stop(request));
        yield_now().await;
        item
    }

    /// Carries a stop out, if the client may; none leaves it to the other half. A right token and a
    /// name count from here on, so that a stop behind them need not wait for the other half either.
    fn stop(&mut self, request: Request) -> Option<FromFront> {
        let Request { req, asked: Ok(message) } = request else { return None };
        if let Message { command: Command::Auth { token, name }, .. } = &message {
            let access = token.as_deref().map(|token| self.hub.access(token)).transpose().ok()?;
            let mut client = self.peer.client();
            client.access = access.unwrap_or(client.access);
            if let Some(name) = name.as_deref().filter(|_| client.access >= Access::Read) {
                client.name = name.into();
            }
            return None;
        }
        let client = self.peer.client().clone();
        if client.access < Access::Read {
            return None;
        }
        // What the client sent with the stop, and behind it, came after it: unless another stop came
        // since it was read.
        let alone = self.hub.stamp().epoch == self.stamp.epoch;
        let item = match self.hub.dispatch(&client, message, self.stamp, Via::Connection) {
            Ok(Outcome::Data(data)) => FromFront::Stopped(req, Ok(data)),
            Ok(Outcome::Job(job)) => {
                let (uses_req, asked) = (req.is_some(), Asked::by(req));
                let running = Box::pin(async move { (asked, job.run().await) });
                FromFront::Stopping(uses_req, begun(running))
            }
            Ok(Outcome::Halting(confirmed)) => {
                let (uses_req, asked) = (req.is_some(), Asked::by(req));
                FromFront::Stopping(uses_req, Box::pin(async { (asked, confirmed.await) }))
            }
            Ok(Outcome::Own(_)) => return None,
            Err(refusal) => FromFront::Stopped(req, Err(refusal)),
        };
        if alone {
            self.stamp = self.hub.stamp();
        }
        if !self.peer.seat.introduce() {
            self.hub.metrics.count_turned_away();
        }
        Some(item)
    }

    /// Gives the other half something to do. What it has no room for, for want of time or of a
    /// client that reads its answers, is dropped, and told when there is room again.
    async fn hand_on(&mut self, item: FromFront) {
        let cost = item.cost();
        if !self.peer.has_room(cost) && !self.drops {
            let room = async {
                while !self.peer.has_room(cost) {
                    self.peer.room.notified().await;
                }
            };
            let _ = timeout_at(self.wait_until, room).await;
        }
        self.drops = !self.peer.has_room(cost);
        if self.drops {
            self.peer.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // Before it is counted, lest the other half is through with it first.
        self.peer.seat.set_read(true);
        self.peer.queued.fetch_add(cost, Ordering::AcqRel);
        self.begin();
        if let Some(other_half) = &self.other_half {
            // One that has ended needs nothing any more.
            let _ = other_half.send(item);
        }
    }

    /// Gives other clients their turn. Those that send much at once wait the longer, the more
    /// of them there are, so that a round of all clients stays short.
    async fn rest(&self) {
        let flooders = u32::try_from(self.hub.flooders.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        let pause = SHARE.saturating_mul(flooders).min(LONGEST_REST);
        match self.floods && pause >= Duration::from_millis(1) {
            true => sleep(pause).await,
            false => yield_now().await,
        }
    }

    fn set_floods(&mut self, floods: bool) {
        match (self.floods, floods) {
            (false, true) => self.hub.flooders.fetch_add(1, Ordering::Relaxed),
            (true, false) => self.hub.flooders.fetch_sub(1, Ordering::Relaxed),
            _ => return,
        };
        self.floods = floods;
    }

    /// Starts the other half.
    fn begin(&mut self) {
        if let Some(writer) = self.writer.take() {
            let (sender, inbox) = unbounded_channel();
            self.other_half = Some(sender);
            let (hub, peer) = (Arc::clone(&self.hub), Arc::clone(&self.peer));
            let connection = Connection::new(hub, peer, self.framing, inbox);
            self.hub.workers.spawn(connection.serve(writer));
        }
    }

    /// The client sends no more: what it set moving ends at once.
    fn leave(&self) {
        self.peer.leave(&self.hub);
    }
}

impl Drop for FrontHalf {
    fn drop(&mut self) {
        self.set_floods(false);
        self.leave();
    }
}

impl Peer {
    pub(super) fn client(&self) -> MutexGuard<'_, Client> {
        lock(&self.client)
    }

    /// Frees the controls that the client holds.
    pub(super) fn leave(&self, hub: &Hub) {
        let client = self.client().clone();
        // Before the controls are free, lest something it sent takes them again and moves.
        client.presence.end();
        hub.members().iter().for_each(|member| member.leave(&client));
    }

    fn has_room(&self, cost: usize) -> bool {
        let queued = self.queued.load(Ordering::Relaxed);
        queued == 0 || queued + cost <= QUEUE.0
    }

    /// Something of the queue is done.
    pub(super) fn done(&self, cost: usize) {
        let before = self.queued.fetch_sub(cost, Ordering::AcqRel);
        self.seat.set_read(before > cost);
        self.room.notify_one();
    }

    /// How many messages were dropped since the last time.
    pub(super) fn take_dropped(&self) -> u64 {
        match self.dropped.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.dropped.swap(0, Ordering::Relaxed),
        }
    }
}

impl FromFront {
    pub(super) fn cost(&self) -> usize {
        let bytes = match self {
            FromFront::Message { text, .. } | FromFront::Ping(text) => text.len(),
            // What is sent back with the answer may be as long as the message was.
            FromFront::Stopped(..) | FromFront::Stopping(..) => MAX_URGENT,
            _ => 0,
        };
        bytes + QUEUE.1
    }
}

/// A command whose first step is done.
pub(super) fn begun(mut running: Boxed<'static, Ended>) -> Boxed<'static, Ended> {
    // The other half polls it next, and is woken for the rest.
    match running.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(ended) => Box::pin(async { ended }),
        Poll::Pending => running,
    }
}

async fn closed(other_half: Option<&UnboundedSender<FromFront>>) {
    match other_half {
        Some(other_half) => other_half.closed().await,
        None => pending().await,
    }
}

/// Reads what a client still sends until the other half has said its last word, and for a moment
/// after it.
async fn linger(
    reader: &mut Reader,
    other_half: &UnboundedSender<FromFront>,
    peer: &Peer,
    patience: Duration,
) {
    let over = async {
        other_half.closed().await;
        if !peer.is_reset.load(Ordering::Acquire) {
            sleep(patience).await;
        }
    };
    let mut rest = reader.take(LINGER.1);
    let mut sink = tokio::io::sink();
    tokio::select! {
        _ = tokio::io::copy(&mut rest, &mut sink) => {}
        () = over => {}
    }
}
