//! What a robot tells: its topics.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use sinew_api::{
    Change, RobotReport, Topic,
    frame::{Frame, set_robot},
    sangam,
};
use sinew_robot::{
    Refusal,
    capability::{Audience, Detail, Frames, Reading},
    text::is_unshowable,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until, timeout_at},
};

use crate::{
    hub::Member,
    lock,
    refusals::ShownRefusals,
    ring::{Form, Ring},
};

/// `state` is published on change, but not more often than this.
const STATE_PERIOD: Duration = Duration::from_millis(100);
/// And this often where only numbers change that count what passes: a robot at rest takes no more than that.
const COUNT_PERIOD: Duration = Duration::from_secs(1);
/// Characters of a refusal that are shown; it may quote what was sent.
const LONGEST: usize = 400;

/// The topics of one robot. Drivers publish to them from their own threads.
#[derive(Debug)]
pub(crate) struct Feed {
    robot: String,
    /// The robot's place among all.
    place: u16,
    state: Arc<Ring>,
    events: Arc<Ring>,
    /// Those that the robot's drivers contribute, known once it is built.
    groups: Rings<Arc<str>>,
    frames: Rings<&'static str>,
    /// Told when the state may have changed.
    changed: Notify,
    /// It may have changed while it was not read: readers know another one than was published.
    unread: AtomicBool,
    missed: AtomicU64,
    refused: ShownRefusals,
}

impl Feed {
    pub(crate) fn new(robot: &str, place: u16) -> Self {
        Feed {
            // The name goes into every message: quoted once.
            robot: Value::from(robot).to_string(),
            place,
            state: Arc::default(),
            events: Arc::default(),
            groups: OnceLock::new(),
            frames: OnceLock::new(),
            changed: Notify::new(),
            unread: AtomicBool::new(false),
            missed: AtomicU64::new(0),
            refused: ShownRefusals::default(),
        }
    }

