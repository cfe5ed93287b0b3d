//! A robot of another daemon, as ours.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use sinew_api::{Command, FRAMES, Halt, LinkReport, RobotReport, Rules, frame};
use sinew_robot::{
    Code, Origin, Refusal,
    capability::{Audience, Blocks, Boxed, Frames, Reading},
    drive,
    map::{Cursor, Mirror},
    mapping::{Format, Pose},
};
use sinew_server::Relay;
use tokio::time::timeout;
use zenoh::sample::Sample;

use super::host::Host;
use crate::{About, keys, lock};

/// A robot that has not been told of for longer has no fresh values.
const STALE: Duration = Duration::from_millis(1500);
/// How long a map may take to come.
const EXPORT: Duration = Duration::from_secs(30);

pub(crate) struct Remote {
    host: Arc<Host>,
    robot: String,
    /// What it is called here.
    name: String,
    known: Mutex<Known>,
    /// As it was told last.
    was_fresh: AtomicBool,
    audience: Mutex<Option<Arc<dyn Audience>>>,
    map: Arc<Map>,
    /// Readings that stay true, as they were told.
    retained: Mutex<HashMap<String, String>>,
    /// Stops so far: what was wished before one is not sent after it.
    halts: Arc<AtomicU64>,
}

/// What is known of a robot.
struct Known {
    report: RobotReport,
    about: About,
    /// When it told of itself last.
    told: Instant,
    /// Why it cannot be reached; none while it can.
    lost: Option<Seen>,
}

/// How a robot that cannot be reached was seen last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Never,
    /// It was there.
    Before,
    /// It is there, and does not tell of itself.
    Silent,
    /// Its daemon has ended, as it was told to, and has stopped it before.
    Withdrawn,
}

/// A map that the robot's daemon makes.
#[derive(Default)]
struct Map(Mutex<Mapped>);

#[derive(Default)]
struct Mapped {
    mirror: Mirror,
    name: String,
    pose: Option<Pose>,
    origin: [f64; 3],
    unit: f64,
    is_flat: bool,
}

/// A message of a topic.
#[derive(Deserialize)]
struct Told<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
}

