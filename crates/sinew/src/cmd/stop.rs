//! `sinew stop`.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_api::{Command, Halt, RobotReport};

use crate::{
    DONE, FAILED,
    client::Daemon,
    output::{self, printable_json},
    phrases::{Refused, listed},
    say::{fail, say, warn},
    words,
};

/// Stop a robot at once, or all of them; any client may.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    daemon: Daemon,
    /// All of the daemon's robots, as without --robot; also tell who was stopped, and how long it
    /// took.
    #[arg(long, conflicts_with = "robot")]
    all: bool,
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    if args.all { told(&args.daemon, json, true) } else { stop(&args.daemon, json) }
}

/// Stops the robot that was named, or all.
pub(super) fn stop(daemon: &Daemon, json: bool) -> anyhow::Result<u8> {
    told(daemon, json, false)
}

fn told(daemon: &Daemon, json: bool, at_length: bool) -> anyhow::Result<u8> {
    let begin = Instant::now();
    let mut client = daemon.connect_to_stop()?;
    let answer = client.request(Command::Halt(Halt::Stop { note: None }));
    let took = begin.elapsed();
    let refused = match answer {
        Ok(_) => None,
        Err(error) => Some(error.downcast::<Refused>()?),
    };
    // Which they are is worth a question, but not the stop's success.
    let mut robots = client.robots().map(|robots| robots.robots).unwrap_or_default();
    robots.retain(|robot| daemon.robot().is_none_or(|name| robot.name == name));
    let outcome = Outcome::new(robots, refused.as_ref(), took);
    if let Some(refused) = refused {
        // Without one that it names, the daemon refused to stop any.
        if outcome.unconfirmed.is_empty() {
            return Err(refused.into());
        }
        fail(&refused.to_string());
        outcome.say(at_length);
        if json {
            print(&outcome.to_json(Some(&refused)))?;
        }
        return Ok(FAILED);
    }
    if outcome.is_empty() {
        anyhow::bail!("there is no robot that could be stopped");
    }
    outcome.say(at_length);
    match json && at_length {
        true => print(&outcome.to_json(None)).map(|()| DONE),
        false => output::done(json),
    }
}

fn print(value: &Value) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{}", printable_json(value))?)
}

/// What became of each robot.
struct Outcome {
    stopped: Vec<String>,
    /// Their links are down: name, and in which way.
    unreachable: Vec<(String, String)>,
    /// Other daemons' robots that were not heard to have stopped.
    unconfirmed: Vec<String>,
    took: Duration,
}

impl Outcome {
    fn new(robots: Vec<RobotReport>, refused: Option<&Refused>, took: Duration) -> Self {
        let (stopped, unreachable, unconfirmed) = Default::default();
        let mut outcome = Outcome { stopped, unreachable, unconfirmed, took };
        for robot in robots {
            let name = robot.name;
            if refused.is_some_and(|Refused(refusal)| refusal.robots.contains(&name)) {
                outcome.unconfirmed.push(name);
            } else if robot.link.state == "ready" {
                outcome.stopped.push(name);
            } else {
                outcome.unreachable.push((name, words::link(&robot.link)));
            }
        }
        outcome
    }

    fn is_empty(&self) -> bool {
        self.stopped.is_empty() && self.unreachable.is_empty() && self.unconfirmed.is_empty()
    }

    fn milliseconds(&self) -> f64 {
        (self.took.as_secs_f64() * 10_000.0).round() / 10.0
    }

    fn say(&self, at_length: bool) {
        let others = self.unreachable.len() + self.unconfirmed.len();
        if !self.stopped.is_empty() || others == 0 {
            let names = listed(&self.stopped);
            match at_length {
                true => say(&format!("stopped {names} in {:.1} ms", self.milliseconds())),
                false => say(&format!("stopped {names}")),
            }
        }
        for (name, link) in &self.unreachable {
            warn(&format!("{name} cannot be told: {link}; it stays stopped when it is back"));
        }
    }

    fn to_json(&self, refused: Option<&Refused>) -> Value {
        let missed = |robot: &str, reason: &str| json!({ "robot": robot, "reason": reason });
        let message = refused.map(Refused::to_string).unwrap_or_default();
        let unreachable = self.unreachable.iter().map(|(name, link)| missed(name, link));
        let unconfirmed = self.unconfirmed.iter().map(|name| missed(name, &message));
        let not_reached: Vec<_> = unreachable.chain(unconfirmed).collect();
        let mut all = json!({
            "ok": refused.is_none(),
            "stopped": self.stopped,
            "not_reached": not_reached,
            "ms": self.milliseconds(),
        });
        if let Some(Refused(refusal)) = refused {
            all["error"] = json!({ "code": refusal.code, "message": message });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn robot(name: &str, state: &str) -> RobotReport {
        let link = json!({ "state": state });
        let report = json!({
            "name": name, "kind": "crl200s", "link": link, "capabilities": [], "sensors": [],
            "holder": null, "stopped_by": null, "last_seen_ms": null, "fresh": true, "state": {},
        });
        serde_json::from_value(report).expect("a report")
    }

    #[test]
    fn those_that_did_not_confirm_are_told_from_those_that_stopped() {
        let refusal = sinew_robot::Refusal::new(
            sinew_robot::Code::LinkLost,
            "attic.vacuum did not confirm within 2 s; the others are stopped",
        );
        let refused = Refused(refusal.about(vec!["attic.vacuum".into()]));
        let robots =
            [robot("vacuum", "ready"), robot("attic.vacuum", "ready"), robot("old", "lost")];
        let took = Duration::from_micros(2_000_840);
        let outcome = Outcome::new(robots.into(), Some(&refused), took);
        assert_eq!(
            outcome.to_json(Some(&refused)),
            json!({
                "ok": false,
                "stopped": ["vacuum"],
                "not_reached": [
                    { "robot": "old", "reason": "lost" },
                    { "robot": "attic.vacuum", "reason": refused.0.message },
                ],
                "ms": 2000.8,
                "error": { "code": "link_lost", "message": refused.0.message },
            })
        );
    }
}
