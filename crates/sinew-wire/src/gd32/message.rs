use super::{Command, Frame, FrameBuf, LedMode, MAX_PAYLOAD, STATUS_LEN, Status};
use crate::{
    Error, Got, Result, Wanted,
    bytes::{Reader, Writer},
};

/// The payload of 0xA2 that prepares the lidar instead of asking for the IMU's state.
pub const LIDAR_PREPARATION: [u8; 4] = [0x10, 0x0E, 0x00, 0x00];

/// A frame's content, typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Message<'a> {
    /// The command and what it is known to carry.
    pub body: Body<'a>,
    /// Payload beyond what the command is known to carry.
    pub extra: &'a [u8],
}

/// Who sent a frame. The direction is not on the wire, and seven numbers are used both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The computer.
    Host,
    /// The motor controller.
    Controller,
}

/// A command and its payload. Values that no document names are kept as they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Body<'a> {
    /// 0x04: put the controller to sleep.
    McuSleep,
    /// 0x05: acknowledge its waking up.
    WakeupAck,
    /// 0x06: keep the controller's watchdog quiet while nothing moves.
    Heartbeat,
    /// 0x06 from the controller.
    HeartbeatAck,
    /// 0x07: ask for the version.
    VersionRequest,
    /// 0x07 from the controller.
    Version(Version<'a>),
    /// 0x08: initialise and zero the IMU.
    Initialize,
    /// 0x08 from the controller.
    InitializeAck,
    /// 0x0A: clear error codes.
    ResetErrorCode,
    /// 0x0C: wake the controller's protocol.
    ProtocolSync(u8),
    /// 0x0C from the controller, about 270 ms later.
    ProtocolSyncAck(u8),
    /// 0x0D: polled every three seconds.
    RequestData,
    /// 0x15 from the controller.
    Status {
        /// The known fields.
        fields: Status,
        /// All bytes, known and unknown.
        raw: &'a [u8; STATUS_LEN],
    },
    /// 0x17: set up the lidar.
    LidarConfig([u8; 4]),
    /// 0x17 from the controller.
    LidarConfigAck(u8),
    /// 0x18: ask for the lidar's state.
    LidarQuery,
    /// 0x18 from the controller.
    LidarState([u8; 8]),
    /// 0x19: enable the lidar.
    LidarEnable(Switch),
    /// 0x65: choose what the motors may do.
    MotorMode(Mode),
    /// 0x66: drive.
    Velocity(Velocity),
    /// 0x67: drive each wheel.
    WheelSpeeds(WheelSpeeds),
    /// 0x68: vacuum power in wire units (see [`Profile`](super::Profile)).
    Vacuum(u16),
    /// 0x69: side brush, percent.
    SideBrush(u8),
    /// 0x6A: main brush, percent.
    MainBrush(u8),
    /// 0x6B: motor controller handshake at boot; later sources call it the water pump.
    MotorInit(u8),
    /// 0x71: lidar motor, percent.
    LidarPwm(i32),
    /// 0x78: cliff sensors.
    CliffIr(Switch),
    /// 0x79: direction of the cliff sensors.
    CliffIrDirection(u8),
    /// 0x7C: sent once at boot.
    UnknownLidar([u8; 3]),
    /// 0x86: dock sensor.
    DockIr(DockIr),
    /// 0x8D: button LED.
    Led(LedMode),
    /// 0x97: lidar power.
    LidarPower(Switch),
    /// 0x99: power of the main board, on which the host runs.
    MainBoardPower(Switch),
    /// 0x9A: restart the main board.
    MainBoardRestart,
    /// 0x9B: charger.
    ChargerPower(Switch),
    /// 0x9D: sent at boot.
    UnknownSensor(u8),
    /// 0xA1: factory calibration of the IMU.
    ImuCalibrate,
    /// 0xA2 without payload: ask for the IMU's calibration.
    ImuState,
    /// 0xA2 with four bytes: prepare the lidar.
    LidarPrepare([u8; 4]),
    /// 0xA2 from the controller.
    ImuStateAnswer(u8),
    /// 0xA3: start the compass calibration.
    CompassCalibrate,
    /// 0xA4: ask for the compass calibration.
    CompassState,
    /// A command or a direction no document describes.
    Unknown {
        /// The command byte.
        command: u8,
        /// Its payload.
        payload: &'a [u8],
    },
}

/// What 0x65 allows the motors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// 0x00: nothing.
    Idle,
    /// 0x02: everything.
    Navigation,
    /// A value no document names.
    Other(u8),
}

/// A byte that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// 0x00.
    Off,
    /// 0x01.
    On,
    /// A value no document names.
    Other(u8),
}

