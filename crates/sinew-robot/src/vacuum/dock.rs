use std::{
    f64::consts::PI,
    time::{Duration, Instant},
};

use sinew_wire::gd32::{Body, DockIr, Flag, Mode, Status, Switch};

use super::{
    DockEvent, DockPhase, Event, Pose, Session, Settings,
    motion::{self, NAVIGATION},
    odometry::wrapped,
    outputs::Actuator,
};
use crate::{Code, Refusal, later};

/// How far in front of the dock the robot turns its back to it.
const STAGING: f64 = 0.4;
/// How far behind the remembered place it still looks for the dock.
const OVERSHOOT: f64 = 0.1;
/// How near a place counts as there.
const ARRIVED: f64 = 0.03;
const CRUISE: f64 = 0.2;
const CREEP: f64 = 0.08;
const TURN: f64 = 0.8;
/// Slower turns are lost in the wheels' friction.
const SLOWEST_TURN: f64 = 0.12;
const LIDAR_PWM: u8 = 60;
/// The capture shows brushes running briefly after the start, not how fast or how long.
const BRUSHES: u8 = 30;
const BRUSH_TIME: Duration = Duration::from_secs(1);
const VERSION_WAIT: Duration = Duration::from_millis(300);
const VERSION_TRIES: u32 = 5;
/// How long the contacts may meet before charging begins.
const CHARGE_WAIT: Duration = Duration::from_secs(10);

/// A return to the dock that runs.
#[derive(Debug)]
pub(super) struct Docking {
    since: Instant,
    step: Step,
    /// The lidar was off before, so it is switched off again.
    lidar_started: bool,
    brushes_until: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    /// The controller is asked for its version.
    Asking { tries: u32, retry_at: Instant },
    /// Turns to the place in front of the dock.
    Facing,
    /// Drives there.
    Driving,
    /// Turns its back to the dock.
    Aligning,
    /// Drives backwards onto it.
    Backing,
    /// The contacts meet; charging is due.
    Contact { until: Instant },
}

impl Docking {
    pub(super) fn timeout(&self, settings: &Settings) -> Instant {
        let step = match self.step {
            Step::Asking { retry_at, .. } => Some(retry_at),
            Step::Contact { until } => Some(until),
            _ => None,
        };
        let over = later(self.since, settings.dock_timeout);
        [step, self.brushes_until].into_iter().flatten().fold(over, Instant::min)
    }
}

impl Session {
    /// Begins the return to the dock.
    pub(super) fn dock(&mut self, now: Instant, received: Instant) -> Result<(), Refusal> {
        self.may_move(now)?;
        self.is_recent(now, received)?;
        self.may_wait()?;
        let not_ready = |message: &str| Err(Refusal::new(Code::NotReady, message));
        if self.docking.is_some() {
            return not_ready("it is already on its way to the dock");
        }
        if self.state.dock.is_none() {
            return not_ready(
                "where the dock is is not known: put the robot on its dock once, it remembers the place",
            );
        }
        let Some(status) = self.state.status.filter(|_| self.streaming.is_some()) else {
            return not_ready("no status packet has come yet: wait for one");
        };
        let hazards = motion::hazards(&status);
        if !hazards.is_empty() && !status.is(Flag::OnDock) {
            return not_ready(&format!("{}: free the robot first", hazards.join(", ")));
        }
        if self.motion.is_some() {
            self.halt(now);
        }
        let step = Step::Asking { tries: 1, retry_at: later(now, VERSION_WAIT) };
        let lidar_started = self.state.lidar.is_none();
        self.docking = Some(Docking { since: now, step, lidar_started, brushes_until: None });
        self.set_dock_phase(DockPhase::Startup);
        self.send(Body::VersionRequest);
        self.set_led(1);
        Ok(())
    }

    pub(super) fn dock_version_answered(&mut self, now: Instant) {
        let Some(docking) = &mut self.docking else { return };
        if !matches!(docking.step, Step::Asking { .. }) {
            return;
        }
        docking.step = Step::Facing;
        docking.brushes_until = Some(later(now, BRUSH_TIME));
        self.set_dock_phase(DockPhase::Navigation);
        self.switch_mode(now, NAVIGATION);
        self.start_lidar(now, self.state.lidar.unwrap_or(LIDAR_PWM));
        self.set_led(6);
        self.actuate(now, Actuator::SideBrush(BRUSHES));
        self.actuate(now, Actuator::MainBrush(BRUSHES));
    }

