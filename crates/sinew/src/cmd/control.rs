//! `sinew control`: any component, any action.

use std::time::{Duration, Instant};

use anyhow::bail;
use serde_json::{Map, Value, json};

use super::Usage;
use crate::{
    DONE,
    client::{Client, Daemon},
    output,
};

/// How long an accepted command may wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// Control a component: `sinew control vacuum Configure speed=75`.
///
/// `sinew control` alone lists the components and what each takes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The component.
    id: Option<String>,
    /// Enable, Disable, Reset or Configure.
    action: Option<String>,
    /// NAME=VALUE for each parameter.
    config: Vec<String>,
    /// Needed for what can hurt.
    #[arg(long)]
    confirm: bool,
    #[command(flatten)]
    daemon: Daemon,
}

pub(crate) fn run(args: &Args, json: bool) -> anyhow::Result<u8> {
    let (Some(id), Some(action)) = (&args.id, &args.action) else {
        list(json)?;
        return Ok(DONE);
    };
    let mut config = Map::new();
    for pair in &args.config {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(Usage(format!("{pair:?} is not NAME=VALUE")).into());
        };
        let value: Value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        config.insert(name.into(), value);
    }
    let command = component_control(id, action, config, args.confirm);
    carry_out(&mut args.daemon.connect()?, args.daemon.robot(), command)?;
    output::done(json)
}

/// Sends a command and stays until it is in force: an output waits for the motor mode to settle,
/// the lidar for the controller too, and what still waits when its client leaves is forgotten.
pub(super) fn carry_out(
    client: &mut Client,
    robot: Option<&str>,
    command: Value,
) -> anyhow::Result<()> {
    client.request(command.clone())?;
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let robots = client.request(json!({ "type": "Robots" }))?;
        let is_it = |one: &&Value| match robot {
            Some(name) => one["name"] == name,
            None => one["state"].get("main_brush").is_some(),
        };
        let found = robots["robots"].as_array().into_iter().flatten().find(is_it);
        if found.is_none_or(|robot| is_in_force(&command, &robot["state"])) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bail!("accepted, but not done: see `sinew status`")
}

/// Whether the state shows what was asked for; what it does not show was done at once.
fn is_in_force(command: &Value, state: &Value) -> bool {
    let (id, action) = (&command["id"], &command["action"]);
    let verb = action["type"].as_str().unwrap_or_default();
    let number = |name: &str| {
        let value = &action["config"][name];
        let value = value.get("U8").unwrap_or(value);
        value.as_f64().or(value.as_bool().map(|on| f64::from(u8::from(on))))
    };
    match (id.as_str().unwrap_or_default(), verb) {
        (id @ ("vacuum" | "main_brush" | "side_brush"), _) => {
            let speed = match verb {
                "Enable" => Some(100.0),
                "Disable" => Some(0.0),
                _ => number("speed"),
            };
            state[id].as_f64() == speed
        }
        ("lidar", "Enable") => {
            let pwm = state["lidar"].as_f64();
            pwm.is_some() && number("pwm").is_none_or(|wanted| pwm == Some(wanted))
        }
        _ => true,
    }
}

/// The message that controls a component.
pub(super) fn component_control(
    id: &str,
    action: &str,
    config: Map<String, Value>,
    confirm: bool,
) -> Value {
    let mut action = json!({ "type": action });
    if !config.is_empty() {
        action["config"] = config.into();
    }
    let mut command = json!({ "type": "ComponentControl", "id": id, "action": action });
    if confirm {
        command["confirm"] = true.into();
    }
    command
}

fn list(json: bool) -> anyhow::Result<()> {
    use std::io::Write;
    let components = sinew_robot::vacuum::components::COMPONENTS;
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(components)?)?;
        return Ok(());
    }
    for component in components {
        for action in component.actions {
            let confirm = if action.confirm { " (needs --confirm)" } else { "" };
            writeln!(
                out,
                "{:<12} {:<10} {:<34} {}{confirm}",
                component.id,
                action.verb.name(),
                action.wanted(),
                action.what
            )?;
        }
    }
    Ok(())
}
