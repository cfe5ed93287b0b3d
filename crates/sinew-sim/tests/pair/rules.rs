//! The safety rules, asserted on what the host hands to the port and on what the robot does.

use std::time::{Duration, Instant};

use sinew_robot::vacuum::{Command, DockEvent, Event, LinkState as Link, Output, Settings};
use sinew_sim::vacuum::{Controller, MODE_SWITCH, Received, WATCHDOG};

use crate::{
    harness::{Setup, ms},
    model::{Model, Wanted, hazard},
    wire::Wire,
};

const BEAT: Duration = ms(20);
/// Wheels at full speed stand still after this.
const RUN_OUT: Duration = ms(300);
/// How long lost frames may delay a stop beyond what a clean link needs.
const LOSSES: Duration = ms(1000);
/// The status stream may pause for 200 ms or five periods of 9 ms, whichever is longer.
const SILENCE: Duration = ms(200);
const HANDSHAKE: Duration = ms(2000);
const HANDSHAKE_GAP: Duration = ms(100);
/// What may be on its way on a line that carries it in this time.
const LINE_BUDGET: Duration = ms(6);
/// Bytes of the longest frame that clients send here, and how long one may take.
const LONGEST_FRAME: u32 = 26;
const LONGEST_TIME: Duration = ms(25);
/// Bytes of a stop's zero velocities.
const ZEROS: u32 = 24;
/// For sums of decimal fractions.
const TINY: f64 = 1e-9;

/// What happened, so that a run in which nothing did is no proof.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) accepted: u32,
    pub(crate) refused: u32,
    pub(crate) moving_frames: u32,
    pub(crate) rolled: u32,
    pub(crate) stops: u32,
    pub(crate) boots: u32,
    pub(crate) lost: u32,
    pub(crate) expired: u32,
    pub(crate) reflexes: u32,
    pub(crate) docks: u32,
    pub(crate) hazards: u32,
    pub(crate) pauses: u32,
    /// Velocities that were held, and those that were held too long.
    pub(crate) held: u32,
    pub(crate) let_go: u32,
}

/// What was seen so far, and what may come next.
pub(crate) struct Rules {
    model: Model,
    settings: Settings,
    /// How late the caller may be, with a full port.
    slack: Duration,
    /// How long a beat may wait for the line.
    line: Duration,
    /// How long after a stop its zero velocity is at the line's end; none where bytes get lost.
    stop_time: Option<Duration>,
    /// When a zero velocity must be at the line's end.
    zero_due: Option<Instant>,
    /// The cable is cut.
    is_cut: bool,
    /// Until when the link keeps bytes back, or the robot hears nothing.
    disturbed_until: Option<Instant>,
    /// Until when a stalled link may let a velocity out that a paused host cannot follow up.
    held_until: Option<Instant>,
    /// The host's link is ready.
    is_ready: bool,
    /// The host does not run.
    is_paused: bool,
    /// Whether a mode switch on the wire can be compared with what follows it.
    prompt: bool,
    /// How long after the host's last velocity the robot may still have it for a target.
    reach: Duration,
    last_beat: Instant,
    /// The last 0x66 or 0x67 handed to the port since it was opened.
    velocity: Option<Wire>,
    moving_sent: Option<Instant>,
    /// When it was, if it was zero.
    still_at: Option<Instant>,
    mode_sent: Option<Instant>,
    /// First and latest 0x6B of a handshake without a gap.
    pulses: Option<(Instant, Instant)>,
    /// They took as long as they must.
    shaken: bool,
    stop_first: bool,
    /// When the host last took a status packet.
    seen: Option<Instant>,
    robot_fed: Option<Instant>,
    /// Until when a robot that was driving ignores a stop, for a mode switch came before it.
    deaf_until: Option<Instant>,
    pub(crate) tally: Tally,
}

