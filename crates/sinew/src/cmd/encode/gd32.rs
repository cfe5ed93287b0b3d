use clap::{Subcommand, ValueEnum};
use sinew_wire::gd32::{
    Body, DockIr, FrameBuf, LIDAR_PREPARATION, LedMode, Message, Mode, Switch, WheelSpeeds,
};

use super::{Bytes, bytes};
use crate::cmd::{decode::ProfileArg, number};

/// A serial frame to the vacuum's motor controller: any command by number, or a typed one.
#[derive(clap::Args)]
#[command(
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    subcommand_help_heading = "Typed commands",
    subcommand_value_name = "TYPED"
)]
pub(crate) struct Args {
    /// The command byte.
    #[arg(long, value_parser = number::<u8>, required = true)]
    command: Option<u8>,
    /// The payload as hex.
    #[arg(long, value_parser = bytes, default_value = "")]
    payload: Bytes,
    #[command(subcommand)]
    typed: Option<Typed>,
}

#[derive(Clone, Copy, ValueEnum)]
enum OnOff {
    On,
    Off,
}

#[derive(Clone, Copy, ValueEnum)]
enum DockState {
    Off,
    Approach,
    On,
}

#[derive(Subcommand)]
enum Typed {
    /// 0x04.
    McuSleep,
    /// 0x05.
    WakeupAck,
    /// 0x06.
    Heartbeat,
    /// 0x07.
    Version,
    /// 0x08, with the check that captures show.
    Initialize,
    /// 0x0A.
    ResetErrorCode,
    /// 0x0C.
    ProtocolSync {
        #[arg(long, value_parser = number::<u8>, default_value = "1")]
        value: u8,
    },
    /// 0x0D.
    RequestData,
    /// 0x17.
    LidarConfig {
        /// Four bytes as hex.
        #[arg(long, value_parser = array::<4>, default_value = "01f0dffa")]
        value: [u8; 4],
    },
    /// 0x18.
    LidarQuery,
    /// 0x19.
    LidarEnable {
        #[arg(long, default_value = "on")]
        state: OnOff,
    },
    /// 0x65: 0 idle, 2 navigation.
    MotorMode {
        #[arg(long, value_parser = number::<u8>)]
        mode: u8,
    },
    /// 0x66.
    Velocity {
        /// Forward, m/s.
        #[arg(long, allow_negative_numbers = true)]
        linear: f32,
        /// Counter-clockwise, rad/s.
        #[arg(long, allow_negative_numbers = true)]
        angular: f32,
        /// Whose scale to use.
        #[arg(long, default_value = "document")]
        profile: ProfileArg,
    },
    /// 0x67.
    WheelSpeed {
        /// Left wheel, m/s.
        #[arg(long, allow_negative_numbers = true)]
        left: f32,
        /// Right wheel, m/s.
        #[arg(long, allow_negative_numbers = true)]
        right: f32,
    },
    /// 0x68.
    Vacuum {
        #[arg(long, value_parser = clap::value_parser!(u8).range(0..=100))]
        percent: u8,
        /// Whose scale to use.
        #[arg(long, default_value = "document")]
        profile: ProfileArg,
    },
    /// 0x69.
    SideBrush {
        #[arg(long, value_parser = clap::value_parser!(u8).range(0..=100))]
        percent: u8,
    },
    /// 0x6A.
    MainBrush {
        #[arg(long, value_parser = clap::value_parser!(u8).range(0..=100))]
        percent: u8,
    },
    /// 0x6B: 0 off, 0x64 ready.
    MotorInit {
        #[arg(long, value_parser = number::<u8>, default_value = "0x64")]
        value: u8,
    },
    /// 0x71.
    LidarPwm {
        #[arg(long, value_parser = clap::value_parser!(i32).range(0..=100))]
        percent: i32,
    },
    /// 0x78.
    CliffIr {
        #[arg(long)]
        state: OnOff,
    },
    /// 0x79.
    CliffIrDirection {
        #[arg(long, value_parser = number::<u8>)]
        direction: u8,
    },
    /// 0x7C.
    UnknownLidar {
        /// Three bytes as hex.
        #[arg(long, value_parser = array::<3>, default_value = "00ffff")]
        value: [u8; 3],
    },
    /// 0x86.
    DockIr {
        #[arg(long)]
        state: DockState,
    },
    /// 0x8D: 0 to 18; above, orange.
    Led {
        #[arg(long, value_parser = number::<u8>)]
        state: u8,
    },
    /// 0x97.
    LidarPower {
        #[arg(long)]
        state: OnOff,
    },
    /// 0x99: off switches the computer off that runs on the robot.
    MainBoardPower {
        #[arg(long)]
        state: OnOff,
    },
    /// 0x9A: restarts the computer that runs on the robot.
    MainBoardRestart,
    /// 0x9B.
    ChargerPower {
        #[arg(long)]
        state: OnOff,
    },
    /// 0x9D.
    UnknownSensor {
        #[arg(long, value_parser = number::<u8>, default_value = "1")]
        value: u8,
    },
    /// 0xA1.
    ImuCalibrate,
    /// 0xA2 without payload.
    ImuState,
    /// 0xA2 with `10 0e 00 00`.
    LidarPrepare,
    /// 0xA3.
    CompassCalibrate,
    /// 0xA4.
    CompassState,
}

