//! The life of a client that keeps a connection, for every framing.
//!
//! A connection has two halves. The [`FrontHalf`] receives from the client; the [`Connection`] reads
//! its messages, has its commands carried out, and writes to it. Nothing here waits for anything but
//! the next thing to happen: a command that hangs does not keep the next message from being read, and
//! a client that does not read holds only its own output.

mod ask;
#[cfg(feature = "relay")]
mod follow;
#[cfg(not(feature = "relay"))]
#[path = "connection/follow/none.rs"]
mod follow;
mod front;
mod work;

use std::{
    future::{pending, poll_fn},
    io,
    mem::MaybeUninit,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Poll, ready},
    time::Duration,
};

use bytes::BytesMut;
use serde_json::{Value, json};
use sinew_api::{DaemonMessage, Lost, Request};
use sinew_robot::{Code, Refusal, drive::HoldEnd};
use tokio::{
    io::{AsyncRead, AsyncWriteExt, ReadBuf},
    time::{Instant, sleep_until},
};

pub(crate) use self::front::FrontHalf;
use self::{
    follow::Following,
    front::{FromFront, Inbox, Peer},
    work::{Asked, Work},
};
use crate::{
    Access,
    datagrams::Datagrams,
    frame::{Framing, MAX_MESSAGE},
    hub::{Hub, Stamp, ending},
    legacy::Legacy,
    refusals::Refusals,
    stream::Writer,
    telemetry::Telemetry,
};

/// A client that leaves this much unread, telemetry aside, is not worked for until it reads.
const MAX_UNREAD: usize = 256 << 10;
/// The same for one that has not sent anything valid yet.
const MAX_UNREAD_NEW: usize = 16 << 10;
/// How long a client of SangamIO's later interface may hold a velocity: as long as it takes until its
/// system is probed for the first time.
const SANGAM_HOLD: Duration = Duration::from_secs(1);
/// When such a client listens to its sensors at the latest, after it has connected.
const AGAIN: Duration = Duration::from_secs(1);

/// The half of a connection that answers the client.
pub(crate) struct Connection {
    hub: Arc<Hub>,
    peer: Arc<Peer>,
    framing: Framing,
    inbox: Inbox,
    out: Vec<u8>,
    /// Bytes of `out` that are sent.
    sent: usize,
    /// Bytes at the beginning of `out` that are telemetry, of which no more is taken before they
    /// are sent.
    streamed: usize,
    work: Work,
    telemetry: Telemetry,
    following: Following,
    /// A length-prefixed client that has never used `req` does not expect answers.
    uses_req: bool,
    /// What such a client is up to.
    legacy: Legacy,
    sensors: Sensors,
    phase: Phase,
    /// It set something moving that goes on by itself, so its absence must be noticed soon.
    watched: Watched,
    refusals: Refusals,
}

/// Where sensors go that are not written to the connection.
#[derive(Debug, Default)]
struct Sensors {
    datagrams: Option<Datagrams>,
    /// When what stays true is told again: its client may have listened after it connected.
    again_at: Option<Instant>,
}

/// How far the connection has come to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// More may come.
    Open,
    /// The client sends no more since then; it may still want to read.
    Ended(Instant),
    /// The connection is to be closed once all is written.
    Closing,
    /// The connection is no more.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Watched {
    No,
    Wanted,
    Yes,
}

impl Connection {
    fn new(hub: Arc<Hub>, peer: Arc<Peer>, framing: Framing, inbox: Inbox) -> Self {
        let telemetry = Telemetry::new(Arc::clone(&hub), peer.client().id);
        let following = Following::new(&hub);
        let (longest, watched) = match framing {
            // Nothing is written to it, so only probes tell whether it is within reach.
            Framing::Sangam => (SANGAM_HOLD, Watched::Wanted),
            _ => (Duration::MAX, Watched::No),
        };
        let mut connection = Connection {
            hub,
            peer,
            framing,
            inbox,
            out: Vec::new(),
            sent: 0,
            streamed: 0,
            work: Work::default(),
            telemetry,
            following,
            uses_req: false,
            legacy: Legacy::holding_at_most(longest),
            sensors: Sensors::default(),
            phase: Phase::Open,
            watched,
            refusals: Refusals::default(),
        };
        connection.stream_legacy();
        connection
    }