    pub(super) fn advance_dock(&mut self, now: Instant) {
        let Some(docking) = &mut self.docking else { return };
        if docking.brushes_until.is_some_and(|until| now >= until) {
            docking.brushes_until = None;
            self.actuate(now, Actuator::SideBrush(0));
            self.actuate(now, Actuator::MainBrush(0));
        }
        let Some(docking) = &mut self.docking else { return };
        match &mut docking.step {
            Step::Asking { tries, retry_at } if now >= *retry_at => {
                if *tries < VERSION_TRIES {
                    *tries += 1;
                    *retry_at = later(now, VERSION_WAIT);
                    return self.send(Body::VersionRequest);
                }
                return self.give_up_dock(now, "the controller does not answer 0x07".into());
            }
            Step::Contact { until } if now >= *until => {
                let reason = "it stands on the dock but does not charge: check dock and contacts";
                self.shut_down(now);
                return self.dock_over(DockEvent::GaveUp { reason: reason.into() });
            }
            _ => {}
        }
        if now >= later(docking.since, self.settings.dock_timeout) {
            let reason = format!("not there after {:.0?}", self.settings.dock_timeout);
            self.give_up_dock(now, reason);
        }
    }

    /// One step of the loop that a status packet closes.
    pub(super) fn steer(&mut self, now: Instant, status: &Status) {
        let (Some(docking), Some(dock)) = (&self.docking, self.state.dock) else { return };
        if status.is(Flag::Charging) {
            self.shut_down(now);
            return self.dock_over(DockEvent::Arrived);
        }
        let hazards = motion::hazards(status);
        if !hazards.is_empty() && !status.is(Flag::OnDock) {
            return self.give_up_dock(now, hazards.join(", "));
        }
        let pose = self.state.pose;
        let mut step = docking.step;
        if status.is(Flag::OnDock) && !matches!(step, Step::Asking { .. } | Step::Contact { .. }) {
            step = Step::Contact { until: later(now, CHARGE_WAIT) };
        }
        let next = match step {
            Step::Asking { .. } => return,
            Step::Facing => self.face_staging(now, &pose, &dock),
            Step::Driving => self.drive_to_staging(now, &pose, &dock),
            Step::Aligning => {
                let turn = wrapped(dock.heading - pose.heading);
                self.turn_or(now, turn, 0.02, Step::Aligning, Step::Backing)
            }
            Step::Backing => match self.back_onto(now, &pose, &dock) {
                Some(next) => next,
                None => {
                    let reason = "the dock is not where it was: put the robot on it once";
                    return self.give_up_dock(now, reason.into());
                }
            },
            // Contacts that part while they settle are looked for again.
            Step::Contact { .. } if !status.is(Flag::OnDock) => Step::Backing,
            Step::Contact { .. } => {
                self.steer_to(now, 0.0, 0.0);
                step
            }
        };
        self.dock_step(next);
    }

    fn dock_step(&mut self, next: Step) {
        let Some(docking) = &mut self.docking else { return };
        docking.step = next;
        let near = matches!(next, Step::Backing | Step::Contact { .. });
        if near && self.state.docking == Some(DockPhase::Navigation) {
            self.set_dock_phase(DockPhase::Approach);
            self.send(Body::DockIr(DockIr::Approach));
            self.send(Body::MotorInit(0));
            self.send(Body::UnknownSensor(1));
        }
    }

    fn face_staging(&mut self, now: Instant, pose: &Pose, dock: &Pose) -> Step {
        let (distance, turn) = bearing(pose, &staging(dock));
        if distance < ARRIVED {
            return Step::Aligning;
        }
        self.turn_or(now, turn, 0.05, Step::Facing, Step::Driving)
    }