impl Rules {
    pub(crate) fn new(setup: &Setup, now: Instant) -> Self {
        let up = &setup.up;
        let lossy = up.drop > 0.0 || up.corrupt > 0.0 || up.duplicate > 0.0;
        let way = up.delay + up.jitter;
        let bytes = |count: u32| Duration::from_secs(10) * count / setup.settings.baud;
        let ahead = LINE_BUDGET.max(bytes(LONGEST_FRAME).min(LONGEST_TIME));
        let line = ahead + bytes(ZEROS);
        let reach = way + WATCHDOG + ms(1) + if setup.slow { line } else { Duration::ZERO };
        let prompt = !lossy && setup.blocked.is_zero();
        let stop_time = BEAT + setup.late + line + way;
        Rules {
            model: Model::new(setup.settings.profile),
            settings: setup.settings.clone(),
            slack: setup.late + setup.blocked,
            line,
            stop_time: prompt.then_some(stop_time),
            zero_due: None,
            is_cut: false,
            disturbed_until: None,
            held_until: None,
            is_ready: false,
            is_paused: false,
            prompt: setup.blocked.is_zero(),
            reach: if lossy { reach + LOSSES } else { reach },
            last_beat: now,
            velocity: None,
            moving_sent: None,
            still_at: None,
            mode_sent: None,
            pulses: None,
            shaken: false,
            stop_first: false,
            seen: None,
            robot_fed: None,
            deaf_until: None,
            tally: Tally::default(),
        }
    }

    pub(crate) fn connected(&mut self, now: Instant) {
        self.disconnected();
        self.model.connected();
        self.last_beat = now;
    }

    pub(crate) fn disconnected(&mut self) {
        self.model.disconnected();
        (self.velocity, self.mode_sent, self.pulses) = (None, None, None);
        (self.still_at, self.shaken) = (None, false);
        (self.stop_first, self.seen, self.zero_due) = (false, None, None);
    }

    pub(crate) fn executed(
        &mut self,
        now: Instant,
        received: Instant,
        command: &Command,
        accepted: bool,
    ) {
        self.model.executed(now, received, command, accepted);
        if command.is_stop() {
            assert!(accepted, "a stop was refused");
            self.stopped(now);
        }
        if command.is_motion() {
            let hold = match command {
                Command::Lenient { hold: Some(hold), .. } => *hold,
                _ => self.settings.deadman,
            };
            let old = now - received >= hold.min(self.settings.deadman);
            assert!(!(old && accepted && moves(command)), "{command:?}, though it had expired");
            let count = if accepted { &mut self.tally.accepted } else { &mut self.tally.refused };
            *count += 1;
        }
    }

    pub(crate) fn released(&mut self, now: Instant) {
        self.model.stopped();
        self.stopped(now);
    }

    fn stopped(&mut self, now: Instant) {
        // Stops close together need not fill the line with zeros.
        let told = self.still_at.is_some_and(|at| now - at < BEAT);
        self.stop_first = self.model.connected && !told;
        self.tally.stops += 1;
        let disturbed = self.is_cut || self.disturbed_until.is_some_and(|until| now <= until);
        let heard = self.is_ready && !disturbed;
        let due = self.stop_time.filter(|_| heard).map(|time| now + time);
        self.zero_due = self.zero_due.or(due);
    }

    /// The link keeps bytes back until then, or the robot hears nothing.
    pub(crate) fn disturbed(&mut self, until: Instant) {
        self.zero_due = None;
        self.disturbed_until = self.disturbed_until.max(Some(until));
    }

    /// The cable was mended or cut.
    pub(crate) fn plugged(&mut self, plugged: bool) {
        self.zero_due = None;
        self.is_cut = !plugged;
    }

    /// The host does not run from now on.
    pub(crate) fn pausing(&mut self, now: Instant) {
        self.is_paused = true;
        self.disturbed(now);
        self.held_until = self.disturbed_until;
    }

    /// It runs again, later than it wanted to.
    pub(crate) fn resumed(&mut self, now: Instant, late: Duration) {
        self.is_paused = false;
        self.last_beat = now;
        // What the robot said meanwhile is read first, and told after the frames.
        self.seen = self.seen.map(|_| now);
        self.tally.pauses += 1;
        if late > self.settings.deadman {
            self.released(now);
        }
    }

    /// The host gave all it had.
    pub(crate) fn outputs(&mut self, now: Instant, outputs: &[Output]) {
        let mut hazards = Vec::new();
        let mut last_velocity = None;
        for output in outputs {
            if let Output::Event(Event::Status { status, .. }) = output {
                hazards.push(hazard(status));
            }
        }
        // Frames come before the events of the same call.
        let blind = self.model.hazard && hazards.iter().all(|hazard| *hazard);
        for output in outputs {
            match output {
                Output::Transmit(frame) => {
                    let frame = Wire::parse(frame.as_bytes());
                    assert!(!(blind && frame.is_forward()), "forwards at a bumper or cliff");
                    self.frame(now, &frame);
                    if frame.is_velocity() {
                        last_velocity = Some(frame);
                    }
                }
                Output::Event(event) => self.event(now, event),
            }
        }
        if self.model.hazard {
            let forward = last_velocity.is_some_and(|frame| frame.is_forward());
            assert!(!forward, "forwards, though the latest status shows a bumper or cliff");
        }
        if !outputs.is_empty() {
            self.check_velocity(now, false);
        }
    }

