//! The channel: its validation, its heartbeat, and the watch over it.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use sinew_wire::unitree::{Challenge, Inner, Message, arm::STATE_TOPIC, validation_answer_with};

use super::{LinkState, Session, outbox::Sort};
use crate::{Code, Refusal, later};

/// How often a client shows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// After this much silence the robot is asked something that it answers.
const PROBE: Duration = Duration::from_secs(2);
/// The arm state comes ten times a second.
const PERIOD: Duration = Duration::from_millis(100);
/// A stream stalls after this many periods, but not before the least of these.
const PERIODS: u32 = 10;
const LEAST_STALL: Duration = Duration::from_secs(1);
/// What is taken for a period at most, so that a stall is seen before silence is.
const LONGEST_PERIOD: Duration = Duration::from_millis(400);
/// A stream that stalls is asked for again so often.
const ASK_AGAIN: Duration = Duration::from_secs(3);

/// A channel, or the lack of one.
#[derive(Debug)]
pub(super) struct Channel {
    open: bool,
    validated: Option<Instant>,
    challenge: Option<Secret>,
    validate_by: Option<Instant>,
    heartbeat_at: Instant,
    /// When a message came last, or the channel was opened.
    heard: Instant,
    probed: bool,
    /// When the arm state came last.
    pub(super) arm_seen: Option<Instant>,
    period: Duration,
    ask_again_at: Instant,
    pub(super) saving_off: bool,
    pub(super) subscribed: Vec<&'static str>,
    /// Whether there was one that worked since the session began.
    was_ready: bool,
}

/// A challenge, which is not shown.
struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hidden")
    }
}

impl Channel {
    pub(super) fn new(now: Instant) -> Self {
        Channel {
            open: false,
            validated: None,
            challenge: None,
            validate_by: None,
            heartbeat_at: now,
            heard: now,
            probed: false,
            arm_seen: None,
            period: PERIOD,
            ask_again_at: now,
            saving_off: false,
            subscribed: Vec::new(),
            was_ready: false,
        }
    }

    fn stall(&self) -> Duration {
        LEAST_STALL.max(self.period * PERIODS)
    }

    /// When the robot accepted it.
    pub(super) fn validated_at(&self) -> Option<Instant> {
        self.validated
    }
}

impl Session {
    /// Whether there is a channel that is not given up.
    pub(super) fn is_open(&self) -> bool {
        self.channel.open && !self.outbox.is_reconnecting() && self.state.link != LinkState::Closed
    }

    /// Whether the robot takes more than the validation.
    pub(super) fn is_validated(&self) -> bool {
        self.is_open() && self.channel.validated.is_some()
    }

    pub(super) fn opened(&mut self, now: Instant) {
        let was_ready = self.channel.was_ready;
        let validate_by = Some(later(now, self.settings.validation));
        self.channel = Channel { open: true, validate_by, was_ready, ..Channel::new(now) };
        self.set_link(now, LinkState::Validating);
    }

    /// There is no channel, in the system's words. What was asked may have been done.
    pub(super) fn lost(&mut self, now: Instant, reason: &str) {
        let was_ready = self.channel.was_ready;
        if std::mem::replace(&mut self.channel, Channel::new(now)).open {
            self.outbox.clear_messages();
            self.calls.clear();
            self.state.fresh = false;
            let refusal = Refusal::new(Code::LinkLost, format!("the robot was lost: {reason}"));
            self.arm_lost(now, &refusal);
            self.slam_lost(&refusal);
            self.downloads_failed(&refusal);
            self.recording_cut(now);
            // Its client cannot watch it: it is ended as soon as there is a channel again.
            if self.walking.may_walk() && !self.state.mapping.paused {
                self.end_walk(now, "the robot was lost on its way");
            }
            self.forget_body();
            self.stopping_cut(now);
        }
        self.channel.was_ready = was_ready;
        self.show_loss(now, reason);
    }

    /// Something is wrong with a channel that stays open.
    pub(super) fn show_trouble(&mut self, now: Instant, reason: &str) {
        if !self.channel.open {
            self.show_loss(now, reason);
        }
    }

    fn show_loss(&mut self, now: Instant, reason: &str) {
        let reason: Arc<str> = reason.into();
        let link = match self.channel.was_ready {
            true => LinkState::Lost { reason },
            false => LinkState::Connecting { reason: Some(reason) },
        };
        self.set_link(now, link);
    }

    /// A message came that could be read.
    pub(super) fn heard(&mut self, now: Instant) {
        self.state.last_seen = Some(now);
        self.channel.heard = now;
        self.channel.probed = false;
    }

