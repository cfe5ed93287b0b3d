use std::{fmt::Write, sync::Arc, time::Instant};

use super::{
    Action, Carries, Event, LinkState, Output, Reduction, RobotRequest, Settings, State,
    cycle::Cycle, ending::Ending, exchange::Outbox, performing::Stage, queue::Queue,
    receive::Incoming, recorder::Recorder, status::Stream, teaching::Teaching, wire::CARRIES,
};
use crate::{
    Code, Refusal, RequestId,
    trajectory::{Error, Reduced},
};

/// A robot that can be taught, from the host's side of the teaching datagrams.
///
/// After every call fetch [`poll_output`](Self::poll_output) until it gives none, and call
/// [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) says. When
/// both are due, hand input in first: a host that slept must not take its own sleep for silence of
/// the robot. A session needs a socket of its own, since peers number datagrams by source.
#[derive(Debug)]
pub struct Session {
    pub(super) settings: Settings,
    pub(super) begun: Instant,
    pub(super) state: State,
    pub(super) outbox: Outbox,
    pub(super) incoming: Incoming,
    pub(super) stream: Option<Stream>,
    pub(super) cycle: Cycle,
    /// What the system said against the link since the robot was last heard.
    pub(super) trouble: Option<Arc<str>>,
    pub(super) queue: Queue,
    pub(super) ending: Option<Ending>,
    pub(super) teaching: Teaching,
    pub(super) recorder: Recorder,
    pub(super) stage: Stage,
    /// The last list.
    pub(super) actions: Vec<Action>,
}

impl Session {
    /// What the datagrams can carry.
    pub const CARRIES: Carries = CARRIES;

    /// A session that begins to open the link at once.
    pub fn new(settings: Settings, now: Instant) -> Self {
        let mut session = Session {
            settings,
            begun: now,
            state: State::new(),
            outbox: Outbox::default(),
            incoming: Incoming::default(),
            stream: None,
            cycle: Cycle::new(now),
            trouble: None,
            queue: Queue::default(),
            ending: None,
            teaching: Teaching::new(now),
            recorder: Recorder::default(),
            stage: Stage::default(),
            actions: Vec::new(),
        };
        session.advance(now);
        session
    }

    /// The link is open, or open again: it is opened to the robot.
    pub fn connected(&mut self, now: Instant) {
        self.trouble = None;
        if !self.state.link.is_ending() {
            self.show_trouble(now);
            self.begin_cycle(now);
        }
    }

    /// The link is not open; `reason` is the system's own words.
    pub fn disconnected(&mut self, now: Instant, reason: &str) {
        self.troubled(now, reason);
        if self.state.link == LinkState::Ready {
            self.lose(now);
        }
    }

    /// Something went wrong with a link that stays open. Whether the robot can be reached, only
    /// its silence tells; then this is why.
    pub fn troubled(&mut self, now: Instant, reason: &str) {
        if self.trouble.as_deref() != Some(reason) {
            self.trouble = Some(reason.into());
            self.show_trouble(now);
        }
    }

    /// Takes a datagram from the robot.
    pub fn handle_input(&mut self, now: Instant, datagram: &[u8]) {
        if self.state.link != LinkState::Closed {
            self.receive(now, datagram);
            self.advance(now);
        }
    }

    /// Does what has become due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    /// The next thing to do, or none.
    pub fn poll_output(&mut self) -> Option<Output> {
        let mut bytes = Vec::new();
        Some(match self.fetch(true, &mut bytes)? {
            crate::Output::Transmit(()) => Output::Transmit(bytes),
            crate::Output::Event(event) => Output::Event(event),
            crate::Output::Reply(id, outcome) => Output::Reply { id, outcome },
            crate::Output::Job(Reduction { id, recording }) => Output::Reduce { id, recording },
            // Datagrams have no connection to give up.
            crate::Output::Reconnect(_) => return None,
        })
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.state.link == LinkState::Closed {
            return None;
        }
        let ending = self.ending.as_ref().map(Ending::due);
        if self.state.link == LinkState::Closing {
            return ending;
        }
        let active = self.queue.active().map(|active| active.exchange.due);
        let due = [Some(self.cycle_due()), ending, active, self.silence_due(), self.queue_due()];
        due.into_iter().chain(self.teaching_due()).chain(self.stage.due()).flatten().min()
    }

    /// Asks for something. How it ended comes as [`Output::Reply`]. `by` names the client, for
    /// messages only. Requests are carried out one after the other; [`RobotRequest::Stop`] is
    /// [`stop`](Self::stop).
    pub fn request(&mut self, now: Instant, request: RobotRequest, by: &str) -> RequestId {
        if request == RobotRequest::Stop {
            return self.stop(now, by);
        }
        self.advance(now);
        let id = self.queue.new_id();
        self.enqueue(now, id, request, by);
        self.advance(now);
        id
    }

    /// Stops the robot: sent before anything else, and nothing that waits is sent any more.
    pub fn stop(&mut self, now: Instant, by: &str) -> RequestId {
        let id = self.queue.new_id();
        self.stop_as(now, Some(id), by);
        id
    }