    /// Makes the topics that a robot's drivers publish to.
    pub(crate) fn open(&self, groups: &[Arc<str>], frames: &[(&'static str, Frames)]) {
        let groups = groups.iter().map(|group| (Arc::clone(group), Arc::default()));
        self.groups.get_or_init(|| groups.collect());
        let frames = frames.iter().map(|(topic, frames)| {
            let ring = Ring::frames(frames, self.place);
            (*topic, Arc::new(ring))
        });
        self.frames.get_or_init(|| frames.collect());
    }

    /// Ends all topics: another robot has this one's place.
    #[cfg(feature = "relay")]
    pub(crate) fn end(&self) {
        self.state.end();
        self.events.end();
        self.groups.get().into_iter().flatten().for_each(|(_, ring)| ring.end());
        self.frames.get().into_iter().flatten().for_each(|(_, ring)| ring.end());
    }

    pub(crate) fn ring(&self, topic: &Topic) -> Option<&Arc<Ring>> {
        match topic {
            Topic::State => Some(&self.state),
            Topic::Events => Some(&self.events),
            Topic::Sensors(group) => find(&self.groups, group),
            Topic::Frames(name) => find(&self.frames, name),
        }
    }

    /// The topics of frames that there are.
    #[cfg(feature = "local")]
    pub(crate) fn frame_topics(&self) -> Vec<&'static str> {
        self.frames.get().into_iter().flatten().map(|(topic, _)| *topic).collect()
    }

    /// Events that were lost before they came here.
    pub(crate) fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// A message of a topic, in one of its forms.
    pub(crate) fn write(&self, form: Form, topic: &Topic, data: &str) -> String {
        let robot = &self.robot;
        let event =
            || format!(r#"{{"type":"Event","topic":"{topic}","robot":{robot},"data":{data}}}"#);
        match form {
            Form::Legacy if matches!(topic, Topic::Sensors(_)) => {
                format!(r#"{{"topic":"{topic}","payload":{data}}}"#)
            }
            Form::Legacy => format!(r#"{{"topic":"{topic}","payload":{}}}"#, event()),
            Form::Event | Form::Frame | Form::Sangam => event(),
        }
    }

    /// A sensor group's message.
    pub(crate) fn write_reading(&self, form: Form, reading: &Reading) -> Vec<u8> {
        let (name, detail) = match form {
            Form::Sangam => {
                return sangam::sensors(&(reading.json)(Detail::Sangam)).unwrap_or_default();
            }
            Form::Legacy => (&reading.legacy, Detail::WithRaw),
            Form::Event | Form::Frame => (&reading.group, Detail::Values),
        };
        self.write(form, &Topic::Sensors(name.clone().into_owned()), &(reading.json)(detail)).into()
    }
}

impl Feed {
    /// Logs an event: a link that is down with its reason, so that it is known without a client,
    /// and what the exception for clients of document 003's interface lets pass.
    fn log(&self, event: &Value) {
        let robot = self.robot.trim_matches('"');
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
        // One of several links is told by its driver's name.
        let link = text("/driver").map_or("link".into(), |driver| format!("{driver} link"));
        match (text("/link/state"), text("/link/reason")) {
            (Some(state), Some(reason)) => tracing::warn!(robot, "{link} {state}: {reason}"),
            (Some(state), None) => tracing::info!(robot, "{link} {state}"),
            (None, _) => match exception(event) {
                Some(words) => tracing::info!(robot, "{words}"),
                None => tracing::debug!(robot, "{event}"),
            },
        }
    }

    fn publish(&self, event: &Value) {
        let text = event.to_string();
        self.events.publish(|form| self.write(form, &Topic::Events, &text).into());
    }

    /// Shows what was refused to a client that gets no answer. It is in the log already.
    pub(crate) fn refused(&self, by: &str, command: Option<&str>, refusal: &Refusal) {
        // What a flooding client is refused must not push out other events.
        if !self.refused.has_room() {
            return;
        }
        let message: String =
            refusal.message.chars().filter(|c| !is_unshowable(*c)).take(LONGEST).collect();
        let code = refusal.code.as_str();
        self.publish(&json!({
            "event": "refused", "by": by, "command": command, "code": code, "message": message,
        }));
    }
}

/// Words for what clients of document 003's interface are let do that others are not.
fn exception(event: &Value) -> Option<String> {
    let member = |name: &str| event.get(name).unwrap_or(&Value::Null);
    let by = member("by").as_str().unwrap_or_default();
    Some(match member("event").as_str()? {
        "held" => format!("{by} may hold its velocity for {} ms", member("hold_ms")),
        "scaled" => {
            let factor = member("factor").as_f64().unwrap_or_default();
            format!("{by} is too fast: both of its speeds are scaled by {factor:.3}")
        }
        "hold_ended" => match member("reason").as_str()? {
            "expired" => "stopped: a velocity was held for as long as it may be".into(),
            "unreachable" => "stopped: a client that held a velocity is out of reach".into(),
            _ => "stopped: a client that held a velocity may not do so".into(),
        },
        "repeats" => {
            let deadman = member("deadman_ms");
            format!("{by} repeats its velocities: from now on each counts for {deadman} ms")
        }
        _ => return None,
    })
}

/// Topics by their names, known once their robot is built.
type Rings<N> = OnceLock<Vec<(N, Arc<Ring>)>>;

fn find<'a, N: AsRef<str>>(rings: &'a Rings<N>, name: &str) -> Option<&'a Arc<Ring>> {
    rings.get()?.iter().find(|(other, _)| other.as_ref() == name).map(|(_, ring)| ring)
}

impl Audience for Feed {
    fn wants_sensors(&self) -> bool {
        let groups = self.groups.get().into_iter().flatten().map(|(_, ring)| ring);
        let frames = self.frames.get().into_iter().flatten().map(|(_, ring)| ring);
        self.state.has_readers() || groups.chain(frames).any(|ring| ring.has_readers())
    }

    fn wants_readings(&self, group: &str) -> bool {
        find(&self.groups, group).is_some_and(|ring| ring.has_readers())
    }

    fn sensors(&self, reading: &Reading) {
        if let Some(ring) = find(&self.groups, &reading.group) {
            ring.publish(|form| self.write_reading(form, reading));
        }
    }

    fn frame(&self, topic: &str, mut frame: Vec<u8>) {
        let Some(ring) = find(&self.frames, topic).filter(|ring| ring.has_readers()) else {
            return;
        };
        set_robot(&mut frame, self.place);
        match Frame::read(&frame) {
            Ok(_) => ring.publish(|_| frame.clone()),
            // A client could not acknowledge it.
            Err(error) if self.refused.has_room() => {
                tracing::warn!(robot = self.robot, "a frame of {topic} is left out: {error}");
            }
            Err(_) => {}
        }
    }

    fn blocks_changed(&self, topic: &str) {
        if let Some(ring) = find(&self.frames, topic) {
            ring.blocks_changed();
        }
    }

    fn wants_frames(&self, topic: &str) -> bool {
        find(&self.frames, topic).is_some_and(|ring| ring.has_readers())
    }

    fn event(&self, event: Value) {
        self.log(&event);
        self.publish(&event);
    }

    fn changed(&self) {
        // While it is not read, its next reader is told what it is then.
        match self.state.has_readers() {
            true => self.changed.notify_one(),
            false => self.unread.store(true, Ordering::Relaxed),
        }
    }

    fn missed(&self, count: u64) {
        self.missed.fetch_add(count, Ordering::Relaxed);
    }
}

/// Publishes a robot's state when it has changed, for as long as the server runs.
pub(crate) async fn run(member: Arc<Member>) {
    let feed = &member.feed;
    let mut published: Option<RobotReport> = None;
    // When counts are told next, and whether some wait for it.
    let (mut due, mut waiting) = (Instant::now(), false);
    loop {
        match waiting {
            // Whether something came or not: it is looked at.
            true => drop(timeout_at(due, feed.changed.notified()).await),
            false => feed.changed.notified().await,
        }
        let now = Instant::now();
        published.take_if(|_| feed.unread.swap(false, Ordering::Relaxed));
        let report = member.report();
        let change = published.as_ref().map_or(Change::News, |before| report.change_since(before));
        waiting = change == Change::Counts && now < due;
        if change != Change::None && !waiting {
            let text = text(&report);
            feed.state.publish(|form| feed.write(form, &Topic::State, &text).into());
            (published, due) = (Some(report), now + COUNT_PERIOD);
        }
        sleep_until(now + STATE_PERIOD).await;
    }
}

fn text(report: &RobotReport) -> String {
    // Only a map whose keys are not text could fail.
    serde_json::to_string(report).unwrap_or_default()
}

impl Member {
    /// The `state` message that a new subscriber gets.
    pub(crate) fn state_message(&self, form: Form) -> String {
        self.feed.write(form, &Topic::State, &text(&self.report()))
    }

    /// The holder of the controls, by name.
    pub(crate) fn holder(&self) -> Option<Arc<str>> {
        lock(&self.control).holder.as_ref().map(|holder| Arc::clone(&holder.name))
    }
}
