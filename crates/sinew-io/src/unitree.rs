//! The driver of a G1 behind WebRTC: its arm service, and its SLAM service.

mod both;
mod replay;
mod slam;

use std::{
    hash::{BuildHasher, RandomState},
    io,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use sinew_api::frame;
use sinew_robot::{
    Order, OrderKind, Origin, Refusal,
    capability::{
        Audience, Boxed, Detail, Driver, Figure, Frames, Reading, Report, Robot, Sensors,
        sensor_group,
    },
    mapping::{self, Cloud},
    teach::{self, Answer, Carries, RobotRequest},
    unitree::{Counters, Event, LinkState, Reply, Request, Session, Settings, State},
};
use sinew_wire::unitree::Form;

pub use self::replay::Replay;
use self::{
    both::{Beside, Both},
    slam::{Asked, Slam},
};
use crate::{
    Around, Wiring,
    g1::{self, G1, JOINTS},
    kind::Services,
    link::{OpenSsl, Side, WebRtcLink, WebRtcOptions},
    pump::{Handle, Policy},
    report::{link_json, members, timestamp_us},
    teaching::{Recorded, Taught, Teaching},
    tell::Listener,
    volume::{MAP, Volume},
};

/// The topic of clouds.
pub const CLOUD: &str = "cloud";
/// The topic of what the robot sends.
pub const MESSAGES: &str = "messages";
const ODOMETRY: &str = "odometry";
/// The driver of datagrams.
const TEACHING: &str = "teaching";

/// A stop is repeated until the robot confirms it; a message that is lost costs a second.
const POLICY: Policy =
    Policy { name: "g1-webrtc", priority: None, relayed: false, farewell: Duration::from_secs(4) };

/// A G1 behind WebRTC. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct Unitree {
    handle: Handle<Session>,
    volume: Option<Volume>,
}

/// A G1's teaching datagrams: where, and how.
pub type Datagrams = (String, u16, teach::Settings);

impl Unitree {
    /// Starts the thread, which keeps up the channel to the robot.
    pub fn spawn(
        options: WebRtcOptions,
        around: Vec<Around>,
        listener: Arc<dyn Listener<Event>>,
    ) -> io::Result<Self> {
        Self::spawn_with(options, around, listener, None)
    }

    /// The same, with a map and what it is made of.
    fn spawn_with(
        options: WebRtcOptions,
        around: Vec<Around>,
        listener: Arc<dyn Listener<Event>>,
        mapped: Option<(Volume, Arc<dyn Audience>)>,
    ) -> io::Result<Self> {
        let unix_time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // The numbers made from it only tell calls apart.
        let seed = RandomState::new().hash_one(0);
        let settings = Settings::new(unix_time.as_secs(), seed, OpenSsl::digest);
        let mut session = Session::new(settings, Instant::now());
        let volume = mapped.map(|(volume, audience)| {
            session.tap(tap(audience));
            volume
        });
        let link = Around::all(WebRtcLink::new(options)?, Side::Host, around)?;
        let handle = Handle::spawn(session, link, POLICY, listener, None)?;
        Ok(Unitree { handle, volume })
    }

