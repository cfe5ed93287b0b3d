//! All that is known of the commands, one row each.
//!
//! A row is the number, the name of the [`Command`], document 003's name for it and how sure the
//! document is, and then the messages that travel under the number:
//!
//! ```text
//! SENDER Body(value: type) [fields] as "word": "what it is for";
//! ```
//!
//! To add a command, add its row. The variants of `Command` and `Body`, reading and writing, the
//! guess of the sender, what `sinew decode` says and what `sinew encode gd32 word` takes follow from
//! it, and the tests that walk [`MESSAGES`] cover it. Only the tests that hold the table against
//! document 003's want to be told of a command that is not in there. A type or a meaning that no
//! payload had before is added in `payload.rs` or `field.rs`.

use super::{
    Confidence, DockIr, Field, LIDAR_PREPARATION, LedMode, Meaning, Mode, STATUS_LEN, Sender,
    Status, Switch, Velocity, Version, WheelSpeeds,
    field::least,
    message::{Entry, enough},
    payload::Payload,
};
use crate::{
    Result,
    bytes::{Reader, Writer},
};

const VALUE: Field = Field::new("value", Meaning::Byte, "");
const PERCENT: Field = Field::new("percent", Meaning::Percent, "0 to 100");
const SWITCH: Field = Field::new("state", Meaning::Choice(Switch::CHOICES), "");

const fn bytes(count: usize, about: &'static str) -> Field {
    Field::new("value", Meaning::Bytes(count), about)
}

