use super::{Command, FrameBuf};
use crate::Result;

/// A frame of the boot sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootStep {
    /// Its number in document 003's table, from 1.
    pub step: u8,
    /// The phase it belongs to.
    pub phase: Phase,
    /// What is sent.
    pub command: Command,
    /// With what.
    pub payload: &'static [u8],
    /// What it does.
    pub purpose: &'static str,
}

/// A phase of the boot sequence that consists of listed frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "document 003's own words")]
pub enum Phase {
    SystemInit,
    HardwareConfig,
    ActuatorInit,
}

/// What 0x6B carries for two seconds after the listed frames, before motion is accepted.
pub const HANDSHAKE: u8 = 0x64;

use Phase::*;

/// The 18 frames that a factory board sends before its two seconds of handshake.
pub const BOOT: [BootStep; 18] = [
    step(1, SystemInit, Command::ProtocolSync, &[0x01], "wake the controller"),
    step(2, SystemInit, Command::Version, &[], "ask for the version"),
    step(3, SystemInit, Command::Led, &[0x01], "LED to standby blue"),
    step(4, SystemInit, Command::ResetErrorCode, &[], "clear error codes"),
    step(5, HardwareConfig, Command::Version, &[], "ask for the version again"),
    step(6, HardwareConfig, Command::LidarConfig, &[0x01, 0xF0, 0xDF, 0xFA], "set up the lidar"),
    step(7, HardwareConfig, Command::LidarQuery, &[], "ask for the lidar's state"),
    step(8, HardwareConfig, Command::LidarPower, &[0x00], "lidar power off"),
    step(9, HardwareConfig, Command::UnknownSensor, &[0x01], "switch an unknown sensor on"),
    step(10, HardwareConfig, Command::LidarPwm, &[0, 0, 0, 0], "lidar motor to 0"),
    step(11, ActuatorInit, Command::MotorMode, &[0x00], "motor mode idle"),
    step(12, ActuatorInit, Command::Vacuum, &[0, 0], "vacuum to 0"),
    step(13, ActuatorInit, Command::SideBrush, &[0], "side brush to 0"),
    step(14, ActuatorInit, Command::MainBrush, &[0], "main brush to 0"),
    step(15, ActuatorInit, Command::MotorInit, &[0x00], "motor controller off"),
    step(16, ActuatorInit, Command::Initialize, &[], "initialise, zero the IMU"),
    step(17, ActuatorInit, Command::LidarEnable, &[0x01], "enable the lidar"),
    step(18, ActuatorInit, Command::UnknownLidar, &[0x00, 0xFF, 0xFF], "unknown lidar setting"),
];

const fn step(
    step: u8,
    phase: Phase,
    command: Command,
    payload: &'static [u8],
    purpose: &'static str,
) -> BootStep {
    BootStep { step, phase, command, payload, purpose }
}

impl BootStep {
    /// The bytes to send.
    pub fn frame(&self) -> Result<FrameBuf> {
        FrameBuf::new(self.command.code(), self.payload)
    }
}