impl Remote {
    /// A robot that was not seen yet.
    pub(super) fn unseen(host: Arc<Host>, robot: &str, name: &str) -> Self {
        let report = RobotReport {
            name: name.into(),
            kind: "unknown".into(),
            link: LinkReport::default(),
            links: Default::default(),
            capabilities: Vec::new(),
            sensors: Vec::new(),
            limits: None,
            holder: None,
            stopped_by: None,
            last_seen_ms: None,
            fresh: false,
            state: Default::default(),
        };
        let lost = Some(Seen::Never);
        Remote {
            host,
            robot: robot.into(),
            name: name.into(),
            known: Mutex::new(Known {
                report,
                about: About::default(),
                told: Instant::now(),
                lost,
            }),
            was_fresh: AtomicBool::new(false),
            audience: Mutex::default(),
            map: Arc::default(),
            retained: Mutex::default(),
            halts: Arc::default(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The key of one of its topics.
    pub(super) fn key(&self, topic: &str) -> String {
        keys::of_robot(&self.host.name, &self.robot, topic)
    }

    pub(super) fn set_audience(&self, audience: Arc<dyn Audience>) {
        *lock(&self.audience) = Some(audience);
    }

    pub(super) fn audience(&self) -> Option<Arc<dyn Audience>> {
        lock(&self.audience).clone()
    }

    /// It tells of itself; true if it is another robot than it was, as far as its clients go.
    pub(super) fn tells(&self, report: RobotReport, about: About) -> bool {
        let mut known = lock(&self.known);
        let is_other = known.report.kind != report.kind
            || known.report.capabilities != report.capabilities
            || known.report.sensors != report.sensors
            || known.about.frames != about.frames;
        known.report = report;
        known.about = about;
        known.told = Instant::now();
        is_other
    }

    /// Tells that its values are not fresh any more, or again, though it said nothing.
    pub(super) fn look(&self) {
        let fresh = self.report().fresh;
        if self.was_fresh.swap(fresh, Ordering::Relaxed) != fresh {
            self.changed();
        }
    }

    pub(super) fn changed(&self) {
        if let Some(audience) = self.audience() {
            audience.changed();
        }
    }

    pub(super) fn is_there(&self) {
        let before = lock(&self.known).lost.take();
        if before.is_some() {
            self.tell_link();
        }
    }

    /// It is there, and does not tell of itself.
    pub(super) fn is_silent(&self) {
        lock(&self.known).lost = Some(Seen::Silent);
    }

    pub(super) fn is_gone(&self) {
        self.is_lost(Seen::Before);
    }

    /// Its daemon has ended.
    pub(super) fn is_withdrawn(&self) {
        self.is_lost(Seen::Withdrawn);
    }

    fn is_lost(&self, seen: Seen) {
        let before = {
            let mut known = lock(&self.known);
            let before = known.lost;
            // That it is gone besides is no news.
            if before != Some(Seen::Withdrawn) {
                known.lost = Some(seen);
            }
            before
        };
        match before {
            None => self.tell_link(),
            // That it has ended may be heard after that it is gone.
            Some(Seen::Before) if seen == Seen::Withdrawn => self.changed(),
            Some(_) => {}
        }
    }

    fn tell_link(&self) {
        let link = self.report().link;
        if let Some(audience) = self.audience() {
            audience.event(json!({ "event": "link", "link": link }));
            audience.changed();
        }
    }

    /// An event of the robot.
    pub(super) fn happened(&self, sample: &Sample) {
        let bytes = sample.payload().to_bytes();
        let told = serde_json::from_slice::<Told<'_>>(&bytes).ok();
        let event = told.and_then(|told| serde_json::from_str::<Value>(told.data.get()).ok());
        if let (Some(event), Some(audience)) = (event, self.audience()) {
            audience.event(event);
        }
    }

    /// A reading of a group.
    pub(super) fn read(&self, group: &str, payload: &[u8]) {
        let Ok(told) = serde_json::from_slice::<Told<'_>>(payload) else { return };
        if let Some(audience) = self.audience() {
            audience.sensors(&reading(group, told.data.get()));
        }
    }

    /// A reading of a group that stays true until there is another.
    pub(super) fn retain(&self, group: &str, payload: &[u8]) {
        if let Ok(told) = serde_json::from_slice::<Told<'_>>(payload) {
            lock(&self.retained).insert(group.into(), told.data.get().into());
        }
        self.read(group, payload);
    }

    /// A frame of a topic.
    pub(super) fn frame(&self, topic: &'static str, payload: &[u8]) {
        let Some(audience) = self.audience() else { return };
        match topic {
            "map" => {
                if self.map.take(payload) {
                    audience.blocks_changed(topic);
                }
            }
            _ => audience.frame(topic, payload.to_vec()),
        }
    }

    pub(super) fn groups(&self) -> Vec<String> {
        lock(&self.known).report.sensors.clone()
    }

    pub(super) fn frame_topics(&self) -> Vec<&'static str> {
        let known = lock(&self.known);
        FRAMES
            .into_iter()
            .filter(|topic| known.about.frames.iter().any(|told| told == topic))
            .collect()
    }

    fn deadman(&self) -> Option<Duration> {
        lock(&self.known).report.limits.map(|limits| Duration::from_millis(limits.deadman_ms))
    }

    /// Why nothing can be asked of it.
    pub(super) fn check_there(&self) -> Result<(), Refusal> {
        let link = self.report().link;
        match lock(&self.known).lost {
            None => Ok(()),
            Some(_) => {
                let reason = link.reason.unwrap_or_default();
                Err(Refusal::new(
                    Code::LinkLost,
                    format!("{} cannot be reached: {reason}", self.name),
                ))
            }
        }
    }
}

impl Relay for Remote {
    fn report(&self) -> RobotReport {
        let known = lock(&self.known);
        let mut report = known.report.clone();
        // Its daemon tells at least once a second: what it told is as old as that, too.
        let told = known.told.elapsed();
        report.age(told);
        report.fresh &= told <= STALE;
        let Some(seen) = known.lost else { return report };
        let host = &self.host.name;
        let reason = match seen {
            Seen::Before => format!("{host} is not in the fleet any more"),
            Seen::Never => format!("{host}/{} was not seen in the fleet yet", self.robot),
            Seen::Silent => format!("{host} is in the fleet, but does not answer"),
            Seen::Withdrawn => format!("{host} has ended, and has stopped it before"),
        };
        report.link = LinkReport {
            state: "disconnected".into(),
            reason: Some(reason),
            ..LinkReport::default()
        };
        report.fresh = false;
        report.holder = None;
        report.links.values_mut().for_each(|link| link.fresh = Some(false));
        report
    }

    fn frames(&self) -> Vec<(&'static str, Frames)> {
        let frames = |topic: &'static str| match topic {
            "map" => (topic, Frames::Blocks(Arc::clone(&self.map) as Arc<dyn Blocks>)),
            "messages" | sinew_api::RAW => (topic, Frames::All),
            _ => (topic, Frames::Newest),
        };
        self.frame_topics().into_iter().map(frames).collect()
    }

