//! What a message says.

use alloc::{format, string::String, vec::Vec};

use serde_json::{Value, json};

use super::{
    super::{Element, Rows},
    shown,
};
use crate::{
    Result,
    unitree::{
        self, Challenge, FileRequest, FileSlice, Inner, Kind, Message, Request, Response,
        arm::{self, ActionList, ArmRequest, ArmState},
        mapping::{self, Odometry, SlamInfo, SlamReply, SlamRequest},
        redacted,
        state::{self, Faults, LowState, MotionMode, Service},
    },
};

/// Names the message and lays out what is in it. What a call or a topic should have and has not
/// is a problem; then its content is shown as it is.
pub(super) fn describe(message: &Message, element: &mut Element, rows: &mut Rows) {
    let topic = message.topic();
    element.title = format!("Unitree {}", shown(message.kind.word()));
    rows.explained(0, "type", message.kind.word(), shown(message.kind.word()));
    if !topic.is_empty() {
        let what = unitree::topic(topic).map_or(String::new(), |row| format!(": {}", row.what));
        rows.explained(0, "topic", topic, format!("{}{what}", shown(topic)));
    }
    let described = match message.kind {
        Kind::Validation => validation(message, rows),
        Kind::Req => request(message, element, rows),
        Kind::Res => response(message, element, rows),
        Kind::Msg => published(message, rows),
        Kind::RtcInnerReq => inner(message, rows),
        Kind::Errors | Kind::AddError | Kind::RmError => faults(message, rows),
        _ => Ok(false),
    };
    if let Kind::Other(_) = message.kind {
        element.notes.push("This type is not known; the message is shown as it is.".into());
    }
    match described {
        Ok(true) => {}
        Ok(false) => raw(message, rows),
        Err(error) => {
            element.problem(error);
            raw(message, rows);
        }
    }
}

/// Content without a known meaning, without secrets.
fn raw(message: &Message, rows: &mut Rows) {
    let message = message.redacted();
    let has_rest = !message.rest.is_empty();
    let rest = has_rest.then_some(Value::Object(message.rest));
    for (name, value) in [("data", message.data), ("info", message.info), ("rest", rest)] {
        if let Some(value) = value {
            field(rows, name, value);
        }
    }
}

fn field(rows: &mut Rows, name: &'static str, value: Value) {
    let text = match &value {
        Value::String(text) => shown(text),
        value => shown(&format!("{value}")),
    };
    rows.explained(0, name, value, text);
}

/// JSON that stands in a string, or else the string; without secrets.
fn opened(value: &Value) -> Value {
    let inner = value.as_str().and_then(|text| serde_json::from_str(text).ok());
    redacted(inner.as_ref().unwrap_or(value))
}

fn validation(message: &Message, rows: &mut Rows) -> Result<bool> {
    let says = match Challenge::parse(message) {
        Some(Challenge::Validated) => "accepted",
        Some(_) => "challenge or answer, hidden",
        None => return Ok(false),
    };
    field(rows, "validation", says.into());
    Ok(true)
}

/// The call that a request or an answer is about.
fn call(element: &mut Element, rows: &mut Rows, service: &str, api_id: i64, id: i64) {
    let name = unitree::api(service, api_id).map_or("unknown", |api| api.name);
    let what = if element.title.ends_with("res") { "answer of" } else { "call of" };
    element.title = format!("Unitree {what} {}: {name}", shown(service));
    rows.explained(0, "service", service, shown(service));
    rows.explained(0, "api_id", api_id, format!("{api_id}: {name}"));
    rows.field(0, "id", id);
}

fn request(message: &Message, element: &mut Element, rows: &mut Rows) -> Result<bool> {
    let Request { service, id, api_id, parameter, priority } = Request::parse(message)?;
    call(element, rows, &service, api_id, id);
    if let Some(priority) = priority {
        rows.field(0, "priority", priority);
    }
    field(rows, "parameter", opened(&Value::from(parameter.as_str())));
    match service.as_str() {
        arm::SERVICE => {
            let request = ArmRequest::parse(api_id, &parameter)?;
            field(rows, "request", format!("{request}").into());
        }
        mapping::SERVICE => {
            SlamRequest::parse(api_id, &parameter)?;
        }
        _ => {}
    }
    Ok(true)
}

fn response(message: &Message, element: &mut Element, rows: &mut Rows) -> Result<bool> {
    let response = Response::parse(message)?;
    call(element, rows, &response.service, response.api_id, response.id);
    let code = response.code;
    let text = response.code_text().unwrap_or("unknown");
    rows.explained(0, "code", code, format!("{code}: {text}"));
    let good = response.is_good();
    match (response.service.as_str(), response.api_id) {
        (arm::SERVICE, 7107) if good => list(&ActionList::parse(&response.data)?, rows),
        (mapping::SERVICE, _) => {
            let reply = SlamReply::parse(&response.data)?;
            rows.field(0, "succeed", reply.succeed);
            rows.field(0, "errorCode", reply.error_code);
            field(rows, "info", reply.info.into());
            field(rows, "data", redacted(&reply.data));
        }
        (state::MOTION_SWITCHER, MotionMode::GET) if good => {
            let mode = MotionMode::parse(&response.data)?;
            field(rows, "mode", mode.name.into());
            field(rows, "form", mode.form.into());
        }
        _ => field(rows, "data", opened(&response.data)),
    }
    Ok(true)
}

