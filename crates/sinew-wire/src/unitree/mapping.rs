//! The G1's SLAM service (`slam_operate`) and what it publishes.
//!
//! The parameter is always `{"data":{…}}`, the answer `{"succeed","errorCode","info","data"}` in a
//! string:
//!
//! | id | what | data |
//! | --- | --- | --- |
//! | 1801 | start mapping, which turns the clouds on | `{"slam_type":"indoor"}` |
//! | 1802 | end mapping, and store | `{"address":"/home/unitree/NAME.pcd"}` |
//! | 1804 | load a map, and where the robot is in it | `{x y z q_x q_y q_z q_w address}` |
//! | 1102 | walk to a place | `{"targetPose":{x y z q_x q_y q_z q_w},"mode":1}` |
//! | 1201, 1202 | pause, resume walking | `{}` |
//! | 1901 | close | `{}` |
//!
//! From the vendor's documentation; 1801, 1802 and 1804 were tried on a robot.

use alloc::{borrow::ToOwned, format, string::String};

use serde_json::{Map, Value, json};

use super::{Message, json as read};
use crate::Result;

/// The service's name.
pub const SERVICE: &str = "slam_operate";
/// Where it says how it goes.
pub const INFO_TOPIC: &str = "rt/slam_info";
/// Where it says that something has ended.
pub const KEY_INFO_TOPIC: &str = "rt/slam_key_info";

/// What the service is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub enum SlamRequest {
    /// 1801, with the `slam_type`, of which only `indoor` is known.
    Start(String),
    /// 1802, with the file to write.
    Save(String),
    /// 1804.
    Locate {
        /// Where the robot is.
        pose: Pose,
        /// The map's file.
        address: String,
    },
    /// 1102.
    GoTo {
        /// Where to.
        pose: Pose,
        /// Only 1 is known.
        mode: i64,
    },
    /// 1201.
    Pause,
    /// 1202.
    Resume,
    /// 1901.
    Close,
    /// Anything else.
    Other {
        /// What is called.
        api_id: i64,
        /// With what.
        parameter: String,
    },
}

/// Where and which way: metres, and a quaternion.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pose {
    /// x, y, z.
    pub position: [f64; 3],
    /// x, y, z, w.
    pub orientation: [f64; 4],
}

/// The answer in a response of the service.
#[derive(Debug, Clone, PartialEq)]
pub struct SlamReply {
    /// Whether it was done.
    pub succeed: bool,
    /// 0, or why not; 507 is said to be a map that cannot be loaded.
    pub error_code: i64,
    /// The same in words.
    pub info: String,
    /// More of it.
    pub data: Value,
}

/// A message of [`INFO_TOPIC`] or [`KEY_INFO_TOPIC`]: what is known of it, and all of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SlamInfo {
    /// What it says.
    pub what: What,
    /// The whole JSON.
    pub json: Value,
}

/// What a message of [`INFO_TOPIC`] or [`KEY_INFO_TOPIC`] says.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// `mapping_info`: where the robot is while it maps.
    Mapping {
        /// There.
        pose: Pose,
    },
    /// `pos_info`: where the robot is in a loaded map.
    Position {
        /// There.
        pose: Pose,
        /// The map's name.
        map: String,
        /// The map's file.
        address: String,
    },
    /// `ctrl_info`: how walking goes.
    Control {
        /// Whether it is there.
        is_arrived: Option<bool>,
        /// Whether it pauses.
        is_paused: Option<bool>,
        /// How far it has come.
        percent: Option<f64>,
    },
    /// `robot_data`: battery.
    Robot {
        /// Charge in percent.
        battery_percent: Option<f64>,
        /// Millivolts.
        battery_millivolts: Option<f64>,
    },
    /// `task_result`: the end of a walk.
    TaskResult {
        /// Where it went.
        target: String,
        /// Whether it came there.
        is_arrived: bool,
    },
    /// Anything else, by its word.
    Other(String),
}

/// A message of the `odom` topics: a ROS odometry message.
#[derive(Debug, Clone, PartialEq)]
pub struct Odometry {
    /// Seconds and nanoseconds, where it has them.
    pub stamp: Option<(i64, i64)>,
    /// The frame of the pose.
    pub frame_id: String,
    /// Under `pose.pose`: one level more than one might think.
    pub pose: Pose,
}

