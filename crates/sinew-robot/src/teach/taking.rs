use std::time::Instant;

use super::{
    Link, Session,
    exchange::{Exchange, Waited},
    session::later,
};

/// What a takeover of the controls brings about: what plays ends, and teaching does not.
///
/// These datagrams end playback with 0x0E alone, which ends teaching too. To let what plays run out
/// instead would not do: a stored action may take a minute, or repeat for ever. So 0x0E is sent, and
/// where the robot was being taught it is told to enter teaching again. Its arms are then as soft
/// as they would be after the action's own end. What it had recorded itself is lost with the 0x0E.
impl Session {
    /// Another client has taken the controls. What plays ends at once, before anything that waits;
    /// what was asked for before and would move the arms is not begun; teaching, recordings and
    /// saves go on. When nothing plays, nothing is sent.
    pub fn taken(&mut self, now: Instant, by: &str) {
        if matches!(self.state.link, Link::Closing | Link::Closed) {
            return;
        }
        let plays = self.state.playing.is_some() || self.performance.is_some() || self.may_play();
        let why = format!("{by} took the controls");
        self.drop_motions(&why);
        if plays {
            self.end_playback(now, why);
        }
        self.advance(now);
    }

    /// 0x0E has ended what played; teaching goes on.
    pub(super) fn resume_teaching(&mut self, now: Instant, by: &str) {
        self.recording_lost(by);
        self.maintain_at = Some(later(now, self.settings.maintain));
        let message = self.enter_message();
        self.resuming = Some(self.exchange(now, message));
    }

    pub(super) fn resuming_due(&self) -> Option<Instant> {
        self.resuming.as_ref().map(|exchange: &Exchange| exchange.due)
    }

    /// A robot that does not answer may have heard it all the same: maintenance will tell.
    pub(super) fn advance_resuming(&mut self, now: Instant) {
        if let Some(mut exchange) = self.resuming.take()
            && self.wait(now, &mut exchange) != Waited::Enough
        {
            self.resuming = Some(exchange);
        }
    }
}
