//! Parts of a robot and what may be asked of each: tables for the parser, its error texts, the
//! documentation and the dashboard. `C` is what a robot is told to do.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Code, Refusal, Remedy, shown};

/// What may be asked of a robot with components.
#[derive(Debug, Clone, PartialEq)]
pub enum Request<'a> {
    /// A `ComponentControl`.
    Control {
        /// Its member `id`.
        id: &'a Value,
        /// Its member `action`.
        action: &'a Value,
        /// Its member `confirm`.
        confirmed: bool,
    },
    /// Wake the controller's protocol.
    Sync,
    /// Run the boot sequence again.
    Boot,
    /// Any frame.
    Raw {
        /// The command byte.
        command: u8,
        /// Its payload.
        payload: Vec<u8>,
    },
}

/// A part of the robot that can be controlled.
#[derive(Debug, Serialize)]
#[serde(bound = "")]
pub struct Component<C: 'static> {
    /// Its name in `ComponentControl`.
    pub id: &'static str,
    /// What it is.
    pub what: &'static str,
    /// What can be done with it.
    pub actions: &'static [Action<C>],
}

/// Something that can be done with a component.
#[derive(Debug, Serialize)]
#[serde(bound = "")]
pub struct Action<C> {
    /// Its name in `ComponentControl`.
    pub verb: Verb,
    /// What it does.
    pub what: &'static str,
    /// Whether it can hurt, and so needs `confirm`.
    pub confirm: bool,
    /// The sets of parameters it takes; one of them must be given whole.
    pub configs: &'static [&'static [Param]],
    #[serde(skip)]
    command: fn(&Values) -> C,
    /// What the component's member of the robot's state holds once the action is in force; none
    /// where the state does not show it.
    #[serde(skip)]
    shown: Option<fn(&Values) -> u8>,
}

/// A config's values, in the order of its parameters.
pub type Values = [Option<f64>];

/// The four actions of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the interface's own words")]
pub enum Verb {
    Enable,
    Disable,
    Reset,
    Configure,
}

/// A parameter of an action.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Param {
    /// Its name in `config`.
    pub name: &'static str,
    /// Its type tag.
    pub kind: ParamType,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Values between that are not allowed either; none means all are allowed.
    pub only: &'static [u8],
    /// Whether it may be left out.
    pub optional: bool,
    /// Its unit, for people.
    pub unit: &'static str,
}

/// The type tag of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the interface's own words")]
pub enum ParamType {
    F32,
    U8,
}

/// An action without parameters.
pub const NONE: &[&[Param]] = &[&[]];

/// An action with a speed in percent.
pub const SPEED: &[&[Param]] = &[&[byte("speed", 100, "%")]];

/// Any finite speed is parsed; the session's limits, which are settings, decide.
pub const fn speed(name: &'static str, unit: &'static str) -> Param {
    let limit = f32::MAX as f64;
    Param { name, kind: ParamType::F32, min: -limit, max: limit, only: &[], optional: false, unit }
}

/// A whole number from 0 to `max`.
pub const fn byte(name: &'static str, max: u8, unit: &'static str) -> Param {
    let max = max as f64;
    Param { name, kind: ParamType::U8, min: 0.0, max, only: &[], optional: false, unit }
}

/// A parameter that may be left out.
pub const fn optional(param: Param) -> Param {
    Param { optional: true, ..param }
}

/// An action; `command` makes what the robot is told of the config's values.
pub const fn action<C>(
    verb: Verb,
    what: &'static str,
    configs: &'static [&'static [Param]],
    command: fn(&Values) -> C,
) -> Action<C> {
    Action { verb, what, confirm: false, configs, command, shown: None }
}

/// An action that can hurt.
pub const fn confirmed<C>(
    verb: Verb,
    what: &'static str,
    configs: &'static [&'static [Param]],
    command: fn(&Values) -> C,
) -> Action<C> {
    Action { confirm: true, ..action(verb, what, configs, command) }
}

impl<C> Action<C> {
    /// The same action, with what shows that it is in force.
    pub const fn shown(self, shown: fn(&Values) -> u8) -> Self {
        Action { shown: Some(shown), ..self }
    }
}

