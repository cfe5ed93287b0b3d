//! The beacon: its settings, its drivers, and what they can do.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sinew_io::{
    Address, Around, Listener,
    driver::{Handle, Policy, SerialLink, Side, UdpClient, link_json, timestamp_us},
    kind::{Error, Kind, Services, Settings, read, table, within},
};
use sinew_robot::{
    Code, Order, Refusal,
    capability::{
        Audience, Capability, Components, Driver, Figure, Frames, Nature, Reading, Report, Robot,
        Sensors, Task, sensor_group,
    },
    component::{
        self, Component, NONE,
        Verb::{Configure, Disable, Enable},
        action, byte, byte_or,
    },
};

use crate::{
    finder::{self, Finder},
    lamp::{self, Lamp},
    reach::Reach,
    sim,
};

const LAMP: &str = "lamp";
const RANGE: &str = "range";
const CLOUD: &str = "cloud";

const LAMP_POLICY: Policy =
    Policy { name: LAMP, priority: None, relayed: true, farewell: Duration::from_secs(1) };
const RANGE_POLICY: Policy = Policy { name: RANGE, relayed: false, ..LAMP_POLICY };

/// The beacon as a kind of robot.
pub(crate) struct Beacon;

/// What can be set for a beacon.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
struct Set {
    /// Where the range finder is.
    range: String,
    /// The brightest that the lamp may be, percent.
    max_level: u8,
}

impl Default for Set {
    fn default() -> Self {
        Set { range: "udp:127.0.0.1:7070".into(), max_level: 80 }
    }
}

impl Set {
    fn read(given: &Settings) -> Result<(Self, String, u16), Error> {
        let set: Set = read(given)?;
        within("max_level", 1..=100, set.max_level)?;
        let wrong = |what: String| Error::Setting(format!("range: {what}"));
        match set.range.parse().map_err(|error| wrong(format!("{error}")))? {
            Address::Udp { host, port, .. } => Ok((set, host, port)),
            other => Err(wrong(format!("wanted udp:, got {other}"))),
        }
    }
}

impl Kind for Beacon {
    fn name(&self) -> &'static str {
        "beacon"
    }

    fn default_name(&self) -> &'static str {
        "beacon"
    }

    fn capabilities(&self) -> &'static [Capability] {
        &[Capability::Components, Capability::Sensors]
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["serial", "sim"]
    }

    fn settings(&self, given: &Settings) -> Result<Settings, Error> {
        Set::read(given).map(|(set, ..)| table(&set))
    }

    fn start(
        &self,
        link: &Address,
        settings: &Settings,
        services: Services,
    ) -> Result<Robot, Error> {
        let (set, mut host, mut port) = Set::read(settings)?;
        let mut robot = Robot::new(self.name());
        let (path, baud) = match link {
            Address::Serial { path, baud } => (path.clone(), *baud),
            Address::Sim { seed, .. } => {
                let (lamp, path) = sim::lamp()?;
                let (finder, address) = sim::finder(*seed)?;
                (host, port) = (address.ip().to_string(), address.port());
                robot.keep(lamp);
                robot.keep(finder);
                (path, 9600)
            }
            other => return Err(Error::Link(format!("this build has no {other} for a beacon"))),
        };
        let Services { around, audience, .. } = services;
        let teller = Arc::new(Teller(audience));
        let line = Around::all(SerialLink::new(path, baud), Side::Host, around);
        let lamp = Lamp::new(set.max_level);
        let lamp = Handle::spawn(lamp, line?, LAMP_POLICY, teller.clone(), None)?;
        let finder = Finder::new(Instant::now());
        let finder = Handle::spawn(
            finder,
            Box::new(UdpClient::new(host, port)),
            RANGE_POLICY,
            teller,
            None,
        )?;
        let (lamp, finder) = (Arc::new(LampDriver(lamp)), Arc::new(FinderDriver(finder)));
        robot.drivers.push((LAMP, lamp.clone()));
        robot.drivers.push((RANGE, finder.clone()));
        robot.components = Some(Arc::new(Parts { lamp: lamp.clone(), finder: finder.clone() }));
        robot.sensors.push(lamp);
        robot.sensors.push(finder);
        robot.frames.push((CLOUD, Frames::Newest));
        Ok(robot)
    }
}

/// What a beacon may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Level(u8),
    Scan(bool),
}

const COMPONENTS: &[Component<Command>] = &[
    Component {
        id: LAMP,
        what: "the light",
        actions: &[
            action(Enable, "50 %", NONE, |_| Command::Level(50)).shown(|_| 50),
            action(Disable, "off", NONE, |_| Command::Level(0)).shown(|_| 0),
            action(Configure, "brightness", &[&[byte("level", 100, "%")]], |v| {
                Command::Level(byte_or(v, 0, 0))
            })
            .shown(|v| byte_or(v, 0, 0)),
        ],
    },
    Component {
        id: RANGE,
        what: "the range finder",
        actions: &[
            action(Enable, "scan", NONE, |_| Command::Scan(true)),
            action(Disable, "stand still", NONE, |_| Command::Scan(false)),
        ],
    },
];

