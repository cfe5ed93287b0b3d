//! One peer connection with one channel, as the client or as the robot.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

use sinew_faults::DatagramFaults;
use sinew_wire::unitree::Form;
use str0m::{
    Event, IceConnectionState, Input, Output, Rtc, RtcError,
    channel::ChannelId,
    net::{Protocol, Receive},
};

use super::{dcep, negotiate::guarded, ports::Ports, way::Way};
use crate::link::poller::Poller;

/// Longest message, either way.
pub(super) const LONGEST: usize = 256 << 10;
/// Bytes on their way beside a longest message. More would only make SCTP slower, and a bad network,
/// which carries some 30 kB/s where 5 % are lost and the way takes 0.1 s, would be seconds behind.
pub(super) const ROOM: usize = 16 << 10;
/// Messages that wait for room, in bytes.
const QUEUE: usize = LONGEST;
/// From the peer's SDP to a channel.
pub(super) const OPENING: Duration = Duration::from_secs(15);
/// To a client, an association that has not begun by then will not: both sides wait for the other.
const ASSOCIATING: Duration = Duration::from_secs(8);
/// STUN is answered every one or two seconds; ICE itself takes 15 s and more to notice.
const SILENCE: Duration = Duration::from_secs(5);
/// Datagrams read of each socket before anything else is looked at.
const TURN: usize = 64;
/// Bytes of messages that may wait to be fetched before more datagrams are read.
const INBOX: usize = 2 * LONGEST;
const DATAGRAM: usize = 1 << 16;

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Looks for a way to the peer.
    Ice,
    /// Has one, and agrees on keys.
    Dtls,
    /// Waits for an association and its channel.
    Sctp,
    /// Has its channel.
    Open,
}

/// Which channel it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The one with this id, which we open.
    Own(ChannelId),
    /// The first that the peer opens, by str0m's own means.
    #[cfg(feature = "sim")]
    Theirs,
    /// The first that the peer opens as [`dcep`] says.
    #[cfg(feature = "sim")]
    Unacknowledged,
}

pub(super) struct Connection {
    /// None once it is over.
    rtc: Option<Rtc>,
    way: Way,
    wanted: Wanted,
    channel: Option<ChannelId>,
    stage: Stage,
    /// When str0m wants to be called.
    due: Instant,
    begun: Instant,
    /// When it came to its stage.
    since: Instant,
    heard: Instant,
    peer: Option<SocketAddr>,
    inbox: VecDeque<(Form, Vec<u8>)>,
    queue: VecDeque<(Form, Vec<u8>)>,
    /// Bytes that the peer has not acknowledged.
    buffered: usize,
    buffer: Vec<u8>,
    down: Option<String>,
}

impl Connection {
    pub(super) fn new(rtc: Rtc, ports: Ports, wanted: Wanted, now: Instant) -> Self {
        Connection {
            rtc: Some(rtc),
            way: Way::new(ports),
            wanted,
            channel: None,
            stage: Stage::Ice,
            due: now,
            begun: now,
            since: now,
            heard: now,
            peer: None,
            inbox: VecDeque::new(),
            queue: VecDeque::new(),
            buffered: 0,
            buffer: vec![0; DATAGRAM],
            down: None,
        }
    }

    pub(super) fn watch(&self, poller: &Poller) -> io::Result<()> {
        self.way.ports.watch(poller)
    }

    /// Damages its datagrams from now on.
    pub(super) fn damage(&mut self, faults: DatagramFaults, seed: u64) {
        self.way.damage(faults, seed);
    }

    pub(super) const fn stage(&self) -> Stage {
        self.stage
    }

    pub(super) const fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Why it is over, once all that came has been fetched.
    pub(super) fn down(&self) -> Option<&str> {
        self.down.as_deref().filter(|_| self.inbox.is_empty())
    }

    /// When to call [`advance`](Self::advance).
    pub(super) fn poll_timeout(&self) -> Instant {
        match &self.down {
            // There is a reason to fetch.
            Some(_) => self.begun,
            None => {
                let due = self.due.min(self.limit());
                self.way.poll_timeout().map_or(due, |held| held.min(due))
            }
        }
    }

    /// Whether a message of any length would go at once.
    pub(super) fn has_room(&self) -> bool {
        self.queue.is_empty() && self.buffered <= ROOM
    }

    /// Reads what has come, and does what is due.
    pub(super) fn look(&mut self, now: Instant) {
        self.read(now);
        self.advance(now);
    }

