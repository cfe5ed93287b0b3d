//! A Unitree G1's side of the teaching datagrams and of the data channel, with two arms and a hand
//! that moves them.
//!
//! [`Robot`] takes datagrams with their source and the time, and gives back datagrams to send. It
//! speaks both layouts, keeps at most [`MAX_ACTIONS`] actions, plays them inside the arms' limits,
//! and answers with a [`Code`]. No real robot is known to speak this protocol, so what the
//! documents leave open is decided here, and written down in `docs/protocols/teach.md`.
//!
//! ```
//! use std::time::Instant;
//! use sinew_sim::g1::{Options, Output, Robot};
//! use sinew_wire::teach::{Datagram, Layout, Message, Sender, Sequence};
//!
//! let now = Instant::now();
//! let mut robot = Robot::new(Options::default(), now);
//! let request = Message::ListRequest { rest: &[] }.to_vec(Layout::Compact, Sequence(7))?;
//! robot.handle_datagram(now, "127.0.0.1:40000".parse().unwrap(), &request);
//! let Some(Output::Send { bytes, .. }) = robot.poll_output() else { panic!("no answer") };
//! let answer = Datagram::new_checked(&bytes)?;
//! assert_eq!((answer.layout, answer.sequence), (Layout::Compact, Sequence(8)));
//! assert!(matches!(Message::parse(&answer, Some(Sender::Robot))?, Message::List(list) if list.is_empty()));
//! # Ok::<(), sinew_wire::Error>(())
//! ```

mod action;
pub mod building;
mod clients;
mod code;
mod commands;
pub mod discovery;
mod joints;
mod operator;
mod peer;
mod player;
mod robot;
mod spine;
mod storing;
mod unitree;

use std::{net::SocketAddr, time::Duration};

use sinew_wire::teach::{self, JOINTS};

pub use action::{Key, Motion, StoredAction};
pub use clients::MAX_CLIENTS;
pub use code::Code;
pub use joints::{MAX_VELOCITY, Pose, slot_of};
pub use operator::{HAND_VELOCITY, Move, Script};
pub use peer::{Channel, Peer, What};
pub use player::EASE_VELOCITY;
pub use robot::Robot;
pub use spine::{Body, Store, Stored, Touch};
pub use unitree::{
    ChannelCounters, KEEP_ALIVE, MAX_CHANNELS, MAX_MAPS, Md5, Place, UnitreeOptions, Walking,
};

/// Most actions that are stored.
pub const MAX_ACTIONS: usize = teach::MAX_ACTIONS as usize;
/// Longest action: a keyframe's time has 16 bits of milliseconds.
pub const MAX_DURATION: Duration = Duration::from_millis(u16::MAX as u64);
/// Longest recording; it then ends by itself and is kept. No document gives a bound.
pub const MAX_RECORDING: Duration = Duration::from_secs(300);
/// Longest time that a play may be stretched to.
pub const MAX_PLAY: Duration = Duration::from_secs(600);
/// Teaching ends by itself after this long without 0x0D: two of its repetitions, which come every
/// 4.5 s, and a little more.
pub const TEACHING_TIMEOUT: Duration = Duration::from_secs(10);
/// A client that was silent this long is forgotten: its sequence and its status subscription.
pub const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);
/// A play of the id that began less than this ago is a retry.
pub const PLAY_RETRY: Duration = Duration::from_secs(2);

/// How a simulated robot begins.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where all chance comes from: how [`Script::Wave`] waves.
    pub seed: u64,
    /// Status datagrams and recorded frames a second, from 1 to 500.
    pub status_hz: u32,
    /// What is stored already. What [`StoredAction::check`] refuses, a second of the same name and
    /// more than [`MAX_ACTIONS`] are left out, and counted.
    pub actions: Vec<StoredAction>,
    /// What moves the arms while they are soft; nothing when `None`.
    pub operator: Option<Script>,
    /// Where the arms are, brought inside their limits.
    pub pose: Pose,
    /// Whether entering, recording, saving and playing are refused until their client has sent
    /// 0x09, 0x0A, 0x0B and 0x0C in this order, as document 000 asks. Off by default, so that a
    /// program that sends a single command from a fresh socket is served.
    pub needs_opening: bool,
    /// How often its power is cut for a moment: see [`Robot::restart`].
    pub restart_every: Option<Duration>,
    /// The data channel's side.
    pub unitree: UnitreeOptions,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 0,
            status_hz: 50,
            actions: Vec::new(),
            operator: Some(Script::Wave),
            pose: [0.0; JOINTS],
            needs_opening: false,
            restart_every: None,
            unitree: UnitreeOptions::default(),
        }
    }
}

/// What a robot does. Its number is `mode` in a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// Holds its pose.
    Idle = teach::MODE_IDLE,
    /// The arms are soft: damping is on.
    Teaching = teach::MODE_TEACHING,
    /// The arms are soft and their motion is recorded.
    Recording = teach::MODE_RECORDING,
    /// The arms follow an action; damping, if it was on, rests.
    Playing = teach::MODE_PLAYING,
}

/// Bits of `flags` in a status.
pub mod status_flag {
    /// The arms are soft.
    pub const DAMPING: u32 = 1;
    /// Teaching mode is on, also while a play makes damping rest.
    pub const TEACHING: u32 = 2;
    /// There is a recording to save, finished or not.
    pub const RECORDED: u32 = 4;
}

/// What a robot wants of its caller.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Output {
    /// Send a datagram.
    Send {
        /// To whom.
        to: SocketAddr,
        /// The whole datagram.
        bytes: Vec<u8>,
    },
    /// Store these actions instead of what is stored, and tell [`Robot::stored`] how that went: the
    /// save that asks for it is answered then, and not before. There is one at a time; meanwhile
    /// time goes on.
    Store {
        /// Names it.
        id: u64,
        /// All that is to be stored, the new one last.
        actions: Vec<StoredAction>,
    },
}

/// What came in, and what became of it.
///
/// `received` is the sum of `foreign`, `malformed`, `unknown`, `duplicates`, `old` and `answered`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams that came.
    pub received: u64,
    /// Those that do not begin as this protocol's do.
    pub foreign: u64,
    /// Those whose length or check is wrong.
    pub malformed: u64,
    /// Those with a command that no document has.
    pub unknown: u64,
    /// Those whose number was the latest of their client.
    pub duplicates: u64,
    /// Those whose number was before the latest of their client.
    pub old: u64,
    /// Those that were answered, or will be.
    pub answered: u64,
    /// Answers that were no success.
    pub refused: u64,
    /// Status datagrams that went out.
    pub statuses: u64,
    /// Outputs that the caller did not fetch in time.
    pub overflowed: u64,
    /// Actions of [`Options::actions`] that were left out.
    pub actions_left_out: u64,
}
