use std::time::{Duration, Instant};

use sinew_wire::gd32::{BOOT, Body, BootStep, Command as Code, FrameBuf, HANDSHAKE, LedMode};

use super::{Event, LinkState, Session, Velocity, motion::actuates, outbox};
use crate::later;

/// How long 0x6B is sent. The controller accepts motion when its first and last pulse are two
/// seconds apart; a captured host sent 95 of them, 2.1 s, and some may be lost on the way.
const HANDSHAKE_TIME: Duration = Duration::from_millis(2200);
const HANDSHAKE_PERIOD: Duration = Duration::from_millis(22);
/// A host that paused for longer begins the two seconds anew: to the controller, pulses 100 ms apart
/// belong to two handshakes, and the next one may still wait for the line.
const HANDSHAKE_GAP: Duration = Duration::from_millis(75);
/// A pulse may wait this long for a slow line without being one that the controller misses.
const HANDSHAKE_HELD_UP: Duration = Duration::from_millis(40);
/// The step after the listed frames: LED once more, then the handshake.
const HANDSHAKE_STEP: u8 = 19;

/// A boot sequence that runs.
#[derive(Debug)]
pub(super) struct Boot {
    at: Stage,
}

#[derive(Debug)]
enum Stage {
    /// A listed frame was sent and its answer is due.
    Waiting { index: usize, tries: u32, retry_at: Instant },
    Handshake {
        since: Instant,
        /// When the latest pulse was given to the port.
        pulsed_at: Instant,
        pulse_at: Instant,
    },
}

impl Boot {
    pub(super) fn timeout(&self) -> Instant {
        match self.at {
            Stage::Waiting { retry_at, .. } => retry_at,
            Stage::Handshake { since, pulse_at, .. } => pulse_at.min(later(since, HANDSHAKE_TIME)),
        }
    }

    pub(super) fn handshake_since(&self) -> Option<Instant> {
        match self.at {
            Stage::Waiting { .. } => None,
            Stage::Handshake { since, .. } => Some(since),
        }
    }
}

fn is_pulse(frame: &FrameBuf) -> bool {
    outbox::command_of(frame) == Some(Code::MotorInit) && actuates(frame)
}

/// How often a frame is sent before its answer is given up, and how long each is waited for; none
/// when no answer is due.
fn patience(command: Code) -> Option<(u32, Duration)> {
    match command {
        // Answered after about 270 ms.
        Code::ProtocolSync => Some((8, Duration::from_millis(500))),
        Code::Version | Code::LidarConfig | Code::LidarQuery => {
            Some((10, Duration::from_millis(200)))
        }
        // "May need repeated sends for up to 5 seconds."
        Code::Initialize => Some((25, Duration::from_millis(200))),
        _ => None,
    }
}

impl Session {
    /// Starts the boot sequence. What ran before is over.
    pub(super) fn begin_boot(&mut self, now: Instant) {
        self.motion = None;
        self.retry_at = None;
        self.streaming = None;
        self.outputs = Default::default();
        self.outbox.forget_commands();
        let state = &mut self.state;
        state.velocity = Velocity::default();
        state.mode = 0;
        (state.vacuum, state.main_brush, state.side_brush, state.lidar) = (0, 0, 0, None);
        state.water_pump = 0;
        self.boot_from(now, 0);
    }

    pub(super) fn boot_answered(&mut self, now: Instant, command: Code) {
        if let Some(Boot { at: Stage::Waiting { index, .. } }) = self.boot
            && BOOT.get(index).is_some_and(|step| step.command == command)
        {
            self.boot_from(now, index + 1);
        }
    }

    pub(super) fn advance_boot(&mut self, now: Instant) {
        let Some(boot) = &mut self.boot else { return };
        match &mut boot.at {
            Stage::Waiting { index, tries, retry_at } if now >= *retry_at => {
                let Some(step) = BOOT.get(*index) else { return };
                match patience(step.command) {
                    Some((most, wait)) if *tries < most => {
                        *tries += 1;
                        *retry_at = later(now, wait);
                        if let Ok(frame) = step.frame() {
                            self.send_again(frame);
                        }
                    }
                    _ => self.boot_failed(now, step),
                }
            }
            Stage::Waiting { .. } => {}
            Stage::Handshake { since, pulsed_at, .. }
                if now >= later(*since, HANDSHAKE_TIME)
                    && now < later(*pulsed_at, HANDSHAKE_GAP) =>
            {
                self.boot = None;
                self.poll_at = now;
                self.set_link(now, LinkState::Ready);
                self.event(Event::BootDone);
            }
            Stage::Handshake { since, pulsed_at, pulse_at } => {
                if now >= later(*pulsed_at, HANDSHAKE_GAP) {
                    *since = now;
                }
                if now >= *pulse_at {
                    *pulse_at = later(now, HANDSHAKE_PERIOD);
                    if !self.outbox.holds(is_pulse) {
                        *pulsed_at = now;
                        self.send(Body::MotorInit(HANDSHAKE));
                    } else if now >= later(*pulsed_at, HANDSHAKE_HELD_UP) {
                        // A pulse that the port does not take is a pause, too.
                        *since = now;
                    }
                }
            }
        }
    }

    /// Sends the listed frames from `first` on, up to one whose answer is due.
    fn boot_from(&mut self, now: Instant, first: usize) {
        for (index, step) in BOOT.iter().enumerate().skip(first) {
            self.boot_step(now, step.step, step.purpose);
            self.send_step(step);
            if let Some((_, wait)) = patience(step.command) {
                let at = Stage::Waiting { index, tries: 1, retry_at: later(now, wait) };
                self.boot = Some(Boot { at });
                return;
            }
        }
        self.boot_step(now, HANDSHAKE_STEP, "two seconds of motor handshake");
        self.set_led(1);
        self.tank = false;
        self.boot =
            Some(Boot { at: Stage::Handshake { since: now, pulsed_at: now, pulse_at: now } });
    }

    fn boot_step(&mut self, now: Instant, step: u8, what: &'static str) {
        // One event tells of the boot; its steps have their own.
        if matches!(self.state.link, LinkState::Booting { .. }) {
            self.state.link = LinkState::Booting { step };
        } else {
            self.set_link(now, LinkState::Booting { step });
        }
        self.event(Event::BootStep { step, what });
    }

    fn send_step(&mut self, step: &BootStep) {
        if let (Code::Led, [state]) = (step.command, step.payload) {
            self.state.led = *state;
        }
        if let Ok(frame) = step.frame() {
            self.send_frame(frame);
        }
    }

    fn boot_failed(&mut self, now: Instant, step: &BootStep) {
        let tries = patience(step.command).map_or(1, |(tries, _)| tries);
        let heard = match self.streaming {
            Some(_) => "its status packets arrive, so check the wire to it",
            None => "nothing arrives from it: check power, port and baud rate",
        };
        let reason = format!(
            "no answer to {} ({}) after {tries} tries; {heard}; trying again in {:.0?}",
            step.command, step.purpose, self.settings.boot_retry
        );
        self.boot = None;
        self.retry_at = Some(later(now, self.settings.boot_retry));
        self.event(Event::BootFailed { step: step.step, reason: reason.clone() });
        self.set_link(now, LinkState::Failed { step: step.step, reason: reason.into() });
    }

    /// Sends an LED state.
    pub(super) fn set_led(&mut self, state: u8) {
        self.state.led = state;
        self.send(Body::Led(LedMode(state)));
    }
}
