//! What the SLAM service says about how it goes.

use std::time::Instant;

use serde_json::{Value, json};
use sinew_wire::unitree::mapping::{Odometry, Pose};

use super::{
    Robot,
    map::Frame,
    slam::Mode,
    stream::Stream,
    walk::{Place, Walk},
};

impl Robot {
    /// What a stream of this service has to say.
    pub(super) fn slam_content(&self, stream: Stream, at: Instant) -> Option<Value> {
        let slam = &self.unitree.slam;
        let info = |word: &str, data: Value| {
            Some(Value::from(json!({ "type": word, "errorCode": 0, "data": data }).to_string()))
        };
        match (stream, &slam.mode) {
            (Stream::SlamRobot, _) => {
                let percent = self.battery_percent(at);
                info(
                    "robot_data",
                    json!({
                        "motorTemp": vec![36; 29],
                        "batteryPower": percent,
                        "batteryVol": 44_000 + percent * 80,
                        "batteryAmp": -3200,
                        "cpuTemp": 52,
                    }),
                )
            }
            (Stream::SlamMapping, Mode::Mapping(_)) => {
                info("mapping_info", position(&slam.pose()?, ""))
            }
            (Stream::SlamPosition, Mode::Located { address, .. }) => {
                info("pos_info", position(&slam.pose()?, address))
            }
            (Stream::SlamControl, Mode::Located { frame, .. }) => {
                info("ctrl_info", control(slam.walk.as_ref()?, slam.body, *frame))
            }
            (Stream::MappingOdom, Mode::Mapping(_))
            | (Stream::RelocationOdom, Mode::Located { .. }) => {
                let up = at.saturating_duration_since(self.booted);
                let stamp = Some((up.as_secs().cast_signed(), up.subsec_nanos().into()));
                Some(Odometry { stamp, frame_id: "map".into(), pose: slam.pose()? }.json())
            }
            _ => None,
        }
    }
}

fn position(pose: &Pose, address: &str) -> Value {
    let ([x, y, z], [q_x, q_y, q_z, q_w]) = (pose.position, pose.orientation);
    let name = address.rsplit('/').next().unwrap_or_default();
    json!({
        "currentPose": {
            "x": x, "y": y, "z": z, "q_x": q_x, "q_y": q_y, "q_z": q_z, "q_w": q_w,
        },
        "pcdName": name,
        "address": address,
    })
}

fn control(walk: &Walk, body: Place, frame: Frame) -> Value {
    let place = |place: Place| {
        let Place { x, y, yaw } = frame.place(place);
        json!({ "x": x, "y": y, "z": 0.0, "roll": 0.0, "pitch": 0.0, "yaw": yaw })
    };
    let state = match (walk.is_paused, walk.blocked_s) {
        (true, _) => "pause",
        (false, Some(_)) => "obstacle",
        (false, None) => "move",
    };
    json!({
        "is_arrived": false,
        "targetNodeName": "",
        "startPose": place(walk.start),
        "targetPose": place(walk.goal),
        "stateMachine": {
            "state": state,
            "isPause": walk.is_paused,
            "vx": walk.velocity[0],
            "vy": 0.0,
            "vyaw": walk.velocity[1],
        },
        "obsInfo": { "state": walk.blocked_s.is_some(), "time": walk.blocked_s.unwrap_or(0.0) },
        "progress": {
            "used_time": walk.used_s,
            "last_time": walk.left_s(body),
            "completion_percentage": walk.percent(body),
        },
    })
}