    /// Does what is due.
    pub(super) fn advance(&mut self, now: Instant) {
        if now >= self.due {
            self.input(Input::Timeout(now));
            self.drive(now);
        }
        self.send_queue(now);
        self.way.release(now);
        if now >= self.limit() {
            // We may have slept while it came.
            self.read(now);
        }
        if now >= self.limit() {
            self.end(self.too_late());
        }
    }

    /// Until when the next stage must have come, or any datagram.
    fn limit(&self) -> Instant {
        match self.stage {
            Stage::Open => self.heard + SILENCE,
            Stage::Sctp if matches!(self.wanted, Wanted::Own(_)) => {
                (self.begun + OPENING).min(self.since + ASSOCIATING)
            }
            Stage::Ice | Stage::Dtls | Stage::Sctp => self.begun + OPENING,
        }
    }

    const fn too_late(&self) -> &'static str {
        match self.stage {
            Stage::Ice => "no datagrams pass: none of the addresses in the answer can be reached",
            Stage::Dtls => "the other side does not agree on keys (DTLS)",
            Stage::Sctp => "the other side opens no channel (SCTP)",
            Stage::Open => "nothing has come for 5 s",
        }
    }

    fn read(&mut self, now: Instant) {
        let waiting: usize = self.inbox.iter().map(|(_, bytes)| bytes.len()).sum();
        if waiting > INBOX || self.rtc.is_none() {
            return;
        }
        let (ports, mut buffer) = (self.way.ports.clone(), std::mem::take(&mut self.buffer));
        ports.receive(TURN, &mut buffer, |source, destination, bytes| {
            if !self.way.hold(now, (source, destination), bytes) {
                self.datagram(now, source, destination, bytes);
            }
        });
        while let Some(((source, destination), bytes)) = self.way.next_held(now) {
            self.datagram(now, source, destination, &bytes);
        }
        self.buffer = buffer;
    }

    fn datagram(&mut self, now: Instant, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        let Ok(receive) = Receive::new(Protocol::Udp, from, to, bytes) else { return };
        let input = Input::Receive(now, receive);
        // Datagrams of strangers are nothing to us.
        if self.rtc.as_ref().is_some_and(|rtc| rtc.accepts(&input)) {
            self.heard = now;
            self.input(input);
            self.drive(now);
        }
    }

    fn input(&mut self, input: Input<'_>) {
        let Some(rtc) = &mut self.rtc else { return };
        if let Err(words) = guarded(|| rtc.handle_input(input)) {
            self.end(&words);
        }
    }

    /// Sends what is to be sent and takes what has happened, after every change.
    fn drive(&mut self, now: Instant) {
        while let Some(rtc) = &mut self.rtc {
            let output = guarded(|| {
                loop {
                    match rtc.poll_output()? {
                        Output::Transmit(it) => {
                            self.way.send(now, it.source, it.destination, &it.contents);
                            self.peer = Some(it.destination);
                        }
                        Output::Event(event) => return Ok(Some(event)),
                        Output::Timeout(due) => {
                            self.due = due;
                            return Ok(None);
                        }
                    }
                }
            });
            match output {
                Ok(Some(event)) => self.event(now, event),
                Ok(None) => {
                    if let Some(id) = self.channel
                        && let Some(mut channel) = rtc.channel(id)
                    {
                        self.buffered = channel.buffered_amount();
                    }
                    return;
                }
                Err(words) => self.end(&words),
            }
        }
    }

    fn event(&mut self, now: Instant, event: Event) {
        match event {
            Event::IceConnectionStateChange(IceConnectionState::Disconnected) => {
                self.end(match self.stage {
                    Stage::Ice => self.too_late(),
                    _ => "the way to the other side is gone (ICE)",
                });
            }
            Event::IceConnectionStateChange(state) if state.is_connected() => {
                self.come_to(Stage::Dtls, now);
            }
            Event::Connected => self.come_to(Stage::Sctp, now),
            Event::ChannelOpen(id, _) => match self.wanted {
                Wanted::Own(own) if id == own => {
                    self.channel = Some(id);
                    // Nothing has been written yet, so there is room.
                    let _ = self.write(Form::Binary, dcep::OPEN);
                    self.come_to(Stage::Open, now);
                }
                #[cfg(feature = "sim")]
                Wanted::Theirs if self.channel.is_none() => {
                    self.channel = Some(id);
                    self.come_to(Stage::Open, now);
                }
                _ => {}
            },
            Event::ChannelData(data) => self.message(now, data.id, data.binary, data.data),
            Event::ChannelClose(id) if self.channel == Some(id) => {
                self.end("the other side has closed the channel");
            }
            // Both sides waited for the other, and it gave up first.
            Event::Closed if self.stage == Stage::Sctp => self.end(self.too_late()),
            Event::Closed => self.end("the other side has ended the connection"),
            _ => {}
        }
    }

    fn message(&mut self, now: Instant, id: ChannelId, binary: bool, bytes: Vec<u8>) {
        #[cfg(feature = "sim")]
        if binary
            && self.channel.is_none()
            && self.wanted == Wanted::Unacknowledged
            && dcep::is_open(&bytes)
        {
            self.channel = Some(id);
            return self.come_to(Stage::Open, now);
        }
        let _ = now;
        let is_control = matches!(self.wanted, Wanted::Own(_)) && binary && bytes == dcep::ACK;
        if self.channel == Some(id) && !is_control && !bytes.is_empty() {
            let form = if binary { Form::Binary } else { Form::Text };
            self.inbox.push_back((form, bytes));
        }
    }

    fn come_to(&mut self, stage: Stage, now: Instant) {
        if stage > self.stage {
            self.stage = stage;
            self.since = now;
        }
    }

    /// The oldest message that came, into `buffer`.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Option<(usize, Form)> {
        let (form, bytes) = self.inbox.pop_front()?;
        // str0m takes none that is longer than LONGEST.
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        Some((count, form))
    }

    /// Sends a message, or keeps it until there is room. An error when it fits nowhere.
    pub(super) fn send(&mut self, now: Instant, form: Form, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > LONGEST {
            let message = format!("a message of {} bytes: at most {LONGEST} fit", bytes.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        if self.queue.is_empty() && self.write(form, bytes)? {
            self.drive(now);
            return Ok(());
        }
        let waiting: usize = self.queue.iter().map(|(_, bytes)| bytes.len()).sum();
        if waiting + bytes.len() > QUEUE {
            let message = format!("a message of {} bytes is lost: {waiting} wait", bytes.len());
            return Err(io::Error::new(io::ErrorKind::StorageFull, message));
        }
        self.queue.push_back((form, bytes.to_vec()));
        Ok(())
    }

    /// Forgets the messages that wait.
    pub(super) fn discard(&mut self) {
        self.queue.clear();
    }

    fn send_queue(&mut self, now: Instant) {
        while let Some((form, bytes)) = self.queue.pop_front() {
            match self.write(form, &bytes) {
                Ok(true) => self.drive(now),
                Ok(false) => return self.queue.push_front((form, bytes)),
                // Its length was looked at when it came.
                Err(error) => self.end(&error.to_string()),
            }
        }
    }

    /// Gives a message to SCTP, if that has room for it.
    fn write(&mut self, form: Form, bytes: &[u8]) -> io::Result<bool> {
        let (Some(rtc), Some(id)) = (&mut self.rtc, self.channel) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let write = || match rtc.channel(id) {
            Some(mut channel) => channel.write(form == Form::Binary, bytes),
            None => Ok(false),
        };
        guarded(write).map_err(|words| {
            io::Error::other(format!("a message of {} bytes: {words}", bytes.len()))
        })
    }

    /// Says goodbye, so that the peer is free at once.
    pub(super) fn close(&mut self, now: Instant) {
        let Some(mut rtc) = self.rtc.take() else { return };
        self.down.get_or_insert_with(|| "closed".into());
        // What is to be sent before it, such as the alert that ends a handshake, then what it sends
        // itself. Of one that is broken there may be nothing.
        let _ = guarded(|| self.send_rest(now, &mut rtc));
        let _ = guarded(|| {
            rtc.close()?;
            rtc.handle_input(Input::Timeout(now))?;
            self.send_rest(now, &mut rtc)
        });
        self.way.release_all(now);
    }

    /// Sends all that waits; what has happened is of no interest any more.
    fn send_rest(&mut self, now: Instant, rtc: &mut Rtc) -> Result<(), RtcError> {
        loop {
            match rtc.poll_output()? {
                Output::Transmit(it) => {
                    self.way.send(now, it.source, it.destination, &it.contents);
                }
                Output::Event(_) => {}
                Output::Timeout(_) => return Ok(()),
            }
        }
    }

    /// It is over for this reason, and the peer is told.
    fn end(&mut self, words: &str) {
        self.down.get_or_insert_with(|| words.into());
        self.close(self.begun.max(self.due));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close(self.begun.max(self.heard));
    }
}
