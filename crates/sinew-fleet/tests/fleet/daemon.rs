//! A daemon with one robot, which obeys the rules that every client of a daemon knows: one holder of the controls, a
//! dead-man, a stop that latches.

use sinew_fleet::{Answered, Denied, Need, Remotes, Stamp, Way};

use crate::net::{Clock, MS};

/// For how long a velocity counts.
pub(crate) const DEADMAN: u64 = 300 * MS;

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    Ping,
    TakeControl,
    Enable,
    /// A velocity that is not zero.
    Go,
    /// A velocity of zero.
    Halt,
    Stop,
}

impl Ask {
    /// What the rules of the fleet have to know about it.
    pub(crate) fn need(self) -> Need {
        match self {
            Ask::Ping | Ask::Stop => Need::Nothing,
            Ask::TakeControl | Ask::Enable => Need::Client,
            Ask::Go | Ask::Halt => Need::Velocity(std::time::Duration::from_micros(DEADMAN)),
        }
    }
}

/// A message to the daemon, with the truth about it, which the daemon does not see.
#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) ask: Ask,
    pub(crate) stamp: Stamp,
    /// Which of the clients sent it, and under which of all names.
    pub(crate) who: usize,
    pub(crate) id: usize,
    /// When it was wished for.
    pub(crate) wished: u64,
}

/// What came of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    /// By the rules of the fleet.
    Denied,
    /// Somebody else holds the controls.
    Busy,
    /// It has stopped, and nobody has enabled it since.
    Latched,
}

/// A daemon in one of its lives.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) remotes: Remotes,
    pub(crate) clock: Clock,
    pub(crate) robot: Robot,
}

/// The robot as its daemon drives it.
#[derive(Debug)]
pub(crate) struct Robot {
    /// The name that holds the controls.
    pub(crate) holder: Option<usize>,
    is_latched: bool,
    /// Who moves it, and until when by the daemon's clock.
    moves: Option<(usize, u64)>,
}

impl Daemon {
    /// A daemon that has just been started.
    pub(crate) fn new(instance: &str, clock: Clock) -> Self {
        let robot = Robot { holder: None, is_latched: true, moves: None };
        Daemon { remotes: Remotes::new(instance), clock, robot }
    }

    /// A message comes.
    pub(crate) fn take(&mut self, now: u64, packet: &Packet) -> (Answer, Answered) {
        let daemon_us = self.clock.at(now);
        let way = self.remotes.ask(daemon_us, &packet.stamp, packet.ask.need());
        let known = way.as_ref().map_or_else(|denied: &Denied| denied.known, |_| true);
        let instance = self.remotes.instance().to_owned();
        let in_step = self.remotes.is_in_step(packet.stamp.client.as_deref().unwrap_or_default());
        let answered = Answered { instance, daemon_us, known, in_step };
        let answer = match way {
            Err(_) => Answer::Denied,
            Ok(Way::Shared) => {
                assert_eq!(packet.ask.need(), Need::Nothing, "{packet:?}");
                self.robot.take(daemon_us, packet)
            }
            Ok(Way::Own) => self.robot.take(daemon_us, packet),
        };
        (answer, answered)
    }

    /// A token went.
    pub(crate) fn token_gone(&mut self, name: &str, id: usize) {
        let had_connection = self.remotes.token_gone(name);
        if self.robot.holder == Some(id) {
            assert!(had_connection, "{name} holds the controls without a connection");
            self.robot.holder = None;
            self.robot.stop();
        }
    }

    /// Who moves the robot at this moment, and if nobody does, who moved it last and when that ended.
    pub(crate) fn moved(&self, now: u64) -> Option<(usize, u64)> {
        let (id, until_us) = self.robot.moves?;
        let until = if self.clock.at(now) < until_us { now } else { self.clock.when(until_us) };
        Some((id, until))
    }
}

impl Robot {
    fn take(&mut self, daemon_us: u64, packet: &Packet) -> Answer {
        let id = packet.id;
        match packet.ask {
            Ask::Ping => return Answer::Done,
            Ask::Stop => {
                self.stop();
                return Answer::Done;
            }
            Ask::TakeControl => {
                if self.holder.replace(id).is_some_and(|before| before != id) {
                    self.stop();
                }
                return Answer::Done;
            }
            Ask::Enable | Ask::Go | Ask::Halt => {}
        }
        if self.holder.is_some_and(|holder| holder != id) {
            return Answer::Busy;
        }
        if self.is_latched && packet.ask != Ask::Enable {
            return Answer::Latched;
        }
        self.holder = Some(id);
        match packet.ask {
            Ask::Enable => self.is_latched = false,
            Ask::Go => self.moves = Some((id, daemon_us + DEADMAN)),
            _ => self.moves = None,
        }
        Answer::Done
    }

    fn stop(&mut self) {
        self.moves = None;
        self.is_latched = true;
    }
}
