//! What a robot says about itself: motors, services, motion mode, faults.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use serde_json::{Map, Value, json};

use super::{Fault, Kind, Message, json as read};
use crate::{Error, Result, Wanted};

/// Where motors are published.
pub const LOW_STATE_TOPIC: &str = "rt/lf/lowstate";
/// Where services are published, every five seconds.
pub const SERVICE_STATE_TOPIC: &str = "rt/servicestate";
/// The service that switches motion modes.
pub const MOTION_SWITCHER: &str = "motion_switcher";
/// Motors of a G1; the message may have further slots behind them.
pub const MOTORS: usize = 29;
/// Most slots that are read. The vendor's SDK has 35.
const MOST_SLOTS: usize = 64;

/// The G1's joints in the order of its motors. A body with fewer has no motor in some places.
pub const JOINTS: [&str; MOTORS] = [
    "left_hip_pitch",
    "left_hip_roll",
    "left_hip_yaw",
    "left_knee",
    "left_ankle_pitch",
    "left_ankle_roll",
    "right_hip_pitch",
    "right_hip_roll",
    "right_hip_yaw",
    "right_knee",
    "right_ankle_pitch",
    "right_ankle_roll",
    "waist_yaw",
    "waist_roll",
    "waist_pitch",
    "left_shoulder_pitch",
    "left_shoulder_roll",
    "left_shoulder_yaw",
    "left_elbow",
    "left_wrist_roll",
    "left_wrist_pitch",
    "left_wrist_yaw",
    "right_shoulder_pitch",
    "right_shoulder_roll",
    "right_shoulder_yaw",
    "right_elbow",
    "right_wrist_roll",
    "right_wrist_pitch",
    "right_wrist_yaw",
];

/// A message of [`LOW_STATE_TOPIC`].
#[derive(Debug, Clone, PartialEq)]
pub struct LowState {
    /// In the order of [`JOINTS`], and then empty slots.
    pub motors: Vec<Motor>,
    /// The build of the robot, where it says so.
    pub mode_machine: Option<i64>,
}

/// A motor.
#[derive(Debug, Clone, PartialEq)]
pub struct Motor {
    /// Position in radians.
    pub q: f64,
    /// Velocity in radians a second; not every robot sends it.
    pub dq: Option<f64>,
    /// Torque in newton metres, estimated.
    pub tau: Option<f64>,
    /// Degrees Celsius: one, or case and winding. They travel as bytes without a sign and have one.
    pub temperatures: Vec<i64>,
}

/// A service of [`SERVICE_STATE_TOPIC`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// What it is called.
    pub name: String,
    /// Whether it can be switched off.
    pub protected: bool,
    /// 0 in the message.
    pub running: bool,
    /// Empty for many.
    pub version: String,
}

/// What [`MOTION_SWITCHER`] says to 1001; 1002 takes the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MotionMode {
    /// "0" in all known answers.
    pub form: String,
    /// `ai`, `normal` and the like; empty when none is active.
    pub name: String,
}

/// The content of `errors`, `add_error` and `rm_error`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Faults {
    /// All there are.
    All(Vec<Fault>),
    /// One that has come.
    Added(Fault),
    /// One that is gone.
    Removed(Fault),
}

impl LowState {
    /// Reads a message.
    pub fn parse(message: &Message) -> Result<Self> {
        let value = content(message)?;
        let members = read::object("data", Some(&value))?;
        let slots = read::list("motor_state", members.get("motor_state"))?;
        if slots.len() > MOST_SLOTS {
            let most = Wanted::AtMost(MOST_SLOTS as u64);
            return Err(Error::count("motor_state", most, slots.len()));
        }
        let motors = slots.iter().map(|slot| Motor::parse(read::object("motor", Some(slot))?));
        Ok(LowState {
            motors: motors.collect::<Result<_>>()?,
            mode_machine: members.get("mode_machine").and_then(Value::as_i64),
        })
    }

    /// The message's `data`.
    pub fn json(&self) -> Value {
        let motors: Value = self.motors.iter().map(Motor::json).collect();
        let mut data = json!({ "motor_state": motors });
        if let Some(mode_machine) = self.mode_machine {
            data["mode_machine"] = json!(mode_machine);
        }
        data
    }

    /// The joints' positions; none when there are fewer than [`MOTORS`].
    pub fn positions(&self) -> Option<[f64; MOTORS]> {
        let motors = self.motors.first_chunk::<MOTORS>()?;
        Some(core::array::from_fn(|joint| motors[joint].q))
    }