    /// Starts a robot that is taught and makes maps over WebRTC, with a library beside it, and
    /// with datagrams for what only those carry.
    pub fn compose(
        kind: &'static str,
        options: WebRtcOptions,
        datagrams: Option<Datagrams>,
        services: Services,
    ) -> io::Result<Robot> {
        let Services { around, epoch, audience, library, maps } = services;
        let tells_joints = datagrams.is_none();
        let volume = Volume::spawn(Arc::clone(&audience))?;
        let teller = Teller::new(Arc::clone(&audience), volume.clone(), tells_joints);
        let mapped = Some((volume.clone(), Arc::clone(&audience)));
        let unitree = Unitree::spawn_with(options, around, Arc::new(teller), mapped)?;
        let unitree = Arc::new(unitree);
        let mut robot = Robot::new(kind);
        robot.drivers.push(("webrtc", unitree.clone()));
        let groups = if tells_joints { &[JOINTS, ODOMETRY][..] } else { &[ODOMETRY] };
        robot.sensors.push(Arc::new(Groups(groups)));
        robot.frames.extend(topics(&volume));
        robot.mapping = Some(Arc::new(Slam::new(unitree.clone(), volume, Some(maps))));
        let taught: Arc<dyn Taught> = match datagrams {
            None => unitree,
            Some((host, port, settings)) => {
                let listener = g1::told(audience, Some(TEACHING));
                let wiring = Wiring { around: Vec::new(), epoch, listener };
                let g1 = Arc::new(G1::spawn(&host, port, settings, wiring)?);
                robot.drivers.push((TEACHING, Arc::new(Beside(G1::clone(&g1)))));
                robot.sensors.push(g1.clone());
                Arc::new(Both::new(unitree, g1))
            }
        };
        robot.teach = Some(Arc::new(Teaching::new(taught, library)));
        Ok(robot)
    }

    /// What the robot is doing.
    pub fn state(&self) -> State {
        self.handle.state()
    }

    async fn ask(&self, request: Request, origin: Origin) -> Result<Reply, Refusal> {
        if !request.is_stop() {
            return self.handle.request(request, origin).await;
        }
        let (by, client) = (Arc::clone(&origin.by), Some(origin.client));
        let stop = Order { kind: OrderKind::Stop, epoch: origin.epoch, by, client };
        self.handle.stop_by(request, origin, stop).await
    }
}

impl Taught for Unitree {
    fn request(
        &self,
        request: RobotRequest,
        origin: Origin,
    ) -> Boxed<'static, Result<Answer, Refusal>> {
        let robot = self.clone();
        Box::pin(async move {
            match robot.ask(Request::Teach(request), origin).await? {
                Reply::Teach(answer) => Ok(answer),
                Reply::Mapping(_) => Err(slam::strange()),
            }
        })
    }

    fn carries(&self) -> Carries {
        Session::CARRIES
    }

    fn recorded(&self) -> Recorded {
        let state = self.state();
        Recorded { running: state.recording, name: state.recording_name, recording: state.recorded }
    }
}

impl Asked for Unitree {
    fn ask(
        &self,
        request: mapping::Request,
        origin: Origin,
    ) -> Boxed<'static, Result<mapping::Answer, Refusal>> {
        let robot = self.clone();
        Box::pin(async move {
            match robot.ask(Request::Mapping(request), origin).await? {
                Reply::Mapping(answer) => Ok(answer),
                Reply::Teach(_) => Err(slam::strange()),
            }
        })
    }
}

impl Driver for Unitree {
    fn order(&self, order: &Order) {
        self.handle.order(order.clone());
    }

    fn report(&self) -> Report {
        let state = self.state();
        let mut members = members(&state);
        members.remove("link");
        let mut figures = figures(&state.counters);
        if let Some(volume) = &self.volume {
            members.insert(MAP.into(), volume.state());
            figures.extend(volume.figures());
        }
        Report {
            link: link(&state.link),
            fresh: state.fresh,
            stopped_by: None,
            since_seen: state.last_seen.map(|seen| seen.elapsed()),
            figures,
            state: members,
        }
    }

    fn shut_down(&self) {
        self.handle.shut_down();
    }
}

/// The topics of frames that a map is made of, and of the map.
fn topics(volume: &Volume) -> [(&'static str, Frames); 3] {
    [(CLOUD, Frames::Newest), (MAP, Frames::Blocks(volume.blocks())), (MESSAGES, Frames::All)]
}

/// Tells of messages, if they are read.
fn tap(audience: Arc<dyn Audience>) -> impl FnMut(Form, &[u8]) + Send {
    let mut sequence = 0;
    move |form, bytes| {
        if audience.wants_frames(MESSAGES) {
            sequence += 1;
            let name = match form {
                Form::Text => "text",
                Form::Binary => "binary",
            };
            let time_us = timestamp_us();
            let header = frame::Header { sequence, time_us, name, ..Default::default() };
            audience.frame(MESSAGES, frame::message(&header, bytes));
        }
    }
}

/// The groups of values that a robot tells.
struct Groups(&'static [&'static str]);

