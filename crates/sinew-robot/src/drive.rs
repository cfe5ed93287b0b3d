//! Moving about: what may be asked of a robot that drives.

use std::marker::PhantomData;

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
    /// Drive back to the dock.
    Dock,
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