    /// The same for a request that is to be replied to, or for none.
    pub(super) fn stop_as(&mut self, now: Instant, id: Option<RequestId>, by: &str) {
        self.teaching.asked(now);
        self.stop_for(now, id, by);
        self.advance(now);
    }

    /// Takes what became of an [`Output::Reduce`]. It counts for nothing when its request has ended
    /// meanwhile.
    pub fn handle_reduced(&mut self, now: Instant, id: RequestId, result: Result<Reduced, Error>) {
        self.advance(now);
        self.reduced(now, id, result);
        self.advance(now);
    }

    /// The client that asked for what the robot does has gone. What has an end goes on to it; what
    /// repeats would never stop, also when it has not begun yet.
    pub fn release(&mut self, now: Instant, by: &str) {
        if self.stage.repeats() || self.will_repeat() {
            self.drop_requests(&format!("{by} has gone"));
            self.begin_exit(now, format!("{by} has gone, and the motion repeats"));
            self.advance(now);
        }
    }

    /// Another client has taken the controls. What plays ends at once, before anything that waits;
    /// what was asked for before and would move the arms is not begun; teaching, recordings and
    /// saves go on. When nothing plays, nothing is sent.
    ///
    /// These datagrams end playback with 0x0E alone, which ends teaching too. To let what plays run
    /// out instead would not do: a stored action may take a minute, or repeat for ever. So 0x0E is
    /// sent, and where the robot was being taught it is told to enter teaching again. Its arms are
    /// then as soft as they would be after the action's own end. What it had recorded itself is
    /// lost with the 0x0E.
    pub fn taken(&mut self, now: Instant, by: &str) {
        if self.state.link.is_ending() {
            return;
        }
        let plays = self.state.playing.is_some() || self.stage.is_performing() || self.may_play();
        let why = format!("{by} took the controls");
        self.drop_motions(&why);
        if plays {
            self.end_playback(now, why);
        }
        self.advance(now);
    }

    /// Ends teaching and playback, then the link: [`Event::Closed`].
    pub fn close(&mut self, now: Instant) {
        if !self.state.link.is_ending() {
            self.begin_closing(now);
        }
    }

    /// What is known about the robot.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What was set.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Everything that time alone brings about. What ends comes before what goes on.
    pub(super) fn advance(&mut self, now: Instant) {
        if self.state.link == LinkState::Closed {
            return;
        }
        self.advance_ending(now);
        if self.state.link.is_ending() {
            return;
        }
        self.check_silence(now);
        self.advance_cycle(now);
        self.forget_teaching(now);
        self.end_idle(now);
        self.advance_performance(now);
        self.end_play(now);
        if let Some(playing) = &mut self.state.playing {
            let elapsed = now.saturating_duration_since(playing.began).as_millis();
            playing.elapsed_ms = u32::try_from(elapsed).unwrap_or(u32::MAX);
        }
        self.advance_resuming(now);
        self.advance_requests(now);
        // What was given up just now may be all that was waited for.
        self.end_idle(now);
        self.maintain(now);
    }

    pub(super) fn set_link(&mut self, now: Instant, link: LinkState) {
        if self.state.link != link {
            self.state.link = link.clone();
            let silent = self.state.last_seen.map(|seen| now.saturating_duration_since(seen));
            let silent_ms = silent.map(|silent| silent.as_millis() as u64);
            self.event(Event::Link { link, silent_ms });
        }
    }

    /// A link that is down says why.
    fn show_trouble(&mut self, now: Instant) {
        let reason = self.trouble.clone();
        match self.state.link {
            LinkState::Connecting { .. } => self.set_link(now, LinkState::Connecting { reason }),
            LinkState::Lost { .. } => self.set_link(now, LinkState::Lost { reason }),
            _ => {}
        }
    }

    /// The robot went silent: nothing that waited is sent when it is back.
    pub(super) fn lose(&mut self, now: Instant) {
        self.stream = None;
        self.state.positions = None;
        self.state.velocities = None;
        self.state.mode = None;
        self.incoming.forget_numbers();
        self.stage.cut();
        self.set_link(now, LinkState::Lost { reason: self.trouble.clone() });
        let refusal = self.link_lost(now);
        self.fail_waiting(&refusal);
        self.begin_cycle(now);
    }

    /// Why nothing can be asked now.
    pub(super) fn link_lost(&self, now: Instant) -> Refusal {
        let mut message = match self.state.last_seen {
            _ if self.incoming.is_encrypted() => {
                "what this robot sends is encrypted: it speaks WebRTC, not teaching datagrams; \
                 use a webrtc: link"
                    .into()
            }
            Some(seen) => {
                let silent = now.saturating_duration_since(seen).as_secs_f64();
                format!("the robot was last heard {silent:.1} s ago")
            }
            None => {
                "the robot never answered; check that it is on and that the address is right".into()
            }
        };
        if let Some(reason) = self.state.link.reason() {
            let _infallible = write!(message, ": {reason}");
        }
        Refusal::new(Code::LinkLost, message)
    }
}
