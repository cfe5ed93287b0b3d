use std::{
    collections::VecDeque,
    net::SocketAddr,
    time::{Duration, Instant},
};

use sinew_robot::RequestId;
use sinew_wire::teach::{Layout, Message, Sequence, Status};

use super::{
    Body, Counters, MAX_ACTIONS, MAX_RECORDING, Mode, Options, Output, Pose, StoredAction,
    TEACHING_TIMEOUT,
    clients::Clients,
    joints::{Arms, STEP},
    operator::Operator,
    player::Player,
    status_flag,
    storing::Storing,
    unitree::Unitree,
};

/// Outputs that a caller may leave unfetched; then the oldest are lost.
const CAPACITY: usize = 1024;
/// Status that a late caller missed is sent when it is no older than this.
const BACKLOG: Duration = Duration::from_millis(50);
/// How often a robot whose arms may move wants to be called, so that what is seen of it is fresh.
const MOVING: Duration = Duration::from_millis(20);
/// How often one that has nothing to do wants to be called.
const IDLE: Duration = Duration::from_secs(1);

/// A simulated G1: one body behind the teaching datagrams and data channels.
///
/// Call [`handle_datagram`](Self::handle_datagram) and [`handle_channel`](Self::handle_channel)
/// with what comes and [`handle_timeout`](Self::handle_timeout) when
/// [`poll_timeout`](Self::poll_timeout) says so, then drain [`poll_output`](Self::poll_output) and
/// [`poll_channel`](Self::poll_channel). Time that goes back counts as standing still. What a
/// tester sees is as of the latest call.
///
/// Teaching belongs to the robot and not to a client: the 0x0D of any client keeps it up, and the
/// 0x0E of any ends it.
#[derive(Debug, Clone)]
pub struct Robot {
    pub(super) needs_opening: bool,
    pub(super) period: Duration,
    pub(super) arms: Arms,
    pub(super) operator: Operator,
    pub(super) store: Vec<StoredAction>,
    pub(super) storing: Storing,
    pub(super) clients: Clients,
    /// When teaching was last kept up, while it is on.
    pub(super) maintained: Option<Instant>,
    pub(super) recording: Option<Recording>,
    pub(super) playing: Option<Playing>,
    /// The latest play's id and beginning, unless it was broken off.
    pub(super) latest_play: Option<(u32, Instant)>,
    outbox: VecDeque<(SocketAddr, Vec<u8>)>,
    pub(super) counters: Counters,
    /// Up to here everything has happened.
    now: Instant,
    pub(super) booted: Instant,
    /// When the arms move next, while they may.
    step_at: Option<Instant>,
    /// How often the power is cut for a moment, and when next.
    restarts: Option<(Duration, Instant)>,
    /// Requests of a pump that were carried out, and not answered yet.
    pub(super) touched: Vec<RequestId>,
    /// What comes and goes over data channels.
    pub(super) unitree: Unitree,
    /// The body as it was last shown.
    pub(super) seen: Body,
}

/// What the robot recorded itself.
#[derive(Debug, Clone)]
pub(super) struct Recording {
    pub(super) poses: Vec<Pose>,
    /// When the next frame is due, while it runs.
    pub(super) next: Option<Instant>,
}

#[derive(Debug, Clone)]
pub(super) struct Playing {
    pub(super) player: Player,
    /// The client whose silence ends a play without an end.
    pub(super) client: Option<SocketAddr>,
}

#[derive(Debug, Clone, Copy)]
enum Due {
    Step,
    Frame,
    Status,
    Silence,
    Teaching,
    Unitree,
}

impl Robot {
    /// Powers a robot up.
    pub fn new(options: Options, now: Instant) -> Self {
        let given = options.actions.len();
        let mut store: Vec<StoredAction> = Vec::new();
        for action in options.actions {
            let known = store.iter().any(|stored| stored.name == action.name);
            if store.len() < MAX_ACTIONS && !known && action.check().is_ok() {
                store.push(action);
            }
        }
        let actions_left_out = (given - store.len()) as u64;
        let arms = Arms::new(options.pose);
        let unitree = Unitree::new(options.unitree, options.seed);
        let seen = Body::new(arms.positions, &unitree);
        Robot {
            needs_opening: options.needs_opening,
            period: Duration::from_secs(1) / options.status_hz.clamp(1, 500),
            arms,
            operator: Operator::new(options.operator, options.seed),
            store,
            storing: Storing::default(),
            clients: Clients::default(),
            maintained: None,
            recording: None,
            playing: None,
            latest_play: None,
            outbox: VecDeque::new(),
            counters: Counters { actions_left_out, ..Counters::default() },
            now,
            booted: now,
            step_at: None,
            restarts: options.restart_every.map(|every| (every, crate::later(now, every))),
            touched: Vec::new(),
            unitree,
            seen,
        }
    }

