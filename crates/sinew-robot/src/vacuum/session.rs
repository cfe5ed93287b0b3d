use std::{
    mem,
    time::{Duration, Instant},
};

use sinew_wire::gd32::{
    Body, Command as Code, Deframer, Frame, Message, STATUS_LEN, Sender, Status, What,
};

use super::{
    Command, Counters, Event, LinkState, Output, Settings, State,
    boot::Boot,
    dock::Docking,
    motion::{Motion, REST, ZERO_VELOCITY, actuates},
    odometry::Odometry,
    outbox::{self, Outbox},
    outputs::Outputs,
    spine::Outcomes,
};
use crate::{Refusal, later};

/// How often the controller must hear from the host; after 50 ms of silence it stops the motors.
pub(super) const BEAT: Duration = Duration::from_millis(20);
/// A beat this late keeps its rhythm; a later one starts a new one, so that two never come close.
const BEAT_TOLERANCE: Duration = Duration::from_millis(2);
/// How often 0x0D is sent.
const POLL: Duration = Duration::from_secs(3);
/// How often a lost controller is woken: one that restarted may wait for 0x0C before it speaks.
const WAKE: Duration = Duration::from_secs(1);
/// How long a frame may stay incomplete.
const INCOMPLETE: Duration = Duration::from_millis(50);

/// A vacuum's controller, from the host's side.
///
/// After every call fetch [`poll_output`](Self::poll_output) until it gives none, and call
/// [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) says. When
/// both are due, hand input in first: a host that slept must not take its own sleep for silence of
/// the controller.
#[derive(Debug)]
pub struct Session {
    pub(super) settings: Settings,
    pub(super) state: State,
    /// The time of the last call.
    pub(super) now: Instant,
    deframer: Deframer,
    /// What the deframers of earlier connections counted.
    counted: Counters,
    incomplete_since: Option<Instant>,
    pub(super) outbox: Outbox,
    /// The boot that runs, if one does.
    pub(super) boot: Option<Boot>,
    /// When a failed boot is tried again, or a lost controller woken.
    pub(super) retry_at: Option<Instant>,
    beat_at: Instant,
    pub(super) poll_at: Instant,
    /// The last status packet since the boot began: whether the stream runs.
    pub(super) streaming: Option<Instant>,
    pub(super) motion: Option<Motion>,
    /// When a client's velocity was last sent for the first time.
    pub(super) velocity_at: Option<Instant>,
    /// The last pause of the computer, and until when commands may be older than it.
    pub(super) pause: Option<(Instant, String)>,
    /// Whether the frame that last drove the wheels drove them one by one.
    pub(super) tank: bool,
    /// Until when zero velocity is repeated, lest the one that stopped the wheels got lost.
    pub(super) rest_until: Option<Instant>,
    pub(super) outputs: Outputs,
    pub(super) odometry: Odometry,
    pub(super) docking: Option<Docking>,
    pub(super) outcomes: Outcomes,
    /// There is no controller: what comes was recorded.
    pub(super) recorded: bool,
}

impl Session {
    /// A session whose port is not open.
    pub fn new(settings: Settings, now: Instant) -> Self {
        Session {
            outbox: Outbox::new(settings.baud, now),
            settings,
            state: State::new(),
            now,
            deframer: Deframer::new(),
            counted: Counters::default(),
            incomplete_since: None,
            boot: None,
            retry_at: None,
            beat_at: now,
            poll_at: now,
            streaming: None,
            motion: None,
            velocity_at: None,
            pause: None,
            tank: false,
            rest_until: None,
            outputs: Outputs::default(),
            odometry: Odometry::default(),
            docking: None,
            outcomes: Outcomes::default(),
            recorded: false,
        }
    }

    /// A session that hears what a controller once said. It sends nothing, and takes stops alone.
    pub fn recorded(settings: Settings, now: Instant) -> Self {
        Session { recorded: true, ..Session::new(settings, now) }
    }