    /// Serves the client until it has gone. The controls it holds are freed in `drop`, whatever
    /// ends it.
    async fn serve(mut self, mut writer: Writer) {
        if self.framing == Framing::Sangam {
            self.register(&writer);
        }
        self.converse(&mut writer).await;
        let has_left = matches!(self.phase, Phase::Ended(_));
        if self.is_legacy() && !has_left {
            // It reads no farewell, and must not take this for a pause.
            self.peer.is_reset.store(true, Ordering::Release);
            writer.reset();
        } else if self.phase == Phase::Closing {
            let _ = writer.shutdown().await;
        }
    }

    /// From now on the client's address gets sensors.
    fn register(&mut self, writer: &Writer) {
        let opened = writer.addresses().and_then(|(local, peer)| {
            Datagrams::open(local, peer, self.hub.config.sangam_port, &self.hub.datagrams)
        });
        match opened {
            Ok(datagrams) => {
                self.sensors.datagrams = Some(datagrams);
                self.sensors.again_at = Some(Instant::now() + AGAIN);
                self.send_datagrams(&self.lasting());
            }
            Err(error) => {
                let client = &*self.peer.client().name;
                tracing::warn!(client, "it gets no sensors: {error}");
            }
        }
    }

    fn send_datagrams(&self, messages: &[u8]) {
        if let Some(datagrams) = &self.sensors.datagrams {
            self.hub.metrics.count_lost(datagrams.send(messages));
        }
    }

    async fn converse(&mut self, writer: &mut Writer) {
        let mut closing = self.hub.closing.subscribe();
        while !self.is_done() {
            if self.watched == Watched::Wanted {
                self.watched = Watched::Yes;
                // A socket that cannot be watched is one that has gone.
                let _ = writer.watch();
            }
            let all_sent = self.out.is_empty();
            // A long frame must not keep its client's commands waiting.
            let has_room = self.out.len() - self.streamed < self.most_unread();
            let listens = self.phase == Phase::Open && has_room;
            let turn = self.telemetry.turn;
            let look = self.legacy.look_at().map(Instant::from_std);
            let again = self.sensors.again_at;
            let patience = match self.phase {
                Phase::Ended(since) if self.telemetry.is_empty() => {
                    Some(since + self.hub.config.write_timeout)
                }
                _ => None,
            };
            tokio::select! {
                item = self.inbox.recv(), if listens => match item {
                    Some(item) => self.take(item).await,
                    None => self.ended(),
                },
                (asked, result) = self.work.next(has_room), if !self.work.is_empty() => {
                    self.respond(&asked, &result);
                }
                result = writer.write(&self.out[self.sent..]), if !all_sent => match result {
                    Ok(0) | Err(_) => self.phase = Phase::Over,
                    Ok(count) => self.sent(count),
                },
                () = wait_until(turn), if all_sent && turn.is_some() => self.take_telemetry(),
                () = self.telemetry.notify.notified(), if !self.telemetry.is_empty() => {
                    self.telemetry.woken();
                }
                () = self.following.changed(), if has_room => self.follow(),
                () = wait_until(look), if look.is_some() => self.look(writer),
                () = wait_until(again), if again.is_some() => {
                    self.sensors.again_at = None;
                    self.send_datagrams(&self.lasting());
                }
                () = wait_until(patience), if patience.is_some() => return,
                () = ending(&mut closing), if self.phase != Phase::Closing => {
                    self.close();
                }
                () = self.peer.broken.notified() => self.phase = Phase::Over,
            }
        }
    }

    /// Whether it is a client of document 003's interface, which expects no answers.
    fn is_legacy(&self) -> bool {
        self.framing.is_legacy() && !self.uses_req
    }

