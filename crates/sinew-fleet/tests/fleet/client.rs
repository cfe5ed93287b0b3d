//! A client of the fleet as a hub or a program would be: it makes itself known, takes the controls, enables, drives,
//! and comes back under another name when the daemon knows it no more.

use std::{rc::Rc, time::Duration};

use fastrand::Rng;
use sinew_fleet::{Answered, Asker};

use crate::{
    daemon::{Answer, Ask, Packet},
    net::{Clock, MS, Net, happens},
};

/// How often velocities are sent.
const BEAT: u64 = 50 * MS;
/// After how long a question is asked again.
const AGAIN: u64 = 200 * MS;

/// What came back to a client.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) packet: Rc<Packet>,
    pub(crate) answer: Answer,
    pub(crate) answered: Answered,
}

/// How a client goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Drives whenever it can, and does nothing else.
    Steady,
    /// Drives, stops, rests, leaves, has wishes that wait, asks without waiting for answers.
    Fickle,
}

/// What it does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Knock,
    Take,
    Enable,
    /// For so many velocities more.
    Drive(u32),
    Rest,
}

/// What a client does when it wakes.
#[derive(Debug, Default)]
pub(crate) struct Acts {
    pub(crate) packets: Vec<Packet>,
    /// It ends, and comes back under another name.
    pub(crate) leaves: bool,
    /// When it wakes again.
    pub(crate) next: u64,
}

/// One client.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) who: usize,
    /// Which of all names it has.
    pub(crate) id: usize,
    pub(crate) clock: Clock,
    pub(crate) net: Net,
    /// When it wakes: earlier plans do not count.
    pub(crate) wakes: u64,
    pub(crate) is_frozen: bool,
    /// What came while it was frozen, or was to be sent.
    pub(crate) unread: Vec<Reply>,
    pub(crate) unsent: Vec<Rc<Packet>>,
    asker: Asker,
    manner: Manner,
    phase: Phase,
}

impl Client {
    /// A client that has not asked anything yet.
    pub(crate) fn new(who: usize, id: usize, clock: Clock, net: Net, manner: Manner) -> Self {
        Client {
            who,
            id,
            clock,
            net,
            wakes: 0,
            is_frozen: false,
            unread: Vec::new(),
            unsent: Vec::new(),
            asker: asker(id),
            manner,
            phase: Phase::Knock,
        }
    }

    /// Takes another name.
    pub(crate) fn rename(&mut self, id: usize) {
        (self.id, self.asker, self.phase) = (id, asker(id), Phase::Knock);
    }

    /// Whether it has to take another name.
    pub(crate) fn is_over(&self) -> bool {
        self.asker.is_over()
    }

    /// A message, with its stamp of this moment, that was wished for some time ago.
    pub(crate) fn packet(&mut self, now: u64, ask: Ask, waited: u64) -> Packet {
        let wished = now.saturating_sub(waited);
        let now_us = self.clock.at(now);
        let since = Duration::from_micros(now_us - self.clock.at(wished));
        let stamp = self.asker.stamp(now_us, since);
        Packet { ask, stamp, who: self.who, id: self.id, wished }
    }

    /// A reply comes. True if that is worth waking for.
    pub(crate) fn read(&mut self, random: &mut Rng, now: u64, reply: &Reply) -> bool {
        if reply.packet.id != self.id {
            return false;
        }
        let had_echo = reply.packet.stamp.echo_us.is_some();
        self.asker.answered(self.clock.at(now), &reply.answered);
        let before = self.phase;
        self.phase = match (before, reply.packet.ask, reply.answer) {
            _ if self.asker.is_over() => Phase::Knock,
            (Phase::Knock, ..) if self.asker.is_in_step() => Phase::Take,
            (Phase::Take, Ask::TakeControl, Answer::Done) => Phase::Enable,
            (Phase::Enable, Ask::Enable, Answer::Done) => Phase::Drive(self.beats(random)),
            (Phase::Drive(_), Ask::Go, Answer::Latched | Answer::Busy) => match self.manner {
                Manner::Steady => Phase::Take,
                Manner::Fickle => Phase::Rest,
            },
            _ => before,
        };
        let has_moved_on = before != self.phase && self.phase != Phase::Rest;
        // With the first answer it can ask what makes it known; later ones change nothing.
        let is_greeted = before == Phase::Knock && !had_echo;
        self.asker.is_over() || has_moved_on || is_greeted
    }

    /// It wakes, and does what comes next.
    pub(crate) fn wake(&mut self, random: &mut Rng, now: u64) -> Acts {
        let is_fickle = self.manner == Manner::Fickle;
        let mut acts = Acts { next: now + AGAIN, ..Acts::default() };
        if is_fickle && happens(random, 0.01) {
            acts.packets.push(self.packet(now, Ask::Stop, 0));
        }
        match self.phase {
            Phase::Knock => acts.packets.push(self.packet(now, Ask::Ping, 0)),
            Phase::Take if is_fickle && happens(random, 0.3) => {
                acts.packets = self.burst(random, now);
                self.phase = Phase::Drive(self.beats(random));
                acts.next = now + BEAT;
            }
            Phase::Take => acts.packets.push(self.packet(now, Ask::TakeControl, 0)),
            Phase::Enable => acts.packets.push(self.packet(now, Ask::Enable, 0)),
            Phase::Drive(0) => self.end(random, now, &mut acts),
            Phase::Drive(left) => {
                let waits = is_fickle && happens(random, 0.15);
                let waited = if waits { random.u64(..600 * MS) } else { 0 };
                acts.packets.push(self.packet(now, Ask::Go, waited));
                self.phase = Phase::Drive(left - 1);
                acts.next = now + BEAT;
            }
            Phase::Rest => {
                let is_in_step = self.asker.is_in_step();
                self.phase = if is_in_step { Phase::Take } else { Phase::Knock };
                acts.next = now + random.u64(..1500 * MS);
            }
        }
        acts
    }

    /// All at once and without waiting for answers, some of it given up again.
    pub(crate) fn burst(&mut self, random: &mut Rng, now: u64) -> Vec<Packet> {
        let mut asks = vec![Ask::TakeControl, Ask::Enable, Ask::Go];
        if happens(random, 0.5) {
            let more = [Ask::Stop, Ask::Go, Ask::Enable, Ask::Go, Ask::Stop];
            asks.extend(&more[..random.usize(1..=more.len())]);
        }
        asks.into_iter().map(|ask| self.packet(now, ask, 0)).collect()
    }

    fn beats(&self, random: &mut Rng) -> u32 {
        if self.manner == Manner::Steady { u32::MAX } else { random.u32(1..60) }
    }

    fn end(&mut self, random: &mut Rng, now: u64, acts: &mut Acts) {
        self.phase = Phase::Rest;
        acts.next = now + random.u64(..2000 * MS);
        match random.u8(..5) {
            0 => acts.packets.push(self.packet(now, Ask::Halt, 0)),
            1 => acts.packets.push(self.packet(now, Ask::Stop, 0)),
            2 => acts.leaves = true,
            _ => {}
        }
    }
}

/// What a name is in the fleet.
pub(crate) fn name(id: usize) -> String {
    format!("n{id}")
}

fn asker(id: usize) -> Asker {
    Asker::new(name(id), "a client", None)
}
