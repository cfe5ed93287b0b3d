use std::{
    mem,
    time::{Duration, Instant},
};

use sinew_wire::gd32::{
    self, Body, Command as WireCommand, Flag, FrameBuf, Message, Status, WheelSpeeds,
};

use super::{
    Event, LinkState, Session, Settings, Velocity,
    outbox::{command_of, framed, sets_something},
    session::BEAT,
};
use crate::{Code, Refusal, Remedy, later};

/// How long zero velocity is repeated after the wheels were stopped, and beyond that for as long as
/// they are seen turning. The idle heartbeat would keep the watchdog from stopping a robot that
/// missed the one frame.
pub(super) const REST: Duration = Duration::from_millis(200);

/// Document 003 keeps drive and everything else in mode 2; nothing works in mode 0.
pub(super) const NAVIGATION: u8 = 2;

pub(super) const ZERO_VELOCITY: Body<'static> =
    Body::Velocity(gd32::Velocity { linear: 0, angular: 0 });
pub(super) const ZERO_WHEELS: Body<'static> = Body::WheelSpeeds(WheelSpeeds { left: 0, right: 0 });

/// A bumper that is pressed or a floor that is missing.
const HAZARDS: [Flag; 6] = [
    Flag::BumperLeft,
    Flag::BumperRight,
    Flag::CliffLeftSide,
    Flag::CliffLeftFront,
    Flag::CliffRightFront,
    Flag::CliffRightSide,
];

/// What the wheels are to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Drive {
    Velocity { linear: f32, angular: f32 },
    Tank { left: f32, right: f32 },
}

/// A velocity in effect.
#[derive(Debug)]
pub(super) struct Motion {
    drive: Drive,
    frame: FrameBuf,
    /// When it was asked for.
    pub(super) given: Instant,
    /// It was not sent yet.
    fresh: bool,
    /// It waits for the mode switch to be over.
    waiting: bool,
}

impl Drive {
    fn is_zero(self) -> bool {
        match self {
            Drive::Velocity { linear, angular } => linear == 0.0 && angular == 0.0,
            Drive::Tank { left, right } => left == 0.0 && right == 0.0,
        }
    }

    fn is_forward(self) -> bool {
        match self {
            Drive::Velocity { linear, .. } => linear > 0.0,
            Drive::Tank { left, right } => left + right > 0.0,
        }
    }

    /// The frame to send, if the limits allow it.
    fn checked(self, settings: &Settings) -> Result<FrameBuf, Refusal> {
        let invalid = |error| Refusal::invalid(format!("drive: {error}"));
        let body = match self {
            Drive::Velocity { linear, angular } => {
                within("linear", linear, settings.max_linear, "m/s")?;
                within("angular", angular, settings.max_angular, "rad/s")?;
                let mut wire = settings.profile.velocity(linear, angular).map_err(invalid)?;
                let scale = settings.profile.velocity_scale;
                wire.linear = not_over(wire.linear, settings.max_linear * scale);
                wire.angular = not_over(wire.angular, settings.max_angular * scale);
                Body::Velocity(wire)
            }
            Drive::Tank { left, right } => {
                within("left", left, settings.max_linear, "m/s")?;
                within("right", right, settings.max_linear, "m/s")?;
                // In double precision, so that speeds chosen to turn at the limit are allowed.
                let turn = (f64::from(right) - f64::from(left)) / f64::from(settings.wheel_base);
                let most = f64::from(settings.max_angular);
                if turn.is_nan() || turn.abs() > most * (1.0 + 1e-6) {
                    let message = format!(
                        "drive: left {left} and right {right} m/s turn at {turn:.3} rad/s, \
                         wanted at most {most} either way"
                    );
                    return Err(Refusal::invalid(message));
                }
                let mut wire = WheelSpeeds::from_metres(left, right).map_err(invalid)?;
                wire.left = not_over(wire.left.into(), settings.max_linear * 1000.0) as i16;
                wire.right = not_over(wire.right.into(), settings.max_linear * 1000.0) as i16;
                turn_not_over(&mut wire, most * f64::from(settings.wheel_base) * 1000.0);
                Body::WheelSpeeds(wire)
            }
        };
        Message::from(body).frame().map_err(invalid)
    }

    fn velocity(self, settings: &Settings) -> Velocity {
        match self {
            Drive::Velocity { linear, angular } => Velocity { linear, angular },
            Drive::Tank { left, right } => Velocity {
                linear: f32::midpoint(left, right),
                angular: (right - left) / settings.wheel_base,
            },
        }
    }
}

