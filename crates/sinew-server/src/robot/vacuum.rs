use std::{sync::Arc, time::Instant};

use serde_json::Value;
use sinew_io::vacuum::Vacuum;
use sinew_robot::{
    Refusal,
    vacuum::{
        Command, Counters, Event, Link, State,
        sensors::{self, Gd32Status},
    },
};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{
    Boxed, Capability, Detail, Figure, Happening, Happenings, Reading, Robot, Snapshot,
    sensor_group, timestamp_us,
};

const STATUS: &str = "gd32_status";
const VERSION: &str = "gd32_version";

impl Robot for Vacuum {
    fn kind(&self) -> &'static str {
        "crl200s"
    }

    fn capabilities(&self) -> &'static [Capability] {
        &[Capability::Drive, Capability::Components, Capability::Sensors]
    }

    fn groups(&self) -> &'static [&'static str] {
        &[STATUS, VERSION]
    }

    fn execute<'a>(
        &'a self,
        command: Command,
        by: &'a str,
        received: Instant,
    ) -> Boxed<'a, Result<(), Refusal>> {
        Box::pin(Vacuum::execute_since(self, received, command, by))
    }

    fn stop(&self, by: &str) {
        Vacuum::stop(self, by);
    }

    fn disable(&self, by: &str) {
        Vacuum::disable(self, by);
    }

    fn release(&self, by: &str) {
        Vacuum::release(self, by);
    }

    fn taken(&self, by: &str) {
        Vacuum::taken(self, by);
    }

    fn snapshot(&self) -> Snapshot {
        let state = self.state();
        let since_seen = state.last_seen.map(|seen| seen.elapsed());
        let heard = since_seen.is_some_and(|since| since <= self.settings().link_timeout());
        let mut members = match serde_json::to_value(&*state) {
            Ok(Value::Object(members)) => members,
            _ => Default::default(),
        };
        // These two stand beside the state, for robots of every kind.
        let link = members.remove("link").unwrap_or_default();
        members.remove("stopped_by");
        Snapshot {
            link,
            fresh: heard && !matches!(state.link, Link::Disconnected | Link::Lost),
            stopped_by: state.stopped_by.clone(),
            since_seen,
            state: members,
            figures: figures(&state),
        }
    }

    fn lasting(&self, group: &str) -> Option<Reading> {
        let state = self.state();
        let text = state.version.clone().filter(|_| group == VERSION)?;
        Some(version(text, state.version_code))
    }

    fn listen(&self, wanted: bool) {
        self.tell_status(wanted);
    }

    fn happenings(&self) -> Box<dyn Happenings> {
        Box::new(Listener { vacuum: self.clone(), events: self.events() })
    }
}

struct Listener {
    vacuum: Vacuum,
    events: Receiver<Arc<Event>>,
}

impl Happenings for Listener {
    fn next(&mut self) -> Boxed<'_, Option<Happening>> {
        Box::pin(async {
            Some(match self.events.recv().await {
                Ok(event) => match &*event {
                    Event::Status { .. } => Happening::Sensors(self.status(event)),
                    Event::Version { text, code } => {
                        Happening::Sensors(version(text.clone(), *code))
                    }
                    other => Happening::Event(serde_json::to_value(other).unwrap_or_default()),
                },
                Err(RecvError::Lagged(count)) => Happening::Missed(count),
                Err(RecvError::Closed) => return None,
            })
        })
    }
}

impl Listener {
    fn status(&self, event: Arc<Event>) -> Reading {
        let profile = self.vacuum.settings().profile;
        let now = timestamp_us();
        let json = move |detail| {
            let Event::Status { status, raw } = &*event else { return String::new() };
            let raw = Some(raw).filter(|_| detail == Detail::WithRaw);
            sensor_group(STATUS, now, &Gd32Status { status, raw, profile: &profile })
        };
        Reading { group: STATUS, json: Box::new(json) }
    }
}

fn version(text: String, code: Option<i32>) -> Reading {
    let now = timestamp_us();
    let json = move |_| sensor_group(VERSION, now, &sensors::gd32_version(&text, code));
    Reading { group: VERSION, json: Box::new(json) }
}

fn figures(state: &State) -> Vec<Figure> {
    let Counters { frames, bad_checks, dropped, sent, .. } = state.counters;
    let counter =
        |name, help, value: u64| Figure { name, help, counter: true, value: value as f64 };
    let gauge = |name, help, value: f64| Figure { name, help, counter: false, value };
    let mut figures = vec![
        counter("frames_total", "Good frames received.", frames),
        counter("frames_sent_total", "Frames sent.", sent),
        counter("bad_checks_total", "Frames whose check was wrong.", bad_checks),
        counter("dropped_bytes_total", "Bytes that belong to no frame.", dropped),
    ];
    if let Some(percent) = state.battery_percent {
        let help = "Battery charge by voltage.";
        figures.push(gauge("battery_percent", help, percent.into()));
    }
    if let Some(volts) = state.battery_volts {
        figures.push(gauge("battery_volts", "Battery voltage.", volts));
    }
    figures
}