const POSITION: [&str; 3] = ["x", "y", "z"];
const QUATERNION: [&str; 4] = ["q_x", "q_y", "q_z", "q_w"];

impl SlamRequest {
    /// What is called.
    pub const fn api_id(&self) -> i64 {
        match self {
            SlamRequest::Start(_) => 1801,
            SlamRequest::Save(_) => 1802,
            SlamRequest::Locate { .. } => 1804,
            SlamRequest::GoTo { .. } => 1102,
            SlamRequest::Pause => 1201,
            SlamRequest::Resume => 1202,
            SlamRequest::Close => 1901,
            SlamRequest::Other { api_id, .. } => *api_id,
        }
    }

    /// With what.
    pub fn parameter(&self) -> String {
        let data = match self {
            SlamRequest::Start(slam_type) => json!({ "slam_type": slam_type }),
            SlamRequest::Save(address) => json!({ "address": address }),
            SlamRequest::Locate { pose, address } => {
                let mut data = pose.json();
                data["address"] = json!(address);
                data
            }
            SlamRequest::GoTo { pose, mode } => json!({ "targetPose": pose.json(), "mode": mode }),
            SlamRequest::Pause | SlamRequest::Resume | SlamRequest::Close => json!({}),
            SlamRequest::Other { parameter, .. } => return parameter.clone(),
        };
        format!("{}", json!({ "data": data }))
    }

    /// Reads a call. A call that the service has but that is not laid out as it should be is an
    /// error.
    pub fn parse(api_id: i64, parameter: &str) -> Result<Self> {
        let data = || -> Result<Map<String, Value>> {
            let value = read::parse("parameter", parameter.as_bytes())?;
            read::object("data", value.get("data")).cloned()
        };
        let text = |data: &Map<String, Value>, field: &'static str| -> Result<String> {
            Ok(read::text(field, data.get(field))?.to_owned())
        };
        Ok(match api_id {
            1801 => SlamRequest::Start(text(&data()?, "slam_type")?),
            1802 => SlamRequest::Save(text(&data()?, "address")?),
            1804 => {
                let data = data()?;
                SlamRequest::Locate { pose: Pose::parse(&data)?, address: text(&data, "address")? }
            }
            1102 => {
                let data = data()?;
                let pose = read::object("targetPose", data.get("targetPose"))?;
                let mode = read::whole("mode", data.get("mode"))?;
                SlamRequest::GoTo { pose: Pose::parse(pose)?, mode }
            }
            1201 => SlamRequest::Pause,
            1202 => SlamRequest::Resume,
            1901 => SlamRequest::Close,
            api_id => SlamRequest::Other { api_id, parameter: parameter.to_owned() },
        })
    }
}

impl Pose {
    fn parse(members: &Map<String, Value>) -> Result<Self> {
        let numbers = Numbers(members);
        Ok(Pose { position: numbers.read(POSITION)?, orientation: numbers.read(QUATERNION)? })
    }

    fn json(&self) -> Value {
        let names = POSITION.into_iter().chain(QUATERNION);
        let values = self.position.into_iter().chain(self.orientation);
        names.zip(values).map(|(name, value)| (String::from(name), json!(value))).collect()
    }
}

struct Numbers<'v>(&'v Map<String, Value>);

impl Numbers<'_> {
    fn read<const N: usize>(&self, fields: [&'static str; N]) -> Result<[f64; N]> {
        let mut values = [0.0; N];
        for (value, field) in values.iter_mut().zip(fields) {
            *value = read::number(field, self.0.get(field))?;
        }
        Ok(values)
    }
}

impl SlamReply {
    /// Reads the `data` of a response.
    pub fn parse(data: &Value) -> Result<Self> {
        let value = read::embedded("data", data)?;
        let members = read::object("data", Some(&value))?;
        Ok(SlamReply {
            succeed: read::flag("succeed", members.get("succeed"))?,
            error_code: read::whole("errorCode", members.get("errorCode"))?,
            info: read::text_or_empty("info", members.get("info"))?.to_owned(),
            data: members.get("data").cloned().unwrap_or_default(),
        })
    }

