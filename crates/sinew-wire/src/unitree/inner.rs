//! What the robot's WebRTC bridge itself is asked, and asks (`rtc_inner_req`).
//!
//! Clients put the content into `data`, robots into `info`.

use alloc::{borrow::ToOwned, format, string::String};

use serde_json::{Value, json};

use super::{Kind, Message, json as read};
use crate::Result;

/// Asked by a client, answered or asked by a robot.
#[derive(Debug, Clone, PartialEq)]
pub enum Inner {
    /// To the robot: whether it may thin out what it sends. Without it there are no clouds.
    TrafficSaving {
        /// "on" in the message: no thinning.
        disabled: bool,
    },
    /// From the robot: whether that was done.
    Execution {
        /// "ok" in the message.
        good: bool,
    },
    /// To the robot: how it is connected.
    NetworkQuestion {
        /// By which the answer finds the question.
        uuid: String,
    },
    /// From the robot: how it is connected.
    NetworkAnswer {
        /// That of the question.
        uuid: String,
        /// How.
        status: NetworkStatus,
    },
    /// A probe of the delay; the client sends the robot's whole content back.
    RttProbe(Value),
    /// Anything else.
    Other(Value),
}

/// How the robot says it is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkStatus {
    /// It cannot say yet; ask again.
    Undefined,
    /// Not at all, or not yet; ask again.
    Disconnected,
    /// By its mobile network.
    Mobile,
    /// By Wi-Fi.
    Wifi,
    /// Anything else, by its word.
    Other(String),
}

/// That spelling is the robot's.
const RTT_PROBE: &str = "rtt_probe_send_from_mechine";

impl Inner {
    /// Reads the content of either side; none when the message is of another type.
    pub fn parse(message: &Message) -> Result<Option<Self>> {
        if message.kind != Kind::RtcInnerReq {
            return Ok(None);
        }
        let content = message.info.as_ref().or(message.data.as_ref());
        let members = read::object(if message.info.is_some() { "info" } else { "data" }, content)?;
        let uuid = || read::text("uuid", members.get("uuid")).map(ToOwned::to_owned);
        let word = members.get("req_type").and_then(Value::as_str).unwrap_or_default();
        Ok(Some(match word {
            RTT_PROBE => Inner::RttProbe(Value::Object(members.clone())),
            "public_network_status" => match members.get("status") {
                None => Inner::NetworkQuestion { uuid: uuid()? },
                status => {
                    let status = NetworkStatus::from(read::text("status", status)?);
                    Inner::NetworkAnswer { uuid: uuid()?, status }
                }
            },
            "disable_traffic_saving" if members.contains_key("instruction") => {
                let instruction = read::text("instruction", members.get("instruction"))?;
                Inner::TrafficSaving { disabled: instruction == "on" }
            }
            _ => match members.get("execution").and_then(Value::as_str) {
                Some(execution) => Inner::Execution { good: execution == "ok" },
                None => Inner::Other(Value::Object(members.clone())),
            },
        }))
    }

    /// The message to send: a client's `data`, or a robot's `info`.
    pub fn message(&self, from_robot: bool) -> Message {
        let content = match self {
            Inner::TrafficSaving { disabled } => json!({
                "req_type": "disable_traffic_saving",
                "instruction": if *disabled { "on" } else { "off" },
            }),
            Inner::Execution { good } => json!({
                "req_type": "disable_traffic_saving",
                "execution": if *good { "ok" } else { "failed" },
            }),
            Inner::NetworkQuestion { uuid } => {
                json!({ "req_type": "public_network_status", "uuid": uuid })
            }
            Inner::NetworkAnswer { uuid, status } => json!({
                "req_type": "public_network_status",
                "uuid": uuid,
                "status": status.word(),
            }),
            Inner::RttProbe(content) | Inner::Other(content) => content.clone(),
        };
        let message = Message::new(Kind::RtcInnerReq, "");
        if from_robot {
            Message { info: Some(content), ..message }
        } else {
            Message { data: Some(content), ..message }
        }
    }
}

impl NetworkStatus {
    /// The word on the wire.
    pub fn word(&self) -> String {
        let name = match self {
            NetworkStatus::Undefined => return "Undefined".into(),
            NetworkStatus::Other(word) => return word.clone(),
            NetworkStatus::Disconnected => "DISCONNECTED",
            NetworkStatus::Mobile => "ON_4G_CONNECTED",
            NetworkStatus::Wifi => "ON_WIFI_CONNECTED",
        };
        format!("NetworkStatus.{name}")
    }
}

impl From<&str> for NetworkStatus {
    fn from(word: &str) -> Self {
        match word {
            "Undefined" => NetworkStatus::Undefined,
            "NetworkStatus.DISCONNECTED" => NetworkStatus::Disconnected,
            "NetworkStatus.ON_4G_CONNECTED" => NetworkStatus::Mobile,
            "NetworkStatus.ON_WIFI_CONNECTED" => NetworkStatus::Wifi,
            word => NetworkStatus::Other(word.into()),
        }
    }
}