    fn frame(&mut self, now: Instant, frame: &Wire) {
        assert!(self.model.connected, "a frame for a closed port: {frame:?}");
        if std::mem::take(&mut self.stop_first) {
            let zero = frame.command == 0x66 && frame.is_zero();
            assert!(zero, "the first frame after a stop is {frame:?}");
        }
        if frame.is_beat() {
            let gap = now - self.last_beat;
            let most = BEAT + self.slack + self.line;
            assert!(gap <= most, "{gap:?} between two beats");
            self.last_beat = now;
        }
        if frame.is_velocity() {
            self.velocity_frame(now, frame);
        }
        if self.model.off {
            assert!(!frame.switches_on(), "{frame:?} after everything was switched off");
        }
        self.model.sent(now, frame);
        let settling = self.mode_sent.is_some_and(|at| now < at + MODE_SWITCH);
        let raw = self.model.raw_at.is_some_and(|at| now < at + MODE_SWITCH + ms(1));
        if settling && self.prompt && !raw {
            assert!(!frame.actuates(), "{frame:?} less than 100 ms after a mode switch");
        }
        match (frame.command, frame.payload.as_slice()) {
            (0x65, _) => self.mode_sent = Some(now),
            (0x6B, [0x64]) => {
                let first = self.pulses.filter(|(_, last)| now - *last <= HANDSHAKE_GAP);
                let first = first.map_or(now, |(first, _)| first);
                self.pulses = Some((first, now));
                self.shaken |= now - first >= HANDSHAKE;
            }
            _ => {}
        }
    }

    fn velocity_frame(&mut self, now: Instant, frame: &Wire) {
        let (linear, angular, wheels) = frame.speeds(self.scale()).unwrap();
        assert!(linear.abs() <= 0.3 + TINY && angular.abs() <= 1.0 + TINY, "too fast: {frame:?}");
        for wheel in wheels.into_iter().flatten() {
            assert!(wheel.abs() <= 0.3 + TINY, "too fast: {frame:?}");
        }
        self.velocity = Some(frame.clone());
        self.still_at = frame.is_zero().then_some(now);
        if frame.is_zero() {
            return;
        }
        self.tally.moving_frames += 1;
        self.moving_sent = Some(now);
        assert!(self.model.enabled, "{frame:?} while the wheels are stopped");
        assert!(self.shaken, "{frame:?} before the handshake was over: {:?}", self.pulses);
        let blind = self.seen.map(|seen| now - seen);
        let most = SILENCE + self.slack;
        let sees = blind.is_some_and(|blind| blind <= most);
        assert!(sees, "{frame:?}, {blind:?} after the last status packet");
        match (&self.model.wanted, self.model.docking) {
            (Some(wanted), _) => {
                let asked = same(&wanted.frame, frame, self.scale());
                assert!(asked, "{frame:?} was not asked for, {:?} was", wanted.frame);
                let age = now - wanted.given;
                let most = self.counts(wanted) + self.slack + self.line;
                assert!(age <= most, "{frame:?}, {age:?} after it was asked for");
            }
            (None, Some(_)) => {}
            (None, None) => panic!("{frame:?} was not asked for"),
        }
    }

    /// For how long a velocity may be carried out.
    fn counts(&self, wanted: &Wanted) -> Duration {
        wanted.hold.unwrap_or(self.settings.deadman)
    }

    fn scale(&self) -> f64 {
        self.settings.profile.velocity_scale.into()
    }

