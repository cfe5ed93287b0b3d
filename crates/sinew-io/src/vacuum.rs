//! The driver of a CRL-200S vacuum: its motor controller on a serial line.

use std::{
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::Value;
use sinew_robot::{
    Epoch, Order, OrderKind, Origin, Refusal,
    capability::{
        Audience, Components, Detail, Drive, Driver, Figure, Nature, Reading, Report, Sensors,
        Task, sensor_group,
    },
    component, drive,
    vacuum::{
        Command, Counters, Event, LinkState, Session, Settings, State, components,
        sensors::{self, Gd32Status},
    },
};
use sinew_wire::gd32::{Flag, Profile};

#[cfg(feature = "capture")]
use crate::link::LoggedLink;
use crate::{
    Around, Wiring,
    follow::{Follower, Odometry},
    link::{Link, SerialLink, Side},
    pump::{Handle, Policy},
    report::{link_json, members, timestamp_us},
    tell::Listener,
};

const STATUS: &str = "gd32_status";
const VERSION: &str = "gd32_version";

/// The names of the two since the later state of document 003's project.
const LATER_STATUS: &str = "sensor_status";
const LATER_VERSION: &str = "device_version";

/// The real-time priority that a vacuum's thread asks for.
pub const PRIORITY: u8 = 20;

/// The controller stops its motors after 50 ms without a heartbeat, so the thread has to hold its
/// time. A last stop may take three times what `drive` Reset takes at 9600 baud.
const POLICY: Policy = Policy {
    name: "vacuum",
    priority: Some(PRIORITY),
    relayed: true,
    farewell: Duration::from_millis(200),
};

/// A vacuum's motor controller. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct Vacuum {
    handle: Handle<Session>,
    settings: Arc<Settings>,
    epoch: Epoch,
    /// What comes was recorded: there is no controller whose time must be held.
    recorded: bool,
}

impl Vacuum {
    /// Starts the thread, which opens the serial port and keeps it open. Its speed is the settings'.
    pub fn spawn(path: &Path, settings: Settings, wiring: Wiring<Event>) -> io::Result<Self> {
        let link = SerialLink::new(path.to_owned(), settings.baud);
        Self::on(link, settings, wiring)
    }

    /// The same on another link.
    pub(crate) fn on(
        link: impl Link<Peer = ()> + 'static,
        settings: Settings,
        wiring: Wiring<Event>,
    ) -> io::Result<Self> {
        let session = Session::new(settings.clone(), Instant::now());
        let link = Around::all(link, Side::Host, wiring.around)?;
        let handle = Handle::spawn(session, link, POLICY, wiring.listener, None)?;
        Ok(Vacuum { handle, settings: Arc::new(settings), epoch: wiring.epoch, recorded: false })
    }

    /// A vacuum of which there is a log alone. It takes no commands but stops.
    #[cfg(feature = "capture")]
    pub(crate) fn replay(
        link: LoggedLink,
        settings: Settings,
        wiring: Wiring<Event>,
    ) -> io::Result<Self> {
        let session = Session::recorded(settings.clone(), Instant::now());
        let link = Around::all(link, Side::Host, wiring.around)?;
        let policy = Policy { name: "replay", priority: None, ..POLICY };
        let handle = Handle::spawn(session, link, policy, wiring.listener, None)?;
        Ok(Vacuum { handle, settings: Arc::new(settings), epoch: wiring.epoch, recorded: true })
    }

    /// Has a command carried out; answered once its frames are on their way. A stop waits for
    /// nothing.
    pub async fn execute(&self, command: Command, origin: Origin) -> Result<(), Refusal> {
        let stop = match command {
            Command::DriveReset => OrderKind::Stop,
            Command::DriveDisable => OrderKind::Disable,
            _ => return self.handle.request(command, origin).await,
        };
        let epoch = self.epoch.advance();
        let client = Some(origin.client);
        self.handle.order(Order { kind: stop, epoch, by: origin.by, client });
        self.handle.confirm().await
    }

    /// What the robot is doing.
    pub fn state(&self) -> State {
        self.handle.state()
    }

    /// The settings it runs with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn task(&self, command: Command) -> Task {
        let nature = Nature {
            needs_client: command.is_driving(),
            lasts: command.moves_by_itself(),
            needs_connection: command.is_motion(),
        };
        let vacuum = self.clone();
        Task::new(nature, |origin| async move {
            vacuum.execute(command, origin).await.map(|()| Value::Null)
        })
    }
}

impl Driver for Vacuum {
    fn order(&self, order: &Order) {
        self.handle.order(order.clone());
    }

    fn report(&self) -> Report {
        let state = self.state();
        let since_seen = state.last_seen.map(|seen| seen.elapsed());
        let heard = since_seen.is_some_and(|since| since <= self.settings.link_timeout());
        let down = matches!(state.link, LinkState::Disconnected { .. } | LinkState::Lost);
        let mut members = members(&state);
        // These two stand beside the state, for robots of every kind.
        members.remove("link");
        members.remove("stopped_by");
        Report {
            link: link(&state.link),
            fresh: heard && !down,
            stopped_by: state.stopped_by.as_deref().map(Into::into),
            since_seen,
            figures: figures(&state),
            state: members,
        }
    }

    fn shut_down(&self) {
        self.handle.shut_down();
    }

    fn has_real_time_priority(&self) -> Option<bool> {
        (!self.recorded).then(|| self.handle.has_real_time_priority())
    }
}

