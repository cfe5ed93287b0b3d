//! What Home Assistant shows of a robot: one table for the announcement and for the values.

use serde_json::{Map, Value, json};
use sinew_api::RobotReport;
use sinew_robot::capability::Capability;
use sinew_wire::gd32::LedMode;

use crate::{bridge::Action, settings::Names};

/// Names of suction powers, weakest first, in percent.
pub(crate) const FAN_SPEEDS: [(&str, u8); 4] =
    [("quiet", 25), ("medium", 50), ("strong", 75), ("max", 100)];

/// A value of a robot's state.
struct Entity {
    /// What it is called in the published state.
    key: &'static str,
    /// Where it stands in the robot's `state`.
    path: &'static [&'static str],
    what: What,
    name: &'static str,
    class: Option<&'static str>,
    /// Of interest when something is wrong.
    diagnostic: bool,
}

enum What {
    /// Text or a number, with its unit and digits after the point.
    Value(Option<(&'static str, u8)>),
    /// True or false.
    Flag,
    /// How many there are.
    Count,
}

use What::{Count, Flag, Value as Plain};

const fn entity(
    key: &'static str,
    path: &'static [&'static str],
    what: What,
    name: &'static str,
    class: Option<&'static str>,
) -> Entity {
    Entity { key, path, what, name, class, diagnostic: false }
}

const fn diagnostic(entity: Entity) -> Entity {
    Entity { diagnostic: true, ..entity }
}

/// All that drivers tell and people may want to see; a robot has those of which it has the member.
const ENTITIES: &[Entity] = &[
    entity("battery", &["battery_percent"], Plain(Some(("%", 0))), "Battery", Some("battery")),
    entity("battery", &["battery", "percent"], Plain(Some(("%", 0))), "Battery", Some("battery")),
    diagnostic(entity(
        "voltage",
        &["battery_volts"],
        Plain(Some(("V", 1))),
        "Battery voltage",
        Some("voltage"),
    )),
    diagnostic(entity(
        "voltage",
        &["battery", "volts"],
        Plain(Some(("V", 1))),
        "Battery voltage",
        Some("voltage"),
    )),
    entity("charging", &["is_charging"], Flag, "Charging", Some("battery_charging")),
    entity("on_dock", &["is_dock_connected"], Flag, "On the dock", Some("plug")),
    entity("dustbox", &["dustbox_attached"], Flag, "Dustbox", None),
    entity("bumper_left", &["bumper_left"], Flag, "Bumper left", None),
    entity("bumper_right", &["bumper_right"], Flag, "Bumper right", None),
    entity("cliff_left_side", &["cliff_left_side"], Flag, "Cliff left, side", Some("safety")),
    entity("cliff_left_front", &["cliff_left_front"], Flag, "Cliff left, front", Some("safety")),
    entity("cliff_right_front", &["cliff_right_front"], Flag, "Cliff right, front", Some("safety")),
    entity("cliff_right_side", &["cliff_right_side"], Flag, "Cliff right, side", Some("safety")),
    entity("start_button", &["start_button"], Flag, "Start button", None),
    entity("dock_button", &["dock_button"], Flag, "Dock button", None),
    entity("suction", &["vacuum"], Plain(Some(("%", 0))), "Suction", None),
    entity("main_brush", &["main_brush"], Plain(Some(("%", 0))), "Main brush", None),
    entity("side_brush", &["side_brush"], Plain(Some(("%", 0))), "Side brush", None),
    entity("water_pump", &["water_pump"], Plain(Some(("%", 0))), "Water pump", None),
    entity("distance", &["distance"], Plain(Some(("m", 1))), "Distance", Some("distance")),
    entity("dock_phase", &["docking"], Plain(None), "Return to dock", None),
    diagnostic(entity("firmware", &["version"], Plain(None), "Firmware", None)),
    entity("activity", &["fsm", "name"], Plain(None), "Activity", None),
    entity("arm", &["arm", "phase"], Plain(None), "Arms", None),
    entity("playing", &["playing", "name"], Plain(None), "Playing", None),
    entity("teaching", &["teaching"], Flag, "Teaching", None),
    entity("recording", &["recording"], Flag, "Recording", None),
    entity("mapping", &["mapping", "active"], Flag, "Mapping", None),
    entity("mapping", &["map", "mapping"], Flag, "Mapping", None),
    diagnostic(entity("faults", &["faults"], Count, "Faults", None)),
];

impl Entity {
    /// Whether a robot tells it, known or not.
    fn is_of(&self, report: &RobotReport) -> bool {
        match self.path {
            // What stands in something that is not known now may be known later.
            [first, rest @ ..] => report.state.get(*first).is_some_and(|value| {
                rest.iter().all(|name| value.is_null() || value.get(name).is_some())
            }),
            [] => false,
        }
    }