/// State of the dock sensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DockIr {
    /// 0x00.
    Off,
    /// 0x10: captured while a robot approached its dock.
    Approach,
    /// 0x41.
    On,
    /// A value no document names.
    Other(u8),
}

/// Velocity in wire units (see [`Profile`](super::Profile)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Velocity {
    /// Forward.
    pub linear: i32,
    /// Counter-clockwise.
    pub angular: i32,
}

/// Speeds of the wheels in mm/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WheelSpeeds {
    /// Left wheel.
    pub left: i16,
    /// Right wheel.
    pub right: i16,
}

impl WheelSpeeds {
    /// Wire units of speeds in m/s.
    pub fn from_metres(left: f32, right: f32) -> Result<Self> {
        let wire = |field, metres| {
            let value = super::profile::scaled(field, metres, 1000.0)?;
            i16::try_from(value).map_err(|_| {
                let wanted = Wanted::Within(-32.768, 32.767);
                Error::new(field, wanted, Got::Float(metres.into()))
            })
        };
        Ok(WheelSpeeds { left: wire("left", left)?, right: wire("right", right)? })
    }
}

/// The controller's version, as it sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version<'a>(pub &'a [u8]);

impl<'a> Version<'a> {
    /// The text: length-prefixed when the first byte is a length that fits, else up to a NUL.
    pub fn text(&self) -> &'a [u8] {
        if let [length @ 0..128, text @ ..] = self.0
            && let Some(text) = text.get(..usize::from(*length))
        {
            return text;
        }
        self.0.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// The version code, in answers of at least eight bytes.
    pub fn code(&self) -> Option<i32> {
        let bytes = self.0.get(4..8)?.first_chunk()?;
        Some(i32::from_le_bytes(*bytes))
    }
}

impl Sender {
    /// The sender that a payload of this length speaks for.
    pub fn guess(command: Command, payload_len: usize) -> Self {
        match (command, payload_len) {
            (Command::Status, _)
            | (Command::Version, 1..)
            | (Command::LidarConfig | Command::ImuState, 1)
            | (Command::LidarQuery, 8) => Sender::Controller,
            _ => Sender::Host,
        }
    }
}

impl<'a> Message<'a> {
    /// Types a frame's payload. Without a sender the payload's length decides.
    pub fn parse(frame: &Frame<'a>, sender: Option<Sender>) -> Result<Self> {
        let payload = frame.payload();
        let command = Command::from(frame.command());
        let sender = sender.unwrap_or_else(|| Sender::guess(command, payload.len()));
        let mut reader = Reader::new(payload);
        let body = match sender {
            Sender::Host => Body::from_host(command, &mut reader),
            Sender::Controller => Body::from_controller(command, &mut reader),
        };
        match body {
            Ok(Some(body)) => Ok(Message { body, extra: reader.rest() }),
            Ok(None) => {
                let body = Body::Unknown { command: frame.command(), payload };
                Ok(Message { body, extra: &[] })
            }
            // Readers report what was left; the user wants to hear of the whole payload.
            Err(error) => {
                let read = payload.len() - reader.rest().len();
                let wanted = match error.wanted {
                    Wanted::AtLeast(more) => Wanted::AtLeast(read as u64 + more),
                    other => other,
                };
                Err(Error::count("payload length", wanted, payload.len()))
            }
        }
    }

    /// The frame to send.
    pub fn frame(&self) -> Result<FrameBuf> {
        let mut buffer = [0; MAX_PAYLOAD];
        let mut payload = Writer::new(&mut buffer);
        self.body.emit(&mut payload)?;
        payload.put("payload", self.extra)?;
        FrameBuf::new(self.body.command().code(), payload.written())
    }
}

impl<'a> From<Body<'a>> for Message<'a> {
    fn from(body: Body<'a>) -> Self {
        Message { body, extra: &[] }
    }
}