impl Sensors for Groups {
    fn groups(&self) -> &'static [&'static str] {
        self.0
    }

    fn retained(&self, _group: &str) -> Option<Reading> {
        None
    }
}

/// Tells a robot's clients what its session told.
struct Teller {
    audience: Arc<dyn Audience>,
    volume: Volume,
    /// Whether clouds wait until there is room for them.
    waits: bool,
    /// Whether the arms' pose is told from here: with datagrams it comes more often.
    tells_joints: bool,
    /// Counts clouds, and maps.
    clouds: AtomicU64,
    maps: AtomicU32,
}

impl Teller {
    fn new(audience: Arc<dyn Audience>, volume: Volume, tells_joints: bool) -> Self {
        let (clouds, maps) = (AtomicU64::new(0), AtomicU32::new(0));
        Teller { audience, volume, waits: false, tells_joints, clouds, maps }
    }

    /// A cloud as a frame of its topic.
    fn frame(&self, cloud: &Cloud) -> Vec<u8> {
        let sequence = self.clouds.fetch_add(1, Ordering::Relaxed) + 1;
        let epoch = self.maps.load(Ordering::Relaxed);
        frame::of_cloud(cloud, sequence, timestamp_us(), epoch)
    }
}

impl Listener<Event> for Teller {
    fn wants(&self, event: &Event) -> bool {
        match event {
            Event::Joints { .. } => self.tells_joints && self.audience.wants_sensors(),
            // A map is made whether or not it is read.
            Event::Cloud { of_map: true, .. } => true,
            Event::Odometry { .. } | Event::Cloud { .. } => self.audience.wants_sensors(),
            _ => true,
        }
    }

    fn event(&self, event: Event) {
        match event {
            Event::Joints { positions, velocities } => {
                let values = json!({ "positions": positions, "velocities": velocities });
                self.audience.sensors(&reading(JOINTS, values));
            }
            Event::Odometry { pose } => {
                let number = |value: f64| json!({ "F64": value });
                let (x, y, z) = (number(pose.x), number(pose.y), number(pose.z));
                let values = json!({ "x": x, "y": y, "z": z, "yaw": number(pose.yaw) });
                self.audience.sensors(&reading(ODOMETRY, values));
            }
            Event::Cloud { of_map, cloud, .. } => {
                if self.audience.wants_frames(CLOUD) {
                    self.audience.frame(CLOUD, self.frame(&cloud));
                }
                if of_map {
                    self.volume.take(cloud, self.waits);
                }
            }
            Event::Link { link: ref to, .. } => {
                let mut value = serde_json::to_value(&event).unwrap_or_default();
                value["link"] = link(to);
                self.audience.event(value);
            }
            other => {
                if let Event::Mapping { on: true, .. } = other {
                    self.maps.fetch_add(1, Ordering::Relaxed);
                    self.volume.begin();
                }
                self.audience.event(serde_json::to_value(other).unwrap_or_default());
            }
        }
        self.audience.changed();
    }

    fn missed(&self, count: u64) {
        self.audience.missed(count);
    }
}

fn reading(group: &'static str, values: Value) -> Reading {
    let now = timestamp_us();
    Reading::new(group, move |_: Detail| sensor_group(group, now, &values))
}

/// How the robot can be reached, and why not.
fn link(link: &LinkState) -> Value {
    link_json(link, link.reason().map(ToString::to_string))
}

fn figures(counters: &Counters) -> Vec<Figure> {
    let Counters { sent, repeats, received, malformed, reconnects, .. } = *counters;
    vec![
        Figure::counter("messages_sent_total", "Messages sent.", sent),
        Figure::counter("messages_received_total", "Messages received.", received),
        Figure::counter("repeats_total", "Questions and stops sent again.", repeats),
        Figure::counter("malformed_messages_total", "Messages not understood.", malformed),
        Figure::counter("reconnects_total", "Channels given up.", reconnects),
    ]
}
