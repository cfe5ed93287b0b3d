//! The thread of a vacuum.
//!
//! It may have real-time priority, and so takes no lock that it might have to wait for: the thread
//! that held it would not get a core to let go of it.

use std::{
    mem,
    sync::{Arc, Mutex, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use rtrb::Consumer;
use sinew_robot::{
    Code, Refusal,
    vacuum::{Command, Event, Output, Session},
};
use tokio::sync::broadcast;

use super::{
    Request, Requests, Said, Shared,
    line::Line,
    pass_on,
    urgent::{Counts, Order},
    watch::Watch,
};
use crate::{
    lock,
    port::Port,
    relay::Relay,
    tap::{Tap, Way},
};

/// Buffers read before the clock and the clients are looked at again: a peer that writes without
/// end is not to be listened to without end.
const READS: usize = 4;
/// Requests answered before the port is looked at again.
const ANSWERS: usize = 64;
/// How long a last stop may take: three times what `drive` Reset takes at 9600 baud.
const LAST_STOP: Duration = Duration::from_millis(200);

/// A session and its port on one thread.
pub(super) struct Pump {
    pub(super) session: Session,
    pub(super) line: Line,
    /// The port has something that was not read yet.
    pub(super) readable: bool,
    pub(super) tap: Tap,
    pub(super) inbox: Consumer<Request>,
    pub(super) requests: Arc<Mutex<Requests>>,
    pub(super) shared: Arc<Shared>,
    pub(super) relay: Relay<Said>,
    pub(super) events: broadcast::Sender<Arc<Event>>,
    /// The orders that were carried out.
    pub(super) done: Counts,
    pub(super) watch: Watch,
}

impl Pump {
    pub(super) fn run(mut self) {
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
                self.finish_stop(now + LAST_STOP);
                // Clients that ask from now on are told; those that asked before learn it when the
                // rest is dropped.
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

    /// Answers clients, but not without end: the robot is to be heard, too.
    fn requests(&mut self) {
        for _ in 0..ANSWERS {
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

    /// Shows the state, unless another thread looks at it just now: then the next time.
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
        self.flush(now);
        // Cannot be refused.
        let _ = self.session.execute(now, Command::DriveReset, by);
        self.drain(now);
    }

    /// Sees a stop out: the line takes its frames one by one.
    fn finish_stop(&mut self, until: Instant) {
        let mut now = Instant::now();
        while self.session.is_stopping() && self.line.port.is_some() && now < until {
            thread::sleep(Duration::from_millis(1));
            now = Instant::now();
            self.flush(now);
            self.session.handle_timeout(now);
            self.drain(now);
        }
    }

    /// Has a port that took no more try again.
    fn flush(&mut self, now: Instant) {
        if self.line.port.as_mut().is_some_and(|port| port.flush(now).is_err()) {
            self.lose_port();
        }
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
        let more = self.readable || !self.inbox.is_empty();
        let until = if more { Some(Instant::now()) } else { until };
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
