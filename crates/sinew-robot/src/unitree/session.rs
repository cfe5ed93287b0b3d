use std::time::Instant;

use super::{
    Event, LinkState, Request, Settings, State, actions::Actions, arm::ArmLane, calls::Calls,
    channel::Channel, clock::Clock, download::Downloads, outbox::Outbox, recorder::Recorder,
    slam::SlamLane, stopping::Stopping, tap::Tap, walk::Walking,
};
use crate::{
    Code, Order, Origin, Refusal, RequestId,
    teach::{Carries, RobotRequest},
};

/// A G1, from the client's side of its data channel.
///
/// Requests of the arms are carried out one after the other, and so are those of the SLAM service;
/// stops overtake both.
#[derive(Debug)]
pub struct Session {
    pub(super) settings: Settings,
    pub(super) clock: Clock,
    pub(super) state: State,
    pub(super) outbox: Outbox,
    pub(super) channel: Channel,
    pub(super) calls: Calls,
    pub(super) actions: Actions,
    pub(super) arm: ArmLane,
    pub(super) recorder: Recorder,
    pub(super) slam: SlamLane,
    pub(super) walking: Walking,
    pub(super) downloads: Downloads,
    pub(super) stopping: Option<Stopping>,
    /// When a cloud that does not add up was last told of.
    pub(super) clouds_told: Option<Instant>,
    pub(super) tap: Option<Tap>,
    last_id: RequestId,
}

impl Session {
    /// What the arm service can carry: whole actions as they were recorded.
    pub const CARRIES: Carries = Carries { looped: false, speed: false, keyframes: 0 };

    /// A session that waits for its channel.
    pub fn new(settings: Settings, now: Instant) -> Self {
        Session {
            clock: Clock::new(now, settings.unix_time),
            state: State::new(),
            outbox: Outbox::default(),
            channel: Channel::new(now),
            calls: Calls::new(settings.seed),
            actions: Actions::default(),
            arm: ArmLane::default(),
            recorder: Recorder::default(),
            slam: SlamLane::default(),
            walking: Walking::default(),
            downloads: Downloads::default(),
            stopping: None,
            clouds_told: None,
            tap: None,
            last_id: 0,
            settings,
        }
    }

    /// What was set.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn ask(&mut self, now: Instant, request: Request, origin: &Origin) -> RequestId {
        self.last_id += 1;
        let id = self.last_id;
        if self.state.link.is_ending() {
            self.refuse(id, Refusal::new(Code::NotReady, self.state.link.to_string()));
            return id;
        }
        match request {
            Request::Teach(RobotRequest::Stop) => self.stop(now, Some(id), &origin.by),
            Request::Teach(request) => self.ask_arm(now, id, request, origin),
            Request::Mapping(request) => self.ask_slam(now, id, request, origin),
        }
        self.advance(now);
        id
    }

    /// Another client has taken the controls: what moves for others ends. A recording goes on.
    pub(super) fn taken(&mut self, now: Instant, order: &Order) {
        if self.state.link.is_ending() {
            return;
        }
        let why = format!("{} took the controls", order.by);
        let plays = self.may_play();
        self.drop_arm_motions(&why, order.client);
        self.drop_slam_motions(&why, |client| Some(client) != order.client);
        if plays {
            self.end_playback(now, &why);
        }
        let by_itself = !self.walking.may_walk() && self.walks_by_itself(now);
        if self.walking.is_of_another_than(order.client) || by_itself {
            self.end_walk(now, &why);
        }
    }

    /// A client has gone: its walk ends unless it stands, its recording in a while. What plays has
    /// an end.
    pub(super) fn released(&mut self, now: Instant, order: &Order) {
        if self.state.link.is_ending() {
            return;
        }
        let why = format!("{} has gone", order.by);
        self.drop_slam_motions(&why, |client| order.client.is_none_or(|gone| gone == client));
        self.drop_returning(&why, order.client);
        if self.walking.is_of(order.client) && !self.state.mapping.paused {
            self.end_walk(now, &why);
        }
        self.recorder.client_gone(now, order.client, self.settings.orphan);
    }

    /// Everything that time alone brings about. What ends comes before what goes on.
    pub(super) fn advance(&mut self, now: Instant) {
        if self.state.link == LinkState::Closed {
            return;
        }
        self.advance_channel(now);
        self.forget_old(now);
        self.advance_stopping(now);
        if self.state.link.is_ending() {
            return self.advance_closing(now);
        }
        self.advance_walk(now);
        self.advance_arm(now);
        self.advance_recording(now);
        self.advance_slam(now);
        self.advance_downloads(now);
        // What was given up just now may have to be stopped.
        self.advance_stopping(now);
        self.subscribe();
        self.calls.forget_old(now);
        if let Some(playing) = &mut self.state.playing {
            let elapsed = now.saturating_duration_since(playing.began).as_millis();
            playing.elapsed_ms = u32::try_from(elapsed).unwrap_or(u32::MAX);
        }
    }

    /// When to be called again.
    pub(super) fn due(&self) -> Option<Instant> {
        let stopping = self.stopping_due();
        match self.state.link {
            LinkState::Closed => return None,
            LinkState::Closing => return stopping,
            _ => {}
        }
        let others = [
            stopping,
            self.walk_due(),
            self.recording_due(),
            self.arm.due(),
            self.slam.due(),
            self.downloads.due(),
        ];
        self.channel_dues().into_iter().chain(others).flatten().min()
    }

    pub(super) fn set_link(&mut self, now: Instant, link: LinkState) {
        let stays = self.state.link.is_ending() && link != LinkState::Closed;
        if !stays && self.state.link != link {
            self.state.link = link.clone();
            let silent = self.state.last_seen.map(|seen| now.saturating_duration_since(seen));
            let silent_ms = silent.map(|silent| silent.as_millis() as u64);
            self.event(Event::Link { link, silent_ms });
        }
    }

    /// Refuses what cannot be asked now.
    pub(super) fn reachable(&self) -> Result<(), Refusal> {
        let link = &self.state.link;
        match link {
            LinkState::Ready => Ok(()),
            link if link.is_ending() => Err(Refusal::new(Code::NotReady, link.to_string())),
            link => Err(Refusal::new(Code::LinkLost, link.to_string())),
        }
    }

    pub(super) fn begin_closing(&mut self, now: Instant, by: &str) {
        if self.state.link.is_ending() {
            return;
        }
        self.set_link(now, LinkState::Closing);
        let refusal = Refusal::new(Code::NotReady, self.state.link.to_string());
        self.drop_arm(&refusal);
        self.drop_slam(&refusal);
        self.downloads_failed(&refusal);
        self.stop_all_that_goes_on(now, by);
    }

    /// Closing is over when nothing is left to stop, or cannot be.
    fn advance_closing(&mut self, now: Instant) {
        if self.stopping.is_none() || !self.is_open() {
            self.give_up_stopping("the link is closed");
            self.recording_ended(now, "the daemon's end");
            self.set_link(now, LinkState::Closed);
            self.event(Event::Closed);
        }
    }
}
