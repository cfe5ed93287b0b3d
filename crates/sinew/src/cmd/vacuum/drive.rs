//! `sinew vacuum drive` and `tank`: a velocity for a while, and what came of it.

use std::{
    f64::consts::{PI, TAU},
    io::Write,
    time::{Duration, Instant},
};

use anyhow::Context;
use serde_json::{Map, Value, json};
use sinew_api::{Command, Event, Topic};
use sinew_robot::{Refusal, Remedy, capability::Capability};

use super::control;
use crate::{
    DONE,
    client::{Client, Daemon},
    interrupt::{self, Interrupted},
    output::printable_json,
    phrases::{Refused, hazards},
    progress::{Progress, clock},
    say::say,
};

/// How often a velocity is sent anew; the robot stops 300 ms after the last one.
const REFRESH: Duration = Duration::from_millis(100);
/// How soon Ctrl-C is seen.
const LOOK: Duration = Duration::from_millis(20);
/// How long a robot that was stopped may roll before its distance is told.
const ROLL: Duration = Duration::from_millis(500);
/// How long the reason for a stop may be behind the stop.
const BEHIND: Duration = Duration::from_millis(100);

/// A velocity in words.
pub(super) fn velocity(linear: f32, angular: f32) -> String {
    match (linear, angular) {
        (_, 0.0) => format!("at {linear} m/s"),
        (0.0, _) => format!("at {angular} rad/s"),
        _ => format!("at {linear} m/s and {angular} rad/s"),
    }
}

/// Enables the drive, refreshes the velocity until the time is over or Ctrl-C, and stops.
pub(super) fn run(
    daemon: &Daemon,
    speeds: [(&str, f32); 2],
    what: &str,
    duration: Duration,
    json: bool,
) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    let mut client = daemon.connect()?;
    let report = client.choose(Capability::Drive)?;
    let topics = vec![Topic::State, Topic::Events];
    client.request(Command::Subscribe { topics, max_hz: Some(10.0) })?;
    let configure = |speeds: [(&str, f32); 2]| {
        let config = speeds.map(|(name, speed)| (name, json!({ "F32": speed })));
        control("drive", "Configure", &config)
    };
    client.request(control("drive", "Enable", &[]))?;
    let (name, state) = report
        .map_or_else(|| ("the robot".into(), Map::new()), |report| (report.name, report.state));
    let mut trip = Trip::new(name, &state, what, duration);
    let driven = trip.drive(&mut client, &interrupted, || configure(speeds));
    let seconds = trip.begin.elapsed().min(duration).as_secs_f64();
    // Before anything else, also after a refusal: what was accepted before it may still be in force.
    // By velocity or by wheel, as it was driven: neither is known to override the other.
    let stopped = client.request(configure(speeds.map(|(name, _)| (name, 0.0))));
    if trip.accepted && driven.as_ref().is_err_and(|error| error.is::<Refused>()) {
        trip.hear_why(&mut client);
    }
    trip.roll_out(&mut client);
    trip.progress.end();
    let drove = format!("{} in {seconds:.1} s", trip.way());
    let ended = match driven {
        Ok(ended) => ended,
        Err(error) if trip.accepted => return Err(trip.explained(error).context(drove)),
        Err(error) => return Err(error),
    };
    stopped.context(drove.clone())?;
    say(&format!("{drove}: {ended}"));
    if json {
        let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
        let done = json!({
            "ok": true, "distance_m": rounded(trip.metres), "turned_rad": rounded(trip.turned),
            "seconds": rounded(seconds), "ended": ended,
        });
        writeln!(std::io::stdout().lock(), "{}", printable_json(&done))?;
    }
    Ok(DONE)
}

/// What the robot has done since it was told to drive.
struct Trip {
    robot: String,
    what: String,
    begin: Instant,
    duration: Duration,
    /// Metres by its odometry before.
    before: f64,
    metres: f64,
    heading: f64,
    /// Radians, counter-clockwise.
    turned: f64,
    /// Whether a velocity was accepted.
    accepted: bool,
    /// What ended it, if it was not this command.
    why: Option<Why>,
    progress: Progress,
}