    /// The joints' velocities; none when one of [`MOTORS`] has none.
    pub fn velocities(&self) -> Option<[f64; MOTORS]> {
        let motors = self.motors.first_chunk::<MOTORS>()?;
        let mut velocities = [0.0; MOTORS];
        for (velocity, motor) in velocities.iter_mut().zip(motors) {
            *velocity = motor.dq?;
        }
        Some(velocities)
    }
}

impl Motor {
    fn parse(members: &Map<String, Value>) -> Result<Self> {
        let optional = |field: &'static str| match members.get(field) {
            None => Ok(None),
            value => read::number(field, value).map(Some),
        };
        let temperature = |value: &Value| -> Result<i64> {
            let degrees = read::whole("temperature", Some(value))?;
            Ok(if (128..256).contains(&degrees) { degrees - 256 } else { degrees })
        };
        let temperatures = match members.get("temperature") {
            None => Vec::new(),
            Some(Value::Array(list)) => {
                list.iter().take(4).map(temperature).collect::<Result<_>>()?
            }
            Some(one) => alloc::vec![temperature(one)?],
        };
        let q = read::number("q", members.get("q"))?;
        Ok(Motor { q, dq: optional("dq")?, tau: optional("tau_est")?, temperatures })
    }

    fn json(&self) -> Value {
        let mut motor = json!({ "q": self.q });
        for (field, value) in [("dq", self.dq), ("tau_est", self.tau)] {
            if let Some(value) = value {
                motor[field] = json!(value);
            }
        }
        let bytes: Vec<i64> = self.temperatures.iter().map(|degrees| degrees & 0xFF).collect();
        match bytes.as_slice() {
            [] => {}
            [one] => motor["temperature"] = json!(one),
            several => motor["temperature"] = json!(several),
        }
        motor
    }
}

impl Service {
    /// Reads a message: a list, as it is or in a string.
    pub fn parse(message: &Message) -> Result<Vec<Self>> {
        let value = content(message)?;
        let services = read::list("data", Some(&value))?.iter().map(|service| {
            let text = |field| read::text(field, service.get(field)).map(ToOwned::to_owned);
            Ok(Service {
                name: text("name")?,
                protected: read::whole("protect", service.get("protect"))? != 0,
                running: read::whole("status", service.get("status"))? == 0,
                version: read::text_or_empty("version", service.get("version"))?.to_owned(),
            })
        });
        services.collect()
    }

    /// The message's `data`.
    pub fn json(services: &[Service]) -> Value {
        let service = |service: &Service| {
            json!({
                "name": service.name,
                "protect": i32::from(service.protected),
                "status": i32::from(!service.running),
                "version": service.version,
            })
        };
        services.iter().map(service).collect()
    }
}

impl MotionMode {
    /// What asks for the mode.
    pub const GET: i64 = 1001;
    /// What sets it.
    pub const SET: i64 = 1002;

    /// Reads the `data` of the answer to [`MotionMode::GET`].
    pub fn parse(data: &Value) -> Result<Self> {
        let value = read::embedded("data", data)?;
        let members = read::object("data", Some(&value))?;
        let name = read::text("name", members.get("name"))?.to_owned();
        Ok(MotionMode { form: read::text_or_empty("form", members.get("form"))?.to_owned(), name })
    }

    /// The text that the answer's `data` holds.
    pub fn emit(&self) -> String {
        format!("{}", json!({ "form": self.form, "name": self.name }))
    }

    /// The parameter of [`MotionMode::SET`].
    pub fn set_parameter(name: &str) -> String {
        format!("{}", json!({ "name": name }))
    }
}

impl Faults {
    /// Reads a message; none when it is of another type.
    pub fn parse(message: &Message) -> Result<Option<Self>> {
        let data = message.data.as_ref();
        Ok(Some(match message.kind {
            Kind::Errors => {
                let faults =
                    read::list("data", data)?.iter().map(|fault| Fault::parse(Some(fault)));
                Faults::All(faults.collect::<Result<_>>()?)
            }
            Kind::AddError => Faults::Added(Fault::parse(data)?),
            Kind::RmError => Faults::Removed(Fault::parse(data)?),
            _ => return Ok(None),
        }))
    }

    /// The message to send.
    pub fn message(&self) -> Message {
        match self {
            Faults::All(faults) => {
                let faults: Value = faults.iter().map(Fault::json).collect();
                Message::with_data(Kind::Errors, "", faults)
            }
            Faults::Added(fault) => Message::with_data(Kind::AddError, "", fault.json()),
            Faults::Removed(fault) => Message::with_data(Kind::RmError, "", fault.json()),
        }
    }
}

fn content(message: &Message) -> Result<Value> {
    read::embedded("data", message.data.as_ref().unwrap_or(&Value::Null))
}