pub(super) fn encode(args: Args) -> anyhow::Result<Vec<u8>> {
    let frame = match args.typed {
        Some(typed) => Message::from(typed.body()?).frame()?,
        None => FrameBuf::new(args.command.unwrap_or_default(), &args.payload.0)?,
    };
    Ok(frame.as_bytes().to_vec())
}

impl Typed {
    fn body(self) -> anyhow::Result<Body<'static>> {
        Ok(match self {
            Typed::McuSleep => Body::McuSleep,
            Typed::WakeupAck => Body::WakeupAck,
            Typed::Heartbeat => Body::Heartbeat,
            Typed::Version => Body::VersionRequest,
            Typed::Initialize => Body::Initialize,
            Typed::ResetErrorCode => Body::ResetErrorCode,
            Typed::ProtocolSync { value } => Body::ProtocolSync(value),
            Typed::RequestData => Body::RequestData,
            Typed::LidarConfig { value } => Body::LidarConfig(value),
            Typed::LidarQuery => Body::LidarQuery,
            Typed::LidarEnable { state } => Body::LidarEnable(state.into()),
            Typed::MotorMode { mode } => Body::MotorMode(Mode::from(mode)),
            Typed::Velocity { linear, angular, profile } => {
                Body::Velocity(profile.profile().velocity(linear, angular)?)
            }
            Typed::WheelSpeed { left, right } => {
                Body::WheelSpeeds(WheelSpeeds::from_metres(left, right)?)
            }
            Typed::Vacuum { percent, profile } => Body::Vacuum(profile.profile().vacuum(percent)?),
            Typed::SideBrush { percent } => Body::SideBrush(percent),
            Typed::MainBrush { percent } => Body::MainBrush(percent),
            Typed::MotorInit { value } => Body::MotorInit(value),
            Typed::LidarPwm { percent } => Body::LidarPwm(percent),
            Typed::CliffIr { state } => Body::CliffIr(state.into()),
            Typed::CliffIrDirection { direction } => Body::CliffIrDirection(direction),
            Typed::UnknownLidar { value } => Body::UnknownLidar(value),
            Typed::DockIr { state } => Body::DockIr(match state {
                DockState::Off => DockIr::Off,
                DockState::Approach => DockIr::Approach,
                DockState::On => DockIr::On,
            }),
            Typed::Led { state } => Body::Led(LedMode(state)),
            Typed::LidarPower { state } => Body::LidarPower(state.into()),
            Typed::MainBoardPower { state } => Body::MainBoardPower(state.into()),
            Typed::MainBoardRestart => Body::MainBoardRestart,
            Typed::ChargerPower { state } => Body::ChargerPower(state.into()),
            Typed::UnknownSensor { value } => Body::UnknownSensor(value),
            Typed::ImuCalibrate => Body::ImuCalibrate,
            Typed::ImuState => Body::ImuState,
            Typed::LidarPrepare => Body::LidarPrepare(LIDAR_PREPARATION),
            Typed::CompassCalibrate => Body::CompassCalibrate,
            Typed::CompassState => Body::CompassState,
        })
    }
}

impl From<OnOff> for Switch {
    fn from(state: OnOff) -> Self {
        match state {
            OnOff::On => Switch::On,
            OnOff::Off => Switch::Off,
        }
    }
}

fn array<const N: usize>(text: &str) -> Result<[u8; N], String> {
    let Bytes(given) = bytes(text)?;
    let count = given.len();
    given.try_into().map_err(|_| format!("{N} bytes wanted, {count} given"))
}
