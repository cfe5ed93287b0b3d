//! What numbers mean: the status of a call, and the faults of a robot.

use core::fmt;

use serde_json::{Value, json};

use super::json as read;
use crate::{Error, Got, Result, Wanted};

/// Status codes: the service ("" for all), the code, what it means. From the vendor's SDK and
/// documentation; the codes of `sport` below 2000 from unitree_webrtc_connect. In the known logs
/// all codes are 0.
const STATUS: [(&str, i64, &str); 37] = [
    ("", 0, "done"),
    ("", 3001, "unknown error"),
    ("", 3102, "the request could not be sent"),
    ("", 3103, "the call is not registered"),
    ("", 3104, "the service did not answer in time"),
    ("", 3105, "the answer belongs to another call"),
    ("", 3106, "the answer cannot be read"),
    ("", 3107, "the lease is not valid"),
    ("", 3201, "the answer could not be sent"),
    ("", 3202, "error inside the service"),
    ("", 3203, "the service has no such call"),
    ("", 3204, "the service does not accept the parameter"),
    ("", 3205, "refused: another client has the lease"),
    ("", 3206, "there is no such lease"),
    ("", 3207, "there is a lease already"),
    ("arm", 7400, "the arms are occupied by another program"),
    (
        "arm",
        7401,
        "the arms are held up: let them return first (preset 99), or repeat the same action",
    ),
    ("arm", 7402, "there is no such action"),
    (
        "arm",
        7404,
        "the robot's state does not allow it: it must stand or walk (500, 501), or run (801) and stand still",
    ),
    ("sport", 1001, "the present state does not allow the change"),
    ("sport", 1002, "the present state does not allow the change"),
    ("sport", 1003, "there is no such state"),
    ("sport", 7301, "the state of the motion control is not available"),
    ("sport", 7302, "there is no such state"),
    ("sport", 7303, "there is no such task"),
    ("motion_switcher", 7001, "the parameter is not valid"),
    ("motion_switcher", 7002, "the switcher is busy"),
    ("motion_switcher", 7003, "the event is not valid"),
    ("motion_switcher", 7004, "there is no mode of that name"),
    ("motion_switcher", 7005, "there is no mode of that name"),
    ("motion_switcher", 7006, "the check could not be carried out"),
    ("motion_switcher", 7007, "the selection could not be carried out"),
    ("motion_switcher", 7008, "the release could not be carried out"),
    ("motion_switcher", 7009, "the data could not be stored"),
    ("robot_state", 5201, "the service could not be switched"),
    ("robot_state", 5202, "the service is protected"),
    ("slam_operate", 507, "the map cannot be loaded"),
];

/// Faults: source, code, what it means. From unitree_webrtc_connect, whose table is a GO2's; a web client
/// names further sources of a G1 (700 to 1000, and one for each motor) without their codes.
const FAULTS: [(i64, i64, &str); 26] = [
    (100, 0x1, "DDS message timeout"),
    (100, 0x2, "distribution switch abnormal"),
    (100, 0x10, "no communication with the battery"),
    (100, 0x20, "no communication with the remote control"),
    (100, 0x40, "no communication with the controller"),
    (100, 0x80, "no communication with the motors"),
    (200, 0x1, "rear left fan jammed"),
    (200, 0x2, "rear right fan jammed"),
    (200, 0x4, "front fan jammed"),
    (300, 0x1, "motor: overcurrent"),
    (300, 0x2, "motor: overvoltage"),
    (300, 0x4, "motor: driver too hot"),
    (300, 0x8, "motor: bus voltage too low"),
    (300, 0x10, "motor: winding too hot"),
    (300, 0x20, "motor: encoder abnormal"),
    (300, 0x40, "motor: calibration abnormal"),
    (300, 0x80, "motor: reset"),
    (300, 0x100, "motor: communication lost"),
    (400, 0x1, "lidar: motor speed abnormal"),
    (400, 0x2, "lidar: point cloud abnormal"),
    (400, 0x4, "lidar: serial data abnormal"),
    (400, 0x10, "lidar: dirty"),
    (500, 0x1, "UWB: serial port abnormal"),
    (500, 0x2, "UWB: robot information abnormal"),
    (600, 0x4, "motion control: protection from overheating"),
    (600, 0x8, "motion control: protection of a low battery"),
];

/// What a status code means in a service.
pub fn status_text(service: &str, code: i64) -> Option<&'static str> {
    let row =
        |(of, number, _): &&(&str, i64, &str)| *number == code && (of.is_empty() || *of == service);
    STATUS.iter().find(row).map(|(_, _, text)| *text)
}

/// A fault: `[unix seconds, source, code]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// When, in seconds since 1970.
    pub time: i64,
    /// Which part of the robot.
    pub source: i64,
    /// What, as a set of bits in most sources.
    pub code: i64,
}

impl Fault {
    pub(super) fn parse(value: Option<&Value>) -> Result<Self> {
        let [time, source, code] = read::list("fault", value)?.as_slice() else {
            let wanted = Wanted::What("[time, source, code]");
            return Err(Error::new("fault", wanted, Got::What("a list of another length")));
        };
        Ok(Fault {
            time: read::whole("time", Some(time))?,
            source: read::whole("source", Some(source))?,
            code: read::whole("code", Some(code))?,
        })
    }

    pub(super) fn json(&self) -> Value {
        json!([self.time, self.source, self.code])
    }

    /// What it means, where that is known.
    pub fn text(&self) -> Option<&'static str> {
        let row =
            |(source, code, _): &&(i64, i64, &str)| (*source, *code) == (self.source, self.code);
        FAULTS.iter().find(row).map(|(_, _, text)| *text)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => f.write_str(text),
            None => write!(f, "unknown, source {}, code {:X}", self.source, self.code),
        }
    }
}