fn list(list: &ActionList, rows: &mut Rows) {
    let presets: Vec<_> =
        list.presets.iter().map(|preset| json!({ "id": preset.id, "name": preset.name })).collect();
    let words: Vec<_> =
        list.presets.iter().map(|preset| format!("{} {}", preset.id, preset.name)).collect();
    rows.explained(0, "presets", presets, shown(&words.join(", ")));
    let taught: Vec<_> = list
        .taught
        .iter()
        .map(|taught| json!({ "name": taught.name, "seconds": taught.seconds }))
        .collect();
    let words: Vec<_> =
        list.taught.iter().map(|taught| format!("{} {} s", taught.name, taught.seconds)).collect();
    rows.explained(0, "taught", taught, shown(&words.join(", ")));
}

fn published(message: &Message, rows: &mut Rows) -> Result<bool> {
    match message.topic() {
        arm::STATE_TOPIC => {
            let state = ArmState::parse(message)?;
            rows.field(0, "holding", state.holding);
            rows.explained(0, "id", state.id, format!("{}: {}", state.id, state.phase()));
            field(rows, "name", state.name.into());
        }
        state::LOW_STATE_TOPIC => low_state(&LowState::parse(message)?, rows),
        state::SERVICE_STATE_TOPIC => {
            let services = Service::parse(message)?;
            let name = |running: bool| {
                let services = services.iter().filter(|service| service.running == running);
                services.map(|service| service.name.clone()).collect::<Vec<_>>()
            };
            for (what, names) in [("running", name(true)), ("stopped", name(false))] {
                let text = shown(&names.join(", "));
                rows.explained(0, what, names, text);
            }
        }
        mapping::INFO_TOPIC | mapping::KEY_INFO_TOPIC => {
            let info = SlamInfo::parse(message)?;
            field(rows, "info", redacted(&info.json));
        }
        topic if topic.starts_with("rt/unitree/slam_") && topic.ends_with("/odom") => {
            let pose = Odometry::parse(message)?.pose;
            rows.field(0, "position", pose.position.to_vec());
            rows.field(0, "orientation", pose.orientation.to_vec());
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn low_state(low: &LowState, rows: &mut Rows) {
    rows.field(0, "motors", low.motors.len());
    let named = || low.motors.iter().zip(state::JOINTS);
    let positions: Value =
        named().map(|(motor, joint)| (String::from(joint), json!(motor.q))).collect();
    let words: Vec<_> = named().map(|(motor, joint)| format!("{joint} {}", motor.q)).collect();
    rows.explained(0, "positions", positions, shown(&words.join(", ")));
    if let Some(velocities) = low.velocities() {
        field(rows, "velocities", velocities.to_vec().into());
    }
}

fn inner(message: &Message, rows: &mut Rows) -> Result<bool> {
    if let Some(request) = FileRequest::parse(message)? {
        field(rows, "file_path", request.path.into());
        return Ok(true);
    }
    if let Some(slice) = FileSlice::parse(message)? {
        if let Some(chunk) = slice.chunk {
            rows.explained(0, "chunk", chunk.index, format!("{} of {}", chunk.index, chunk.total));
        }
        let len = slice.text.len();
        rows.explained(0, "slice", len, format!("{len} characters of base64"));
        return Ok(true);
    }
    let says = match Inner::parse(message)? {
        Some(Inner::TrafficSaving { disabled: true }) => "traffic saving off",
        Some(Inner::TrafficSaving { disabled: false }) => "traffic saving on",
        Some(Inner::Execution { good: true }) => "done",
        Some(Inner::Execution { good: false }) => "not done",
        Some(Inner::NetworkQuestion { .. }) => "how is the robot connected?",
        Some(Inner::NetworkAnswer { status, .. }) => {
            field(rows, "network", status.word().into());
            return Ok(true);
        }
        Some(Inner::RttProbe(_)) => "probe of the delay, to be sent back",
        Some(Inner::Other(_)) | None => return Ok(false),
    };
    field(rows, "request", says.into());
    raw(message, rows);
    Ok(true)
}

fn faults(message: &Message, rows: &mut Rows) -> Result<bool> {
    let faults = match Faults::parse(message)? {
        Some(Faults::All(faults)) => faults,
        Some(Faults::Added(fault) | Faults::Removed(fault)) => alloc::vec![fault],
        None => return Ok(false),
    };
    let json: Vec<_> = faults
        .iter()
        .map(|fault| {
            let (time, source, code) = (fault.time, fault.source, fault.code);
            json!({ "time": time, "source": source, "code": code, "text": fault.text() })
        })
        .collect();
    let words: Vec<_> = faults.iter().map(|fault| format!("{fault}")).collect();
    let text = if words.is_empty() { "none".into() } else { shown(&words.join("; ")) };
    rows.explained(0, "faults", json, text);
    Ok(true)
}
