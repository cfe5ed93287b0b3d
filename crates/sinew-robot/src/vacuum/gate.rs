//! What of a captured line may reach a controller again.
//!
//! It looks at what is to be sent as the controller will: as a stream, whatever its pieces are. So no way of
//! cutting frames up, or of leaving some out, makes another frame of what is left.

use std::time::Instant;

use sinew_wire::gd32::{
    Body, Command, Deframer, Frame, Message, Mode, Piece, Sender, Status, What,
};

use super::{
    Settings,
    line::Line,
    motion::{ZERO_VELOCITY, ZERO_WHEELS, hazards},
    outbox::framed,
    wheels::{speeds, switches_on, turns_wheels},
};
use crate::{later, playback::Verdict};

/// The gate before a vacuum's controller.
#[derive(Debug)]
pub(crate) struct Gate {
    settings: Settings,
    /// What turns wheels may pass.
    confirmed: bool,
    /// The stream as the controller sees it.
    seen: Deframer,
    heard: Deframer,
    line: Line,
    /// Until when a velocity counts, of the body and of each wheel.
    velocity: Option<Instant>,
    tank: Option<Instant>,
    tank_used: bool,
    /// What was last asked of the wheels is forward motion.
    forward: bool,
    /// Something was switched on.
    armed: bool,
    status: Option<Status>,
}

impl Gate {
    pub(crate) fn new(settings: Settings, confirmed: bool, now: Instant) -> Self {
        Gate {
            line: Line::new(settings.baud, now),
            settings,
            confirmed,
            seen: Deframer::new(),
            heard: Deframer::new(),
            velocity: None,
            tank: None,
            tank_used: false,
            forward: false,
            armed: false,
            status: None,
        }
    }

    /// Whether bytes may be sent next.
    pub(crate) fn judge(&self, bytes: &[u8]) -> Verdict {
        let mut seen = self.seen.clone();
        let mut verdict = Verdict::Pass;
        let mut armed = self.armed || self.confirmed;
        let mut look = |piece: Piece<'_>| {
            if let What::Frame(frame) = piece.what {
                armed |= switches_on(frame.command(), frame.payload());
                if verdict == Verdict::Pass {
                    verdict = self.judge_frame(&frame);
                }
            }
        };
        seen.push(bytes, &mut look);
        let pending = seen.pending();
        // The controller gives up what stays incomplete, and may find a whole frame in it.
        seen.finish(&mut look);
        // Behind the beginning of a frame a stop would not be understood, or be its missing end.
        if verdict == Verdict::Pass && armed && pending > 0 {
            return Verdict::LeftOut("no whole frame");
        }
        verdict
    }

    fn judge_frame(&self, frame: &Frame<'_>) -> Verdict {
        let (command, payload) = (frame.command(), frame.payload());
        if !self.confirmed && matches!(Command::from(command), Command::Unknown(_)) {
            return Verdict::LeftOut("not known to be harmless");
        }
        if !turns_wheels(command, payload) {
            return Verdict::Pass;
        }
        if !self.confirmed {
            return Verdict::LeftOut("moves the robot");
        }
        let checked = speeds(command, payload, &self.settings.profile)
            .and_then(|speeds| speeds.check(&self.settings).map(|()| speeds));
        let speeds = match checked {
            Ok(speeds) => speeds,
            Err(refusal) => return Verdict::Refused(refusal.message),
        };
        let dangers = self.status.as_ref().map(hazards).unwrap_or_default();
        if speeds.is_forward() && !dangers.is_empty() {
            let what = dangers.join(", ").replace('_', " ");
            return Verdict::Refused(format!("{what}: no forward motion until it clears"));
        }
        Verdict::Pass
    }

    /// Bytes that may pass, or are our own, are sent.
    pub(crate) fn sent(&mut self, now: Instant, bytes: &[u8]) {
        self.line.put(now, bytes.len());
        let mut seen = std::mem::take(&mut self.seen);
        seen.push(bytes, |piece| {
            if let What::Frame(frame) = piece.what {
                self.note(now, &frame);
            }
        });
        self.seen = seen;
    }

    fn note(&mut self, now: Instant, frame: &Frame<'_>) {
        let (command, payload) = (frame.command(), frame.payload());
        self.armed |= switches_on(command, payload);
        let turns = turns_wheels(command, payload);
        let until = turns.then(|| later(now, self.settings.deadman));
        match Command::from(command) {
            Command::MotorVelocity => self.velocity = until,
            Command::MotorSpeed => {
                self.tank = until;
                self.tank_used |= turns;
            }
            _ => return,
        }
        let speeds = speeds(command, payload, &self.settings.profile);
        self.forward = turns && speeds.is_ok_and(|speeds| speeds.is_forward());
    }

    /// Takes what the controller says; a reason to stand still, if it gives one.
    pub(crate) fn heard(&mut self, bytes: &[u8]) -> Option<String> {
        let mut heard = std::mem::take(&mut self.heard);
        heard.push(bytes, |piece| {
            if let What::Frame(frame) = piece.what
                && let Ok(message) = Message::parse(&frame, Some(Sender::Controller))
                && let Body::Status { fields, .. } = message.body
            {
                self.status = Some(fields);
            }
        });
        self.heard = heard;
        let dangers = self.status.as_ref().map(hazards).unwrap_or_default();
        let goes = self.forward && (self.velocity.is_some() || self.tank.is_some());
        (goes && !dangers.is_empty()).then(|| dangers.join(", ").replace('_', " "))
    }

    /// When wheels that no newer frame turns are to stand.
    pub(crate) fn deadman(&self) -> Option<Instant> {
        self.velocity.into_iter().chain(self.tank).min()
    }

    /// Whether wheels turn, or anything else was switched on.
    pub(crate) const fn is_armed(&self) -> bool {
        self.armed
    }

    /// From when on bytes may go: where a stop may be needed, no more is on its way than it can wait for.
    pub(crate) fn room_at(&self, bytes: usize) -> Option<Instant> {
        self.confirmed.then(|| self.line.room_at(bytes))
    }

    /// Frames after which the wheels stand.
    pub(crate) fn still(&self) -> Vec<Vec<u8>> {
        // No document says whether 0x66 overrides what 0x67 set.
        let wheels = self.tank_used.then_some(ZERO_WHEELS);
        frames([ZERO_VELOCITY].into_iter().chain(wheels))
    }

    /// Frames after which nothing is on.
    pub(crate) fn all_stop(&self) -> Vec<Vec<u8>> {
        [self.still(), frames([Body::MotorMode(Mode::Idle)])].concat()
    }
}

fn frames(bodies: impl IntoIterator<Item = Body<'static>>) -> Vec<Vec<u8>> {
    bodies.into_iter().filter_map(framed).map(|frame| frame.as_bytes().to_vec()).collect()
}
