//! Asking a robot's arms for something, which may have to wait until they are back.

use std::time::{Duration, Instant};

use serde_json::Value;
use sinew_api::{Command, Topic};

use super::teach;
use crate::{client::Client, interrupt::Interrupted, progress::Progress};

/// The arms take 4 s, the daemon waits 6 at most, and the robot has its time to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// What the robot refuses, it refuses by then.
const SOON: Duration = Duration::from_millis(500);

/// Asks, and tells that the arms are waited for; Ctrl-C calls it off. From then on states and
/// events come.
pub(super) fn ask(
    client: &mut Client,
    command: Value,
    interrupted: &Interrupted,
) -> anyhow::Result<Value> {
    let topics = vec![Topic::State, Topic::Events];
    client.request(Command::Subscribe { topics, max_hz: Some(10.0) })?;
    let mut progress = Progress::new();
    let start = Instant::now();
    let (mut told, mut stopped) = (false, false);
    client.request_watching(command, PATIENCE, |client, event| {
        if interrupted.is_set() && !stopped {
            stopped = true;
            client.send(teach("stop"))?;
        }
        let state = event.and_then(|event| event.state());
        let arm = state.as_ref().and_then(|robot| robot.state.get("arm"));
        let waits = arm.is_some_and(|arm| arm["phase"] == "returning");
        if waits && !told && start.elapsed() > SOON {
            told = true;
            progress.begin("the arms return from what they did; it begins when they are back");
        }
        Ok(())
    })
}
