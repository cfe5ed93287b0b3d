use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::Value;
use sinew_robot::{
    Code, Refusal,
    teach::{Counters, Event, Link, State, Verb},
    vacuum::Command,
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{
    Boxed, Capability, Detail, Figure, Happening, Happenings, Reading, Robot, Snapshot, Teacher,
    sensor_group, timestamp_us,
};

const JOINTS: &str = "joints";
/// A pose that is older than this is no news.
const FRESH: Duration = Duration::from_secs(1);

impl Robot for Teacher {
    fn kind(&self) -> &'static str {
        "g1"
    }

    fn capabilities(&self) -> &'static [Capability] {
        &[Capability::Sensors, Capability::Teach]
    }

    fn groups(&self) -> &'static [&'static str] {
        &[JOINTS]
    }

    fn execute<'a>(&'a self, _: Command, _: &'a str, _: Instant) -> Boxed<'a, Result<(), Refusal>> {
        Box::pin(async { Err(Refusal::new(Code::Unsupported, "it has no such components")) })
    }

    fn teach<'a>(&'a self, verb: Verb, by: &'a str) -> Boxed<'a, Result<Value, Refusal>> {
        Box::pin(Teacher::teach(self, verb, by))
    }

    fn stop(&self, by: &str) {
        self.g1.stop(by);
    }

    /// Teaching belongs to the robot, not to a connection: it goes on, and ends by itself when
    /// nothing is asked for any more. So does what plays, unless it is Sinew that repeats it.
    fn release(&self, by: &str) {
        self.g1.release(by);
    }

    /// What plays was another client's doing, and ends.
    fn taken(&self, by: &str) {
        self.g1.taken(by);
    }

    fn snapshot(&self) -> Snapshot {
        let state = self.g1.state();
        let since_seen = state.last_seen.map(|seen| seen.elapsed());
        let mut members = match serde_json::to_value(&*state) {
            Ok(Value::Object(members)) => members,
            _ => Default::default(),
        };
        let link = members.remove("link").unwrap_or_default();
        Snapshot {
            link,
            fresh: state.link == Link::Ready && since_seen.is_some_and(|since| since <= FRESH),
            stopped_by: None,
            since_seen,
            state: members,
            figures: figures(&state),
        }
    }

    fn lasting(&self, _: &str) -> Option<Reading> {
        None
    }

    fn happenings(&self) -> Box<dyn Happenings> {
        Box::new(Listener(self.g1.events()))
    }
}

struct Listener(Receiver<Arc<Event>>);

impl Happenings for Listener {
    fn next(&mut self) -> Boxed<'_, Option<Happening>> {
        Box::pin(async {
            loop {
                return Some(match self.0.recv().await {
                    Ok(event) => match &*event {
                        Event::Status { .. } => Happening::Sensors(joints(event)),
                        // Whoever asked is answered; it is no news to others.
                        Event::Done { .. } => continue,
                        other => Happening::Event(serde_json::to_value(other).unwrap_or_default()),
                    },
                    Err(RecvError::Lagged(count)) => Happening::Missed(count),
                    Err(RecvError::Closed) => return None,
                });
            }
        })
    }
}

/// Positions and velocities as arrays; the interface has no type for those, so they stand plain.
fn joints(event: Arc<Event>) -> Reading {
    let now = timestamp_us();
    let json = move |_: Detail| {
        let Event::Status { positions, velocities, time_ms, mode, .. } = &*event else {
            return String::new();
        };
        let values = serde_json::json!({
            "positions": positions,
            "velocities": velocities,
            "time_ms": { "U32": time_ms },
            "mode": { "U32": mode },
        });
        sensor_group(JOINTS, now, &values)
    };
    Reading { group: JOINTS, json: Box::new(json) }
}

fn figures(state: &State) -> Vec<Figure> {
    let Counters { sent, retries, received, foreign, .. } = state.counters;
    let counter =
        |name, help, value: u64| Figure { name, help, counter: true, value: value as f64 };
    vec![
        counter("datagrams_sent_total", "Datagrams sent.", sent),
        counter("datagrams_received_total", "Good datagrams received.", received),
        counter("retries_total", "Datagrams sent again.", retries),
        counter("foreign_datagrams_total", "Datagrams of another protocol.", foreign),
    ]
}