    /// Looks whether a client that holds a velocity is within reach.
    fn look(&mut self, writer: &Writer) {
        if !self.is_legacy() {
            return self.let_go(HoldEnd::Withdrawn);
        }
        if self.legacy.is_withdrawn() {
            self.withdraw();
        }
        let waiting = match self.framing {
            // Nothing is written to it: its velocity ends by its time alone.
            Framing::Sangam => Ok(0),
            _ => writer.unacknowledged(),
        };
        let now = std::time::Instant::now();
        if !self.legacy.is_silent(now, writer.written(), waiting.as_ref().ok().copied()) {
            return;
        }
        if let Err(error) = waiting {
            let client = &*self.peer.client().name;
            tracing::warn!(client, "what it acknowledges is not known: {error}");
        }
        self.let_go(HoldEnd::Unreachable);
    }

    /// Ends the velocities that the client holds, because something that it sent was refused.
    fn withdraw(&mut self) {
        let client = self.peer.client().clone();
        let waits = !self.work.is_empty();
        self.legacy.withdraw(&client, self.hub.stamp(), waits);
    }

    /// Ends the velocities that the client holds.
    fn let_go(&mut self, reason: HoldEnd) {
        let client = self.peer.client().clone();
        self.legacy.let_go(&client, self.hub.stamp(), reason);
    }

    /// A client that uses `req` is none of document 003's time.
    fn note_req(&mut self, uses_req: bool) {
        self.uses_req |= uses_req;
        if self.uses_req && self.legacy.look_at().is_some() {
            self.let_go(HoldEnd::Withdrawn);
        }
    }

    fn most_unread(&self) -> usize {
        match self.peer.is_new.load(Ordering::Acquire) {
            true => MAX_UNREAD_NEW,
            false => MAX_UNREAD,
        }
    }

    fn is_done(&self) -> bool {
        let idle = match self.phase {
            Phase::Open => false,
            Phase::Ended(_) => self.telemetry.is_empty() && self.work.is_empty(),
            Phase::Closing => true,
            Phase::Over => return true,
        };
        idle && self.out.is_empty()
    }

    /// The client sends no more, which frees the controls at once. It may have closed only its
    /// own direction, so what it asked for is done, but for what moves, and it gets the answers until
    /// writing fails.
    fn ended(&mut self) {
        self.phase = Phase::Ended(Instant::now());
        self.leave();
        if self.framing == Framing::Sangam {
            // No write would fail: its sensors end with what it sends.
            self.telemetry.clear();
        }
    }

    fn leave(&self) {
        self.peer.leave(&self.hub);
    }

    /// Ends the connection once all is written that the client expects.
    fn close(&mut self) {
        self.phase = if self.is_legacy() { Phase::Over } else { Phase::Closing };
        self.work.forget_waiting();
        self.leave();
    }

    /// Does what the client asked for.
    async fn take(&mut self, item: FromFront) {
        let cost = item.cost();
        match item {
            FromFront::Message { text, stamp, _large } => {
                let hub = Arc::clone(&self.hub);
                let _turn = hub.turn_to_read(text.len()).await;
                self.take_message(&text, stamp);
            }
            FromFront::Stopped(req, result) => {
                self.peer.is_new.store(false, Ordering::Release);
                self.note_req(req.is_some());
                self.respond(&Asked::by(req), &result);
            }
            FromFront::Stopping(uses_req, running) => {
                self.peer.is_new.store(false, Ordering::Release);
                self.note_req(uses_req);
                self.work.add_running(running);
            }
            FromFront::Skipped(refusal) => self.refuse(refusal),
            FromFront::Ping(payload) => self.framing.put_pong(&payload, &mut self.out),
            FromFront::TooLarge => {
                let message = format!("a message has at most {MAX_MESSAGE} bytes");
                self.refuse(Refusal::new(Code::TooLarge, message));
                self.framing.put_farewell(&mut self.out);
                self.close();
            }
            FromFront::Close(farewell) => {
                self.out.extend_from_slice(&farewell);
                self.close();
            }
        }
        self.peer.done(cost);
        let dropped = self.peer.take_dropped();
        if dropped > 0 {
            let message = format!(
                "{dropped} messages were dropped: they came faster than they could be answered, or \
                 the answers were not read"
            );
            self.refuse(Refusal::new(Code::Busy, message));
        }
    }

