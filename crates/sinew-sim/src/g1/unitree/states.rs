//! What the robot says about itself, by topic.

use std::time::Instant;

use serde_json::{Value, json};
use sinew_wire::{
    teach::G1_ARM_JOINTS,
    unitree::{
        Form, Kind, Message,
        state::{LowState, MOTORS, Motor, Service},
    },
};

use super::{super::Robot, stream::Stream};

/// Slots of a message, of which the last are empty.
const SLOTS: usize = 35;
/// Where a leg's joints are that stands: hip pitch, roll, yaw, knee, ankle pitch, roll.
const LEG: [f64; 6] = [-0.1, 0.0, 0.0, 0.3, -0.2, 0.0];

impl Robot {
    /// What a stream has to say now.
    pub(super) fn content(&self, stream: Stream, at: Instant) -> Option<(Form, Vec<u8>)> {
        let text = |json: Value| Value::from(json.to_string());
        let data = match stream {
            Stream::ArmState => Value::from(self.unitree.arm.state().emit()),
            Stream::LowState => self.low_state().json(),
            Stream::SportState => json!({
                "fsm_id": self.fsm_id(),
                "fsm_mode": self.fsm_mode(),
                "task_id": 0,
                "task_time": 0.0,
            }),
            Stream::Battery => self.battery(at),
            Stream::MainBoard => json!({ "fan_state": [0, 0], "temperature": [41, 39, 0, 0] }),
            Stream::SecondaryImu => imu(),
            Stream::MultipleState => text(json!({
                "bodyHeight": 0.0,
                "brightness": self.unitree.services.brightness,
                "footRaiseHeight": 0.0,
                "obstaclesAvoidSwitch": false,
                "speedLevel": 0,
                "uwbSwitch": false,
                "volume": self.unitree.services.volume,
            })),
            Stream::Services => text(Service::json(&self.unitree.services.all)),
            stream => self.slam_content(stream, at)?,
        };
        let message = Message::with_data(Kind::Msg, stream.topic(), data);
        Some((Form::Text, message.emit().into_bytes()))
    }

    /// The mode of the motion control's state: 1 moves, 0 stands.
    pub(super) fn fsm_mode(&self) -> i64 {
        i64::from(self.is_walking())
    }

    fn low_state(&self) -> LowState {
        let mut motors = vec![motor(0.0, 0.0, 0.0); SLOTS];
        for (index, motor) in motors.iter_mut().take(MOTORS).enumerate() {
            motor.q = *LEG.get(index % 6).filter(|_| index < 12).unwrap_or(&0.0);
            motor.temperatures = vec![36, 34];
        }
        let arms = self.arms.positions.iter().zip(&self.arms.velocities);
        for ((q, dq), joint) in arms.zip(&G1_ARM_JOINTS) {
            if let Some(slot) = motors.get_mut(usize::from(joint.number)) {
                *slot = Motor { temperatures: vec![38, 36], ..motor(*q, *dq, 0.8) };
            }
        }
        LowState { motors, mode_machine: Some(self.unitree.options.mode_machine) }
    }

    /// A battery that loses a percent in two minutes, and is full again at a tenth.
    pub(super) fn battery_percent(&self, at: Instant) -> i64 {
        let minutes = at.saturating_duration_since(self.booted).as_secs() / 120;
        90 - (minutes % 80) as i64
    }

    fn battery(&self, at: Instant) -> Value {
        let soc = self.battery_percent(at);
        json!({
            "soc": soc,
            "current": -3200,
            "bmsvoltage": [44_000 + soc * 80, 0, 0],
            "temperature": [31, 30, 30, 31, 0, 0],
            "cycle": 12,
            "status": 1,
        })
    }
}

fn motor(q: f32, dq: f32, tau: f64) -> Motor {
    // As 32 bits say it, without their rounding in 64.
    let exact = |value: f32| (f64::from(value) * 1e6).round() / 1e6;
    Motor { q: exact(q), dq: Some(exact(dq)), tau: Some(tau), temperatures: vec![0, 0] }
}

fn imu() -> Value {
    json!({
        "quaternion": [1.0, 0.0, 0.0, 0.0],
        "gyroscope": [0.0, 0.0, 0.0],
        "accelerometer": [0.0, 0.0, 9.81],
        "rpy": [0.0, 0.0, 0.0],
        "temperature": 40,
    })
}