    pub(super) fn challenged(&mut self, now: Instant, challenge: Challenge) {
        match challenge {
            Challenge::Answer(challenge) => {
                self.channel.challenge = Some(Secret(challenge));
                self.answer_challenge(now);
            }
            Challenge::Again => self.answer_challenge(now),
            Challenge::Validated => self.validated(now),
        }
    }

    fn answer_challenge(&mut self, now: Instant) {
        let challenge = self.channel.challenge.as_ref().map_or("", |secret| &secret.0);
        let answer = validation_answer_with(challenge, self.settings.md5);
        self.send(Sort::Validation, answer.emit());
        let by = later(now, self.settings.validation);
        self.channel.validate_by.get_or_insert(by);
    }

    fn validated(&mut self, now: Instant) {
        self.channel.validate_by = None;
        if self.channel.validated.is_none() {
            self.channel.validated = Some(now);
            self.channel.was_ready = true;
            self.channel.heartbeat_at = later(now, HEARTBEAT);
            self.set_link(now, LinkState::Ready);
            self.subscribe();
            self.stopping_resumed(now);
        }
    }

    /// The arm state came: the channel carries what it should.
    pub(super) fn arm_heard(&mut self, now: Instant) {
        if let Some(before) = self.channel.arm_seen {
            let gap = now.saturating_duration_since(before);
            // A stall says nothing about the period, and nothing does what comes in its wake.
            if gap < self.channel.stall() {
                let period = (self.channel.period * 7 + gap) / 8;
                self.channel.period = period.min(LONGEST_PERIOD);
            }
        }
        self.channel.arm_seen = Some(now);
        self.state.fresh = true;
        if self.state.link.is_lost() {
            self.set_link(now, LinkState::Ready);
        }
    }

    pub(super) fn channel_dues(&self) -> [Option<Instant>; 5] {
        let channel = &self.channel;
        if !self.is_open() {
            return [None; 5];
        }
        let by = channel.validate_by;
        if channel.validated.is_none() {
            return [by, None, None, None, None];
        }
        let silence = later(channel.heard, self.settings.silence);
        let probe = (!channel.probed).then(|| later(channel.heard, PROBE));
        [by, Some(silence), probe, Some(channel.heartbeat_at), self.stall_due()]
    }

    fn stall_due(&self) -> Option<Instant> {
        let seen = self.channel.arm_seen.filter(|_| self.is_offered(STATE_TOPIC))?;
        let stalls_at = later(seen, self.channel.stall());
        Some(if self.state.fresh { stalls_at } else { self.channel.ask_again_at })
    }

    pub(super) fn advance_channel(&mut self, now: Instant) {
        if !self.is_open() {
            return;
        }
        if self.channel.validate_by.is_some_and(|by| now >= by) {
            let seconds = self.settings.validation.as_secs();
            return self.reconnect(&match self.channel.challenge {
                Some(_) => format!("the robot did not accept this client within {seconds} s"),
                None => {
                    format!("the robot opened the channel, and said nothing on it for {seconds} s")
                }
            });
        }
        if self.channel.validated.is_none() {
            return;
        }
        let silent = now.saturating_duration_since(self.channel.heard);
        if silent >= self.settings.silence {
            let seconds = self.settings.silence.as_secs_f64();
            return self.reconnect(&format!("nothing came from the robot for {seconds:.0} s"));
        }
        if silent >= PROBE && !std::mem::replace(&mut self.channel.probed, true) {
            let probe = Inner::NetworkQuestion { uuid: self.calls.uuid() };
            self.send(Sort::Periodic, probe.message(false).emit());
        }
        if now >= self.channel.heartbeat_at {
            self.channel.heartbeat_at = later(now, HEARTBEAT);
            let unix = i64::try_from(self.clock.unix(now)).unwrap_or(i64::MAX);
            let beat = Message::heartbeat(&self.clock.text(now, ' ', ':'), unix);
            self.send(Sort::Periodic, beat.emit());
        }
        self.watch_arm(now);
    }

    /// A stream that stalls is shown at once, before the silence is long enough to give up.
    fn watch_arm(&mut self, now: Instant) {
        if self.stall_due().is_none_or(|due| now < due) {
            return;
        }
        if std::mem::replace(&mut self.state.fresh, false) {
            let stall = self.channel.stall().as_secs_f64();
            let reason =
                format!("the arms' state, which comes all the time, stalls for {stall:.1} s");
            self.set_link(now, LinkState::Lost { reason: reason.into() });
        } else {
            self.channel.subscribed.retain(|topic| *topic != STATE_TOPIC);
        }
        self.channel.ask_again_at = later(now, ASK_AGAIN);
    }
}
