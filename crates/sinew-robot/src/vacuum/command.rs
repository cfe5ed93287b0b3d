use std::time::Duration;

use sinew_wire::gd32::Command as WireCommand;

use super::wheels::turns_wheels;
use crate::drive::{self, HoldEnd, Speeds};

/// What may be asked of a vacuum, with its arguments checked for form but not yet for limits.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "fields are named after the interface's")]
pub enum Command {
    /// Motor mode; clears the stop latch.
    DriveEnable { mode: u8 },
    /// Zero velocity, then motor mode 0; latches.
    DriveDisable,
    /// Everything off; latches.
    DriveReset,
    /// Drive, m/s and rad/s.
    Velocity { linear: f32, angular: f32 },
    /// Drive each wheel, m/s.
    Tank { left: f32, right: f32 },
    /// Drive, scaled to the limits, and held for this long; without it until the dead-man ends it.
    Lenient { speeds: Speeds, hold: Option<Duration> },
    /// End a velocity that is held, if one is.
    LetGo { reason: HoldEnd },
    /// Suction.
    Vacuum { percent: u8 },
    /// Rolling brush.
    MainBrush { percent: u8 },
    /// Side brush.
    SideBrush { percent: u8 },
    /// Pump of the mop.
    WaterPump { percent: u8 },
    /// Button LED.
    Led { state: u8 },
    /// Lidar power and motor.
    LidarOn { pwm: u8 },
    /// Lidar power off.
    LidarOff,
    /// Ask for the IMU's calibration state.
    ImuState,
    /// Factory calibration of the IMU.
    ImuCalibrate,
    /// Ask for the compass's calibration state.
    CompassState,
    /// Start the compass calibration.
    CompassCalibrate,
    /// Cliff sensors.
    CliffIr { on: bool },
    /// Direction of the cliff sensors.
    CliffIrDirection { direction: u8 },
    /// Power of the main board.
    MainBoard { on: bool },
    /// Restart of the main board.
    MainBoardRestart,
    /// Charging circuit.
    Charger { on: bool },
    /// Acknowledge the controller's waking up.
    McuWake,
    /// Put the controller to sleep.
    McuSleep,
    /// Clear error codes.
    McuClearErrors,
    /// Wake the controller's protocol.
    ProtocolSync,
    /// Run the boot sequence again.
    Boot,
    /// Drive back to the dock.
    Dock,
    /// Any frame.
    Raw { command: u8, payload: Vec<u8> },
}

impl Command {
    /// Whether it makes the wheels turn.
    pub fn is_motion(&self) -> bool {
        match self {
            Command::Velocity { .. }
            | Command::Tank { .. }
            | Command::Lenient { .. }
            | Command::Dock => true,
            Command::Raw { command, payload } => turns_wheels(*command, payload),
            _ => false,
        }
    }

    /// Whether it is motion or lets motion begin: what a stop drops if it still waits.
    pub fn is_driving(&self) -> bool {
        match self {
            Command::DriveEnable { .. } => true,
            Command::Raw { command, .. } if *command == WireCommand::MotorMode.code() => true,
            other => other.is_motion(),
        }
    }

    /// Whether it goes on moving without further commands.
    pub const fn moves_by_itself(&self) -> bool {
        matches!(self, Command::Dock)
    }

    /// Whether it stops the wheels and keeps them stopped: any client's right, at any time.
    pub const fn is_stop(&self) -> bool {
        matches!(self, Command::DriveReset | Command::DriveDisable)
    }
}

impl From<drive::Command> for Command {
    fn from(command: drive::Command) -> Self {
        match command {
            drive::Command::Enable { mode } => Command::DriveEnable { mode },
            drive::Command::Disable => Command::DriveDisable,
            drive::Command::Reset => Command::DriveReset,
            drive::Command::Velocity { linear, angular } => Command::Velocity { linear, angular },
            drive::Command::Tank { left, right } => Command::Tank { left, right },
            drive::Command::Lenient { speeds, hold } => Command::Lenient { speeds, hold },
            drive::Command::LetGo { reason } => Command::LetGo { reason },
            drive::Command::Dock => Command::Dock,
        }
    }
}
