use std::{
    mem,
    time::{Duration, Instant},
};

use sinew_wire::gd32::{self, Body, Flag, FrameBuf, Status, WheelSpeeds};

use super::{
    Event, LinkState, Session, Settings, Velocity,
    outbox::{content, framed},
    session::BEAT,
    wheels::{switches_on, turns_wheels},
};
use crate::{
    Code, Refusal, Remedy,
    drive::{HoldEnd, Speeds},
    later,
};

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

/// A velocity in effect.
#[derive(Debug)]
pub(super) struct Motion {
    speeds: Speeds,
    frame: FrameBuf,
    /// When it ends, unless another comes.
    pub(super) until: Instant,
    /// Its client need not repeat it.
    held: bool,
    /// It was over a limit.
    scaled: bool,
    /// It was not sent yet.
    fresh: bool,
    /// It waits for the mode switch to be over.
    waiting: bool,
}

/// The hazards that a status packet shows.
pub(super) fn hazards(status: &Status) -> Vec<&'static str> {
    HAZARDS.iter().filter(|flag| status.is(**flag)).map(|flag| flag.name()).collect()
}

/// Whether a frame makes the wheels turn.
pub(super) fn moves(frame: &FrameBuf) -> bool {
    content(frame).is_some_and(|(command, payload)| turns_wheels(command, payload))
}

/// Whether a frame switches on what a stop switches off.
pub(super) fn actuates(frame: &FrameBuf) -> bool {
    content(frame).is_some_and(|(command, payload)| switches_on(command, payload))
}

impl Session {
    /// A client drives, and said so at `received`.
    pub(super) fn drive(
        &mut self,
        now: Instant,
        received: Instant,
        speeds: Speeds,
        by: &str,
    ) -> Result<(), Refusal> {
        speeds.check(&self.settings)?;
        self.set_off(now, received, speeds, None, by)
    }

    /// The same for a client that knows neither limits nor dead-man.
    pub(super) fn drive_leniently(
        &mut self,
        now: Instant,
        received: Instant,
        speeds: Speeds,
        hold: Option<Duration>,
        by: &str,
    ) -> Result<(), Refusal> {
        let (speeds, factor) = speeds.scaled(&self.settings)?;
        let known = self.motion.as_ref().is_some_and(|motion| motion.scaled);
        self.set_off(now, received, speeds, hold, by)?;
        let Some(motion) = &mut self.motion else { return Ok(()) };
        motion.scaled = factor < 1.0;
        let held = motion.held;
        // Once, however often it is repeated.
        if factor < 1.0 && !known {
            self.event(Event::Scaled { by: by.into(), factor: factor as f32 });
        }
        if let Some(hold) = hold.filter(|_| held) {
            let hold_ms = hold.as_millis() as u64;
            self.event(Event::Held { by: by.into(), hold_ms });
        }
        Ok(())
    }

    /// Drives at speeds that are within the limits, for the dead-man's time or for as long as they
    /// are held.
    fn set_off(
        &mut self,
        now: Instant,
        received: Instant,
        speeds: Speeds,
        hold: Option<Duration>,
        by: &str,
    ) -> Result<(), Refusal> {
        let frame = speeds.frame(&self.settings)?;
        self.may_move(now)?;
        let deadman = self.settings.deadman;
        let mut until = later(now, deadman);
        if !speeds.is_zero() {
            let counts = hold.unwrap_or(deadman);
            // Holding makes nothing fresh that came long ago.
            self.is_younger(now, received, counts.min(deadman))?;
            self.may_go(speeds)?;
            until = later(received, counts);
        }
        if self.docking.is_some() {
            self.abandon_dock(now, format!("{by} drives"), true);
        }
        let waiting = self.outputs.is_settling(now);
        let held = hold.is_some() && !speeds.is_zero();
        let fresh = true;
        self.motion = Some(Motion { speeds, frame, until, held, scaled: false, fresh, waiting });
        if !waiting {
            self.send_velocity(now);
        }
        Ok(())
    }

    /// Ends a velocity that is held, if one is. Does not latch.
    pub(super) fn let_go(&mut self, now: Instant, reason: HoldEnd) {
        if self.motion.as_ref().is_some_and(|motion| motion.held) {
            self.halt(now);
            self.event(Event::HoldEnded { reason });
        }
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
        self.is_younger(now, received, self.settings.deadman)
    }

    fn is_younger(&self, now: Instant, received: Instant, most: Duration) -> Result<(), Refusal> {
        let age = now.saturating_duration_since(received);
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

    fn may_go(&self, speeds: Speeds) -> Result<(), Refusal> {
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
        if speeds.is_forward() && !hazards.is_empty() {
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
        let speeds = Speeds::Velocity {
            linear: (linear as f32).min(max_linear).max(-max_linear),
            angular: (angular as f32).min(max_angular).max(-max_angular),
        };
        if speeds.check(&self.settings).is_ok()
            && let Ok(frame) = speeds.frame(&self.settings)
        {
            let waiting = self.outputs.is_settling(now);
            self.state.velocity = speeds.velocity(&self.settings);
            let until = later(now, self.settings.deadman);
            let (held, scaled, fresh) = (false, false, false);
            self.motion = Some(Motion { speeds, frame, until, held, scaled, fresh, waiting });
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
        let (speeds, frame) = (motion.speeds, motion.frame);
        self.state.velocity = speeds.velocity(&self.settings);
        if speeds.is_zero() && self.outbox.moves() {
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

    /// The deadman: a velocity that no client renews ends, and so does one that was held too long.
    pub(super) fn expire(&mut self, now: Instant) {
        let Some(motion) = &self.motion else { return };
        if now < motion.until {
            return;
        }
        if motion.speeds.is_zero() {
            self.motion = None;
        } else if motion.held {
            self.let_go(now, HoldEnd::Expired);
        } else {
            self.halt(now);
            self.event(Event::DeadmanExpired);
        }
    }

    /// A bumper or a cliff ends forward motion.
    pub(super) fn reflex(&mut self, now: Instant, status: &Status) {
        if !self.motion.as_ref().is_some_and(|motion| motion.speeds.is_forward()) {
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