/// Parameters arrive in the order of their config; one that is not optional is always there.
pub fn number(values: &Values, index: usize) -> f32 {
    values.get(index).copied().flatten().unwrap_or_default() as f32
}

/// A whole number of a config, or what it is without one.
pub fn byte_or(values: &Values, index: usize, default: u8) -> u8 {
    values.get(index).copied().flatten().map_or(default, |value| value as u8)
}

use Verb::{Configure, Disable, Enable, Reset};

/// Parses the `id` and `action` members of a `ComponentControl`.
///
/// `confirmed` is the message's `confirm` member.
pub fn parse<C>(
    components: &[Component<C>],
    id: &Value,
    action: &Value,
    confirmed: bool,
) -> Result<C, Refusal> {
    let Value::String(id) = id else {
        return Err(Refusal::invalid(format!("id: wanted a component's name, got {}", shown(id))));
    };
    let Some(component) = components.iter().find(|component| component.id == id) else {
        let ids: Vec<_> = components.iter().map(|component| component.id).collect();
        return Err(Refusal::invalid(format!("id: wanted one of {}, got {id:?}", ids.join(", "))));
    };
    let Value::Object(members) = action else {
        return Err(Refusal::invalid(format!("action: wanted an object, got {}", shown(action))));
    };
    if let Some(unknown) = members.keys().find(|key| !matches!(key.as_str(), "type" | "config")) {
        return Err(Refusal::invalid(format!("action: wanted type and config, got {unknown:?}")));
    }
    let verb = action.get("type").and_then(Value::as_str).and_then(Verb::from_name);
    let Some(verb) = verb else {
        let got = action.get("type").map_or("nothing".into(), shown);
        return Err(Refusal::invalid(format!(
            "action type: wanted Enable, Disable, Reset or Configure, got {got}"
        )));
    };
    let Some(action) = component.actions.iter().find(|action| action.verb == verb) else {
        let verbs: Vec<_> = component.actions.iter().map(|action| action.verb.name()).collect();
        return Err(Refusal::new(
            Code::Unsupported,
            format!("{id} supports {}, not {}", verbs.join(", "), verb.name()),
        ));
    };
    let empty = Map::new();
    let config = match members.get("config") {
        None | Some(Value::Null) => &empty,
        Some(Value::Object(config)) => config,
        Some(other) => {
            return Err(Refusal::invalid(format!(
                "config: wanted an object, got {}",
                shown(other)
            )));
        }
    };
    let values = action.values(id, config)?;
    if action.confirm && !confirmed {
        let message = format!("{id}: {} can hurt, and has to be confirmed", action.what);
        return Err(Refusal::new(Code::NotConfirmed, message).helped_by(Remedy::Confirm));
    }
    Ok((action.command)(&values))
}

impl Verb {
    /// All of them.
    pub const ALL: [Verb; 4] = [Enable, Disable, Reset, Configure];

    /// Its name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            Enable => "Enable",
            Disable => "Disable",
            Reset => "Reset",
            Configure => "Configure",
        }
    }

    /// The verb of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Verb::ALL.into_iter().find(|verb| verb.name() == name)
    }
}

impl<C> Component<C> {
    /// Whether a robot's state shows that an action of this component is in force. What the state
    /// does not show was done at once.
    pub fn is_in_force(&self, action: &Value, state: &Map<String, Value>) -> bool {
        let verb = action.get("type").and_then(Value::as_str).and_then(Verb::from_name);
        let row = self.actions.iter().find(|row| Some(row.verb) == verb);
        let Some((row, shown)) = row.and_then(|row| Some((row, row.shown?))) else { return true };
        let empty = Map::new();
        let config = action.get("config").and_then(Value::as_object).unwrap_or(&empty);
        let wanted = row.values(self.id, config).map(|values| u64::from(shown(&values)));
        wanted.is_ok_and(|wanted| state.get(self.id).and_then(Value::as_u64) == Some(wanted))
    }
}

