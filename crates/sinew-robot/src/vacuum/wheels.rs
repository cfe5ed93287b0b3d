//! Which frames move a vacuum: the one table that driving, stops and the playing of captures go by.

use sinew_wire::gd32::{Command, Profile};

use crate::{Refusal, drive::Speeds};

/// Whether a frame makes the wheels turn.
pub fn turns_wheels(command: u8, payload: &[u8]) -> bool {
    matches!(Command::from(command), Command::MotorVelocity | Command::MotorSpeed)
        && sets_something(payload)
}

/// Whether a frame switches on what a stop switches off.
pub fn switches_on(command: u8, payload: &[u8]) -> bool {
    let is_switch = matches!(
        Command::from(command),
        Command::MotorMode
            | Command::Vacuum
            | Command::SideBrush
            | Command::MainBrush
            | Command::MotorInit
            | Command::LidarPwm
            | Command::LidarPower
            | Command::ImuState
    );
    turns_wheels(command, payload) || (is_switch && sets_something(payload))
}

/// The speeds that a frame asks of the wheels.
pub(super) fn speeds(command: u8, payload: &[u8], profile: &Profile) -> Result<Speeds, Refusal> {
    let wanted = |length: usize| {
        Err(Refusal::invalid(format!(
            "raw 0x{command:02X}: wanted {length} bytes of payload, got {}",
            payload.len()
        )))
    };
    let scale = profile.velocity_scale;
    match (Command::from(command), payload) {
        (Command::MotorVelocity, &[a, b, c, d, e, f, g, h]) => Ok(Speeds::Velocity {
            linear: i32::from_le_bytes([a, b, c, d]) as f32 / scale,
            angular: i32::from_le_bytes([e, f, g, h]) as f32 / scale,
        }),
        (Command::MotorSpeed, &[a, b, c, d]) => Ok(Speeds::Tank {
            left: f32::from(i16::from_le_bytes([a, b])) / 1000.0,
            right: f32::from(i16::from_le_bytes([c, d])) / 1000.0,
        }),
        (Command::MotorVelocity, _) => wanted(8),
        _ => wanted(4),
    }
}

fn sets_something(payload: &[u8]) -> bool {
    payload.iter().any(|&byte| byte != 0)
}
