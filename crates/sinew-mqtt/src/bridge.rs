//! What is published when, and what commands mean: without I/O, and with the time from outside.
//!
//! A return to the dock goes on without further commands, so it needs a broker and a Home Assistant that are
//! there: while it lasts a beat is published twice a second, and one that is not acknowledged within two
//! seconds, a broker that is gone, and Home Assistant's own word that it is, all end it.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};
use sinew_api::{Command, Halt, RobotReport};
use sinew_robot::{Code, Refusal, capability::Capability};

use crate::{
    entity::{self, FAN_SPEEDS},
    settings::Names,
};

/// How long the broker may take to acknowledge a beat.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a beat is published while a robot returns to its dock.
const BEAT: Duration = Duration::from_millis(500);
/// When a return that was accepted and is not seen counts as over.
const UNSEEN: Duration = Duration::from_secs(3);
/// How often a robot's actions are asked for, and how soon after something happened to it.
const LIST: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(1));
/// How often a map is published at most.
const PICTURE: Duration = Duration::from_secs(10);
/// Longest payload of a command.
const MAX_PAYLOAD: usize = 256;
/// Most actions that are offered as buttons.
const MAX_ACTIONS: usize = 200;
/// Index of the suction that is begun with.
const FAN: usize = 2;

/// What there is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Publish a message.
    Publish(Publish),
    /// Subscribe to a topic, without queueing at the broker.
    Subscribe(String),
    /// Ask these of a robot as one client, in this order; what `lasts` needs that client to stay.
    #[allow(missing_docs, reason = "said above")]
    Ask { robot: String, commands: Vec<Command>, lasts: bool },
    /// The client that asked a robot for what lasts is not needed any more.
    Leave(String),
    /// Stop this robot at once, and end that client.
    Halt(String),
    /// Ask for a robot's actions.
    List(String),
    /// Ask for a picture of a robot's map.
    Picture(String),
}

/// A message for the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "MQTT's own words")]
pub struct Publish {
    pub topic: String,
    pub payload: Vec<u8>,
    pub retain: bool,
    /// The broker is to acknowledge it.
    pub acknowledge: bool,
}

/// What a robot can play.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the interface's words")]
pub struct Action {
    pub id: u64,
    pub name: String,
}

/// The state machine.
#[derive(Debug)]
pub struct Bridge {
    names: Names,
    is_up: bool,
    robots: BTreeMap<String, Robot>,
    /// When beats were published that are not acknowledged yet.
    beats: VecDeque<Instant>,
    next_beat: Option<Instant>,
    outputs: VecDeque<Output>,
}

#[derive(Debug)]
struct Robot {
    report: RobotReport,
    actions: Vec<Action>,
    /// Actions of which Home Assistant has a button that should go.
    gone: Vec<u64>,
    /// The suction for the next start: an index of [`FAN_SPEEDS`].
    fan: usize,
    /// Why the last command was not carried out.
    refusal: Option<String>,
    returns: Option<Return>,
    list_at: Option<Instant>,
    picture: Picture,
    published: Published,
}

/// A return to the dock that was asked for here.
#[derive(Debug, Clone, Copy)]
enum Return {
    Asked,
    Accepted(Instant),
    /// The robot says that it is on its way.
    Seen,
}

#[derive(Debug, Default)]
struct Picture {
    /// What the robot told of its map when the picture was asked for.
    of: Value,
    next: Option<Instant>,
    wanted: bool,
    latest: Vec<u8>,
}

/// What the broker has.
#[derive(Debug, Default)]
struct Published {
    config: String,
    state: String,
    available: Option<bool>,
}

impl Bridge {
    /// A bridge without a broker yet.
    pub fn new(names: Names) -> Self {
        let (robots, beats, outputs) = Default::default();
        Bridge { names, is_up: false, robots, beats, next_beat: None, outputs }
    }