    fn drive_to_staging(&mut self, now: Instant, pose: &Pose, dock: &Pose) -> Step {
        let (distance, turn) = bearing(pose, &staging(dock));
        // Close by, a place beside or behind the robot has been passed.
        if distance < ARRIVED || (distance < 0.1 && turn.abs() > PI / 4.0) {
            self.steer_to(now, 0.0, 0.0);
            return Step::Aligning;
        }
        if turn.abs() > 0.5 {
            self.steer_to(now, 0.0, 0.0);
            return Step::Facing;
        }
        self.steer_to(now, distance.clamp(0.05, CRUISE), (1.5 * turn).clamp(-TURN, TURN));
        Step::Driving
    }

    /// Backwards along the dock's axis; none when the dock should have come.
    fn back_onto(&mut self, now: Instant, pose: &Pose, dock: &Pose) -> Option<Step> {
        let (sin, cos) = dock.heading.sin_cos();
        let (x, y) = (pose.x - dock.x, pose.y - dock.y);
        let (ahead, left) = (x * cos + y * sin, y * cos - x * sin);
        if ahead < -OVERSHOOT {
            return None;
        }
        // Backwards, a robot turned to the left moves to the right.
        let wanted = (3.0 * left).clamp(-0.3, 0.3);
        let turn = wrapped(dock.heading + wanted - pose.heading);
        let speed = (0.5 * ahead).clamp(0.5 * CREEP, CREEP);
        self.steer_to(now, -speed, (2.0 * turn).clamp(-0.4, 0.4));
        Some(Step::Backing)
    }

    /// Turns on the spot by `turn`, or goes on when less than `enough` is left.
    fn turn_or(&mut self, now: Instant, turn: f64, enough: f64, this: Step, next: Step) -> Step {
        if turn.abs() < enough {
            self.steer_to(now, 0.0, 0.0);
            return next;
        }
        let speed = (1.5 * turn.abs()).clamp(SLOWEST_TURN, TURN);
        self.steer_to(now, 0.0, speed.copysign(turn));
        this
    }

    /// The fourth phase.
    fn shut_down(&mut self, now: Instant) {
        self.halt(now);
        self.set_dock_phase(DockPhase::Shutdown);
        self.outputs_off(now);
        self.switch_mode(now, Mode::Idle.into());
        self.send(Body::LidarPower(Switch::Off));
        self.state.lidar = None;
        self.send(Body::DockIr(DockIr::Off));
        self.send(Body::ResetErrorCode);
    }

    fn give_up_dock(&mut self, now: Instant, reason: String) {
        self.halt(now);
        self.abandon_dock(now, reason, true);
    }

    /// Ends a return to the dock that runs. The wheels are the caller's to stop; what else the
    /// return switched on is switched off, if the controller can be told.
    pub(super) fn abandon_dock(&mut self, now: Instant, reason: String, tell: bool) {
        let Some(docking) = self.docking.take() else { return };
        self.motion = None;
        self.state.velocity = Default::default();
        if tell {
            if self.state.docking == Some(DockPhase::Approach) {
                self.send(Body::DockIr(DockIr::Off));
            }
            if docking.brushes_until.is_some() {
                self.outputs.forget_waiting_brushes();
                self.brushes_off(now);
            }
            if docking.lidar_started {
                self.outputs.forget_waiting_lidar();
                if self.state.lidar.take().is_some() {
                    self.send(Body::LidarPower(Switch::Off));
                }
            }
        }
        self.dock_over(DockEvent::GaveUp { reason });
    }

    fn dock_over(&mut self, dock: DockEvent) {
        self.docking = None;
        self.state.docking = None;
        self.event(Event::Dock { dock });
    }

    fn set_dock_phase(&mut self, phase: DockPhase) {
        self.state.docking = Some(phase);
        self.event(Event::Dock { dock: DockEvent::Phase { phase } });
    }
}

/// The place in front of the dock where the robot turns its back to it.
fn staging(dock: &Pose) -> Pose {
    let (sin, cos) = dock.heading.sin_cos();
    Pose { x: dock.x + STAGING * cos, y: dock.y + STAGING * sin, heading: dock.heading }
}

/// How far a place is, and how far the robot must turn to face it.
fn bearing(from: &Pose, to: &Pose) -> (f64, f64) {
    let (x, y) = (to.x - from.x, to.y - from.y);
    (x.hypot(y), wrapped(y.atan2(x) - from.heading))
}
