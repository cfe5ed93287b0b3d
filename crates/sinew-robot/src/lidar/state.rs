use std::{fmt, sync::Arc, time::Instant};

use serde::Serialize;

/// What is known about a lidar.
#[derive(Debug, Clone, Serialize)]
pub struct State {
    /// How it can be reached. It stands beside the state.
    #[serde(skip)]
    pub link: LinkState,
    /// When the last good frame came.
    #[serde(skip)]
    pub last_seen: Option<Instant>,
    /// Turns a second; none while nothing comes.
    pub turns_per_second: Option<f64>,
    /// Turns that were complete.
    pub turns: u64,
    /// Echoes of the last one.
    pub points: usize,
    /// Samples of it that had none.
    pub without_echo: u16,
    /// What is known about the frames' check.
    pub check: CheckState,
    /// Which rule gave the last frame's samples their angles.
    pub spacing: Option<&'static str>,
    /// What went over the wire.
    pub counters: Counters,
}

/// How a lidar can be reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LinkState {
    /// The port is not open.
    Disconnected {
        /// Why, in the system's words; none before it was tried.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
    },
    /// The port is open, and nothing has come: a lidar that is switched off is silent.
    Silent,
    /// It turns, and does not measure yet.
    Starting,
    /// It measures.
    Turning,
    /// Nothing comes any more.
    Lost,
}

/// What is known about the frames' check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// Too few frames came to know whether it is the sum of their bytes.
    Unproven,
    /// It is: frames that it does not fit are dropped.
    Proven,
    /// It did not fit ten frames in a row although many came: all are taken, unchecked.
    NeverFits,
}

/// What went over the wire since the session began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Frames taken.
    pub frames: u64,
    /// Of them, those whose check did not fit while it was not proven.
    pub unchecked: u64,
    /// Candidates whose check was wrong.
    pub bad_checks: u64,
    /// Candidates whose length was impossible.
    pub bad_lengths: u64,
    /// Bytes that belong to no frame.
    pub dropped: u64,
    /// Frames of commands that no reader knows, or too short for theirs.
    pub unknown: u64,
    /// Turns given up because too much of them did not come.
    pub broken_turns: u64,
    /// Events lost because the caller did not fetch them.
    pub events_lost: u64,
}

impl LinkState {
    /// Whether the port is open.
    pub const fn is_open(&self) -> bool {
        !matches!(self, LinkState::Disconnected { .. })
    }

    /// Whether frames come.
    pub const fn is_heard(&self) -> bool {
        matches!(self, LinkState::Starting | LinkState::Turning)
    }
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkState::Disconnected { reason: None } => f.write_str("the port is not open"),
            LinkState::Disconnected { reason: Some(reason) } => {
                write!(f, "the port is not open: {reason}")
            }
            LinkState::Silent => f.write_str("nothing has come"),
            LinkState::Starting => f.write_str("the motor is not at its speed"),
            LinkState::Turning => f.write_str("turning"),
            LinkState::Lost => f.write_str("the lidar's stream stopped"),
        }
    }
}

impl State {
    pub(super) fn new() -> Self {
        State {
            link: LinkState::Disconnected { reason: None },
            last_seen: None,
            turns_per_second: None,
            turns: 0,
            points: 0,
            without_echo: 0,
            check: CheckState::Unproven,
            spacing: None,
            counters: Counters::default(),
        }
    }
}

/// Turns a second as the lidar says them: in steps of 0.05, not what a float makes of that.
pub(super) fn hertz(turns_per_second: f32) -> f64 {
    (f64::from(turns_per_second) * 20.0).round() / 20.0
}