    /// The next thing to do.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        self.tick(now);
        self.outputs.pop_front()
    }

    /// When to ask for that again, if nothing happens before.
    pub fn next_time(&self) -> Option<Instant> {
        let robots = self.robots.values().flat_map(|robot| {
            let unseen = match robot.returns {
                Some(Return::Accepted(since)) => Some(since + UNSEEN),
                _ => None,
            };
            let picture = robot.picture.next.filter(|_| robot.picture.wanted);
            let idle = if self.is_up { [robot.list_at, picture] } else { [None, None] };
            [unseen, idle[0], idle[1]]
        });
        let late = self.beats.front().filter(|_| self.returns()).map(|beat| *beat + PATIENCE);
        robots.chain([late, self.next_beat]).flatten().min()
    }

    /// The broker is there.
    pub fn up(&mut self, now: Instant) {
        self.is_up = true;
        let Names { prefix, node, .. } = &self.names;
        for leaf in ["command", "fan_speed", "led", "play"] {
            self.outputs.push_back(Output::Subscribe(format!("{prefix}/{node}/+/{leaf}")));
        }
        self.outputs.push_back(Output::Subscribe(self.names.home()));
        self.announce(now);
    }

    /// The broker is gone.
    pub fn down(&mut self) {
        self.is_up = false;
        self.end_returns("the MQTT broker is gone");
        self.beats.clear();
        self.outputs.retain(|output| !matches!(output, Output::Publish(_) | Output::Subscribe(_)));
    }

    /// The broker acknowledged the oldest beat.
    pub fn acknowledged(&mut self) {
        self.beats.pop_front();
    }

    /// The daemon ends: what the broker is told last.
    pub fn farewell(&self) -> Publish {
        publish(self.names.status(), "offline".into())
    }

    /// What the broker says if this bridge vanishes.
    pub fn will(names: &Names) -> Publish {
        publish(names.status(), "offline".into())
    }

    /// What is known of a robot.
    pub fn state(&mut self, now: Instant, report: RobotReport) {
        let name = report.name.clone();
        let robot = self.robots.entry(name.clone()).or_insert_with(|| Robot {
            report: report.clone(),
            actions: Vec::new(),
            gone: Vec::new(),
            fan: FAN,
            refusal: None,
            returns: None,
            list_at: None,
            picture: Picture::default(),
            published: Published::default(),
        });
        let was_ready = robot.report.link.state == "ready" && robot.list_at.is_some();
        robot.report = report;
        let is_ready = robot.report.link.state == "ready";
        if entity::can(&robot.report, Capability::Teach) && is_ready && !was_ready {
            robot.list_at = Some(now);
        }
        let map = robot.report.state.get("map").cloned().unwrap_or_default();
        let has_cells = map.get("voxels").and_then(Value::as_u64).is_some_and(|cells| cells > 0);
        if entity::can(&robot.report, Capability::Mapping) && has_cells && robot.picture.of != map {
            robot.picture.of = map;
            robot.picture.wanted = true;
            robot.picture.next.get_or_insert(now);
        }
        let returns = robot.report.state.get("docking").is_some_and(|phase| !phase.is_null());
        match (robot.returns, returns) {
            (Some(Return::Accepted(_)), true) => robot.returns = Some(Return::Seen),
            (Some(Return::Seen), false) => self.leave(&name),
            _ => {}
        }
        self.publish_state(&name);
    }

    /// Something happened to a robot.
    pub fn event(&mut self, now: Instant, name: &str, event: &Value) {
        let Some(robot) = self.robots.get_mut(name) else { return };
        if let Some(at) = &mut robot.list_at {
            *at = (*at).min(now + LIST.1);
        }
        let over =
            event["event"] == "dock" && (event["dock"] == "arrived" || event["dock"] == "gave_up");
        if over && robot.returns.is_some() {
            if let Some(reason) = event["reason"].as_str() {
                robot.refusal = Some(format!("gave up returning to the dock: {reason}"));
            }
            self.leave(name);
            self.publish_state(name);
        }
    }

    /// What a robot can play.
    pub fn actions(&mut self, name: &str, mut actions: Vec<Action>) {
        let Some(robot) = self.robots.get_mut(name) else { return };
        actions.truncate(MAX_ACTIONS);
        let is_left = |id: &u64| actions.iter().any(|action| action.id == *id);
        let before = robot.actions.iter().map(|action| action.id);
        let gone: Vec<_> = before.filter(|id| !is_left(id)).collect();
        robot.gone.retain(|id| !is_left(id));
        robot.gone.extend(gone);
        robot.actions = actions;
        self.publish_state(name);
    }

    /// A picture of a robot's map.
    pub fn picture(&mut self, name: &str, png: Vec<u8>) {
        let Some(robot) = self.robots.get_mut(name) else { return };
        robot.picture.latest.clone_from(&png);
        if self.is_up {
            let topic = self.names.robot(name, "map");
            let (retain, acknowledge) = (true, false);
            let publish = Publish { topic, payload: png, retain, acknowledge };
            self.outputs.push_back(Output::Publish(publish));
        }
    }

    /// What came of something that was asked of a robot.
    pub fn answered(
        &mut self,
        now: Instant,
        name: &str,
        command: &Command,
        result: Result<(), Refusal>,
    ) {
        let Some(robot) = self.robots.get_mut(name) else { return };
        let docks = matches!(command, Command::Dock);
        match result {
            Ok(()) if docks => {
                if let Some(returns @ Return::Asked) = &mut robot.returns {
                    *returns = Return::Accepted(now);
                }
            }
            Ok(()) => {}
            Err(refusal) => {
                robot.refusal = Some(refusal.message);
                if docks {
                    self.leave(name);
                }
                self.publish_state(name);
            }
        }
    }

    /// The client that asked a robot for something that lasts has gone without being told to.
    pub fn left(&mut self, name: &str) {
        if let Some(robot) = self.robots.get_mut(name) {
            robot.returns = None;
        }
    }

    /// A message of the broker's.
    pub fn message(&mut self, now: Instant, topic: &str, payload: &[u8], retained: bool) {
        if topic == self.names.home() {
            return match payload {
                b"online" => self.announce(now),
                b"offline" => self.end_returns("Home Assistant is gone"),
                _ => {}
            };
        }
        let Names { prefix, node, .. } = &self.names;
        let rest = topic.strip_prefix(&**prefix).and_then(|rest| rest.strip_prefix('/'));
        let rest = rest.and_then(|rest| rest.strip_prefix(&**node)?.strip_prefix('/'));
        let Some((name, leaf)) = rest.and_then(|rest| rest.split_once('/')) else { return };
        let (name, leaf) = (name.to_owned(), leaf.to_owned());
        let Some(robot) = self.robots.get_mut(&name) else { return };
        let asked = if retained {
            // It would be carried out again with every connection.
            Err("a command that the broker keeps (retained) is not carried out".into())
        } else if payload.len() > MAX_PAYLOAD {
            Err(format!("a command has at most {MAX_PAYLOAD} bytes"))
        } else {
            let text = std::str::from_utf8(payload).map_err(|_| "wanted text".to_owned());
            text.and_then(|text| robot.asked(&leaf, text))
        };
        match asked {
            Ok(Some(Wish::Ask(commands))) => {
                robot.refusal = None;
                self.outputs.push_back(Output::Ask { robot: name.clone(), commands, lasts: false });
            }
            Ok(Some(Wish::Return)) => {
                robot.refusal = None;
                if robot.returns.is_none() {
                    robot.returns = Some(Return::Asked);
                    self.next_beat.get_or_insert(now);
                    let commands = vec![component("drive", "Enable", None), Command::Dock];
                    let ask = Output::Ask { robot: name.clone(), commands, lasts: true };
                    self.outputs.push_back(ask);
                }
            }
            Ok(Some(Wish::Stop)) => {
                robot.refusal = None;
                robot.returns = None;
                self.outputs.push_back(Output::Halt(name.clone()));
            }
            Ok(None) => {}
            Err(message) => {
                tracing::warn!(robot = name, leaf, "{message}");
                robot.refusal = Some(message);
            }
        }
        self.publish_state(&name);
    }

    /// Says all there is to say.
    fn announce(&mut self, now: Instant) {
        if !self.is_up {
            return;
        }
        let online = publish(self.names.status(), "online".into());
        self.outputs.push_back(Output::Publish(online));
        for robot in self.robots.values_mut() {
            robot.published = Published::default();
            if robot.list_at.is_some() {
                robot.list_at = Some(now);
            }
        }
        for name in self.robots.keys().cloned().collect::<Vec<_>>() {
            self.publish_state(&name);
            let png = self.robots.get(&name).map(|robot| robot.picture.latest.clone());
            if let Some(png) = png.filter(|png| !png.is_empty()) {
                self.picture(&name, png);
            }
        }
    }

    /// Publishes what has changed: first what there is, then whether it is there, then how it is.
    fn publish_state(&mut self, name: &str) {
        let Some(robot) = self.robots.get_mut(name).filter(|_| self.is_up) else { return };
        let mut say = |topic, payload: &str| {
            self.outputs.push_back(Output::Publish(publish(topic, payload.into())));
        };
        let config = |gone: &[u64]| {
            entity::config(&self.names, &robot.report, &robot.actions, gone).to_string()
        };
        let whole = config(&[]);
        if robot.published.config != whole {
            let topic = || self.names.config(name);
            if !robot.gone.is_empty() {
                say(topic(), &config(&robot.gone));
                robot.gone.clear();
            }
            say(topic(), &whole);
            robot.published.config = whole;
        }
        let available = robot.report.link.state == "ready" && robot.report.fresh;
        if robot.published.available != Some(available) {
            let payload = if available { "online" } else { "offline" };
            say(self.names.robot(name, "availability"), payload);
            robot.published.available = Some(available);
        }
        let fan = FAN_SPEEDS[robot.fan].0;
        let state = entity::state(&robot.report, fan, robot.refusal.as_deref()).to_string();
        if robot.published.state != state {
            say(self.names.robot(name, "state"), &state);
            robot.published.state = state;
        }
    }

    fn leave(&mut self, name: &str) {
        if let Some(robot) = self.robots.get_mut(name)
            && robot.returns.take().is_some()
        {
            self.outputs.push_back(Output::Leave(name.into()));
        }
    }

    /// Stops all that returns to a dock because of this bridge.
    fn end_returns(&mut self, why: &str) {
        self.next_beat = None;
        for (name, robot) in &mut self.robots {
            if robot.returns.take().is_some() {
                tracing::warn!(robot = name, "stopped on its way to the dock: {why}");
                robot.refusal = Some(format!("stopped on its way to the dock: {why}"));
                // What was not asked for yet must not come after the halt, which comes before all that waits.
                let begins = |output: &Output| matches!(output, Output::Ask { robot, lasts: true, .. } if robot == name);
                self.outputs.retain(|output| !begins(output));
                self.outputs.push_front(Output::Halt(name.clone()));
            }
        }
    }

    fn tick(&mut self, now: Instant) {
        // Also one that was published for an earlier return: acknowledgements come in order.
        if self.returns() && self.beats.front().is_some_and(|beat| now >= *beat + PATIENCE) {
            self.end_returns("the MQTT broker did not answer");
        }
        self.beat(now);
        let mut over = Vec::new();
        for (name, robot) in &mut self.robots {
            if matches!(robot.returns, Some(Return::Accepted(since)) if now >= since + UNSEEN) {
                over.push(name.clone());
            }
            if !self.is_up {
                continue;
            }
            if robot.list_at.is_some_and(|at| now >= at) {
                robot.list_at = Some(now + LIST.0);
                self.outputs.push_back(Output::List(name.clone()));
            }
            let picture = &mut robot.picture;
            if picture.wanted && picture.next.is_some_and(|at| now >= at) {
                picture.wanted = false;
                picture.next = Some(now + PICTURE);
                self.outputs.push_back(Output::Picture(name.clone()));
            }
        }
        over.iter().for_each(|name| self.leave(name));
    }

    fn returns(&self) -> bool {
        self.robots.values().any(|robot| robot.returns.is_some())
    }

    /// Publishes a beat when it is time to.
    fn beat(&mut self, now: Instant) {
        if !self.returns() {
            // Those on their way are acknowledged all the same.
            self.next_beat = None;
        } else if self.next_beat.is_some_and(|at| now >= at) {
            self.next_beat = Some(now + BEAT);
            self.beats.push_back(now);
            let topic = format!("{}/{}/beat", self.names.prefix, self.names.node);
            let (payload, retain) = (Vec::new(), false);
            let beat = Publish { topic, payload, retain, acknowledge: true };
            self.outputs.push_back(Output::Publish(beat));
        }
    }
}