impl Drive for Vacuum {
    fn drive(&self, command: drive::Command) -> Result<Task, Refusal> {
        Ok(self.task(command.into()))
    }

    fn limits(&self) -> drive::Limits {
        let Settings { max_linear: linear, max_angular: angular, deadman, .. } = *self.settings;
        drive::Limits { linear, angular, deadman }
    }
}

impl Components for Vacuum {
    fn control(&self, request: component::Request<'_>) -> Result<Task, Refusal> {
        Ok(self.task(match request {
            component::Request::Control { id, action, confirmed } => {
                components::parse(id, action, confirmed)?
            }
            component::Request::Sync => Command::ProtocolSync,
            component::Request::Boot => Command::Boot,
            component::Request::Raw { command, payload } => Command::Raw { command, payload },
        }))
    }
}

impl Sensors for Vacuum {
    fn groups(&self) -> &'static [&'static str] {
        &[STATUS, VERSION]
    }

    fn retained(&self, group: &str) -> Option<Reading> {
        let state = self.state();
        let text = state.version.filter(|_| group == VERSION)?;
        Some(version(&text, state.version_code, &self.settings.profile))
    }
}

/// Tells a robot's clients what its controller told.
pub(crate) struct Teller {
    pub(crate) audience: Arc<dyn Audience>,
    pub(crate) profile: Profile,
    /// What is made of where it goes.
    pub(crate) follower: Option<Arc<dyn Follower>>,
}

impl Listener<Event> for Teller {
    fn wants(&self, event: &Event) -> bool {
        let is_followed = || self.follower.as_ref().is_some_and(|follower| follower.is_on());
        !self.is_repeated(event) || self.audience.wants_sensors() || is_followed()
    }

    fn is_repeated(&self, event: &Event) -> bool {
        matches!(event, Event::Status { .. })
    }

    fn event(&self, event: Event) {
        match event {
            Event::Status { status, raw, at, pose } => {
                if let Some(follower) = self.follower.as_ref().filter(|it| it.is_on()) {
                    let on_dock = status.is(Flag::OnDock);
                    follower.odometry(Odometry { at, pose, on_dock });
                }
                let (profile, now) = (self.profile, timestamp_us());
                let is_later = profile == Profile::LATER;
                let json = move |detail| {
                    let (status, own) = (&status, &profile);
                    let plain = Gd32Status { status, raw: None, profile: own, gyro: None };
                    let (name, values) = match detail {
                        Detail::Values => (STATUS, plain),
                        Detail::WithRaw if is_later => {
                            let gyro = Some(status.gyro());
                            (LATER_STATUS, Gd32Status { raw: Some(&raw), gyro, ..plain })
                        }
                        Detail::WithRaw => (STATUS, Gd32Status { raw: Some(&raw), ..plain }),
                        // Its clients know the encoders in that order, and the gyroscope's axes as
                        // REP-103 has them.
                        Detail::Sangam => {
                            let (profile, gyro) = (&Profile::LATER, Some(status.gyro_ros()));
                            (LATER_STATUS, Gd32Status { profile, gyro, ..plain })
                        }
                    };
                    sensor_group(name, now, &values)
                };
                let legacy = if is_later { LATER_STATUS } else { STATUS }.into();
                self.audience.sensors(&Reading { legacy, ..Reading::new(STATUS, json) });
            }
            Event::Version { text, code } => {
                self.audience.sensors(&version(&text, code, &self.profile));
            }
            Event::Link { link: ref to, .. } => {
                let mut value = serde_json::to_value(&event).unwrap_or_default();
                value["link"] = link(to);
                self.audience.event(value);
            }
            other => self.audience.event(serde_json::to_value(other).unwrap_or_default()),
        }
        self.audience.changed();
    }

    fn missed(&self, count: u64) {
        self.audience.missed(count);
    }
}

/// How the controller can be reached, and why not.
fn link(link: &LinkState) -> Value {
    let reason = matches!(link, LinkState::Lost).then(|| link.to_string());
    link_json(link, reason)
}

fn version(text: &str, code: Option<i32>, profile: &Profile) -> Reading {
    let (now, text) = (timestamp_us(), text.to_owned());
    let legacy = if *profile == Profile::LATER { LATER_VERSION } else { VERSION };
    let json = move |detail| {
        let name = match detail {
            Detail::Values => VERSION,
            Detail::WithRaw => legacy,
            Detail::Sangam => LATER_VERSION,
        };
        sensor_group(name, now, &sensors::gd32_version(&text, code))
    };
    Reading { legacy: legacy.into(), ..Reading::new(VERSION, json) }
}

fn figures(state: &State) -> Vec<Figure> {
    let Counters { frames, bad_checks, dropped, sent, .. } = state.counters;
    let mut figures = vec![
        Figure::counter("frames_total", "Good frames received.", frames),
        Figure::counter("frames_sent_total", "Frames sent.", sent),
        Figure::counter("bad_checks_total", "Frames whose check was wrong.", bad_checks),
        Figure::counter("dropped_bytes_total", "Bytes that belong to no frame.", dropped),
    ];
    if let Some(percent) = state.battery_percent {
        let help = "Battery charge by voltage.";
        figures.push(Figure::gauge("battery_percent", help, percent.into()));
    }
    if let Some(volts) = state.battery_volts {
        figures.push(Figure::gauge("battery_volts", "Battery voltage.", volts));
    }
    figures
}
