//! What has to hold in every run.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use sinew_robot::{
    Code, Refusal,
    teach::{Answer, Event, LinkState as Link, RequestId},
};
use sinew_sim::g1::{MAX_ACTIONS, MAX_VELOCITY, Mode, Robot, StoredAction, TEACHING_TIMEOUT};
use sinew_wire::teach::{Command, G1_ARM_JOINTS, Message};

use crate::{disk::Disk, harness::request};

/// How late what a robot does may be noticed.
const NOTICED: Duration = Duration::from_millis(20);
/// Longest that a datagram takes in these tests.
const UNDER_WAY: Duration = Duration::from_secs(15);
/// No request of these tests may take longer.
const LONGEST: Duration = Duration::from_secs(40);

/// What happened in a run, so that a test can tell that something did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) done: u64,
    pub(crate) refused: u64,
    pub(crate) unconfirmed: u64,
    pub(crate) stops: u64,
    pub(crate) saves: u64,
    pub(crate) plays: u64,
    pub(crate) pieces: u64,
    pub(crate) taught: u64,
    pub(crate) lapsed: u64,
    pub(crate) lost: u64,
    pub(crate) restarts: u64,
    pub(crate) hostile: u64,
    /// Saves that the disk had no room for.
    pub(crate) full: u64,
    pub(crate) takeovers: u64,
    /// Of them, those while something played.
    pub(crate) cut_short: u64,
    pub(crate) pauses: u64,
}

pub(crate) struct Rules {
    pub(crate) tally: Tally,
    /// When each request was made.
    asked: BTreeMap<RequestId, Instant>,
    outcomes: BTreeMap<RequestId, Result<Answer, Refusal>>,
    /// Saves that were acknowledged, with the time they carried.
    saved: BTreeMap<String, u32>,
    /// Saves that the robot refused, with the time they carried, and when that was.
    refused: Vec<(String, u32, Instant)>,
    saves: BTreeSet<RequestId>,
    /// The latest save that was sent, and one that was fetched before the events that came first.
    save_sent: Option<(String, u32)>,
    save_fetched: Option<(String, u32)>,
    /// A stop was asked for, and nothing was sent since.
    stop_next: bool,
    /// Whether a play was asked for since the last stop.
    may_play: bool,
    pub(crate) closing: bool,
    pub(crate) closed: bool,
    /// When the robot last heard 0x0D.
    maintained: Option<Instant>,
    mode: Mode,
    /// When the robot forgot which datagrams it had heard.
    restarted: Option<Instant>,
    pub(crate) links: Vec<Link>,
    /// What happened to plays.
    pub(crate) events: Vec<Event>,
    began: Instant,
}

impl Rules {
    pub(crate) fn new(now: Instant) -> Self {
        Rules {
            tally: Tally::default(),
            asked: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            saved: BTreeMap::new(),
            refused: Vec::new(),
            saves: BTreeSet::new(),
            save_sent: None,
            save_fetched: None,
            stop_next: false,
            may_play: false,
            closing: false,
            closed: false,
            maintained: None,
            mode: Mode::Idle,
            restarted: None,
            links: Vec::new(),
            events: Vec::new(),
            began: now,
        }
    }

    pub(crate) fn asked(&mut self, now: Instant, id: RequestId, stop: bool, play: bool) {
        assert!(self.asked.insert(id, now).is_none(), "request {id} has a number of its own");
        self.stop_next |= stop;
        self.may_play = (self.may_play || play) && !stop;
    }

    pub(crate) fn asked_save(&mut self, id: RequestId, save: bool) {
        if save {
            self.saves.insert(id);
        }
    }

    /// What was asked for before is no reason to play any more.
    pub(crate) fn taken(&mut self, played: bool) {
        self.may_play = false;
        self.tally.takeovers += 1;
        self.tally.cut_short += u64::from(played);
    }

    pub(crate) fn outcome(&self, id: RequestId) -> Option<Result<Answer, Refusal>> {
        self.outcomes.get(&id).cloned()
    }

    /// A stop is the next datagram, and nothing makes the arms soft once the host closes.
    pub(crate) fn host_sent(&mut self, bytes: &[u8]) {
        let message = request(bytes);
        assert!(!self.closed, "nothing is sent by a closed session: {message:?}");
        let command = message.command();
        if self.closing {
            assert_eq!(command, Command::Exit, "nothing but the exit is sent while closing");
        }
        if std::mem::take(&mut self.stop_next) {
            assert_eq!(command, Command::Exit, "a stop comes before anything else");
            self.tally.stops += 1;
        }
        if command == Command::Play {
            assert!(
                self.may_play,
                "nothing plays after a stop or a takeover until it is asked for"
            );
            self.tally.pieces += 1;
        }
        if let Message::Save(save) = message {
            self.save_fetched = Some((save.name.as_str().unwrap().into(), save.timestamp));
        }
    }

    /// All that the host had to say was fetched: datagrams first, then events.
    pub(crate) fn fetched(&mut self) {
        self.save_sent = self.save_fetched.take().or(self.save_sent.take());
    }