    fn value(&self, report: &RobotReport) -> Value {
        let [first, rest @ ..] = self.path else { return Value::Null };
        let found = report.state.get(*first);
        let found = rest.iter().fold(found, |value, name| value.and_then(|value| value.get(name)));
        match (&self.what, found) {
            (Flag, Some(Value::Bool(flag))) => on_off(*flag),
            (Count, Some(Value::Array(all))) => all.len().into(),
            (Plain(Some((_, digits))), Some(value)) => {
                value.as_f64().map_or(Value::Null, |value| {
                    let scale = 10f64.powi(i32::from(*digits));
                    json!((value * scale).round() / scale)
                })
            }
            (Plain(None), Some(value @ Value::String(_))) => value.clone(),
            _ => Value::Null,
        }
    }

    fn config(&self) -> Map<String, Value> {
        let mut config = object(json!({
            "platform": if matches!(self.what, Flag) { "binary_sensor" } else { "sensor" },
            "name": self.name,
            "value_template": template(self.key),
        }));
        if let Some(class) = self.class {
            config.insert("device_class".into(), class.into());
        }
        if let Plain(Some((unit, digits))) = self.what {
            let unit = json!(unit);
            config.insert("unit_of_measurement".into(), unit);
            config.insert("suggested_display_precision".into(), digits.into());
            let class = if self.key == "distance" { "total_increasing" } else { "measurement" };
            config.insert("state_class".into(), class.into());
        }
        if self.diagnostic {
            config.insert("entity_category".into(), "diagnostic".into());
        }
        config
    }
}

fn on_off(flag: bool) -> Value {
    if flag { "ON".into() } else { "OFF".into() }
}

fn template(key: &str) -> String {
    format!("{{{{ value_json.{key} }}}}")
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Whether it is a vacuum: something that drives, and sucks.
pub(crate) fn is_vacuum(report: &RobotReport) -> bool {
    let can = |capability| report.capabilities.contains(&capability);
    can(Capability::Drive) && can(Capability::Components) && report.state.contains_key("vacuum")
}

pub(crate) fn has_led(report: &RobotReport) -> bool {
    report.capabilities.contains(&Capability::Components) && report.state.contains_key("led")
}

pub(crate) fn can(report: &RobotReport, capability: Capability) -> bool {
    report.capabilities.contains(&capability)
}

/// What a vacuum does, in Home Assistant's words.
fn activity(report: &RobotReport) -> &'static str {
    let is = |key: &str| report.state.get(key).and_then(Value::as_bool) == Some(true);
    let runs = |key: &str| report.state.get(key).and_then(Value::as_f64).is_some_and(|x| x > 0.0);
    if report.link.state != "ready" {
        "error"
    } else if report.state.get("docking").is_some_and(|phase| !phase.is_null()) {
        "returning"
    } else if runs("vacuum") || runs("main_brush") || runs("side_brush") {
        "cleaning"
    } else if is("is_dock_connected") {
        "docked"
    } else {
        "idle"
    }
}

/// The mode of a LED as a choice.
pub(crate) fn led_option(mode: u8) -> String {
    let led = LedMode(mode);
    match mode {
        0 => "0 off".into(),
        _ => format!("{mode} {}, {}: {}", led.colour(), led.animation(), led.purpose()),
    }
}

/// What is published of a robot's state.
pub(crate) fn state(report: &RobotReport, fan: &str, refusal: Option<&str>) -> Value {
    let mut state = Map::new();
    for entity in ENTITIES.iter().filter(|entity| entity.is_of(report)) {
        state.insert(entity.key.into(), entity.value(report));
    }
    let text = |text: Option<&str>| text.map_or(Value::Null, |text| short(text).into());
    let error = report.link.reason.as_deref().filter(|_| report.link.state != "ready");
    state.insert("link".into(), short(&report.link.state).into());
    state.insert("error".into(), text(error.or(refusal)));
    state.insert("holder".into(), text(report.holder.as_deref()));
    state.insert("stopped_by".into(), text(report.stopped_by.as_deref()));
    if is_vacuum(report) {
        state.insert("state".into(), activity(report).into());
        state.insert("fan_speed".into(), fan.into());
    }
    if has_led(report) {
        let mode = report.state.get("led").and_then(Value::as_u64);
        let mode = mode.and_then(|mode| u8::try_from(mode).ok());
        state.insert("led".into(), mode.map_or(Value::Null, |mode| led_option(mode).into()));
    }
    Value::Object(state)
}

/// Home Assistant takes states of up to 255 characters.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(255).collect()
}

