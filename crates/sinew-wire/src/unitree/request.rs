//! Calls of the robot's services and their answers.
//!
//! ```text
//! {"type":"req","topic":"rt/api/arm/request",
//!  "data":{"header":{"identity":{"id":N,"api_id":7107}},"parameter":"…"}}
//! {"type":"res","topic":"rt/api/arm/response",
//!  "data":{"header":{"identity":{"id":N,"api_id":7107},"status":{"code":0}},"data":"…"}}
//! ```
//!
//! Parameter and answer are strings, as a rule of JSON. The records of a captured session have the
//! lengths that these texts give.

use alloc::{borrow::ToOwned, format, string::String};
use core::fmt;

use serde_json::{Value, json};

use super::{Kind, Message, codes, json as read, secret::redacted, table};
use crate::{Error, Got, Result, Wanted};

/// A call.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The service, such as `arm`.
    pub service: String,
    /// The number by which the answer finds the call.
    pub id: i64,
    /// What is called.
    pub api_id: i64,
    /// With what; empty for nothing.
    pub parameter: String,
    /// `header.policy.priority`; the app sends none.
    pub priority: Option<i64>,
}

/// The answer to a call.
#[derive(Clone, PartialEq)]
pub struct Response {
    /// The service, such as `arm`.
    pub service: String,
    /// The number of the call.
    pub id: i64,
    /// What was called.
    pub api_id: i64,
    /// 0, or why not.
    pub code: i64,
    /// The answer: text as a rule.
    pub data: Value,
}

/// The topic that a service is called on.
pub fn request_topic(service: &str) -> String {
    format!("rt/api/{service}/request")
}

/// The topic that a service answers on.
pub fn response_topic(service: &str) -> String {
    format!("rt/api/{service}/response")
}

/// The service that a topic of calls or answers belongs to.
pub fn service_of(topic: &str) -> Option<&str> {
    let service = topic.strip_prefix("rt/api/")?;
    service.strip_suffix("/request").or_else(|| service.strip_suffix("/response"))
}

impl Request {
    /// Reads a call.
    pub fn parse(message: &Message) -> Result<Self> {
        let service = service(message, &Kind::Req)?;
        let data = read::object("data", message.data.as_ref())?;
        let header = read::object("header", data.get("header"))?;
        let (id, api_id) = identity(header.get("identity"))?;
        let parameter = read::text_or_empty("parameter", data.get("parameter"))?.to_owned();
        let priority = header.get("policy").and_then(|policy| policy.get("priority")?.as_i64());
        Ok(Request { service, id, api_id, parameter, priority })
    }

    /// The text to send.
    pub fn emit(&self) -> String {
        let topic = Value::from(request_topic(&self.service));
        let (id, api_id) = (self.id, self.api_id);
        let parameter = Value::from(self.parameter.as_str());
        let policy = self
            .priority
            .map_or_else(String::new, |priority| format!(r#","policy":{{"priority":{priority}}}"#));
        format!(
            r#"{{"type":"req","topic":{topic},"data":{{"header":{{"identity":{{"id":{id},"api_id":{api_id}}}{policy}}},"parameter":{parameter}}}}}"#
        )
    }
}

impl Response {
    /// Reads an answer.
    pub fn parse(message: &Message) -> Result<Self> {
        let service = service(message, &Kind::Res)?;
        let data = read::object("data", message.data.as_ref())?;
        let header = read::object("header", data.get("header"))?;
        let (id, api_id) = identity(header.get("identity"))?;
        let status = read::object("status", header.get("status"))?;
        let code = read::whole("code", status.get("code"))?;
        let data = data.get("data").cloned().unwrap_or_default();
        Ok(Response { service, id, api_id, code, data })
    }

    /// The text to send.
    pub fn emit(&self) -> String {
        let topic = Value::from(response_topic(&self.service));
        let (id, api_id, code, data) = (self.id, self.api_id, self.code, &self.data);
        format!(
            r#"{{"type":"res","topic":{topic},"data":{{"header":{{"identity":{{"id":{id},"api_id":{api_id}}},"status":{{"code":{code}}}}},"data":{data}}}}}"#
        )
    }

    /// Whether the robot did, or will do, what was asked.
    pub const fn is_good(&self) -> bool {
        self.code == 0
    }

    /// What the code means in this service, where that is known.
    pub fn code_text(&self) -> Option<&'static str> {
        codes::status_text(&self.service, self.code)
    }

    /// The answer's JSON, which usually stands in a string.
    pub fn json(&self) -> Result<Value> {
        read::embedded("data", &self.data)
    }
}

fn service(message: &Message, kind: &Kind) -> Result<String> {
    if message.kind != *kind {
        let wanted = if *kind == Kind::Req { "req" } else { "res" };
        return Err(Error::new("type", Wanted::What(wanted), Got::What("another type")));
    }
    service_of(message.topic()).map(ToOwned::to_owned).ok_or(Error::new(
        "topic",
        Wanted::What("rt/api/SERVICE/request or /response"),
        Got::What("another topic"),
    ))
}

fn identity(identity: Option<&Value>) -> Result<(i64, i64)> {
    let identity = read::object("identity", identity)?;
    let id = read::whole("id", identity.get("id"))?;
    Ok((id, read::whole("api_id", identity.get("api_id"))?))
}

fn name(service: &str, api_id: i64) -> &'static str {
    table::api(service, api_id).map_or("unknown", |api| api.name)
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { service, id, api_id, parameter, .. } = self;
        let name = name(service, *api_id);
        write!(f, "{service} {api_id} {name}, call {id}: {}", redacted(&json!(parameter)))
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Response { service, id, api_id, code, data } = self;
        let name = name(service, *api_id);
        write!(f, "{service} {api_id} {name}, call {id}: code {code}")?;
        match self.code_text() {
            Some(text) => write!(f, " ({text})")?,
            None => write!(f, " (unknown)")?,
        }
        write!(f, ", {}", redacted(data))
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({self})")
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Response({self})")
    }
}
