//! The parts of a vacuum, with the names that document 003's interface gives them.

use serde_json::Value;

use super::Command;
use crate::{
    Refusal,
    component::{
        self, Component, NONE, SPEED,
        Verb::{Configure, Disable, Enable, Reset},
        action, byte, byte_or, confirmed, optional,
    },
    drive,
};

/// Document 003's twelve components, and the pump that the later state of its project has.
pub const COMPONENTS: &[Component<Command>] = &[
    drive::component(),
    Component {
        id: "vacuum",
        what: "suction",
        actions: &[
            action(Enable, "100 %", NONE, |_| Command::Vacuum { percent: 100 }).shown(|_| 100),
            action(Disable, "0 %", NONE, |_| Command::Vacuum { percent: 0 }).shown(|_| 0),
            action(Configure, "power", SPEED, |v| Command::Vacuum { percent: byte_or(v, 0, 0) })
                .shown(|v| byte_or(v, 0, 0)),
        ],
    },
    Component {
        id: "main_brush",
        what: "rolling brush",
        actions: &[
            action(Enable, "100 %", NONE, |_| Command::MainBrush { percent: 100 }).shown(|_| 100),
            action(Disable, "0 %", NONE, |_| Command::MainBrush { percent: 0 }).shown(|_| 0),
            action(Configure, "speed", SPEED, |v| Command::MainBrush { percent: byte_or(v, 0, 0) })
                .shown(|v| byte_or(v, 0, 0)),
        ],
    },
    Component {
        id: "side_brush",
        what: "side brush",
        actions: &[
            action(Enable, "100 %", NONE, |_| Command::SideBrush { percent: 100 }).shown(|_| 100),
            action(Disable, "0 %", NONE, |_| Command::SideBrush { percent: 0 }).shown(|_| 0),
            action(Configure, "speed", SPEED, |v| Command::SideBrush { percent: byte_or(v, 0, 0) })
                .shown(|v| byte_or(v, 0, 0)),
        ],
    },
    Component {
        id: "water_pump",
        what: "pump of the mop, where there is one",
        actions: &[
            action(Enable, "100 %", NONE, |_| Command::WaterPump { percent: 100 }).shown(|_| 100),
            action(Disable, "0 %", NONE, |_| Command::WaterPump { percent: 0 }).shown(|_| 0),
            action(Configure, "speed", SPEED, |v| Command::WaterPump { percent: byte_or(v, 0, 0) })
                .shown(|v| byte_or(v, 0, 0)),
        ],
    },
    Component {
        id: "led",
        what: "button LED",
        actions: &[action(Configure, "mode 0 to 18", &[&[byte("state", 255, "")]], |v| {
            Command::Led { state: byte_or(v, 0, 0) }
        })],
    },
    Component {
        id: "lidar",
        what: "laser scanner",
        actions: &[
            action(
                Enable,
                "power on, motor at 60 % or as given",
                &[&[optional(byte("pwm", 100, "%"))]],
                |v| Command::LidarOn { pwm: byte_or(v, 0, 60) },
            )
            .shown(|v| byte_or(v, 0, 60)),
            action(Disable, "power off", NONE, |_| Command::LidarOff),
        ],
    },
    Component {
        id: "imu",
        what: "inertial sensor",
        actions: &[
            action(Enable, "ask for the calibration state", NONE, |_| Command::ImuState),
            confirmed(Reset, "factory calibration", NONE, |_| Command::ImuCalibrate),
        ],
    },
    Component {
        id: "compass",
        what: "compass",
        actions: &[
            action(Enable, "ask for the calibration state", NONE, |_| Command::CompassState),
            confirmed(Reset, "start calibration", NONE, |_| Command::CompassCalibrate),
        ],
    },
    Component {
        id: "cliff_ir",
        what: "cliff sensors",
        actions: &[
            action(Enable, "on", NONE, |_| Command::CliffIr { on: true }),
            action(Disable, "off", NONE, |_| Command::CliffIr { on: false }),
            action(Configure, "direction", &[&[byte("direction", 255, "")]], |v| {
                Command::CliffIrDirection { direction: byte_or(v, 0, 0) }
            }),
        ],
    },
    Component {
        id: "main_board",
        what: "the board that Sinew runs on",
        actions: &[
            action(Enable, "power on", NONE, |_| Command::MainBoard { on: true }),
            confirmed(Disable, "power off", NONE, |_| Command::MainBoard { on: false }),
            confirmed(Reset, "restart", NONE, |_| Command::MainBoardRestart),
        ],
    },
    Component {
        id: "charger",
        what: "charging circuit",
        actions: &[
            action(Enable, "on", NONE, |_| Command::Charger { on: true }),
            action(Disable, "off", NONE, |_| Command::Charger { on: false }),
        ],
    },
    Component {
        id: "mcu",
        what: "motor controller",
        actions: &[
            action(Enable, "acknowledge its waking up", NONE, |_| Command::McuWake),
            confirmed(Disable, "sleep", NONE, |_| Command::McuSleep),
            action(Reset, "clear error codes", NONE, |_| Command::McuClearErrors),
        ],
    },
];

/// Parses the `id` and `action` members of a `ComponentControl`.
///
/// `confirmed` is the message's `confirm` member.
pub fn parse(id: &Value, action: &Value, confirmed: bool) -> Result<Command, Refusal> {
    component::parse(COMPONENTS, id, action, confirmed)
}
