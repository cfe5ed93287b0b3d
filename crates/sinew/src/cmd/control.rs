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
    say::{beside, columns, say},
};

/// How long an accepted command may wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// Control a component: `sinew control vacuum Configure speed=75`.
///
/// `sinew control` alone lists the components and what each takes; what stands in brackets may be
/// left out.
#[derive(clap::Args)]
#[command(after_long_help = format!("Components:\n{}", table(columns(std::io::stdout()))))]
pub(crate) struct Args {
    /// The component.
    id: Option<String>,
    /// Enable, disable, reset or configure.
    action: Option<String>,
    /// NAME=VALUE for each parameter.
    config: Vec<String>,
    /// Do it although it can hurt: the list says what needs it.
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
    let id = id.replace('-', "_");
    let verb = Verb::ALL.into_iter().find(|verb| verb.name().eq_ignore_ascii_case(action));
    let name = verb.map_or(action.as_str(), |verb| verb.name());
    let command = component_control(&id, name, config);
    let robot = carry_out(&mut args.daemon.connect()?, command, args.confirm)?;
    say(&format!("{robot}: {}", done(&id, verb, &args.config)));
    output::done(json)
}

/// What was done, in words.
fn done(id: &str, verb: Option<Verb>, config: &[String]) -> String {
    let Some(verb) = verb else { return id.into() };
    let past = match verb {
        Verb::Enable => "enabled",
        Verb::Disable => "disabled",
        Verb::Reset => "reset",
        Verb::Configure => "configured",
    };
    let component = COMPONENTS.iter().find(|component| component.id == id);
    let action = component.and_then(|one| one.actions.iter().find(|action| action.verb == verb));
    match (config, action) {
        ([], Some(action)) => format!("{id} {past} ({})", action.what),
        ([], None) => format!("{id} {past}"),
        (config, _) => format!("{id} {past} ({})", config.join(", ")),
    }
}

/// Sends a command and stays until it is in force: an output waits for the motor mode to settle,
/// the lidar for the controller too, and what still waits when its client leaves is forgotten. Gives
/// the robot's name.
pub(super) fn carry_out(
    client: &mut Client,
    command: impl Into<Value>,
    confirm: bool,
) -> anyhow::Result<String> {
    let mut command = command.into();
    if confirm {
        command["confirm"] = true.into();
    }
    let robot = client.choose(Capability::Components)?.map(|robot| robot.name);
    client.request(command.clone())?;
    let Some(name) = robot else { return Ok("the robot".into()) };
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let robots = client.robots()?.robots;
        let found = robots.iter().find(|one| one.name == name);
        if found.is_none_or(|robot| is_in_force(&command, &robot.state)) {
            return Ok(name);
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
    Ok(write!(out, "{}", table(columns(std::io::stdout())))?)
}

/// The components and what each takes, aligned. Where there is no room for a column of parameters,
/// they stand before what they are for.
fn table(columns: Option<usize>) -> String {
    let mut table = String::new();
    let all =
        || COMPONENTS.iter().flat_map(|one| one.actions.iter().map(|action| (one.id, action)));
    let most = all().map(|(_, action)| parameters(action).len()).max().unwrap_or_default();
    let head = 12 + 1 + 10 + 1;
    let in_column = columns.is_none_or(|columns| columns > head + most + 1 + 30);
    for (id, action) in all() {
        let confirm = if action.confirm { " (needs --confirm)" } else { "" };
        let (verb, what) = (action.verb.name(), action.what);
        let parameters = parameters(action);
        let (row, text) = match in_column {
            true => {
                (format!("{id:<12} {verb:<10} {parameters:<most$} "), format!("{what}{confirm}"))
            }
            false if parameters == "-" => {
                (format!("{id:<12} {verb:<10} "), format!("{what}{confirm}"))
            }
            false => (format!("{id:<12} {verb:<10} "), format!("{parameters}: {what}{confirm}")),
        };
        let text = beside(&text, columns, row.len());
        // What has no room stands below, and nothing behind the row.
        let row = if text.starts_with('\n') { row.trim_end() } else { &row };
        let _infallible = writeln!(table, "{row}{text}");
    }
    table
}

/// The parameters of an action, in brackets where they may be left out; a dash for none.
fn parameters<C>(action: &Action<C>) -> String {
    let sets = action.configs.iter().map(|set| {
        let names = set.iter().map(|param| match param.optional {
            true => format!("[{}]", param.name),
            false => param.name.into(),
        });
        match set.is_empty() {
            true => "-".into(),
            false => names.collect::<Vec<_>>().join(" and "),
        }
    });
    sets.collect::<Vec<_>>().join(", or ")
}