    fn event(&mut self, now: Instant, event: &Event) {
        self.model.event(event);
        if let Event::Link { link, .. } = event {
            self.is_ready = *link == Link::Ready;
        }
        let tally = &mut self.tally;
        match event {
            Event::Link { link: Link::Lost, .. } => tally.lost += 1,
            Event::Link { link: Link::Booting { .. }, .. } => {
                (self.pulses, self.shaken) = (None, false);
            }
            Event::BootDone => tally.boots += 1,
            Event::DeadmanExpired => tally.expired += 1,
            Event::Held { .. } => tally.held += 1,
            Event::HoldEnded { .. } => tally.let_go += 1,
            Event::Reflex { .. } => tally.reflexes += 1,
            Event::Dock { dock: DockEvent::Arrived } => tally.docks += 1,
            Event::Status { status, .. } => {
                self.seen = Some(now);
                tally.hazards += u32::from(hazard(status));
            }
            _ => {}
        }
    }

    /// The robot heard frames; `targets` were its wheels' before.
    pub(crate) fn heard(&mut self, frames: &[Received], targets: (f32, f32)) {
        let mut driven = targets != (0.0, 0.0);
        for received in frames {
            let frame = Wire::parse(received.bytes());
            if frame.is_beat() {
                self.robot_fed = Some(received.at);
            }
            if frame.is_velocity() && frame.is_zero() {
                self.zero_due = None;
            }
            driven |= frame.moves();
            if frame.command == 0x65 && driven {
                self.deaf_until = Some(received.at + MODE_SWITCH);
            }
        }
    }

    /// What must hold at any time.
    pub(crate) fn check(&mut self, now: Instant, robot: &Controller, full: bool) {
        if let Some(due) = self.zero_due {
            assert!(now <= due, "no zero at the line's end {:?} after it was due", now - due);
        }
        if self.model.connected && !self.is_paused {
            let gap = now - self.last_beat;
            assert!(gap <= BEAT + self.slack + self.line, "no beat for {gap:?}");
        }
        self.check_velocity(now, full);
        if let Some(since) = self.model.docking.filter(|_| !self.is_paused) {
            let time = now - since;
            let most = self.settings.dock_timeout + self.slack;
            assert!(time <= most, "on the way to the dock for {time:?}");
        }
        if robot.is_moving() {
            self.tally.rolled += 1;
            let silent = self.robot_fed.map(|fed| now - fed);
            let fed = silent.is_some_and(|silent| silent <= WATCHDOG + RUN_OUT);
            assert!(fed, "the wheels turn after a silence of {silent:?}");
        }
        if robot.wheel_targets() != (0.0, 0.0) {
            let until = [self.moving_sent, self.deaf_until, self.held_until];
            let until = until.into_iter().flatten().max();
            let late = until.map(|until| now.saturating_duration_since(until));
            let driven = late.is_some_and(|late| late <= self.reach);
            assert!(driven, "the robot drives {late:?} after the host's last velocity");
        }
    }

    /// The last velocity on the wire is zero unless somebody wants another, and wanted it of late.
    fn check_velocity(&self, now: Instant, full: bool) {
        let moving = self.velocity.as_ref().is_some_and(Wire::moves);
        if !moving || self.model.docking.is_some() || self.is_paused {
            return;
        }
        match &self.model.wanted {
            Some(wanted) => {
                let age = now - wanted.given;
                let most = self.counts(wanted) + BEAT + self.slack;
                assert!(age <= most, "no zero {age:?} after the last velocity command");
            }
            None => assert!(full, "{:?} was left on the wire by a stop", self.velocity),
        }
    }
}

/// Whether a command asks the wheels to turn.
fn moves(command: &Command) -> bool {
    match *command {
        Command::Velocity { linear, angular } => (linear, angular) != (0.0, 0.0),
        Command::Tank { left, right } => (left, right) != (0.0, 0.0),
        Command::Lenient { speeds, .. } => !speeds.is_zero(),
        _ => true,
    }
}

/// Whether a frame is what was asked for, give or take one unit: speeds at a limit are rounded
/// towards zero.
fn same(wanted: &Wire, frame: &Wire, scale: f64) -> bool {
    let near = |a: f64, b: f64, unit: f64| (a - b).abs() < unit + TINY;
    match (wanted.speeds(scale), frame.speeds(scale)) {
        (Some((.., Some(wanted))), Some((.., Some(frame)))) => {
            wanted.iter().zip(frame).all(|(wanted, frame)| near(*wanted, frame, 0.001))
        }
        (Some((linear, angular, None)), Some((also, turn, None))) => {
            near(linear, also, 1.0 / scale) && near(angular, turn, 1.0 / scale)
        }
        _ => false,
    }
}
