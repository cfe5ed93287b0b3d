use std::{
    f64::consts::PI,
    time::{Duration, Instant},
};

use sinew_wire::gd32::{Body, DockIr, Flag, Mode, Status, Switch};

use super::{
    DockEvent, DockPhase, Event, Pose, Session, Settings, State,
    motion::{self, NAVIGATION},
    odometry::wrapped,
    outputs::{Actuator, Brushes},
};
use crate::{Code, Refusal, later};

/// How far in front of the dock the robot turns its back to it, at first and for another try.
const STAGING: f64 = 0.4;
const AGAIN: f64 = 0.3;
/// How far to the left of the remembered place the dock is looked for, one try after the other: a
/// station takes a robot that is some 3 cm off, and odometry is not always as good.
const TRIES: [f64; 7] = [0.0, 0.04, -0.04, 0.08, -0.08, 0.12, -0.12];
/// How far behind the remembered place the first try goes.
const OVERSHOOT: f64 = 0.08;
/// How much further each goes than the one before. A robot that missed stood with slipping wheels
/// before the station, as far from its contacts as its guides stand out, and knows nothing of it.
const DEEPER: f64 = 0.05;
/// How near a place counts as there.
const ARRIVED: f64 = 0.015;
const CRUISE: f64 = 0.2;
const CREEP: f64 = 0.08;
const PUSH: f64 = 0.04;
const TURN: f64 = 0.8;
/// Slower turns are lost in the wheels' friction.
const SLOWEST_TURN: f64 = 0.12;
const LIDAR_PWM: u8 = 60;
/// The capture shows brushes running briefly after the start, not how fast or how long.
const BRUSHES: u8 = 30;
const BRUSH_TIME: Duration = Duration::from_secs(1);
const VERSION_WAIT: Duration = Duration::from_millis(300);
const VERSION_TRIES: u32 = 5;
/// How long the robot goes on pushing once the contacts meet, so that it sits: springs make them
/// meet before.
const SEAT_TIME: Duration = Duration::from_millis(600);
/// How often the robot may have sat and lost the contacts again.
const SEATINGS: u32 = 3;
/// How long the contacts may meet before charging begins.
const CHARGE_WAIT: Duration = Duration::from_secs(10);