/// Refuses what is over a limit or no number; never clamps.
fn within(field: &str, value: f32, most: f32, unit: &str) -> Result<(), Refusal> {
    if value.abs() <= most {
        return Ok(());
    }
    let message = format!("drive: {field}: wanted -{most} to {most} {unit}, got {value}");
    Err(Refusal::invalid(message))
}

/// A speed in wire units that was allowed as a number but may have been rounded over its limit.
fn not_over(wire: i32, most: f32) -> i32 {
    let over = f64::from(wire.unsigned_abs()) > f64::from(most) * (1.0 + 1e-6);
    if over { wire - wire.signum() } else { wire }
}

/// The same for the turn of wheels that were both rounded apart. Never adds to forward motion.
fn turn_not_over(wheels: &mut WheelSpeeds, most: f64) {
    let WheelSpeeds { left, right } = wheels;
    if (f64::from(*left) - f64::from(*right)).abs() <= most * (1.0 + 1e-6) {
        return;
    }
    let (slower, faster) = if *left < *right { (left, right) } else { (right, left) };
    if *faster > 0 { *faster -= 1 } else { *slower += 1 }
}

/// The hazards that a status packet shows.
pub(super) fn hazards(status: &Status) -> Vec<&'static str> {
    HAZARDS.iter().filter(|flag| status.is(**flag)).map(|flag| flag.name()).collect()
}

/// Whether a frame makes the wheels turn.
pub(super) fn moves(frame: &FrameBuf) -> bool {
    matches!(command_of(frame), Some(WireCommand::MotorVelocity | WireCommand::MotorSpeed))
        && sets_something(frame)
}

/// Whether a frame switches on what a stop switches off.
pub(super) fn actuates(frame: &FrameBuf) -> bool {
    let switched = matches!(
        command_of(frame),
        Some(
            WireCommand::MotorMode
                | WireCommand::Vacuum
                | WireCommand::SideBrush
                | WireCommand::MainBrush
                | WireCommand::LidarPwm
                | WireCommand::LidarPower
                | WireCommand::ImuState
        )
    );
    moves(frame) || (switched && sets_something(frame))
}

impl Session {
    /// A client drives, and said so at `received`.
    pub(super) fn drive(
        &mut self,
        now: Instant,
        received: Instant,
        drive: Drive,
        by: &str,
    ) -> Result<(), Refusal> {
        let frame = drive.checked(&self.settings)?;
        self.may_move(now)?;
        let mut given = now;
        if !drive.is_zero() {
            self.is_recent(now, received)?;
            self.may_go(drive)?;
            given = received;
        }
        if self.docking.is_some() {
            self.abandon_dock(now, format!("{by} drives"), true);
        }
        let waiting = self.outputs.is_settling(now);
        self.motion = Some(Motion { drive, frame, given, fresh: true, waiting });
        if !waiting {
            self.send_velocity(now);
        }
        Ok(())
    }

    /// Whether anything may be asked of the wheels at all.
    pub(super) fn may_move(&self, now: Instant) -> Result<(), Refusal> {
        self.gate()?;
        self.is_awake(now)?;
        let Some(by) = &self.state.stopped_by else { return Ok(()) };
        let message = format!("the wheels are stopped ({by})");
        Err(Refusal::new(Code::NotReady, message).helped_by(Remedy::Enable))
    }

    /// What came in the first moments after a pause may have waited in a socket all the while.
    pub(super) fn is_awake(&self, now: Instant) -> Result<(), Refusal> {
        match &self.pause {
            Some((until, pause)) if now < *until => {
                let message = format!("{pause}, and this may be from before: send it again");
                Err(Refusal::new(Code::NotReady, message))
            }
            _ => Ok(()),
        }
    }

    /// Whether what came at `received` still counts.
    pub(super) fn is_recent(&self, now: Instant, received: Instant) -> Result<(), Refusal> {
        let (age, most) = (now.saturating_duration_since(received), self.settings.deadman);
        if age < most {
            return Ok(());
        }
        let message = format!(
            "it came {} ms ago and counts for {}: send it again",
            age.as_millis(),
            most.as_millis()
        );
        Err(Refusal::new(Code::NotReady, message))
    }

    fn may_go(&self, drive: Drive) -> Result<(), Refusal> {
        let not_ready = |message: String| Err(Refusal::new(Code::NotReady, message));
        if self.state.mode != NAVIGATION {
            let message = format!("the wheels do not turn in motor mode {}", self.state.mode);
            return Err(Refusal::new(Code::NotReady, message).helped_by(Remedy::Enable));
        }
        let Some(status) = self.state.status.filter(|_| self.streaming.is_some()) else {
            return not_ready(
                "no status packet has come yet, so bumpers and cliffs are not known: wait for one"
                    .into(),
            );
        };
        let hazards = hazards(&status);
        if drive.is_forward() && !hazards.is_empty() {
            let what = hazards.join(", ").replace('_', " ");
            return not_ready(format!(
                "{what}: only backwards or turning in place until it clears"
            ));
        }
        Ok(())
    }