    /// The port is open, or open again: boots the controller. Nothing is carried over.
    pub fn connected(&mut self, now: Instant) {
        self.tell_time(now);
        if self.state.link.is_open() {
            self.disconnected(now);
        }
        let counters = self.state.counters;
        self.state = State { counters, ..State::new() };
        self.counted = counters;
        self.deframer = Deframer::new();
        self.odometry = Odometry::default();
        self.tank = false;
        self.outbox.clear_frames(now);
        if self.recorded {
            self.state.stopped_by = Some("this is a recording".into());
            return self.set_link(now, LinkState::Ready);
        }
        self.begin_boot(now);
        // A port that was closed for less than the watchdog's time finds the wheels still turning.
        // The boot's first frame is the first of all.
        self.rest_until = Some(later(now, REST));
        self.send(ZERO_VELOCITY);
        self.beaten(now);
        self.advance(now);
    }

    /// The port is gone.
    pub fn disconnected(&mut self, now: Instant) {
        self.lose_port(now, None);
    }

    /// The port is gone, or could not be opened, for this reason.
    pub(super) fn lose_port(&mut self, now: Instant, reason: Option<&str>) {
        self.tell_time(now);
        let known = matches!(&self.state.link, LinkState::Disconnected { reason: before }
            if before.as_deref() == reason);
        if known {
            return;
        }
        self.abandon_dock(now, "the port was closed".into(), false);
        self.motion = None;
        self.state.velocity = Default::default();
        self.outbox.clear_frames(now);
        self.outputs = Outputs::default();
        self.incomplete_since = None;
        self.boot = None;
        self.retry_at = None;
        self.streaming = None;
        self.latch("the port was closed");
        self.set_link(now, LinkState::Disconnected { reason: reason.map(Into::into) });
    }

    /// Takes bytes from the port.
    pub fn handle_input(&mut self, now: Instant, bytes: &[u8]) {
        self.tell_time(now);
        if !self.state.link.is_open() {
            return;
        }
        let mut deframer = mem::take(&mut self.deframer);
        let mut moved_on = false;
        deframer.push(bytes, |piece| {
            moved_on = true;
            if let What::Frame(frame) = piece.what {
                self.receive(now, &frame);
            }
        });
        self.deframer = deframer;
        self.note_incomplete(now, moved_on);
        self.advance(now);
    }

