//! `sinew vacuum dock`.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use anyhow::bail;
use serde_json::Value;
use sinew_api::{Command, Event, Halt, Topic};
use sinew_robot::capability::Capability;

use super::control;
use crate::{
    DONE, client::Daemon, interrupt, output::printable_json, progress::Progress, say::say,
};

/// How long the word of how a return ended may come after the robot has stopped.
const MISSED: Duration = Duration::from_secs(1);
/// How long a daemon may say nothing of a robot that drives.
const SILENCE: Duration = Duration::from_secs(5);

/// Has the robot return to its dock and tells how it goes. The controls, and with them the
/// return, end with the connection, so it is kept until the robot has arrived or given up.
pub(super) fn run(daemon: &Daemon, json: bool) -> anyhow::Result<u8> {
    let interrupted = interrupt::flag()?;
    let mut client = daemon.connect()?;
    let robot = client.choose(Capability::Drive)?;
    let robot = robot.map_or_else(|| "the robot".into(), |robot| robot.name);
    let topics = vec![Topic::Events, Topic::State];
    client.request(Command::Subscribe { topics, max_hz: Some(5.0) })?;
    client.request(control("drive", "Enable", &[]))?;
    let begin = Instant::now();
    client.request(Command::Dock)?;
    client.set_patience(Duration::from_millis(50))?;
    let progress = Progress::new();
    let mut way = Way {
        robot,
        phase: "getting ready",
        left: None,
        is_over: false,
        began: false,
        stopped: None,
        progress,
    };
    let mut heard = Instant::now();
    while !interrupted.is_set() {
        // What says how it ended may have been missed: this program, or the daemon, was paused.
        if let Some((since, by)) = &way.stopped
            && since.elapsed() > MISSED
        {
            way.progress.end();
            bail!("{} was stopped on its way to the dock, by {by}", way.robot);
        }
        let Some(event) = client.next_event()? else {
            if heard.elapsed() > SILENCE {
                way.progress.end();
                let seconds = SILENCE.as_secs();
                bail!("the daemon has said nothing of {} for {seconds} s", way.robot);
            }
            continue;
        };
        heard = Instant::now();
        way.note_state(&event);
        if way.is_over {
            way.progress.end();
            bail!("there is no contact to {} any more, which ends its return", way.robot);
        }
        let data = &event.data;
        if data["event"] != "dock" {
            continue;
        }
        if json {
            writeln!(std::io::stdout().lock(), "{}", printable_json(data))?;
        }
        match data["dock"].as_str() {
            Some("arrived") => {
                way.progress.end();
                let seconds = begin.elapsed().as_secs_f64();
                say(&format!("{}: on the dock, charging, after {seconds:.1} s", way.robot));
                return Ok(DONE);
            }
            Some("gave_up") => {
                way.progress.end();
                let reason = data["reason"].as_str().unwrap_or("?");
                bail!("{} gave up: {reason}", way.robot);
            }
            _ => way.begin(data),
        }
    }
    way.progress.end();
    client.request(Command::Halt(Halt::Stop { note: None }))?;
    bail!("interrupted: {} was stopped on its way to the dock", way.robot)
}

/// How far the robot is.
struct Way {
    robot: String,
    phase: &'static str,
    /// Metres to the dock, where the robot tells.
    left: Option<f64>,
    /// It cannot be reached any more, which ends its return.
    is_over: bool,
    /// It was seen on its way.
    began: bool,
    /// Since when it is seen stopped after that, and by whom.
    stopped: Option<(Instant, String)>,
    progress: Progress,
}

impl Way {
    fn begin(&mut self, event: &Value) {
        self.phase = match event["phase"].as_str() {
            Some("startup") => "getting ready",
            Some("navigation") => "driving to the dock",
            Some("approach") => "backing onto the dock",
            Some("shutdown") => "switching off",
            _ => return,
        };
        self.progress.begin(&self.text());
    }

    /// What the robot's state tells about its distance.
    fn note_state(&mut self, event: &Event) {
        let Some(report) = event.state().filter(|report| report.name == self.robot) else { return };
        self.is_over = report.link.state != "ready";
        self.began |= report.stopped_by.is_none();
        self.stopped = match (self.stopped.take(), report.stopped_by) {
            (None, Some(by)) if self.began => Some((Instant::now(), by)),
            (before, Some(_)) => before,
            (_, None) => None,
        };
        self.left = report.state.get("dock_distance_m").and_then(Value::as_f64);
        self.progress.show(&self.text(), None);
    }

    fn text(&self) -> String {
        let Way { robot, phase, left, .. } = self;
        match left {
            Some(left) if *phase != "switching off" => {
                format!("{robot}: {phase}, {:.1} m left", left.max(0.0))
            }
            _ => format!("{robot}: {phase}"),
        }
    }
}