    /// The text that the response's `data` holds.
    pub fn emit(&self) -> String {
        let SlamReply { succeed, error_code, info, data } = self;
        let reply =
            json!({ "succeed": succeed, "errorCode": error_code, "info": info, "data": data });
        format!("{reply}")
    }
}

impl SlamInfo {
    /// Reads a message of either topic: JSON in a string with `type` and `data`.
    pub fn parse(message: &Message) -> Result<Self> {
        let json = read::embedded("data", message.data.as_ref().unwrap_or(&Value::Null))?;
        let members = read::object("data", Some(&json))?;
        let word = read::text("type", members.get("type"))?;
        let data = || read::object("data", members.get("data"));
        let what = match word {
            "mapping_info" => What::Mapping { pose: current_pose(data()?)? },
            "pos_info" => {
                let data = data()?;
                What::Position {
                    pose: current_pose(data)?,
                    map: read::text_or_empty("pcdName", data.get("pcdName"))?.to_owned(),
                    address: read::text_or_empty("address", data.get("address"))?.to_owned(),
                }
            }
            "ctrl_info" => {
                let data = data()?;
                let inner = |outer: &str, name: &str| data.get(outer)?.get(name).cloned();
                What::Control {
                    is_arrived: data.get("is_arrived").and_then(Value::as_bool),
                    is_paused: inner("stateMachine", "isPause").and_then(|flag| flag.as_bool()),
                    percent: inner("progress", "completion_percentage")
                        .and_then(|percent| percent.as_f64()),
                }
            }
            "robot_data" => {
                let data = data()?;
                let number = |name: &str| data.get(name).and_then(Value::as_f64);
                What::Robot {
                    battery_percent: number("batteryPower"),
                    battery_millivolts: number("batteryVol"),
                }
            }
            "task_result" => {
                let data = data()?;
                let target = data.get("targetNodeName");
                What::TaskResult {
                    target: read::text_or_empty("targetNodeName", target)?.to_owned(),
                    is_arrived: read::flag("is_arrived", data.get("is_arrived"))?,
                }
            }
            word => What::Other(word.to_owned()),
        };
        Ok(SlamInfo { what, json })
    }
}

fn current_pose(data: &Map<String, Value>) -> Result<Pose> {
    Pose::parse(read::object("currentPose", data.get("currentPose"))?)
}

impl Odometry {
    /// Reads a message of an `odom` topic.
    pub fn parse(message: &Message) -> Result<Self> {
        let value = read::embedded("data", message.data.as_ref().unwrap_or(&Value::Null))?;
        let members = read::object("data", Some(&value))?;
        let outer = read::object("pose", members.get("pose"))?;
        let pose = read::object("pose.pose", outer.get("pose"))?;
        let position = read::object("position", pose.get("position"))?;
        let orientation = read::object("orientation", pose.get("orientation"))?;
        let header = members.get("header");
        let stamp = header.and_then(|header| {
            let stamp = header.get("stamp")?;
            Some((stamp.get("sec")?.as_i64()?, stamp.get("nanosec")?.as_i64()?))
        });
        let frame_id = header.and_then(|header| header.get("frame_id"));
        Ok(Odometry {
            stamp,
            frame_id: read::text_or_empty("frame_id", frame_id)?.to_owned(),
            pose: Pose {
                position: Numbers(position).read(POSITION)?,
                orientation: Numbers(orientation).read(["x", "y", "z", "w"])?,
            },
        })
    }

    /// The message's `data`.
    pub fn json(&self) -> Value {
        let stamp = self.stamp.map(|(sec, nanosec)| json!({ "sec": sec, "nanosec": nanosec }));
        let ([x, y, z], [qx, qy, qz, qw]) = (self.pose.position, self.pose.orientation);
        let pose = json!({
            "position": { "x": x, "y": y, "z": z },
            "orientation": { "x": qx, "y": qy, "z": qz, "w": qw },
        });
        let mut header = json!({ "frame_id": self.frame_id });
        if let Some(stamp) = stamp {
            header["stamp"] = stamp;
        }
        json!({ "header": header, "pose": { "pose": pose } })
    }
}