    fn ask(
        &self,
        command: Command,
        confirmed: bool,
        rules: Rules,
        origin: Origin,
    ) -> Boxed<'static, Result<Value, Refusal>> {
        if let Err(refusal) = self.check_there() {
            return Box::pin(async { Err(refusal) });
        }
        let is_velocity = matches!(&command, Command::ComponentControl { id, action }
            if *id == drive::ID && action["type"] == "Configure");
        let mut message = command.to_value();
        if confirmed {
            message["confirm"] = true.into();
        }
        let (halts, before) = (Arc::clone(&self.halts), self.halts.load(Ordering::Acquire));
        let name = self.name.clone();
        let is_valid = move || match halts.load(Ordering::Acquire) == before {
            true => Ok(()),
            false => {
                Err(Refusal::new(Code::NotReady, format!("{name} was stopped before it was sent")))
            }
        };
        let deadman = self.deadman().filter(|_| is_velocity);
        self.host.ask(&self.robot, message, rules, &origin, is_valid, deadman)
    }

    fn halt(
        &self,
        halt: &Halt,
        by: &Arc<str>,
        client: u64,
        _epoch: u64,
    ) -> Boxed<'static, Result<Value, Refusal>> {
        self.halts.fetch_add(1, Ordering::AcqRel);
        let message = Command::Halt(halt.clone()).to_value();
        // It is tried also where the robot seems to be away: it costs nothing.
        let stopping = self.host.halt(&self.robot, message, by, client);
        let there = self.check_there();
        let is_withdrawn = lock(&self.known).lost == Some(Seen::Withdrawn);
        Box::pin(async move {
            stopping.await.or_else(|refusal| match there {
                // It has been stopped, and there is no daemon that would move it.
                Err(_) if is_withdrawn && refusal.code == Code::Unconfirmed => Ok(Value::Null),
                Err(away) if refusal.code == Code::Unconfirmed => Err(away),
                _ => Err(refusal),
            })
        })
    }

    fn left(&self, client: u64) {
        self.host.left(client);
    }

    fn done(&self, client: u64) {
        self.host.done(client);
    }

    fn export(&self, format: Format) -> Boxed<'static, Result<Vec<u8>, Refusal>> {
        let key = self.key(&format!("export/{}", format.name()));
        let there = self.check_there();
        let host = Arc::clone(&self.host);
        Box::pin(async move {
            there?;
            let failed = |why: &str| {
                Refusal::new(Code::LinkLost, format!("{} gave no map: {why}", host.name))
            };
            let stamp = serde_json::to_string(&host.stamp("export")).unwrap_or_default();
            let asked = host.session.get(key).attachment(stamp).timeout(EXPORT).await;
            let replies = asked.map_err(|error| failed(&error.to_string()))?;
            let reply = timeout(EXPORT, replies.recv_async()).await;
            let Ok(Ok(reply)) = reply else { return Err(failed("it did not answer")) };
            match reply.into_result() {
                Ok(sample) => Ok(sample.payload().to_bytes().into_owned()),
                Err(error) => Err(serde_json::from_slice(&error.payload().to_bytes())
                    .unwrap_or_else(|_| failed("it did not say why"))),
            }
        })
    }

    fn retained(&self, group: &str) -> Option<Reading> {
        let text = lock(&self.retained).get(group).cloned()?;
        Some(reading(group, &text))
    }
}

fn reading(group: &str, text: &str) -> Reading {
    let text = text.to_owned();
    Reading::new(group.to_owned(), move |_| text.clone())
}

impl Map {
    /// Takes a frame; false if it is none.
    fn take(&self, payload: &[u8]) -> bool {
        let Ok(frame) = frame::Frame::read(payload) else { return false };
        if frame.kind != frame::Kind::Map {
            return false;
        }
        let points = frame
            .points()
            .map(|mut point| std::array::from_fn(|_| point.next().unwrap_or_default()));
        let header = &frame.header;
        let mut mapped = lock(&self.0);
        if !mapped.mirror.take(header.epoch, header.time_us, points) {
            tracing::debug!("fleet: a map is too large: some of it is left out");
        }
        mapped.name = header.name.into();
        (mapped.pose, mapped.origin) = (header.pose, header.origin);
        (mapped.unit, mapped.is_flat) = (header.unit, header.is_flat);
        true
    }
}

impl Blocks for Map {
    fn next(&self, place: &mut Cursor) -> Option<Vec<u8>> {
        let mapped = lock(&self.0);
        if mapped.mirror.is_current(place) {
            return None;
        }
        let mut points = Vec::new();
        mapped.mirror.changes(place, frame::MAP_POINTS, &mut points);
        let header = frame::Header {
            time_us: mapped.mirror.time_us(),
            epoch: mapped.mirror.epoch(),
            name: &mapped.name,
            pose: mapped.pose,
            origin: mapped.origin,
            unit: mapped.unit,
            is_flat: mapped.is_flat,
            ..frame::Header::default()
        };
        Some(frame::map(&header, &points))
    }
}
