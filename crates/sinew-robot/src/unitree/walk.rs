//! Walking to a place, which ends with its client.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Event, Session};
use crate::{Origin, Presence, later, mapping::Pose};

/// How often it is looked whether the client is still there.
const LOOK: Duration = Duration::from_millis(250);
/// What the robot said about walking counts for so long; it says so five times a second.
const FRESH: Duration = Duration::from_secs(2);
/// A robot that says for so long that it has arrived has not only not set out yet.
const ARRIVED_FOR: Duration = Duration::from_secs(3);

/// A walk that is under way this soon after a channel was opened was begun by a client that has
/// gone: a robot has one client.
const FOUND: Duration = Duration::from_secs(10);
/// A robot that stands keeps within this, metres: its place is not told exactly.
const STILL: f64 = 0.1;
/// A robot that was told to stand has come to rest by then.
const REST: Duration = Duration::from_millis(700);

/// A walk, and what the robot says about walking.
#[derive(Debug, Default)]
pub(super) struct Walking {
    walk: Option<Walk>,
    said: Option<Said>,
    /// Where the robot was when it had last moved, and when that was.
    rests: Option<(Pose, Instant)>,
}

/// A walk that was asked for here.
#[derive(Debug)]
struct Walk {
    by: Arc<str>,
    client: u64,
    presence: Presence,
    sent: Instant,
    look_at: Instant,
    /// Whether the robot was on its way.
    moved: bool,
}

/// What the robot says about walking.
#[derive(Debug, Clone, Copy)]
struct Said {
    at: Instant,
    arrived: Option<bool>,
    paused: Option<bool>,
}

impl Said {
    /// On its way: neither there nor standing.
    fn moves(&self) -> bool {
        self.arrived == Some(false) && self.paused != Some(true)
    }

    fn stands(&self) -> bool {
        self.paused == Some(true) || self.arrived == Some(true)
    }
}

impl Walking {
    /// Whether the robot may be on its way by a request of here, also one that pauses.
    pub(super) fn may_walk(&self) -> bool {
        self.walk.is_some()
    }

    pub(super) fn is_of(&self, client: Option<u64>) -> bool {
        self.walk.as_ref().is_some_and(|walk| client.is_none_or(|client| client == walk.client))
    }

    pub(super) fn is_of_another_than(&self, client: Option<u64>) -> bool {
        self.walk.as_ref().is_some_and(|walk| Some(walk.client) != client)
    }

    /// Whether the robot said after a time that it is on its way.
    pub(super) fn walks_since(&self, since: Instant) -> bool {
        self.said.is_some_and(|said| said.at > since && said.moves())
    }

    /// The robot says where it is.
    pub(super) fn placed(&mut self, now: Instant, pose: Pose) {
        let moved = |(at, _): (Pose, Instant)| (pose.x - at.x).hypot(pose.y - at.y) > STILL;
        if self.rests.is_none_or(moved) {
            self.rests = Some((pose, now));
        }
    }

    /// Whether its place changes though it should have come to rest after this.
    pub(super) fn drifts_since(&self, stopped: Instant) -> bool {
        self.rests.is_some_and(|(_, moved)| moved > later(stopped, REST))
    }

    /// When it can be said whether it has come to rest.
    pub(super) fn at_rest(stopped: Instant) -> Instant {
        later(stopped, REST + REST)
    }

    /// Whether it said after a time that it stands.
    pub(super) fn stands_since(&self, since: Instant) -> bool {
        self.said.is_some_and(|said| said.at > since && said.stands())
    }

    /// Whether that is what it said last.
    pub(super) fn stands_now(&self, now: Instant) -> bool {
        self.says(now).is_some_and(|said| said.stands())
    }

    /// What the robot said, while it counts.
    fn says(&self, now: Instant) -> Option<Said> {
        self.said.filter(|said| now.saturating_duration_since(said.at) < FRESH)
    }
}

impl Session {
    /// The robot was asked to walk, or to walk on.
    pub(super) fn walk_begun(&mut self, now: Instant, origin: &Origin, to: Option<Pose>) {
        self.walking.walk = Some(Walk {
            by: Arc::clone(&origin.by),
            client: origin.client,
            presence: origin.presence.clone(),
            sent: now,
            look_at: later(now, LOOK),
            moved: false,
        });
        self.state.mapping.walking = true;
        self.state.mapping.paused = false;
        self.state.mapping.percent = None;
        self.event(Event::Walking { to });
    }

    /// Whether the robot is on its way without having been asked to here.
    pub(super) fn walks_by_itself(&self, now: Instant) -> bool {
        self.walking.says(now).is_some_and(|said| said.moves())
    }

    pub(super) fn walk_due(&self) -> Option<Instant> {
        let walk = self.walking.walk.as_ref().filter(|_| !self.stops_walk())?;
        Some(walk.look_at)
    }

    pub(super) fn advance_walk(&mut self, now: Instant) {
        let (stops, paused) = (self.stops_walk(), self.state.mapping.paused);
        let Some(walk) = self.walking.walk.as_mut().filter(|_| !stops) else { return };
        // One that stands on its way waits for the next client.
        if walk.presence.has_ended() && !paused {
            let why = format!("{} has gone", walk.by);
            return self.end_walk(now, &why);
        }
        if now >= walk.look_at {
            walk.look_at = later(now, LOOK);
        }
    }

    /// The robot says how walking goes.
    pub(super) fn walk_shown(
        &mut self,
        now: Instant,
        arrived: Option<bool>,
        paused: Option<bool>,
        percent: Option<f64>,
    ) {
        let said = Said { at: now, arrived, paused };
        self.walking.said = Some(said);
        let mapping = &mut self.state.mapping;
        mapping.percent = percent.filter(|percent| percent.is_finite());
        mapping.paused = paused.unwrap_or(mapping.paused);
        mapping.walking = said.moves() || self.walking.walk.is_some();
        let Some(walk) = &mut self.walking.walk else {
            let new = self.channel.validated_at().is_some_and(|at| now < later(at, FOUND));
            if said.moves() && new && !self.stops_walk() {
                self.event(Event::Walking { to: None });
                self.end_walk(now, "it was on its way when it was found, and its client has gone");
            }
            return;
        };
        walk.moved |= said.moves();
        // Before it has set out, the robot speaks of the walk before.
        let counts = walk.moved || now >= later(walk.sent, ARRIVED_FOR);
        if arrived == Some(true) && counts {
            self.walk_ended(true, "the robot says that it is there");
        }
    }

    /// The walk is over.
    pub(super) fn walk_ended(&mut self, arrived: bool, why: &str) {
        self.state.mapping.walking = false;
        self.state.mapping.paused = false;
        if self.walking.walk.take().is_some() {
            self.event(Event::WalkEnded { arrived, why: why.into() });
        }
    }

    /// The robot stands on its way, for a while or for good.
    pub(super) fn walk_paused(&mut self, for_a_while: bool, by: &str) {
        match for_a_while {
            true => self.state.mapping.paused = self.walking.walk.is_some(),
            false => self.walk_ended(false, by),
        }
    }

    /// What the robot said counts for nothing on another channel; the walk may go on.
    pub(super) fn forget_walk_words(&mut self) {
        (self.walking.said, self.walking.rests) = (None, None);
        self.state.mapping.percent = None;
    }
}
