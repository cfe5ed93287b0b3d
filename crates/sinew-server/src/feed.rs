//! What a robot tells: its topics, and the task that fills them.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use crate::{
    hub::{Hub, Member},
    lock,
    ring::{Form, Ring},
    robot::{Detail, Happening, Reading},
};

/// `state` is published on change, but not more often than this.
const STATE_PERIOD: Duration = Duration::from_millis(100);

/// The topics of one robot.
#[derive(Debug)]
pub(crate) struct Feed {
    robot: String,
    state: Arc<Ring>,
    events: Arc<Ring>,
    sensors: Vec<(&'static str, Arc<Ring>)>,
}

impl Feed {
    pub(crate) fn new(robot: &str, groups: &[&'static str]) -> Self {
        let sensors = groups.iter().map(|group| (*group, Arc::default())).collect();
        // The name goes into every message: quoted once.
        let robot = serde_json::Value::from(robot).to_string();
        Feed { robot, state: Arc::default(), events: Arc::default(), sensors }
    }

    pub(crate) fn ring(&self, topic: &Topic) -> Option<&Arc<Ring>> {
        match topic {
            Topic::State => Some(&self.state),
            Topic::Events => Some(&self.events),
            Topic::Sensors(group) => {
                self.sensors.iter().find(|(name, _)| name == group).map(|(_, ring)| ring)
            }
            Topic::Cloud => None,
        }
    }

    /// Whether anyone reads what sensors change. The state is among it.
    fn follows_sensors(&self) -> bool {
        let mut sensors = self.sensors.iter().map(|(_, ring)| ring);
        self.state.has_readers() || sensors.any(|ring| ring.has_readers())
    }

    /// A message of a topic, in one of its forms.
    pub(crate) fn write(&self, form: Form, topic: &str, data: &str) -> String {
        let robot = &self.robot;
        let event =
            || format!(r#"{{"type":"Event","topic":"{topic}","robot":{robot},"data":{data}}}"#);
        match form {
            Form::Event => event(),
            Form::Legacy if topic.starts_with(SENSORS) => {
                format!(r#"{{"topic":"{topic}","payload":{data}}}"#)
            }
            Form::Legacy => format!(r#"{{"topic":"{topic}","payload":{}}}"#, event()),
        }
    }

    /// A sensor group's message.
    pub(crate) fn write_reading(&self, form: Form, reading: &Reading) -> String {
        let detail = match form {
            Form::Event => Detail::Values,
            Form::Legacy => Detail::WithRaw,
        };
        self.write(form, &format!("{SENSORS}{}", reading.group), &(reading.json)(detail))
    }
}

const SENSORS: &str = "sensors/";

/// Something to subscribe to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Topic {
    State,
    Events,
    Sensors(String),
    Cloud,
}

impl Topic {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "state" => Some(Topic::State),
            "events" => Some(Topic::Events),
            "cloud" => Some(Topic::Cloud),
            _ => text.strip_prefix(SENSORS).map(|group| Topic::Sensors(group.into())),
        }
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Topic::State => f.write_str("state"),
            Topic::Events => f.write_str("events"),
            Topic::Sensors(group) => write!(f, "{SENSORS}{group}"),
            Topic::Cloud => f.write_str("cloud"),
        }
    }
}

/// Publishes what happens to a robot, for as long as it lives.
pub(crate) async fn run(hub: Arc<Hub>, member: Arc<Member>) {
    let feed = &member.feed;
    let mut happenings = member.robot.happenings();
    let mut published = String::new();
    let mut state_at = Instant::now();
    let mut state_changed = true;
    loop {
        tokio::select! {
            happening = happenings.next() => match happening {
                Some(happening) => {
                    if matches!(happening, Happening::Sensors(_)) && !feed.follows_sensors() {
                        stop_listening(&member);
                    }
                    publish(&hub, feed, happening);
                    state_changed = true;
                }
                None => return,
            },
            () = member.changed.notified() => state_changed = true,
            () = sleep_until(state_at), if state_changed && feed.state.has_readers() => {
                state_changed = false;
                state_at = Instant::now() + STATE_PERIOD;
                publish_state(&member, &mut published);
            }
        }
    }
}

fn stop_listening(member: &Member) {
    member.robot.listen(false);
    // Somebody may have subscribed between the look and this.
    if member.feed.follows_sensors() {
        member.robot.listen(true);
    }
}

fn publish(hub: &Hub, feed: &Feed, happening: Happening) {
    match happening {
        Happening::Sensors(reading) => {
            let ring = feed.sensors.iter().find(|(name, _)| *name == reading.group);
            if let Some((_, ring)) = ring {
                ring.publish(|form| feed.write_reading(form, &reading));
            }
        }
        Happening::Event(event) => {
            feed.events.publish(|form| feed.write(form, "events", &event.to_string()));
        }
        Happening::Missed(count) => hub.metrics.count_missed(count),
    }
}

fn publish_state(member: &Member, published: &mut String) {
    let mut state = member.to_json();
    let seen = state.get_mut("last_seen_ms").map(serde_json::Value::take);
    // Its age changes all the time, and is no news.
    let text = state.to_string();
    if text != *published {
        *published = text;
        state["last_seen_ms"] = seen.unwrap_or_default();
        let text = state.to_string();
        member.feed.state.publish(|form| member.feed.write(form, "state", &text));
    }
}

impl Member {
    /// The `state` message that a new subscriber gets.
    pub(crate) fn state_message(&self, form: Form) -> String {
        self.feed.write(form, "state", &self.to_json().to_string())
    }

    /// The holder of the controls, by name.
    pub(crate) fn holder(&self) -> Option<Arc<str>> {
        lock(&self.control).holder.as_ref().map(|holder| Arc::clone(&holder.name))
    }
}