/// A return to the dock that runs.
#[derive(Debug)]
pub(super) struct Docking {
    since: Instant,
    step: Step,
    /// Where the dock should be, by odometry.
    dock: Pose,
    /// Which of [`TRIES`] it is.
    attempt: usize,
    /// How often the contacts have met.
    seatings: u32,
    /// The LED before, unless a client has chosen another since.
    led: Option<u8>,
    /// The lidar was off before, so it is switched off again.
    lidar_started: bool,
    /// Brushes that were off before and run until then.
    brushes: Option<(Instant, Brushes)>,
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
    /// The contacts meet; it is pushed home.
    Seating { until: Instant },
    /// It sits; charging is due.
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
        let brushes = self.brushes.map(|(until, _)| until);
        [step, brushes].into_iter().flatten().fold(over, Instant::min)
    }

    /// How far to the left this try looks for the dock.
    fn aside(&self) -> f64 {
        TRIES.get(self.attempt).copied().unwrap_or_default()
    }

    /// Where it looks for it.
    fn place(&self) -> Pose {
        moved(&self.dock, -DEEPER * self.attempt as f64, self.aside())
    }

    /// The place in front of it where the robot turns its back to it.
    fn staging(&self) -> Pose {
        moved(&self.dock, if self.attempt == 0 { STAGING } else { AGAIN }, self.aside())
    }

    /// Metres to the dock by way of the place in front of it.
    fn way_left(&self, step: Step, pose: &Pose) -> f64 {
        let (place, staging) = (self.place(), self.staging());
        match step {
            Step::Asking { .. } | Step::Facing | Step::Driving => {
                bearing(pose, &staging).0 + bearing(&staging, &place).0
            }
            Step::Aligning | Step::Backing => bearing(pose, &place).0,
            Step::Seating { .. } | Step::Contact { .. } => 0.0,
        }
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
        let Some(dock) = self.state.dock else {
            return not_ready(
                "where the dock is is not known: put the robot on its dock once, it remembers the place",
            );
        };
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
        let docking = Docking {
            since: now,
            step,
            dock,
            attempt: 0,
            seatings: 0,
            led: Some(self.state.led),
            lidar_started: self.state.lidar.is_none(),
            brushes: None,
        };
        self.state.dock_distance_m = Some(docking.way_left(step, &self.state.pose));
        self.docking = Some(docking);
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
        let State { side_brush, main_brush, .. } = self.state;
        let brushes = Brushes { side: side_brush == 0, main: main_brush == 0 };
        docking.step = Step::Facing;
        docking.brushes = Some((later(now, BRUSH_TIME), brushes));
        self.set_dock_phase(DockPhase::Navigation);
        self.switch_mode(now, NAVIGATION);
        self.start_lidar(now, self.state.lidar.unwrap_or(LIDAR_PWM));
        self.set_led(6);
        self.sweep(now, brushes, BRUSHES);
    }

    fn sweep(&mut self, now: Instant, brushes: Brushes, percent: u8) {
        if brushes.side {
            self.actuate(now, Actuator::SideBrush(percent));
        }
        if brushes.main {
            self.actuate(now, Actuator::MainBrush(percent));
        }
    }

    /// A client has chosen the LED: it is not put back.
    pub(super) fn keep_led(&mut self) {
        if let Some(docking) = &mut self.docking {
            docking.led = None;
        }
    }

    pub(super) fn advance_dock(&mut self, now: Instant) {
        let Some(docking) = &mut self.docking else { return };
        if let Some((_, brushes)) = docking.brushes.take_if(|(until, _)| now >= *until) {
            self.sweep(now, brushes, 0);
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
                return self.shut_down(now, DockEvent::GaveUp { reason: reason.into() });
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
        let Some(docking) = &self.docking else { return };
        let (step, pose) = (docking.step, self.state.pose);
        let meets = status.is(Flag::OnDock) || status.is(Flag::Charging);
        let stands = matches!(step, Step::Asking { .. } | Step::Facing | Step::Contact { .. });
        if status.is(Flag::Charging) && stands {
            return self.shut_down(now, DockEvent::Arrived);
        }
        if let Some(reason) = in_the_way(status).filter(|_| !meets) {
            return self.give_up_dock(now, reason);
        }
        let (place, staging) = (docking.place(), docking.staging());
        let next = match step {
            Step::Asking { .. } => step,
            Step::Facing | Step::Driving | Step::Aligning | Step::Backing if meets => {
                self.contacts_meet();
                Step::Seating { until: later(now, SEAT_TIME) }
            }
            Step::Facing => self.face(now, &pose, &staging),
            Step::Driving => self.drive_to(now, &pose, &staging),
            Step::Aligning => {
                let turn = wrapped(place.heading - pose.heading);
                self.turn_or(now, turn, 0.02, Step::Aligning, Step::Backing)
            }
            Step::Backing => match self.back_onto(now, &pose, &place) {
                Some(next) => next,
                None => return self.try_elsewhere(now),
            },
            Step::Seating { until } if now < until => {
                self.steer_to(now, -PUSH, 0.0);
                step
            }
            Step::Seating { .. } => {
                self.steer_to(now, 0.0, 0.0);
                Step::Contact { until: later(now, CHARGE_WAIT) }
            }
            // Contacts that part while they settle are looked for again.
            Step::Contact { .. } if !meets && docking.seatings < SEATINGS => Step::Backing,
            Step::Contact { .. } if !meets => {
                let reason = "the dock's contacts do not hold: check dock and contacts";
                return self.give_up_dock(now, reason.into());
            }
            Step::Contact { .. } => {
                self.steer_to(now, 0.0, 0.0);
                step
            }
        };
        self.dock_step(next);
    }

    /// Here the dock is, so that it is looked for nowhere else.
    fn contacts_meet(&mut self) {
        let Some(docking) = &mut self.docking else { return };
        (docking.dock, docking.attempt) = (self.state.pose, 0);
        docking.seatings += 1;
    }

    /// The dock did not come: looks beside, or gives up.
    fn try_elsewhere(&mut self, now: Instant) {
        let Some(docking) = &mut self.docking else { return };
        docking.attempt += 1;
        docking.step = Step::Driving;
        if docking.attempt == TRIES.len() {
            let reason = "the dock is not where it was: put the robot on it once";
            self.give_up_dock(now, reason.into());
        }
    }

    fn dock_step(&mut self, next: Step) {
        let Some(docking) = &mut self.docking else { return };
        docking.step = next;
        self.state.dock_distance_m = Some(docking.way_left(next, &self.state.pose));
        let near = matches!(next, Step::Backing | Step::Seating { .. } | Step::Contact { .. });
        if near && self.state.docking == Some(DockPhase::Navigation) {
            self.set_dock_phase(DockPhase::Approach);
            self.send(Body::DockIr(DockIr::Approach));
            self.send(Body::MotorInit(0));
            self.state.water_pump = 0;
            self.send(Body::UnknownSensor(1));
        }
    }

    fn face(&mut self, now: Instant, pose: &Pose, staging: &Pose) -> Step {
        let (distance, turn) = bearing(pose, staging);
        if distance < ARRIVED {
            return Step::Aligning;
        }
        self.turn_or(now, turn, 0.05, Step::Facing, Step::Driving)
    }

    fn drive_to(&mut self, now: Instant, pose: &Pose, staging: &Pose) -> Step {
        let (distance, turn) = bearing(pose, staging);
        // Close by, a place beside or behind the robot has been passed.
        if distance < ARRIVED || (distance < 0.1 && turn.abs() > PI / 4.0) {
            self.steer_to(now, 0.0, 0.0);
            return Step::Aligning;
        }
        if turn.abs() > 0.5 {
            self.steer_to(now, 0.0, 0.0);
            return Step::Facing;
        }
        self.steer_to(now, (1.5 * distance).clamp(0.05, CRUISE), (1.5 * turn).clamp(-TURN, TURN));
        Step::Driving
    }

    /// Backwards along the dock's axis; none when the dock should have come.
    fn back_onto(&mut self, now: Instant, pose: &Pose, place: &Pose) -> Option<Step> {
        let (sin, cos) = place.heading.sin_cos();
        let (x, y) = (pose.x - place.x, pose.y - place.y);
        let (ahead, left) = (x * cos + y * sin, y * cos - x * sin);
        if ahead < -OVERSHOOT {
            return None;
        }
        // Backwards, a robot turned to the left moves to the right.
        let wanted = (6.0 * left).clamp(-0.3, 0.3);
        let turn = wrapped(place.heading + wanted - pose.heading);
        let speed = ahead.clamp(PUSH, CREEP);
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
    fn shut_down(&mut self, now: Instant, end: DockEvent) {
        self.halt(now);
        self.set_dock_phase(DockPhase::Shutdown);
        self.outputs_off(now);
        self.switch_mode(now, Mode::Idle.into());
        self.send(Body::LidarPower(Switch::Off));
        self.state.lidar = None;
        self.send(Body::DockIr(DockIr::Off));
        self.send(Body::ResetErrorCode);
        if let Some(led) = self.docking.as_ref().and_then(|docking| docking.led) {
            self.set_led(led);
        }
        self.dock_over(end);
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
            if let Some((_, brushes)) = docking.brushes {
                self.outputs.forget_waiting_brushes();
                self.brushes_off(now, brushes);
            }
            if docking.lidar_started {
                self.outputs.forget_waiting_lidar();
                if self.state.lidar.take().is_some() {
                    self.send(Body::LidarPower(Switch::Off));
                }
            }
            if let Some(led) = docking.led {
                self.set_led(led);
            }
        }
        self.dock_over(DockEvent::GaveUp { reason });
    }

    fn dock_over(&mut self, dock: DockEvent) {
        self.docking = None;
        (self.state.docking, self.state.dock_distance_m) = (None, None);
        self.event(Event::Dock { dock });
    }

    fn set_dock_phase(&mut self, phase: DockPhase) {
        self.state.docking = Some(phase);
        self.event(Event::Dock { dock: DockEvent::Phase { phase } });
    }
}

/// What ends a return, in words.
fn in_the_way(status: &Status) -> Option<String> {
    let hazards = motion::hazards(status);
    let what = match hazards.first()? {
        bumper if bumper.starts_with("bumper") => "it ran into something",
        _ => "the floor ends on its way",
    };
    Some(format!("{what} ({}): clear the way or drive it nearer", hazards.join(", ")))
}

/// The place that is so far ahead and to the left of a pose.
fn moved(pose: &Pose, ahead: f64, left: f64) -> Pose {
    let (sin, cos) = pose.heading.sin_cos();
    let (x, y) = (pose.x + ahead * cos - left * sin, pose.y + ahead * sin + left * cos);
    Pose { x, y, heading: pose.heading }
}

/// How far a place is, and how far the robot must turn to face it.
fn bearing(from: &Pose, to: &Pose) -> (f64, f64) {
    let (x, y) = (to.x - from.x, to.y - from.y);
    (x.hypot(y), wrapped(y.atan2(x) - from.heading))
}
