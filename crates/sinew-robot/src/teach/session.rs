use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use sinew_wire::teach::Sequence;

use super::{
    Action, Carries, Event, Link, Output, RobotRequest, Settings, State,
    cycle::Cycle,
    ending::Ending,
    exchange::{Exchange, Outbox},
    performing::{Performance, Rehearsed},
    requests::{Active, Waiting},
    status::Stream,
    take::Take,
    wire::CARRIES,
};
use crate::{
    Code, Refusal, RequestId,
    trajectory::{Error, Reduced},
};

/// How long a silent robot is taken to be teaching still. After as long a peer forgets who taught
/// it, so what it does then is anybody's guess.
pub(super) const FORGOTTEN: Duration = Duration::from_secs(10);

/// A robot that can be taught, from the host's side of the teaching datagrams.
///
/// After every call fetch [`poll_output`](Self::poll_output) until it gives none, and call
/// [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) says. When
/// both are due, hand input in first: a host that slept must not take its own sleep for silence of
/// the robot. A session needs a socket of its own, since peers number datagrams by source.
#[derive(Debug)]
pub struct Session {
    pub(super) settings: Settings,
    pub(super) state: State,
    pub(super) begun: Instant,
    pub(super) outbox: Outbox,
    pub(super) last_id: RequestId,
    pub(super) cycle: Cycle,
    /// The newest answer's number, and the newest status's: a peer that answers with the request's
    /// number + 1, as the documents print it, numbers what it pushes some other way.
    pub(super) answered: Option<Sequence>,
    pub(super) pushed: Option<Sequence>,
    pub(super) stream: Option<Stream>,
    pub(super) queue: VecDeque<Waiting>,
    /// The first request that waits, while its recording is reduced.
    pub(super) preparing: Option<RequestId>,
    pub(super) active: Option<Active>,
    /// A motion whose first piece is `active`.
    pub(super) rehearsed: Option<Rehearsed>,
    pub(super) performance: Option<Performance>,
    /// What plays will not be played to its end, since the link was lost.
    pub(super) play_was_cut: bool,
    pub(super) ending: Option<Ending>,
    /// 0x0D on its way, after a 0x0E that was to end playback alone.
    pub(super) resuming: Option<Exchange>,
    pub(super) maintain_at: Option<Instant>,
    /// When somebody last asked for something.
    pub(super) asked: Instant,
    /// Teaching was given up while the robot was silent: it is told when it is back.
    pub(super) exit_on_return: bool,
    /// A recording whose start the robot has not answered yet.
    pub(super) trial: Option<Take>,
    pub(super) take: Option<Take>,
    /// The last list.
    pub(super) actions: Vec<Action>,
    /// When the action that plays is over for certain.
    pub(super) play_until: Option<Instant>,
    /// The time in the last save.
    pub(super) saved_at: u32,
    pub(super) encrypted_told: bool,
}

impl Session {
    /// What the datagrams can carry.
    pub const CARRIES: Carries = CARRIES;

    /// A session that begins to open the link at once.
    pub fn new(settings: Settings, now: Instant) -> Self {
        let mut session = Session {
            settings,
            state: State::new(),
            begun: now,
            outbox: Outbox::default(),
            last_id: 0,
            cycle: Cycle::new(now),
            answered: None,
            pushed: None,
            stream: None,
            queue: VecDeque::new(),
            preparing: None,
            active: None,
            rehearsed: None,
            performance: None,
            play_was_cut: false,
            ending: None,
            resuming: None,
            maintain_at: None,
            asked: now,
            exit_on_return: false,
            trial: None,
            take: None,
            actions: Vec::new(),
            play_until: None,
            saved_at: 0,
            encrypted_told: false,
        };
        session.advance(now);
        session
    }

