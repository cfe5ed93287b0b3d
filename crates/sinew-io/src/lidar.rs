//! The driver of a vacuum's lidar: a serial line of its own, which only brings.

use std::{
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};
use sinew_robot::{
    Order,
    capability::{Audience, Detail, Driver, Figure, Reading, Report, Sensors, sensor_group},
    lidar::{
        Counters, Event, LinkState, Mounting, Scan, Session, State, View,
        sensors::{Lidar as Values, More},
    },
    vacuum::LinkState as ControllerLink,
};

use crate::{
    follow::Follower,
    link::{Link, SerialLink},
    pump::{Handle, Policy},
    report::{link_json, members, timestamp_us},
    tell::Listener,
    vacuum::Vacuum,
};

/// Its sensor group, and its name among the robot's drivers.
pub(crate) const LIDAR: &str = "lidar";

/// A thread of its own, so that a turn is turned into text beside the controller's heartbeat.
const POLICY: Policy =
    Policy { name: LIDAR, priority: None, relayed: false, farewell: Duration::ZERO };

/// A vacuum's lidar.
pub struct Lidar {
    handle: Handle<Session>,
    mounting: Mounting,
    controller: Vacuum,
    follower: Option<Arc<dyn Follower>>,
}

/// How turns are given out.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// From where they are seen.
    pub view: View,
    /// Where the lidar stands.
    pub mounting: Mounting,
}

impl Lidar {
    /// Starts the thread, which opens the serial port and keeps it open. The controller switches the
    /// lidar, and knows where the robot is; a follower gets its turns, too.
    pub fn spawn(
        path: &Path,
        baud: u32,
        settings: Settings,
        controller: Vacuum,
        audience: Arc<dyn Audience>,
        follower: Option<Arc<dyn Follower>>,
    ) -> io::Result<Self> {
        let link = Box::new(SerialLink::new(path.to_owned(), baud));
        Self::on(link, settings, controller, audience, follower)
    }

    /// The same on another link.
    pub(crate) fn on(
        link: Box<dyn Link<Peer = ()>>,
        settings: Settings,
        controller: Vacuum,
        audience: Arc<dyn Audience>,
        follower: Option<Arc<dyn Follower>>,
    ) -> io::Result<Self> {
        let teller = Teller {
            audience,
            settings,
            controller: controller.clone(),
            follower: follower.clone(),
        };
        let handle = Handle::spawn(Session::new(), link, POLICY, Arc::new(teller), None)?;
        Ok(Lidar { handle, mounting: settings.mounting, controller, follower })
    }

    /// What is known about it.
    pub fn state(&self) -> State {
        self.handle.state()
    }
}

impl Driver for Lidar {
    /// The controller carries orders out, and switches the lidar off where that is part of them.
    fn order(&self, _order: &Order) {}

    fn report(&self) -> Report {
        let state = self.state();
        let is_on = is_on(&self.controller);
        let mut figures = figures(&state);
        let mut scan = members(&state);
        // For clients that get turns as the lidar counts them.
        scan.insert("mounting".into(), json!(self.mounting));
        let mut members = Map::from_iter([("scan".into(), scan.into())]);
        if let Some(follower) = &self.follower {
            let (name, state) = follower.state();
            members.insert(name.into(), state);
            figures.extend(follower.figures());
        }
        Report {
            link: link(&state.link, is_on),
            // Of one that is switched off nothing is told that could be stale.
            fresh: !is_on || state.link.is_heard() || state.link == LinkState::Silent,
            stopped_by: None,
            since_seen: state.last_seen.map(|seen| seen.elapsed()),
            figures,
            state: members,
        }
    }

    fn shut_down(&self) {
        self.handle.shut_down();
        if let Some(follower) = &self.follower {
            follower.shut_down();
        }
    }
}

impl Sensors for Lidar {
    fn groups(&self) -> &'static [&'static str] {
        &[LIDAR]
    }

    fn retained(&self, _group: &str) -> Option<Reading> {
        None
    }
}

/// Tells a robot's clients what its lidar told.
struct Teller {
    audience: Arc<dyn Audience>,
    settings: Settings,
    controller: Vacuum,
    follower: Option<Arc<dyn Follower>>,
}

impl Teller {
    /// What follows the robot now.
    fn following(&self) -> Option<&dyn Follower> {
        self.follower.as_deref().filter(|follower| follower.is_on())
    }

    fn scan(&self, scan: Scan) {
        if let Some(follower) = self.following() {
            follower.scan(scan.clone());
        }
        let Settings { view, mounting } = self.settings;
        let (now, now_us) = (Instant::now(), timestamp_us());
        let unix = |at: Instant| {
            now_us.saturating_sub(now.saturating_duration_since(at).as_micros() as u64)
        };
        let controller = self.controller.state();
        // A pose of a robot that is not heard is that of another time.
        let pose = (controller.link == ControllerLink::Ready).then_some(controller.pose);
        let (began_us, ended_us) = (unix(scan.began), unix(scan.ended));
        let json = move |detail| {
            let more = (detail == Detail::Values).then_some(More { pose, began_us });
            // Clients of that interface know no other.
            let view = if detail == Detail::Sangam { View::Robot } else { view };
            let values = Values { turn: &scan.turn, view, mounting: &mounting, more };
            sensor_group(LIDAR, ended_us, &values)
        };
        self.audience.sensors(&Reading::new(LIDAR, json));
    }
}

impl Listener<Event> for Teller {
    fn wants(&self, event: &Event) -> bool {
        let is_wanted = || self.audience.wants_sensors() || self.following().is_some();
        !matches!(event, Event::Scan { .. }) || is_wanted()
    }

    fn event(&self, event: Event) {
        match event {
            Event::Scan { scan } => self.scan(*scan),
            event => {
                let mut value = serde_json::to_value(&event).unwrap_or_default();
                if let Event::Link { link: to, .. } = &event {
                    value["driver"] = LIDAR.into();
                    value["link"] = link(to, is_on(&self.controller));
                }
                self.audience.event(value);
            }
        }
        self.audience.changed();
    }

    fn missed(&self, count: u64) {
        self.audience.missed(count);
    }
}

/// Whether the controller has switched it on.
fn is_on(controller: &Vacuum) -> bool {
    controller.state().lidar.is_some()
}

/// How the lidar can be reached, and why not. One that is switched off is not lost.
fn link(link: &LinkState, is_on: bool) -> Value {
    let (shown, reason) = match (link, is_on) {
        (LinkState::Lost, false) => (&LinkState::Silent, None),
        (LinkState::Silent, true) => (link, Some("it is switched on, and nothing has come".into())),
        (LinkState::Lost, true) => (link, Some(link.to_string())),
        _ => (link, None),
    };
    link_json(shown, reason)
}

fn figures(state: &State) -> Vec<Figure> {
    let Counters { frames, bad_checks, dropped, .. } = state.counters;
    vec![
        Figure::counter("lidar_turns_total", "Turns of the lidar.", state.turns),
        Figure::counter("lidar_frames_total", "Frames of the lidar.", frames),
        Figure::counter("lidar_bad_checks_total", "Those whose check was wrong.", bad_checks),
        Figure::counter("lidar_dropped_bytes_total", "Bytes that belong to none.", dropped),
    ]
}