    pub(crate) fn reply(
        &mut self,
        now: Instant,
        id: RequestId,
        outcome: Result<Answer, Refusal>,
        robot: &Robot,
        disk: &Disk,
    ) {
        let asked = *self.asked.get(&id).expect("a request that was made");
        assert!(now - asked <= LONGEST, "request {id} took {:?}", now - asked);
        match &outcome {
            Ok(answer) => self.carried_out(now, answer, robot, disk),
            Err(refusal) if refusal.code == Code::Unconfirmed => {
                self.tally.unconfirmed += 1;
            }
            Err(refusal) => {
                self.tally.refused += 1;
                // With that code it was the robot who refused it.
                if self.saves.contains(&id) && refusal.code == Code::Refused {
                    let (name, time) = self.save_sent.clone().expect("it was sent");
                    self.refused.push((name, time, now));
                    self.check_store(robot, disk);
                }
            }
        }
        let before = self.outcomes.insert(id, outcome);
        assert_eq!(before, None, "request {id} ends once");
    }

    pub(crate) fn event(&mut self, event: Event) {
        match event {
            Event::Link { link, .. } => {
                self.tally.lost += u64::from(link == Link::Lost { reason: None });
                self.links.push(link);
            }
            Event::Teaching { on: false, by } => {
                assert!(!by.contains("took the controls"), "teaching survives a takeover: {by}");
            }
            Event::Playing { .. } | Event::PlayEnded { .. } => self.events.push(event),
            Event::Closed => {
                assert!(!self.closed, "closed once");
                self.closed = true;
            }
            _ => {}
        }
    }

    fn carried_out(&mut self, now: Instant, answer: &Answer, robot: &Robot, disk: &Disk) {
        self.tally.done += 1;
        match answer {
            Answer::Save { name, .. } => {
                self.tally.saves += 1;
                let sent = self.save_sent.clone().expect("an acknowledged save was sent");
                assert_eq!(
                    &sent.0, name,
                    "the save that was acknowledged is the one that was sent"
                );
                assert_eq!(self.saved.insert(name.clone(), sent.1), None, "{name} is saved twice");
                self.check_store(robot, disk);
            }
            Answer::Play { .. } => self.tally.plays += 1,
            Answer::Stop { .. } | Answer::Exit { .. } => {
                // A robot that has just restarted may take what was under way for new.
                let restarted = self.restarted.is_some_and(|at| now - at <= UNDER_WAY);
                let idle = robot.mode() == Mode::Idle;
                assert!(idle || restarted, "the robot did what it acknowledged");
            }
            _ => {}
        }
    }

    /// What was acknowledged is there, once, and what was refused is not; nothing is there twice.
    pub(crate) fn check_store(&self, robot: &Robot, disk: &Disk) {
        assert_eq!(robot.actions(), disk.actions(), "what the robot knows is what is stored");
        let actions = robot.actions();
        assert!(actions.len() <= MAX_ACTIONS);
        for (place, action) in actions.iter().enumerate() {
            let same = actions.iter().filter(|other| other.name == action.name).count();
            assert_eq!(same, 1, "{} in place {place}", action.name);
        }
        for (name, time) in &self.saved {
            let found = actions.iter().find(|action| action.name == *name);
            let found = found.unwrap_or_else(|| panic!("{name} was acknowledged and is not there"));
            assert_eq!(found.saved_at, *time, "{name} is the one that was acknowledged");
        }
        for (name, time, at) in &self.refused {
            // A robot that has restarted may take a repetition that was under way for new.
            let repeated = self.restarted.is_some_and(|restarted| restarted + UNDER_WAY >= *at);
            let is_it = |action: &StoredAction| action.name == *name && action.saved_at == *time;
            assert!(repeated || !actions.iter().any(is_it), "{name} was refused and is there");
        }
    }

    pub(crate) fn restarted(&mut self, now: Instant) {
        self.restarted = Some(now);
        self.tally.restarts += 1;
        self.maintained = None;
        self.mode = Mode::Idle;
    }

    pub(crate) fn robot_took(&mut self, now: Instant, bytes: &[u8]) {
        if request(bytes).command() == Command::Enter {
            self.maintained = Some(now);
        }
    }

    /// Arms stay inside their limits, and are not soft for longer than somebody wants them to be.
    pub(crate) fn check_robot(&mut self, now: Instant, robot: &Robot) {
        for (position, joint) in robot.joints().iter().zip(&G1_ARM_JOINTS) {
            assert!((joint.min..=joint.max).contains(position), "{}: {position}", joint.name);
        }
        let fastest = robot.velocities().into_iter().map(f32::abs).fold(0.0, f32::max);
        assert!(fastest <= MAX_VELOCITY * 1.001, "{fastest} rad/s");
        let soft = |mode| matches!(mode, Mode::Teaching | Mode::Recording);
        let mode = robot.mode();
        let silent = now - self.maintained.unwrap_or(self.began);
        if soft(mode) {
            assert!(self.maintained.is_some(), "nobody made the arms soft");
            assert!(silent <= TEACHING_TIMEOUT + NOTICED, "soft {silent:?} after the last 0x0D");
            self.tally.taught += u64::from(self.mode == Mode::Idle);
        } else if soft(self.mode) && mode == Mode::Idle {
            self.tally.lapsed += u64::from(silent >= TEACHING_TIMEOUT);
        }
        self.mode = mode;
    }

    /// Every request has ended.
    pub(crate) fn check_end(&self, robot: &Robot, disk: &Disk) {
        for id in self.asked.keys() {
            assert!(self.outcomes.contains_key(id), "request {id} never ended");
        }
        assert!(!self.stop_next, "a stop was never sent");
        self.check_store(robot, disk);
    }

    /// No request has waited for longer than any may.
    pub(crate) fn check_waiting(&self, now: Instant) {
        for (id, asked) in &self.asked {
            let waits = !self.outcomes.contains_key(id);
            assert!(!waits || now - *asked <= LONGEST, "request {id} waits for ever");
        }
    }
}