    /// The session drives by itself, within its limits; sent with the next beat.
    pub(super) fn steer_to(&mut self, now: Instant, linear: f64, angular: f64) {
        let Settings { max_linear, max_angular, .. } = self.settings;
        let drive = Drive::Velocity {
            linear: (linear as f32).min(max_linear).max(-max_linear),
            angular: (angular as f32).min(max_angular).max(-max_angular),
        };
        if let Ok(frame) = drive.checked(&self.settings) {
            let waiting = self.outputs.is_settling(now);
            self.state.velocity = drive.velocity(&self.settings);
            self.motion = Some(Motion { drive, frame, given: now, fresh: false, waiting });
        }
    }

    /// Sends a velocity that waited for a mode switch.
    pub(super) fn send_waiting_velocity(&mut self, now: Instant) {
        if self.motion.as_ref().is_some_and(|motion| motion.waiting) {
            self.send_velocity(now);
        }
    }

    /// Sends the velocity in effect: at once unless another new one was sent less than a beat ago,
    /// for then it goes with the next beat, or a newer one does.
    fn send_velocity(&mut self, now: Instant) {
        let Some(motion) = &mut self.motion else { return };
        motion.waiting = false;
        let (drive, frame) = (motion.drive, motion.frame);
        self.state.velocity = drive.velocity(&self.settings);
        if drive.is_zero() && self.outbox.moves() {
            motion.fresh = false;
            self.send_zeros(now);
        } else if self.velocity_at.is_none_or(|at| now >= later(at, BEAT)) {
            motion.fresh = false;
            self.velocity_at = Some(now);
            self.outbox.set_beat(frame);
            self.beaten(now);
        } else {
            motion.fresh = !self.outbox.replace_velocity(frame);
        }
    }

    /// Stops the wheels at once. Does not latch.
    pub(super) fn halt(&mut self, now: Instant) {
        self.stop_with(now, &[], moves);
    }

    /// Sends zero velocity, then `then`, before everything that waits for the port, of which
    /// `dropped` is forgotten.
    pub(super) fn stop_with(
        &mut self,
        now: Instant,
        then: &[Body<'_>],
        dropped: fn(&FrameBuf) -> bool,
    ) {
        self.motion = None;
        self.state.velocity = Velocity::default();
        if !self.state.link.is_open() {
            return;
        }
        self.send_first(then, dropped);
        self.rest_until = Some(later(now, REST));
        self.send_zeros(now);
    }

    fn send_zeros(&mut self, now: Instant) {
        let (Some(velocity), Some(wheels)) = (framed(ZERO_VELOCITY), framed(ZERO_WHEELS)) else {
            return;
        };
        // No document says whether 0x66 overrides what 0x67 set.
        let zeros: &[_] = if self.tank { &[velocity, wheels] } else { &[velocity] };
        if self.outbox.halt(now, zeros) {
            self.beaten(now);
        }
    }

    /// The deadman: a velocity that no client renews ends.
    pub(super) fn expire(&mut self, now: Instant) {
        let Some(motion) = &self.motion else { return };
        if now < later(motion.given, self.settings.deadman) {
            return;
        }
        if motion.drive.is_zero() {
            self.motion = None;
        } else {
            self.halt(now);
            self.event(Event::DeadmanExpired);
        }
    }

    /// A bumper or a cliff ends forward motion.
    pub(super) fn reflex(&mut self, now: Instant, status: &Status) {
        if !self.motion.as_ref().is_some_and(|motion| motion.drive.is_forward()) {
            return;
        }
        let what = hazards(status);
        if !what.is_empty() {
            self.halt(now);
            self.event(Event::Reflex { what });
        }
    }

    /// What keeps the watchdog quiet now; none is the idle heartbeat.
    pub(super) fn beat_frame(&mut self, now: Instant) -> Option<FrameBuf> {
        let settling = self.outputs.is_settling(now);
        if let Some(motion) = &mut self.motion
            && !settling
        {
            if mem::take(&mut motion.fresh) {
                self.velocity_at = Some(now);
            }
            return Some(motion.frame);
        }
        let resting = self.rest_until.is_some_and(|until| now < until);
        let zero = self.outbox.owes_zero()
            || self.state.link == LinkState::Lost
            || self.boot.as_ref().is_some_and(|boot| boot.handshake_since().is_some())
            || self.odometry.is_moving(now)
            || (resting && !settling);
        let body = if self.tank { ZERO_WHEELS } else { ZERO_VELOCITY };
        zero.then(|| framed(body)).flatten()
    }
}
