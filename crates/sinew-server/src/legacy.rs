//! What clients of document 003's interface may do that others may not.
//!
//! They send a velocity when a button is pressed and zero when it is released, at speeds that no
//! limit was thought of for, and they read what is streamed to them. So a velocity of theirs is
//! scaled to the limits and held for a while, for as long as their system acknowledges the stream;
//! a client that repeats its velocities needs no such thing, and has the dead-man like any other.
//! Clients of that interface's later state, to whom nothing is streamed on their connection, hold
//! theirs for a second at most.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use sinew_robot::{
    capability::Audience,
    drive::{
        Command::{self, Lenient, Tank, Velocity},
        HoldEnd, Speeds,
    },
};

use crate::hub::{Client, Member, Stamp};

/// How long what is streamed to a client may stay unacknowledged while it holds a velocity.
const SILENCE: Duration = Duration::from_millis(300);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Velocities in a row, each before the one before would have expired, that only a client sends
/// which repeats them by itself.
const ROW: u32 = 3;

/// A client of document 003's interface that never used `req`, or of its later state.
#[derive(Debug)]
pub(crate) struct Legacy {
    /// It holds a velocity for no longer.
    longest: Duration,
    /// Velocities in a row, and when the last of them came.
    row: u32,
    last: Option<Instant>,
    /// It repeats its velocities.
    repeats: bool,
    /// Robots that it holds a velocity for, and until when at most.
    held: Vec<(Arc<Member>, Instant)>,
    /// What it sent after its last velocity was refused, so nothing is to be held.
    is_withdrawn: bool,
    /// When to look next whether it is within reach.
    look_at: Option<Instant>,
    reach: Reach,
    /// It was logged that a robot of another daemon is driven by that one's rules.
    told: bool,
}

/// Who sent what, and when.
pub(crate) struct Sent<'a> {
    pub(crate) client: &'a Client,
    pub(crate) member: &'a Arc<Member>,
    pub(crate) received: Instant,
}

impl Legacy {
    /// One that may hold a velocity for so long at most, whatever is set.
    pub(crate) fn holding_at_most(longest: Duration) -> Self {
        Legacy {
            longest,
            row: 0,
            last: None,
            repeats: false,
            held: Vec::new(),
            is_withdrawn: false,
            look_at: None,
            reach: Reach::default(),
            told: false,
        }
    }

    /// Logs once that what such a client may do is not so with a robot of another daemon.
    pub(crate) fn tell_strictness(&mut self, sent: &Sent<'_>) {
        if !self.told {
            self.told = true;
            let (client, robot) = (&*sent.client.name, &*sent.member.name);
            tracing::info!(
                client,
                "{robot} is served by another daemon: velocities are neither held nor scaled"
            );
        }
    }

    /// What a command for a robot's wheels becomes; velocities are held for `hold`, and without a
    /// hold nothing changes.
    pub(crate) fn ease(
        &mut self,
        sent: &Sent<'_>,
        command: Command,
        hold: Duration,
        deadman: Duration,
    ) -> Command {
        let speeds = match command {
            Velocity { linear, angular } => Speeds::Velocity { linear, angular },
            Tank { left, right } => Speeds::Tank { left, right },
            other => return other,
        };
        if hold.is_zero() {
            return command;
        }
        if speeds.is_zero() {
            // What is held is remembered: should the zero be refused, it still has to end.
            (self.row, self.last) = (0, None);
            return command;
        }
        self.forget(sent.member);
        self.is_withdrawn = false;
        self.count(sent, deadman);
        let hold = Some(hold.min(self.longest)).filter(|_| !self.repeats);
        if let Some(hold) = hold {
            if self.held.is_empty() {
                self.reach = Reach::default();
                self.look_at = Some(sent.received);
            }
            self.held.push((Arc::clone(sent.member), sent.received + hold));
        }
        Lenient { speeds, hold }
    }

    fn count(&mut self, sent: &Sent<'_>, deadman: Duration) {
        let &Sent { client, member, received } = sent;
        let soon = |last| received.saturating_duration_since(last) < deadman;
        self.row = if self.last.is_some_and(soon) { self.row.saturating_add(1) } else { 1 };
        self.last = Some(received);
        if self.row >= ROW && !self.repeats {
            self.repeats = true;
            let deadman_ms = deadman.as_millis() as u64;
            let by = &*client.name;
            member.feed.event(json!({ "event": "repeats", "by": by, "deadman_ms": deadman_ms }));
        }
    }

    /// It holds nothing for a robot any more.
    pub(crate) fn forget(&mut self, member: &Arc<Member>) {
        self.held.retain(|(other, _)| !Arc::ptr_eq(other, member));
    }