/// What makes a robot known to Home Assistant. `gone` are actions that it should forget.
pub(crate) fn config(
    names: &Names,
    report: &RobotReport,
    actions: &[Action],
    gone: &[u64],
) -> Value {
    let robot = &*report.name;
    let id = names.id(robot);
    let topic = |leaf: &str| names.robot(robot, leaf);
    let mut components = Map::new();
    let mut add = |key: &str, mut config: Map<String, Value>| {
        config.insert("unique_id".into(), format!("{id}_{key}").into());
        config.insert(
            "availability".into(),
            json!([
                { "topic": names.status() },
                { "topic": topic("availability") },
            ]),
        );
        config.insert("availability_mode".into(), "all".into());
        components.insert(key.into(), Value::Object(config));
    };
    let read = |mut config: Map<String, Value>| {
        config.insert("state_topic".into(), topic("state").into());
        config
    };
    for entity in ENTITIES.iter().filter(|entity| entity.is_of(report)) {
        add(entity.key, read(entity.config()));
    }
    for (key, name) in [
        ("link", "Link"),
        ("error", "Error"),
        ("holder", "Controls held by"),
        ("stopped_by", "Stopped by"),
    ] {
        let config = json!({
            "platform": "sensor",
            "name": name,
            "value_template": template(key),
            "entity_category": "diagnostic",
        });
        add(key, read(object(config)));
    }
    let button = |name: &str, topic: String, payload: &str| {
        let config = json!({
            "platform": "button", "name": name, "command_topic": topic, "payload_press": payload,
        });
        object(config)
    };
    add("stop", button("Stop", topic("command"), "stop"));
    if is_vacuum(report) {
        let config = json!({
            "platform": "vacuum",
            // The device's own name.
            "name": null,
            "command_topic": topic("command"),
            "set_fan_speed_topic": topic("fan_speed"),
            "fan_speed_list": FAN_SPEEDS.map(|(name, _)| name),
            "supported_features": ["start", "stop", "return_home", "fan_speed", "status"],
        });
        add("vacuum", read(object(config)));
    }
    if has_led(report) {
        let config = json!({
            "platform": "select",
            "name": "Light",
            "command_topic": topic("led"),
            "value_template": template("led"),
            "options": (0..LedMode::TABLE.len() as u8).map(led_option).collect::<Vec<_>>(),
        });
        add("led", read(object(config)));
    }
    if can(report, Capability::Mapping) {
        let config = json!({
            "platform": "image", "name": "Map", "image_topic": topic("map"), "content_type": "image/png",
        });
        add("map", object(config));
    }
    for Action { id, name } in actions {
        let shown = format!("Play {}", short(name));
        add(&format!("play_{id}"), button(&shown, topic("play"), name));
    }
    for id in gone {
        // A component of which only this is said is removed.
        components.insert(format!("play_{id}"), json!({ "platform": "button" }));
    }
    json!({
        "device": {
            "identifiers": [id],
            "name": robot,
            "model": report.kind,
            "sw_version": report.state.get("version").filter(|version| version.is_string()),
        },
        "origin": { "name": "Sinew", "sw_version": env!("CARGO_PKG_VERSION") },
        "components": components,
    })
}
