//! What the host may do to the wheels, told from outside: by what was asked and answered, and by
//! the events it gave. It knows nothing of how the session keeps its promises.

use std::time::{Duration, Instant};

use sinew_robot::{
    drive::Speeds,
    vacuum::{Command, DockEvent, Event, LinkState as Link},
};
use sinew_wire::gd32::{Body, Flag, Profile, Status, WheelSpeeds};

use crate::wire::{Wire, framed};

/// A velocity that was accepted.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) frame: Wire,
    pub(crate) given: Instant,
    /// For how long it may be carried out; none is the dead-man's time.
    pub(crate) hold: Option<Duration>,
}

/// What is allowed now.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    profile: Profile,
    pub(crate) connected: bool,
    /// An Enable was accepted, and nothing stopped the wheels since.
    pub(crate) enabled: bool,
    /// Everything was switched off, and nothing was asked for since.
    pub(crate) off: bool,
    /// The client's velocity.
    pub(crate) wanted: Option<Wanted>,
    /// Since when the robot is on its way to the dock.
    pub(crate) docking: Option<Instant>,
    /// The latest status packet shows a bumper or a cliff.
    pub(crate) hazard: bool,
    /// A raw frame was sent: its sender looks after waits himself.
    pub(crate) raw_at: Option<Instant>,
    /// Raw frames that were accepted and not yet sent.
    raws: Vec<Wire>,
}

impl Model {
    pub(crate) fn new(profile: Profile) -> Self {
        Model {
            profile,
            connected: false,
            enabled: false,
            off: true,
            wanted: None,
            docking: None,
            hazard: false,
            raw_at: None,
            raws: Vec::new(),
        }
    }

    pub(crate) fn connected(&mut self) {
        *self = Model { connected: true, ..Model::new(self.profile) };
    }

    pub(crate) fn disconnected(&mut self) {
        // What ended with the port is told by an event.
        *self = Model { docking: self.docking, ..Model::new(self.profile) };
    }

    /// The wheels are stopped until an Enable.
    pub(crate) fn stopped(&mut self) {
        self.enabled = false;
        self.wanted = None;
    }

    /// A command was carried out or refused.
    pub(crate) fn executed(
        &mut self,
        now: Instant,
        received: Instant,
        command: &Command,
        accepted: bool,
    ) {
        match command {
            Command::DriveReset => {
                self.stopped();
                self.off = true;
            }
            Command::DriveDisable => self.stopped(),
            _ if !accepted => {}
            Command::DriveEnable { .. } => {
                (self.enabled, self.off, self.wanted) = (true, false, None);
            }
            Command::Dock => {
                self.must_be_enabled(command);
                assert!(self.docking.is_none(), "a second return to the dock was accepted");
                (self.docking, self.wanted, self.off) = (Some(now), None, false);
            }
            Command::Boot => self.stopped(),
            Command::LetGo { .. } => {
                self.wanted = self.wanted.take().filter(|wanted| wanted.hold.is_none());
            }
            Command::McuSleep | Command::MainBoard { on: false } | Command::MainBoardRestart => {
                self.wanted = None;
            }
            Command::Vacuum { .. }
            | Command::MainBrush { .. }
            | Command::SideBrush { .. }
            | Command::LidarOn { .. }
            | Command::LidarOff => self.off = false,
            Command::Raw { command: code, payload } => {
                self.off = false;
                let frame = Wire::new(*code, payload);
                self.raws.push(frame.clone());
                if frame.is_velocity() && frame.is_zero() {
                    self.wanted = None;
                } else if frame.is_velocity() {
                    self.must_be_enabled(command);
                    self.wanted = Some(Wanted { frame, given: received, hold: None });
                }
            }
            _ => {}
        }
        if let Some(frame) = Some(command).filter(|_| accepted).and_then(|c| self.velocity(c)) {
            self.must_be_enabled(command);
            // Standing still does not expire.
            let given = if frame.is_zero() { now } else { received };
            let hold = match command {
                Command::Lenient { hold, .. } if !frame.is_zero() => *hold,
                _ => None,
            };
            self.wanted = Some(Wanted { frame, given, hold });
        }
    }

    /// The host gave a frame to the port.
    pub(crate) fn sent(&mut self, now: Instant, frame: &Wire) {
        if let Some(raw) = self.raws.iter().position(|raw| raw == frame) {
            self.raws.remove(raw);
            self.raw_at = Some(now);
        }
    }

    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Link { link, .. } if *link != Link::Ready => {
                self.stopped();
                self.raws.clear();
                self.off = true;
                self.hazard = false;
            }
            Event::Dock { dock: DockEvent::GaveUp { reason } } => {
                assert!(!reason.is_empty(), "a return to the dock ended without a reason");
                self.dock_over();
            }
            Event::Dock { dock: DockEvent::Arrived } => self.dock_over(),
            Event::Status { status, .. } => self.hazard = hazard(status),
            _ => {}
        }
    }

    fn dock_over(&mut self) {
        assert!(self.docking.take().is_some(), "a return to the dock ended that did not run");
    }

    fn must_be_enabled(&self, command: &Command) {
        assert!(self.enabled, "accepted while the wheels are stopped: {command:?}");
    }

    /// The frame that a client's velocity is.
    fn velocity(&self, command: &Command) -> Option<Wire> {
        match *command {
            Command::Velocity { linear, angular } => {
                let velocity = self.profile.velocity(linear, angular).unwrap();
                Some(framed(Body::Velocity(velocity)))
            }
            Command::Tank { left, right } => {
                Some(framed(Body::WheelSpeeds(WheelSpeeds::from_metres(left, right).unwrap())))
            }
            Command::Lenient { speeds, .. } => self.velocity(&scaled(speeds)),
            _ => None,
        }
    }
}

/// The command that has the same curve and is at no limit faster than 0.3 m/s and 1 rad/s.
fn scaled(speeds: Speeds) -> Command {
    let factor = match speeds {
        Speeds::Velocity { linear, angular } => (0.3 / linear.abs()).min(1.0 / angular.abs()),
        Speeds::Tank { left, right } => {
            (0.3 / left.abs().max(right.abs())).min(0.233 / (right - left).abs())
        }
    };
    let factor = factor.min(1.0);
    match speeds {
        Speeds::Velocity { linear, angular } => {
            Command::Velocity { linear: linear * factor, angular: angular * factor }
        }
        Speeds::Tank { left, right } => {
            Command::Tank { left: left * factor, right: right * factor }
        }
    }
}

pub(crate) fn hazard(status: &Status) -> bool {
    let flags = [
        Flag::BumperLeft,
        Flag::BumperRight,
        Flag::CliffLeftSide,
        Flag::CliffLeftFront,
        Flag::CliffRightFront,
        Flag::CliffRightSide,
    ];
    flags.into_iter().any(|flag| status.is(flag))
}