messages! {
    0x04 McuSleep "MCU Sleep" Medium {
        Host McuSleep [] as "mcu-sleep": "put the controller to sleep";
    }
    0x05 WakeupAck "Wakeup Ack" Medium {
        Host WakeupAck [] as "wakeup-ack": "acknowledge its waking up";
    }
    0x06 Heartbeat "Heartbeat" High, answer "Heartbeat Ack" {
        Host Heartbeat [] as "heartbeat":
            "keep the controller's watchdog quiet while nothing moves";
        Controller HeartbeatAck []: "the heartbeat was heard";
    }
    0x07 Version "Version Request" High, answer "Version Response" {
        Host VersionRequest [] as "version": "ask for the version";
        Controller Version(version: Version<'a>) [Field::new("version", Meaning::Version, "")]:
            "the version";
    }
    0x08 Initialize "Initialize/IMU Zero" High, answer "Init Ack" {
        Host Initialize [] as "initialize":
            "initialise and zero the IMU, with the check that captures show";
        Controller InitializeAck []: "initialised";
    }
    0x0A ResetErrorCode "Reset Error Code" High {
        Host ResetErrorCode [] as "reset-error-code": "clear error codes";
    }
    0x0C ProtocolSync "Protocol Sync" High, answer "Protocol Sync Ack" {
        Host ProtocolSync(value: u8) [VALUE.or("1")] as "protocol-sync":
            "wake the controller's protocol";
        Controller ProtocolSyncAck(value: u8) [VALUE]: "awake, about 270 ms later";
    }
    0x0D RequestData "Request STM32 Data" High {
        Host RequestData [] as "request-data": "polled every three seconds";
    }
    0x15 Status "Status Packet" High, answer "Status Packet" {
        Controller Status {
            /// The known fields.
            fields: Status,
            /// All bytes, known and unknown.
            raw: &'a [u8; STATUS_LEN]
        } [Field::new("status", Meaning::Status, "")]: "sensor readings";
    }
    0x17 LidarConfig "Lidar Config" Low, answer "Lidar Config Ack" {
        Host LidarConfig(value: [u8; 4]) [bytes(4, "Four bytes as hex").or("01f0dffa")]
            as "lidar-config": "set up the lidar";
        Controller LidarConfigAck(value: u8) [VALUE]: "the lidar is set up";
    }
    0x18 LidarQuery "Lidar Query" Low, answer "Lidar Query Response" {
        Host LidarQuery [] as "lidar-query": "ask for the lidar's state";
        Controller LidarState(value: [u8; 8]) [bytes(8, "")]: "the lidar's state";
    }
    0x19 LidarEnable "Lidar Enable" Low {
        Host LidarEnable(state: Switch) [SWITCH.or("on")] as "lidar-enable": "enable the lidar";
    }
    0x65 MotorMode "Motor Mode" High {
        Host MotorMode(mode: Mode)
            [Field::new("mode", Meaning::Named(Mode::CHOICES), "0 idle, 2 navigation")]
            as "motor-mode": "choose what the motors may do";
    }
    0x66 MotorVelocity "Motor Velocity" High {
        Host Velocity(velocity: Velocity) [
            Field::new("linear", Meaning::Speed("m/s"), "Forward, m/s"),
            Field::new("angular", Meaning::Speed("rad/s"), "Counter-clockwise, rad/s")
        ] as "velocity": "drive";
    }
    0x67 MotorSpeed "Motor Speed" Medium {
        Host WheelSpeeds(speeds: WheelSpeeds) [
            Field::new("left", Meaning::WheelSpeed, "Left wheel, m/s"),
            Field::new("right", Meaning::WheelSpeed, "Right wheel, m/s")
        ] as "wheel-speed": "drive each wheel";
    }
    0x68 Vacuum "Air Pump (Vacuum)" High {
        Host Vacuum(power: u16) [Field::new("percent", Meaning::Power, "0 to 100")] as "vacuum":
            "vacuum power; on the wire in units of the profile";
    }
    0x69 SideBrush "Side Brush" High {
        Host SideBrush(percent: u8) [PERCENT] as "side-brush": "side brush, percent";
    }
    0x6A MainBrush "Main Brush" High {
        Host MainBrush(percent: u8) [PERCENT] as "main-brush": "main brush, percent";
    }
    0x6B MotorInit "Motor Controller Init" High {
        Host MotorInit(value: u8)
            [Field::new("value", Meaning::Byte, "0 off, 0x64 ready").or("0x64")]
            as "motor-init": "handshake at boot; later sources call it the water pump";
    }
    0x71 LidarPwm "Lidar PWM" High {
        Host LidarPwm(percent: i32) [Field::new("percent", Meaning::WidePercent, "0 to 100")]
            as "lidar-pwm": "lidar motor, percent";
    }
    0x78 CliffIr "Cliff IR Control" High {
        Host CliffIr(state: Switch) [SWITCH] as "cliff-ir": "cliff sensors";
    }
    0x79 CliffIrDirection "Cliff IR Direction" Medium {
        Host CliffIrDirection(direction: u8) [Field::new("direction", Meaning::Byte, "")]
            as "cliff-ir-direction": "direction of the cliff sensors";
    }
    0x7C UnknownLidar "Unknown Lidar" Low {
        Host UnknownLidar(value: [u8; 3]) [bytes(3, "Three bytes as hex").or("00ffff")]
            as "unknown-lidar": "sent once at boot";
    }
    0x86 DockIr "Dock IR Sensor" Medium {
        Host DockIr(state: DockIr) [Field::new("state", Meaning::Choice(DockIr::CHOICES), "")]
            as "dock-ir": "dock sensor";
    }
    0x8D Led "Button LED State" High {
        Host Led(mode: LedMode) [Field::new("state", Meaning::Led, "0 to 18; above, orange")]
            as "led": "button LED";
    }
    0x97 LidarPower "Lidar Power" High {
        Host LidarPower(state: Switch) [SWITCH] as "lidar-power": "lidar power";
    }
    0x99 MainBoardPower "Main Board Power" Medium {
        Host MainBoardPower(state: Switch) [SWITCH] as "main-board-power":
            "power of the main board; off switches the computer off that runs on the robot";
    }
    0x9A MainBoardRestart "Main Board Restart" Medium {
        Host MainBoardRestart [] as "main-board-restart":
            "restart the main board, the computer that runs on the robot";
    }
    0x9B ChargerPower "Charger Power" Medium {
        Host ChargerPower(state: Switch) [SWITCH] as "charger-power": "charger";
    }
    0x9D UnknownSensor "Unknown Sensor" Low {
        Host UnknownSensor(value: u8) [VALUE.or("1")] as "unknown-sensor": "sent at boot";
    }
    0xA1 ImuCalibrate "IMU Factory Calibrate" Medium {
        Host ImuCalibrate [] as "imu-calibrate": "factory calibration of the IMU";
    }
    0xA2 ImuState "IMU Calibrate State" High, answer "IMU Cal Response" {
        Host ImuState [] if is_empty as "imu-state":
            "ask for the IMU's calibration, without payload";
        Host LidarPrepare(value: [u8; 4])
            [Field::new("value", Meaning::Always(&LIDAR_PREPARATION, "prepares the lidar"), "")]
            as "lidar-prepare": "prepare the lidar, by four bytes";
        Controller ImuStateAnswer(value: u8) [VALUE]: "the IMU's calibration";
    }
    0xA3 CompassCalibrate "Compass Calibrate" Medium {
        Host CompassCalibrate [] as "compass-calibrate": "start the compass calibration";
    }
    0xA4 CompassState "Compass Cal State" Medium {
        Host CompassState [] as "compass-state": "ask for the compass calibration";
    }
}
