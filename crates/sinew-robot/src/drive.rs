//! Moving about: what may be asked of a robot that drives.

use std::{marker::PhantomData, time::Duration};

use serde::Serialize;
use serde_json::Value;

use crate::{
    Refusal,
    component::{
        self, Action, Component, NONE, Param,
        Verb::{Configure, Disable, Enable, Reset},
        action, byte, byte_or, number, optional, speed,
    },
};

/// What may be asked of a robot that drives.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "fields are named after the interface's")]
pub enum Command {
    /// Motor mode; clears the stop latch.
    Enable { mode: u8 },
    /// Zero velocity, then motor mode 0; latches.
    Disable,
    /// Everything off; latches.
    Reset,
    /// Drive, m/s and rad/s.
    Velocity { linear: f32, angular: f32 },
    /// Drive each wheel, m/s.
    Tank { left: f32, right: f32 },
    /// Drive, for a client that knows neither limits nor dead-man: speeds over a limit are scaled
    /// to it by one factor, and count for `hold`; without it as long as any velocity does.
    Lenient { speeds: Speeds, hold: Option<Duration> },
    /// End a velocity that is held, if one is.
    LetGo { reason: HoldEnd },
    /// Drive back to the dock.
    Dock,
}

/// How the wheels are to turn.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "fields are named after the interface's")]
pub enum Speeds {
    /// As a body, m/s and rad/s.
    Velocity { linear: f32, angular: f32 },
    /// Each by itself, m/s.
    Tank { left: f32, right: f32 },
}

/// How fast a robot may be driven, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// m/s.
    pub linear: f32,
    /// rad/s.
    pub angular: f32,
    /// How long a velocity counts without a new one.
    pub deadman: Duration,
}

/// Why a velocity is held no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldEnd {
    /// It was held for as long as it may be.
    Expired,
    /// Its client seems to be out of reach.
    Unreachable,
    /// Its client turned out to be one that may not hold any.
    Withdrawn,
}

impl Speeds {
    /// Whether the wheels are to stand.
    pub fn is_zero(self) -> bool {
        match self {
            Speeds::Velocity { linear, angular } => linear == 0.0 && angular == 0.0,
            Speeds::Tank { left, right } => left == 0.0 && right == 0.0,
        }
    }

    /// Whether the robot moves forwards.
    pub fn is_forward(self) -> bool {
        match self {
            Speeds::Velocity { linear, .. } => linear > 0.0,
            Speeds::Tank { left, right } => left + right > 0.0,
        }
    }
}

/// The name of the wheels among the components.
pub const ID: &str = "drive";

/// The wheels, as a row in the table of a robot's components.
pub const fn component<C: From<Command> + 'static>() -> Component<C> {
    Component { id: ID, what: "wheels", actions: Actions::<C>::ALL }
}

struct Actions<C>(PhantomData<C>);

impl<C: From<Command> + 'static> Actions<C> {
    const ALL: &'static [Action<C>] = &[
        action(
            Enable,
            "motor mode 2, or the one given; clears a stop",
            &[&[optional(Param { only: &[0, 2], ..byte("mode", 2, "") })]],
            |v| Command::Enable { mode: byte_or(v, 0, 2) }.into(),
        ),
        action(Disable, "stop, then motor mode 0", NONE, |_| Command::Disable.into()),
        action(Reset, "emergency stop: everything off", NONE, |_| Command::Reset.into()),
        action(
            Configure,
            "drive, by velocity or by wheel",
            &[
                &[speed("linear", "m/s"), speed("angular", "rad/s")],
                &[speed("left", "m/s"), speed("right", "m/s")],
            ],
            |v| match v {
                [_, _] => Command::Velocity { linear: number(v, 0), angular: number(v, 1) }.into(),
                _ => Command::Tank { left: number(v, 2), right: number(v, 3) }.into(),
            },
        ),
    ];
}

/// Parses the `action` member of a `ComponentControl` of the wheels.
pub fn parse(action: &Value, confirmed: bool) -> Result<Command, Refusal> {
    component::parse(&[component::<Command>()], &ID.into(), action, confirmed)
}
