//! How a host finds a Unitree robot: a question in JSON to multicast groups, and the answer.
//!
//! ```text
//! question  {"sn":"…","key":"","name":"unitree_dapengche"}                  to GROUPS:10131
//! answer    {"sn": "…", "key": "", "name": "unitree_dapengche", "ip": "…"}  to ANSWER_GROUP:10134
//! ```
//!
//! The question is the one of the vendor's app. In captures the answer comes 0.2 to 0.8 s later.

#[cfg(feature = "alloc")]
use alloc::{format, string::String};
#[cfg(feature = "alloc")]
use core::net::IpAddr;
use core::net::Ipv4Addr;

#[cfg(feature = "alloc")]
use serde_json::Value;

/// Where questions go.
pub const QUERY_PORT: u16 = 10131;
/// Where answers go.
pub const ANSWER_PORT: u16 = 10134;
/// The groups that the vendor's app asks. To which of them a robot listens is not known.
pub const GROUPS: [Ipv4Addr; 4] = [
    Ipv4Addr::new(231, 1, 1, 1),
    Ipv4Addr::new(231, 1, 1, 2),
    Ipv4Addr::new(239, 255, 1, 1),
    Ipv4Addr::new(239, 255, 1, 2),
];
/// The group that robots answer to.
pub const ANSWER_GROUP: Ipv4Addr = Ipv4Addr::new(231, 1, 1, 2);
/// The address that a robot always has on its own access point.
pub const ACCESS_POINT: Ipv4Addr = Ipv4Addr::new(192, 168, 12, 1);
/// The name in questions and answers.
pub const NAME: &str = "unitree_dapengche";

/// A captured question has 61 bytes; what is much longer is none.
#[cfg(feature = "alloc")]
const MAX_QUESTION: usize = 1024;

/// A host's question.
#[cfg(feature = "alloc")]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// The serial number of the robot that is wanted; without one, any robot.
    pub sn: Option<String>,
}

/// A robot's answer.
#[cfg(feature = "alloc")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its serial number, never empty.
    pub sn: String,
    /// Its address, where it gives one that can be read.
    pub ip: Option<IpAddr>,
}

#[cfg(feature = "alloc")]
impl Question {
    /// Reads a question. An answer that strayed to the port of questions is none.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX_QUESTION {
            return None;
        }
        let members: Value = serde_json::from_slice(bytes).ok()?;
        let members = members.as_object()?;
        if members.get("name")?.as_str()? != NAME || members.contains_key("ip") {
            return None;
        }
        let sn = members.get("sn").map_or(Some(""), Value::as_str)?;
        Some(Question { sn: (!sn.is_empty()).then(|| sn.into()) })
    }

    /// The text to send. The one without a serial number is Sinew's; whether a real robot
    /// answers it is not known.
    pub fn emit(&self) -> String {
        match &self.sn {
            Some(sn) => {
                let sn = Value::from(sn.as_str());
                format!(r#"{{"sn":{sn},"key":"","name":"{NAME}"}}"#)
            }
            None => format!(r#"{{"name":"{NAME}"}}"#),
        }
    }

    /// Whether the robot with this serial number is meant.
    pub fn is_for(&self, sn: &str) -> bool {
        self.sn.as_deref().is_none_or(|wanted| wanted == sn)
    }
}

#[cfg(feature = "alloc")]
impl Answer {
    /// Reads an answer: an object with a serial number, whatever its name.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let members: Value = serde_json::from_slice(bytes).ok()?;
        let sn = members.get("sn")?.as_str().filter(|sn| !sn.is_empty())?;
        let ip = match members.get("ip") {
            None | Some(Value::Null) => None,
            Some(ip) => ip.as_str()?.parse().ok(),
        };
        Some(Answer { sn: sn.into(), ip })
    }

    /// The text to send, with spaces as in the captured answers, which a serializer would leave
    /// out.
    pub fn emit(&self) -> String {
        let sn = Value::from(self.sn.as_str());
        let ip = self.ip.map_or_else(String::new, |ip| format!(r#", "ip": "{ip}""#));
        format!(r#"{{"sn": {sn}, "key": "", "name": "{NAME}"{ip}}}"#)
    }
}