    /// Does what has become due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    /// The next thing to do, or none. Frames are given as the line has room for them at the time of
    /// the last call.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.fetch()
    }

    /// The next event, for a caller whose port takes nothing: frames stay, where newer ones replace
    /// them and a stop overtakes them.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.outbox.next_event()
    }

    /// Whether a stop has frames that the port has not taken.
    pub fn is_stopping(&self) -> bool {
        !self.recorded && self.outbox.is_stopping()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if !self.state.link.is_open() {
            return None;
        }
        if self.recorded {
            let incomplete = self.incomplete_since.map(|since| later(since, INCOMPLETE));
            return incomplete.into_iter().chain(self.silence_deadline()).min();
        }
        let ready = self.state.link == LinkState::Ready;
        [
            Some(self.beat_at),
            ready.then_some(self.poll_at),
            self.retry_at,
            self.incomplete_since.map(|since| later(since, INCOMPLETE)),
            self.silence_deadline(),
            self.motion.as_ref().map(|motion| motion.until),
            self.boot.as_ref().map(Boot::timeout),
            self.outputs.timeout(),
            self.docking.as_ref().map(|docking| docking.timeout(&self.settings)),
            self.outbox.timeout(self.now),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Carries a command out, or says why not. `by` names the client, for messages only.
    pub fn execute(&mut self, now: Instant, command: Command, by: &str) -> Result<(), Refusal> {
        self.execute_received(now, now, command, by)
    }

    /// The same for a command that came at `received`: a velocity counts from then on, and one that
    /// has expired since is refused.
    pub fn execute_received(
        &mut self,
        now: Instant,
        received: Instant,
        command: Command,
        by: &str,
    ) -> Result<(), Refusal> {
        self.tell_time(now);
        // A stop comes before whatever has become due.
        if !command.is_stop() {
            self.advance(now);
        }
        let done = self.dispatch(now, received.min(now), command, by);
        self.advance(now);
        done
    }

    /// The holder of the controls went away: stops the wheels and keeps them stopped.
    pub fn release(&mut self, now: Instant, by: &str) {
        self.tell_time(now);
        self.outputs.forget_waiting_on();
        self.stop_and_latch(now, &format!("{by} left"));
        self.advance(now);
    }

    /// `by` took the controls from another client, whose motion ends.
    pub fn taken(&mut self, now: Instant, by: &str) {
        self.tell_time(now);
        self.stop_and_latch(now, &format!("{by} took the controls"));
        self.advance(now);
    }

    /// The caller did not run for this much longer than it wanted to: the computer slept, or the
    /// process was stopped. What the wheels do was not looked after, and what arrives next may have
    /// been sent before. To be called before anything else; does nothing that is due.
    pub fn paused(&mut self, now: Instant, late: Duration) {
        self.tell_time(now);
        let by = format!("a pause of the computer of {:.1} s", late.as_secs_f64());
        self.stop_and_latch(now, &by);
        self.pause = Some((later(now, self.settings.deadman), by));
    }

    /// What is known about the robot.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What was set.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A caller's clock may not go back.
    fn tell_time(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    fn receive(&mut self, now: Instant, frame: &Frame<'_>) {
        self.state.last_seen = Some(now);
        match self.state.link {
            LinkState::Lost if self.recorded => self.set_link(now, LinkState::Ready),
            LinkState::Lost => self.begin_boot(now),
            _ => {}
        }
        let unknown =
            || Event::Unknown { command: frame.command(), payload: frame.payload().into() };
        match Message::parse(frame, Some(Sender::Controller)).map(|message| message.body) {
            Ok(Body::Status { fields, raw }) => self.receive_status(now, fields, raw),
            Ok(Body::Version(version)) => {
                let text = String::from_utf8_lossy(version.text()).into_owned();
                let code = version.code();
                self.state.version = Some(text.as_str().into());
                self.state.version_code = code;
                self.event(Event::Version { text, code });
                self.dock_version_answered(now);
            }
            Ok(Body::InitializeAck) => {
                self.outputs.initialised(now);
                self.odometry.gyro.zeroed();
            }
            Ok(Body::ProtocolSyncAck(_)) => self.event(Event::Synced),
            Ok(Body::ImuStateAnswer(value)) => self.event(Event::ImuState { value }),
            Ok(Body::LidarState(bytes)) => self.event(Event::LidarState { bytes }),
            Ok(Body::HeartbeatAck | Body::LidarConfigAck(_)) => {}
            Ok(_) if frame.command() == Code::CompassState.code() => {
                self.event(Event::CompassState { payload: frame.payload().into() });
            }
            Ok(_) => self.event(unknown()),
            Err(_) => {
                self.state.counters.malformed += 1;
                self.event(unknown());
                return;
            }
        }
        self.boot_answered(now, Code::from(frame.command()));
    }

    fn receive_status(&mut self, now: Instant, status: Status, raw: &[u8; STATUS_LEN]) {
        self.streaming = Some(now);
        self.state.battery_percent = Some(status.battery_percent());
        self.state.battery_volts = Some(f64::from(status.battery_decivolts) / 10.0);
        self.state.status = Some(status);
        self.track(now, &status);
        self.reflex(now, &status);
        self.steer(now, &status);
        self.event(Event::Status { status, raw: *raw, at: now, pose: self.state.pose });
    }

    /// Everything that time alone brings about. What stops comes before what goes on.
    fn advance(&mut self, now: Instant) {
        self.tell_time(now);
        if self.recorded {
            self.give_up_incomplete(now);
            self.check_recorded(now);
        } else if self.state.link.is_open() {
            self.give_up_incomplete(now);
            self.hold_settling(now);
            self.check_link(now);
            self.expire(now);
            self.advance_boot(now);
            self.advance_dock(now);
            self.advance_outputs(now);
            self.wake_or_retry(now);
            self.poll_data(now);
            self.beat(now);
        }
        let seen = self.deframer.counters();
        let counters = &mut self.state.counters;
        counters.frames = self.counted.frames + seen.frames;
        counters.bad_checks = self.counted.bad_checks + seen.bad_checks;
        counters.bad_lengths = self.counted.bad_lengths + seen.bad_lengths;
        counters.dropped = self.counted.dropped + seen.dropped;
    }

    fn note_incomplete(&mut self, now: Instant, moved_on: bool) {
        self.incomplete_since = match self.incomplete_since {
            _ if self.deframer.pending() == 0 => None,
            Some(since) if !moved_on => Some(since),
            _ => Some(now),
        };
    }

    fn give_up_incomplete(&mut self, now: Instant) {
        if self.incomplete_since.is_none_or(|since| now < later(since, INCOMPLETE)) {
            return;
        }
        let mut deframer = mem::take(&mut self.deframer);
        deframer.give_up(|piece| {
            if let What::Frame(frame) = piece.what {
                self.receive(now, &frame);
            }
        });
        self.deframer = deframer;
        self.note_incomplete(now, true);
    }

    /// When the silence of a stream that ran means that the link is lost. The first boot phases
    /// have time-outs of their own, and the controller may pause its stream when it is woken.
    fn silence_deadline(&self) -> Option<Instant> {
        let since = match (&self.state.link, &self.boot) {
            (LinkState::Ready, _) => self.streaming?,
            (LinkState::Booting { .. }, Some(boot)) => self.streaming?.max(boot.handshake_since()?),
            _ => return None,
        };
        Some(later(since, self.settings.link_timeout()))
    }

    fn check_link(&mut self, now: Instant) {
        if self.silence_deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        self.boot = None;
        self.abandon_dock(now, "the link was lost".into(), false);
        // The controller may still hear what the host no longer sees it do.
        let off = self.all_off(now);
        self.stop_with(now, &off, actuates);
        self.latch("link lost");
        self.retry_at = Some(later(now, WAKE));
        self.set_link(now, LinkState::Lost);
    }

    /// A silence of what was recorded looks as one of a controller does.
    fn check_recorded(&mut self, now: Instant) {
        self.outbox.clear_frames(now);
        if self.silence_deadline().is_some_and(|deadline| now >= deadline) {
            self.streaming = None;
            self.set_link(now, LinkState::Lost);
        }
    }

    fn wake_or_retry(&mut self, now: Instant) {
        if self.retry_at.is_none_or(|at| now < at) {
            return;
        }
        match self.state.link {
            LinkState::Lost => {
                self.retry_at = Some(later(now, WAKE));
                self.repeat(Body::ProtocolSync(1));
            }
            LinkState::Failed { .. } => self.begin_boot(now),
            _ => self.retry_at = None,
        }
    }

    fn poll_data(&mut self, now: Instant) {
        if self.state.link == LinkState::Ready && now >= self.poll_at {
            self.poll_at = later(now, POLL);
            self.repeat(Body::RequestData);
        }
    }

    fn beat(&mut self, now: Instant) {
        if now < self.beat_at {
            return;
        }
        let late = now.saturating_duration_since(self.beat_at);
        let from = if late <= BEAT_TOLERANCE { self.beat_at } else { now };
        self.beat_at = later(from, BEAT);
        match self.beat_frame(now) {
            Some(frame) => self.outbox.set_beat(frame),
            None if self.outbox.has_beat() => {}
            None => {
                if let Some(frame) = outbox::framed(Body::Heartbeat) {
                    self.outbox.set_beat(frame);
                }
            }
        }
    }

    /// A velocity that has just been sent was a beat.
    pub(super) fn beaten(&mut self, now: Instant) {
        self.beat_at = later(now, BEAT);
    }

    pub(super) fn set_link(&mut self, now: Instant, link: LinkState) {
        if self.state.link != link {
            self.state.link = link.clone();
            let silent = self.state.last_seen.map(|seen| now.saturating_duration_since(seen));
            let silent_ms = silent.map(|silent| silent.as_millis() as u64);
            self.event(Event::Link { link, silent_ms });
        }
    }

    /// Ends what the wheels do and what drives them by itself.
    fn stop_and_latch(&mut self, now: Instant, by: &str) {
        self.halt(now);
        self.abandon_dock(now, by.into(), true);
        self.latch(by);
    }

    /// Keeps the wheels stopped until `drive` Enable. What stopped them first is remembered.
    pub(super) fn latch(&mut self, by: &str) {
        if self.state.stopped_by.is_none() {
            self.stopped(by);
        }
    }

    /// A client asked for it: keeps the wheels stopped and says so, also when they already were.
    pub(super) fn stopped(&mut self, by: &str) {
        self.state.stopped_by = Some(by.into());
        self.event(Event::Stopped { by: by.into() });
    }
}