impl<'a> Body<'a> {
    fn from_host(command: Command, reader: &mut Reader<'a>) -> Result<Option<Self>> {
        let p = "payload";
        let mut byte = || reader.array::<1>(p).map(|[byte]| byte);
        Ok(Some(match command {
            Command::McuSleep => Body::McuSleep,
            Command::WakeupAck => Body::WakeupAck,
            Command::Heartbeat => Body::Heartbeat,
            Command::Version => Body::VersionRequest,
            Command::Initialize => Body::Initialize,
            Command::ResetErrorCode => Body::ResetErrorCode,
            Command::ProtocolSync => Body::ProtocolSync(byte()?),
            Command::RequestData => Body::RequestData,
            Command::LidarConfig => Body::LidarConfig(reader.array(p)?),
            Command::LidarQuery => Body::LidarQuery,
            Command::LidarEnable => Body::LidarEnable(byte()?.into()),
            Command::MotorMode => Body::MotorMode(byte()?.into()),
            Command::MotorVelocity => {
                let [a, b, c, d, e, f, g, h] = reader.array(p)?;
                Body::Velocity(Velocity {
                    linear: i32::from_le_bytes([a, b, c, d]),
                    angular: i32::from_le_bytes([e, f, g, h]),
                })
            }
            Command::MotorSpeed => {
                let [a, b, c, d] = reader.array(p)?;
                Body::WheelSpeeds(WheelSpeeds {
                    left: i16::from_le_bytes([a, b]),
                    right: i16::from_le_bytes([c, d]),
                })
            }
            Command::Vacuum => Body::Vacuum(u16::from_le_bytes(reader.array(p)?)),
            Command::SideBrush => Body::SideBrush(byte()?),
            Command::MainBrush => Body::MainBrush(byte()?),
            Command::MotorInit => Body::MotorInit(byte()?),
            Command::LidarPwm => Body::LidarPwm(i32::from_le_bytes(reader.array(p)?)),
            Command::CliffIr => Body::CliffIr(byte()?.into()),
            Command::CliffIrDirection => Body::CliffIrDirection(byte()?),
            Command::UnknownLidar => Body::UnknownLidar(reader.array(p)?),
            Command::DockIr => Body::DockIr(byte()?.into()),
            Command::Led => Body::Led(LedMode(byte()?)),
            Command::LidarPower => Body::LidarPower(byte()?.into()),
            Command::MainBoardPower => Body::MainBoardPower(byte()?.into()),
            Command::MainBoardRestart => Body::MainBoardRestart,
            Command::ChargerPower => Body::ChargerPower(byte()?.into()),
            Command::UnknownSensor => Body::UnknownSensor(byte()?),
            Command::ImuCalibrate => Body::ImuCalibrate,
            Command::ImuState if reader.rest().is_empty() => Body::ImuState,
            Command::ImuState => Body::LidarPrepare(reader.array(p)?),
            Command::CompassCalibrate => Body::CompassCalibrate,
            Command::CompassState => Body::CompassState,
            Command::Status | Command::Unknown(_) => return Ok(None),
        }))
    }

    fn from_controller(command: Command, reader: &mut Reader<'a>) -> Result<Option<Self>> {
        let p = "payload";
        Ok(Some(match command {
            Command::Heartbeat => Body::HeartbeatAck,
            Command::Version => {
                let len = reader.rest().len();
                Body::Version(Version(reader.take(p, len)?))
            }
            Command::Initialize => Body::InitializeAck,
            Command::ProtocolSync => {
                let [value] = reader.array(p)?;
                Body::ProtocolSyncAck(value)
            }
            Command::Status => {
                let Some(raw) = reader.take(p, STATUS_LEN)?.first_chunk() else {
                    return Ok(None);
                };
                Body::Status { fields: Status::parse(raw)?, raw }
            }
            Command::LidarConfig => {
                let [value] = reader.array(p)?;
                Body::LidarConfigAck(value)
            }
            Command::LidarQuery => Body::LidarState(reader.array(p)?),
            Command::ImuState => {
                let [value] = reader.array(p)?;
                Body::ImuStateAnswer(value)
            }
            _ => return Ok(None),
        }))
    }

    /// The command byte it travels under.
    pub fn command(&self) -> Command {
        match self {
            Body::McuSleep => Command::McuSleep,
            Body::WakeupAck => Command::WakeupAck,
            Body::Heartbeat | Body::HeartbeatAck => Command::Heartbeat,
            Body::VersionRequest | Body::Version(_) => Command::Version,
            Body::Initialize | Body::InitializeAck => Command::Initialize,
            Body::ResetErrorCode => Command::ResetErrorCode,
            Body::ProtocolSync(_) | Body::ProtocolSyncAck(_) => Command::ProtocolSync,
            Body::RequestData => Command::RequestData,
            Body::Status { .. } => Command::Status,
            Body::LidarConfig(_) | Body::LidarConfigAck(_) => Command::LidarConfig,
            Body::LidarQuery | Body::LidarState(_) => Command::LidarQuery,
            Body::LidarEnable(_) => Command::LidarEnable,
            Body::MotorMode(_) => Command::MotorMode,
            Body::Velocity(_) => Command::MotorVelocity,
            Body::WheelSpeeds(_) => Command::MotorSpeed,
            Body::Vacuum(_) => Command::Vacuum,
            Body::SideBrush(_) => Command::SideBrush,
            Body::MainBrush(_) => Command::MainBrush,
            Body::MotorInit(_) => Command::MotorInit,
            Body::LidarPwm(_) => Command::LidarPwm,
            Body::CliffIr(_) => Command::CliffIr,
            Body::CliffIrDirection(_) => Command::CliffIrDirection,
            Body::UnknownLidar(_) => Command::UnknownLidar,
            Body::DockIr(_) => Command::DockIr,
            Body::Led(_) => Command::Led,
            Body::LidarPower(_) => Command::LidarPower,
            Body::MainBoardPower(_) => Command::MainBoardPower,
            Body::MainBoardRestart => Command::MainBoardRestart,
            Body::ChargerPower(_) => Command::ChargerPower,
            Body::UnknownSensor(_) => Command::UnknownSensor,
            Body::ImuCalibrate => Command::ImuCalibrate,
            Body::ImuState | Body::LidarPrepare(_) | Body::ImuStateAnswer(_) => Command::ImuState,
            Body::CompassCalibrate => Command::CompassCalibrate,
            Body::CompassState => Command::CompassState,
            Body::Unknown { command, .. } => Command::from(*command),
        }
    }