    /// Takes a datagram from a client.
    ///
    /// What is not this protocol's, damaged, repeated or late is counted, and changes and answers
    /// nothing. The caller should leave out what comes from the robot's own address: most answers
    /// look like requests, and a robot would talk to itself.
    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        let now = self.advance(now);
        self.obey(now, from, bytes);
        self.rouse(now);
        self.advance(now);
    }

    /// Begins to move the arms if they may move now, and ends if not.
    pub(super) fn rouse(&mut self, now: Instant) {
        if !self.is_active() {
            self.step_at = None;
        } else if self.step_at.is_none() {
            self.step_at = Some(crate::later(now, STEP));
        }
    }

    fn is_active(&self) -> bool {
        let arm = &self.unitree.arm;
        let serves = arm.is_recording() || arm.is_returning();
        self.maintained.is_some() || self.playing.is_some() || serves
    }

    /// Lets the time up to `now` happen.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    /// The next thing for the caller to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        if let Some(output) = self.storing.poll(&self.store) {
            return Some(output);
        }
        self.outbox.pop_front().map(|(to, bytes)| Output::Send { to, bytes })
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next; always later than the latest
    /// call.
    pub fn poll_timeout(&self) -> Instant {
        let rest = if self.step_at.is_some() { MOVING } else { IDLE };
        let dues = self.dues().into_iter().flatten();
        dues.filter(|(_, due)| !matches!(due, Due::Step))
            .map(|(at, _)| at)
            .fold(crate::later(self.now, rest), Instant::min)
    }

    /// Cuts the power for a moment: clients, teaching, the recording and a play are lost, the arms
    /// stay where they are, and what is stored stays.
    pub fn restart(&mut self, now: Instant) {
        let now = self.advance(now);
        self.clients.clear();
        self.maintained = None;
        self.recording = None;
        self.playing = None;
        self.latest_play = None;
        self.outbox.clear();
        self.storing.restart();
        self.operator.restart();
        self.arms.hold();
        self.step_at = None;
        self.booted = now;
        self.unitree.restart();
    }

    pub(super) fn restart_at(&self) -> Option<Instant> {
        self.restarts.map(|(_, at)| at)
    }

    pub(super) fn restart_when_due(&mut self, now: Instant) {
        if let Some((every, at)) = self.restarts.filter(|(_, at)| *at <= now) {
            self.restarts = Some((every, crate::later(at.max(now), every)));
            self.restart(now);
        }
    }

    /// What is stored, and was acknowledged or could have been; an action's id is its place here, from 1.
    pub fn actions(&self) -> &[StoredAction] {
        &self.store
    }

    /// Where the arms are, in rad.
    pub fn joints(&self) -> [f32; 12] {
        self.arms.positions
    }

    /// How fast they move, in rad/s.
    pub fn velocities(&self) -> [f32; 12] {
        self.arms.velocities
    }

    /// What the robot does.
    pub fn mode(&self) -> Mode {
        match () {
            () if self.playing.is_some() || self.unitree.arm.is_returning() => Mode::Playing,
            () if self.is_recording() || self.unitree.arm.is_recording() => Mode::Recording,
            () if self.maintained.is_some() => Mode::Teaching,
            () => Mode::Idle,
        }
    }

    /// Frames that a save without keyframes would store.
    pub fn recorded_frames(&self) -> usize {
        self.recording.as_ref().map_or(0, |recording| recording.poses.len())
    }

    /// How many clients are remembered.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// What became of the datagrams.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Puts a hand on a joint that moves it to `target`, until the script has another idea. Only
    /// soft arms yield: without damping, nothing happens.
    pub fn move_arm(&mut self, slot: usize, target: f32) {
        if self.is_damping() {
            self.operator.grab(slot, target);
        }
    }

    pub(super) fn is_damping(&self) -> bool {
        let soft = self.maintained.is_some() || self.unitree.arm.is_recording();
        soft && self.playing.is_none()
    }

    pub(super) fn is_recording(&self) -> bool {
        self.recording.as_ref().is_some_and(|recording| recording.next.is_some())
    }

    pub(super) fn stop_recording(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.next = None;
        }
    }

    /// Length of a recording of so many frames.
    pub(super) fn recorded_ms(&self, frames: usize) -> u32 {
        let gaps = u32::try_from(frames.saturating_sub(1)).unwrap_or(u32::MAX);
        u32::try_from(self.period.saturating_mul(gaps).as_micros().div_ceil(1000))
            .unwrap_or(u32::MAX)
    }

    /// Ends teaching and keeps the arms where they are; a play goes on.
    fn end_teaching(&mut self) {
        self.maintained = None;
        self.stop_recording();
        self.operator.restart();
        if self.playing.is_none() {
            self.arms.hold();
        }
        if !self.is_active() {
            self.step_at = None;
        }
    }

    /// Ends a play and keeps the arms where they are, soft again if they were.
    pub(super) fn end_play(&mut self) {
        self.playing = None;
        self.operator.let_go();
        self.arms.hold();
        if !self.is_active() {
            self.step_at = None;
        }
    }

    /// Breaks off whatever moves the arms or lets them be moved.
    pub(super) fn stop(&mut self) {
        self.break_off_arm();
        self.end_play();
        self.end_teaching();
        self.recording = None;
        self.latest_play = None;
    }

    pub(super) fn send(
        &mut self,
        to: SocketAddr,
        layout: Layout,
        sequence: Sequence,
        message: &Message<'_>,
    ) {
        let Ok(bytes) = message.to_vec(layout, sequence) else { return };
        if self.outbox.len() >= CAPACITY {
            self.outbox.pop_front();
            self.counters.overflowed += 1;
        }
        self.outbox.push_back((to, bytes));
    }

    /// Lets everything up to `now` happen, in order, and says what time it is then. However long
    /// that is, it is little: the silent are forgotten, teaching lapses, and a play has an end.
    pub(super) fn advance(&mut self, now: Instant) -> Instant {
        let now = now.max(self.now);
        while let Some((at, due)) = self.next_due().filter(|(at, _)| *at <= now) {
            match due {
                Due::Step => self.step(at),
                Due::Frame => self.record(at),
                Due::Status => self.push_status(at, now),
                Due::Silence => self.clients.forget_silent(at),
                Due::Teaching => self.end_teaching(),
                Due::Unitree => self.step_unitree(at, now),
            }
        }
        self.now = now;
        now
    }

    /// What is due, and when. At the same time the arms have moved before they are looked at.
    fn dues(&self) -> [Option<(Instant, Due)>; 6] {
        let frame = self.recording.as_ref().and_then(|recording| recording.next);
        let lapse = self.maintained.map(|at| crate::later(at, TEACHING_TIMEOUT));
        [
            self.step_at.map(|at| (at, Due::Step)),
            frame.map(|at| (at, Due::Frame)),
            self.clients.status_at().map(|at| (at, Due::Status)),
            self.clients.silent_at().map(|at| (at, Due::Silence)),
            lapse.map(|at| (at, Due::Teaching)),
            self.unitree_due().map(|at| (at, Due::Unitree)),
        ]
    }

    fn next_due(&self) -> Option<(Instant, Due)> {
        self.dues().into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    fn step(&mut self, at: Instant) {
        self.step_at = Some(crate::later(at, STEP));
        let Some(Playing { player, client }) = &mut self.playing else {
            if self.is_damping() {
                self.operator.step(&mut self.arms);
            }
            return self.step_back(at);
        };
        // One that never ends needs a client that could end it.
        let known = client.is_some_and(|client| self.clients.knows(client));
        let forsaken = player.is_looped() && !known;
        if forsaken || player.step(&mut self.arms) {
            self.play_ended();
            self.end_play();
        }
    }

    fn record(&mut self, at: Instant) {
        let Some(recording) = &mut self.recording else { return };
        recording.poses.push(self.arms.positions);
        let most = MAX_RECORDING.as_nanos() / self.period.as_nanos().max(1);
        let full = recording.poses.len() as u128 > most;
        recording.next = (!full).then(|| crate::later(at, self.period));
    }

    fn push_status(&mut self, at: Instant, now: Instant) {
        let status = Message::Status(self.status(at));
        for (to, layout, sequence) in self.clients.due(at, self.period) {
            if now.saturating_duration_since(at) <= BACKLOG {
                self.send(to, layout, sequence, &status);
                self.counters.statuses += 1;
            }
        }
    }

    fn status(&self, at: Instant) -> Status<'static> {
        let mut flags = 0;
        for (flag, set) in [
            (status_flag::DAMPING, self.is_damping()),
            (status_flag::TEACHING, self.maintained.is_some()),
            (status_flag::RECORDED, self.recording.is_some()),
        ] {
            flags |= if set { flag } else { 0 };
        }
        Status {
            positions: self.arms.positions,
            velocities: self.arms.velocities,
            // 32 bits of milliseconds begin anew after seven weeks.
            time_ms: at.saturating_duration_since(self.booted).as_millis() as u32,
            mode: self.mode() as u32,
            flags,
            rest: &[],
        }
    }
}