    fn take_message(&mut self, text: &[u8], stamp: Stamp) {
        let request = Request::read(text, self.framing.dialect());
        if !request.is_json() && self.peer.is_new.load(Ordering::Acquire) {
            // A web page can make a browser send a form to any port; its lines must not drive.
            let mut client = self.peer.client();
            client.access = client.access.min(Access::Read);
        }
        self.note_req(request.req.is_some());
        self.ask(request, stamp);
    }

    /// Refuses what belongs to no command.
    fn refuse(&mut self, refusal: Refusal) {
        self.respond(&Asked::default(), &Err(refusal));
    }

    /// Answers a command.
    fn respond(&mut self, asked: &Asked, result: &Result<Value, Refusal>) {
        self.hub.metrics.count_command(result);
        if let Err(refusal) = result {
            self.tell_others(asked, refusal);
            // It may have been the release of the button: what is not carried out ends what is held.
            if self.is_legacy() && self.legacy.look_at().is_some() {
                self.withdraw();
            }
        }
        if self.is_legacy() {
            return;
        }
        if let Some(answer) = DaemonMessage::answer(asked.req.as_ref(), result) {
            self.framing.put(&[said(self.framing, &answer).as_bytes()], &mut self.out);
        }
    }

    /// Logs a refusal; one that the client is not told is an event besides.
    fn tell_others(&mut self, asked: &Asked, refusal: &Refusal) {
        let name = Arc::clone(&self.peer.client().name);
        if !self.refusals.log(&name, refusal) || !self.is_legacy() {
            return;
        }
        let (member, command) = match &asked.shown {
            Some((member, command)) => (Some(Arc::clone(member)), Some(command.as_str())),
            None => (self.hub.streamed(), None),
        };
        if let Some(member) = member {
            member.feed.refused(&name, command, refusal);
        }
    }

    fn take_telemetry(&mut self) {
        let silent = self.is_legacy();
        let framing = self.framing;
        if framing == Framing::Sangam {
            let mut messages = Vec::new();
            self.telemetry.take(framing, &mut messages, |_, _| {});
            return self.send_datagrams(&messages);
        }
        self.telemetry.take(framing, &mut self.out, |count, out| {
            if !silent {
                let lost = DaemonMessage::Lost(Lost { count });
                framing.put(&[said(framing, &lost).as_bytes()], out);
            }
        });
        self.streamed = self.out.len();
    }

    fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.out.len() {
            self.out = Vec::new();
            (self.sent, self.streamed) = (0, 0);
        } else if self.sent >= MAX_UNREAD {
            self.out.drain(..self.sent);
            self.streamed = self.streamed.saturating_sub(self.sent);
            self.sent = 0;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A message of the daemon as it is written; the interface of document 003 has topics for all.
fn said(framing: Framing, message: &DaemonMessage) -> String {
    match framing {
        Framing::Prefixed | Framing::Sangam => {
            json!({ "topic": "reply", "payload": message }).to_string()
        }
        Framing::Lines | Framing::WebSocket => message.to_text(),
    }
}

/// Waits for a time, or for ever when there is none.
async fn wait_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}

/// Reads what is there. The buffer is on the stack, and only while there is something to read: a
/// client that is silent costs no memory.
pub(crate) async fn read(
    reader: &mut (impl AsyncRead + Unpin),
    inbox: &mut BytesMut,
) -> io::Result<usize> {
    poll_fn(|context| {
        let mut space = [MaybeUninit::uninit(); 8 << 10];
        let mut buffer = ReadBuf::uninit(&mut space);
        ready!(Pin::new(&mut *reader).poll_read(context, &mut buffer))?;
        inbox.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    })
    .await
}
