//! How long the arms stay soft.

use std::time::{Duration, Instant};

use sinew_wire::teach::{Command, Sequence};

use super::{
    Event, LinkState, Session, Settings,
    exchange::{Exchange, Waited},
};
use crate::later;

/// How long a silent robot is taken to be teaching still. After as long a robot forgets its
/// client, so what it does then is not known.
pub(super) const FORGOTTEN: Duration = Duration::from_secs(10);

/// What keeps teaching up, and what ends it.
#[derive(Debug)]
pub(super) struct Teaching {
    maintain_at: Option<Instant>,
    /// 0x0D on its way, after a 0x0E that was to end playback alone.
    resuming: Option<Exchange>,
    /// When a client last asked for something.
    asked: Instant,
    /// Teaching was given up while the robot was silent: it is told when it is back.
    exit_on_return: bool,
}

impl Teaching {
    pub(super) fn new(now: Instant) -> Self {
        Teaching { maintain_at: None, resuming: None, asked: now, exit_on_return: false }
    }

    /// A client asked for something, or the robot refused to stop and must not be asked again
    /// without a pause.
    pub(super) fn asked(&mut self, now: Instant) {
        self.asked = now;
    }

    /// The robot is to be taught.
    pub(super) fn entered(&mut self, now: Instant, settings: &Settings) {
        self.exit_on_return = false;
        self.maintain_from(now, settings);
    }

    pub(super) fn maintain_from(&mut self, now: Instant, settings: &Settings) {
        self.maintain_at = Some(later(now, settings.maintain));
    }

    /// What is sent after an exit would enter again.
    pub(super) fn stop_maintaining(&mut self) {
        self.maintain_at = None;
    }

    pub(super) fn stop_resuming(&mut self) {
        self.resuming = None;
    }

    pub(super) fn is_resuming(&self) -> bool {
        self.resuming.is_some()
    }

    pub(super) fn exits_on_return(&self) -> bool {
        self.exit_on_return
    }

    /// Whether a robot that is back has to be told.
    pub(super) fn take_exit_on_return(&mut self) -> bool {
        std::mem::take(&mut self.exit_on_return)
    }
}

impl Session {
    /// When teaching needs attention.
    pub(super) fn teaching_due(&self) -> [Option<Instant>; 4] {
        let resuming = self.teaching.resuming.as_ref().map(|exchange| exchange.due);
        [resuming, self.maintenance_due(), self.idle_due(), self.forgotten_due()]
    }

    fn maintenance_due(&self) -> Option<Instant> {
        let ready = self.state.link == LinkState::Ready && self.ending.is_none();
        self.teaching.maintain_at.filter(|_| ready && self.state.teaching)
    }

    pub(super) fn maintain(&mut self, now: Instant) {
        if self.maintenance_due().is_some_and(|at| now >= at) {
            self.teaching.maintain_from(now, &self.settings);
            self.send_maintenance();
        }
    }

    /// Whether an answer was to what keeps teaching up. A robot that refuses it is not teaching, or
    /// will not be for long: it is told to end it, so that what it does and what is shown agree.
    pub(super) fn maintenance_answered(
        &mut self,
        now: Instant,
        number: Sequence,
        command: Command,
        status: u32,
    ) -> bool {
        let maintained = command == Command::Enter && self.teaching.maintain_at.is_some();
        let resuming = self.teaching.resuming.as_ref();
        if resuming.is_some_and(|sent| self.is_to(sent, command, number)) {
            self.teaching.resuming = None;
        }
        if maintained && status != 0 && self.ending.is_none() {
            self.begin_exit(now, format!("the robot refused to go on with status {status}"));
        }
        maintained
    }

    fn idle_due(&self) -> Option<Instant> {
        let busy = self.ending.is_some() || self.queue.is_busy() || self.teaching.is_resuming();
        let idle = self.state.teaching && !busy;
        idle.then(|| later(self.teaching.asked, self.settings.idle_exit))
    }

    pub(super) fn end_idle(&mut self, now: Instant) {
        if self.idle_due().is_some_and(|at| now >= at) {
            let seconds = self.settings.idle_exit.as_secs_f64();
            self.begin_exit(now, format!("nobody asked for anything for {seconds:.0} s"));
        }
    }

    fn forgotten_due(&self) -> Option<Instant> {
        let silent = self.state.teaching && self.state.link != LinkState::Ready;
        self.state.last_seen.filter(|_| silent).map(|seen| later(seen, FORGOTTEN))
    }

    pub(super) fn forget_teaching(&mut self, now: Instant) {
        if self.forgotten_due().is_some_and(|at| now >= at) {
            self.teaching.exit_on_return = true;
            self.teaching_ended("the robot was silent for 10 s");
        }
    }

    /// The arms are stiff, or will not be kept otherwise. The robot's recording went with it.
    pub(super) fn teaching_ended(&mut self, by: &str) {
        self.recording_lost(by);
        self.teaching.stop_maintaining();
        self.teaching.stop_resuming();
        if std::mem::take(&mut self.state.teaching) {
            self.event(Event::Teaching { on: false, by: by.into() });
        }
    }

    /// 0x0E has ended what played; teaching goes on.
    pub(super) fn resume_teaching(&mut self, now: Instant, by: &str) {
        self.recording_lost(by);
        self.teaching.maintain_from(now, &self.settings);
        let message = self.enter_message();
        self.teaching.resuming = Some(self.exchange(now, message));
    }

    /// A robot that does not answer may have heard it all the same: maintenance will tell.
    pub(super) fn advance_resuming(&mut self, now: Instant) {
        if let Some(mut exchange) = self.teaching.resuming.take()
            && self.wait(now, &mut exchange) != Waited::Enough
        {
            self.teaching.resuming = Some(exchange);
        }
    }
}