impl<C> Action<C> {
    /// The config's values in the order of the parameters, all sets side by side up to and with
    /// the one that was given.
    fn values(&self, id: &str, config: &Map<String, Value>) -> Result<Vec<Option<f64>>, Refusal> {
        let what = format!("{id} {}", self.verb.name());
        let known = |key: &str| {
            self.configs.iter().position(|set| set.iter().any(|param| param.name == key))
        };
        let mut chosen = None;
        for key in config.keys() {
            let Some(set) = known(key) else {
                return Err(Refusal::invalid(format!(
                    "{what}: wanted {}, got {key:?}",
                    self.wanted()
                )));
            };
            if *chosen.get_or_insert(set) != set {
                let wanted = self.wanted();
                return Err(Refusal::invalid(format!(
                    "{what}: wanted {wanted}, got a mixture of them"
                )));
            }
        }
        let chosen = chosen.unwrap_or(0);
        let mut values = Vec::new();
        for (index, set) in self.configs.iter().enumerate().take(chosen + 1) {
            for param in *set {
                match config.get(param.name) {
                    _ if index < chosen => values.push(None),
                    None if param.optional => values.push(None),
                    None => {
                        let wanted = self.wanted();
                        return Err(Refusal::invalid(format!(
                            "{what}: wanted {wanted}, got no {:?}",
                            param.name
                        )));
                    }
                    Some(value) => values.push(Some(param.value(&what, value)?)),
                }
            }
        }
        Ok(values)
    }

    /// The parameters it takes, in words.
    pub fn wanted(&self) -> String {
        let sets: Vec<_> = self
            .configs
            .iter()
            .map(|set| {
                let names: Vec<_> = set.iter().map(|param| param.name).collect();
                if names.is_empty() { "no config".into() } else { names.join(" and ") }
            })
            .collect();
        sets.join(", or ")
    }
}

impl Param {
    fn value(&self, what: &str, value: &Value) -> Result<f64, Refusal> {
        let wrong = || {
            let range = match self.kind {
                ParamType::F32 => "a finite number".into(),
                ParamType::U8 if !self.only.is_empty() => {
                    let values: Vec<_> = self.only.iter().map(u8::to_string).collect();
                    values.join(" or ")
                }
                ParamType::U8 => format!("a whole number from {} to {}", self.min, self.max),
            };
            Refusal::new(
                Code::InvalidArgument,
                format!(
                    "{what}: {}: wanted {range} ({{\"{:?}\": …}} or plain), got {}",
                    self.name,
                    self.kind,
                    shown(value)
                ),
            )
        };
        let plain = match value {
            Value::Object(tagged) => untagged(tagged).ok_or_else(wrong)?,
            other => other,
        };
        let number = match (plain, self.kind) {
            (Value::Bool(on), ParamType::U8) => f64::from(u8::from(*on)),
            (Value::Number(number), _) => number.as_f64().ok_or_else(wrong)?,
            _ => return Err(wrong()),
        };
        let whole = self.kind == ParamType::F32 || number.fract() == 0.0;
        let listed =
            self.only.is_empty() || self.only.iter().any(|&only| f64::from(only) == number);
        if number.is_finite() && whole && listed && (self.min..=self.max).contains(&number) {
            Ok(number)
        } else {
            Err(wrong())
        }
    }
}

/// What a typed value holds, whichever of the interface's types of numbers it has, if that type has
/// such a value. Whether it fits the parameter is another question.
fn untagged(tagged: &Map<String, Value>) -> Option<&Value> {
    let (tag, value) = tagged.iter().next().filter(|_| tagged.len() == 1)?;
    let integers = match tag.as_str() {
        "F32" | "F64" => None,
        "U8" => Some((0.0, f64::from(u8::MAX))),
        "U16" => Some((0.0, f64::from(u16::MAX))),
        "U32" => Some((0.0, f64::from(u32::MAX))),
        "U64" => Some((0.0, u64::MAX as f64)),
        "I8" => Some((f64::from(i8::MIN), f64::from(i8::MAX))),
        "I16" => Some((f64::from(i16::MIN), f64::from(i16::MAX))),
        "I32" => Some((f64::from(i32::MIN), f64::from(i32::MAX))),
        "I64" => Some((i64::MIN as f64, i64::MAX as f64)),
        _ => return None,
    };
    let is_one = |number: f64| {
        integers.is_none_or(|(min, max)| number.fract() == 0.0 && (min..=max).contains(&number))
    };
    let fits = match value {
        Value::Number(number) => number.as_f64().is_some_and(is_one),
        other => other.is_boolean() && integers.is_some(),
    };
    fits.then_some(value)
}
