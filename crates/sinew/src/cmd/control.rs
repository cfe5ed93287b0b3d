//! `sinew control`: any component, any action.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use anyhow::bail;
use serde_json::{Map, Value, json};
use sinew_api::Command;
use sinew_robot::{
    capability::Capability,
    component::{Action, Verb},
    vacuum::components::COMPONENTS,
};

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
#[command(after_long_help = format!("Components:\n{}", table()))]
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
    let verb = Verb::ALL.into_iter().map(Verb::name).find(|name| name.eq_ignore_ascii_case(action));
    let command = component_control(id, verb.unwrap_or(action), config);
    carry_out(&mut args.daemon.connect()?, args.daemon.robot(), command, args.confirm)?;
    output::done(json)
}

/// Sends a command and stays until it is in force: an output waits for the motor mode to settle,
/// the lidar for the controller too, and what still waits when its client leaves is forgotten.
pub(super) fn carry_out(
    client: &mut Client,
    robot: Option<&str>,
    command: impl Into<Value>,
    confirm: bool,
) -> anyhow::Result<()> {
    let mut command = command.into();
    if confirm {
        command["confirm"] = true.into();
    }
    client.request(command.clone())?;
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let robots = client.robots()?.robots;
        let found = robots.iter().find(|one| match robot {
            Some(name) => one.name == name,
            None => one.capabilities.contains(&Capability::Components),
        });
        if found.is_none_or(|robot| is_in_force(&command, &robot.state)) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bail!("accepted, but not done: see `sinew status`")
}

fn is_in_force(command: &Value, state: &Map<String, Value>) -> bool {
    let component = COMPONENTS.iter().find(|component| command["id"] == component.id);
    component.is_none_or(|component| component.is_in_force(&command["action"], state))
}

/// The command that controls a component.
pub(super) fn component_control(id: &str, verb: &str, config: Map<String, Value>) -> Command {
    let mut action = json!({ "type": verb });
    if !config.is_empty() {
        action["config"] = config.into();
    }
    Command::ComponentControl { id: id.into(), action }
}

fn list(json: bool) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(COMPONENTS)?)?;
        return Ok(());
    }
    Ok(write!(out, "{}", table())?)
}

/// The components and what each takes, aligned.
fn table() -> String {
    let mut table = String::new();
    let all =
        || COMPONENTS.iter().flat_map(|one| one.actions.iter().map(|action| (one.id, action)));
    let width = all().map(|(_, action)| parameters(action).len()).max().unwrap_or_default();
    for (id, action) in all() {
        let confirm = if action.confirm { " (needs --confirm)" } else { "" };
        let (verb, what) = (action.verb.name(), action.what);
        let parameters = parameters(action);
        let _infallible =
            writeln!(table, "{id:<12} {verb:<10} {parameters:<width$} {what}{confirm}");
    }
    table
}

/// The parameters of an action, in brackets where they may be left out.
fn parameters<C>(action: &Action<C>) -> String {
    let sets = action.configs.iter().map(|set| {
        let names = set.iter().map(|param| match param.optional {
            true => format!("[{}]", param.name),
            false => param.name.into(),
        });
        match set.is_empty() {
            true => "no config".into(),
            false => names.collect::<Vec<_>>().join(" and "),
        }
    });
    sets.collect::<Vec<_>>().join(", or ")
}
