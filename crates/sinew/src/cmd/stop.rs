//! `sinew stop`.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sinew_api::{Command, Halt, RobotReport, Robots};

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
    // Which they are is worth a question, but not the stop's success: a daemon whose seats are all taken answers stops
    // only.
    let robots = client.robots().ok().map(|Robots { mut robots, .. }| {
        robots.retain(|robot| daemon.robot().is_none_or(|name| robot.name == name));
        robots
    });
    if refused.is_none() && robots.as_ref().is_some_and(Vec::is_empty) {
        anyhow::bail!("there is no robot that could be stopped");
    }
    let outcome = Outcome::new(robots, daemon.robot(), refused.as_ref(), took);
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
    /// None where the daemon did not tell which robots it has.
    stopped: Option<Vec<String>>,
    /// Their links are down: name, and in which way.
    unreachable: Vec<(String, String)>,
    /// Other daemons' robots that were not heard to have stopped.
    unconfirmed: Vec<String>,
    took: Duration,
}

impl Outcome {
    fn new(
        robots: Option<Vec<RobotReport>>,
        meant: Option<&str>,
        refused: Option<&Refused>,
        took: Duration,
    ) -> Self {
        let Some(robots) = robots else {
            let (stopped, unconfirmed) = match refused {
                None => (meant.map(|name| vec![name.into()]), Vec::new()),
                Some(Refused(refusal)) => (None, refusal.robots.clone()),
            };
            return Outcome { stopped, unreachable: Vec::new(), unconfirmed, took };
        };
        let (mut stopped, mut unreachable, mut unconfirmed) = (Vec::new(), Vec::new(), Vec::new());
        for robot in robots {
            let name = robot.name;
            if refused.is_some_and(|Refused(refusal)| refusal.robots.contains(&name)) {
                unconfirmed.push(name);
            } else if robot.link.state == "ready" {
                stopped.push(name);
            } else {
                unreachable.push((name, words::link(&robot.link)));
            }
        }
        Outcome { stopped: Some(stopped), unreachable, unconfirmed, took }
    }

    fn milliseconds(&self) -> f64 {
        (self.took.as_secs_f64() * 10_000.0).round() / 10.0
    }

    fn say(&self, at_length: bool) {
        let names = match &self.stopped {
            Some(names) if names.is_empty() => None,
            Some(names) => Some(listed(names)),
            None if self.unconfirmed.is_empty() => Some("all robots".into()),
            None => None,
        };
        match names {
            Some(names) if at_length => {
                say(&format!("stopped {names} in {:.1} ms", self.milliseconds()));
            }
            Some(names) => say(&format!("stopped {names}")),
            None => {}
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
        let outcome = Outcome::new(Some(robots.into()), None, Some(&refused), took);
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

    #[test]
    fn a_stop_is_one_also_where_the_daemon_tells_no_robots() {
        let outcome = |meant| Outcome::new(None, meant, None, Duration::from_millis(2));
        assert_eq!(outcome(Some("vacuum")).to_json(None)["stopped"], json!(["vacuum"]));
        assert_eq!(outcome(None).to_json(None)["stopped"], Value::Null);
        assert_eq!(outcome(None).to_json(None)["ok"], true);
    }
}