    /// When to look whether the client is within reach; none while it holds nothing.
    pub(crate) fn look_at(&self) -> Option<Instant> {
        self.look_at.filter(|_| !self.held.is_empty())
    }

    /// Whether a client that holds a velocity is out of reach. Of the bytes `written` to it so many
    /// are `waiting` for its acknowledgement; when that is not known, none came.
    pub(crate) fn is_silent(&mut self, now: Instant, written: u64, waiting: Option<u32>) -> bool {
        self.held.retain(|(_, until)| now < *until);
        self.look_at = Some(now + LOOK);
        self.reach.looked(now, written, waiting) >= SILENCE && !self.held.is_empty()
    }

    /// Whether what it holds is yet to be ended for good.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.is_withdrawn
    }

    /// Ends what the client holds because something that it sent was refused. While commands of its
    /// own still wait, a velocity may be among them, so it is done again when it is looked at next.
    pub(crate) fn withdraw(&mut self, client: &Client, stamp: Stamp, waits: bool) {
        self.is_withdrawn = waits;
        if !waits {
            return self.let_go(client, stamp, HoldEnd::Withdrawn);
        }
        for (member, _) in &self.held {
            member.let_go(client, stamp, HoldEnd::Withdrawn);
        }
        self.look_at = Some(stamp.received + LOOK);
    }

    /// Ends what the client holds.
    pub(crate) fn let_go(&mut self, client: &Client, stamp: Stamp, reason: HoldEnd) {
        // A robot with too much to do is told again when it is looked at next.
        self.held.retain(|(member, _)| !member.let_go(client, stamp, reason));
    }
}

/// What a client has acknowledged, and since when nothing more although there is more.
#[derive(Debug, Default)]
struct Reach {
    acknowledged: u64,
    waits_since: Option<Instant>,
}

impl Reach {
    /// For how long there has been something to acknowledge, and no acknowledgement.
    fn looked(&mut self, now: Instant, written: u64, waiting: Option<u32>) -> Duration {
        let acknowledged =
            waiting.map_or(self.acknowledged, |waiting| written.saturating_sub(waiting.into()));
        if waiting == Some(0) || acknowledged > self.acknowledged {
            self.waits_since = None;
        }
        self.acknowledged = acknowledged;
        if waiting == Some(0) {
            return Duration::ZERO;
        }
        now.saturating_duration_since(*self.waits_since.get_or_insert(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Looks every 50 ms; after how many looks the client is taken for silent.
    fn silent_after(looks: impl Iterator<Item = (u64, Option<u32>)>) -> Option<usize> {
        let (mut reach, begin) = (Reach::default(), Instant::now());
        looks.enumerate().position(|(index, (written, waiting))| {
            reach.looked(begin + LOOK * index as u32, written, waiting) >= SILENCE
        })
    }

    #[test]
    fn a_client_that_acknowledges_is_within_reach_however_much_waits() {
        let all = (0..1000).map(|look| (look * 5000, Some(0)));
        assert_eq!(silent_after(all), None);
        let late = (0..1000).map(|look| (look * 5000 + 90_000, Some(90_000)));
        assert_eq!(silent_after(late), None);
        let nothing_new = (0..1000).map(|_| (7000, Some(0)));
        assert_eq!(silent_after(nothing_new), None);
    }

    #[test]
    fn a_client_is_silent_once_something_waited_for_300_ms_and_nothing_was_acknowledged() {
        // From the first look that saw it.
        let cut = (0..1000u32).map(|look| (u64::from(look) * 5000 + 50_000, Some(look * 5000)));
        assert_eq!(silent_after(cut), Some(1 + 6));
        let full = (0..1000).map(|_| (400_000, Some(64_000)));
        assert_eq!(silent_after(full), Some(6));
    }

    #[test]
    fn an_acknowledgement_begins_the_time_anew_and_never_by_its_absence() {
        // One byte more every 250 ms.
        let slow = (0..1000u64).map(|look| (1_000_000, Some(900_000 - (look / 5) as u32)));
        assert_eq!(silent_after(slow), None);
        let slower = (0..1000u64).map(|look| (1_000_000, Some(900_000 - (look / 7) as u32)));
        assert!(silent_after(slower).is_some());
    }

    #[test]
    fn what_the_system_does_not_tell_counts_as_silence() {
        assert_eq!(silent_after((0..1000).map(|_| (5000, None))), Some(6));
        let now = Instant::now();
        let mut reach = Reach::default();
        assert_eq!(reach.looked(now, 100, Some(50)), Duration::ZERO);
        assert_eq!(reach.looked(now + 100 * MS, 200, None), 100 * MS);
    }
}