/// What a message asks for.
enum Wish {
    Ask(Vec<Command>),
    Return,
    Stop,
}

impl Robot {
    /// What a message asks for; none if it is done with that.
    fn asked(&mut self, leaf: &str, payload: &str) -> Result<Option<Wish>, String> {
        let cannot = || Err(format!("{} cannot {leaf} {payload:?}", self.report.name));
        match (leaf, payload) {
            ("command", "stop") => Ok(Some(Wish::Stop)),
            ("command", "start") if entity::is_vacuum(&self.report) => {
                let brush =
                    |id| self.report.state.contains_key(id).then(|| component(id, "Enable", None));
                let mut commands = vec![self.suction()];
                commands.extend(["main_brush", "side_brush"].into_iter().filter_map(brush));
                Ok(Some(Wish::Ask(commands)))
            }
            ("command", "return_to_base") if entity::is_vacuum(&self.report) => {
                Ok(Some(Wish::Return))
            }
            ("fan_speed", name) if entity::is_vacuum(&self.report) => {
                let Some(fan) = FAN_SPEEDS.iter().position(|(known, _)| *known == name) else {
                    let known = FAN_SPEEDS.map(|(name, _)| name).join(", ");
                    return Err(format!("fan speed: wanted one of {known}, got {name:?}"));
                };
                self.fan = fan;
                let sucks = self.report.state.get("vacuum").and_then(Value::as_f64);
                let sucks = sucks.is_some_and(|percent| percent > 0.0);
                Ok(sucks.then(|| Wish::Ask(vec![self.suction()])))
            }
            ("led", option) if entity::has_led(&self.report) => {
                let modes = 0..sinew_wire::gd32::LedMode::TABLE.len() as u8;
                let mut modes = modes.filter(|mode| entity::led_option(*mode) == option);
                let Some(mode) = modes.next() else {
                    return Err(format!("light: {option:?} is none of its modes"));
                };
                let command = component("led", "Configure", Some(("state", mode)));
                Ok(Some(Wish::Ask(vec![command])))
            }
            ("play", name) if entity::can(&self.report, Capability::Teach) => {
                if !self.actions.iter().any(|action| action.name == name) {
                    return Err(format!("there is no action {name:?}"));
                }
                Ok(Some(Wish::Ask(vec![play(name).map_err(|refusal| refusal.message)?])))
            }
            _ => cannot(),
        }
    }

    /// Sucks as strongly as it was told.
    fn suction(&self) -> Command {
        component("vacuum", "Configure", Some(("speed", FAN_SPEEDS[self.fan].1)))
    }
}

fn play(name: &str) -> Result<Command, Refusal> {
    let message = json!({ "type": "Teach", "op": "play", "name": name });
    Ok(sinew_api::Request::from_value(message).asked?.command)
}

fn component(id: &str, verb: &str, value: Option<(&str, u8)>) -> Command {
    let config: Map<_, _> =
        value.into_iter().map(|(name, value)| (name.into(), json!({ "U8": value }))).collect();
    let mut action = json!({ "type": verb });
    if !config.is_empty() {
        action["config"] = config.into();
    }
    Command::ComponentControl { id: id.into(), action }
}

fn publish(topic: String, payload: Vec<u8>) -> Publish {
    Publish { topic, payload, retain: true, acknowledge: false }
}

/// The message that stops a robot.
pub(crate) fn stop() -> Command {
    Command::Halt(Halt::Stop { note: None })
}

/// The refusal of what cannot wait any more.
pub(crate) fn too_many() -> Refusal {
    Refusal::new(Code::Busy, "too many commands wait already")
}