/// What ended a way.
#[derive(Debug)]
enum Why {
    /// A stop, by a client or for a reason that is told besides.
    Stopped(String),
    /// That reason.
    Reason(String),
}

impl Trip {
    fn new(robot: String, state: &Map<String, Value>, what: &str, duration: Duration) -> Self {
        let (before, heading) = place(state);
        Trip {
            robot,
            what: what.into(),
            begin: Instant::now(),
            duration,
            before,
            metres: 0.0,
            heading,
            turned: 0.0,
            accepted: false,
            why: None,
            progress: Progress::new(),
        }
    }

    /// Refreshes a velocity until the time is over or Ctrl-C, which it tells apart.
    fn drive(
        &mut self,
        client: &mut Client,
        interrupted: &Interrupted,
        command: impl Fn() -> Command,
    ) -> anyhow::Result<&'static str> {
        self.begin = Instant::now();
        let over = self.begin + self.duration;
        loop {
            let due = (Instant::now() + REFRESH).min(over);
            client.request(command())?;
            if !std::mem::replace(&mut self.accepted, true) {
                let (robot, what, time) = (&self.robot, &self.what, self.duration.as_secs_f64());
                self.progress.begin(&format!("{robot}: driving {what} for {time:.1} s"));
            }
            loop {
                let now = Instant::now();
                if interrupted.is_set() {
                    return Ok("Ctrl-C");
                }
                if now >= over {
                    return Ok("time over");
                }
                if now >= due {
                    break;
                }
                client.set_patience((due - now).clamp(Duration::from_millis(1), LOOK))?;
                if let Some(event) = client.next_event()? {
                    self.note(&event);
                }
                self.show();
            }
        }
    }

    fn show(&mut self) {
        let (clock, part) = clock(self.begin.elapsed(), Some(self.duration));
        let text = format!("{}: {:.2} m, {clock}", self.robot, self.metres);
        self.progress.show(&text, part);
    }

    /// What an event tells about the way, or about its end.
    fn note(&mut self, event: &Event) {
        if event.robot != self.robot {
            return;
        }
        if let Some(report) = event.state() {
            return self.move_to(&report.state);
        }
        let data = &event.data;
        let text = |pointer: &str| data.pointer(pointer).and_then(Value::as_str);
        let by = text("/by").unwrap_or("another client");
        match text("/event") {
            Some("reflex") => {
                let names = data["what"].as_array().into_iter().flatten();
                let what = hazards(names.filter_map(Value::as_str));
                let free = "only backwards or turning in place until it clears";
                self.why = Some(Why::Reason(format!("{what}: {free}")));
            }
            Some("taken") => self.why = Some(Why::Reason(format!("{by} took the controls"))),
            Some("link") if text("/link/state") != Some("ready") => {
                let state = text("/link/state").unwrap_or("lost");
                let reason = text("/link/reason").map_or(String::new(), |why| format!(" ({why})"));
                self.why = Some(Why::Reason(format!("the link is {state}{reason}")));
            }
            Some("stopped") if self.why.is_none() => {
                self.why = Some(Why::Stopped(format!("stopped by {by}")));
            }
            _ => {}
        }
    }

    /// Takes in what the robot's state tells.
    fn move_to(&mut self, state: &Map<String, Value>) {
        let (distance, heading) = place(state);
        // A robot that was connected again counts from the beginning.
        if distance < self.before {
            return;
        }
        self.metres = distance - self.before;
        self.turned += (heading - self.heading + PI).rem_euclid(TAU) - PI;
        self.heading = heading;
    }

    /// The events that say why something was refused come a moment later, or have come already.
    fn hear_why(&mut self, client: &mut Client) {
        let begin = Instant::now();
        loop {
            let patience = match &self.why {
                None => ROLL,
                Some(Why::Stopped(_)) => BEHIND,
                Some(Why::Reason(_)) => return,
            };
            if begin.elapsed() > patience || client.set_patience(LOOK).is_err() {
                return;
            }
            match client.next_event() {
                Ok(Some(event)) => self.note(&event),
                Ok(None) => {}
                Err(_) => return,
            }
        }
    }

    /// The refusal that ended the way, with what led to it.
    fn explained(&mut self, error: anyhow::Error) -> anyhow::Error {
        match (error.downcast::<Refused>(), self.why.take()) {
            (Ok(Refused(refusal)), Some(Why::Stopped(message) | Why::Reason(message))) => {
                // Another drive enables the wheels by itself.
                let remedy = refusal.remedy.filter(|remedy| *remedy != Remedy::Enable);
                Refused(Refusal { message, remedy, ..refusal }).into()
            }
            (Ok(refused), None) => refused.into(),
            (Err(error), _) => error,
        }
    }

    /// Waits until the robot stands, to tell all of its way.
    fn roll_out(&mut self, client: &mut Client) {
        let begin = Instant::now();
        while begin.elapsed() < ROLL {
            let Ok(robots) = client.robots() else { return };
            let Some(report) = robots.robots.into_iter().find(|one| one.name == self.robot) else {
                return;
            };
            let before = (self.metres, self.turned);
            self.move_to(&report.state);
            // What a robot of a fleet tells is some way behind what it was told.
            if before == (self.metres, self.turned) && stands(&report.state) {
                return;
            }
            std::thread::sleep(2 * LOOK);
        }
    }

    /// The way in words.
    fn way(&self) -> String {
        let degrees = self.turned.to_degrees();
        let side = if degrees > 0.0 { "left" } else { "right" };
        let turned = match degrees.abs() {
            less if less < 1.0 => String::new(),
            degrees => format!(" and turned {degrees:.0}° to the {side}"),
        };
        format!("{} drove {:.2} m{turned}", self.robot, self.metres)
    }
}