    /// Takes a datagram from the robot.
    pub fn handle_input(&mut self, now: Instant, datagram: &[u8]) {
        if self.state.link != Link::Closed {
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
        self.fetch()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.state.link == Link::Closed {
            return None;
        }
        let ending = self.ending.as_ref().map(Ending::due);
        if self.state.link == Link::Closing {
            return ending;
        }
        [
            Some(self.cycle_due()),
            ending,
            self.active.as_ref().map(Active::due),
            self.resuming_due(),
            self.maintenance_due(),
            self.idle_due(),
            self.silence_due(),
            self.forgotten_due(),
            self.queue_due(),
            self.play_until,
            self.performance.as_ref().and_then(Performance::due),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Asks for something. How it ended comes as [`Event::Done`]. `by` names who asked, for
    /// messages only. Requests are carried out one after the other; [`RobotRequest::Stop`] is
    /// [`stop`](Self::stop).
    pub fn request(&mut self, now: Instant, request: RobotRequest, by: &str) -> RequestId {
        if request == RobotRequest::Stop {
            return self.stop(now, by);
        }
        self.advance(now);
        let id = self.new_id();
        self.enqueue(now, id, request, by);
        self.advance(now);
        id
    }

    /// Stops the robot: sent before anything else, and nothing that waits is sent any more.
    pub fn stop(&mut self, now: Instant, by: &str) -> RequestId {
        let id = self.new_id();
        self.asked = now;
        self.stop_for(now, id, by);
        self.advance(now);
        id
    }

    /// Takes what became of an [`Output::Reduce`]. It counts for nothing when its request has ended
    /// meanwhile.
    pub fn handle_reduced(&mut self, now: Instant, id: RequestId, result: Result<Reduced, Error>) {
        self.advance(now);
        self.reduced(now, id, result);
        self.advance(now);
    }

    /// Whoever asked for what the robot does has gone. What has an end goes on to it; what repeats
    /// would never stop, also when it has not begun yet.
    pub fn release(&mut self, now: Instant, by: &str) {
        let plays = self.performance.as_ref().is_some_and(Performance::is_looped);
        if plays || self.will_repeat() {
            self.drop_requests(&format!("{by} has gone"));
            self.begin_exit(now, format!("{by} has gone, and the motion repeats"));
            self.advance(now);
        }
    }

    /// Ends teaching and playback, then the link: [`Event::Closed`].
    pub fn close(&mut self, now: Instant) {
        if !matches!(self.state.link, Link::Closing | Link::Closed) {
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
        if self.state.link == Link::Closed {
            return;
        }
        self.advance_ending(now);
        if matches!(self.state.link, Link::Closing | Link::Closed) {
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

    fn new_id(&mut self) -> RequestId {
        self.last_id += 1;
        self.last_id
    }

    pub(super) fn set_link(&mut self, now: Instant, link: Link) {
        if self.state.link != link {
            self.state.link = link;
            let silent = self.state.last_seen.map(|seen| now.saturating_duration_since(seen));
            let silent_ms = silent.map(|silent| silent.as_millis() as u64);
            self.event(Event::Link { link, silent_ms });
        }
    }

    /// The robot went silent: nothing that waited is sent when it is back.
    pub(super) fn lose(&mut self, now: Instant) {
        self.stream = None;
        self.state.positions = None;
        self.state.velocities = None;
        self.state.mode = None;
        self.answered = None;
        self.pushed = None;
        // The robot may still be at the last piece.
        self.play_was_cut |= self.performance.take().is_some();
        self.set_link(now, Link::Lost);
        let refusal = self.link_lost(now);
        self.fail_waiting(&refusal);
        self.begin_cycle(now);
    }

    /// Why nothing can be asked now.
    pub(super) fn link_lost(&self, now: Instant) -> Refusal {
        let message = match self.state.last_seen {
            _ if self.encrypted_told => {
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
        Refusal::new(Code::LinkLost, message)
    }

    fn maintenance_due(&self) -> Option<Instant> {
        let ready = self.state.link == Link::Ready && self.ending.is_none();
        self.maintain_at.filter(|_| ready && self.state.teaching)
    }

    fn maintain(&mut self, now: Instant) {
        if self.maintenance_due().is_some_and(|at| now >= at) {
            self.maintain_at = Some(later(now, self.settings.maintain));
            self.send_maintenance();
        }
    }

    fn idle_due(&self) -> Option<Instant> {
        let busy = self.ending.is_some() || self.active.is_some() || self.preparing.is_some();
        let idle = self.state.teaching && !busy && self.resuming.is_none();
        idle.then(|| later(self.asked, self.settings.idle_exit))
    }

    fn end_idle(&mut self, now: Instant) {
        if self.idle_due().is_some_and(|at| now >= at) {
            let seconds = self.settings.idle_exit.as_secs_f64();
            self.begin_exit(now, format!("nobody asked for anything for {seconds:.0} s"));
        }
    }

    fn forgotten_due(&self) -> Option<Instant> {
        let silent = self.state.teaching && self.state.link != Link::Ready;
        self.state.last_seen.filter(|_| silent).map(|seen| later(seen, FORGOTTEN))
    }

    fn forget_teaching(&mut self, now: Instant) {
        if self.forgotten_due().is_some_and(|at| now >= at) {
            self.exit_on_return = true;
            self.teaching_ended("the robot was silent for 10 s");
        }
    }
}

/// `at + by`, or a time nobody will wait for when the clock cannot count that far.
pub(super) fn later(at: Instant, by: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    at.checked_add(by).or_else(|| at.checked_add(YEAR)).unwrap_or(at)
}