    /// Who sends it; for an unknown command, nobody knows.
    pub fn sender(&self) -> Option<Sender> {
        match self {
            Body::HeartbeatAck
            | Body::Version(_)
            | Body::InitializeAck
            | Body::ProtocolSyncAck(_)
            | Body::Status { .. }
            | Body::LidarConfigAck(_)
            | Body::LidarState(_)
            | Body::ImuStateAnswer(_) => Some(Sender::Controller),
            Body::Unknown { .. } => None,
            _ => Some(Sender::Host),
        }
    }

    /// Document 003's name, by direction.
    pub fn name(&self) -> &'static str {
        let command = self.command();
        match self.sender() {
            Some(Sender::Controller) => command.answer_name().unwrap_or(command.name()),
            _ => command.name(),
        }
    }

    fn emit(&self, out: &mut Writer<'_>) -> Result<()> {
        let p = "payload";
        match *self {
            Body::ProtocolSync(byte)
            | Body::ProtocolSyncAck(byte)
            | Body::LidarConfigAck(byte)
            | Body::SideBrush(byte)
            | Body::MainBrush(byte)
            | Body::MotorInit(byte)
            | Body::CliffIrDirection(byte)
            | Body::UnknownSensor(byte)
            | Body::ImuStateAnswer(byte)
            | Body::Led(LedMode(byte)) => out.put(p, &[byte]),
            Body::LidarEnable(switch)
            | Body::CliffIr(switch)
            | Body::LidarPower(switch)
            | Body::MainBoardPower(switch)
            | Body::ChargerPower(switch) => out.put(p, &[switch.into()]),
            Body::MotorMode(mode) => out.put(p, &[mode.into()]),
            Body::DockIr(state) => out.put(p, &[state.into()]),
            Body::LidarConfig(bytes) | Body::LidarPrepare(bytes) => out.put(p, &bytes),
            Body::LidarState(bytes) => out.put(p, &bytes),
            Body::UnknownLidar(bytes) => out.put(p, &bytes),
            Body::Vacuum(value) => out.put(p, &value.to_le_bytes()),
            Body::LidarPwm(value) => out.put(p, &value.to_le_bytes()),
            Body::Velocity(Velocity { linear, angular }) => {
                out.put(p, &linear.to_le_bytes())?;
                out.put(p, &angular.to_le_bytes())
            }
            Body::WheelSpeeds(WheelSpeeds { left, right }) => {
                out.put(p, &left.to_le_bytes())?;
                out.put(p, &right.to_le_bytes())
            }
            Body::Status { fields, raw } => {
                let mut raw = *raw;
                fields.emit(&mut raw);
                out.put(p, &raw)
            }
            Body::Version(Version(bytes)) => out.put(p, bytes),
            Body::Unknown { payload, .. } => out.put(p, payload),
            Body::McuSleep
            | Body::WakeupAck
            | Body::Heartbeat
            | Body::HeartbeatAck
            | Body::VersionRequest
            | Body::Initialize
            | Body::InitializeAck
            | Body::ResetErrorCode
            | Body::RequestData
            | Body::LidarQuery
            | Body::MainBoardRestart
            | Body::ImuCalibrate
            | Body::ImuState
            | Body::CompassCalibrate
            | Body::CompassState => Ok(()),
        }
    }
}

macro_rules! byte_enum {
    ($type:ident: $($value:literal $variant:ident),+) => {
        impl From<u8> for $type {
            fn from(value: u8) -> Self {
                match value {
                    $($value => $type::$variant,)+
                    other => $type::Other(other),
                }
            }
        }

        impl From<$type> for u8 {
            fn from(value: $type) -> u8 {
                match value {
                    $($type::$variant => $value,)+
                    $type::Other(other) => other,
                }
            }
        }
    };
}

byte_enum!(Mode: 0x00 Idle, 0x02 Navigation);
byte_enum!(Switch: 0x00 Off, 0x01 On);
byte_enum!(DockIr: 0x00 Off, 0x10 Approach, 0x41 On);