/// Whether it is not told to move.
fn stands(state: &Map<String, Value>) -> bool {
    let velocity = state.get("velocity");
    ["linear", "angular"].iter().all(|way| {
        velocity.and_then(|velocity| velocity[way].as_f64()).is_none_or(|speed| speed == 0.0)
    })
}

/// Metres driven, and where the robot looks.
fn place(state: &Map<String, Value>) -> (f64, f64) {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64).unwrap_or_default();
    let heading = state.get("pose").and_then(|pose| pose.get("heading"));
    (number(state.get("distance")), number(heading))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip() -> Trip {
        let state = json!({ "distance": 2.0, "pose": { "heading": 3.0 } });
        let Value::Object(state) = state else { return trip() };
        Trip::new("v".into(), &state, "0.2 m/s", Duration::from_secs(3))
    }

    fn event(topic: &str, data: Value) -> Event {
        Event { topic: topic.into(), robot: "v".into(), data }
    }

    #[test]
    fn a_way_is_told_in_metres_and_degrees() {
        let mut trip = trip();
        assert_eq!(trip.way(), "v drove 0.00 m");
        for (distance, heading) in [(2.1, 3.1), (2.3, -3.1)] {
            let state = json!({ "distance": distance, "pose": { "heading": heading } });
            trip.move_to(state.as_object().expect("is one"));
        }
        // Over half a turn: 3.0 to -3.1 is 0.18 rad.
        assert_eq!(trip.way(), "v drove 0.30 m and turned 10° to the left");
    }

    #[test]
    fn the_reason_is_the_one_that_explains() {
        for (events, wanted) in [
            (vec![json!({ "event": "stopped", "by": "bob@desk" })], "stopped by bob@desk"),
            (
                vec![json!({ "event": "reflex", "what": ["bumper_left"] })],
                "left bumper: only backwards or turning in place until it clears",
            ),
            (
                vec![
                    json!({ "event": "stopped", "by": "bob@desk took the controls" }),
                    json!({ "event": "taken", "by": "bob@desk", "from": "ann@laptop" }),
                ],
                "bob@desk took the controls",
            ),
            (
                vec![
                    json!({ "event": "stopped", "by": "link lost" }),
                    json!({ "event": "link", "link": { "state": "lost", "reason": "silence" } }),
                ],
                "the link is lost (silence)",
            ),
        ] {
            let mut trip = trip();
            for data in events {
                trip.note(&event("events", data));
            }
            let Some(Why::Stopped(why) | Why::Reason(why)) = trip.why.take() else { panic!() };
            assert_eq!(why, wanted);
        }
    }
}