/// The parts of both drivers, as one table.
struct Parts {
    lamp: Arc<LampDriver>,
    finder: Arc<FinderDriver>,
}

impl Components for Parts {
    fn control(&self, request: component::Request<'_>) -> Result<Task, Refusal> {
        let component::Request::Control { id, action, confirmed } = request else {
            return Err(Refusal::new(Code::Unsupported, "a beacon has no frames of its own"));
        };
        let nature = Nature::default();
        Ok(match component::parse(COMPONENTS, id, action, confirmed)? {
            Command::Level(level) => {
                let lamp = self.lamp.0.clone();
                Task::new(nature, move |origin| async move {
                    lamp.request(level, origin).await.map(|()| Value::Null)
                })
            }
            Command::Scan(on) => {
                let finder = self.finder.0.clone();
                Task::new(nature, move |origin| async move {
                    finder.request(on, origin).await.map(|()| Value::Null)
                })
            }
        })
    }
}

struct LampDriver(Handle<Lamp>);

impl Driver for LampDriver {
    fn order(&self, order: &Order) {
        self.0.order(order.clone());
    }

    fn report(&self) -> Report {
        let state = self.0.state();
        let celsius = f64::from(state.decidegrees) / 10.0;
        Report {
            link: link_json(&state.reach, None),
            fresh: state.reach == Reach::Ready,
            stopped_by: state.stopped_by.as_deref().map(Into::into),
            since_seen: state.last_seen.map(|seen| seen.elapsed()),
            state: Map::from_iter([(LAMP.into(), state.level.into())]),
            figures: vec![Figure::gauge("lamp_celsius", "How hot the lamp is.", celsius)],
        }
    }

    fn shut_down(&self) {
        self.0.shut_down();
    }
}

impl Sensors for LampDriver {
    fn groups(&self) -> &'static [&'static str] {
        &[LAMP]
    }

    fn retained(&self, _group: &str) -> Option<Reading> {
        None
    }
}

struct FinderDriver(Handle<Finder>);

impl Driver for FinderDriver {
    fn order(&self, order: &Order) {
        self.0.order(order.clone());
    }

    fn report(&self) -> Report {
        let state = self.0.state();
        Report {
            link: link_json(&state.reach, None),
            fresh: state.reach == Reach::Ready,
            stopped_by: state.stopped_by.as_deref().map(Into::into),
            since_seen: state.last_seen.map(|seen| seen.elapsed()),
            state: Map::from_iter([
                ("scanning".into(), state.scanning.into()),
                ("scans".into(), state.scans.into()),
            ]),
            figures: vec![Figure::counter("scans_total", "Scans received.", state.scans)],
        }
    }

    fn shut_down(&self) {
        self.0.shut_down();
    }
}

impl Sensors for FinderDriver {
    fn groups(&self) -> &'static [&'static str] {
        &[RANGE]
    }

    fn retained(&self, _group: &str) -> Option<Reading> {
        None
    }
}

/// Tells the beacon's clients what its drivers told.
struct Teller(Arc<dyn Audience>);

impl Teller {
    fn reach(&self, part: &str, reach: &Reach) {
        self.0.event(json!({ "event": "link", "driver": part, "link": link_json(reach, None) }));
    }

    fn values(&self, group: &'static str, values: Value) {
        let now = timestamp_us();
        let json = move |_| sensor_group(group, now, &values);
        self.0.sensors(&Reading::new(group, json));
    }
}

impl Listener<lamp::Event> for Teller {
    fn wants(&self, event: &lamp::Event) -> bool {
        matches!(event, lamp::Event::Reach(_)) || self.0.wants_sensors()
    }

    fn event(&self, event: lamp::Event) {
        match event {
            lamp::Event::Reach(reach) => self.reach(LAMP, &reach),
            lamp::Event::State { level, decidegrees } => {
                let celsius = f64::from(decidegrees) / 10.0;
                let values = json!({ "level": { "U8": level }, "celsius": { "F32": celsius } });
                self.values(LAMP, values);
            }
        }
        self.0.changed();
    }

    fn missed(&self, count: u64) {
        self.0.missed(count);
    }
}

impl Listener<finder::Event> for Teller {
    fn wants(&self, event: &finder::Event) -> bool {
        matches!(event, finder::Event::Reach(_)) || self.0.wants_sensors()
    }

    fn event(&self, event: finder::Event) {
        match event {
            finder::Event::Reach(reach) => self.reach(RANGE, &reach),
            finder::Event::Scan(scan) => {
                let (nearest, points) = (scan.nearest(), scan.ranges.len());
                self.values(
                    RANGE,
                    json!({ "nearest_mm": { "U16": nearest }, "points": { "U32": points } }),
                );
                self.0.frame(CLOUD, scan.cloud(timestamp_us()));
            }
        }
        self.0.changed();
    }

    fn missed(&self, count: u64) {
        self.0.missed(count);
    }
}
